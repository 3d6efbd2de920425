"""Phase 2: demonstrations into a policy that plays the real, stochastic game (paper section 2.2).

The curriculum and its environments need no PyTorch; what learns is imported when it is first used.
"""

from typing import TYPE_CHECKING

from goexplore._lazy import lazy
from goexplore.training._buffer import DemonstrationBuffer
from goexplore.training._curriculum import Curriculum, CurriculumConfig, Result, Start
from goexplore.training._rollout import Rollout, RolloutConfig

if TYPE_CHECKING:
    from goexplore.training._config import PRESETS, RobustifyConfig, training_preset
    from goexplore.training._directory import TrainingDirectory
    from goexplore.training._gymnasium import DemonstrationEnv
    from goexplore.training._network import NetworkConfig, Policy
    from goexplore.training._policy_file import About, checksum, load_policy, save_policy
    from goexplore.training._ppo import PPOConfig
    from goexplore.training._session import TrainingLimits, TrainingOutcome, TrainingProgress, run_training

_HOMES = {
    "_config": ("PRESETS", "RobustifyConfig", "training_preset"),
    "_directory": ("TrainingDirectory",),
    "_gymnasium": ("DemonstrationEnv",),
    "_network": ("NetworkConfig", "Policy"),
    "_policy_file": ("About", "checksum", "load_policy", "save_policy"),
    "_ppo": ("PPOConfig",),
    "_session": ("TrainingLimits", "TrainingOutcome", "TrainingProgress", "run_training"),
}

__all__ = [
    "PRESETS",
    "About",
    "Curriculum",
    "CurriculumConfig",
    "DemonstrationBuffer",
    "DemonstrationEnv",
    "NetworkConfig",
    "PPOConfig",
    "Policy",
    "Result",
    "RobustifyConfig",
    "Rollout",
    "RolloutConfig",
    "Start",
    "TrainingDirectory",
    "TrainingLimits",
    "TrainingOutcome",
    "TrainingProgress",
    "checksum",
    "load_policy",
    "run_training",
    "save_policy",
    "training_preset",
]

__getattr__ = lazy(__name__, _HOMES)
