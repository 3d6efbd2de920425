"""A Gymnasium environment that keeps our contract."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from goexplore.envs._environment import Environment, Step
from goexplore.envs.gymnasium._actions import ActionTable
from goexplore.envs.gymnasium._returning import COPIES_BYTES, CopyCache, Moment, Way, find_copier
from goexplore.envs.gymnasium._states import ByteState, find_state
from goexplore.errors import ReturnError, SnapshotError

_GymnasiumEnv = gymnasium.Env[Any, Any]


class Simulation:
    """One Gymnasium environment, and whose turn it is where several of ours have to share it.

    Some emulators exist only once in a process (stable-retro). Ours then take turns: whoever comes next
    returns to where it was.
    """

    def __init__(self, env: _GymnasiumEnv) -> None:
        self.env = env
        self.turn: GymnasiumEnv | None = None
        self.users = 0


_open: dict[str, Simulation] = {}
"""The simulations of this process, one of each kind: those that might have to be shared."""


def open_simulation(key: str, make: Callable[[], _GymnasiumEnv]) -> Simulation:
    """Return a new simulation; where a process can have only one, the one there is."""
    there = _open.get(key)
    try:
        made = Simulation(make())
    except Exception:
        if there is None or there.users == 0:
            raise
        return there
    if there is None or there.users == 0:
        _open[key] = made
    return made


class GymnasiumEnv(Environment):
    """A Gymnasium environment with a fixed seed, numbered actions, and a way to return to states."""

    def __init__(
        self,
        simulation: Simulation,
        *,
        seed: int,
        way: Way,
        actions: Callable[[Any], ActionTable] = ActionTable,
        copies_bytes: int = COPIES_BYTES,
    ) -> None:
        """Every `reset` has the same `seed`. `actions` numbers the actions of the space."""
        self._simulation, self._seed, self._way = simulation, seed, way
        self._notes_actions = way != "state"
        self._actions = actions(simulation.env.action_space)
        simulation.users += 1
        self.action_count = self._actions.action_count
        self.no_op = self._actions.no_op if self._actions.no_op is not None else self._said_no_op()
        self.stale_after_restore = way == "state"
        self.replayed = 0
        self._size = 1 if self.action_count <= 256 else 2
        self._taken = bytearray()
        self._observation: Any = None
        self._info: Mapping[str, Any] = {}
        self._state: ByteState | None = None
        self._copies: CopyCache | None = None
        self._copies_bytes = copies_bytes
        self._aside: bytes | None = None
        self._is_prepared = self._is_closed = False
        self.why_no_picture: str | None = None
        """Why rendering failed, if it did: it is not tried again."""

    @property
    def observation_space(self) -> Any:
        """What observations are, as Gymnasium says it."""
        return self._simulation.env.observation_space

    @property
    def unwrapped(self) -> Any:
        """Gymnasium's environment without its wrappers; another object after some returns."""
        return self._simulation.env.unwrapped

    def reset(self) -> None:
        """Go to the initial state."""
        self._take_turn(goes_on=False)
        if not self._is_prepared:
            self._prepare()
            self._is_prepared = True
        self._begin()

    def _prepare(self) -> None:
        """Find out how to return in the way that was chosen."""
        env = self._simulation.env
        if self._way == "replay":
            return
        self._state = find_state(env, self._reset)
        if self._way == "copies":
            self._copies = CopyCache(
                find_copier(Moment(env, *self._reset()), self._state), limit_bytes=self._copies_bytes
            )
        elif self._state is None:
            raise ReturnError(
                "expected a simulator that saves its state as bytes and is known to goexplore, got "
                f"{type(env.unwrapped).__name__}: set `engine` to copies or replay"
            )

    def _begin(self) -> None:
        self._observation, self._info = self._reset()
        self._taken = bytearray()
        if self._state is not None:
            self._state.begin()
        if self._copies is not None:
            self._copies.put(b"", self._moment())

    def _reset(self) -> tuple[Any, Mapping[str, Any]]:
        env = self._simulation.env
        if type(env.unwrapped).__module__.partition(".")[0] in _SEEDED_BEFORE_RESET:
            env.unwrapped.seed(self._seed, self._seed, reseed=False)  # type: ignore[attr-defined]
        return env.reset(seed=self._seed)

    def step(self, action: int) -> Step:
        """Play one step of the environment: one training frame."""
        simulation, action = self._simulation, int(action)
        if simulation.turn is not self:
            self._take_turn()
        self._observation, reward, terminated, truncated, self._info = simulation.env.step(
            self._actions[action]
        )
        if self._notes_actions:
            self._taken += action.to_bytes(self._size, "little")
        return Step(float(reward), bool(terminated), bool(truncated))

    def observation(self) -> Any:
        """Return what the environment returned last."""
        return self._observation

    def info(self) -> Mapping[str, Any]:
        """Return the info of the last step."""
        return self._info

    def snapshot(self) -> bytes:
        """Return the simulator's state, or the actions since `reset`."""
        self._take_turn()
        if self._way == "state":
            assert self._state is not None
            return self._state.save()
        actions = bytes(self._taken)
        if self._copies is not None:
            self._copies.put(actions, self._moment())
        return actions

    def restore(self, snapshot: bytes) -> None:
        """Return to a state in the way that was chosen."""
        self._take_turn(goes_on=False)
        if not self._is_prepared:
            self.reset()
        if self._way == "state":
            assert self._state is not None
            self._state.load(snapshot)
            return
        if len(snapshot) % self._size:
            raise SnapshotError(
                f"expected a snapshot of whole actions, {self._size} bytes each, got {len(snapshot)} bytes: "
                "use the problem that the file was made with"
            )
        self._return_to(snapshot)

    def _return_to(self, actions: bytes) -> None:
        """Play the actions from the nearest copy on the way, or from the start."""
        nearest = None if self._copies is None else self._copies.nearest(actions, self._simulation.env)
        if nearest is None:
            self._begin()
        else:
            length, (self._simulation.env, self._observation, self._info) = nearest
            self._taken = bytearray(actions[:length])
        rest = actions[len(self._taken) :]
        for at in range(0, len(rest), self._size):
            ended = self.step(int.from_bytes(rest[at : at + self._size], "little")).ended
            if ended and at + self._size < len(rest):
                raise SnapshotError(
                    f"expected to return to a state by {len(actions) // self._size} actions, got the end of "
                    "the episode before: the environment does not play the same again, see `goexplore "
                    "check-env`"
                )
        self.replayed += len(rest) // self._size
        if rest and self._copies is not None:
            self._copies.put(actions, self._moment())

    def _moment(self) -> Moment:
        return Moment(self._simulation.env, self._observation, self._info)

    def _take_turn(self, *, goes_on: bool = True) -> None:
        """Let the environment be this one's again, if others have played with it meanwhile."""
        simulation, other = self._simulation, self._simulation.turn
        if other is self:
            return
        if other is not None and other._way == "state" and other._state is not None:
            other._aside = other._state.save()
        simulation.turn = self
        if not goes_on or other is None:
            return
        if self._way != "state":
            self._return_to(bytes(self._taken))
        elif self._aside is not None and self._state is not None:
            self._state.load(self._aside)

    def picture(self) -> NDArray[np.uint8] | None:
        """Return what the environment renders, where it was made with the render mode rgb_array."""
        self._take_turn()
        env = self._simulation.env
        if env.render_mode != "rgb_array":
            return super().picture()
        if self.why_no_picture is not None:
            return None
        if self._copies is not None:
            # What an environment draws on can seldom be copied: so it draws as a copy of itself.
            copier = self._copies.copier
            env = copier.take(copier.keep(self._moment()), env).env
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of graphics libraries that are about to fail
                picture: Any = env.render()
        except Exception as error:  # of a library that finds no display, graphics card or font
            self.why_no_picture = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            return None
        if not isinstance(picture, np.ndarray) or picture.ndim != 3:
            return None
        return np.ascontiguousarray(picture[:, :, :3], np.uint8)

    def _said_no_op(self) -> int | None:
        """Return the action that the environment itself calls NOOP, if it names its actions."""
        env = self._simulation.env
        meanings = getattr(env.unwrapped, "get_action_meanings", None)
        is_as_made = env.action_space == env.unwrapped.action_space  # a wrapper may number actions anew
        if not callable(meanings) or not isinstance(env.action_space, gymnasium.spaces.Discrete):
            return None
        if not is_as_made:
            return None
        named: Sequence[str] = meanings()
        return named.index("NOOP") if "NOOP" in named else None

    def close(self) -> None:
        """Close the environment, unless others share it."""
        if self._is_closed:
            return
        self._is_closed = True
        self._state = self._copies = None  # they hold the simulator, of which there may be only one
        self._simulation.users -= 1
        if self._simulation.users == 0:
            self._simulation.turn = None
            self._simulation.env.close()
            for key in [key for key, each in _open.items() if each is self._simulation]:
                del _open[key]


_SEEDED_BEFORE_RESET = ("nle", "minihack")
"""Packages whose environments do not take NetHack's seeds from `reset`."""
