"""Replay finds every lie; each trajectory is played once."""

import contextlib
import dataclasses
import re
import struct

import pytest

from goexplore.archive import Archive, plan_replays
from goexplore.cells import End, encode
from goexplore.envs import NOWHERE
from goexplore.errors import ProblemError
from goexplore.exploration import ExplorationConfig, Search
from goexplore.problems import Problem, find_problem
from goexplore.replay import check_replay, verify_archive
from tests.fields import Buggy, Corridor, Field, Lock, candidate, itself, result

FIELD = Problem(env=Field, cells=itself, exploration=ExplorationConfig(batch_size=10, training_frames=20))
CORRIDOR = dataclasses.replace(FIELD, env=Corridor, name="")


def explore(problem, batches=40):
    cell_env = problem.make_cell_env()
    search = Search(
        cell_env=cell_env,
        selection=problem.make_selection(cell_env),
        executor=problem.make_executor(None),
        batch_size=problem.exploration.batch_size,
    )
    search.run(lambda status: status.batches >= batches)
    return search.archive


def everything(archive):
    return range(len(archive))


@pytest.fixture(scope="module")
def archive():
    return explore(FIELD)


@pytest.fixture
def longest(archive):
    return plan_replays(archive, everything(archive))[0]


def with_last_entry(replay, **changes):
    """The replay, with another claim about the last entry on its way."""
    last = replay.claims[-1]
    wrong = dataclasses.replace(last, entry=last.entry._replace(**changes))
    return dataclasses.replace(replay, claims=(*replay.claims[:-1], wrong))


def test_every_entry_is_claimed_once_and_holds(archive):
    replays = plan_replays(archive, everything(archive))
    claimed = [claim.entry.number for replay in replays for claim in replay.claims]
    assert sorted(claimed) == list(everything(archive))
    assert [mismatch for replay in replays for mismatch in check_replay(FIELD.make_cell_env(), replay)] == []


def test_entries_on_the_way_to_others_are_not_replayed_for_themselves(archive):
    replays = plan_replays(archive, everything(archive))
    assert len(replays) < len(archive)
    assert sum(len(replay.actions) for replay in replays) < archive.values("length").sum()


def test_a_sample_claims_the_sample(archive):
    def claimed(entries):
        return sorted(
            claim.entry.number for replay in plan_replays(archive, entries) for claim in replay.claims
        )

    assert claimed([0, 5, 7]) == [0, 5, 7]
    assert claimed([0]) == [0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda entry: {"cell": b"elsewhere"}, "expected cell"),
        (lambda entry: {"score_length": entry.score_length._replace(score=99.0)}, "expected score 99, got"),
        (
            lambda entry: {"score_length": entry.score_length._replace(length=1)},
            "expected a length of 1 training frames, got",
        ),
        (
            lambda entry: {"end": End.TERMINATED},
            "expected an episode that is terminated, got one that is not over",
        ),
        (
            lambda entry: {"snapshot": b"\2\0\0" + struct.pack("<3B", 0, 11, 0)},
            "the simulator's state differs",
        ),
        (lambda entry: {"snapshot": b"no snapshot"}, "the simulator's state differs from the saved snapshot"),
    ],
)
def test_a_wrong_claim_is_found(longest, change, reason):
    last = longest.claims[-1].entry
    (mismatch,) = check_replay(FIELD.make_cell_env(), with_last_entry(longest, **change(last)))
    assert mismatch.number == last.number
    assert reason in mismatch.reason


def test_a_changed_action_is_found(longest):
    turned = longest.actions[:-1] + bytes([longest.actions[-1] ^ 1])
    assert check_replay(FIELD.make_cell_env(), dataclasses.replace(longest, actions=turned))
    unknown = bytes([200]) + longest.actions[1:]
    assert (
        "action 200"
        in check_replay(FIELD.make_cell_env(), dataclasses.replace(longest, actions=unknown))[0].reason
    )


def test_an_episode_that_ends_on_the_way_loses_the_rest(longest):
    into_the_pit = bytes([0, 0, 0, 2, 2, 2]) + longest.actions
    mismatches = check_replay(FIELD.make_cell_env(), dataclasses.replace(longest, actions=into_the_pit))
    assert any("the episode ends at training frame 6" in mismatch.reason for mismatch in mismatches)


