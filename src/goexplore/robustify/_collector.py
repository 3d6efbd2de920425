"""Playing the policy: experience for the learner, results for the curriculum."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from goexplore.errors import TrainingError
from goexplore.robustify._curriculum import Curriculum, Result
from goexplore.robustify._dice import Dice
from goexplore.robustify._network import Policy
from goexplore.robustify._ppo import Experience
from goexplore.robustify._vector import Vector


class Collector:
    """Emulators, what the policy remembers of their rollouts, and where the next ones begin."""

    def __init__(self, policy: Policy, vector: Vector, curriculum: Curriculum, dice: Dice) -> None:
        self._policy, self._vector, self._curriculum, self._dice = policy, vector, curriculum, dice
        self.emulator_seconds = 0.0
        """Spent in emulators, of all time."""
        count = len(vector.observations)
        vector.begin([curriculum.draw(dice.words) for _ in range(count)])
        self._starts = [curriculum.draw(dice.words) for _ in range(count)]
        self._memory = policy.empty_memory(count)
        self._fresh = np.ones(count, np.bool_)

    @torch.no_grad()
    def collect(self, steps: int, discount: float) -> tuple[Experience, list[Result]]:
        """Play so many training frames with every emulator."""
        count, shape = len(self._vector.observations), self._vector.observations.shape
        experience = Experience(
            observations=np.empty((steps, *shape), np.uint8),
            actions=np.empty((steps, count), np.int64),
            log_probabilities=np.empty((steps, count), np.float32),
            values=np.empty((steps, count), np.float32),
            rewards=np.empty((steps, count), np.float32),
            over=np.empty((steps, count), np.bool_),
            fresh=np.empty((steps, count), np.bool_),
            counts=np.empty((steps, count), np.bool_),
            memory=self._memory.cpu().numpy().copy(),
            last_values=np.empty(count, np.float32),
        )
        results: list[Result] = []
        for step in range(steps):
            experience.observations[step] = self._vector.observations
            experience.fresh[step] = self._fresh
            logits, experience.values[step] = self._look(experience.observations[step])
            if not torch.isfinite(logits).all():
                raise TrainingError(
                    "expected finite probabilities of actions, got weights that have grown beyond all bounds"
                    ": lower --ppo.learning-rate and go on from the last checkpoint with --resume"
                )
            actions = torch.multinomial(logits.softmax(-1), 1, generator=self._dice.tensors)[:, 0].numpy()
            began = perf_counter()
            batch = self._vector.step(actions, self._starts)
            self.emulator_seconds += perf_counter() - began
            forced = batch.forced >= 0
            actions = np.where(forced, batch.forced, actions)
            experience.actions[step] = actions
            experience.log_probabilities[step] = logits.log_softmax(-1).numpy()[np.arange(count), actions]
            experience.rewards[step] = batch.rewards
            experience.counts[step] = ~forced
            for number, final in batch.finals.items():
                experience.rewards[step, number] += discount * self._value(final, number)
            experience.over[step] = self._fresh = batch.ended | batch.cut
            self._memory[torch.from_numpy(self._fresh)] = 0
            for number, result in batch.results:
                if result is not None:
                    results.append(result)
                self._starts[number] = self._curriculum.draw(self._dice.words)
        memory = self._memory
        _, experience.last_values[:] = self._look(self._vector.observations)
        self._memory = memory  # the last look comes again
        return experience, results

    def _look(self, observations: NDArray[np.uint8]) -> tuple[torch.Tensor, NDArray[np.float32]]:
        """Return logits and estimates for all emulators, and remember."""
        tensor = torch.from_numpy(observations).to(self._policy.device)
        logits, values, self._memory = self._policy(tensor, self._memory)
        return logits.cpu(), values.cpu().numpy()

    def _value(self, observation: NDArray[np.uint8], number: int) -> float:
        tensor = torch.from_numpy(observation[None]).to(self._policy.device)
        _, values, _ = self._policy(tensor, self._memory[number : number + 1])
        return float(values)
