"""Runs: what searches and trainings leave on disk, and the sessions that write it."""

from goexplore.runs._advice import score_text, short_count
from goexplore.runs._condition import Condition, condition_of, explore_again_command, resume_command
from goexplore.runs._directory import Directory, SavedFiles, clear_errors, is_started, is_training
from goexplore.runs._interrupts import on_interrupt
from goexplore.runs._metrics import SearchMetrics, TrainingMetrics
from goexplore.runs._rollout_log import EndedRollout, RolloutLog
from goexplore.runs._saved_run import SavedRun
from goexplore.runs._search_directory import Checkpoint, SearchDirectory, Verification
from goexplore.runs._search_session import Limits, Outcome, Progress, run_search
from goexplore.runs._session import LoggingReporter, Pace, Reporter, Session
from goexplore.runs._start import Start

__all__ = [
    "Checkpoint",
    "Condition",
    "Directory",
    "EndedRollout",
    "Limits",
    "LoggingReporter",
    "Outcome",
    "Pace",
    "Progress",
    "Reporter",
    "RolloutLog",
    "SavedFiles",
    "SavedRun",
    "SearchDirectory",
    "SearchMetrics",
    "Session",
    "Start",
    "TrainingMetrics",
    "Verification",
    "clear_errors",
    "condition_of",
    "explore_again_command",
    "is_started",
    "is_training",
    "on_interrupt",
    "resume_command",
    "run_search",
    "score_text",
    "short_count",
]
