"""Phase 2: demonstrations into a policy that plays the real, stochastic game (paper section 2.2).

The curriculum and its environments need no PyTorch; what learns is imported when it is first used.
"""

from typing import TYPE_CHECKING

from goexplore._lazy import lazy
from goexplore.training._buffer import DemonstrationBuffer
from goexplore.training._curriculum import Curriculum, CurriculumConfig, Result, Start
from goexplore.training._rollout import DemonstrationRollout, Rollout, RolloutConfig

if TYPE_CHECKING:
    from goexplore.training._cloning import CloningConfig
    from goexplore.training._config import (
        PRESETS,
        BackwardConfig,
        Method,
        RobustifyConfig,
        SearchConfig,
        training_preset,
    )
    from goexplore.training._directory import TrainingDirectory
    from goexplore.training._gymnasium import DemonstrationEnv
    from goexplore.training._method import Teaching
    from goexplore.training._network import NetworkConfig, Policy
    from goexplore.training._policy_file import About, checksum, load_policy, save_policy
    from goexplore.training._ppo import PPOConfig
    from goexplore.training._session import TrainingLimits, TrainingOutcome, TrainingProgress, run_training
    from goexplore.training._state_bank import StateBankConfig

_HOMES = {
    "_cloning": ("CloningConfig",),
    "_config": (
        "PRESETS",
        "BackwardConfig",
        "Method",
        "RobustifyConfig",
        "SearchConfig",
        "training_preset",
    ),
    "_directory": ("TrainingDirectory",),
    "_gymnasium": ("DemonstrationEnv",),
    "_method": ("Teaching",),
    "_network": ("NetworkConfig", "Policy"),
    "_policy_file": ("About", "checksum", "load_policy", "save_policy"),
    "_ppo": ("PPOConfig",),
    "_session": ("TrainingLimits", "TrainingOutcome", "TrainingProgress", "run_training"),
    "_state_bank": ("StateBankConfig",),
}

__all__ = [
    "PRESETS",
    "About",
    "BackwardConfig",
    "CloningConfig",
    "Curriculum",
    "CurriculumConfig",
    "DemonstrationBuffer",
    "DemonstrationEnv",
    "DemonstrationRollout",
    "Method",
    "NetworkConfig",
    "PPOConfig",
    "Policy",
    "Result",
    "RobustifyConfig",
    "Rollout",
    "RolloutConfig",
    "SearchConfig",
    "Start",
    "StateBankConfig",
    "Teaching",
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
