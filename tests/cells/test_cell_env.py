"""An environment seen through a cell representation: steps, ends, snapshots, and what is refused."""

import struct

import numpy as np
import pytest

from goexplore.cells import CellEnvironment, CellRepresentation, CellStep, End, encode, unpack_snapshot
from goexplore.envs import AtariEnv, Location, Step
from goexplore.errors import ConfigError, EnvironmentContractError, SnapshotError
from goexplore.random import SplitMix64
from tests.fields import Corridor, Field, Lock, cells_of, make_cell_env

RIGHT, LEFT, DOWN, UP = range(4)
INTO_THE_PIT = [RIGHT] * 3 + [DOWN] * 3


class CountingCells(CellRepresentation):
    """Tracks how many frames it has seen: something that no observation shows."""

    frames = 0

    def reset(self, observation):
        self.frames = 0
        return b"0"

    def update(self, observation):
        self.frames += 1
        return str(self.frames).encode()

    def state(self):
        return struct.pack("<I", self.frames)

    def restore(self, state):
        (self.frames,) = struct.unpack("<I", state)

    def location(self):
        return Location(2, self.frames)


def stepping(answer):
    """Return an environment whose steps all give the same answer."""

    class Answering(Field):
        def step(self, action):
            return answer

    return cells_of(Answering())


# ---- steps ------------------------------------------------------------------------------------------------


def test_a_step_gives_reward_and_cell():
    cell_env = make_cell_env()
    assert cell_env.reset() == encode((0, 0))
    steps = [cell_env.step(RIGHT) for _ in range(5)]
    assert steps[0] == CellStep(0.0, encode((1, 0)), End.NONE)
    assert steps[4] == CellStep(10.0, encode((5, 0)), End.NONE)


def test_numbers_of_numpy_are_welcome_and_become_pythons():
    cell_env = stepping(Step(np.float32(0.5), np.bool_(False), np.bool_(False)))
    cell_env.reset()
    reward, _, end = cell_env.step(0)
    assert type(reward) is float
    assert reward == 0.5
    assert end is End.NONE
    ending = stepping(Step(np.int64(2), np.bool_(True), np.bool_(False)))
    ending.reset()
    assert ending.step(0) == CellStep(2.0, encode((0, 0)), End.TERMINATED)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -float("inf"), np.float32("nan")])
def test_a_reward_that_is_no_number_is_refused_at_any_step(reward):
    class Late(Field):
        def step(self, action):
            return Step(reward if self.x == 3 else 0.0) if super().step(action) else None

    cell_env = cells_of(Late())
    cell_env.reset()
    cell_env.step(RIGHT)
    cell_env.step(RIGHT)
    with pytest.raises(
        EnvironmentContractError, match=f"expected finite rewards, got {reward} after action 0"
    ):
        cell_env.step(RIGHT)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, r"expected goexplore\.Step\(reward, terminated, truncated\) from `step`, got None"),
        (1.0, r"expected goexplore\.Step\(.*\) from `step`, got 1\.0"),
        ((0.0, False), r"expected goexplore\.Step\(.*\) from `step`, got \(0\.0, False\)"),
        ((0, 0.0, False, False, {}), r"expected goexplore\.Step\(.*\) from `step`"),
        (Step(False, 1.0), "expected a number as the reward of a step, got False"),
        (Step(np.bool_(False), 1.0), "expected a number as the reward of a step"),
        (Step("1"), "expected a number as the reward of a step, got '1'"),
        (Step(0.0, 1), "expected True or False for terminated and truncated, got 1"),
        (Step(0.0, False, None), "expected True or False for terminated and truncated, got None"),
    ],
)
def test_what_is_no_step_is_refused_at_the_first_one(answer, message):
    cell_env = stepping(answer)
    cell_env.reset()
    with pytest.raises(EnvironmentContractError, match=message):
        cell_env.step(0)


@pytest.mark.parametrize(
    "count", [0, -1, 65_537, 2.0, "4", True, None, pytest.param(np.float64(4), id="numpy float")]
)
def test_a_number_of_actions_that_cannot_be_is_refused(count):
    class Counting(Field):
        action_count = count

    with pytest.raises(
        EnvironmentContractError,
        match=r"expected Counting\.action_count to be a whole number from 1 to 65,536",
    ):
        cells_of(Counting())


