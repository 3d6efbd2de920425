"""The settings of trainings: frozen, documented, turned into a command line and into config.json."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from goexplore.errors import ConfigError, require_at_least, require_between, require_seed
from goexplore.files import as_record
from goexplore.planning import ExpertConfig
from goexplore.play import MAX_NO_OPS, REPEAT_ACTION_PROBABILITY, PreprocessingConfig
from goexplore.problems import differences
from goexplore.training._cloning import CloningConfig
from goexplore.training._curriculum import CurriculumConfig
from goexplore.training._network import NetworkConfig
from goexplore.training._ppo import PPOConfig
from goexplore.training._rollout import RolloutConfig
from goexplore.training._state_bank import StateBankConfig

Method: TypeAlias = Literal["search", "backward"]
"""How a policy is trained: taught by an expert that plans, or by the paper's Backward Algorithm."""

_MOST_ENVIRONMENTS = 65_536


@dataclass(frozen=True, kw_only=True)
class BackwardConfig:
    """Everything that decides what the Backward Algorithm learns from given demonstrations."""

    method: ClassVar[Method] = "backward"

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
        require_seed(self.seed)
        require_between("environments", self.environments, 1, _MOST_ENVIRONMENTS)
        if self.rollout.burn_in and self.network.kind == "feed-forward":
            raise ConfigError(
                "expected no `burn_in` for a feed-forward policy, which remembers nothing, got "
                f"{self.rollout.burn_in}: omit it, or set the network's `kind` to recurrent"
            )

    def environments_of_each(self, processes: int) -> int:
        """Return how many environments each learning process has."""
        return _environments_of_each(self.environments, self.network, self.ppo, processes)


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Everything that decides what is learnt from an expert that is guided by given demonstrations."""

    method: ClassVar[Method] = "search"

    expert: ExpertConfig = field(default_factory=ExpertConfig)
    rehearsals: int = 8
    """Episodes that the expert plays first and that are not cloned. The demonstrations guide the first half;
    the fastest of these that reaches the goal guides the second half. The fastest of the second half guides
    everything after that, and measures progress; if none of it reached the goal, the demonstrations do. With
    0, the demonstrations guide it throughout."""
    episodes: int = 24
    """Episodes of the stochastic game that the expert plays."""
    cloning: CloningConfig = field(default_factory=CloningConfig)
    corrections: int = 150
    """Times that the clone plays in each round, to be corrected by the expert if it fails."""
    correction_rounds: int = 3
    """Rounds of corrections; the clone is trained again after each."""
    starts: StateBankConfig = field(default_factory=StateBankConfig)
    frozen_for: int | None = None
    """Training frames for which PPO leaves the clone's convolutions as they are: their output is computed
    once, which makes updates several times as fast. None: always; 0: never."""
    preprocessing: PreprocessingConfig = field(default_factory=lambda: PreprocessingConfig(stack=4))
    network: NetworkConfig = field(default_factory=lambda: NetworkConfig(value_hidden=64))
    ppo: PPOConfig = field(
        default_factory=lambda: PPOConfig(
            steps=128,
            learning_rate=1e-4,
            value_learning_rate=5e-4,
            decay_over=8_000_000,
            # Waiting for a floor or a wall takes up to 32 training frames. It has to be worth it.
            discount=0.997,
            gae_lambda=0.99,
            clip=0.15,
            entropy=0.001,
            value_weight=1.0,
            value_warm_up=6,
            imitation=0.0,
            mixed_precision=True,
        )
    )
    environments: int = 64
    """Environments that play rollouts at the same time, over all learning processes."""
    repeat_action_probability: float = REPEAT_ACTION_PROBABILITY
    """Probability, at each game frame, of repeating the last action instead of playing the chosen one."""
    no_ops: int = MAX_NO_OPS
    """Largest number of no-ops at the real start, in game frames."""
    allowed_deficit: float = 0.0
    """Points by which a gain may be smaller than the demonstration's and still count as the same, for rewards
    that shrink with time."""
    seed: int = 0
    """Seed of all draws."""

    def __post_init__(self) -> None:
        require_seed(self.seed)
        require_between("environments", self.environments, 1, _MOST_ENVIRONMENTS)
        require_at_least("allowed_deficit", self.allowed_deficit, 0)
        require_at_least("rehearsals", self.rehearsals, 0)
        require_at_least("episodes", self.episodes, 1)
        require_at_least("corrections", self.corrections, 0)
        require_at_least("correction_rounds", self.correction_rounds, 0)
        if self.cloning.steps == 0 and self.corrections and self.correction_rounds:
            raise ConfigError(
                "expected no `corrections` without a clone (`cloning` with 0 `steps`), got "
                f"{self.corrections}: set `corrections` to 0"
            )
        if self.frozen_for is not None:
            require_at_least("frozen_for", self.frozen_for, 0)
        if self.ppo.imitation or self.ppo.cloning:
            raise ConfigError(
                "expected `imitation` and `cloning` of `ppo` to be 0 for the method search, which has "
                f"settings of its own for `cloning`, got {self.ppo.imitation:g} and {self.ppo.cloning}"
            )
        require_between("repeat_action_probability", self.repeat_action_probability, 0.0, 0.999)
        require_between("no_ops", self.no_ops, 0, 10_000)
        if self.network.kind == "recurrent":
            raise ConfigError(
                "expected a feed-forward policy for the method search, got a recurrent one: choose the "
                "method backward, or set the network's `kind` to feed-forward"
            )

    def environments_of_each(self, processes: int) -> int:
        """Return how many environments each learning process has."""
        return _environments_of_each(self.environments, self.network, self.ppo, processes)


RobustifyConfig: TypeAlias = BackwardConfig | SearchConfig


def _environments_of_each(environments: int, network: NetworkConfig, ppo: PPOConfig, processes: int) -> int:
    each, left_over = divmod(environments, processes)
    least = 1 if network.kind == "feed-forward" else ppo.minibatches
    if left_over or each < least or each * ppo.steps < ppo.minibatches:
        raise ConfigError(
            f"expected a multiple of {processes * least} environments for {processes} learning processes "
            f"with {ppo.minibatches} minibatches, got {environments} `environments`"
        )
    return each


SEARCH_PRESETS: dict[str, SearchConfig] = {
    # Learns on two cores.
    "small": SearchConfig(),
    # For small environments: observations that need no convolutions, short episodes.
    "tiny": SearchConfig(
        expert=ExpertConfig(horizon=20, tries=3, plans=12, random_plans=6, search=2000),
        rehearsals=0,
        episodes=16,
        cloning=CloningConfig(steps=300),
        corrections=0,
        starts=StateBankConfig(advance=16, bin_length=8, every=1, held_up_share=0.0),
        preprocessing=PreprocessingConfig(stack=1),
        network=NetworkConfig(channels=(), hidden=128, value_hidden=64),
        ppo=PPOConfig(
            learning_rate=1e-3,
            discount=0.98,
            entropy=0.005,
            value_warm_up=4,
            imitation=0.0,
        ),
        environments=32,
    ),
}

BACKWARD_PRESETS: dict[str, BackwardConfig] = {
    # Learns on two cores.
    "small": BackwardConfig(),
    # For small environments: a short demonstration, observations that need no convolutions.
    "tiny": BackwardConfig(
        curriculum=CurriculumConfig(window=6),
        rollout=RolloutConfig(allowed_lag=20),
        preprocessing=PreprocessingConfig(stack=1),
        network=NetworkConfig(channels=(), hidden=128),
        ppo=PPOConfig(learning_rate=2e-3, discount=0.98, entropy=0.005),
        environments=32,
    ),
    # What the paper took over from Salimans and Chen (2018), and its changes (appendix A.7): for 16 GPUs.
    "paper": BackwardConfig(
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
BACKWARD_PRESETS["paper-pitfall"] = BackwardConfig(
    curriculum=BACKWARD_PRESETS["paper"].curriculum,
    rollout=RolloutConfig(
        after_success="go-on", burn_in=80, episode_end="game-over", rewards="scale", allowed_deficit=250.0
    ),
    preprocessing=BACKWARD_PRESETS["paper"].preprocessing,
    network=BACKWARD_PRESETS["paper"].network,
    ppo=BACKWARD_PRESETS["paper"].ppo,
    environments=256,
)


PRESETS: dict[Method, dict[str, Any]] = {"search": SEARCH_PRESETS, "backward": BACKWARD_PRESETS}


def training_preset(name: str, method: Method = "search") -> RobustifyConfig:
    """Return named settings of a method."""
    if method not in get_args(Method):
        raise ConfigError(f"expected `method` to be {' or '.join(get_args(Method))}, got {method!r}")
    presets = PRESETS[method]
    if name not in presets:
        where = [each for each in get_args(Method) if name in PRESETS[each]]
        hint = f", or set `method` to {where[0]}" if where else ""
        raise ConfigError(
            f"expected `preset` to be one of {', '.join(presets)} for the method {method}, got {name!r}{hint}"
        )
    found: RobustifyConfig = presets[name]
    return found


def config_to_json(config: RobustifyConfig) -> dict[str, Any]:
    """Return a config as plain JSON values."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    return {"method": config.method, **values}


def config_from_json(values: dict[str, Any]) -> RobustifyConfig:
    """Return the config that `config_to_json` was given."""
    try:
        config: RobustifyConfig = (
            as_record(SearchConfig, values)
            if values["method"] == "search"
            else as_record(BackwardConfig, values)
        )
    except (LookupError, TypeError, ValueError) as error:
        raise ConfigError(
            f"expected the settings of a training, got {error}: use the version of goexplore that wrote it"
        ) from error
    differ = differences(values, config_to_json(config))
    if differ:
        raise ConfigError(
            f"expected the settings of a training, got others: {'; '.join(differ)}. Use the version of "
            "goexplore that wrote it"
        )
    return config
