"""Phase 2's loop (paper section 2.2): play from starting points, learn, move the starting points."""

from __future__ import annotations

import torch

from goexplore.training._buffer import DemonstrationBuffer
from goexplore.training._collector import Collector
from goexplore.training._config import RobustifyConfig
from goexplore.training._curriculum import Curriculum, Result
from goexplore.training._directory import TrainingStatus
from goexplore.training._group import ProcessGroup
from goexplore.training._network import Policy
from goexplore.training._ppo import Learner, Losses
from goexplore.training._random_streams import RandomStreams
from goexplore.training._sampler import DemonstrationBatch, DemonstrationSampler
from goexplore.training._vector_env import VectorEnvironment, from_demonstrations, start_environments

_REAL_STARTS = 200
"""Rollouts from the real start over which success is counted."""
_CLONED = 256
"""Steps of demonstrations in each gradient step of behavioural cloning."""


class Training:
    """A policy that learns from demonstrations, and everything that changes with it."""

    def __init__(self, buffer: DemonstrationBuffer, config: RobustifyConfig, group: ProcessGroup) -> None:
        self.buffer, self.config, self._group = buffer, config, group
        config.rollout.ends_at_life_loss(buffer)  # refuses demonstrations that do not fit
        self.status = TrainingStatus()
        self.curriculum = Curriculum(buffer.lengths, config.curriculum)
        self.random_streams = RandomStreams(config.seed, group.number, update=0)
        torch.manual_seed(config.seed)  # all processes begin with the same weights
        self.policy = Policy(config.network, shape=buffer.shape, actions=buffer.action_count)
        if not buffer.is_image:
            self.policy.standardise(*buffer.spread())
        self.policy.to(group.device)
        self.learner = Learner(self.policy, config.ppo, group, self.random_streams)
        self._sampler = DemonstrationSampler(buffer, config.rollout, config.ppo.discount)
        self._collector: Collector

    def start(self, env_workers: int | None = None) -> VectorEnvironment:
        """Start the environments. Close what is returned in the end."""
        self.random_streams.restart(self.status.updates, purpose=1)
        streams = self.random_streams.environment_streams(
            self.status.updates, self.config.environments_of_each(self._group.size)
        )
        vector_env = start_environments(
            from_demonstrations(self.buffer, self.config.rollout),
            streams,
            workers=env_workers,
            cores=torch.get_num_threads(),
        )
        while self.status.cloned < self.config.ppo.cloning:
            self.learner.clone(self._draw_demonstrations(_CLONED, [0] * len(self.buffer.lengths)))
            self.status.cloned += 1
        self._collector = Collector(self.policy, vector_env, self.curriculum, self.random_streams)
        return vector_env

    def update(self) -> Losses:
        """Play a while with all environments, learn from it, and move the starting points."""
        ppo = self.config.ppo
        self.random_streams.restart(self.status.updates)
        experience, results = self._collector.collect(ppo.steps, ppo.discount)
        window = self.config.curriculum.window
        earliest = [max(0, point - window) for point in self.curriculum.starting_points]
        losses = self.learner.update(experience, lambda: self._draw_demonstrations(ppo.imitated, earliest))
        results = [each for part in self._group.gather(results) for each in part]
        frames = ppo.steps * self.config.environments
        self.curriculum.update(results, frames)
        self._count(results, frames)
        return losses

    @property
    def environment_seconds(self) -> float:
        """Seconds spent in environments since the start."""
        return self._collector.environment_seconds

    def _draw_demonstrations(self, count: int, earliest: list[int]) -> DemonstrationBatch:
        """Draw steps of demonstrations from these points on."""
        if self.policy.memory is None:
            return self._sampler.draw(self.random_streams.words, earliest, count=count)
        length = self.config.ppo.imitated_length
        burn_in = self.config.rollout.burn_in
        return self._sampler.draw(
            self.random_streams.words, earliest, count=max(1, count // length), length=length, burn_in=burn_in
        )

    def _count(self, results: list[Result], frames: int) -> None:
        status = self.status
        status.updates += 1
        status.training_frames += frames
        status.game_frames += frames * self.buffer.frame_skip
        status.rollouts += len(results)
        status.real_starts += [result.success for result in results if result.start.point == 0]
        del status.real_starts[:-_REAL_STARTS]