def test_an_environment_that_does_not_say_how_many_actions_it_has_is_refused():
    class Silent(Lock):
        action_count = property()  # as if there were none

    with pytest.raises(EnvironmentContractError, match=r"expected Silent\.action_count .* got None"):
        cells_of(Silent())


@pytest.mark.parametrize("count", [1, 256, 257, 65_536, np.int64(18)])
def test_up_to_65536_actions_are_welcome(count):
    class Counting(Field):
        action_count = count

    cell_env = cells_of(Counting())
    assert cell_env.action_count == count
    assert type(cell_env.action_count) is int


@pytest.mark.parametrize("cell", ["cell", 7, (1, 2), bytearray(b"cell")])
def test_cells_that_are_not_bytes_are_refused(cell):
    class Cells(CellRepresentation):
        first = b"cell"

        def reset(self, observation):
            return self.first

        def update(self, observation):
            return cell

    message = f"expected bytes or None from Cells, got {type(cell).__name__}"
    cell_env = CellEnvironment(Field(), Cells())
    cell_env.reset()
    with pytest.raises(EnvironmentContractError, match=message):
        cell_env.step(0)
    Cells.first = cell
    with pytest.raises(EnvironmentContractError, match=message):
        cell_env.reset()


def test_the_initial_state_has_a_cell():
    class Lost(CountingCells):
        def reset(self, observation):
            return None

    with pytest.raises(EnvironmentContractError, match="expected a cell for the initial state, got None"):
        CellEnvironment(Field(), Lost()).reset()


# ---- ends -------------------------------------------------------------------------------------------------


def played(cell_env, actions):
    cell_env.reset()
    return [cell_env.step(action) for action in actions][-1]


class Timed(Corridor):
    limit = 3


class Both(Corridor):
    limit = 4


def test_an_episode_that_ends_has_its_cell_and_how_it_ended():
    assert played(cells_of(Field()), INTO_THE_PIT) == CellStep(0.0, encode((3, 3)), End.TERMINATED)
    assert played(cells_of(Timed()), [1, 1, 1]) == CellStep(-1.0, encode(3), End.TRUNCATED)
    assert played(cells_of(Both()), [1, 1, 1, 1]) == CellStep(-1.0, encode(4), End.TERMINATED)


@pytest.mark.parametrize(
    ("env", "actions"), [(Field(), INTO_THE_PIT), (Timed(), [1, 1, 1]), (Both(), [1, 1, 1, 1])]
)
def test_an_episode_that_ends_is_lost_where_ends_are_dropped(env, actions):
    cell_env = cells_of(env, ends="drop")
    step = played(cell_env, actions)
    assert step.cell is None
    assert step.end
    assert played(cell_env, actions[:-1]).cell is not None


def test_a_lost_episode_has_no_cell_even_where_ends_are_kept():
    class Dying(CountingCells):
        def update(self, observation):
            return None if observation == Field.pit else super().update(observation)

    assert played(CellEnvironment(Field(), Dying()), INTO_THE_PIT).cell is None


def test_what_becomes_of_ends_must_be_known():
    with pytest.raises(ConfigError, match="expected `ends` to be keep or drop, got 'kept'"):
        cells_of(Field(), ends="kept")


# ---- snapshots --------------------------------------------------------------------------------------------


def test_snapshots_carry_what_the_cells_track():
    cell_env = CellEnvironment(Field(), CountingCells())
    cell_env.reset()
    cell_env.step(RIGHT)
    cell_env.step(RIGHT)
    snapshot = cell_env.snapshot()
    cell_env.step(RIGHT)
    cell_env.restore(snapshot)
    assert cell_env.step(RIGHT).cell == b"3"
    assert cell_env.env.x == 3
    assert cell_env.location() == Location(2, 3)


