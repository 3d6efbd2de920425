"""Playing the policy: experience for the learner, results for the curriculum."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from goexplore.errors import SnapshotError, TrainingError
from goexplore.files import pack, unpack
from goexplore.play import Observation
from goexplore.random import SplitMix64
from goexplore.runs import EndedRollout
from goexplore.training._curriculum import Result, Start
from goexplore.training._network import Policy
from goexplore.training._ppo import Experience, autocast
from goexplore.training._random_streams import RandomStreams
from goexplore.training._vector_env import VectorEnvironment


class Starts(Protocol):
    """Draws where rollouts begin."""

    def draw(self, random: SplitMix64) -> Start:
        """Return where the next rollout begins."""
        ...

    def has(self, start: Start) -> bool:
        """Return whether a rollout can begin there."""
        ...


@dataclass(frozen=True, kw_only=True)
class _SavedRollouts:
    parts: list[bytes]
    """Of the processes that play."""
    starts: list[Start]
    """Where the next ones begin."""
    memory: bytes
    episode_start: bytes


class Collector:
    """Environments, what the policy remembers of their rollouts, and where the next ones begin."""

    def __init__(
        self,
        policy: Policy,
        vector_env: VectorEnvironment,
        curriculum: Starts,
        random_streams: RandomStreams,
        *,
        mixed_precision: bool = False,
    ) -> None:
        self._policy, self._vector_env, self._curriculum, self._random_streams = (
            policy,
            vector_env,
            curriculum,
            random_streams,
        )
        self._autocast = autocast(policy.device, enabled=mixed_precision)
        self.sees_once = False
        """Whether convolutions are not learnt at present: then their output is kept in place of images."""
        self.environment_seconds = 0.0
        """Seconds spent in environments so far."""
        self.ended: list[EndedRollout] = []
        """Where and how the rollouts ended that `collect` last saw the end of."""
        self._starts: list[Start] = []
        count = len(vector_env.observations)
        self._memory = policy.empty_memory(count)
        self._episode_start = np.ones(count, np.bool_)

    def begin(self) -> None:
        """Begin all rollouts."""
        draw, words = self._curriculum.draw, self._random_streams.words
        count = len(self._vector_env.observations)
        self._memory = self._policy.empty_memory(count)
        self._episode_start = np.ones(count, np.bool_)
        self._vector_env.begin([draw(words) for _ in range(count)])
        self._starts = [draw(words) for _ in range(count)]

    def state(self) -> bytes:
        """Return all rollouts under way, packed."""
        return pack(
            _SavedRollouts(
                parts=self._vector_env.state(),
                starts=self._starts,
                memory=self._memory.cpu().numpy().tobytes(),
                episode_start=self._episode_start.tobytes(),
            )
        )

    def restore(self, packed: bytes) -> str | None:
        """Go on with rollouts whose state was packed; return what does not fit, if something does not."""
        try:
            saved = unpack(_SavedRollouts, packed)
            if len(saved.parts) != self._vector_env.processes:
                return "there are fewer or more processes with environments than before"
            self._vector_env.restore(saved.parts)
            count = len(self._vector_env.observations)
            if len(saved.starts) != count or not all(map(self._curriculum.has, saved.starts)):
                raise ValueError("rollouts that begin elsewhere")
            memory = np.frombuffer(saved.memory, np.float32).reshape(count, -1)
            self._memory.copy_(torch.from_numpy(memory.copy()))
            self._episode_start = np.frombuffer(saved.episode_start, np.bool_, count).copy()
        except (ValueError, LookupError, RuntimeError, SnapshotError) as error:
            return f"those of the checkpoint do not fit this training ({' '.join(str(error).split())})"
        self._starts = saved.starts
        return None

    def collect(self, steps: int, discount: float) -> tuple[Experience, list[Result]]:
        """Play this many training frames with every environment."""
        # Autocast keeps the weights of 16 bits until it is left: they are made once, not for each step.
        with torch.no_grad(), self._autocast:
            return self._collect(steps, discount)

    def _collect(self, steps: int, discount: float) -> tuple[Experience, list[Result]]:
        count = len(self._vector_env.observations)
        now = self._look()
        experience = Experience(
            observations=np.empty((steps, *now.shape), now.dtype),
            actions=np.empty((steps, count), np.int64),
            log_probabilities=np.empty((steps, count), np.float32),
            values=np.empty((steps, count), np.float32),
            rewards=np.empty((steps, count), np.float32),
            over=np.empty((steps, count), np.bool_),
            episode_start=np.empty((steps, count), np.bool_),
            mask=np.empty((steps, count), np.bool_),
            memory=self._memory.cpu().numpy().copy(),
            last_values=np.empty(count, np.float32),
        )
        results: list[Result] = []
        self.ended = []
        for step in range(steps):
            experience.observations[step] = now
            experience.episode_start[step] = self._episode_start
            logits, experience.values[step] = self._evaluate(now)
            if not torch.isfinite(logits).all():
                raise TrainingError(
                    "expected finite probabilities of actions, got weights that have grown beyond all bounds"
                    ": lower `learning_rate` and go on from the last checkpoint with `resume`"
                )
            actions = torch.multinomial(logits.softmax(-1), 1, generator=self._random_streams.tensors)[
                :, 0
            ].numpy()
            began = perf_counter()
            with autocast(self._policy.device, enabled=False):  # environments may use PyTorch too
                batch = self._vector_env.step(actions, self._starts)
            self.environment_seconds += perf_counter() - began
            forced = batch.forced >= 0
            actions = np.where(forced, batch.forced, actions)
            experience.actions[step] = actions
            experience.log_probabilities[step] = logits.log_softmax(-1).numpy()[np.arange(count), actions]
            experience.rewards[step] = batch.rewards
            experience.mask[step] = ~forced
            for number, final in batch.finals.items():
                experience.rewards[step, number] += discount * self._value(final, number)
            experience.over[step] = self._episode_start = batch.terminated | batch.truncated
            self._memory[torch.from_numpy(self._episode_start)] = 0
            self.ended += batch.ended
            for number, result in batch.results:
                if result is not None:
                    results.append(result)
                self._starts[number] = self._curriculum.draw(self._random_streams.words)
            now = self._look()
        memory = self._memory
        _, experience.last_values[:] = self._evaluate(now)
        self._memory = memory  # the last observation comes again
        return experience, results

    def close(self) -> None:
        """Stop the environments."""
        self._vector_env.close()

    def _look(self) -> Observation:
        """Return what environments show now, or what the convolutions make of it."""
        if not self.sees_once:
            return self._vector_env.observations
        tensor = torch.from_numpy(self._vector_env.observations).to(self._policy.device)
        return self._policy.see(tensor).half().cpu().numpy()

    def _evaluate(self, observations: Observation) -> tuple[torch.Tensor, NDArray[np.float32]]:
        """Return logits and value estimates for all environments, and remember."""
        tensor = torch.from_numpy(observations).to(self._policy.device)
        logits, values, self._memory = self._policy(tensor, self._memory)
        return logits.float().cpu(), values.float().cpu().numpy()

    def _value(self, observation: Observation, number: int) -> float:
        tensor = torch.from_numpy(observation[None]).to(self._policy.device)
        _, values, _ = self._policy(tensor, self._memory[number : number + 1])
        return float(values)
