"""Taking demonstrations out of runs: which trajectories, and how much of them (paper section 3.1, A.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from goexplore.archive import Archive
from goexplore.build import build_env
from goexplore.config import SearchConfig
from goexplore.demos._cuts import Cuts
from goexplore.demos._demonstration import Demonstration, Provenance
from goexplore.demos._replay import record, shared_length, survey
from goexplore.engines import Engine
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.runs import RunDirectory

Take: TypeAlias = Literal["best", "per-run", "different"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A run to take from."""

    name: str
    config: SearchConfig
    engine: Engine
    archive: Archive
    game_frames: int

    @classmethod
    def open(cls, path: Path) -> Source:
        """Read the newest checkpoint of a run directory."""
        run = RunDirectory.open(path)
        checkpoint = run.last_checkpoint()
        return cls(
            name=path.name,
            config=run.config(),
            engine=run.engine(),
            archive=checkpoint.archive,
            game_frames=checkpoint.status.game_frames,
        )

    def find(self, cell: str) -> int:
        """Return the entry that a user means: by its number, or by its cell in hexadecimal."""
        if cell.isdigit() and int(cell) < len(self.archive):
            return int(cell)
        for entry in self.archive:
            if entry.cell.hex() == cell.lower():
                return entry.number
        raise ConfigError(
            f"expected an entry's number below {len(self.archive)} or a cell in hexadecimal, got {cell!r}: "
            "see `goexplore cells`"
        )


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Which trajectories become demonstrations."""

    take: Take = "best"
    """The best of all runs, the best of each run, or the best that differ from each other."""
    count: int = 10
    """How many at most, where several are taken that differ."""
    difference: float = 0.2
    """Of a trajectory's training frames, the share that must come after it parted from those taken before."""
    cell: str | None = None
    """Only the trajectory to this entry: its number, or its cell in hexadecimal."""
    highest_level: bool = False
    """Only trajectories that end on the highest level of their run: this leaves out those that stay in the
    treasure room for ever (appendix A.4)."""
    cuts: Cuts = field(default_factory=Cuts)

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigError(f"expected --count to be 1 or more, got {self.count}: change it")
        if not 0 <= self.difference <= 1:
            raise ConfigError(f"expected --difference between 0 and 1, got {self.difference}: change it")


@dataclass(frozen=True)
class _Candidate:
    source: Source
    entry: int
    actions: bytes
    """What would become the demonstration."""
    score: float
    """By which candidates compete."""
    length: int
    """Training frames in which that score was won."""


def extract(
    sources: Sequence[Source],
    rules: Rules,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Demonstration]:
    """Return the demonstrations that the rules ask for, the best first, recorded on ale-py."""
    if len({source.config.env for source in sources}) > 1:
        raise ConfigError(
            "expected runs of one game with equal settings of it, got different ones: take their "
            "demonstrations one run at a time"
        )
    candidates: list[_Candidate] = []
    for source in sources:
        progress(f"looking through {source.name}")
        candidates += _candidates(source, rules)
    # Ties go to the shorter one, then to the run and the entry that came first.
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.length))
    taken = list(_choose(candidates, rules))
    if not taken:
        raise DemonstrationError(
            f"expected a trajectory {_wish(rules)}, got none from {len(sources)} runs: explore longer, or "
            "ask for less"
        )
    return [_record(candidate, rules, progress) for candidate in taken]


def _candidates(source: Source, rules: Rules) -> list[_Candidate]:
    archive = source.archive
    entries = list(range(len(archive))) if rules.cell is None else [source.find(rules.cell)]
    if rules.highest_level:
        levels = archive.values("level").tolist()
        entries = [entry for entry in entries if levels[entry] == max(levels)]
    if rules.take != "different" and not rules.cuts.change_the_order:
        standings = [archive[entry].standing for entry in entries]
        best = min(zip(standings, entries, strict=True), key=lambda each: (-each[0].score, each[0].length))
        entries = [best[1]]
    trajectories = [archive.trajectory(entry) for entry in entries]
    candidates = []
    for number, found in survey(build_env(source.config.env, source.engine), trajectories):
        ranked = rules.cuts.rank_length(found.rewards, found.levels)
        final = None if ranked is None else rules.cuts.final_length(found.rewards, ranked)
        if ranked is not None and final:
            actions, score = trajectories[number][:final], sum(found.rewards[:ranked])
            candidates.append(_Candidate(source, entries[number], actions, score, ranked))
    return sorted(candidates, key=lambda candidate: candidate.entry)


def _choose(candidates: Sequence[_Candidate], rules: Rules) -> Iterator[_Candidate]:
    taken: list[_Candidate] = []
    wanted = 1 if rules.take == "best" else rules.count if rules.take == "different" else len(candidates)
    for candidate in candidates:
        if len(taken) == wanted:
            return
        if rules.take == "per-run" and any(each.source is candidate.source for each in taken):
            continue
        if rules.take == "different" and any(
            not differ(candidate.actions, each.actions, rules.difference) for each in taken
        ):
            continue
        taken.append(candidate)
        yield candidate


def differ(one: bytes, other: bytes, least: float) -> bool:
    """Return whether at least this share of one trajectory comes after it parted from another."""
    return one != other and len(one) - shared_length(one, other) >= least * len(one)


def _record(candidate: _Candidate, rules: Rules, progress: Callable[[str], None]) -> Demonstration:
    source = candidate.source
    progress(f"recording entry {candidate.entry} of {source.name}: {len(candidate.actions)} training frames")
    recording = record(build_env(source.config.env), candidate.actions)
    return Demonstration(
        env=source.config.env,
        actions=candidate.actions,
        rewards=recording.rewards,
        end=recording.end,
        trace=recording.trace,
        provenance=Provenance(
            run=source.name,
            seed=source.config.seed,
            entry=candidate.entry,
            cell=source.archive.cell(candidate.entry).hex(),
            search_game_frames=source.game_frames,
            cuts=rules.cuts.describe(),
        ),
    )


def _wish(rules: Rules) -> str:
    parts = [f"that can be cut {text}" for text in rules.cuts.describe()]
    return " and ".join(parts) or "of at least one training frame"
