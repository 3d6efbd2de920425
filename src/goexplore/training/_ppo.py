"""Proximal policy optimisation (Schulman et al., 2017), with a mask for steps that are not learnt from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from goexplore.errors import TrainingError, require_at_least, require_between, require_positive
from goexplore.play import Observation
from goexplore.training._group import ProcessGroup
from goexplore.training._network import Policy
from goexplore.training._random_streams import RandomStreams
from goexplore.training._sampler import DemonstrationBatch


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """How the policy learns."""

    steps: int = 64
    """Training frames that each environment plays between updates."""
    epochs: int = 3
    """Passes over the collected training frames in each update."""
    minibatches: int = 8
    """Gradient steps of each pass."""
    learning_rate: float = 5e-4
    """Adam's learning rate."""
    value_learning_rate: float | None = None
    """Adam's learning rate for an estimate of the return that has a layer of its own; None: the same."""
    decay_over: int | None = None
    """Training frames over which learning rates fall linearly to a tenth, because with large steps the policy
    improves in one place and forgets another. None keeps them constant."""
    adam_epsilon: float = 1e-5
    """Adam's epsilon."""
    weight_decay: float = 0.0
    """Weight of the L2 penalty on the network's weights."""
    discount: float = 0.99
    """Discount factor gamma, per training frame."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation."""
    clip: float = 0.2
    """Range in which the ratio of probabilities may move in one update: 1 - clip to 1 + clip."""
    entropy: float = 0.01
    """Weight of the entropy bonus."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    gradient_norm: float = 0.5
    """Gradients with a larger norm are scaled down to this one."""
    imitation: float = 0.3
    """Weight of self-imitation on the demonstrations (Oh et al., 2018); 0 leaves it out."""
    imitated: int = 64
    """Demonstration steps in each minibatch; for a recurrent policy, in sequences of `imitated_length`."""
    imitated_length: int = 16
    """Training frames of each such sequence."""
    cloning: int = 0
    """Gradient steps of behavioural cloning before the first rollout, of 256 demonstration steps each."""
    value_warm_up: int = 0
    """Updates in which only the estimate of the return learns, so that it does not mislead the policy."""
    mixed_precision: bool = False
    """Whether to compute with 16 bits where the processor can; it is faster, and less exact."""

    def __post_init__(self) -> None:
        for name in ("steps", "epochs", "minibatches", "imitated", "imitated_length"):
            require_at_least(name, getattr(self, name), 1, 65_536)
        require_at_least("value_warm_up", self.value_warm_up, 0)
        for name in ("discount", "gae_lambda"):
            require_between(name, getattr(self, name), 0, 1)
        if self.decay_over is not None:
            require_at_least("decay_over", self.decay_over, 1)
        for name in ("learning_rate", "value_learning_rate"):
            if getattr(self, name) is not None:
                require_positive(name, getattr(self, name))


@dataclass(kw_only=True)
class Experience:
    """What happened between two updates: time first, then environments."""

    observations: Observation
    actions: NDArray[np.int64]
    log_probabilities: NDArray[np.float32]
    values: NDArray[np.float32]
    rewards: NDArray[np.float32]
    """Where a rollout was truncated, with the discounted estimate of what would have followed."""
    over: NDArray[np.bool_]
    """After the step the rollout is over."""
    episode_start: NDArray[np.bool_]
    """A rollout begins with the step."""
    mask: NDArray[np.bool_]
    """Steps to learn from: not those of a burn-in."""
    memory: NDArray[np.float32]
    """Of a recurrent policy, before the first step."""
    last_values: NDArray[np.float32]
    """Estimates after the last step."""


_PER_ENVIRONMENT = ("memory", "last_values")
"""What has no time."""


def estimate_advantages(experience: Experience, discount: float, gae_lambda: float) -> NDArray[np.float32]:
    """Return generalised advantage estimates (Schulman et al., 2016)."""
    found = np.zeros_like(experience.rewards)
    following, value_after = np.zeros_like(experience.last_values), experience.last_values
    for step in reversed(range(len(found))):
        goes_on = ~experience.over[step]
        error = experience.rewards[step] + discount * value_after * goes_on - experience.values[step]
        found[step] = following = error + discount * gae_lambda * following * goes_on
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


def autocast(device: torch.device, *, enabled: bool) -> torch.autocast:
    """Return a context that computes with 16 bits, if that is wanted and the processor can."""
    able = torch.cuda.is_bf16_supported() if device.type == "cuda" else _has_bfloat16()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled and able)


def _has_bfloat16() -> bool:
    supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return bool(supported and supported())


class Learner:
    """Updates a policy with PPO, and with self-imitation of demonstrations."""

    def __init__(
        self, policy: Policy, config: PPOConfig, group: ProcessGroup, random_streams: RandomStreams
    ) -> None:
        self._policy, self._config, self._group, self._random_streams = policy, config, group, random_streams
        self._autocast = autocast(group.device, enabled=config.mixed_precision)
        learnt = [each for each in policy.parameters() if each.requires_grad]
        own = set(policy.value.parameters()) if policy.config.value_hidden else set()
        # A value of its own must not take the policy's share of the gradient.
        self._clipped = [
            [each for each in learnt if each not in own],
            [each for each in learnt if each in own],
        ]
        of_value = config.value_learning_rate or config.learning_rate
        self._learning_rates = [
            rate
            for parameters, rate in zip(self._clipped, (config.learning_rate, of_value), strict=True)
            if parameters
        ]
        self.optimizer = torch.optim.Adam(
            [{"params": parameters} for parameters in self._clipped if parameters],
            lr=config.learning_rate,
            eps=config.adam_epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.decay(0)

    def decay(self, training_frames: int) -> None:
        """Set the learning rates for after so many training frames."""
        over = self._config.decay_over
        factor = 1.0 if over is None else 1 - 0.9 * min(training_frames / over, 1.0)
        for group, rate in zip(self.optimizer.param_groups, self._learning_rates, strict=True):
            group["lr"] = factor * rate

    def update(
        self,
        experience: Experience,
        demonstration_batch: Callable[[], DemonstrationBatch] | None = None,
        *,
        value_only: bool = False,
    ) -> Losses:
        """Make several passes over what happened, and over demonstrations if they are to be imitated."""
        config = self._config
        advantages = estimate_advantages(experience, config.discount, config.gae_lambda)
        learnt = advantages[experience.mask].astype(np.float64)
        count, total, squares = self._group.sum(np.array([learnt.size, learnt.sum(), (learnt**2).sum()]))
        mean = total / max(count, 1)
        spread = max(squares / max(count, 1) - mean**2, 0) ** 0.5 + 1e-8
        tensors = {each.name: self._tensor(getattr(experience, each.name)) for each in fields(experience)}
        tensors["targets"] = self._tensor(advantages + experience.values)
        tensors["advantages"] = self._tensor(((advantages - mean) / spread).astype(np.float32))
        sums, parts = np.zeros(len(fields(Losses))), 0
        for _ in range(config.epochs):
            for minibatch in self._minibatches(tensors):
                imitated = demonstration_batch() if config.imitation and demonstration_batch else None
                sums += self._step(minibatch, imitated, value_only=value_only)
                parts += 1
        return Losses(*(self._group.sum(sums) / (parts * self._group.size)).tolist())

    def clone(self, demonstration_batch: DemonstrationBatch) -> float:
        """Make the actions of demonstrations more likely, whatever came of them; return the loss."""
        negative_log_likelihood, _, weight = self._follow(demonstration_batch)
        loss = (negative_log_likelihood * weight).sum()
        self._descend(loss)
        return loss.item()

    def _tensor(self, values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(values).to(self._policy.device)

    def _minibatches(self, tensors: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
        """Yield parts in a random order: single steps, or for a recurrent policy whole sequences."""
        length, environments = tensors["actions"].shape
        if self._policy.memory is None:
            flat = {
                name: each.flatten(0, 1) for name, each in tensors.items() if name not in _PER_ENVIRONMENT
            }
            order = torch.randperm(length * environments, generator=self._random_streams.tensors)
            for part in order.chunk(self._config.minibatches):
                yield {name: each[part].unsqueeze(0) for name, each in flat.items()} | {
                    "memory": self._policy.empty_memory(len(part))
                }
            return
        order = torch.randperm(environments, generator=self._random_streams.tensors)
        for part in order.chunk(self._config.minibatches):
            yield {
                name: each[part] if name in _PER_ENVIRONMENT else each[:, part]
                for name, each in tensors.items()
            }

    def _step(
        self,
        part: dict[str, Tensor],
        demonstration_batch: DemonstrationBatch | None,
        *,
        value_only: bool,
    ) -> NDArray[np.float64]:
        config = self._config
        with self._autocast:
            logits, values = self._policy.unroll(part["observations"], part["memory"], part["episode_start"])
        logits, values = logits.float(), values.float()
        weight = part["mask"].float() / part["mask"].sum().clamp(min=1)
        log_all = logits.log_softmax(-1)
        log_now = log_all.gather(-1, part["actions"].unsqueeze(-1)).squeeze(-1)
        ratio = (log_now - part["log_probabilities"]).exp()
        advantages = part["advantages"]
        surrogate = torch.min(ratio * advantages, ratio.clamp(1 - config.clip, 1 + config.clip) * advantages)
        policy_loss = -(surrogate * weight).sum()
        value_loss = 0.5 * ((values - part["targets"]) ** 2 * weight).sum()
        entropy = -((log_all.exp() * log_all).sum(-1) * weight).sum()
        loss = config.value_weight * value_loss
        if not value_only:
            loss = loss + policy_loss - config.entropy * entropy
        imitation = torch.zeros(())
        if demonstration_batch is not None:
            imitation = self._imitation(demonstration_batch)
            loss = loss + config.imitation * imitation
        self._descend(loss)
        clipped = (((ratio - 1).abs() > config.clip).float() * weight).sum()
        return np.array([each.item() for each in (policy_loss, value_loss, entropy, imitation, clipped)])

    def _descend(self, loss: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._group.average_gradients(self._policy)
        norm = torch.stack(
            [nn.utils.clip_grad_norm_(each, self._config.gradient_norm) for each in self._clipped]
        ).sum()
        if not torch.isfinite(norm):  # the same in all processes: gradients are averages already
            raise TrainingError(
                f"expected finite gradients, got a norm of {norm.item()} and a loss of {loss.item()}: lower "
                "`learning_rate`; the last checkpoint is whole"
            )
        self.optimizer.step()

    def _imitation(self, demonstration_batch: DemonstrationBatch) -> Tensor:
        """Self-imitation: demonstrations are followed where they did better than the policy expects to."""
        negative_log_likelihood, values, weight = self._follow(demonstration_batch)
        better = (self._tensor(demonstration_batch.returns) - values).clamp(min=0)
        return ((negative_log_likelihood * better.detach() + 0.5 * better**2) * weight).sum()

    def _follow(self, demonstration_batch: DemonstrationBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Return negative log-likelihoods of the demonstrations' actions, value estimates, and weights."""
        memory = self._policy.empty_memory(demonstration_batch.actions.shape[1])
        with self._autocast:
            logits, values = self._policy.unroll(
                self._tensor(demonstration_batch.observations),
                memory,
                self._tensor(demonstration_batch.episode_start),
            )
        logits, values = logits.float(), values.float()
        negative_log_likelihood = functional.cross_entropy(
            logits.flatten(0, 1), self._tensor(demonstration_batch.actions).flatten(), reduction="none"
        ).view_as(values)
        mask = self._tensor(demonstration_batch.mask)
        return negative_log_likelihood, values, mask.float() / mask.sum().clamp(min=1)
