"""Any Atari game as a part of a problem: what is known of it, and the engine that plays it."""

import dataclasses
import pickle

import pytest

from goexplore import _native as native
from goexplore.demos import find_demonstrations
from goexplore.engines import rom_checksum, version_for
from goexplore.envs import NOWHERE, AtariEnv, AtariFacts, Location, NativeAtariEnv
from goexplore.errors import ConfigError
from goexplore.games import AtariGame, certificate, facts
from goexplore.games._character import find_character

needs_native = pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")
MONTEZUMA = AtariGame(game="ALE/MontezumaRevenge-v5")


@pytest.fixture(autouse=True)
def _trusting(tmp_path, monkeypatch):
    """What this machine has learnt about engines does not matter here, and nothing is added to it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_game_is_the_same_however_its_name_is_written():
    for name in ("ALE/MontezumaRevenge-v5", "montezuma_revenge", "MontezumaRevenge"):
        game = AtariGame(game=name)
        assert (game.name, game.target) == ("montezuma_revenge", "ALE/MontezumaRevenge-v5")


def test_settings_are_what_the_user_can_set():
    game = AtariGame(game="pong", frame_skip=3, full_action_set=True, episode_end="life-loss")
    assert game.settings() == {
        "game": "pong",
        "frame_skip": 3,
        "full_action_set": True,
        "episode_end": "life-loss",
    }
    assert AtariGame(game="pong").with_settings(game.settings()) == game
    env = game()
    assert (env.frame_skip, env.action_count, env.ends_at_life_loss) == (3, 18, True)
    with pytest.raises(ConfigError, match="expected the settings of AtariGame"):
        game.with_settings({**game.settings(), "colour": 1})


# ---- what is known ----------------------------------------------------------------------------------------


def test_of_a_game_without_a_folder_nothing_is_known():
    assert facts("pong") == AtariFacts()
    assert certificate("pong") is None
    env = AtariGame(game="pong")()
    assert env.location() == NOWHERE
    assert not env.has_rooms
    assert not env.has_levels
    assert not env.ends_at_life_loss


def test_montezumas_episodes_end_at_life_loss_and_pitfalls_at_game_over():
    assert MONTEZUMA().ends_at_life_loss
    assert not AtariGame(game="pitfall")().ends_at_life_loss
    assert not dataclasses.replace(MONTEZUMA, episode_end="game-over")().ends_at_life_loss


@pytest.mark.parametrize(("game", "levels"), [("montezuma_revenge", True), ("pitfall", False)])
def test_games_with_a_map_begin_where_it_says(game, levels):
    env = AtariGame(game=game)()
    first = Location(0, 1) if levels else Location(0, 0)
    assert env.location() == first
    assert (env.has_rooms, env.has_levels) == (True, levels)
    assert any(first.room in row for row in env.room_map.rows)


def test_levels_of_montezuma_are_counted_beyond_the_third_where_the_memory_stands_still():
    known = facts("montezuma_revenge")
    assert known.location_after(Location(5, 15), here=Location(2, 1)) == Location(6, 1)
    assert known.location_after(Location(5, 14), here=Location(2, 15)) == Location(5, 15)
    assert facts("pitfall").location_after(Location(0, 15), here=Location(0, 1)) == Location(0, 1)


def test_every_room_is_on_the_map_once():
    for game, count in (("montezuma_revenge", 24), ("pitfall", 255)):
        rooms = [room for row in facts(game).room_map.rows for room in row]
        assert sorted(rooms) == list(range(count))


@pytest.mark.parametrize(
    "rom",
    [
        "bowling",
        "centipede",
        "freeway",
        "gravitar",
        "montezuma_revenge",
        "pitfall",
        "private_eye",
        "venture",
    ],
)
def test_a_certificate_is_for_the_rom_that_comes_with_ale_py(rom):
    assert certificate(rom).md5 == rom_checksum(rom)
    assert certificate(rom).game_frames >= 2_000_000


# ---- engines ----------------------------------------------------------------------------------------------


def test_a_game_is_played_by_ale_py_unless_an_engine_is_chosen():
    assert MONTEZUMA.engine == "ale"
    assert isinstance(MONTEZUMA(), AtariEnv)
    assert MONTEZUMA.engine_version is None
    assert MONTEZUMA.warnings() == []
    assert MONTEZUMA.distrust("it differs") is None


def test_ale_py_plays_where_it_is_asked_for():
    binding = MONTEZUMA.with_engine("ale")
    assert (binding.env.engine, binding.reason) == ("ale", "ale-py, as asked for")


@needs_native
def test_the_native_engine_plays_where_it_is_asked_for():
    game = MONTEZUMA.with_engine("native").env
    assert game.engine == "native"
    assert game.engine_version == version_for("montezuma_revenge")
    assert isinstance(game(), NativeAtariEnv)
    assert game().facts == facts("montezuma_revenge")
    assert isinstance(game.reference()(), AtariEnv)


@needs_native
def test_an_engine_travels_with_the_game_to_other_processes_and_is_no_setting():
    game = MONTEZUMA.with_engine("native").env
    assert pickle.loads(pickle.dumps(game)).engine == "native"
    assert game == MONTEZUMA
    assert game.settings() == MONTEZUMA.settings()


@needs_native
def test_the_native_engine_plays_by_itself_only_what_it_is_certified_for(monkeypatch):
    assert AtariGame(game="pong").with_engine("auto").reason.endswith("is not certified for pong")
    binding = MONTEZUMA.with_engine("auto")
    assert binding.env.engine == "native"
    assert "equal to ale-py in 20,085,172 game frames" in binding.reason
    monkeypatch.setattr("goexplore.engines._choice.version_for", lambda rom: "another")
    assert "was changed since it was certified" in MONTEZUMA.with_engine("auto").reason
    monkeypatch.setattr("goexplore.engines._choice.rom_checksum", lambda rom: "another")
    assert "is certified for another ROM" in MONTEZUMA.with_engine("auto").reason


@needs_native
def test_an_engine_that_was_seen_to_differ_is_not_used_any_more():
    game = MONTEZUMA.with_engine("native").env
    assert "is not used for montezuma_revenge on this machine any more" in game.distrust("one pixel")
    assert MONTEZUMA.with_engine("auto").env.engine == "ale"
    with pytest.raises(ConfigError, match="got the native one, which was seen to differ"):
        MONTEZUMA.with_engine("native")


def test_without_a_native_engine_ale_py_plays(monkeypatch):
    monkeypatch.setattr(native, "atari", None)
    binding = MONTEZUMA.with_engine("auto")
    assert binding.env.engine == "ale"
    assert binding.reason == f"ale-py: there is no native engine, {native.missing_because}"
    with pytest.raises(ConfigError, match="expected the native engine, got an installation without one"):
        MONTEZUMA.with_engine("native")


@pytest.mark.parametrize(
    ("sample", "most"), [("montezuma-5500-points-00", 0.02), ("pitfall-three-rooms-right", 0.02)]
)
def test_the_character_is_where_the_games_memory_says(sample, most):
    (demonstration,) = find_demonstrations(sample, verify=False)
    env = demonstration.env()
    env.reset()
    far = seen = 0
    for action in demonstration.actions:
        env.step(action)
        found = find_character(env.observation())
        if found is not None:
            column, row = env.position()
            seen += 1
            far += abs(found[0] / 2 - column) > 5 or abs(found[1] + 50 - row) > 8
    assert seen > 0.8 * len(demonstration.actions)
    assert far <= most * seen
