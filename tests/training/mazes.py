"""Demonstrations by hand: of the two mazes, and of environments of a user's own."""

from functools import cache

from goexplore.archive import Actions
from goexplore.demos import Demonstration, Provenance, find_demonstrations
from goexplore.games import AtariGame
from goexplore.games.two_mazes import TwoMazesConfig
from goexplore.play import PreprocessingConfig
from goexplore.problems import EnvironmentSpec, FactorySpec
from goexplore.replay import record
from goexplore.training import DemonstrationBuffer

# Nothing, right, left, down, up: 0 to 4. Right gold after 22 training frames, left gold after 63.
ACTIONS = bytes.fromhex(
    "0403010104040404040401010303010104040101030304040202030302020404"
    "02020303030303030202020202040404040404020203030202040402020303"
)
PREPROCESSING = PreprocessingConfig(stack=1)

MONTEZUMA = AtariGame(game="montezuma_revenge")
MONTEZUMA_WHOLE = AtariGame(game="montezuma_revenge", episode_end="game-over")


def native(env: EnvironmentSpec) -> EnvironmentSpec:
    return env.with_engine("native").env


def demonstrate(actions: Actions = ACTIONS, env: EnvironmentSpec | type = TwoMazesConfig()) -> Demonstration:  # noqa: B008
    """Return a demonstration that plays these actions, recorded on the reference."""
    spec = env if isinstance(env, EnvironmentSpec) else FactorySpec(env)
    made = spec.reference()()
    recording = record(made, actions)
    return Demonstration(
        target=spec.target,
        env=spec,
        actions=actions,
        action_count=made.action_count,
        frame_skip=made.frame_skip,
        rewards=recording.rewards,
        location=recording.location,
        end=recording.end,
        digest=recording.digest,
        provenance=Provenance(run="by hand", seed=0, entry=0, cell="", search_game_frames=0),
    )


def buffer(
    *demonstrations: Demonstration, preprocessing: PreprocessingConfig = PREPROCESSING
) -> DemonstrationBuffer:
    return DemonstrationBuffer(demonstrations or [demonstrate()], preprocessing)


def first_key() -> Demonstration:
    """Return the way to the first key of Montezuma's Revenge."""
    (demonstration,) = find_demonstrations("montezuma-first-key-00", verify=False)
    return demonstration


@cache
def key_after_a_fall() -> Demonstration:
    """Return the same in the second life: right, off the ledge, and a pause until the old way works again."""
    return demonstrate(bytes([3] * 15 + [0] * 104) + first_key().actions, MONTEZUMA_WHOLE)