# ---- ends -------------------------------------------------------------------------------------------------


def test_ends_are_verified_too():
    archive = explore(CORRIDOR, batches=5)
    ends = [entry for entry in archive if entry.end]
    assert [(entry.end, entry.score) for entry in ends] == [(End.TERMINATED, -4.0)]
    assert verify_archive(archive, CORRIDOR, everything(archive)).passed


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (End.TRUNCATED, "expected an episode that is truncated, got one that is terminated"),
        (End.NONE, "expected an episode that is not over, got one that is terminated"),
    ],
)
def test_a_wrong_end_is_found(end, reason):
    archive = explore(CORRIDOR, batches=5)
    (number,) = [entry.number for entry in archive if entry.end]
    (replay,) = plan_replays(archive, [number])
    (mismatch,) = check_replay(CORRIDOR.make_cell_env(), with_last_entry(replay, end=end))
    assert (mismatch.number, mismatch.reason) == (number, reason)


# ---- whole archives ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_a_whole_archive_is_verified_by_worker_processes(archive, workers):
    done = []
    verdict = verify_archive(
        archive,
        FIELD,
        everything(archive),
        workers=workers,
        progress=lambda checked, total: done.append((checked, total)),
    )
    assert verdict.passed
    assert verdict.checked == len(archive)
    played = sum(len(replay.actions) for replay in plan_replays(archive, everything(archive)))
    assert verdict.game_frames == played * Field.frame_skip
    assert done[-1] == (len(archive), len(archive))


class Generous(Field):
    """Pays 11 for what paid 10 when it was explored."""

    def step(self, action):
        step = super().step(action)
        return step._replace(reward=1.1 * step.reward)


def test_a_game_that_has_changed_since_is_found(archive):
    verdict = verify_archive(archive, dataclasses.replace(FIELD, env=Generous), everything(archive))
    rich = [entry.number for entry in archive if entry.score]
    assert [mismatch.number for mismatch in verdict.mismatches] == rich
    assert not verdict.passed
    assert {mismatch.reason for mismatch in verdict.mismatches} <= {
        "expected score 10, got 11",
        "expected score 20, got 22",
    }


def test_actions_that_need_two_bytes_are_replayed():
    problem = dataclasses.replace(FIELD, env=Lock, name="")
    archive = explore(problem, batches=20)
    assert archive.values("score").max() >= 1
    verdict = verify_archive(archive, problem, everything(archive))
    assert verdict.passed
    assert verdict.checked == len(archive) > 10


class Stamped(Field):
    """Its snapshots have the number of steps since the program began, which changes nothing, in them."""

    stamp = 0

    def step(self, action):
        self.stamp = (self.stamp + 1) % 256
        return super().step(action)

    def snapshot(self):
        return super().snapshot() + bytes([self.stamp])

    def restore(self, snapshot):
        super().restore(snapshot[:-1])


def test_snapshots_that_differ_where_it_does_not_matter_are_called_what_they_are():
    """Nothing is wrong with the archive: the states are the same, only their bytes are not."""
    problem = dataclasses.replace(FIELD, env=Stamped)
    archive = explore(problem, batches=5)
    verdict = verify_archive(archive, problem, everything(archive))
    assert not verdict.passed
    for mismatch in verdict.mismatches:
        assert "both play on alike: snapshots of this environment are not canonical" in mismatch.reason
        assert "see `goexplore check-env`" in mismatch.reason


def test_the_replay_goes_on_after_two_snapshots_were_compared(longest):
    """Both were played on: the claims that follow must not suffer from it."""
    first, *others = longest.claims
    wrong = dataclasses.replace(
        first, entry=first.entry._replace(snapshot=b"\2\0\0" + struct.pack("<3B", 9, 9, 0))
    )
    (mismatch,) = check_replay(FIELD.make_cell_env(), dataclasses.replace(longest, claims=(wrong, *others)))
    assert mismatch.number == first.entry.number


