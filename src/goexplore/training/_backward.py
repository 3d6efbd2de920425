"""The Backward Algorithm's loop (paper section 2.2): play from starting points, learn, move the points."""

from __future__ import annotations

from typing import Any

import torch

from goexplore.training._buffer import DemonstrationBuffer
from goexplore.training._collector import Collector
from goexplore.training._config import BackwardConfig
from goexplore.training._curriculum import Curriculum
from goexplore.training._directory import TrainingStatus
from goexplore.training._group import ProcessGroup
from goexplore.training._method import TrainingMethod
from goexplore.training._network import Policy
from goexplore.training._ppo import Learner, Losses
from goexplore.training._random_streams import RandomStreams
from goexplore.training._sampler import DemonstrationBatch, DemonstrationSampler
from goexplore.training._vector_env import from_demonstrations, start_environments

_CLONED = 256
"""Steps of demonstrations in each gradient step of behavioural cloning."""


class BackwardTraining(TrainingMethod):
    """A policy that learns from demonstrations, backwards."""

    def __init__(self, buffer: DemonstrationBuffer, config: BackwardConfig, group: ProcessGroup) -> None:
        self.buffer, self.config, self.group = buffer, config, group
        self.seed, self.network, self.ppo = config.seed, config.network, config.ppo
        self.environments = config.environments
        self.env, self.target, self.preprocessing = buffer.env, buffer.target, buffer.preprocessing
        self.action_count, self.frame_skip = buffer.action_count, buffer.frame_skip
        config.rollout.ends_at_life_loss(buffer)  # refuses demonstrations that do not fit
        self.status = TrainingStatus()
        self.curriculum = Curriculum(buffer.lengths, config.curriculum)
        self._random_streams = RandomStreams(config.seed, group.number, update=0)
        torch.manual_seed(config.seed)  # all processes begin with the same weights
        self.policy = Policy(config.network, shape=buffer.shape, actions=buffer.action_count)
        if not buffer.is_image:
            self.policy.standardise(*buffer.spread())
        self.policy.to(group.device)
        self.learner = Learner(self.policy, config.ppo, group, self._random_streams)
        self._sampler = DemonstrationSampler(buffer, config.rollout, config.ppo.discount)

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """Of the whole network."""
        return self.learner.optimizer

    def start(self, env_workers: int | None = None) -> None:
        """Start the environments, and clone the demonstrations if that is wanted."""
        self._random_streams.restart(self.status.updates, purpose=1)
        streams = self._random_streams.environment_streams(
            self.status.updates, self.config.environments_of_each(self.group.size)
        )
        while self.status.cloned < self.ppo.cloning:
            self.learner.clone(self._draw_demonstrations(_CLONED, [0] * len(self.buffer.lengths)))
            self.status.cloned += 1
        vector_env = start_environments(
            from_demonstrations(self.buffer, self.config.rollout),
            streams,
            workers=env_workers,
            cores=torch.get_num_threads(),
        )
        self.play_with(
            Collector(
                self.policy,
                vector_env,
                self.curriculum,
                self._random_streams,
                mixed_precision=self.ppo.mixed_precision,
            )
        )

    def update(self) -> Losses:
        """Play a while with all environments, learn from it, and move the starting points."""
        assert self.collector is not None
        ppo = self.ppo
        self._random_streams.restart(self.status.updates)
        experience, results = self.collector.collect(ppo.steps, ppo.discount)
        window = self.config.curriculum.window
        earliest = [max(0, point - window) for point in self.curriculum.starting_points]
        self.learner.decay(self.status.training_frames)
        losses = self.learner.update(experience, lambda: self._draw_demonstrations(ppo.imitated, earliest))
        results = [each for part in self.group.gather(results) for each in part]
        self.curriculum.update(results, ppo.steps * self.environments)
        self.count(len(results), [result.success for result in results if result.start.point == 0])
        return losses

    def state(self) -> dict[str, Any]:
        """Return the curriculum's state."""
        return self.curriculum.state()

    def restore(self, status: TrainingStatus, state: dict[str, Any]) -> None:
        """Go back to a checkpoint, or to the beginning where there is no state."""
        self.curriculum = Curriculum(self.buffer.lengths, self.config.curriculum)
        if state:
            self.curriculum.restore(state)
        self.status = status

    @property
    def starting_points(self) -> list[int]:
        """The maximum starting point of each demonstration."""
        return self.curriculum.starting_points

    @property
    def success_rates(self) -> list[float | None]:
        """Of the rollouts by which it was last decided whether to move a starting point."""
        return self.curriculum.success_rates

    def _draw_demonstrations(self, count: int, earliest: list[int]) -> DemonstrationBatch:
        """Draw steps of demonstrations from these points on."""
        words = self._random_streams.words
        if self.policy.memory is None:
            return self._sampler.draw(words, earliest, count=count)
        length, burn_in = self.ppo.imitated_length, self.config.rollout.burn_in
        return self._sampler.draw(
            words, earliest, count=max(1, count // length), length=length, burn_in=burn_in
        )
