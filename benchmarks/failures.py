"""Show how rollouts of a training's newest policy end, and in which rooms: what holds the training up.

For each demonstration, rollouts begin in the window before the maximum starting point, as in training.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, deque
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from goexplore.demos import SUFFIX, find_demonstration
from goexplore.engines import choose_engine
from goexplore.evaluation import PolicyPlayer
from goexplore.random import SplitMix64
from goexplore.robustify import Library, Rollout, RolloutConfig, Start, TrainingDirectory

Picture = NDArray[np.uint8]
BEFORE_DEATH = (9, 5, 1)
"""Training frames before a death whose screens are shown."""


def play(
    player: PolicyPlayer, library: Library, rollout: RolloutConfig, starts: list[Start]
) -> tuple[Counter[str], list[Picture]]:
    """Return how often each end came and where, and the last screens before the first death."""
    streams = [SplitMix64(number) for number in range(len(starts))]
    games = [Rollout(library, rollout, stream) for stream in streams]
    for game, start in zip(games, starts, strict=True):
        game.begin(start)
    player.begin(len(games))
    ends: Counter[str] = Counter()
    death: list[Picture] = []
    screens: list[deque[Picture]] = [deque(maxlen=max(BEFORE_DEATH) + 1) for _ in games]
    playing = list(range(len(games)))
    while playing:
        seen = [games[each].eyes.observation for each in playing]
        actions = player.act(np.array(playing), seen, [streams[each] for each in playing])
        moved = [(each, games[each].step(action)) for each, action in zip(playing, actions, strict=True)]
        for each in playing if not death else []:
            picture = games[each].picture()
            assert picture is not None, "expected a game with a screen"
            screens[each].append(picture)
        over = {each for each, step in moved if step.ended or step.cut}
        ends.update(f"{games[each].ending} in room {games[each].place().room}" for each in over)
        playing = [each for each in playing if each not in over]
        died = [each for each in sorted(over) if games[each].ending == "death"]
        if died and not death:
            death = [screens[died[0]][-1 - min(back, len(screens[died[0]]) - 1)] for back in BEFORE_DEATH]
    return ends, death


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--rollouts", type=int, default=60, help="per demonstration")
    parser.add_argument("--picture", type=Path, help="file for the screens before a death from each start")
    chosen = parser.parse_args()
    directory = TrainingDirectory.open(chosen.run)
    config = directory.config()
    player = PolicyPlayer(directory.last_policy())
    files = sorted((chosen.run / "demos").glob(f"*{SUFFIX}"))
    demonstrations = [find_demonstration(str(file)) for file in files]
    engine = choose_engine(demonstrations[0].env.name, "auto").engine
    library = Library(demonstrations, config.eyes, engine)
    last = json.loads((chosen.run / "metrics.jsonl").read_text().splitlines()[-1])
    print(f"after {last['training_frames']:,} training frames")
    print("| demonstration | training frames | from | how rollouts end |")
    print("|---:|---:|---:|---|")
    deaths = []
    for number, point in enumerate(last["starting_points"]):
        window = range(max(0, point - config.curriculum.window + 1), point + 1)
        starts = [Start(number, window[index % len(window)]) for index in range(chosen.rollouts)]
        ends, death = play(player, library, config.rollout, starts)
        told = ", ".join(f"{count} {how}" for how, count in ends.most_common())
        print(f"| {number} | {library.lengths[number]} | {point} | {told} |", flush=True)
        if death:
            deaths.append(np.concatenate(death, axis=1))
    if chosen.picture is not None and deaths:
        if len(deaths) % 2:
            deaths.append(np.zeros_like(deaths[0]))
        pairs = [np.concatenate(deaths[at : at + 2], axis=1) for at in range(0, len(deaths), 2)]
        Image.fromarray(np.concatenate(pairs)).save(chosen.picture)


if __name__ == "__main__":
    main()
