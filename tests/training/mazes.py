"""A demonstration of the two mazes, and parts of it."""

from goexplore.build import build_env
from goexplore.config import AtariConfig, EnvConfig, MazesConfig
from goexplore.demos import Demonstration, Provenance, record
from goexplore.training import PreprocessingConfig, DemonstrationBuffer

# Nothing, right, left, down, up: 0 to 4. Right gold after 22 training frames, left gold after 63.
ACTIONS = bytes.fromhex(
    "0403010104040404040401010303010104040101030304040202030302020404"
    "02020303030303030202020202040404040404020203030202040402020303"
)
PREPROCESSING = PreprocessingConfig(width=20, height=15, stack=1)


def demonstrate(actions: bytes = ACTIONS, env: EnvConfig | None = None) -> Demonstration:
    env = env or MazesConfig()
    recording = record(build_env(env), actions)
    provenance = Provenance(run="by hand", seed=0, entry=0, cell="", search_game_frames=0)
    return Demonstration(
        env=env,
        actions=actions,
        rewards=recording.rewards,
        end=recording.end,
        gae_lambda=recording.gae_lambda,
        provenance=provenance,
    )


def buffer(*demonstrations: Demonstration, preprocessing: PreprocessingConfig = PREPROCESSING) -> DemonstrationBuffer:
    return DemonstrationBuffer(demonstrations or [demonstrate()], preprocessing, "ale")


MONTEZUMA = AtariConfig(game="montezuma_revenge")
MONTEZUMA_WHOLE = AtariConfig(game="montezuma_revenge", episode_end="game-over")
