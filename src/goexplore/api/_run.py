"""The result of a search: its best trajectory, table, demonstrations and report; verify and resume."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goexplore.api._cores import usable_cores
from goexplore.api._temporary import TemporaryFolder
from goexplore.archive import ARCHIVE_FILE, Actions, Entry
from goexplore.cells import End
from goexplore.demos import SUFFIX, Demonstration, Rules, Truncation, extract, truncate, write_demonstration
from goexplore.errors import ConfigError, DemonstrationError, RunDirectoryError, require_at_least
from goexplore.exploration import ExecutorWish, StartMethod
from goexplore.files import output_errors, require_writable
from goexplore.problems import Problem
from goexplore.random import SplitMix64
from goexplore.replay import Verdict, verify_archive
from goexplore.report import check_video, play_moments, write_report, write_video
from goexplore.runs import Limits, Progress, Reporter, SavedRun, SearchMetrics, Verification, run_search

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, kw_only=True, repr=False)
class Run(SavedRun):
    """A search and what it has found, as of its newest checkpoint."""

    interrupted: bool = False
    """Whether the session that returned this was interrupted."""
    temporary: TemporaryFolder | None = field(default=None, repr=False)
    """Holds the run directory where none was named: it is removed together with this object."""

    def __repr__(self) -> str:
        return (
            f"Run({str(self.path)!r}, problem={self.problem.name!r}, seed={self.seed}, "
            f"cells={self.status.cells:,}, best={self.best!r})"
        )

    @property
    def best(self) -> Trajectory:
        """The trajectory with the highest score, the shortest of these."""
        return self.trajectory(self.archive.best)

    @property
    def events(self) -> dict[str, list[Trajectory]]:
        """The ways that were found to each event, the shortest first: one for each cell that it happened in.

        `worker-crash` and `worker-hang` are trajectories whose last action killed the environment's process,
        or never ended.
        """
        names = {*(each.name for each in self.problem.events), *self.archive.events}
        return {name: [self.trajectory(entry) for entry in self.ways_to(name)] for name in sorted(names)}

    def trajectory(self, entry: int) -> Trajectory:
        """Return the trajectory to an entry of the archive, given by its number."""
        if not 0 <= entry < len(self.archive):
            raise ConfigError(f"expected `entry` to be from 0 to {len(self.archive) - 1}, got {entry}")
        return Trajectory(self, entry)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the archive as a table, one row per cell (docs/format.md has the columns)."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise ConfigError(
                "expected pandas for a table, got an installation without it: pip install "
                f"'goexplore[pandas]', or read {self.checkpoint / ARCHIVE_FILE} with another library"
            ) from error
        return pandas.read_parquet(self.checkpoint / ARCHIVE_FILE)

    def metrics(self) -> list[SearchMetrics]:
        """Return how the search went: the lines of metrics.jsonl."""
        return self.directory.metrics()

    def sample(self, count: int | None) -> list[int]:
        """Return that many entries drawn at random, the best one among them; None means all."""
        size = len(self.archive)
        if count is None or count >= size:
            return list(range(size))
        require_at_least("sample", count, 1)
        drawn = SplitMix64(0).uniform(size).argsort()[:count].tolist()
        return sorted({self.archive.best, *drawn[: count - 1]})

    def verify(
        self,
        sample: int | None = None,
        *,
        workers: int | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Verdict:
        """Replay trajectories from the initial state and compare them with the archive: all, or a `sample`.

        What was found is kept beside the run, for reports.
        """
        verdict = verify_archive(
            self.archive,
            self.problem,
            self.sample(sample),
            workers=usable_cores() if workers is None else workers,
            progress=progress,
        )
        try:
            self.directory.write_verification(
                Verification(
                    checkpoint=self.checkpoint.name,
                    checked=verdict.checked,
                    entries=len(self.archive),
                    game_frames=verdict.game_frames,
                    mismatches=list(verdict.mismatches),
                )
            )
        except RunDirectoryError as error:  # it may be somebody else's, to be read only
            why = error.__cause__ or error
            logging.getLogger("goexplore").warning("the verdict is not kept for reports: %s", why)
        return verdict

    def demos(
        self,
        out: Path | str | None = None,
        *,
        truncation: Truncation | None = None,
        progress: Callable[[str], None] = lambda line: None,
        **rules: Any,
    ) -> list[Demonstration]:
        """Return the best trajectories as demonstrations, replayed; write them to the folder `out` if given.

        `rules` are those of `goexplore.demos.Rules`, such as take="different" and count=10, or
        events=("crash",) for all ways to an event; `truncation` says where trajectories end. A way whose last
        action crashes, hangs or raises an exception becomes a demonstration that ends before that action,
        which `provenance.fatal_action` names.
        """
        return take_demonstrations(
            [self], Rules(truncation=truncation or Truncation(), **rules), out=out, progress=progress
        )

    def report(
        self,
        out: Path | str | None = None,
        *,
        videos: int = 3,
        progress: Callable[[str], None] = lambda line: None,
    ) -> Path:
        """Write one page about the run, with curves, maps and videos; return its file."""
        file = Path(out) if out is not None else self.path / "report.html"
        require_writable(file)
        write_report([self.path], file, videos=videos, problem=self.problem, progress=progress)
        return file

    def resume(
        self,
        *,
        game_frames: int | None = None,
        minutes: float | None = None,
        until_level: int | None = None,
        until_score: float | None = None,
        workers: int | None = None,
        executor: ExecutorWish = "auto",
        ray_address: str | None = None,
        checkpoint_minutes: float = 5.0,
        reporter: Reporter[Progress] | None = None,
        start_method: StartMethod | None = None,
    ) -> Run:
        """Go on from the newest checkpoint until a limit or an interrupt; return the run as it is then."""
        limits = Limits(
            game_frames=game_frames, minutes=minutes, until_level=until_level, until_score=until_score
        )
        outcome = run_search(
            self.problem,
            run_dir=self.path,
            limits=limits,
            seed=self.seed,
            reporter=reporter,
            workers=worker_count(workers, executor),
            executor=executor,
            ray_address=ray_address,
            resume=True,
            checkpoint_minutes=checkpoint_minutes,
            start_method=start_method,
        )
        return read_run(self.path, self.problem, interrupted=outcome.interrupted, temporary=self.temporary)


def read_run(path: Path | str, problem: Problem | None = None, **more: Any) -> Run:
    """Return a search as its run directory has it."""
    saved = SavedRun.open(path, problem)
    return Run(**{name: getattr(saved, name) for name in SavedRun.__dataclass_fields__}, **more)


def worker_count(workers: int | None, executor: ExecutorWish = "auto") -> int | None:
    """Return the workers that a search has: None means one per core, 0 this process alone.

    The nodes of a Ray cluster have cores of their own, and None is for them to settle.
    """
    if executor == "ray":
        return workers
    if workers is None:
        return usable_cores()
    require_at_least("workers", workers, 0)
    return workers or None


class Trajectory:
    """The actions from the initial state to one entry of the archive."""

    def __init__(self, run: Run, entry: int) -> None:
        self._run = run
        self.entry: Entry = run.archive[entry]
        """The archive's entry: cell, score, length, snapshot."""

    def __repr__(self) -> str:
        event = f", event={self.event}" if self.event else ""
        return (
            f"Trajectory(entry={self.entry.number}, score={self.score:g}, length={len(self)}, "
            f"end={self.end.name.lower()}{event})"
        )

    def __len__(self) -> int:
        """Return its training frames."""
        return self.entry.length

    @property
    def actions(self) -> Actions:
        """One action per training frame."""
        return self._run.archive.trajectory(self.entry.number)

    @property
    def score(self) -> float:
        """The search score: of the deterministic game."""
        return self.entry.score

    @property
    def cell(self) -> bytes:
        """The cell that it leads to."""
        return self.entry.cell

    @property
    def event(self) -> str:
        """The event that it leads to, if it is a way to one."""
        return self.entry.event

    @property
    def end(self) -> End:
        """Whether and how it ends the episode."""
        return self.entry.end

    def verify(self) -> bool:
        """Replay it on the reference engine; return whether cell, score, length and state are as claimed."""
        return verify_archive(self._run.archive, self._run.problem, [self.entry.number]).passed

    def demo(self) -> Demonstration:
        """Return it as a demonstration, replayed."""
        (found,) = self._run.demos(cell=str(self.entry.number))
        return found

    def video(
        self, out: Path | str = "video.mp4", *, scale: int = 2, speed: int = 1, overlay: bool = True
    ) -> Path:
        """Render it as MP4 or GIF, showing every `speed`-th game frame; return the file.

        A last action that crashes, hangs or raises an exception is not shown.
        """
        file = Path(out)
        check_video(file, scale)
        require_writable(file)
        problem, _ = self._run.problem.with_engine("auto")
        moments = play_moments(problem.env, self._run.archive.playable(self.entry.number), every=speed)
        with output_errors(file):
            film = write_video(moments, file, scale=scale, overlay=overlay)
        require_score(self.score, film.last.score)
        return file


