"""The public functions: explore, open_run, robustify and evaluate, and the objects that they return."""

from goexplore.api._cores import usable_cores
from goexplore.api._experts import expert_settings, play_expert, rank_by_robustness
from goexplore.api._explore import explore
from goexplore.api._open import open_run
from goexplore.api._policies import (
    PolicyRun,
    choose_policy,
    evaluate,
    evaluation_name,
    find_policy,
    make_player,
    play,
    require_torch,
    robustify,
)
from goexplore.api._run import (
    Run,
    Trajectory,
    demonstration_file,
    read_run,
    require_score,
    take_demonstrations,
    worker_count,
)

__all__ = [
    "PolicyRun",
    "Run",
    "Trajectory",
    "choose_policy",
    "demonstration_file",
    "evaluate",
    "evaluation_name",
    "expert_settings",
    "explore",
    "find_policy",
    "make_player",
    "open_run",
    "play",
    "play_expert",
    "rank_by_robustness",
    "read_run",
    "require_score",
    "require_torch",
    "robustify",
    "take_demonstrations",
    "usable_cores",
    "worker_count",
]
