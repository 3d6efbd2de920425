"""A Gymnasium action space as whole numbers: each number stands for one action, the same in every process.

Spaces with finitely many actions are numbered through. Where there are infinitely many (Box), or more than
65,536, the numbers stand for a table of drawn actions. So a trajectory takes one or two bytes per step, and a
replay plays the very same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces

from goexplore.envs._environment import MAX_ACTIONS
from goexplore.errors import ConfigError, EnvironmentContractError
from goexplore.random import SplitMix64, stream_state

Draw: TypeAlias = Literal["uniform", "gaussian"]
"""How the numbers of a Box are drawn: evenly between its bounds, or around their middle."""

_Space: TypeAlias = "gymnasium.Space[Any]"


class ActionTable:
    """The actions of a space by number."""

    def __init__(
        self,
        space: _Space,
        *,
        draw: Draw = "uniform",
        count: int = 256,
        sigma: float = 0.5,
        no_op: Any = None,
    ) -> None:
        """Number the actions of a space, or draw `count` of them.

        Args:
            space: Discrete, MultiDiscrete, MultiBinary, Box, or a Dict or Tuple of these.
            draw: How numbers of a Box are drawn.
            count: How many actions are drawn, where the space has too many to be numbered through.
            sigma: The standard deviation of Gaussian draws, as a share of half the distance between the
                bounds; where a Box has no bounds, the standard deviation itself.
            no_op: The action that does nothing, as the environment takes it; None where it has none. In a
                drawn table it is the first.

        """
        self._space = space
        self._draw, self._sigma = draw, sigma
        self._drawn: list[Any] | None = None
        size = _size(space)
        if size is not None and size <= MAX_ACTIONS:
            self.action_count = size
        else:
            # The table belongs to the space and these settings alone, not to a search's seed.
            random = SplitMix64(stream_state(0, count))
            self._drawn = [self._sample(space, random) for _ in range(count)]
            if no_op is not None:
                self._drawn[0] = self._require_action(no_op)
            self.action_count = count
        self.no_op = None if no_op is None else self._number_of(no_op)

    def __getitem__(self, number: int) -> Any:
        """Return an action of which the environment may keep or change what it gets."""
        if not 0 <= number < self.action_count:
            raise EnvironmentContractError(
                f"expected an action from 0 to {self.action_count - 1}, got {number}: the trajectory belongs "
                "to other settings of the action table"
            )
        if self._drawn is not None:
            drawn = self._drawn[number]
            return drawn.copy() if type(drawn) is np.ndarray else _copy(drawn)
        action, rest = _decode(self._space, number)
        assert rest == 0
        return action

    def _sample(self, space: _Space, random: SplitMix64) -> Any:
        if isinstance(space, spaces.Box):
            return self._sample_box(space, random)
        if isinstance(space, spaces.Dict):
            return {key: self._sample(each, random) for key, each in space.spaces.items()}
        if isinstance(space, spaces.Tuple):
            return tuple(self._sample(each, random) for each in space.spaces)
        if isinstance(space, spaces.Discrete):
            return space.start + random.index(int(space.n))
        if isinstance(space, spaces.MultiDiscrete):
            digits = [random.index(int(each)) for each in space.nvec.reshape(-1)]
            return (np.array(digits, space.dtype).reshape(space.shape) + space.start).astype(space.dtype)
        assert isinstance(space, spaces.MultiBinary)
        bits = [random.index(2) for _ in range(math.prod(space.shape))]
        return np.array(bits, space.dtype).reshape(space.shape)

    def _sample_box(self, space: spaces.Box, random: SplitMix64) -> Any:
        low, high = space.low.astype(np.float64).reshape(-1), space.high.astype(np.float64).reshape(-1)
        bounded = np.isfinite(low) & np.isfinite(high)
        shares = random.uniform(len(low))
        if self._draw == "uniform":
            if not bounded.all():
                raise ConfigError(
                    f"expected bounds for uniform actions, got {space}: set `draw` to gaussian, or rescale "
                    "the actions with gymnasium.wrappers.RescaleAction"
                )
            whole = 1.0 if np.issubdtype(space.dtype, np.integer) else 0.0  # the highest is an action too
            values = low + shares * (high + whole - low)
        else:
            # Around the middle; around the one bound that there is, or 0, where there is no middle.
            least = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0) - 1.0)
            most = np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0.0) + 1.0)
            middle = np.where(bounded, (least + most) / 2, np.clip(0.0, low, high))
            spread = np.where(bounded, (most - least) / 2, 1.0) * self._sigma
            # The inverse of the distribution is never asked for 0, where it is infinite.
            normal = [NormalDist().inv_cdf(max(share, 2.0**-53)) for share in shares.tolist()]
            values = np.clip(middle + spread * np.array(normal), low, high)
        if np.issubdtype(space.dtype, np.integer):
            values = np.clip(np.floor(values), low, high)
        return values.astype(space.dtype).reshape(space.shape)

    def _require_action(self, action: Any) -> Any:
        like = _as_in(self._space, action)
        if like is None or not self._space.contains(like):
            raise ConfigError(
                f"expected `no_op` to be an action of {self._space}, got {action!r}: give it as `step` "
                "takes it"
            )
        return like

    def _number_of(self, action: Any) -> int:
        """Return the number of an action."""
        wanted = self._require_action(action)
        if self._drawn is not None:
            return 0  # `no_op`, the only action that is looked for, was put there
        return _encode(self._space, wanted)


def _size(space: _Space) -> int | None:
    """Return the number of actions in a space, or None where there is no end of them."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return math.prod(map(int, space.nvec.reshape(-1)))
    if isinstance(space, spaces.MultiBinary):
        return 1 << math.prod(space.shape)
    if isinstance(space, spaces.Box):
        return None
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        sizes = [_size(each) for each in parts]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)
    raise ConfigError(
        "expected an action space of Discrete, MultiDiscrete, MultiBinary, Box, or a Dict or Tuple of these, "
        f"got {space}: wrap the environment in gymnasium.wrappers.TransformAction"
    )


