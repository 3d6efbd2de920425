"""Taking demonstrations out of runs: which trajectories, and how much of them (paper section 3.1, A.4)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from typing import Literal, TypeAlias, get_args

from goexplore.archive import Actions, ScoreLength
from goexplore.cells import CRASH, HANG
from goexplore.demos._demonstration import Demonstration, Provenance
from goexplore.demos._difference import keep_different
from goexplore.demos._truncation import Truncation
from goexplore.errors import ConfigError, DemonstrationError, require_at_least, require_between
from goexplore.files import versions
from goexplore.problems import Problem
from goexplore.replay import Recording, record, survey, total_score
from goexplore.runs import SavedRun

Take: TypeAlias = Literal["best", "per-run", "different"]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Which trajectories become demonstrations."""

    take: Take = "best"
    """The best of all runs, the best of each run, or the best that differ from each other."""
    count: int = 10
    """Largest number of demonstrations with `take` set to different."""
    difference: float = 0.2
    """Share of a trajectory's training frames that must come after it parted from those taken before."""
    cell: str | None = None
    """Only the trajectory to this entry: its number, or its cell as `goexplore cells` shows it."""
    events: tuple[str, ...] = ()
    """Only the ways to these events, the shortest first: all of them, or, with `take` set to different, those
    that differ from each other."""
    highest_level: bool = False
    """Only from the highest level of each run: leaves out Montezuma's treasure room bug (appendix A.4)."""
    truncation: Truncation = field(default_factory=Truncation)

    def __post_init__(self) -> None:
        if self.take not in get_args(Take):
            raise ConfigError(f"expected `take` to be one of {', '.join(get_args(Take))}, got {self.take!r}")
        require_at_least("count", self.count, 1)
        if self.events and (self.cell is not None or self.truncation != Truncation()):
            raise ConfigError(
                "expected `events` without `cell` and without a rule that cuts trajectories, got both: a way "
                "to an event ends where it happens"
            )
        require_between("difference", self.difference, 0, 1)

    @property
    def need_a_survey(self) -> bool:
        """Whether what the archive says of its entries does not suffice to choose."""
        return self.truncation.change_the_order or (
            self.take == "different" and self.truncation.after_last_reward
        )


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    source: SavedRun
    entry: int
    ranked: ScoreLength
    """By which candidates compete."""
    length: int
    """Training frames that would become the demonstration, before what `after_last_reward` cuts off if there
    was no survey."""
    score: float
    """Of these training frames, as the archive says or the survey found."""

    @property
    def ends_the_episode(self) -> bool:
        archive = self.source.archive
        return archive.has_ended(self.entry) and self.length == archive[self.entry].length

    @property
    def actions(self) -> Actions:
        return self.source.archive.playable(self.entry)[: self.length]

    @property
    def fatal_action(self) -> int | None:
        """The action after these that has no result, if they lead to one."""
        archive = self.source.archive
        if not archive[self.entry].end.is_fatal or len(self.actions) < archive[self.entry].length - 1:
            return None
        return int(archive.trajectory(self.entry)[-1])


def extract(
    sources: Sequence[SavedRun],
    rules: Rules,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Demonstration]:
    """Return the demonstrations that the rules ask for, the best first, recorded on the reference."""
    games = [{**each.problem.env.settings(), "game": each.problem.env.name} for each in sources]
    if any(game != games[0] for game in games):
        raise ConfigError(
            "expected runs of one environment with equal settings, got different ones: split them by kind"
        )
    candidates: list[_Candidate] = []
    for source in sources:
        progress(f"looking through {source.name}")
        found = list(_survey(source, rules) if rules.need_a_survey else _claims(source, rules))
        if (
            rules.cell is None and not rules.events
        ):  # without points there is nothing to learn from, unless points only cost
            won = [candidate for candidate in found if candidate.ranked.score > 0]
            found = won or [each for each in found if each.ends_the_episode and each.score < 0]
        if not found:
            progress(f"{source.name} has none")
        candidates += found
    # Ties go to the shorter one, then to the run and the entry that came first.
    candidates.sort(
        key=lambda candidate: (0.0 if rules.events else -candidate.ranked.score, candidate.ranked.length)
    )
    taken = list(_choose(candidates, rules))
    if not taken:
        raise DemonstrationError(
            f"expected a trajectory {_wish(rules)}, got none from {len(sources)} "
            f"{'run' if len(sources) == 1 else 'runs'}: explore longer, ask for less, or name a `cell`"
        )
    return [_record(candidate, rules, progress) for candidate in taken]


