"""Training speed beside sb3-contrib's RecurrentPPO: same emulator, observations, network sizes and settings.

Both learn Montezuma's first key from the sample demonstrations with 32 environments in one process, in turns,
so that other work on the machine slows both. Ours is measured with the recurrent network (a GRU; the peer has
an LSTM of about as many weights) and with the feed-forward one that the `small` preset uses. Before that, the
environments alone play random actions from the real start: one after the other, in threads and in processes.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter

import torch
from gymnasium import spaces
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv

from goexplore.api import usable_cores
from goexplore.demos import Demonstration, find_demonstrations, sample_names
from goexplore.engines import Engine
from goexplore.random import SplitMix64
from goexplore.training import (
    BackwardConfig,
    Curriculum,
    DemonstrationBuffer,
    DemonstrationEnv,
    NetworkConfig,
    Policy,
    Start,
    training_preset,
)
from goexplore.training._backward import BackwardTraining
from goexplore.training._group import ProcessGroup
from goexplore.training._vector_env import (
    NativeVectorEnvironment,
    ProcessVectorEnvironment,
    SerialVectorEnvironment,
    VectorEnvironment,
    from_demonstrations,
)

ENVIRONMENTS = 32
ENGINES: tuple[Engine, Engine] = ("native", "ale")
LSTM_UNITS = 213
"""With 256 inputs it has 401,000 weights; a GRU of 256 units has 394,000."""


class SameFeatures(BaseFeaturesExtractor):
    """Our convolutions and hidden layer."""

    def __init__(self, space: spaces.Box, network: NetworkConfig) -> None:
        super().__init__(space, network.hidden)
        channels, height, width = space.shape
        same = Policy(
            dataclasses.replace(network, kind="feed-forward"), shape=(channels, height, width), actions=1
        )
        same.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        self.layers = torch.nn.Sequential(same.features, same.hidden)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return what is seen."""
        seen: torch.Tensor = self.layers(observations)
        return seen


def make_ours(
    buffer: DemonstrationBuffer, config: BackwardConfig
) -> tuple[Callable[[], None], BackwardTraining]:
    training = BackwardTraining(buffer, config, ProcessGroup())
    training.start()
    return training.update, training  # type: ignore[return-value]


def make_peer(buffer: DemonstrationBuffer, config: BackwardConfig) -> Callable[[], None]:
    curriculum = Curriculum(buffer.lengths, config.curriculum)
    make = partial(DemonstrationEnv, buffer, curriculum, config.rollout)
    envs = DummyVecEnv([partial(make, seed=seed) for seed in range(config.environments)])
    ppo = config.ppo
    frames = ppo.steps * config.environments
    learner = RecurrentPPO(
        "CnnLstmPolicy",
        envs,
        learning_rate=ppo.learning_rate,
        n_steps=ppo.steps,
        batch_size=frames // ppo.minibatches,
        n_epochs=ppo.epochs,
        gamma=ppo.discount,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip,
        ent_coef=ppo.entropy,
        max_grad_norm=ppo.gradient_norm,
        policy_kwargs={
            "features_extractor_class": SameFeatures,
            "features_extractor_kwargs": {"network": config.network},
            "lstm_hidden_size": LSTM_UNITS,
            "shared_lstm": True,
            "enable_critic_lstm": False,
            "net_arch": [],
        },
        seed=0,
        device="cpu",
    )
    return lambda: learner.learn(frames, reset_num_timesteps=False)  # type: ignore[return-value]


