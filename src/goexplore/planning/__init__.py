"""Planning in the stochastic game with a simulator that can be restored: the expert that teaches policies."""

from goexplore.planning._episode import ExpertPlayer
from goexplore.planning._expert import Decision, Expert, ExpertConfig
from goexplore.planning._guided_game import Guide, GuidedGame, Situation, guide
from goexplore.planning._places import MemoryPlaces, Places, choose_places
from goexplore.planning._recording import Recording, append_recording, drop_torn_line, read_recordings
from goexplore.planning._reference import Place, Reference, Tracker, Trajectory
from goexplore.planning._simulator import (
    FOLLOW,
    Judgement,
    NativeSimulator,
    Plan,
    PythonSimulator,
    Simulator,
    make_simulator,
)
from goexplore.planning._trials import ExpertSettings, Trial, Trials, play_trials

__all__ = [
    "FOLLOW",
    "Decision",
    "Expert",
    "ExpertConfig",
    "ExpertPlayer",
    "ExpertSettings",
    "Guide",
    "GuidedGame",
    "Judgement",
    "MemoryPlaces",
    "NativeSimulator",
    "Place",
    "Places",
    "Plan",
    "PythonSimulator",
    "Recording",
    "Reference",
    "Simulator",
    "Situation",
    "Tracker",
    "Trajectory",
    "Trial",
    "Trials",
    "append_recording",
    "choose_places",
    "drop_torn_line",
    "guide",
    "make_simulator",
    "play_trials",
    "read_recordings",
]
