"""`check_env` and `require_env`: a healthy problem passes, and each fault is named in one line."""

import os
import pickle
import random
import re
import signal
import struct
import time
from typing import ClassVar

import numpy as np
import pytest

from goexplore.cells import CellRepresentation, encode
from goexplore.checks import check_env, require_env
from goexplore.envs import Environment, Location, Step, describe_observation, digest
from goexplore.errors import ConfigError, EnvironmentContractError, GoExploreError, ProblemError
from goexplore.problems import Problem


class Corridor(Environment):
    """Left and right in a corridor with a coin at its end, for 60 steps. All that it should be."""

    action_count = 2
    no_op = None
    length = 9
    time_limit = 60

    def __init__(self):
        self.reset()

    def reset(self):
        self.x = self.time = self.coin = 0

    def step(self, action):
        self.time += 1
        self.x = min(max(self.x + (1 if action else -1), 0), self.length)
        found = self.x == self.length and not self.coin
        self.coin |= found
        return Step(float(found), truncated=self.time >= self.time_limit)

    def observation(self):
        return self.x, self.coin

    def snapshot(self):
        return struct.pack("<3B", self.x, self.coin, self.time)

    def restore(self, snapshot):
        self.x, self.coin, self.time = struct.unpack("<3B", snapshot)


class Unsteady(Corridor):
    """Its own generator has no seed."""

    def step(self, action):
        return super().step(action if np.random.default_rng().random() < 0.9 else 1 - action)


class NumpyRandom(Corridor):
    def step(self, action):
        return super().step(action if np.random.random() < 0.9 else 1 - action)  # noqa: NPY002


class PythonRandom(Corridor):
    def step(self, action):
        return super().step(action if random.random() < 0.9 else 1 - action)


class UnseededReset(Corridor):
    def reset(self):
        super().reset()
        self.x = int(np.random.default_rng().integers(self.length))


class GlobalReset(Corridor):
    def reset(self):
        super().reset()
        self.x = random.randrange(self.length)


class OtherStartInEachInstance(Corridor):
    made = 0

    def __init__(self):
        type(self).made += 1
        self.start = self.made
        super().__init__()

    def reset(self):
        super().reset()
        self.x = self.start


class OtherStartInEachProcess(Corridor):
    def reset(self):
        super().reset()
        self.x = os.getpid() % 250


class HiddenByProcess(Corridor):
    """The state looks the same, but goes on otherwise."""

    def step(self, action):
        step = super().step(action)
        return step._replace(reward=step.reward + os.getpid() % 1009)


class SharedState(Corridor):
    """Two instances have one position."""

    shared: ClassVar = [0]

    def step(self, action):
        self.x = self.shared[0]
        step = super().step(action)
        self.shared[0] = self.x
        return step

    def reset(self):
        super().reset()
        self.shared[0] = 0

    def restore(self, snapshot):
        super().restore(snapshot)
        self.shared[0] = self.x


class ResetForgets(Corridor):
    """The coin is there once for all episodes."""

    def reset(self):
        coin = getattr(self, "coin", 0)
        super().reset()
        self.coin = coin


class OutsideTimeLimit(Corridor):
    """As a wrapper with a time limit does: the state inside is restored, the counter outside goes on."""

    time_limit = 255

    def reset(self):
        super().reset()
        self.counted = 0

    def step(self, action):
        self.counted += 1
        return super().step(action)._replace(truncated=self.counted >= 40)


class LongTimeLimit(OutsideTimeLimit):
    """The limit is not reached on the walk."""

    time_limit = 10_000

    def step(self, action):
        step = super().step(action)
        return step._replace(truncated=self.counted >= 900)

    def snapshot(self):
        return struct.pack("<3H", self.x, self.coin, self.time)

    def restore(self, snapshot):
        self.x, self.coin, self.time = struct.unpack("<3H", snapshot)
        self.counted = 0


class Swapped(Corridor):
    def step(self, action):
        step = super().step(action)
        return Step(step.ended, step.reward, False)


class Pair(Corridor):
    def step(self, action):
        step = super().step(action)
        return step.ended, step.reward


class NanRewards(Corridor):
    def step(self, action):
        step = super().step(action)
        return step._replace(reward=float("nan")) if self.time == 9 else step


class StepNone(Corridor):
    def step(self, action):
        super().step(action)