def test_equal_states_give_equal_snapshots_and_digests_in_different_environments():
    one, other = make_cell_env(), make_cell_env()
    for cell_env in (one, other):
        cell_env.reset()
        cell_env.step(RIGHT)
    assert one.snapshot() == other.snapshot()
    assert one.initial_digest() == other.initial_digest()


@pytest.mark.parametrize(
    "change",
    [{"snapshot": lambda self: b"other"}, {"observation": lambda self: (7, 7)}],
    ids=["state", "cell"],
)
def test_another_initial_state_or_cell_gives_another_digest(change):
    other = cells_of(type("Other", (Field,), change)())
    assert make_cell_env().initial_digest() != other.initial_digest()


def test_small_states_are_kept_as_they_are():
    cell_env = CellEnvironment(Field(), CountingCells())
    cell_env.reset()
    cell_env.step(RIGHT)
    snapshot = cell_env.snapshot()
    assert unpack_snapshot(snapshot[1:]) == (struct.pack("<I", 1), cell_env.env.snapshot())


class Large(Field):
    """A field with 2,000 bytes of noise in its state, of which a step changes few."""

    seed = 0

    def reset(self):
        super().reset()
        self.noise = bytearray(SplitMix64(self.seed).words(250).tobytes())

    def step(self, action):
        self.noise[self.x] ^= 0xFF
        return super().step(action)

    def snapshot(self):
        return super().snapshot() + bytes(self.noise)

    def restore(self, snapshot):
        super().restore(snapshot[:3])
        self.noise[:] = snapshot[3:]


class LargeElsewhere(Large):
    seed = 1


def test_large_states_are_compressed_against_the_initial_state():
    cell_env = CellEnvironment(Large(), CountingCells())
    cell_env.reset()
    for action in (RIGHT, DOWN, RIGHT):
        cell_env.step(action)
    state, snapshot = cell_env.env.snapshot(), cell_env.snapshot()
    assert len(snapshot) < 60
    other = CellEnvironment(Large(), CountingCells())
    other.restore(snapshot)
    assert other.env.snapshot() == state
    assert other.cells.frames == 3


def test_a_snapshot_is_refused_where_the_environment_begins_in_another_state():
    cell_env = cells_of(Large())
    cell_env.reset()
    cell_env.step(RIGHT)
    with pytest.raises(SnapshotError, match="do not decompress against its initial state"):
        cells_of(LargeElsewhere()).restore(cell_env.snapshot())


def test_no_damage_to_a_compressed_snapshot_leads_to_another_state():
    cell_env = cells_of(Large())
    cell_env.reset()
    cell_env.step(RIGHT)
    state, snapshot = cell_env.env.snapshot(), cell_env.snapshot()
    refused = 0
    for at in range(len(snapshot)):
        for bit in range(8):
            damaged = bytearray(snapshot)
            damaged[at] ^= 1 << bit
            try:
                cell_env.restore(bytes(damaged))
            except SnapshotError:
                refused += 1
            else:
                assert cell_env.env.snapshot() == state
    assert refused > 7 * len(snapshot)


def test_a_snapshot_of_an_atari_game_is_small():
    env = AtariEnv(game="montezuma_revenge")
    cell_env = CellEnvironment(env, CountingCells())
    cell_env.reset()
    sizes = []
    for step in range(60):
        cell_env.step(step // 6 % 18)
        sizes.append(len(cell_env.snapshot()))
    assert len(env.snapshot()) > 7000
    assert max(sizes) < 250


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b"", "got no bytes"),
        (b"\x09abc", "got format 9"),
        (b"\x02abc", "got format 2"),
        (b"\x03abc", "do not decompress"),
        (b"\x03", "do not decompress"),
    ],
)
def test_bytes_that_are_no_snapshot_are_refused(damage, reason):
    with pytest.raises(SnapshotError, match=reason):
        cells_of(Large()).restore(damage)


@pytest.mark.parametrize("state", [None, "state", bytearray(3)])
def test_a_state_that_is_not_bytes_is_refused(state):
    class Stateless(Field):
        def snapshot(self):
            return state

    with pytest.raises(
        EnvironmentContractError,
        match=rf"expected bytes from Stateless\.snapshot, got {type(state).__name__}",
    ):
        cells_of(Stateless())