def measure_environments(
    demonstrations: Sequence[Demonstration], config: BackwardConfig, rounds: int
) -> None:
    """Print how fast environments play, in turns, without a learner."""
    cores, streams = min(usable_cores(), config.environments), range(config.environments)
    native, ale = (
        DemonstrationBuffer(
            demonstrations, config.preprocessing, demonstrations[0].env.with_engine(engine).env
        )
        for engine in ENGINES
    )
    native_rollouts, ale_rollouts = (from_demonstrations(each, config.rollout) for each in (native, ale))
    random = SplitMix64(0)
    vectors: dict[str, VectorEnvironment] = {
        "ale-py, one by one": SerialVectorEnvironment(ale_rollouts, streams),
        f"ale-py, {cores} processes": ProcessVectorEnvironment(ale_rollouts, streams, workers=cores),
        "native, one by one": SerialVectorEnvironment(native_rollouts, streams),
        "native, 1 thread": NativeVectorEnvironment(native_rollouts, streams, workers=1),
        f"native, {cores} threads": NativeVectorEnvironment(native_rollouts, streams, workers=cores),
        f"native, {cores} processes": ProcessVectorEnvironment(native_rollouts, streams, workers=cores),
    }
    seconds = dict.fromkeys(vectors, 0.0)
    starts = [Start(0, 0) for _ in streams]
    for vector_env in vectors.values():
        vector_env.begin(starts)
    for turn in range(rounds + 1):
        actions = [random.below(native.action_count, len(streams)) for _ in range(50)]
        for name, vector_env in vectors.items():
            began = perf_counter()
            for each in actions:
                vector_env.step(each, starts)
            if turn:  # the first one warms up
                seconds[name] += perf_counter() - began
    frames, slowest = rounds * 50 * len(streams), seconds["ale-py, one by one"]
    print(f"{f'{len(streams)} environments alone':34}training frames/s   of ale-py's")
    for name, taken in seconds.items():
        vectors[name].close()
        print(f"{name:34}{frames / taken:17,.0f}{slowest / taken:13.2f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=6, help="updates of each, after one that is not counted"
    )
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch, and of our environments")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    demonstrations = [
        each for name in sample_names() if "first-key" in name for each in find_demonstrations(name)
    ]
    preset = training_preset("small", "backward")
    assert isinstance(preset, BackwardConfig)
    small = dataclasses.replace(preset, environments=ENVIRONMENTS)
    recurrent = dataclasses.replace(small, network=dataclasses.replace(small.network, kind="recurrent"))
    bare = dataclasses.replace(recurrent, ppo=dataclasses.replace(recurrent.ppo, imitation=0.0))
    binding = demonstrations[0].env.with_engine("auto")
    if binding.env.engine == "native":
        for environments in (ENVIRONMENTS, 4 * ENVIRONMENTS):
            measure_environments(
                demonstrations, dataclasses.replace(small, environments=environments), chosen.rounds
            )
    buffer = DemonstrationBuffer(demonstrations, small.preprocessing, binding.env)
    print(
        f"engine {binding.reason}; {ENVIRONMENTS} environments, {chosen.threads} thread(s), "
        f"{chosen.rounds} rounds"
    )
    contenders: dict[str, Callable[[], None]] = {}
    trainings: dict[str, BackwardTraining] = {}
    for name, config in (("recurrent", bare), ("recurrent, imitating", recurrent), ("feed-forward", small)):
        contenders[f"goexplore, {name}"], trainings[f"goexplore, {name}"] = make_ours(buffer, config)
    contenders["sb3-contrib RecurrentPPO"] = make_peer(buffer, bare)
    seconds = dict.fromkeys(contenders, 0.0)
    playing = dict.fromkeys(trainings, 0.0)
    for turn in range(chosen.rounds + 1):
        for name, update in contenders.items():
            before = trainings[name].environment_seconds if name in trainings else 0.0
            began = perf_counter()
            update()
            if turn:  # the first one warms up
                seconds[name] += perf_counter() - began
                if name in trainings:
                    playing[name] += trainings[name].environment_seconds - before
    frames = chosen.rounds * small.ppo.steps * ENVIRONMENTS
    peer = seconds["sb3-contrib RecurrentPPO"]
    print(f"{'':34}training frames/s   of the peer's   environments' share of the time")
    for name, taken in seconds.items():
        share = f"{playing[name] / taken:.0%}" if name in playing else ""
        print(f"{name:34}{frames / taken:17,.0f}{peer / taken:13.2f} x   {share}")


if __name__ == "__main__":
    main()