def _entries(source: SavedRun, rules: Rules) -> list[int]:
    if rules.cell is not None:
        return [source.find(rules.cell)]
    if rules.events:
        _require_events(source, rules.events)
        entries = [entry for event in rules.events for entry in source.ways_to(event)]
    else:
        entries = [entry for entry in range(len(source.archive)) if not source.archive.is_event(entry)]
    if not rules.highest_level:
        return entries
    levels = source.archive.values("level")
    highest = max((levels[entry] for entry in entries), default=0)
    return [entry for entry in entries if levels[entry] == highest]


def _require_events(source: SavedRun, events: Sequence[str]) -> None:
    known = sorted({*(each.name for each in source.problem.events), CRASH, HANG})
    for event in events:
        if event not in known:
            near = get_close_matches(event, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ConfigError(
                f"expected `events` of {source.name} ({', '.join(known)}), got {event!r}.{hint}"
            )


def _claims(source: SavedRun, rules: Rules) -> Iterator[_Candidate]:
    """Yield all trajectories as they are, by what the archive says of them."""
    for entry in _entries(source, rules):
        score_length = source.archive.score_index.score_length(entry)
        if score_length.length > 0:
            length, score = score_length.length, score_length.score
            yield _Candidate(source=source, entry=entry, ranked=score_length, length=length, score=score)


def _survey(source: SavedRun, rules: Rules) -> Iterator[_Candidate]:
    """Play all trajectories as far as they matter, and yield them as they are when cut."""
    first_with: dict[Actions, int] = {}  # trajectories that are equal once cut are one candidate
    for entry in _entries(source, rules):
        first_with.setdefault(source.archive.playable(entry)[: rules.truncation.frames_to_survey], entry)
    entries = list(first_with.values())
    problem, _ = source.problem.with_engine("auto")  # trajectories are the same on all engines
    env = problem.env()
    candidates = []
    for number, found in survey(env, list(first_with)):
        claim = source.archive.score_index.score_length(entries[number])
        if len(found.rewards) == claim.length:
            _require_score(source, entries[number], claim.score, found.rewards)
        ranked = rules.truncation.rank_length(found.rewards, found.levels)
        final = None if ranked is None else rules.truncation.final_length(found.rewards, ranked)
        if ranked is not None and final:
            score_length = ScoreLength(total_score(found.rewards[:ranked]), ranked)
            score = total_score(found.rewards[:final])
            candidates.append(
                _Candidate(
                    source=source, entry=entries[number], ranked=score_length, length=final, score=score
                )
            )
    yield from sorted(candidates, key=lambda candidate: candidate.entry)


def _require_score(source: SavedRun, entry: int, expected: float, rewards: Sequence[float]) -> None:
    if total_score(rewards) != expected:
        raise DemonstrationError(
            f"expected a score of {expected:g} from entry {entry} of {source.name}, got "
            f"{total_score(rewards):g} on replay: the archive is damaged or the simulator another one, see "
            f"`{_verify_command(source)}`"
        )


def _verify_command(source: SavedRun) -> str:
    return shlex.join(["goexplore", "verify", str(source.path)])


def _choose(candidates: Sequence[_Candidate], rules: Rules) -> Iterator[_Candidate]:
    if rules.take == "different":
        positions = keep_different((candidate.actions for candidate in candidates), rules.difference)
        yield from (candidates[position] for position in islice(positions, rules.count))
        return
    if rules.events:
        yield from candidates
        return
    runs: set[int] = set()
    for candidate in candidates:
        if id(candidate.source) not in runs:
            runs.add(id(candidate.source))
            yield candidate
            if rules.take == "best":
                return


def _record(candidate: _Candidate, rules: Rules, progress: Callable[[str], None]) -> Demonstration:
    source, entry, actions = candidate.source, candidate.entry, candidate.actions
    progress(f"recording entry {entry} of {source.name}: {len(actions)} training frames")
    env = source.problem.env.reference()()
    try:
        recording = record(env, actions)
    except DemonstrationError as error:
        raise DemonstrationError(
            f"entry {entry} of {source.name}: {error}; see `{_verify_command(source)}`"
        ) from error
    _require_score(source, entry, candidate.score, recording.rewards)
    if not rules.need_a_survey:
        final = rules.truncation.final_length(recording.rewards, len(actions))
        if final is None:
            raise DemonstrationError(
                f"expected a reward to end entry {entry} of {source.name} after, got none: omit "
                "`after_last_reward`"
            )
        if final < len(actions):
            actions = actions[:final]
            recording = record(env, actions)
    return _demonstration(
        source.problem,
        actions,
        recording,
        env.action_count,
        env.frame_skip,
        Provenance(
            run=source.name,
            seed=source.seed,
            entry=entry,
            cell=source.archive.cell(entry).hex(),
            search_game_frames=source.status.game_frames,
            truncation=rules.truncation.describe(),
            event=source.archive[entry].event,
            fatal_action=candidate.fatal_action,
        ),
    )


def truncate(demonstration: Demonstration, rules: Rules) -> Demonstration:
    """Return the beginning of a demonstration, as far as the rules say, recorded on the reference."""
    truncation = rules.truncation
    if rules != Rules(truncation=truncation):
        raise ConfigError(
            "expected only rules that cut demonstrations, because which trajectories they are was decided "
            "when they were made: give `until_level`, `max_training_frames`, `until_score` or "
            "`after_last_reward`, or name runs"
        )
    if truncation == Truncation():
        return demonstration
    env = demonstration.env.reference()()
    try:
        ((_, found),) = survey(env, [demonstration.actions])
        ranked = truncation.rank_length(found.rewards, found.levels)
        final = None if ranked is None else truncation.final_length(found.rewards, ranked)
        if final is None:
            raise DemonstrationError(
                "expected a demonstration that can be cut "
                f"{' and '.join(truncation.describe())}, got one of {len(demonstration.actions):,} training "
                f"frames and {demonstration.score:g} points that cannot: ask for less"
            )
        actions = demonstration.actions[:final]
        recording = record(env, actions)
    finally:
        env.close()
    if not recording.end and total_score(recording.rewards) <= 0 < demonstration.score:
        raise DemonstrationError(
            f"expected the beginning of a demonstration to win something, got {final:,} training frames with "
            f"{total_score(recording.rewards):g} points: cut it later"
        )
    source = demonstration.provenance
    whole = final == len(demonstration.actions)
    return replace(
        demonstration,
        actions=actions,
        rewards=recording.rewards,
        location=recording.location,
        end=recording.end,
        digest=recording.digest,
        provenance=replace(
            source,
            truncation=(*source.truncation, *truncation.describe()),
            event=source.event if whole else "",
            fatal_action=source.fatal_action if whole else None,
        ),
        versions=versions(),
    )


def record_demonstration(
    problem: Problem, actions: Actions, *, score: float, provenance: Provenance
) -> Demonstration:
    """Return a trajectory as a demonstration, replayed on the reference; refuse one that wins otherwise."""
    env = problem.env.reference()()
    try:
        recording = record(env, actions)
        if total_score(recording.rewards) != score:
            raise DemonstrationError(
                f"expected a score of {score:g} from entry {provenance.entry} of {provenance.run}, got "
                f"{total_score(recording.rewards):g} on replay: the archive is damaged or the simulator "
                "another one"
            )
        return _demonstration(problem, actions, recording, env.action_count, env.frame_skip, provenance)
    finally:
        env.close()


def _demonstration(
    problem: Problem,
    actions: Actions,
    recording: Recording,
    action_count: int,
    frame_skip: int,
    provenance: Provenance,
) -> Demonstration:
    return Demonstration(
        target=problem.env_target,
        env=problem.env,
        actions=actions,
        action_count=action_count,
        frame_skip=frame_skip,
        rewards=recording.rewards,
        location=recording.location,
        end=recording.end,
        digest=recording.digest,
        provenance=provenance,
    )


def _wish(rules: Rules) -> str:
    if rules.events:
        return f"to the event {' or '.join(rules.events)}"
    parts = (
        ["with a positive score, or that ends its episode"]
        if rules.cell is None
        else ["of at least one training frame"]
    )
    parts += [f"that can be cut {text}" for text in rules.truncation.describe()]
    return " and ".join(parts)
