"""The settings of a training: frozen, documented, turned into a command line and into config.json."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from goexplore.errors import ConfigError
from goexplore.robustify._curriculum import CurriculumConfig
from goexplore.robustify._network import NetworkConfig
from goexplore.robustify._ppo import PPOConfig
from goexplore.robustify._rollout import RolloutConfig
from goexplore.robustify._stochastic import EyesConfig


@dataclass(frozen=True, kw_only=True)
class RobustifyConfig:
    """Everything that decides what is learnt from given demonstrations."""

    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    eyes: EyesConfig = field(default_factory=EyesConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    emulators: int = 64
    """Rollouts that are played at the same time, over all learning processes."""
    seed: int = 0
    """Seed of all draws."""

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigError(f"expected --seed to be 0 or more, got {self.seed}: change it")
        if self.rollout.lead_in and self.network.kind == "feed-forward":
            raise ConfigError(
                "expected no --rollout.lead-in for a feed-forward policy, which remembers nothing, got "
                f"{self.rollout.lead_in}: omit it, or use --network.kind recurrent"
            )

    def emulators_of_each(self, processes: int) -> int:
        """Return how many emulators each learning process has."""
        each, left_over = divmod(self.emulators, processes)
        least = 1 if self.network.kind == "feed-forward" else self.ppo.minibatches
        if left_over or each < least or each * self.ppo.steps < self.ppo.minibatches:
            raise ConfigError(
                f"expected a multiple of {processes * least} emulators for {processes} learning processes "
                f"with {self.ppo.minibatches} minibatches, got {self.emulators}: change --emulators"
            )
        return each


PRESETS: dict[str, RobustifyConfig] = {
    # Learns on two cores.
    "small": RobustifyConfig(),
    "two-mazes": RobustifyConfig(
        curriculum=CurriculumConfig(window=6),
        rollout=RolloutConfig(lag=20),
        eyes=EyesConfig(width=20, height=15, stack=1),
        network=NetworkConfig(channels=(), hidden=128),
        ppo=PPOConfig(learning_rate=2e-3, discount=0.98, entropy=0.005),
        emulators=32,
    ),
    # What the paper took over from Salimans and Chen (2018), and its changes (appendix A.7): for 16 GPUs.
    "paper": RobustifyConfig(
        curriculum=CurriculumConfig(window=160, real_start_share=0.0, largest_move=160),
        rollout=RolloutConfig(after_success="go-on", lead_in=80),
        eyes=EyesConfig(width=80, height=105, stack=4, colour=True),
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
        emulators=256,
    ),
}
PRESETS["paper-pitfall"] = RobustifyConfig(
    curriculum=PRESETS["paper"].curriculum,
    rollout=RolloutConfig(
        after_success="go-on", lead_in=80, episode_end="game-over", rewards="scale", deficit=250.0
    ),
    eyes=PRESETS["paper"].eyes,
    network=PRESETS["paper"].network,
    ppo=PRESETS["paper"].ppo,
    emulators=256,
)


def training_preset(name: str) -> RobustifyConfig:
    """Return named settings."""
    if name not in PRESETS:
        raise ConfigError(f"expected a preset ({', '.join(PRESETS)}), got {name!r}: choose one of them")
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
            eyes=EyesConfig(**values["eyes"]),
            network=network_from_json(values["network"]),
            ppo=PPOConfig(**values["ppo"]),
            emulators=values["emulators"],
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
