"""The curriculum as a plain Gymnasium environment, for any learner."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from goexplore.errors import ConfigError
from goexplore.random import SplitMix64, stream_state
from goexplore.robustify._curriculum import Curriculum
from goexplore.robustify._library import Library
from goexplore.robustify._rollout import Rollout, RolloutConfig

_OBSERVATION = NDArray[np.uint8]


class DemonstrationEnv(gymnasium.Env[_OBSERVATION, np.int64]):
    """Rollouts that begin at demonstration points; each one that ends moves the curriculum.

    Environments of one process may share a library and a curriculum: then they climb together. Observations
    are bytes, channels x rows x columns.
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    render_mode = "rgb_array"

    def __init__(
        self,
        library: Library,
        curriculum: Curriculum,
        rollout: RolloutConfig | None = None,
        *,
        seed: int = 0,
    ) -> None:
        """Give every environment its own seed."""
        rollout = rollout or RolloutConfig()
        if rollout.lead_in:
            raise ConfigError(
                "expected no lead-in, during which a learner would have to leave its actions to the "
                f"demonstration, got {rollout.lead_in} training frames: set it to 0"
            )
        self.observation_space = gymnasium.spaces.Box(0, 255, library.eyes.shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(library.action_count)
        self._curriculum = curriculum
        self._rollout = Rollout(library, rollout, SplitMix64(0))
        self._begin_streams(seed)

    def _begin_streams(self, seed: int) -> None:
        self._starts = SplitMix64(stream_state(seed, 0))
        self._rollout.random = SplitMix64(stream_state(seed, 1))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_OBSERVATION, dict[str, Any]]:
        """Begin a rollout where the curriculum says."""
        super().reset(seed=seed)
        if seed is not None:
            self._begin_streams(seed)
        start = self._curriculum.draw(self._starts)
        self._rollout.begin(start)
        self._steps = 0
        began_there = self._rollout.result() is not None
        info = start._asdict() if began_there else {"after_death": True}
        return self._rollout.eyes.observation.copy(), info

    def step(self, action: np.int64) -> tuple[_OBSERVATION, float, bool, bool, dict[str, Any]]:
        """Play one training frame."""
        moved = self._rollout.step(int(action))
        self._steps += 1
        info: dict[str, Any] = {}
        if moved.ended or moved.cut:
            result = self._rollout.result()
            self._curriculum.hear([] if result is None else [result], self._steps)
            info["success"] = result is not None and result.success
        return self._rollout.eyes.observation.copy(), moved.reward, moved.ended, moved.cut, info

    def render(self) -> Any:
        """Return the screen as red, green and blue."""
        return self._rollout.picture()
