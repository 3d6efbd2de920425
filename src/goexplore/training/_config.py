"""The settings of a training: frozen, documented, turned into a command line and into config.json."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from goexplore.errors import ConfigError, require_at_least
from goexplore.play import PreprocessingConfig
from goexplore.training._curriculum import CurriculumConfig
from goexplore.training._network import NetworkConfig
from goexplore.training._ppo import PPOConfig
from goexplore.training._rollout import RolloutConfig


@dataclass(frozen=True, kw_only=True)
class RobustifyConfig:
    """Everything that decides what is learnt from given demonstrations."""

    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    preprocessing: PreprocessingConfig = field(default_factory=PreprocessingConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    environments: int = 64
    """Environments that play rollouts at the same time, over all learning processes."""
    seed: int = 0
    """Seed of all draws."""

    def __post_init__(self) -> None:
        require_at_least("seed", self.seed, 0)
        if self.rollout.burn_in and self.network.kind == "feed-forward":
            raise ConfigError(
                "expected no `burn_in` for a feed-forward policy, which remembers nothing, got "
                f"{self.rollout.burn_in}: omit it, or set the network's `kind` to recurrent"
            )

    def environments_of_each(self, processes: int) -> int:
        """Return how many environments each learning process has."""
        each, left_over = divmod(self.environments, processes)
        least = 1 if self.network.kind == "feed-forward" else self.ppo.minibatches
        if left_over or each < least or each * self.ppo.steps < self.ppo.minibatches:
            raise ConfigError(
                f"expected a multiple of {processes * least} environments for {processes} learning processes "
                f"with {self.ppo.minibatches} minibatches, got {self.environments} `environments`"
            )
        return each


PRESETS: dict[str, RobustifyConfig] = {
    # Learns on two cores.
    "small": RobustifyConfig(),
    # For small environments: a short demonstration, observations that need no convolutions.
    "tiny": RobustifyConfig(
        curriculum=CurriculumConfig(window=6),
        rollout=RolloutConfig(allowed_lag=20),
        preprocessing=PreprocessingConfig(stack=1),
        network=NetworkConfig(channels=(), hidden=128),
        ppo=PPOConfig(learning_rate=2e-3, discount=0.98, entropy=0.005),
        environments=32,
    ),
    # What the paper took over from Salimans and Chen (2018), and its changes (appendix A.7): for 16 GPUs.
    "paper": RobustifyConfig(
        curriculum=CurriculumConfig(window=160, real_start_share=0.0, largest_move=160),
        rollout=RolloutConfig(after_success="go-on", burn_in=80),
        preprocessing=PreprocessingConfig(width=80, height=105, stack=4, colour=True),
        network=NetworkConfig(kind="recurrent", channels=(64, 128, 128), hidden=800, normalise=True),
        ppo=PPOConfig(
            steps=128,
            epochs=4,
            minibatches=4,
            learning_rate=1e-4,
            adam_epsilon=1e-6,
            weight_decay=1e-7,
            discount=0.999,
            clip=0.1,
            entropy=1e-4,
            imitation=0.0,
        ),
        environments=256,
    ),
}
PRESETS["paper-pitfall"] = RobustifyConfig(
    curriculum=PRESETS["paper"].curriculum,
    rollout=RolloutConfig(
        after_success="go-on", burn_in=80, episode_end="game-over", rewards="scale", allowed_deficit=250.0
    ),
    preprocessing=PRESETS["paper"].preprocessing,
    network=PRESETS["paper"].network,
    ppo=PRESETS["paper"].ppo,
    environments=256,
)


def training_preset(name: str) -> RobustifyConfig:
    """Return named settings."""
    if name not in PRESETS:
        raise ConfigError(f"expected `preset` to be one of {', '.join(PRESETS)}, got {name!r}")
    return PRESETS[name]


def config_to_json(config: RobustifyConfig) -> dict[str, Any]:
    """Return a config as plain JSON values."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    return values


def config_from_json(values: dict[str, Any]) -> RobustifyConfig:
    """Return the config that `config_to_json` was given."""
    try:
        return RobustifyConfig(
            curriculum=CurriculumConfig(**values["curriculum"]),
            rollout=RolloutConfig(**values["rollout"]),
            preprocessing=PreprocessingConfig(**values["preprocessing"]),
            network=network_from_json(values["network"]),
            ppo=PPOConfig(**values["ppo"]),
            environments=values["environments"],
            seed=values["seed"],
        )
    except (KeyError, TypeError) as error:
        raise ConfigError(
            f"expected the settings of a training, got something that lacks or adds {error}: use the version "
            "of goexplore that wrote it"
        ) from error


def network_from_json(values: dict[str, Any]) -> NetworkConfig:
    """Return the size of a policy that was written as JSON values."""
    return NetworkConfig(**{**values, "channels": tuple(values["channels"])})
