"""Recordings by hand: demonstrations as they are played without sticky actions."""

from collections.abc import Callable

from goexplore.archive import Actions
from goexplore.games.two_mazes import TWO_MAZES, TwoMazesConfig
from goexplore.planning import GuidedGame, Recording, guide
from goexplore.play import PreprocessingConfig, StochasticGame
from goexplore.problems import EnvironmentSpec
from goexplore.training._recording_buffer import RecordingBuffer
from tests.training.mazes import ACTIONS, PREPROCESSING, demonstrate

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


def guided_mazes(repeat: float = 0.0) -> Callable[[], GuidedGame]:
    """Return what makes games of the two mazes with this probability that an action sticks."""
    return guide([demonstrate()], MAZES, TWO_MAZES.cells, repeat_action_probability=repeat)


def recording_buffer(
    *recordings: Recording,
    make_game: Callable[[], GuidedGame] | None = None,
    preprocessing: PreprocessingConfig = PREPROCESSING,
) -> RecordingBuffer:
    """Return a buffer of some recordings, or of the demonstration of the two mazes."""
    buffer = RecordingBuffer(make_game or guided_mazes(), preprocessing)
    for each in recordings or (recording(),):
        buffer.add(each)
    return buffer
