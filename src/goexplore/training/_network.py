"""Policies: convolutions over the last images, or layers over a vector, then feed-forward or recurrent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from goexplore.errors import ConfigError, require_at_least

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
    value_hidden: int = 0
    """Units of a layer that the estimate of the return has to itself; 0: it shares those of the policy."""

    def __post_init__(self) -> None:
        if min((self.hidden, *self.channels)) < 1:
            raise ConfigError(
                f"expected `channels` and `hidden` of 1 or more, got {self.channels} and {self.hidden}"
            )
        require_at_least("channels", max(self.channels, default=1), 1, 4096)
        require_at_least("hidden", self.hidden, 1, 16_384)
        require_at_least("value_hidden", self.value_hidden, 0, 16_384)


def _precision(tensor: Tensor) -> torch.dtype:
    """Return the type that layers compute with where this tensor is."""
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else torch.float32


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
        self.value: nn.Module = nn.Linear(seen, 1)
        if config.value_hidden:
            if self.memory is not None:
                raise ConfigError(
                    "expected `value_hidden` 0 for a recurrent policy, whose value depends on its memory, "
                    f"got {config.value_hidden}"
                )
            self.value = nn.Sequential(
                nn.Linear(inputs, config.value_hidden), nn.ReLU(), nn.Linear(config.value_hidden, 1)
            )
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
                module.bias.data.zero_()  # type: ignore[union-attr]
        nn.init.orthogonal_(self.policy.weight, 0.01)
        last = self.value[-1] if isinstance(self.value, nn.Sequential) else self.value
        nn.init.orthogonal_(last.weight, 0.1 if config.value_hidden else 1.0)  # type: ignore[arg-type]
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
        return self.policy.weight.device

    def empty_memory(self, count: int) -> Tensor:
        """Return the memory of policies that have seen nothing yet; without memory it has no columns."""
        return torch.zeros(count, self.config.hidden if self.memory is not None else 0, device=self.device)

    def see(self, observations: Tensor) -> Tensor:
        """Return what the convolutions, or the first layer, make of observations: bytes, or vectors."""
        if self.is_image:
            # The bytes are put in order, not the numbers: a quarter of the memory to move. 16 bits hold them
            # exactly, and autocast would round to the same 16 bits after the division.
            inputs = observations.contiguous(memory_format=torch.channels_last)
            inputs = inputs.to(_precision(observations)).mul_(1 / 255)
        else:
            inputs = (observations - self.offset) * self.scale
        seen: Tensor = self.features(inputs)
        return seen

    def _seen(self, observations: Tensor) -> Tensor:
        """Return what `see` makes of images, unless that is what is given: images are bytes."""
        if self.is_image and observations.dtype != torch.uint8:
            return observations.to(_precision(observations))  # once, not for each layer that it goes into
        return self.see(observations)

    def forward(self, observations: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values and the next memory for one observation each, or what `see` made of it."""
        seen = self._seen(observations)
        hidden = self.hidden(seen)
        if self.memory is not None:
            memory = self.memory(hidden, memory)
            hidden = torch.cat([hidden, memory], dim=-1)
        return self._logits(hidden), self._value(seen, hidden), memory

    def unroll(self, observations: Tensor, memory: Tensor, episode_start: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values along sequences, time first; memory is empty at an episode's start."""
        length, count = episode_start.shape
        seen = self._seen(observations.flatten(0, 1)).view(length, count, -1)
        hidden = self.hidden(seen)
        if self.memory is not None:
            memories = []
            for now, starts in zip(hidden, episode_start, strict=True):
                memory = self.memory(now, memory * (~starts).unsqueeze(-1))
                memories.append(memory)
            hidden = torch.cat([hidden, torch.stack(memories)], dim=-1)
        return self._logits(hidden), self._value(seen, hidden)

    def _logits(self, hidden: Tensor) -> Tensor:
        """Return logits, always with 32 bits: with 16, probabilities would be off by a tenth."""
        with torch.autocast(hidden.device.type, enabled=False):
            logits: Tensor = self.policy(hidden.float())
            return logits

    def _value(self, seen: Tensor, hidden: Tensor) -> Tensor:
        """Return estimates of the return; a value of its own does not change what is seen."""
        value: Tensor = self.value(seen.detach() if self.config.value_hidden else hidden).squeeze(-1)
        return value