class ForgetfulSnapshot(Corridor):
    """The walls move with a counter that is not in the snapshot."""

    def reset(self):
        super().reset()
        self.wall = 0

    def step(self, action):
        self.wall += 1
        return super().step(action if self.wall % 3 else 1)


class StaleObservation(Corridor):
    def reset(self):
        super().reset()
        self.seen = super().observation()

    def step(self, action):
        step = super().step(action)
        self.seen = super().observation()
        return step

    def observation(self):
        return self.seen


class SnapshotNone(Corridor):
    def snapshot(self):
        return None


class SnapshotMoves(Corridor):
    def snapshot(self):
        self.x = 0
        return super().snapshot()


class SnapshotWithTime(Corridor):
    def snapshot(self):
        return super().snapshot() + struct.pack("<q", time.perf_counter_ns())

    def restore(self, snapshot):
        super().restore(snapshot[:3])


class RestoreRaises(Corridor):
    def restore(self, snapshot):
        raise NotImplementedError("later")


class NoActions(Corridor):
    action_count = 0


class ManyActions(Corridor):
    action_count = 70_000


class NoOpOutOfRange(Corridor):
    no_op = 2


class ActionsForgotten(Environment):
    reset = observation = snapshot = step = restore = lambda self, *values: None


class CrashingStep(Corridor):
    def step(self, action):
        if self.time == 17:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().step(action)


class ExitingStep(Corridor):
    def step(self, action):
        if self.time == 17:
            os._exit(3)
        return super().step(action)


