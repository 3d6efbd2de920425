"""Phase 2: demonstrations into a policy that plays the real, stochastic game (paper section 2.2).

The curriculum and its environments need no PyTorch; what learns is imported when it is first used.
"""

from typing import TYPE_CHECKING

from goexplore._lazy import lazy
from goexplore.robustify._curriculum import Curriculum, CurriculumConfig, Result, Start
from goexplore.robustify._library import Library
from goexplore.robustify._rollout import Rollout, RolloutConfig
from goexplore.robustify._stochastic import Eyes, EyesConfig, StochasticGame

if TYPE_CHECKING:
    from goexplore.robustify._config import PRESETS, RobustifyConfig, training_preset
    from goexplore.robustify._directory import TrainingDirectory
    from goexplore.robustify._gymnasium import DemonstrationEnv
    from goexplore.robustify._network import NetworkConfig, Policy
    from goexplore.robustify._policy_file import About, load_policy, save_policy
    from goexplore.robustify._ppo import PPOConfig
    from goexplore.robustify._session import TrainingLimits, TrainingOutcome, TrainingProgress, robustify

_HOMES = {
    "_config": ("PRESETS", "RobustifyConfig", "training_preset"),
    "_directory": ("TrainingDirectory",),
    "_gymnasium": ("DemonstrationEnv",),
    "_network": ("NetworkConfig", "Policy"),
    "_policy_file": ("About", "load_policy", "save_policy"),
    "_ppo": ("PPOConfig",),
    "_session": ("TrainingLimits", "TrainingOutcome", "TrainingProgress", "robustify"),
}

__all__ = [
    "PRESETS",
    "About",
    "Curriculum",
    "CurriculumConfig",
    "DemonstrationEnv",
    "Eyes",
    "EyesConfig",
    "Library",
    "NetworkConfig",
    "PPOConfig",
    "Policy",
    "Result",
    "RobustifyConfig",
    "Rollout",
    "RolloutConfig",
    "Start",
    "StochasticGame",
    "TrainingDirectory",
    "TrainingLimits",
    "TrainingOutcome",
    "TrainingProgress",
    "load_policy",
    "robustify",
    "save_policy",
    "training_preset",
]

__getattr__ = lazy(__name__, _HOMES)
