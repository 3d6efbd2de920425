"""Policies: convolutions over the last images, or layers over a vector, then feed-forward or recurrent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from goexplore.errors import ConfigError

_SHAPES = ((8, 4), (4, 2), (3, 1))
"""Size and stride of the first, the second and all further convolutions."""


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The size of a policy. The default learns on two cores; `--preset paper` has the paper's size."""

    kind: Literal["feed-forward", "recurrent"] = "feed-forward"
    """Whether the policy has a memory (recurrent: a GRU) or sees only the last observations."""
    channels: tuple[int, ...] = (16, 32)
    """Channels of each convolution: 8 x 8 pixels with stride 4, 4 x 4 with 2, then 3 x 3 with 1. May be
    empty. Convolutions that an image is too small for are left out."""
    hidden: int = 256
    """Units after the convolutions, in each of two layers for vectors, and of the recurrent layer."""
    normalise: bool = False
    """Whether layer normalisation is applied to these units."""

    def __post_init__(self) -> None:
        if min((self.hidden, *self.channels)) < 1:
            raise ConfigError(
                f"expected `channels` and `hidden` of 1 or more, got {self.channels} and {self.hidden}"
            )


class Policy(nn.Module):
    """Probabilities of actions and an estimate of the return, from observations."""

    offset: Tensor
    scale: Tensor

    def __init__(self, config: NetworkConfig, *, shape: tuple[int, ...], actions: int) -> None:
        """`shape` is that of an observation: channels, rows, columns of images, or the length of a vector."""
        super().__init__()
        self.config, self.shape, self.actions = config, shape, actions
        self.is_image = len(shape) == 3
        layers: list[nn.Module] = []
        if self.is_image:
            inputs = self._add_convolutions(layers)
        else:
            inputs = shape[0]
            # Vectors are standardised by the demonstrations' mean and deviation, saved with the weights.
            self.register_buffer("offset", torch.zeros(shape))
            self.register_buffer("scale", torch.ones(shape))
            layers += [nn.Linear(inputs, config.hidden), nn.ReLU()]
            inputs = config.hidden
        self.features = nn.Sequential(*layers, nn.Flatten())
        normal = [nn.LayerNorm(config.hidden)] if config.normalise else []
        self.hidden = nn.Sequential(nn.Linear(inputs, config.hidden), *normal, nn.ReLU())
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

    def _add_convolutions(self, layers: list[nn.Module]) -> int:
        """Add as many convolutions as the image is large enough for; return how many numbers come out."""
        before, height, width = self.shape
        for number, channels in enumerate(self.config.channels):
            size, stride = _SHAPES[min(number, len(_SHAPES) - 1)]
            if height < size or width < size:
                break
            layers += [nn.Conv2d(before, channels, size, stride), nn.ReLU(inplace=True)]
            before, height, width = channels, (height - size) // stride + 1, (width - size) // stride + 1
        return before * height * width

    def standardise(self, mean: NDArray[np.float32], deviation: NDArray[np.float32]) -> None:
        """Bring vectors with this mean and standard deviation to mean 0 and deviation 1 from now on."""
        self.offset.copy_(torch.from_numpy(mean))
        self.scale.copy_(torch.from_numpy(1 / deviation))

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.value.weight.device

    def empty_memory(self, count: int) -> Tensor:
        """Return the memory of policies that have seen nothing yet; without memory it has no columns."""
        return torch.zeros(count, self.config.hidden if self.memory is not None else 0, device=self.device)

    def encode(self, observations: Tensor) -> Tensor:
        """Return the hidden units for observations: images given as bytes, or vectors."""
        if self.is_image:
            # The bytes are put in order, not the numbers: a quarter of the memory to move.
            inputs = observations.contiguous(memory_format=torch.channels_last).float().mul_(1 / 255)
        else:
            inputs = (observations - self.offset) * self.scale
        seen: Tensor = self.hidden(self.features(inputs))
        return seen

    def forward(self, observations: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values and the next memory for one observation each."""
        seen = self.encode(observations)
        if self.memory is not None:
            memory = self.memory(seen, memory)
            seen = torch.cat([seen, memory], dim=-1)
        return self.policy(seen), self.value(seen).squeeze(-1), memory

    def unroll(self, observations: Tensor, memory: Tensor, episode_start: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values along sequences, time first; memory is empty at an episode's start."""
        length, count = episode_start.shape
        seen = self.encode(observations.flatten(0, 1)).view(length, count, -1)
        if self.memory is not None:
            memories = []
            for now, starts in zip(seen, episode_start, strict=True):
                memory = self.memory(now, memory * (~starts).unsqueeze(-1))
                memories.append(memory)
            seen = torch.cat([seen, torch.stack(memories)], dim=-1)
        return self.policy(seen), self.value(seen).squeeze(-1)
