"""Show how rollouts of the Backward Algorithm's newest policy end, and in which rooms: what holds it up.

For each demonstration, rollouts begin in the window before the maximum starting point.
"""

from __future__ import annotations

import argparse
from collections import Counter, deque
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from goexplore.evaluation import PolicyPlayer
from goexplore.random import SplitMix64
from goexplore.training import (
    BackwardConfig,
    DemonstrationBuffer,
    DemonstrationRollout,
    RolloutConfig,
    Start,
    TrainingDirectory,
)

Picture = NDArray[np.uint8]
BEFORE_DEATH = (9, 5, 1)
"""Training frames before a death whose screens are shown."""


class Played(NamedTuple):
    """How a rollout ended."""

    ending: str | None
    room: int
    screens: list[Picture]
    """The last ones."""


def play(
    player: PolicyPlayer, buffer: DemonstrationBuffer, config: RolloutConfig, starts: list[Start]
) -> list[Played]:
    """Play rollouts to their ends."""
    streams = [SplitMix64(number) for number in range(len(starts))]
    rollouts = [DemonstrationRollout(buffer, config, stream) for stream in streams]
    screens: list[deque[Picture]] = [deque(maxlen=max(BEFORE_DEATH) + 1) for _ in starts]
    for rollout, start in zip(rollouts, starts, strict=True):
        rollout.begin(start)
    player.begin(len(rollouts))
    while playing := [number for number, rollout in enumerate(rollouts) if rollout.ending is None]:
        seen = [rollouts[number].preprocessor.observation for number in playing]
        actions = player.act(np.array(playing), seen, [streams[number] for number in playing])
        for number, action in zip(playing, actions, strict=True):
            rollouts[number].step(action)
            picture = rollouts[number].picture()
            if picture is not None:
                screens[number].append(picture)
    return [
        Played(rollout.ending, rollout.location().room, list(last))
        for rollout, last in zip(rollouts, screens, strict=True)
    ]


def show_death(played: list[Played]) -> Picture | None:
    """Return the last screens of the first rollout that died, side by side."""
    for each in played:
        if each.ending == "death" and len(each.screens) > max(BEFORE_DEATH):
            return np.concatenate([each.screens[-1 - back] for back in BEFORE_DEATH], axis=1)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--rollouts", type=int, default=60, help="per demonstration")
    parser.add_argument(
        "--picture", type=Path, help="file for the screens before a death from each start, two in a row"
    )
    chosen = parser.parse_args()
    directory = TrainingDirectory.open(chosen.run)
    config, demonstrations = directory.config(), directory.read_demonstrations()
    if not isinstance(config, BackwardConfig):
        parser.error(f"expected a training by the method backward, got one by {config.method}: name another")
    player = PolicyPlayer(directory.last_policy())
    env = demonstrations[0].env.with_engine("auto").env
    buffer = DemonstrationBuffer(demonstrations, config.preprocessing, env)
    print(f"after {player.about.training['training_frames']:,} training frames")
    print("| demonstration | training frames | from | how rollouts end |")
    print("|---:|---:|---:|---|")
    deaths = []
    for number, point in enumerate(player.about.training["starting_points"]):
        window = range(max(0, point - config.curriculum.window), point + 1)
        starts = [Start(number, window[index % len(window)]) for index in range(chosen.rollouts)]
        played = play(player, buffer, config.rollout, starts)
        ends = Counter(f"{each.ending} in room {each.room}" for each in played)
        told = ", ".join(f"{count} {how}" for how, count in ends.most_common())
        print(f"| {number} | {buffer.lengths[number]} | {point} | {told} |", flush=True)
        deaths.append(show_death(played))
    shown = [death for death in deaths if death is not None]
    if chosen.picture is not None and shown:
        left, right = shown[0::2], shown[1::2]
        right += [np.zeros_like(shown[0])] * (len(left) - len(right))
        columns = [np.concatenate(left), np.concatenate(right)]
        Image.fromarray(np.concatenate(columns, axis=1)).save(chosen.picture)


if __name__ == "__main__":
    main()
