"""Measure what limits training by search: inference, gradient steps, emulators, on one core.

Every row is measured in turn, several times, and the best of each is shown: the machine may have other work.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import torch

from goexplore.demos import find_demonstrations
from goexplore.engines import EngineWish
from goexplore.planning import ExpertConfig, ExpertPlayer, guide
from goexplore.play import PreprocessingConfig, Preprocessor, StochasticGame
from goexplore.problems import find_problem
from goexplore.random import SplitMix64
from goexplore.training import NetworkConfig, Policy
from goexplore.training._ppo import autocast

DEVICE = torch.device("cpu")


def inference(batch: int, channels: int, *, mixed: bool) -> Callable[[], int]:
    """Return what lets a policy look at a batch once."""
    policy = Policy(NetworkConfig(value_hidden=64), shape=(channels, 84, 84), actions=18).eval()
    seen = torch.randint(0, 255, (batch, channels, 84, 84), dtype=torch.uint8)

    def look() -> int:
        with torch.no_grad(), autocast(DEVICE, enabled=mixed):
            policy(seen, policy.empty_memory(batch))
        return batch

    return look


def gradient(batch: int, channels: int, *, mixed: bool, frozen: bool) -> Callable[[], int]:
    """Return what makes a gradient step with a batch."""
    policy = Policy(NetworkConfig(value_hidden=64), shape=(channels, 84, 84), actions=18)
    seen = torch.randint(0, 255, (batch, channels, 84, 84), dtype=torch.uint8)
    if frozen:
        policy.features.requires_grad_(False)
        with torch.no_grad():
            seen = policy.see(seen).half()
    optimizer = torch.optim.Adam([each for each in policy.parameters() if each.requires_grad], fused=True)
    actions = torch.randint(0, 18, (batch,))

    def step() -> int:
        with autocast(DEVICE, enabled=mixed):
            logits, values, _ = policy(seen, policy.empty_memory(batch))
        loss = torch.nn.functional.cross_entropy(logits.float(), actions) + values.float().square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return batch

    return step


def emulator(engine: EngineWish, count: int) -> Callable[[], int]:
    """Return what plays some training frames, one after the other, and looks at each."""
    (demonstration,) = find_demonstrations("montezuma-first-key-00", verify=False)
    game = StochasticGame(demonstration.env.with_engine(engine).env)
    game.reset()
    preprocessor = Preprocessor(game.env, PreprocessingConfig())
    random = SplitMix64(1)

    def play() -> int:
        for _ in range(count):
            if game.step(random.index(18), random).ended:
                game.reset()
            preprocessor.observe()
        return count

    return play


def expert() -> Callable[[], int]:
    """Return what lets the expert play an episode; its training frames are those that it tries out."""
    demonstrations = find_demonstrations("montezuma-first-key-00", verify=False)
    env = demonstrations[0].env.with_engine("native").env
    player = ExpertPlayer(guide(demonstrations, env, find_problem("montezuma").cells), ExpertConfig())
    return lambda: player.play(1).simulated


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    rows: dict[str, Callable[[], int]] = {
        "emulator and observation, ale-py": emulator("ale", 200),
        "emulator and observation, native": emulator("native", 2000),
        "expert's tries, native": expert(),
        "inference, 32 at once": inference(32, 2, mixed=False),
        "inference, 32 at once, 16 bits": inference(32, 2, mixed=True),
        "inference, 256 at once, 16 bits": inference(256, 2, mixed=True),
        "gradient step of 512": gradient(512, 2, mixed=False, frozen=False),
        "gradient step of 512, 16 bits": gradient(512, 2, mixed=True, frozen=False),
        "gradient step of 512, colour, 16 bits": gradient(512, 6, mixed=True, frozen=False),
        "gradient step of 512, convolutions frozen": gradient(512, 2, mixed=False, frozen=True),
        "gradient step of 512, convolutions frozen, 16 bits": gradient(512, 2, mixed=True, frozen=True),
    }
    best = dict.fromkeys(rows, 0.0)
    for turn in range(chosen.rounds + 1):
        for name, work in rows.items():
            began, done = perf_counter(), 0
            while perf_counter() - began < 0.6:
                done += work()
            if turn:  # the first turn warms up
                best[name] = max(best[name], done / (perf_counter() - began))
    base = best["gradient step of 512"]
    print("| one core | training frames/s | of a gradient step |")
    print("|---|---:|---:|")
    for name, speed in best.items():
        print(f"| {name} | {speed:,.0f} | {speed / base:.1f} |")


if __name__ == "__main__":
    main()
