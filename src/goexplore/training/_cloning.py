"""Behavioural cloning of the expert: what it chose becomes more likely, wherever it played."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from goexplore.errors import ConfigError, TrainingError, require_at_least, require_positive
from goexplore.training._group import ProcessGroup
from goexplore.training._network import Policy
from goexplore.training._ppo import autocast
from goexplore.training._random_streams import RandomStreams
from goexplore.training._recording_buffer import LabelledFrames, RecordingBuffer


@dataclass(frozen=True, kw_only=True)
class CloningConfig:
    """How the expert is cloned before the policy learns by itself."""

    steps: int = 1500
    """Gradient steps."""
    batch: int = 256
    """Training frames in each, over all learning processes."""
    learning_rate: float = 5e-4
    """Adam's learning rate at the beginning; in the end it is a tenth of that."""
    sharpen: float = 1.5
    """Factor for the logits after that: a clone is less certain of actions than the expert was."""
    mixed_precision: bool = True
    """Whether to compute with 16 bits where the processor can."""

    def __post_init__(self) -> None:
        require_at_least("steps", self.steps, 0)
        require_at_least("batch", self.batch, 1, 65_536)
        require_positive("learning_rate", self.learning_rate)
        require_positive("sharpen", self.sharpen)


class Cloner:
    """Fits a policy to recordings."""

    def __init__(
        self,
        policy: Policy,
        buffer: RecordingBuffer,
        numbers: Iterable[int],
        config: CloningConfig,
        group: ProcessGroup,
        random_streams: RandomStreams,
    ) -> None:
        """Fit it to the recordings with these numbers."""
        self._policy, self._config = policy, config
        self._group, self._random_streams = group, random_streams
        self._autocast = autocast(group.device, enabled=config.mixed_precision)
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate, eps=1e-5, fused=True)
        self._frames = LabelledFrames(buffer, numbers)
        if not len(self._frames):
            raise ConfigError(
                "expected recorded episodes to clone, got none that survives for long: give other "
                "demonstrations, or more expert episodes"
            )

    def step(self, done: int) -> tuple[float, float]:
        """Make one gradient step, after so many others; return the loss and the share of equal choices."""
        config, policy = self._config, self._policy
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = config.learning_rate * (1 - 0.9 * done / max(config.steps, 1))
        count = max(1, config.batch // self._group.size)
        observations, actions = self._frames.draw(self._random_streams.words, count)
        labels = torch.from_numpy(actions).to(policy.device)
        with self._autocast:
            logits, _, _ = policy(
                torch.from_numpy(observations).to(policy.device), policy.empty_memory(count)
            )
        logits = logits.float()
        loss = functional.cross_entropy(logits, labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._group.average_gradients(policy)
        norm = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        if not torch.isfinite(norm):
            raise TrainingError(
                f"expected finite gradients while cloning, got a loss of {loss.item()}: lower "
                "`learning_rate` of `cloning`"
            )
        self.optimizer.step()
        return loss.item(), (logits.argmax(-1) == labels).float().mean().item()

    def finish(self) -> None:
        """Make the policy more certain."""
        with torch.no_grad():
            self._policy.policy.weight.mul_(self._config.sharpen)
            self._policy.policy.bias.mul_(self._config.sharpen)