def _decode(space: _Space, number: int) -> tuple[Any, int]:
    """Return the action of a number in mixed radix, the first part changing fastest, and what is left."""
    if isinstance(space, spaces.Discrete):
        rest, digit = divmod(number, int(space.n))
        return int(space.start) + digit, rest
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        digits = []
        for radix in _radices(space):
            number, digit = divmod(number, radix)
            digits.append(digit)
        action = np.array(digits, space.dtype).reshape(space.shape)
        return (action + _start(space)).astype(space.dtype), number
    if isinstance(space, spaces.Dict):
        named = {}
        for key, each in space.spaces.items():
            named[key], number = _decode(each, number)
        return named, number
    assert isinstance(space, spaces.Tuple)
    parts = []
    for each in space.spaces:
        part, number = _decode(each, number)
        parts.append(part)
    return tuple(parts), number


def _encode(space: _Space, action: Any) -> int:
    """Return the number of an action: the inverse of `_decode`."""
    if isinstance(space, spaces.Discrete):
        return int(action) - int(space.start)
    number, scale = 0, 1
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        digits = (np.asarray(action) - _start(space)).reshape(-1).tolist()
        for digit, radix in zip(digits, _radices(space), strict=True):
            number, scale = number + digit * scale, scale * radix
        return int(number)
    keyed = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)  # type: ignore[attr-defined]
    for key, each in keyed:
        number, scale = number + _encode(each, action[key]) * scale, scale * (_size(each) or 1)
    return number


def _radices(space: spaces.MultiDiscrete | spaces.MultiBinary) -> Sequence[int]:
    if isinstance(space, spaces.MultiBinary):
        return [2] * math.prod(space.shape)
    return [int(each) for each in space.nvec.reshape(-1)]


def _start(space: spaces.MultiDiscrete | spaces.MultiBinary) -> Any:
    return space.start if isinstance(space, spaces.MultiDiscrete) else 0


def _as_in(space: _Space, action: Any) -> Any:
    """Return an action that was given as plain numbers and lists in the form that a space has."""
    try:
        if isinstance(space, spaces.Discrete):
            return int(action)
        if isinstance(space, spaces.Dict):
            return {key: _as_in(each, action[key]) for key, each in space.spaces.items()}
        if isinstance(space, spaces.Tuple):
            return tuple(_as_in(each, part) for each, part in zip(space.spaces, action, strict=True))
        return np.asarray(action, space.dtype).reshape(space.shape)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _copy(action: Any) -> Any:
    if isinstance(action, np.ndarray):
        return action.copy()
    if isinstance(action, Mapping):
        return {key: _copy(each) for key, each in action.items()}
    if isinstance(action, tuple):
        return tuple(map(_copy, action))
    return action
