"""Replay finds every lie; each trajectory is played once."""

import dataclasses

import pytest

from goexplore.exploration import Search, SerialExecutor
from goexplore.verification import plan_replays, play
from tests.worlds import make_kernel, make_selection, make_cell_env


@pytest.fixture(scope="module")
def archive():
    search = Search(
        cell_env=make_cell_env(), selection=make_selection(), executor=SerialExecutor(make_kernel), batch_size=10
    )
    search.run(lambda status: status.batches >= 40)
    return search.archive


def test_every_entry_is_claimed_once_and_holds(archive):
    replays = plan_replays(archive, range(len(archive)))
    assert sorted(claim.number for replay in replays for claim in replay.claims) == list(range(len(archive)))
    assert [mismatch for replay in replays for mismatch in play(make_cell_env(), replay)] == []


def test_entries_on_the_way_to_others_are_not_replayed_for_themselves(archive):
    replays = plan_replays(archive, range(len(archive)))
    assert len(replays) < len(archive)
    assert sum(len(replay.actions) for replay in replays) < archive.values("length").sum()


def test_a_sample_claims_the_sample(archive):
    replays = plan_replays(archive, [0, 5, 7])
    assert sorted(claim.number for replay in replays for claim in replay.claims) == [0, 5, 7]
    assert [claim.number for replay in plan_replays(archive, [0]) for claim in replay.claims] == [0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda claim: {"cell": b"elsewhere"}, "expected cell"),
        (lambda claim: {"standing": claim.score_length._replace(score=99.0)}, "expected score 99"),
        (lambda claim: {"standing": claim.score_length._replace(length=1)}, "expected a length of 1 training"),
        (lambda claim: {"snapshot": b"another state"}, "differs from the saved snapshot"),
    ],
)
def test_a_wrong_claim_is_found(archive, change, reason):
    replay = plan_replays(archive, range(len(archive)))[0]
    last = replay.claims[-1]
    wrong = dataclasses.replace(last, **change(last))
    (mismatch,) = play(make_cell_env(), dataclasses.replace(replay, claims=(*replay.claims[:-1], wrong)))
    assert mismatch.number == last.number
    assert reason in mismatch.reason


def test_a_changed_action_is_found(archive):
    replay = plan_replays(archive, range(len(archive)))[0]
    turned = bytes([replay.actions[0] ^ 1]) + replay.actions[1:]
    assert play(make_cell_env(), dataclasses.replace(replay, actions=turned))
    unknown = bytes([200]) + replay.actions[1:]
    assert "action 200" in play(make_cell_env(), dataclasses.replace(replay, actions=unknown))[0].reason


def test_an_episode_that_ends_on_the_way_loses_the_rest(archive):
    replay = plan_replays(archive, range(len(archive)))[0]
    into_the_pit = bytes([0, 0, 0, 2, 2, 2]) + replay.actions
    mismatches = play(make_cell_env(), dataclasses.replace(replay, actions=into_the_pit))
    assert any("the episode ends at training frame 6" in mismatch.reason for mismatch in mismatches)
