"""The state of a Gymnasium environment as bytes, where its simulator can give and take it.

A state has two parts: what the simulator itself saves, and the plain attributes of all layers around it
(wrappers, environments within environments) as far as they changed since `reset`: the counter of a time
limit, a goal, a generator of random numbers. Nothing here is trusted because it looks right:
`goexplore.checks` plays with it first.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from goexplore.envs._observations import digest
from goexplore.envs.gymnasium import _plain
from goexplore.errors import SnapshotError

_DEEPEST = 8
"""How far environments are looked for within environments."""

_STEPS = 8
"""Steps that are played before, and again after, the first return."""

_Save = Callable[[], Any]
_Load = Callable[[Any], None]


class Simulator(NamedTuple):
    """How a simulator's own state is saved and put back."""

    name: str
    save: _Save
    load: _Load
    owner: Any
    """The object whose attributes are the simulator's own business, or None."""


class ByteState:
    """Saves and restores an environment, with all its layers."""

    def __init__(self, env: gymnasium.Env[Any, Any], simulator: Simulator) -> None:
        self.name = simulator.name
        self._simulator = simulator
        self._layers = [layer for layer in _layers(env) if layer is not simulator.owner]
        self._initial: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Note the attributes of all layers right after `reset`: states are stored as changes of these."""
        self._initial = [
            {name: _copy(value) for name, value in vars(layer).items() if _is_plain(value)}
            for layer in self._layers
        ]

    def save(self) -> bytes:
        """Return the state."""
        changes = []
        for layer, initial in zip(self._layers, self._initial, strict=True):
            changed = {}
            for name, value in vars(layer).items():
                if _is_plain(value) and not (name in initial and _equal(value, initial[name])):
                    changed[name] = _copy(value)
            changes.append({name: changed[name] for name in sorted(changed)})
        return _plain.encode((self._simulator.save(), changes))

    def load(self, state: bytes) -> None:
        """Put a state back."""
        try:
            saved, changes = _plain.decode(state)
            pairs = list(zip(self._layers, self._initial, changes, strict=True))
            if any(callable(getattr(type(layer), name, None)) for layer, _, each in pairs for name in each):
                raise ValueError("an attribute in place of a method")
            self._simulator.load(saved)
            for layer, initial, changed in pairs:
                for name, value in {**initial, **changed}.items():
                    _assign(layer, name, value)
                for name in [each for each, value in vars(layer).items() if _is_plain(value)]:
                    if name not in initial and name not in changed:
                        delattr(layer, name)
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise SnapshotError(
                f"expected a state of this environment, got {len(state)} bytes that are none ({error}): use "
                "the versions in the run's config.json"
            ) from error


def find_state(env: gymnasium.Env[Any, Any], reset: Callable[[], Any]) -> ByteState | None:
    """Return how the state of an environment can be saved, if its simulator is one that is known here.

    Each guess is tried on a few steps. The environment is left in some state: `reset` it.
    """
    for find in (_find_own, _find_mujoco, _find_ale, _find_retro, _find_pyboy, _find_get_state):
        for simulator in find(env):
            state = ByteState(env, simulator)
            try:
                reset()
                state.begin()
                if _returns(env, state):
                    return state
            except Exception:  # of a `get_state` or `set_state` that means something else: any
                continue
    return None


def _returns(env: gymnasium.Env[Any, Any], state: ByteState) -> bool:
    """Whether a few steps after a return bring the same as before it."""
    actions = copy.deepcopy(env.action_space)
    actions.seed(0)
    draws = [actions.sample() for _ in range(_STEPS)]
    for action in draws:
        env.step(action)
    saved = state.save()
    plays = []
    for _ in range(2):
        plays.append([digest(env.step(action)[:4]) for action in draws])
        state.load(saved)
    return plays[0] == plays[1]


def _layers(env: Any) -> list[Any]:
    """Return an environment and all environments in it: those that wrappers wrap, and attributes."""
    found: list[Any] = []
    waiting = [(env, 0)]
    while waiting:
        layer, depth = waiting.pop(0)
        if any(layer is each for each in found) or depth > _DEEPEST:
            continue
        found.append(layer)
        waiting += [(value, depth + 1) for value in vars(layer).values() if isinstance(value, gymnasium.Env)]
    return found


def _part(env: Any, module: str, name: str) -> Any:
    """Return the first object of a class in any layer, or None, without importing its library."""
    for layer in _layers(env):
        for value in vars(layer).values():
            kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__)
            if (module, name) in kinds:
                return value
    return None


# The simulators


def _find_own(env: Any) -> Iterator[Simulator]:
    """Environments that save themselves as bytes, as ours do."""
    base = env.unwrapped
    save, load = getattr(base, "snapshot", None), getattr(base, "restore", None)
    if callable(save) and callable(load):
        yield Simulator("snapshot and restore", save, load, base)


def _find_mujoco(env: Any) -> Iterator[Simulator]:
    """MuJoCo: the integration state is what the next step of physics depends on.

    Positions of bodies are computed half a step before; velocities that are rewarded (Ant, Humanoid) are
    computed from those, so they are saved too.
    """
    model, data = _part(env, "mujoco", "MjModel"), _part(env, "mujoco", "MjData")
    if model is None or data is None:
        return
    import mujoco

    what = mujoco.mjtState.mjSTATE_INTEGRATION
    size = mujoco.mj_stateSize(model, what)

    def save() -> bytes:
        state = np.empty(size)
        mujoco.mj_getState(model, data, state, what)
        return np.concatenate([state, data.xpos.reshape(-1), data.xipos.reshape(-1)]).tobytes()

    def load(saved: bytes) -> None:
        state, positions = np.split(np.frombuffer(saved), [size])
        mujoco.mj_setState(model, data, state, what)
        mujoco.mj_forward(model, data)  # what is computed from it
        data.xpos[:], data.xipos[:] = positions.reshape(2, -1, 3)

    yield Simulator("MuJoCo's integration state", save, load, None)


def _find_ale(env: Any) -> Iterator[Simulator]:
    """The Arcade Learning Environment, as ale-py offers it to Gymnasium."""
    ale = _part(env, "ale_py", "ALEInterface")
    if ale is None:
        return
    import ale_py

    def save() -> bytes:
        state: bytes = ale.cloneState(include_rng=True).__getstate__()
        return state

    def load(state: bytes) -> None:
        restored = ale_py.ALEState.__new__(ale_py.ALEState)
        restored.__setstate__(state)  # type: ignore[arg-type]  # bytes, whatever its signature says
        ale.restoreState(restored)

    yield Simulator("ALE's state", save, load, None)


def _find_retro(env: Any) -> Iterator[Simulator]:
    """stable-retro: the emulator's state, and the memory that rewards are computed from."""
    emulator = _part(env, "stable_retro", "RetroEmulator")
    data: Any = getattr(env.unwrapped, "data", None)
    if emulator is None or data is None:
        return

    def load(state: bytes) -> None:
        emulator.set_state(state)
        data.update_ram()

    yield Simulator("stable-retro's emulator state", lambda: bytes(emulator.get_state()), load, None)


