"""A training with a run directory: limits, metrics, checkpoints, interrupts."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol

from goexplore.demos import Demonstration
from goexplore.directories import clear_errors
from goexplore.engines import EngineWish, choose_engine
from goexplore.errors import ConfigError
from goexplore.event_file import EventFile
from goexplore.interrupts import on_interrupt
from goexplore.robustify._config import RobustifyConfig
from goexplore.robustify._directory import TrainingDirectory, TrainingStatus
from goexplore.robustify._library import Library
from goexplore.robustify._policy_file import SUFFIX, About, save_policy
from goexplore.robustify._ppo import Losses
from goexplore.robustify._ranks import Ranks
from goexplore.robustify._training import Training

_METRICS_SECONDS = 5.0
_PACE_SECONDS = 60.0
_ENOUGH_REAL_STARTS = 100


@dataclass(frozen=True, kw_only=True)
class TrainingLimits:
    """When to stop: as soon as one of these is reached. None means no such limit."""

    training_frames: int | None = None
    """Training frames of the whole training, earlier sessions included."""
    minutes: float | None = None
    """Minutes of the whole training, earlier sessions included."""
    success: float | None = None
    """Share of the last 200 rollouts from the real start that succeeded."""
    start_within: int | None = 50
    """A demonstration's starting point is this near to its beginning (paper, figure 5) ..."""
    held: int = 2_000_000
    """... and has been for so many training frames: getting there is not mastery yet."""

    def __post_init__(self) -> None:
        for name in ("training_frames", "minutes", "held"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(
                    f"expected --{name.replace('_', '-')} to be more than 0, got {value}: change it"
                )
        if self.success is not None and not 0 < self.success <= 1:
            raise ConfigError(f"expected --until-success above 0, up to 1, got {self.success}: change it")

    def reached(self, status: TrainingStatus) -> str | None:
        """Return why it is time to stop, if it is."""
        if self.training_frames is not None and status.training_frames >= self.training_frames:
            return "budget of training frames"
        if self.minutes is not None and status.seconds >= self.minutes * 60:
            return "budget of minutes"
        real = status.real_starts
        if self.success is not None and len(real) >= _ENOUGH_REAL_STARTS:
            share = sum(real) / len(real)
            if share >= self.success:
                return f"success in {share:.0%} of the last {len(real)} rollouts from the real start"
        near = self.start_within is not None and status.near_since is not None
        if near and status.training_frames - (status.near_since or 0) >= self.held:
            return (
                f"a starting point within {self.start_within} of the start for {self.held:,} training frames"
            )
        return None


@dataclass(frozen=True, kw_only=True)
class TrainingProgress:
    """What a user wants to know while a policy learns."""

    status: TrainingStatus
    starting_points: list[int]
    """The maximum starting point of each demonstration."""
    success_rates: list[float | None]
    """Of the rollouts from each window by which it was last decided whether to move."""
    losses: Losses
    training_frames_per_second: float
    """Over the last minute or so."""
    emulator_share: float
    """Of the time, spent in emulators."""
    seconds_left: float | None
    """Until the nearest limit on time or training frames."""

    @property
    def real_start_success(self) -> float | None:
        """Of the last rollouts from the real start, those that succeeded."""
        real = self.status.real_starts
        return sum(real) / len(real) if real else None


class TrainingReporter(Protocol):
    """Shows progress and says what happens."""

    def progress(self, progress: TrainingProgress) -> None:
        """Hear how far the training has come: after every update."""
        ...

    def say(self, line: str) -> None:
        """Tell the user something."""
        ...


class _Silence:
    def progress(self, progress: TrainingProgress) -> None: ...

    def say(self, line: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class TrainingOutcome:
    """How a session ended."""

    run: TrainingDirectory
    status: TrainingStatus
    reason: str
    """Why it ended."""
    interrupted: bool


def robustify(
    demonstrations: Sequence[Demonstration],
    config: RobustifyConfig,
    *,
    run_dir: Path | str,
    limits: TrainingLimits,
    reporter: TrainingReporter | None = None,
    engine: EngineWish = "auto",
    emulator_workers: int | None = None,
    resume: bool = False,
    checkpoint_minutes: float = 5.0,
    keep_every: int = 250_000,
) -> TrainingOutcome:
    """Train until a limit or an interrupt, and leave a run directory that can be resumed.

    A training that is resumed has its own demonstrations: name the same or none. `emulator_workers` are
    threads with emulators of the native engine, or processes with others, 1 being this thread alone; None
    means as many threads as PyTorch has, if there are eight emulators for each, and no processes. A policy is
    kept every so many training frames, to choose from in the end; the paper has one about every three
    million. With torchrun, every process calls this with the same arguments; the first one writes.
    """
    if keep_every < 1:
        raise ConfigError(f"expected --keep-every to be 1 or more, got {keep_every}: change it")
    if not checkpoint_minutes > 0:
        raise ConfigError(f"expected --checkpoint-minutes above 0, got {checkpoint_minutes}: change it")
    with contextlib.ExitStack() as stack:
        ranks = Ranks()
        stack.callback(ranks.close)
        if reporter is None or not ranks.writes:
            reporter = _Silence()
        emulators = config.emulators_of_each(ranks.size)
        if emulator_workers is not None and not 1 <= emulator_workers <= emulators:
            raise ConfigError(
                f"expected 1 to {emulators} workers for {emulators} emulators, got {emulator_workers}: "
                "change --emulator-workers"
            )
        run = TrainingDirectory(Path(run_dir))
        if resume:
            run = TrainingDirectory.open(run.path)
            demonstrations = demonstrations or run.read_demonstrations()
            run.require(config, demonstrations)
        training = Training(_library(demonstrations, config, engine, reporter), config, ranks)
        if ranks.writes:
            if not resume:
                TrainingDirectory.create(run.path, config, demonstrations)
            stack.enter_context(run.locked())
        if resume:
            training.status, damaged = run.restore_checkpoint(
                training.policy, training.learner.optimizer, training.curriculum
            )
            ranks.gather(None)  # all have read what the first one sets aside now
            for folder, warning in damaged.items():
                reporter.say(f"warning: {warning}")
                if ranks.writes:
                    run.set_aside([folder])
        stack.enter_context(contextlib.closing(training.start(emulator_workers)))
        session = _Session(
            training,
            ranks,
            run,
            limits,
            reporter,
            checkpoint_seconds=checkpoint_minutes * 60,
            keep_every=keep_every,
        )
        stack.enter_context(contextlib.closing(session))
        return session.train()


def _library(
    demonstrations: Sequence[Demonstration],
    config: RobustifyConfig,
    engine: EngineWish,
    reporter: TrainingReporter,
) -> Library:
    if not demonstrations:
        raise ConfigError("expected at least one demonstration, got none: name one, or a folder of them")
    choice = choose_engine(demonstrations[0].env.name, engine)
    reporter.say(f"engine: {choice.reason}")
    return Library(demonstrations, config.eyes, choice.engine)


class _Session:
    """One stretch of a training: from start or resume to a limit or an interrupt."""

    def __init__(
        self,
        training: Training,
        ranks: Ranks,
        run: TrainingDirectory,
        limits: TrainingLimits,
        reporter: TrainingReporter,
        *,
        checkpoint_seconds: float,
        keep_every: int,
    ) -> None:
        self._training, self._ranks, self._run = training, ranks, run
        self._limits, self._reporter = limits, reporter
        self._checkpoint_seconds, self._keep_every = checkpoint_seconds, keep_every
        self._interrupted = False
        self._seconds_before = training.status.seconds
        self._began = self._saved = self._recorded = monotonic()
        self._pace: deque[tuple[float, int]] = deque([(self._began, training.status.training_frames)])
        self._last: TrainingProgress | None = None
        self._recorded_updates = training.status.updates
        self._events: EventFile | None = None
        if ranks.writes:
            run.rewind_metrics(training.status.game_frames)
            with clear_errors(run.path):
                self._events = EventFile(run.path / "tensorboard")

    def train(self) -> TrainingOutcome:
        """Update until it is time to stop; end with a checkpoint, whatever ended it."""
        with on_interrupt(self._interrupt):
            self._save()
            while (reason := self._time_to_stop()) is None:
                self._after_update(self._training.update())
                if monotonic() - self._saved >= self._checkpoint_seconds:
                    self._save()
            if reason == "interrupted":
                self._reporter.say("interrupted: writing a checkpoint (once more to stop without it)")
            self._save()
            self._keep_policy()
            if self._last is not None and self._recorded_updates != self._training.status.updates:
                self._record(self._last)
        return TrainingOutcome(
            run=self._run, status=self._training.status, reason=reason, interrupted=reason == "interrupted"
        )

    def close(self) -> None:
        """Close what is open."""
        if self._events is not None:
            with clear_errors(self._run.path):
                self._events.close()

    def _interrupt(self) -> None:
        self._interrupted = True

    def _time_to_stop(self) -> str | None:
        """Return why to stop, if one of the processes wants to."""
        mine = "interrupted" if self._interrupted else self._limits.reached(self._training.status)
        return next((reason for reason in self._ranks.gather(mine) if reason is not None), None)

    def _after_update(self, losses: Losses) -> None:
        status, now = self._training.status, monotonic()
        status.seconds = self._seconds_before + now - self._began
        near = self._limits.start_within
        if near is None or min(self._training.curriculum.starting_points) > near:
            status.near_since = None
        elif status.near_since is None:
            status.near_since = status.training_frames
        self._pace.append((now, status.training_frames))
        while len(self._pace) > 2 and now - self._pace[0][0] > _PACE_SECONDS:
            self._pace.popleft()
        progress = self._last = self._progress(losses)
        self._reporter.progress(progress)
        if now - self._recorded >= _METRICS_SECONDS or status.updates == 1:
            self._record(progress)
        before = status.training_frames - self._training.config.ppo.steps * self._training.config.emulators
        if before // self._keep_every < status.training_frames // self._keep_every:
            self._keep_policy()

    def _progress(self, losses: Losses) -> TrainingProgress:
        status, curriculum = self._training.status, self._training.curriculum
        (then, frames), (now, _) = self._pace[0], self._pace[-1]
        rate = (status.training_frames - frames) / max(now - then, 1e-9)
        left = []
        if self._limits.minutes is not None:
            left.append(self._limits.minutes * 60 - status.seconds)
        if self._limits.training_frames is not None and rate > 0:
            left.append((self._limits.training_frames - status.training_frames) / rate)
        return TrainingProgress(
            status=status,
            starting_points=curriculum.starting_points,
            success_rates=curriculum.success_rates,
            losses=losses,
            training_frames_per_second=rate,
            emulator_share=self._training.emulator_seconds / max(now - self._began, 1e-9),
            seconds_left=max(min(left), 0.0) if left else None,
        )

    def _record(self, progress: TrainingProgress) -> None:
        self._recorded, self._recorded_updates = monotonic(), progress.status.updates
        if self._events is None:
            return
        status = progress.status
        values: dict[str, float] = {
            "training_frames": status.training_frames,
            "game_frames": status.game_frames,
            "updates": status.updates,
            "rollouts": status.rollouts,
            "wall_seconds": round(status.seconds, 3),
            "training_frames_per_second": round(progress.training_frames_per_second, 1),
            "emulator_share": round(progress.emulator_share, 4),
            **{f"loss_{name}": round(value, 6) for name, value in asdict(progress.losses).items()},
        }
        if progress.real_start_success is not None:
            values["real_start_success"] = round(progress.real_start_success, 4)
        lists = {"starting_points": progress.starting_points, "success_rates": progress.success_rates}
        self._run.append_metrics({**values, **lists})
        for number, (point, rate) in enumerate(
            zip(progress.starting_points, progress.success_rates, strict=True)
        ):
            values[f"starting_point/{number}"] = point
            if rate is not None:
                values[f"success_rate/{number}"] = rate
        with clear_errors(self._run.path):
            self._events.scalars(
                status.game_frames, {f"robustify/{name}": value for name, value in values.items()}
            )

    def _about(self) -> About:
        training, status = self._training, self._training.status
        return About(
            env=training.library.env,
            eyes=training.library.eyes,
            network=training.config.network,
            actions=training.library.action_count,
            training={
                "run": self._run.path.resolve().name,
                "seed": training.config.seed,
                "training_frames": status.training_frames,
                "game_frames": status.game_frames,
                "starting_points": training.curriculum.starting_points,
            },
        )

    def _keep_policy(self) -> None:
        if self._ranks.writes:
            name = f"{self._training.status.training_frames:012d}{SUFFIX}"
            with clear_errors(self._run.path):
                save_policy(self._training.policy, self._about(), self._run.policies / name)

    def _save(self) -> None:
        self._saved = monotonic()
        if self._ranks.writes:
            self._run.write_checkpoint(
                self._training.policy,
                self._about(),
                self._training.learner.optimizer,
                self._training.curriculum,
                self._training.status,
            )
