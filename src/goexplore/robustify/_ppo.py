"""Proximal policy optimisation (Schulman et al., 2017), with steps that are not to be learnt from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from goexplore.errors import ConfigError, TrainingError
from goexplore.robustify._dice import Dice
from goexplore.robustify._lessons import Lesson
from goexplore.robustify._network import Policy
from goexplore.robustify._ranks import Ranks


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """How the policy learns."""

    steps: int = 64
    """Training frames of each emulator between updates."""
    epochs: int = 3
    """Passes over what happened."""
    minibatches: int = 8
    """Gradient steps of each pass."""
    learning_rate: float = 5e-4
    """Of Adam."""
    adam_epsilon: float = 1e-5
    """Of Adam."""
    weight_decay: float = 0.0
    """How much weights are drawn to 0 (L2)."""
    discount: float = 0.99
    """Worth of a reward one training frame later."""
    trace: float = 0.95
    """Lambda of generalised advantage estimation."""
    clip: float = 0.2
    """How far the probability of an action may move at once."""
    entropy: float = 0.01
    """Weight of staying undecided."""
    value_weight: float = 0.5
    """Weight of the estimates' error."""
    gradient_norm: float = 0.5
    """Longer gradients are shortened to this."""
    imitation: float = 0.3
    """Weight of self-imitation on the demonstrations (Oh et al., 2018); 0 leaves it out."""
    imitated: int = 64
    """Steps of demonstrations in each minibatch; of a recurrent policy's, stretches of `imitated_length`."""
    imitated_length: int = 16
    """Training frames of these stretches."""
    cloning: int = 0
    """Gradient steps of behavioural cloning before the first rollout, of 256 demonstration steps each."""

    def __post_init__(self) -> None:
        for name in ("steps", "epochs", "minibatches", "imitated", "imitated_length"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"expected --ppo.{name.replace('_', '-')} to be 1 or more, got {getattr(self, name)}: "
                    "change it"
                )
        for name in ("discount", "trace"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(
                    f"expected --ppo.{name} between 0 and 1, got {getattr(self, name)}: change it"
                )
        if not self.learning_rate > 0:
            raise ConfigError(f"expected --ppo.learning-rate above 0, got {self.learning_rate}: change it")


@dataclass(kw_only=True)
class Experience:
    """What happened between two updates: time first, then emulators."""

    observations: NDArray[np.uint8]
    actions: NDArray[np.int64]
    log_probabilities: NDArray[np.float32]
    values: NDArray[np.float32]
    rewards: NDArray[np.float32]
    """Where a rollout was cut, with the discounted estimate of what would have followed."""
    over: NDArray[np.bool_]
    """After the step the rollout is over."""
    fresh: NDArray[np.bool_]
    """A rollout begins with the step."""
    counts: NDArray[np.bool_]
    """Steps to learn from: not those of a lead-in."""
    memory: NDArray[np.float32]
    """Of a recurrent policy, before the first step."""
    last_values: NDArray[np.float32]
    """Estimates after the last step."""


_PER_EMULATOR = ("memory", "last_values")
"""What has no time."""


def advantages(experience: Experience, discount: float, trace: float) -> NDArray[np.float32]:
    """Return generalised advantage estimates (Schulman et al., 2016)."""
    found = np.zeros_like(experience.rewards)
    following, value_after = np.zeros_like(experience.last_values), experience.last_values
    for step in reversed(range(len(found))):
        goes_on = ~experience.over[step]
        error = experience.rewards[step] + discount * value_after * goes_on - experience.values[step]
        found[step] = following = error + discount * trace * following * goes_on
        value_after = experience.values[step]
    return found


@dataclass(frozen=True)
class Losses:
    """Means over one update."""

    policy: float
    value: float
    entropy: float
    imitation: float
    clipped: float
    """Share of the steps whose probability moved further than `clip`."""


class Learner:
    """Changes a policy so that what turned out better than expected becomes more likely."""

    def __init__(self, policy: Policy, config: PPOConfig, ranks: Ranks, dice: Dice) -> None:
        self._policy, self._config, self._ranks, self._dice = policy, config, ranks, dice
        self.optimizer = torch.optim.Adam(
            policy.parameters(),
            lr=config.learning_rate,
            eps=config.adam_epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )

    def learn(self, experience: Experience, lesson: Callable[[], Lesson]) -> Losses:
        """Make several passes over what happened, and over demonstrations if they are to be imitated."""
        config = self._config
        gains = advantages(experience, config.discount, config.trace)
        learnt = gains[experience.counts].astype(np.float64)
        count, total, squares = self._ranks.sum(np.array([learnt.size, learnt.sum(), (learnt**2).sum()]))
        mean = total / max(count, 1)
        spread = max(squares / max(count, 1) - mean**2, 0) ** 0.5 + 1e-8
        tensors = {each.name: self._tensor(getattr(experience, each.name)) for each in fields(experience)}
        tensors["targets"] = self._tensor(gains + experience.values)
        tensors["gains"] = self._tensor(((gains - mean) / spread).astype(np.float32))
        sums, parts = np.zeros(len(fields(Losses))), 0
        for _ in range(config.epochs):
            for minibatch in self._minibatches(tensors):
                sums += self._step(minibatch, lesson() if config.imitation else None)
                parts += 1
        return Losses(*(self._ranks.sum(sums) / (parts * self._ranks.size)).tolist())

    def clone(self, lesson: Lesson) -> float:
        """Make the actions of demonstrations more likely, whatever came of them; return the loss."""
        surprise, _, weight = self._study(lesson)
        loss = (surprise * weight).sum()
        self._descend(loss)
        return loss.item()

    def _tensor(self, values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(values).to(self._policy.device)

    def _minibatches(self, tensors: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
        """Yield parts in a random order: single steps, or for a recurrent policy whole sequences."""
        length, emulators = tensors["actions"].shape
        if self._policy.memory is None:
            flat = {name: each.flatten(0, 1) for name, each in tensors.items() if name not in _PER_EMULATOR}
            order = torch.randperm(length * emulators, generator=self._dice.tensors)
            for part in order.chunk(self._config.minibatches):
                yield {name: each[part].unsqueeze(0) for name, each in flat.items()} | {
                    "memory": self._policy.empty_memory(len(part))
                }
            return
        order = torch.randperm(emulators, generator=self._dice.tensors)
        for part in order.chunk(self._config.minibatches):
            yield {
                name: each[part] if name in _PER_EMULATOR else each[:, part] for name, each in tensors.items()
            }

    def _step(self, part: dict[str, Tensor], lesson: Lesson | None) -> NDArray[np.float64]:
        config = self._config
        logits, values = self._policy.unroll(part["observations"], part["memory"], part["fresh"])
        weight = part["counts"].float() / part["counts"].sum().clamp(min=1)
        log_all = logits.log_softmax(-1)
        log_now = log_all.gather(-1, part["actions"].unsqueeze(-1)).squeeze(-1)
        ratio = (log_now - part["log_probabilities"]).exp()
        gains = part["gains"]
        surrogate = torch.min(ratio * gains, ratio.clamp(1 - config.clip, 1 + config.clip) * gains)
        policy_loss = -(surrogate * weight).sum()
        value_loss = 0.5 * ((values - part["targets"]) ** 2 * weight).sum()
        entropy = -((log_all.exp() * log_all).sum(-1) * weight).sum()
        loss = policy_loss + config.value_weight * value_loss - config.entropy * entropy
        imitation = torch.zeros(())
        if lesson is not None:
            imitation = self._imitation(lesson)
            loss = loss + config.imitation * imitation
        self._descend(loss)
        clipped = (((ratio - 1).abs() > config.clip).float() * weight).sum()
        return np.array([each.item() for each in (policy_loss, value_loss, entropy, imitation, clipped)])

    def _descend(self, loss: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._ranks.average_gradients(self._policy)
        norm = nn.utils.clip_grad_norm_(self._policy.parameters(), self._config.gradient_norm)
        if not torch.isfinite(norm):  # the same on all ranks: gradients are averages already
            raise TrainingError(
                f"expected finite gradients, got a norm of {norm.item()} and a loss of {loss.item()}: lower "
                "--ppo.learning-rate; the last checkpoint is whole"
            )
        self.optimizer.step()

    def _imitation(self, lesson: Lesson) -> Tensor:
        """Self-imitation: demonstrations are followed where they did better than the policy expects to."""
        surprise, values, weight = self._study(lesson)
        better = (self._tensor(lesson.returns) - values).clamp(min=0)
        return ((surprise * better.detach() + 0.5 * better**2) * weight).sum()

    def _study(self, lesson: Lesson) -> tuple[Tensor, Tensor, Tensor]:
        """Return how unlikely each action of a demonstration is, the policy's estimates, and weights."""
        memory = self._policy.empty_memory(lesson.actions.shape[1])
        logits, values = self._policy.unroll(
            self._tensor(lesson.observations), memory, self._tensor(lesson.fresh)
        )
        surprise = functional.cross_entropy(
            logits.flatten(0, 1), self._tensor(lesson.actions).flatten(), reduction="none"
        ).view_as(values)
        counts = self._tensor(lesson.counts)
        return surprise, values, counts.float() / counts.sum().clamp(min=1)
