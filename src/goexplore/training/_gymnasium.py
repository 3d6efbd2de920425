"""The curriculum as a plain Gymnasium environment, for any learner."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from goexplore.errors import ConfigError
from goexplore.play import Observation
from goexplore.random import SplitMix64, stream_state
from goexplore.training._buffer import DemonstrationBuffer
from goexplore.training._curriculum import Curriculum
from goexplore.training._rollout import DemonstrationRollout, RolloutConfig


class DemonstrationEnv(gymnasium.Env[Observation, np.int64]):
    """Rollouts that begin at demonstration points; each one that ends moves the curriculum.

    Environments of one process may share a buffer and a curriculum: then they climb together. Observations
    are bytes, channels x rows x columns.
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    render_mode = "rgb_array"

    def __init__(
        self,
        buffer: DemonstrationBuffer,
        curriculum: Curriculum,
        rollout: RolloutConfig | None = None,
        *,
        seed: int = 0,
    ) -> None:
        """Give every environment its own seed."""
        rollout = rollout or RolloutConfig()
        if rollout.burn_in:
            raise ConfigError(
                "expected no `burn_in`, during which a learner would have to leave its actions to the "
                f"demonstration, got {rollout.burn_in} training frames: set it to 0"
            )
        if buffer.is_image:
            self.observation_space = gymnasium.spaces.Box(0, 255, buffer.shape, np.uint8)
        else:
            self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, buffer.shape, np.float32)
        self.action_space = gymnasium.spaces.Discrete(buffer.action_count)
        self._curriculum = curriculum
        self._rollout = DemonstrationRollout(buffer, rollout, SplitMix64(0))
        self._begin_streams(seed)

    def _begin_streams(self, seed: int) -> None:
        self._starts = SplitMix64(stream_state(seed, 0))
        self._rollout.random = SplitMix64(stream_state(seed, 1))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a rollout where the curriculum says."""
        super().reset(seed=seed)
        if seed is not None:
            self._begin_streams(seed)
        start = self._curriculum.draw(self._starts)
        self._rollout.begin(start)
        self._steps = 0
        began_there = self._rollout.result() is not None
        info = start._asdict() if began_there else {"after_death": True}
        return self._rollout.preprocessor.observation.copy(), info

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play one training frame."""
        moved = self._rollout.step(int(action))
        self._steps += 1
        info: dict[str, Any] = {}
        if moved.terminated or moved.truncated:
            result = self._rollout.result()
            self._curriculum.update([] if result is None else [result], self._steps)
            info["success"] = result is not None and result.success
        return (
            self._rollout.preprocessor.observation.copy(),
            moved.reward,
            moved.terminated,
            moved.truncated,
            info,
        )

    def render(self) -> Any:
        """Return the screen as red, green and blue."""
        return self._rollout.picture()
