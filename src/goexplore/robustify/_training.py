"""Phase 2's loop (paper section 2.2): play from starting points, learn, move the starting points."""

from __future__ import annotations

import torch

from goexplore.robustify._collector import Collector
from goexplore.robustify._config import RobustifyConfig
from goexplore.robustify._curriculum import Curriculum, Result
from goexplore.robustify._dice import Dice
from goexplore.robustify._directory import TrainingStatus
from goexplore.robustify._lessons import Lesson, Lessons
from goexplore.robustify._library import Library
from goexplore.robustify._network import Policy
from goexplore.robustify._ppo import Learner, Losses
from goexplore.robustify._ranks import Ranks
from goexplore.robustify._vector import Vector, start_emulators

_REAL_STARTS = 200
"""Rollouts from the real start over which success is counted."""
_CLONED = 256
"""Steps of demonstrations in each gradient step of behavioural cloning."""


class Training:
    """A policy that learns from demonstrations, and everything that changes with it."""

    def __init__(self, library: Library, config: RobustifyConfig, ranks: Ranks) -> None:
        self.library, self.config, self._ranks = library, config, ranks
        self.status = TrainingStatus()
        self.curriculum = Curriculum(library.lengths, config.curriculum)
        self.dice = Dice(config.seed, ranks.number, update=0)
        torch.manual_seed(config.seed)  # all processes begin with the same weights
        self.policy = Policy(config.network, shape=library.eyes.shape, actions=library.action_count)
        self.policy.to(ranks.device)
        self.learner = Learner(self.policy, config.ppo, ranks, self.dice)
        self._lessons = Lessons(library, config.rollout, config.ppo.discount)
        self._collector: Collector

    def start(self, emulator_workers: int | None = None) -> Vector:
        """Start the emulators. Close what is returned in the end."""
        self.dice.throw(self.status.updates, purpose=1)
        streams = self.dice.emulator_streams(
            self.status.updates, self.config.emulators_of_each(self._ranks.size)
        )
        vector = start_emulators(
            self.library,
            self.config.rollout,
            streams,
            workers=emulator_workers,
            cores=torch.get_num_threads(),
        )
        while self.status.cloned < self.config.ppo.cloning:
            self.learner.clone(self._lesson(_CLONED, [0] * len(self.library.lengths)))
            self.status.cloned += 1
        self._collector = Collector(self.policy, vector, self.curriculum, self.dice)
        return vector

    def update(self) -> Losses:
        """Play a while with all emulators, learn from it, and move the starting points."""
        ppo = self.config.ppo
        self.dice.throw(self.status.updates)
        experience, results = self._collector.collect(ppo.steps, ppo.discount)
        window = self.config.curriculum.window
        earliest = [max(0, point - window) for point in self.curriculum.starting_points]
        losses = self.learner.learn(experience, lambda: self._lesson(ppo.imitated, earliest))
        results = [each for part in self._ranks.gather(results) for each in part]
        frames = ppo.steps * self.config.emulators
        self.curriculum.hear(results, frames)
        self._count(results, frames)
        return losses

    @property
    def emulator_seconds(self) -> float:
        """Spent in emulators since the start."""
        return self._collector.emulator_seconds

    def _lesson(self, count: int, earliest: list[int]) -> Lesson:
        """Draw steps of demonstrations from these points on."""
        if self.policy.memory is None:
            return self._lessons.draw(self.dice.words, earliest, count=count)
        length = self.config.ppo.imitated_length
        lead_in = self.config.rollout.lead_in
        return self._lessons.draw(
            self.dice.words, earliest, count=max(1, count // length), length=length, lead_in=lead_in
        )

    def _count(self, results: list[Result], frames: int) -> None:
        status = self.status
        status.updates += 1
        status.training_frames += frames
        status.game_frames += frames * self.library.env.frame_skip
        status.rollouts += len(results)
        status.real_starts += [result.success for result in results if result.start.point == 0]
        del status.real_starts[:-_REAL_STARTS]