def _find_pyboy(env: Any) -> Iterator[Simulator]:
    """PyBoy: the file that it would save."""
    emulator = _part(env, "pyboy", "PyBoy")
    if emulator is None:
        return

    def save() -> bytes:
        file = io.BytesIO()
        emulator.save_state(file)
        return file.getvalue()

    yield Simulator("PyBoy's state", save, lambda state: emulator.load_state(io.BytesIO(state)), None)


def _find_get_state(env: Any) -> Iterator[Simulator]:
    """An environment, or an object in it, with `get_state` and `set_state`, such as Jericho's."""
    base = env.unwrapped
    for owner in (base, *vars(base).values()):
        for save, load in (("get_state", "set_state"), ("clone_full_state", "restore_full_state")):
            if callable(getattr(owner, save, None)) and callable(getattr(owner, load, None)):
                own = owner if owner is base else None
                yield Simulator(f"{save} and {load}", getattr(owner, save), getattr(owner, load), own)


# Attributes


def _is_plain(value: Any) -> bool:
    """Whether an attribute is a value that can be saved; a generator of random numbers is one too."""
    kind = type(value)
    if kind in (bool, int, float, str, bytes, type(None)):
        return True
    if kind is np.ndarray or isinstance(value, np.generic):
        return not value.dtype.hasobject and value.dtype.names is None
    if kind in (tuple, list):
        return all(map(_is_plain, value))
    if kind is dict:
        return all(type(key) in (str, int) and _is_plain(each) for key, each in value.items())
    return isinstance(value, np.random.Generator)


def _copy(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return {"bit generator": value.bit_generator.state}
    kind = type(value)
    if kind is np.ndarray:
        return value.copy()
    if kind in (tuple, list):
        return kind(map(_copy, value))
    if kind is dict:
        return {key: _copy(each) for key, each in value.items()}
    return value


def _equal(value: Any, initial: Any) -> bool:
    if isinstance(value, np.random.Generator):
        value = {"bit generator": value.bit_generator.state}
    if type(value) is not type(initial):
        return False
    if type(value) is np.ndarray:
        return value.dtype == initial.dtype and np.array_equal(value, initial)
    if type(value) in (tuple, list):
        return len(value) == len(initial) and all(map(_equal, value, initial))
    if type(value) is dict:
        return value.keys() == initial.keys() and all(_equal(value[key], initial[key]) for key in value)
    return bool(value == initial)


def _assign(layer: Any, name: str, value: Any) -> None:
    """Set an attribute where it has another value; a generator goes on existing and gets its state."""
    now = vars(layer).get(name)
    if isinstance(now, np.random.Generator):
        if isinstance(value, dict) and value.keys() == {"bit generator"}:
            now.bit_generator.state = value["bit generator"]
    elif name not in vars(layer) or not _equal(now, value):
        vars(layer)[name] = _copy(value)