def test_ale_py_confirms_what_the_native_engine_found():
    """Snapshots of the two engines have nothing in common: the game's memory is compared."""
    problem, _ = find_problem("montezuma").with_engine("native")
    archive = explore(problem, batches=1)
    sample = range(0, len(archive), max(1, len(archive) // 12))
    assert verify_archive(archive, problem, sample).passed
    assert verify_archive(archive, problem, sample, on_reference=False).passed
    (first, *_) = plan_replays(archive, [sample[-1]])
    other = archive[sample[-2]].snapshot
    (mismatch,) = check_replay(
        problem.reference().make_cell_env(), with_last_entry(first, snapshot=other), own_snapshots=False
    )
    assert mismatch.reason == "the game's memory differs from the saved snapshot's"


# ---- events and objectives --------------------------------------------------------------------------------


def energy(observation, info):
    return info["energy"]


def is_corner(observation, info):
    return observation == (7, 0)


BUGGY = Problem(
    env=Buggy,
    cells=itself,
    exploration=FIELD.exploration,
    objective=energy,
    events={"corner": is_corner, "lookup": LookupError},
)


class Harmless(Buggy):
    deadly = broken = (99, 99)


@pytest.fixture(scope="module")
def buggy():
    with contextlib.closing(BUGGY.make_executor(1)) as executor:
        cell_env = BUGGY.make_cell_env()
        search = Search(
            cell_env=cell_env,
            selection=BUGGY.make_selection(cell_env),
            executor=executor,
            batch_size=10,
        )
        search.run(lambda status: status.batches >= 15)
    return search.archive


def test_ways_to_events_and_objectives_hold_and_the_last_action_of_a_crash_is_played_apart(buggy):
    assert set(buggy.events) == {"corner", "lookup", "worker-crash"}
    verdict = verify_archive(buggy, BUGGY, everything(buggy))
    assert verdict.mismatches == ()
    assert verdict.checked == len(buggy)
    assert verdict.crashes == len(buggy.events["worker-crash"])


def reasons(archive, problem):
    """Return what is wrong, by event."""
    found = verify_archive(archive, problem, everything(archive)).mismatches
    return {archive[each.number].event: each.reason for each in found}


def test_an_event_that_does_not_happen_is_found(buggy):
    other = dataclasses.replace(BUGGY, events={"corner": lambda observation: False, "lookup": LookupError})
    assert reasons(buggy, other)["corner"] == (
        "expected the event corner, got a state in which it does not happen"
    )


def test_an_exception_that_is_not_raised_and_a_crash_that_does_not_happen_are_found(buggy):
    found = reasons(buggy, dataclasses.replace(BUGGY, env=Harmless, name=""))
    assert found["lookup"] == "expected the last action to raise the event lookup, got no exception"
    assert re.match(
        r"expected the process to die of training frame \d+, got one that survived it", found["worker-crash"]
    )
    assert set(found) == {"lookup", "worker-crash"}


def test_an_objective_that_is_another_is_found(buggy):
    other = dataclasses.replace(BUGGY, objective=lambda observation, info: info["energy"] + 1)
    found = verify_archive(buggy, other, [0, 1]).mismatches
    assert found[0].reason == "expected an objective of 200.0, got 201.0"


def test_the_last_action_of_a_way_that_hangs_is_not_played():
    archive = rooted_at(Corridor())
    hang = candidate(encode(1), score=-1.0, length=2, offset=2, event="worker-hang", end=End.HUNG)
    archive.update([archive[0]], [result(hang, actions=bytes([1, 1]))], game_frame=1)
    verdict = verify_archive(archive, CORRIDOR, [1])
    assert verdict.passed
    assert verdict.unplayed == 1


def rooted_at(env):
    archive = Archive()
    cell_env = dataclasses.replace(FIELD, env=type(env), name="").make_cell_env()
    archive.add_root(cell_env.reset(), cell_env.snapshot(), NOWHERE)
    return archive


def test_without_the_functions_nothing_is_verified(buggy):
    bare = dataclasses.replace(BUGGY, objective=None, events=()).with_settings(BUGGY.settings())
    with pytest.raises(
        ProblemError, match=r"expected `objective` with tests\.replay\.test_verification:energy"
    ):
        verify_archive(buggy, bare, [0])
