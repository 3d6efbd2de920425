import multiprocessing

import numpy as np
import pytest

from goexplore.envs import AtariEnv, Place, facts, gymnasium_id, rom_name
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


def test_montezuma_ends_at_life_loss_and_pitfall_at_game_over_by_default():
    assert AtariEnv(game="montezuma_revenge")._ends_at_life_loss
    assert not AtariEnv(game="pitfall")._ends_at_life_loss


def test_a_life_lost_before_a_restore_does_not_count_after_it():
    env = AtariEnv(game="montezuma_revenge")
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
        env.learn()
        assert (env.grey[env.observation()] == env._ale.getScreenGrayscale()).all()


def test_a_score_counter_that_rolls_over_does_not_cost_points(monkeypatch):
    env = AtariEnv(game="montezuma_revenge")

    class RolledOver:
        def act(self, action):
            return -999_900

        def lives(self):
            return 6

        def game_over(self):
            return False

    monkeypatch.setattr(env, "_ale", RolledOver())
    assert env.step(0).reward == 100.0


def test_place_is_known_for_montezuma_only_where_the_game_has_a_map():
    assert AtariEnv(game="montezuma_revenge").place() == Place(0, 1)
    assert AtariEnv(game="pong").place() == Place(-1, -1)


def test_levels_of_montezuma_are_counted_beyond_the_third_where_the_memory_stands_still():
    game = facts("montezuma_revenge")
    assert game.place_after(Place(5, 15), here=Place(2, 1)) == Place(6, 1)
    assert game.place_after(Place(5, 14), here=Place(2, 15)) == Place(5, 15)
    assert game.place_after(Place(5, 2), here=Place(2, 1)) == Place(5, 1)


def test_other_games_have_the_level_that_they_say():
    assert facts("pitfall").place_after(Place(0, 15), here=Place(0, 1)) == Place(0, 1)


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
