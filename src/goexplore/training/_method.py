"""What a way to train has to do, so that a session can run, save and resume it."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from goexplore.play import PreprocessingConfig
from goexplore.problems import EnvironmentSpec
from goexplore.runs import EndedRollout
from goexplore.training._collector import Collector
from goexplore.training._directory import TrainingStatus
from goexplore.training._group import ProcessGroup
from goexplore.training._network import NetworkConfig, Policy
from goexplore.training._policy_file import About
from goexplore.training._ppo import Losses, PPOConfig

_REAL_STARTS = 200
"""Rollouts from the real start over which success is counted."""


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """What the expert and the clone are doing, in a training by search."""

    activity: str
    """What is being done at present, in words."""
    episodes: int
    """Of the expert, so far, rehearsals included."""
    reached_goal: int
    """Those that came as far as the demonstrations."""
    corrections: int
    """Times that the expert took over from the clone, or later from the policy, and survived."""
    simulated: int
    """Training frames in which the expert tried plans out."""
    cloned: int
    """Gradient steps of cloning, so far."""
    agreement: float | None
    """Share of training frames in which the clone would choose what the expert chose."""
    success_along_the_way: list[float] = field(default_factory=list)
    """How often rollouts succeed that begin in each tenth of the way."""


class TrainingMethod(ABC):
    """A policy that learns, and everything that changes with it."""

    group: ProcessGroup
    status: TrainingStatus
    policy: Policy
    seed: int
    network: NetworkConfig
    ppo: PPOConfig
    environments: int
    env: EnvironmentSpec
    target: str
    """What finds the environment again."""
    preprocessing: PreprocessingConfig
    action_count: int
    frame_skip: int
    collector: Collector | None = None
    """Plays rollouts, once there are any."""
    ended: Sequence[EndedRollout] = ()
    """Where and how rollouts of all processes ended in the last update."""
    saved_rollouts: Sequence[bytes] = ()
    """Those of each process that were under way at the checkpoint, until they go on."""

    @property
    @abstractmethod
    def optimizer(self) -> torch.optim.Optimizer:
        """Of what is learnt at present."""

    def read(self) -> None:
        """Read what earlier sessions left beside checkpoints."""
        return

    @abstractmethod
    def start(self, env_workers: int | None = None) -> None:
        """Make ready what plays."""

    @abstractmethod
    def update(self) -> Losses | None:
        """Do the next piece of work; return the losses of an update of PPO, if it was one."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what decides where rollouts begin, as JSON values."""

    @abstractmethod
    def restore(self, status: TrainingStatus, state: dict[str, Any]) -> None:
        """Go back to a checkpoint, except for the weights and what the optimiser remembers."""

    def rollouts(self) -> bytes:
        """Return this process's rollouts under way, packed; nothing where there are none."""
        if self.collector is not None:
            return self.collector.state()
        fit = len(self.saved_rollouts) == self.group.size
        return self.saved_rollouts[self.group.number] if fit else b""

    def play_with(self, collector: Collector) -> None:
        """Play with this from now on: go on with the rollouts of the checkpoint, or begin new ones."""
        mine, saved = self.rollouts(), any(self.saved_rollouts)
        self.collector, self.saved_rollouts = collector, ()
        misfit = None if mine else "there are fewer or more learning processes than before"
        if mine:
            misfit = collector.restore(mine)
        if misfit is not None:
            if saved:
                logging.getLogger("goexplore").warning(f"warning: rollouts under way begin anew: {misfit}")
            collector.begin()

    @property
    def starting_points(self) -> list[int]:
        """The maximum starting point of each demonstration, where the method has such."""
        return []

    @property
    def success_rates(self) -> list[float | None]:
        """Of the rollouts by which it was last decided whether to move a starting point."""
        return []

    def teaching(self) -> Teaching | None:
        """Return what the expert and the clone do, where there are any."""
        return None

    @property
    def environment_seconds(self) -> float:
        """Seconds spent in environments since the start."""
        return 0.0 if self.collector is None else self.collector.environment_seconds

    def close(self) -> None:
        """Stop what plays."""
        if self.collector is not None:
            self.collector.close()

    def about(self, run: str) -> About:
        """Return what a policy's file says of the policy as it is now."""
        status = self.status
        real = status.real_starts
        return About(
            target=self.target,
            env=self.env,
            preprocessing=self.preprocessing,
            shape=self.policy.shape,
            network=self.network,
            actions=self.action_count,
            training={
                "run": run,
                "seed": self.seed,
                "training_frames": status.training_frames,
                "game_frames": status.game_frames,
                "starting_points": self.starting_points,
                "real_start_success": sum(real) / len(real) if real else None,
            },
        )

    def count(self, rollouts: int, real_starts: list[bool]) -> None:
        """Take note of an update of PPO."""
        status, frames = self.status, self.ppo.steps * self.environments
        status.updates += 1
        status.training_frames += frames
        status.game_frames += frames * self.frame_skip
        status.rollouts += rollouts
        status.real_starts += real_starts
        del status.real_starts[:-_REAL_STARTS]
        mine = [] if self.collector is None else self.collector.ended
        self.ended = [
            replace(each, training_frames=status.training_frames)
            for part in self.group.gather(mine)
            for each in part
        ]
