"""Recordings by hand: demonstrations as they are played without sticky actions."""

from goexplore.archive import Actions
from goexplore.games.two_mazes import TwoMazesConfig
from goexplore.planning import Recording
from goexplore.play import PreprocessingConfig, StochasticGame
from goexplore.problems import EnvironmentSpec
from goexplore.training._recording_buffer import RecordingBuffer
from tests.training.mazes import ACTIONS, PREPROCESSING

MAZES = TwoMazesConfig()


def recording(actions: Actions = ACTIONS, env: EnvironmentSpec = MAZES, *, seed: int = 0) -> Recording:
    """Return an episode of the deterministic game."""
    game = StochasticGame(env)
    game.reset()
    steps = game.frame_skip // game.env.frame_skip
    return Recording(
        no_ops=0,
        played=bytes(action for action in actions for _ in range(steps)),
        chosen=bytes(actions),
        rewards=tuple(game.step(action).reward for action in actions),
        taught_until=len(actions),
        ending="goal",
        simulated=0,
        seed=seed,
    )


def recording_buffer(
    *recordings: Recording, env: EnvironmentSpec = MAZES, preprocessing: PreprocessingConfig = PREPROCESSING
) -> RecordingBuffer:
    buffer = RecordingBuffer(env, preprocessing)
    for each in recordings or (recording(env=env),):
        buffer.add(each)
    return buffer
