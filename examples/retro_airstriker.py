"""stable-retro: play Airstriker, the free Genesis game that comes with it.

Run it with: pip install goexplore stable-retro && python examples/retro_airstriker.py
A process can have only one emulator, so all environments in a process take turns with it.
"""

from typing import Any

import gymnasium
import stable_retro

import goexplore


def make() -> gymnasium.Env[Any, Any]:
    """Airstriker with its combinations of buttons numbered; each is held for four frames."""
    env = stable_retro.make(
        "Airstriker-Genesis-v0",
        use_restricted_actions=stable_retro.Actions.DISCRETE,
        render_mode="rgb_array",
    )
    return gymnasium.wrappers.MaxAndSkipObservation(env, skip=4)


if __name__ == "__main__":
    run = goexplore.explore(make, cell=goexplore.Rendering(width=11, height=8), minutes=2)
    print(run.best)
    print("replayed:", run.best.verify())
