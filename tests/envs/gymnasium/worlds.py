"""Small Gymnasium environments, healthy ones and faulty ones."""

import collections
import random

import gymnasium
import numpy as np
from gymnasium import spaces


class Walk(gymnasium.Env):
    """A corridor with a wind that blows from the environment's own generator; a reward at its end."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Dict({"x": spaces.Box(0, 20, (1,), np.float64), "wind": spaces.Discrete(2)})
    action_space = spaces.Discrete(2, start=3)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def see(self):
        return {"x": np.array([self.x]), "wind": int(self.wind)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.wind, self.path = 0.0, 0, []
        return self.see(), {"steps": 0}

    def step(self, action):
        self.wind = int(self.np_random.random() < 0.1)
        self.x = min(20.0, max(0.0, self.x + (1 if action == 4 else -1) - self.wind * 0.5))
        self.path.append(action)
        return self.see(), float(self.x >= 20), self.x >= 20, False, {"steps": len(self.path)}

    def render(self):
        picture = np.zeros((24, 24, 3), np.uint8)
        picture[:, int(self.x)] = 255
        return picture


class Endless(Walk):
    """Its episodes do not end."""

    def step(self, action):
        observation, _, _, _, info = super().step(action)
        return observation, 0.0, False, False, info


class Saves(Walk):
    """Gives and takes its state."""

    def get_state(self):
        return {
            "x": self.x,
            "path": list(self.path),
            "wind": self.wind,
            "draws": self.np_random.bit_generator.state,
        }

    def set_state(self, state):
        self.x, self.path, self.wind = state["x"], list(state["path"]), state["wind"]
        self.np_random.bit_generator.state = state["draws"]


class ForgetsInCopies(Walk):
    """Its copies are as it was made: what the pickling of MuJoCo's environments does."""

    def __reduce__(self):
        return type(self), ()

    def step(self, action):
        if not hasattr(self, "x"):
            self.reset(seed=0)
        return super().step(action)


class ForgetsAndCannotCopy(Walk):
    """Cannot be copied at all."""

    def __reduce__(self):
        raise TypeError("cannot be pickled")


class SharesInCopies(Walk):
    """Its copies share the path with it."""

    def __deepcopy__(self, memo):
        other = type(self)()
        other.__dict__.update(self.__dict__)
        return other

    def __reduce_ex__(self, protocol):
        raise TypeError("cannot be pickled")

    def see(self):
        return {"x": np.array([self.x + len(self.path) / 1000]), "wind": int(self.wind)}


class SavesHalf(Walk):
    """Forgets its generator in the state that it gives."""

    def get_state(self):
        return self.x, self.wind, list(self.path)

    def set_state(self, state):
        self.x, self.wind, self.path = state


class DrawsGlobally(Walk):
    """Its wind comes from NumPy's global generator."""

    def step(self, action):
        found = super().step(action)
        self.x += np.random.random()  # noqa: NPY002
        return (self.see(), *found[1:])


class DrawsFromPython(Walk):
    """Its wind comes from Python's global generator."""

    def step(self, action):
        found = super().step(action)
        self.x += random.random()
        return (self.see(), *found[1:])


class NotDeterministic(Walk):
    """Has a generator that no seed reaches."""

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.other = np.random.default_rng()

    def step(self, action):
        found = super().step(action)
        self.x += self.other.random()
        return (self.see(), *found[1:])


class Lies(Walk):
    """Its observations are not in the space that it names."""

    observation_space = spaces.Dict({"x": spaces.Box(0, 1, (2,), np.float32), "wind": spaces.Discrete(2)})


class Objects(Walk):
    """Puts its observations into an order of sets of objects, which no two processes share."""

    def reset(self, *, seed=None, options=None):
        found = super().reset(seed=seed)
        self.things = {object() for _ in range(3)}
        return found

    def step(self, action):
        found = super().step(action)
        self.x += [id(each) for each in self.things].index(min(map(id, self.things))) / 100
        return (self.see(), *found[1:])


_alive = collections.Counter()


class OnlyOne(Saves):
    """One of these can exist in a process, as with some emulators."""

    def __init__(self, render_mode=None):
        if _alive["one"]:
            raise RuntimeError("Cannot create multiple emulator instances per process")
        _alive["one"] += 1
        super().__init__(render_mode)

    def close(self):
        _alive["one"] = 0


class Acts(gymnasium.Env):
    """Shows the last action that it got, in any space."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,))

    def __init__(self, space):
        self.action_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return np.zeros(1, np.float32), 0.0, False, False, {"action": action}
