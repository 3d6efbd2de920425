import multiprocessing

import numpy as np
import pytest

from goexplore import _native as native
from goexplore.envs import NOWHERE, AtariEnv, AtariFacts, Location, NativeAtariEnv, gymnasium_id, rom_name
from goexplore.errors import ConfigError, SnapshotError
from goexplore.random import SplitMix64

GAMES = ("montezuma_revenge", "pitfall", "private_eye", "alien")


def play(env, actions):
    return [(env.step(action), env.snapshot(), env.observation().tobytes()) for action in actions]


def some_actions(env, count, seed=0):
    return np.repeat(SplitMix64(seed).below(env.action_count, count // 10), 10).tolist()


@pytest.mark.parametrize("game", GAMES)
def test_a_restored_state_has_the_same_future_in_another_process(game):
    env = AtariEnv(game=game)
    actions = some_actions(env, 120)
    play(env, actions[:60])
    snapshot = env.snapshot()
    future = play(env, actions[60:])
    env.restore(snapshot)
    assert play(env, actions[60:]) == future
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(restore_and_play, (game, snapshot, actions[60:])) == future


def restore_and_play(game, snapshot, actions):
    env = AtariEnv(game=game)
    env.restore(snapshot)
    return play(env, actions)


@pytest.mark.parametrize("game", GAMES)
def test_reset_always_leads_to_the_same_state_and_screen(game):
    env = AtariEnv(game=game)
    snapshot, screen = env.snapshot(), env.observation().tobytes()
    play(env, some_actions(env, 100))
    env.reset()
    assert env.snapshot() == snapshot
    assert env.observation().tobytes() == screen
    assert AtariEnv(game=game).snapshot() == snapshot


def test_a_step_plays_frame_skip_game_frames():
    env = AtariEnv(game="montezuma_revenge", frame_skip=3)
    before = env._ale.getFrameNumber()
    env.step(0)
    assert env._ale.getFrameNumber() - before == 3


def steps_to_the_end(env):
    random = SplitMix64(1)
    for step in range(1, 100_000):
        if step % 10 == 1:
            action = int(random.below(env.action_count, 1)[0])
        if env.step(action).ended:
            return step
    raise AssertionError("the episode never ended")


def test_episodes_end_at_life_loss_or_game_over_as_set():
    ends = {end: AtariEnv(game="montezuma_revenge", episode_end=end) for end in ("life-loss", "game-over")}
    assert steps_to_the_end(ends["life-loss"]) < steps_to_the_end(ends["game-over"])
    assert ends["life-loss"]._ale.lives() == 5
    assert ends["game-over"]._ale.game_over()


@pytest.mark.parametrize(
    ("given", "known", "at_life_loss"),
    [
        (None, "life-loss", True),
        (None, "game-over", False),
        ("life-loss", "game-over", True),
        ("game-over", "life-loss", False),
    ],
)
def test_what_ends_an_episode_is_what_is_given_else_what_is_known_of_the_game(given, known, at_life_loss):
    env = AtariEnv(game="pitfall", episode_end=given, facts=AtariFacts(episode_end=known))
    assert env.ends_at_life_loss is at_life_loss


def test_a_life_lost_before_a_restore_does_not_count_after_it():
    env = AtariEnv(game="montezuma_revenge", episode_end="life-loss")
    start = env.snapshot()
    steps_to_the_end(env)
    after_death = env.snapshot()
    env.restore(start)
    env.restore(after_death)
    assert not env.step(0).ended


def test_minimal_and_full_action_sets():
    assert AtariEnv(game="breakout").action_count == 4
    assert AtariEnv(game="breakout", full_action_set=True).action_count == 18


def test_grey_levels_are_the_emulators():
    env = AtariEnv(game="pitfall")
    for action in some_actions(env, 200):
        env.step(action)
        env.learn_colours()
        assert (env.grey[env.observation()] == env._ale.getScreenGrayscale()).all()


@pytest.mark.parametrize(
    ("limit", "reported", "reward"),
    [
        (1_000_000, -999_900, 100.0),
        (1_000_000, -500, -500.0),
        (1_000_000, 400, 400.0),
        (None, -999_900, -999_900.0),
    ],
)
def test_a_score_counter_that_rolls_over_does_not_cost_points(limit, reported, reward, monkeypatch):
    env = AtariEnv(game="pitfall", facts=AtariFacts(score_limit=limit))

    class Counter:
        def act(self, action):
            return reported

        def lives(self):
            return 6

        def game_over(self):
            return False

    monkeypatch.setattr(env, "_ale", Counter())
    assert env.step(0).reward == reward


def test_a_location_is_read_from_memory_where_it_is_known_where():
    memory = bytes([0, 7, 3])
    assert AtariFacts().location(memory) == NOWHERE
    assert AtariFacts(room_address=1).location(memory) == Location(0, 7)
    numbers = bytes(reversed(range(256)))
    facts = AtariFacts(room_address=1, level_address=2, room_numbers=numbers)
    assert facts.location(memory) == Location(3, 248)


def test_levels_are_counted_where_they_end_if_the_memory_does_not_count_them():
    counted = AtariFacts(room_address=1, level_address=2, way_to_next_level=(15, 1))
    assert counted.location_after(Location(5, 15), here=Location(2, 1)) == Location(6, 1)
    assert counted.location_after(Location(5, 14), here=Location(2, 15)) == Location(5, 15)
    assert counted.location_after(Location(5, 2), here=Location(2, 1)) == Location(5, 1)
    told = AtariFacts(room_address=1, level_address=2)
    assert told.location_after(Location(5, 15), here=Location(2, 1)) == Location(2, 1)


ENGINES = [
    AtariEnv,
    pytest.param(
        NativeAtariEnv,
        marks=pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled"),
    ),
]


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("action", [-1, 3, 18, 255, 256])
def test_an_action_that_the_game_does_not_have_is_refused_and_nothing_is_played(kind, action):
    env = kind(game="freeway")
    assert env.action_count == 3
    before = env.snapshot()
    with pytest.raises(ValueError, match=rf"expected an action from 0 to 2, got {action}"):
        env.step(action)
    assert env.snapshot() == before


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("action", [-1, 3, 18, 255, 256])
@pytest.mark.parametrize("episode_end", ["life-loss", "game-over"])
def test_an_action_that_the_game_does_not_have_is_refused_among_others_too(kind, action, episode_end):
    env = kind(game="freeway", episode_end=episode_end)
    with pytest.raises(
        ValueError, match=r"expected an action from 0 to 2|expected actions below|bytes must be"
    ):
        env.play([0, 1, action])


@pytest.mark.parametrize(
    ("given", "rom"),
    [
        ("ALE/MontezumaRevenge-v5", "montezuma_revenge"),
        ("montezuma_revenge", "montezuma_revenge"),
        ("ALE/TicTacToe3D-v5", "tic_tac_toe_3d"),
    ],
)
def test_games_are_known_by_id_and_by_rom_name(given, rom):
    assert rom_name(given) == rom


def test_an_unknown_game_suggests_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean ALE/MontezumaRevenge-v5"):
        rom_name("ALE/MontezumasRevenge-v5")
    assert gymnasium_id("private_eye") == "ALE/PrivateEye-v5"


def test_a_game_for_two_players_is_refused():
    with pytest.raises(ConfigError, match="one player"):
        AtariEnv(game="combat")


@pytest.mark.parametrize("damage", [b"", b"x"])
def test_bytes_that_are_no_state_are_refused(damage):
    with pytest.raises(SnapshotError, match="expected a state of this game"):
        AtariEnv(game="montezuma_revenge").restore(damage)
