"""The two mazes as a problem: solved within seconds."""

from dataclasses import dataclass

from goexplore.errors import require_at_least
from goexplore.exploration import ExplorationConfig
from goexplore.games.two_mazes._env import TwoMazes
from goexplore.problems import DownscaledConfig, EnvironmentSpec, Problem

_NAME = "two-mazes"


@dataclass(frozen=True, kw_only=True)
class TwoMazesConfig(EnvironmentSpec):
    """The two mazes (paper, figure 1)."""

    frame_skip: int = 1
    """Game frames per training frame."""

    name = _NAME
    target = _NAME

    def __post_init__(self) -> None:
        require_at_least("frame_skip", self.frame_skip, 1, 1000)

    def __call__(self) -> TwoMazes:
        """Return fresh mazes."""
        return TwoMazes(frame_skip=self.frame_skip)


TWO_MAZES = Problem(
    env=TwoMazesConfig(),
    cells=DownscaledConfig(width=20, height=15, levels=255),
    exploration=ExplorationConfig(training_frames=30, repeat_probability=0.5, ends="drop"),
)