def require_score(expected: float, got: float) -> None:
    """Refuse a trajectory that did not win on replay what it was said to win."""
    if got != expected:
        raise DemonstrationError(
            f"expected a score of {expected:g}, got {got:g} on replay: check it with `goexplore verify`"
        )


def take_demonstrations(
    sources: Sequence[SavedRun] | Sequence[Demonstration],
    rules: Rules,
    *,
    out: Path | str | None,
    progress: Callable[[str], None] = lambda line: None,
    order: Callable[[Sequence[Demonstration]], list[Demonstration]] | None = None,
) -> list[Demonstration]:
    """Return demonstrations of runs, or the beginnings of demonstrations; write them to a folder, if given.

    The folder must have none yet. Beginnings that are equal are one demonstration. `order` may put them into
    another order, and leave some out.
    """
    folder = None if out is None else Path(out)
    if folder is not None:
        with output_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.glob(f"*{SUFFIX}")):
                raise DemonstrationError(
                    f"expected a folder without demonstrations, got {folder}: choose another `out`"
                )
    runs = [each for each in sources if isinstance(each, SavedRun)]
    found = extract(runs, rules, progress) if runs else []
    for each in sources:
        if isinstance(each, Demonstration):
            progress(f"cutting a demonstration of {len(each.actions):,} training frames")
            beginning = truncate(each, rules)
            if _what_it_shows(beginning) not in map(_what_it_shows, found):
                found.append(beginning)
    if order is not None:
        found = order(found)
    if folder is not None:
        for number, each in enumerate(found):
            file = demonstration_file(folder, each, number)
            with output_errors(file):
                write_demonstration(each, file)
    return found


def _what_it_shows(demonstration: Demonstration) -> tuple[Actions, str, int | None]:
    provenance = demonstration.provenance
    return demonstration.actions, provenance.event, provenance.fatal_action


def demonstration_file(folder: Path, demonstration: Demonstration, number: int) -> Path:
    """Return the file that a demonstration gets in a folder."""
    event = f"-{demonstration.provenance.event}" if demonstration.provenance.event else ""
    return folder / f"{demonstration.env.name}{event}-{number:02d}{SUFFIX}"
