"""A training with a run directory: limits, metrics, checkpoints, interrupts."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from goexplore.checks import choose_way
from goexplore.demos import Demonstration
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError, require_at_least, require_positive
from goexplore.problems import DefaultCells, EnvironmentSpec, Problem, find_registered
from goexplore.runs import (
    LoggingReporter,
    Pace,
    Reporter,
    Session,
    TrainingMetrics,
    clear_errors,
    on_interrupt,
)
from goexplore.training._backward import BackwardTraining
from goexplore.training._buffer import DemonstrationBuffer
from goexplore.training._config import BackwardConfig, RobustifyConfig
from goexplore.training._directory import TrainingDirectory, TrainingStatus
from goexplore.training._group import ProcessGroup
from goexplore.training._method import Teaching, TrainingMethod
from goexplore.training._policy_file import SUFFIX, About, save_policy
from goexplore.training._ppo import Losses
from goexplore.training._search import SearchTraining

_PACE_SECONDS = 60.0
_ENOUGH_REAL_STARTS = 100


@dataclass(frozen=True, kw_only=True)
class TrainingLimits:
    """When to stop: as soon as one of these is reached. None means no such limit."""

    training_frames: int | None = None
    """Training frames of the whole training, earlier sessions included."""
    minutes: float | None = None
    """Minutes of the whole training, earlier sessions included."""
    until_success: float | None = None
    """Share of the last 200 rollouts from the real start that succeeded."""
    until_start: int | None = 50
    """A demonstration's starting point is this near to its beginning (paper, figure 5) ..."""
    held: int = 2_000_000
    """... and has been for this many training frames: getting there is not mastery yet."""

    def __post_init__(self) -> None:
        for name in ("training_frames", "minutes", "held"):
            value = getattr(self, name)
            if value is not None:
                require_positive(name, value)
        if self.until_success is not None and not 0 < self.until_success <= 1:
            raise ConfigError(f"expected `until_success` to be above 0, up to 1, got {self.until_success}")

    def reached(self, status: TrainingStatus) -> str | None:
        """Return why it is time to stop, if it is."""
        if self.training_frames is not None and status.training_frames >= self.training_frames:
            return "budget of training frames"
        if self.minutes is not None and status.seconds >= self.minutes * 60:
            return "budget of minutes"
        real = status.real_starts
        if self.until_success is not None and len(real) >= _ENOUGH_REAL_STARTS:
            share = sum(real) / len(real)
            if share >= self.until_success:
                return f"success in {share:.0%} of the last {len(real)} rollouts from the real start"
        near = self.until_start is not None and status.near_since is not None
        if near and status.training_frames - (status.near_since or 0) >= self.held:
            return (
                f"a starting point within {self.until_start} of the start for {self.held:,} training frames"
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
    teaching: Teaching | None
    """What the expert and the clone do, in a training by search."""
    losses: Losses | None
    """Of the last update of PPO."""
    training_frames_per_second: float
    """Over the last minute or so."""
    environment_share: float
    """Of the time, spent in environments."""
    seconds_left: float | None
    """Until the nearest limit on time or training frames."""

    @property
    def real_start_success(self) -> float | None:
        """Of the last rollouts from the real start, those that succeeded."""
        real = self.status.real_starts
        return sum(real) / len(real) if real else None

    def metrics(self) -> TrainingMetrics:
        """Return this as a line of metrics."""
        status, success = self.status, self.real_start_success
        losses = {}
        if self.losses is not None:
            losses = {f"loss_{name}": round(value, 6) for name, value in asdict(self.losses).items()}
        taught: dict[str, Any] = {}
        if self.teaching is not None:
            taught = {
                "activity": self.teaching.activity,
                "expert_episodes": self.teaching.episodes,
                "expert_goals": self.teaching.reached_goal,
                "expert_training_frames": self.teaching.simulated,
                "cloned": self.teaching.cloned,
                "success_along_the_way": [round(each, 3) for each in self.teaching.success_along_the_way],
            }
        return TrainingMetrics(
            training_frames=status.training_frames,
            game_frames=status.game_frames,
            updates=status.updates,
            rollouts=status.rollouts,
            wall_seconds=round(status.seconds, 3),
            training_frames_per_second=round(self.training_frames_per_second, 1),
            environment_share=round(self.environment_share, 4),
            real_start_success=None if success is None else round(success, 4),
            starting_points=self.starting_points,
            success_rates=self.success_rates,
            **losses,
            **taught,
        )


@dataclass(frozen=True, kw_only=True)
class TrainingOutcome:
    """How a session ended."""

    run: TrainingDirectory
    status: TrainingStatus
    reason: str
    """Why it ended."""
    interrupted: bool


def run_training(
    demonstrations: Sequence[Demonstration],
    config: RobustifyConfig,
    *,
    run_dir: Path | str,
    limits: TrainingLimits,
    reporter: Reporter[TrainingProgress] | None = None,
    engine: EngineWish = "auto",
    env_workers: int | None = None,
    resume: bool = False,
    checkpoint_minutes: float = 5.0,
    keep_every: int = 250_000,
    problem: Problem | None = None,
) -> TrainingOutcome:
    """Train until a limit or an interrupt, and leave a run directory that can be resumed.

    A training that is resumed has its own demonstrations: name the same or none. `env_workers` are threads
    with environments of the native engine, or processes with others, 1 being this thread alone; None means as
    many threads as PyTorch has, if there are eight environments for each, and no processes. A policy is kept
    every `keep_every` training frames, to choose from in the end; the paper has one about every three
    million. With torchrun, every process calls this with the same arguments; the first one writes. `problem`
    has to be given to resume a training of a problem from an import path.
    """
    require_at_least("keep_every", keep_every, 1)
    require_positive("checkpoint_minutes", checkpoint_minutes)
    with contextlib.ExitStack() as stack:
        group = ProcessGroup()
        stack.callback(group.close)
        if reporter is None or not group.writes:
            reporter = LoggingReporter()
        environments = config.environments_of_each(group.size)
        if env_workers is not None and not 1 <= env_workers <= environments:
            raise ConfigError(
                f"expected `env_workers` to be 1 to {environments} for {environments} environments, got "
                f"{env_workers}"
            )
        run = TrainingDirectory(Path(run_dir))
        if resume:
            run = TrainingDirectory.open(run.path)
            demonstrations = demonstrations or run.read_demonstrations(problem)
            run.require(config, demonstrations)
        if not demonstrations:
            raise ConfigError("expected at least one demonstration, got none: name one, or a folder of them")
        binding = choose_way(demonstrations[0].env, engine)
        if group.writes:
            reporter.log(f"engine: {binding.reason}")
        training = _make_training(config, demonstrations, group, binding.env, run, problem, reporter)
        if group.writes:
            anew = TrainingDirectory.create(run.path, config, demonstrations)
            stack.enter_context(run.locked() if resume else anew)
        if resume:
            training.read()
            damaged = run.restore_checkpoint(training)
            group.gather(None)  # all have read what the first one sets aside now
            for folder, warning in damaged.items():
                if group.writes:
                    reporter.log(f"warning: {warning}")
                    run.set_aside([folder])
        stack.callback(training.close)
        training.start(env_workers)
        session = _TrainingSession(
            training,
            group,
            run,
            limits,
            reporter,
            checkpoint_minutes=checkpoint_minutes,
            keep_every=keep_every,
        )
        stack.enter_context(contextlib.closing(session))
        return session.train()


def _make_training(
    config: RobustifyConfig,
    demonstrations: Sequence[Demonstration],
    group: ProcessGroup,
    env: EnvironmentSpec,
    run: TrainingDirectory,
    problem: Problem | None,
    reporter: Reporter[TrainingProgress],
) -> TrainingMethod:
    # Whatever the method, demonstrations must be of one kind and replay.
    buffer = DemonstrationBuffer(demonstrations, config.preprocessing, env)
    if isinstance(config, BackwardConfig):
        return BackwardTraining(buffer, config, group)
    if any(buffer.loses_life) and group.writes:
        reporter.log(
            f"warning: demonstration {buffer.loses_life.index(True)} loses a life on its way. The expert "
            "must not lose one, so it may get stuck there. Demonstrations are better if no life is lost, as "
            "in searches whose episodes end with a life (Atari games: `--env.episode-end life-loss`)"
        )
    known = problem or find_registered(demonstrations[0].target)
    return SearchTraining(
        demonstrations,
        config,
        group,
        env=env,
        cells=DefaultCells() if known is None else known.cells,
        recordings=run.recordings,
    )


class _TrainingSession(Session):
    """One stretch of a training."""

    def __init__(
        self,
        training: TrainingMethod,
        group: ProcessGroup,
        run: TrainingDirectory,
        limits: TrainingLimits,
        reporter: Reporter[TrainingProgress],
        *,
        checkpoint_minutes: float,
        keep_every: int,
    ) -> None:
        if group.writes:
            for warning in run.rewind_metrics(training.status.game_frames):
                reporter.log(f"warning: {warning}")
            run.rollout_log.rewind(training.status.training_frames)
        super().__init__(run, phase="robustify", checkpoint_minutes=checkpoint_minutes, writes=group.writes)
        self._training, self._group, self._directory = training, group, run
        self._limits, self._reporter, self._keep_every = limits, reporter, keep_every
        self._seconds_before = training.status.seconds
        self._pace = Pace(training.status.training_frames, seconds=_PACE_SECONDS)
        self._last: TrainingProgress | None = None
        self._recorded_updates = training.status.updates

    def train(self) -> TrainingOutcome:
        """Update until it is time to stop; end with a checkpoint, whatever ended it."""
        with on_interrupt(self._interrupt):
            self._save()
            while (reason := self._time_to_stop()) is None:
                self._after_update(self._training.update())
                if self._group.gather(self.checkpoint_is_due)[0]:  # the one that writes decides
                    self._save()
            if reason == "interrupted" and self.writes:
                self._reporter.log("interrupted: writing a checkpoint (once more to stop without it)")
            self._save()
            self._keep_policy()
            if self._last is not None and self._recorded_updates != self._training.status.updates:
                self._record(self._last)
        return TrainingOutcome(
            run=self._directory,
            status=self._training.status,
            reason=reason,
            interrupted=reason == "interrupted",
        )

    def _interrupt(self) -> None:
        self.interrupted = True

    def _time_to_stop(self) -> str | None:
        """Return why to stop, if one of the processes wants to."""
        mine = "interrupted" if self.interrupted else self._limits.reached(self._training.status)
        return next((reason for reason in self._group.gather(mine) if reason is not None), None)

    def _after_update(self, losses: Losses | None) -> None:
        status = self._training.status
        status.seconds = self._seconds_before + self.seconds
        near, points = self._limits.until_start, self._training.starting_points
        if near is None or not points or min(points) > near:
            status.near_since = None
        elif status.near_since is None:
            status.near_since = status.training_frames
        self._pace.add(status.training_frames)
        progress = self._last = self._progress(losses)
        if self.writes:
            self._reporter.progress(progress)
        if self.metrics_are_due or status.updates == 1:
            self._record(progress)
        if losses is None:
            return
        if self.writes:
            self._directory.rollout_log.append(self._training.ended)
        before = status.training_frames - self._training.ppo.steps * self._training.environments
        if before // self._keep_every < status.training_frames // self._keep_every:
            self._keep_policy()

    def _progress(self, losses: Losses | None) -> TrainingProgress:
        status = self._training.status
        rate = self._pace.rate(status.training_frames)
        left = []
        if self._limits.minutes is not None:
            left.append(self._limits.minutes * 60 - status.seconds)
        if self._limits.training_frames is not None and rate > 0:
            left.append((self._limits.training_frames - status.training_frames) / rate)
        return TrainingProgress(
            status=status,
            starting_points=self._training.starting_points,
            success_rates=self._training.success_rates,
            teaching=self._training.teaching(),
            losses=losses,
            training_frames_per_second=rate,
            environment_share=self._training.environment_seconds / max(monotonic() - self.began, 1e-9),
            seconds_left=max(min(left), 0.0) if left else None,
        )

    def _record(self, progress: TrainingProgress) -> None:
        self._recorded_updates = progress.status.updates
        self.record(progress.metrics())

    def _about(self) -> About:
        return self._training.about(self._directory.path.resolve().name)

    def _keep_policy(self) -> None:
        if self.writes:
            name = f"{self._training.status.training_frames:012d}{SUFFIX}"
            with clear_errors(self.run.path):
                save_policy(self._training.policy, self._about(), self._directory.policies / name)

    def _save(self) -> None:
        self.saved()
        rollouts = self._group.bring(self._training.rollouts())
        if self.writes:
            self._directory.write_checkpoint(
                self._training.policy,
                self._about(),
                self._training.optimizer,
                self._training.state(),
                self._training.status,
                rollouts,
            )