class CrashingConstructor(Corridor):
    def __init__(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class RaisingConstructor(Corridor):
    def __init__(self):
        raise OSError("no such file: maze.txt")


class RaisingSecondInstance(Corridor):
    made = False

    def __init__(self):
        if self.made:
            raise RuntimeError("only one emulator per process")
        type(self).made = True
        super().__init__()


class HangingConstructor(Corridor):
    def __init__(self):
        time.sleep(60)


class HangingStep(Corridor):
    def step(self, action):
        if self.time == 5:
            time.sleep(60)
        return super().step(action)


class RaisingStep(Corridor):
    def step(self, action):
        if self.x == 3:
            raise IndexError("off the map")
        return super().step(action)


class Unfinished(Environment):
    action_count = 2

    def reset(self):
        pass

    def step(self, action):
        return Step(0.0)

    def observation(self):
        return 0


class WrongPicture(Corridor):
    def picture(self):
        return np.zeros((3, 8, 8), np.uint8)


class WrongPlay(Corridor):
    def play(self, actions):
        return Step(-1.0)


def not_an_environment():
    return object()


class TrackedCells(CellRepresentation):
    """The position, and how many times the end was touched: it forgets to save that."""

    touched = 0

    def reset(self, observation):
        self.touched = 0
        return self.update(observation)

    def update(self, observation):
        self.touched += observation[0] == 0
        return encode((observation[0], self.touched))


class TextCells(TrackedCells):
    def update(self, observation):
        return "text"


def raising_cell(observation):
    if observation[0] == 2:
        raise KeyError("room 2")
    return observation


def salted_cell(observation):
    return hash(str(observation))


drawn = iter(range(10**9))


def counting_cell(observation):
    return observation[0], next(drawn) // 5


FAULTS = {
    # name: (problem, check that fails, what the line says)
    "unsteady step": (
        Unsteady,
        "determinism",
        "same results from the same actions after `reset`.*state and action alone",
    ),
    "numpy.random in step": (NumpyRandom, "determinism", "global generators of `random` or `numpy.random`"),
    "random in step": (PythonRandom, "determinism", "global generators of `random` or `numpy.random`"),
    "reset without a seed": (UnseededReset, "reset", "`reset` to lead to the same state.*fixed seed"),
    "random in reset": (GlobalReset, "reset", "`reset` to lead to the same state.*global generators"),
    "another start in each instance": (
        OtherStartInEachInstance,
        "second instance",
        "initial state in a second",
    ),
    "another start in each process": (OtherStartInEachProcess, "another process", "initial state in another"),
    "another game in each process": (HiddenByProcess, "another process", "in another process, got reward"),
    "shared state": (SharedState, "second instance", "in two environments.*not in its class or module"),
    "reset forgets": (ResetForgets, "reset|determinism", "let (it|`reset`) set everything back"),
    "time limit outside": (
        OutsideTimeLimit,
        "restore",
        "an episode that .* time limit or counter goes on counting",
    ),
    "swapped": (Swapped, "step", r"number as the reward of a step, got False.*in this order"),
    "a pair": (
        Pair,
        "step",
        r"goexplore.Step\(reward, terminated, truncated\) from `step`, got \(False, 0.0\)",
    ),
    "nan rewards": (NanRewards, "step", "finite rewards, got nan"),
    "step returns None": (StepNone, "step", "from `step`, got None: return one"),
    "step raises": (RaisingStep, "step", r"`step` .*IndexError: off the map \(test_check.py, line \d+\)"),
    "forgetful snapshot": (
        ForgetfulSnapshot,
        "restore",
        "`snapshot` leaves out something that `step` depends on",
    ),
    "stale observation": (
        StaleObservation,
        "restore",
        "observation of the restored state.*`stale_after_restore`",
    ),
    "snapshot None": (SnapshotNone, "snapshot", "bytes from SnapshotNone.snapshot, got NoneType"),
    "snapshot moves": (SnapshotMoves, "snapshot", "`snapshot` to change nothing"),
    "snapshot with the time": (SnapshotWithTime, "snapshot bytes", "equal states to give equal bytes"),
    "restore raises": (
        RestoreRaises,
        "restore",
        "`restore` to raise nothing, got NotImplementedError: later",
    ),
    "0 actions": (NoActions, "actions", "from 1 to 65,536, got 0"),
    "70,000 actions": (ManyActions, "actions", "from 1 to 65,536, got 70000"),
    "no action_count": (ActionsForgotten, "actions", "from 1 to 65,536, got None"),
    "no_op": (NoOpOutOfRange, "actions", "`no_op` to be an action from 0 to 1 or None, got 2"),
    "crash in step": (
        CrashingStep,
        "step",
        r"outlive `step` \(step \d+, action [01]\), got its end \(SIGSEGV\)",
    ),
    "exit in step": (
        ExitingStep,
        "step",
        r"outlive `step` \(step \d+, action [01]\), got its end \(exit code 3\)",
    ),
    "crash in the constructor": (CrashingConstructor, "construction", r"outlive the constructor.*SIGSEGV"),
    "constructor raises": (
        RaisingConstructor,
        "construction",
        "the constructor .*OSError: no such file: maze.txt",
    ),
    "second instance raises": (RaisingSecondInstance, "second instance", "RuntimeError: only one emulator"),
    "hanging constructor": (HangingConstructor, "construction", "answer from the constructor within 1 s"),
    "hanging step": (HangingStep, "step", r"answer from `step` \(step \d+, action [01]\) within 1 s"),
    "abstract methods": (
        Unfinished,
        "construction",
        "Unfinished without `restore` and `snapshot`: define them",
    ),
    "not an environment": (not_an_environment, "construction", "goexplore.Environment from .*, got object"),
    "picture": (WrongPicture, "picture", r"rows x columns x 3 bytes .* got \(3, 8, 8\) uint8"),
    "play": (WrongPlay, "play", "`play` to lead where `step` leads"),
    "dict cell": (
        Problem(env=Corridor, cells=lambda seen: {"x": seen}),
        "cells",
        "got dict .*encode it in the cell",
    ),
    "object cell": (Problem(env=Corridor, cells=lambda seen: object()), "cells", "got object .*encode it in"),
    "nan cell": (
        Problem(env=Corridor, cells=lambda seen: float("nan")),
        "cells",
        "got a number that is not finite",
    ),
    "no first cell": (
        Problem(env=Corridor, cells=lambda seen: None),
        "cells",
        "cell for the initial state, got None",
    ),
    "cell raises": (
        Problem(env=Corridor, cells=raising_cell),
        "cells",
        r"the cells .*KeyError: 'room 2' \(test_check",
    ),
    "cell counts": (Problem(env=Corridor, cells=counting_cell), "cells", "same cell"),
    "text cells": (Problem(env=Corridor, cells=TextCells), "cells", "bytes or None from TextCells, got str"),
    "tracked": (
        Problem(env=Corridor, cells=TrackedCells),
        "cells after restore",
        "`state` return everything",
    ),
}
SLOW = {"hanging constructor", "hanging step"}


@pytest.mark.parametrize("name", FAULTS)
def test_check_env_names_each_fault(name):
    target, check, line = FAULTS[name]
    report = check_env(target, steps=300, timeout_seconds=1 if name in SLOW else 60)
    assert not report.passed
    assert report.failures[0].name in check.split("|"), report.text()
    assert_one_line(report.failures[0].detail, line)
    assert report.failures[0].detail in report.text()


@pytest.mark.parametrize("name", FAULTS)
def test_require_env_refuses_each_fault(name):
    target, check, line = FAULTS[name]
    problem = target if isinstance(target, Problem) else Problem(env=target)
    with pytest.raises(EnvironmentContractError) as refusal:
        require_env(problem, timeout_seconds=1 if name in SLOW else 60)
    assert_one_line(str(refusal.value), line)
    assert any(f"(check `{each}` of " in str(refusal.value) for each in check.split("|"))


def assert_one_line(text, pattern):
    assert re.search(pattern, text), text
    assert text.startswith("expected ")
    assert "\n" not in text
    assert len(text) < 500


@pytest.mark.parametrize("cell", [None, lambda seen: [seen[0], True], lambda seen: np.array(seen)])
def test_a_healthy_problem_passes(cell):
    report = check_env(Corridor, cell=cell)
    assert report.passed, report.text()
    assert not report.skipped
    assert report.cells_found > 5
    assert report.steps == 500
    assert report.observation == "vector of 2 numbers"
    assert report.snapshot_bytes == 3
    assert report.steps_per_second > 1000
    assert 0 < report.snapshot_microseconds < 10_000
    assert 0 < report.restore_microseconds < 10_000
    assert "keeps the contract" in report.text()
    require_env(Problem(env=Corridor, cells=cell))


def test_the_short_version_is_short():
    problem = Problem(env=Corridor)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        require_env(problem)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5  # 0.06 on an idle machine


def test_names_and_import_paths_are_welcome():
    assert check_env("two-mazes", steps=50).passed
    assert check_env(f"{__name__}:Corridor", steps=50).problem == f"{__name__}:Corridor"
    with pytest.raises(ProblemError, match="Did you mean two-mazes"):
        check_env("two-maze")


def test_a_time_limit_beyond_the_walk_is_found_as_well():
    report = check_env(LongTimeLimit, steps=200)
    assert [failure.name for failure in report.failures] == ["episode end"]
    assert "an episode that goes on after step" in report.failures[0].detail


def test_cells_that_differ_between_interpreters_are_found():
    report = check_env(Corridor, cell=salted_cell)
    assert [failure.name for failure in report.failures] == ["another process"]
    assert "hash()" in report.failures[0].detail
    assert "calls hash()" in report.text()


def test_what_failed_keeps_others_from_being_made():
    report = check_env(SnapshotNone)
    assert {"restore", "snapshot bytes", "cells after restore"} <= set(report.skipped)
    assert "cells" not in report.skipped
    assert "-     restore " in report.text()


def test_more_than_one_fault_is_found():
    class Both(ForgetfulSnapshot):
        picture = WrongPicture.picture

    report = check_env(Both, cell=raising_cell)
    assert [failure.name for failure in report.failures] == ["restore", "cells", "picture"]
    assert "3 checks failed" in report.text()


class Real(Corridor):
    def observation(self):
        return np.array([self.x / 7, self.coin])


def test_an_error_of_the_settings_stays_what_it_is():
    with pytest.raises(ConfigError, match="a cell function for observations that are real numbers"):
        require_env(Problem(env=Real))
    report = check_env(Real)
    assert report.failures[0].name == "cells"
    assert check_env(Real, cell=lambda seen: tuple(seen.round(1))).passed


class Stale(StaleObservation):
    stale_after_restore = True


def test_observations_may_be_stale_after_restore_if_it_says_so():
    assert check_env(Stale).passed


class Rooms(Corridor):
    has_rooms = True

    def location(self):
        return Location(0, self.x // 3)


def test_locations_are_compared_too():
    assert check_env(Rooms).passed

    class Lost(Rooms):
        def location(self):
            return Location(0, random.randrange(1000))

    with pytest.raises(EnvironmentContractError, match="another `location` or `lives`"):
        require_env(Problem(env=Lost))


def test_what_cannot_be_pickled_is_refused_where_processes_are_spawned():
    class Local(Corridor):
        pass

    report = check_env(Local, start_method="spawn")
    assert report.failures[0].name == "pickling"
    assert_one_line(report.failures[0].detail, "problem that can be pickled.*at the top level of a module")
    with pytest.raises(EnvironmentContractError, match="problem that can be pickled"):
        require_env(Problem(env=Corridor, cells=lambda seen: seen), start_method="spawn")


@pytest.mark.slow
def test_processes_can_be_spawned():
    assert check_env(Corridor, start_method="spawn").passed


def test_settings_out_of_range_are_refused():
    with pytest.raises(ConfigError, match="`steps`"):
        check_env(Corridor, steps=0)
    with pytest.raises(ConfigError, match="`timeout_seconds`"):
        check_env(Corridor, timeout_seconds=0)
    with pytest.raises(GoExploreError):
        check_env(Corridor())


def test_the_parent_never_makes_an_environment():
    class Counted(Corridor):
        made = 0

        def __init__(self):
            Counted.made += 1
            super().__init__()

    require_env(Problem(env=Counted))
    assert Counted.made == 0


EQUAL = [
    (np.float32(1.5), 1.5),
    ((1, "a", b"b"), [1, "a", b"b"]),
    ({"b": 1, "a": np.zeros(3)}, {"a": np.zeros(3), "b": 1}),
    ({1, 2, 3}, {3, 2, 1}),
    (np.arange(12).reshape(3, 4)[:, ::2], np.arange(12).reshape(3, 4)[:, ::2].copy()),
    (Location(1, 2), (1, 2)),
    (float("nan"), float("nan")),
    (Corridor().__dict__, Corridor().__dict__),
]
DIFFERENT = [
    (1, 1.0),
    (1, True),
    (None, "None"),
    ("1", 1),
    ((1, 2), (12,)),
    (((1,), 2), ((1, 2),)),
    (np.zeros(3), np.zeros(3, np.float32)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.array([None, 1]), np.array([None, 2])),
    ({"a": 1}, {"a": 2}),
    (Problem(env=Corridor), Problem(env=Unsteady)),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_observations_have_equal_digests(one, other):
    assert digest(one) == digest(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_observations_have_different_digests(one, other):
    assert digest(one) != digest(other)


def test_an_observation_that_contains_itself_has_a_digest():
    loop = [1]
    loop.append(loop)
    assert digest(loop) == digest(loop)


@pytest.mark.parametrize(
    ("observation", "text"),
    [
        (np.zeros((84, 80), np.uint8), "image, 84 x 80 bytes"),
        (np.zeros((84, 80, 3), np.uint8), "image, 84 x 80 x RGB"),
        ((1, 2.5), "vector of 2 numbers"),
        (np.int64(3), "one number"),
        (np.zeros((4, 4)), "vector of 16 numbers"),
        (np.zeros((7, 7, 3), np.uint8), "vector of 147 numbers"),
        (
            {"image": np.zeros((7, 7)), "facing": 1, "mission": "go"},
            "vector of 50 numbers, without the text mission",
        ),
        ({"inner": {"x": 1}, "y": (2, 3)}, "vector of 3 numbers"),
        ([[1], [2, 3]], "vector of 3 numbers"),
        ("you are in a maze", "str, on which no policy can be trained"),
        ({"thing": object()}, "dict, on which no policy can be trained"),
    ],
)
def test_observations_are_described(observation, text):
    assert describe_observation(observation) == text


class Thing:
    def __init__(self):
        self.x = 1


class Pickled(Corridor):
    """Its attributes and those of its thing share a name, until they were pickled."""

    def reset(self):
        super().reset()
        self.thing = Thing()

    def snapshot(self):
        return pickle.dumps(self.__dict__)

    def restore(self, snapshot):
        self.__dict__ = pickle.loads(snapshot)


class PickledTwice(Pickled):
    def snapshot(self):
        return pickle.dumps(pickle.loads(super().snapshot()))


def test_what_is_said_of_pickle_is_true():
    report = check_env(Pickled)
    assert [failure.name for failure in report.failures] == ["snapshot bytes"]
    assert "pickle.dumps(pickle.loads(pickle.dumps(state)))" in report.failures[0].detail
    assert check_env(PickledTwice).passed
