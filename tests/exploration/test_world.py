import struct

import pytest

from goexplore.cells import CellRepresentation
from goexplore.envs import AtariEnv, Place
from goexplore.errors import ConfigError, SnapshotError
from goexplore.exploration import World
from tests.worlds import Field, make_world


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

    def place(self):
        return Place(2, self.frames)


def test_snapshots_carry_what_the_cells_track():
    world = World(Field(), CountingCells())
    world.reset()
    world.step(0)
    world.step(0)
    snapshot = world.snapshot()
    world.step(0)
    world.restore(snapshot)
    assert world.step(0).cell == b"3"
    assert world.env.x == 3
    assert world.place() == Place(2, 3)


def test_equal_states_give_equal_snapshots_in_different_worlds():
    one, other = make_world(), make_world()
    for world in (one, other):
        world.reset()
        world.step(0)
    assert one.snapshot() == other.snapshot()


def test_a_snapshot_of_an_atari_game_is_small():
    env = AtariEnv(game="montezuma_revenge")
    world = World(env, CountingCells())
    world.reset()
    sizes = []
    for step in range(60):
        world.step(step // 6 % 18)
        sizes.append(len(world.snapshot()))
    assert len(env.snapshot()) > 7000
    assert max(sizes) < 250


@pytest.mark.parametrize(
    ("damage", "reason"),
    [(b"", "got no bytes"), (b"\x09abc", "got format 9"), (b"\x01abc", "do not decompress")],
)
def test_bytes_that_are_no_snapshot_are_refused(damage, reason):
    class Large(Field):
        def snapshot(self):
            return super().snapshot() + bytes(1000)

    with pytest.raises(SnapshotError, match=reason):
        World(Large(), CountingCells()).restore(damage)


def test_small_states_are_kept_as_they_are():
    world = make_world()
    world.reset()
    assert world.snapshot().endswith(world.env.snapshot())


def test_an_environment_with_too_many_actions_is_refused():
    class TooMany(Field):
        action_count = 257

    with pytest.raises(ConfigError, match="1 to 256 actions"):
        World(TooMany(), CountingCells())
