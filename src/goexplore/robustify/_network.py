"""Policies: convolutions over the last screens, then feed-forward or recurrent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from goexplore.errors import ConfigError

_SHAPES = ((8, 4), (4, 2), (3, 1))
"""Size and stride of the first, the second and all further convolutions."""


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The size of a policy. The default learns on two cores; `--preset paper` has the paper's."""

    kind: Literal["feed-forward", "recurrent"] = "feed-forward"
    channels: tuple[int, ...] = (16, 32)
    """Of each convolution: 8 x 8 pixels with stride 4, 4 x 4 with 2, then 3 x 3 with 1. May be empty."""
    hidden: int = 256
    """Units after the convolutions, and of the recurrent layer."""
    normalise: bool = False
    """Whether those units are brought to mean 0 and variance 1 (layer normalisation)."""

    def __post_init__(self) -> None:
        if min((self.hidden, *self.channels)) < 1:
            raise ConfigError(
                f"expected network sizes of 1 or more, got channels {self.channels} and hidden {self.hidden}"
                ": change them"
            )


class Policy(nn.Module):
    """Probabilities of actions and an estimate of what is to come, from screens."""

    def __init__(self, config: NetworkConfig, *, shape: tuple[int, int, int], actions: int) -> None:
        """`shape` is that of an observation: channels, rows, columns."""
        super().__init__()
        self.config, self.shape, self.actions = config, shape, actions
        layers: list[nn.Module] = []
        before, height, width = shape
        for number, channels in enumerate(config.channels):
            size, stride = _SHAPES[min(number, len(_SHAPES) - 1)]
            layers += [nn.Conv2d(before, channels, size, stride), nn.ReLU(inplace=True)]
            before, height, width = channels, (height - size) // stride + 1, (width - size) // stride + 1
            if height < 1 or width < 1:
                raise ConfigError(
                    f"expected screens large enough for {len(config.channels)} convolutions, got {shape[2]} "
                    f"x {shape[1]} pixels: enlarge --eyes.width and --eyes.height, or use fewer channels"
                )
        self.eye = nn.Sequential(*layers, nn.Flatten())
        normal = [nn.LayerNorm(config.hidden)] if config.normalise else []
        self.hidden = nn.Sequential(nn.Linear(before * height * width, config.hidden), *normal, nn.ReLU())
        self.memory = nn.GRUCell(config.hidden, config.hidden) if config.kind == "recurrent" else None
        seen = config.hidden if self.memory is None else 2 * config.hidden  # what is seen and remembered
        self.policy = nn.Linear(seen, actions)
        self.value = nn.Linear(seen, 1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
                module.bias.data.zero_()  # type: ignore[union-attr]
        nn.init.orthogonal_(self.policy.weight, 0.01)
        nn.init.orthogonal_(self.value.weight, 1.0)
        # Convolutions learn twice as fast on a CPU.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.value.weight.device

    def empty_memory(self, count: int) -> Tensor:
        """Return the memory of policies that have seen nothing yet; without memory it has no columns."""
        return torch.zeros(count, self.config.hidden if self.memory is not None else 0, device=self.device)

    def see(self, observations: Tensor) -> Tensor:
        """Return what is on screens, given as bytes."""
        # The bytes are put in order, not the numbers: a quarter of the memory to move.
        light = observations.contiguous(memory_format=torch.channels_last).float().mul_(1 / 255)
        seen: Tensor = self.hidden(self.eye(light))
        return seen

    def forward(self, observations: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values and the next memory for one observation each."""
        seen = self.see(observations)
        if self.memory is not None:
            memory = self.memory(seen, memory)
            seen = torch.cat([seen, memory], dim=-1)
        return self.policy(seen), self.value(seen).squeeze(-1), memory

    def unroll(self, observations: Tensor, memory: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values along sequences, time first; `fresh` forgets before an observation."""
        length, count = fresh.shape
        seen = self.see(observations.flatten(0, 1)).view(length, count, -1)
        if self.memory is not None:
            memories = []
            for now, forget in zip(seen, fresh, strict=True):
                memory = self.memory(now, memory * (~forget).unsqueeze(-1))
                memories.append(memory)
            seen = torch.cat([seen, torch.stack(memories)], dim=-1)
        return self.policy(seen), self.value(seen).squeeze(-1)
