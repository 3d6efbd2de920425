"""Which parts of Phase 2 by search are needed? Leave out one at a time, on the way to the first key.

Trainings are kept in runs/ablations/ and resumed, so this can be interrupted and started again. Each has one
process, so as many run at the same time as there are cores. All variants with one seed learn from the same
episodes of the expert: those of the training that leaves nothing out.
"""

from __future__ import annotations

import argparse
import multiprocessing
from dataclasses import replace
from pathlib import Path

import torch

import goexplore.training._session as session
from goexplore.api import usable_cores
from goexplore.demos import find_demonstrations
from goexplore.planning import Recording, append_recording, read_recordings
from goexplore.runs import is_started
from goexplore.training import (
    SearchConfig,
    TrainingDirectory,
    TrainingLimits,
    run_training,
    training_preset,
)
from goexplore.training._recording_buffer import RecordingBuffer
from goexplore.training._search import SearchTraining, Stage
from milestones import MILESTONES, TEMPERATURE
from steps import evaluate, last_metrics

FOLDER = Path("runs/ablations")
DEMONSTRATION, SCORE = MILESTONES["first-key"].samples[0], MILESTONES["first-key"].score
TRAINING_FRAMES = 300_000
MAX_GAME_FRAMES = 10_000
"""Of an evaluated episode: without this, policies that stand still would be watched for hours."""


class SharedExpert(SearchTraining):
    """The expert's episodes are there already, and its corrections too, if there are any."""

    episodes: Path
    """The file of another training that has them."""

    def start(self, env_workers: int | None = None) -> None:
        """Make ready what the first piece of work needs."""
        if not self._recordings_file.exists():
            for each in read_recordings([self.episodes], self.action_count):
                if self.config.corrections or not each.is_correction:
                    append_recording(self._recordings_file, each, self.action_count)
            self.read()
        super().start(env_workers)


class FromTheDemonstration(SharedExpert):
    """Rollouts begin at states of the demonstration itself, which the stochastic game hardly ever comes to.

    All before PPO is as it is: the expert plays the stochastic game, and the network clones it.
    """

    def _begin_ppo(self) -> None:
        (demonstration,) = find_demonstrations(DEMONSTRATION)
        buffer = RecordingBuffer(self._guide, self.config.preprocessing)
        game_frames = [action for action in demonstration.actions for _ in range(self.frame_skip)]
        buffer.add(
            Recording(
                no_ops=0,
                played=bytes(game_frames),
                chosen=demonstration.actions,
                rewards=tuple(demonstration.rewards),
                taught_until=len(demonstration.actions),
                ending="goal",
                simulated=0,
                seed=0,
            )
        )
        self._buffer = buffer
        super()._begin_ppo()

    @property
    def _stage(self) -> Stage:
        return super()._stage if self.learner is None else "improving"


WHOLE = "as it is"
VARIANTS = (WHOLE, "without the clone", "convolutions learnt", "states of the demonstration")


def make_config(variant: str, seed: int) -> SearchConfig:
    """Return the settings of the milestone, which is a short way, less what the variant leaves out."""
    config = training_preset("small")
    assert isinstance(config, SearchConfig)
    config = replace(
        config,
        corrections=50,
        correction_rounds=1,
        cloning=replace(config.cloning, steps=600),
        ppo=replace(config.ppo, decay_over=TRAINING_FRAMES, discount=0.99),
        starts=replace(config.starts, hope=0.25),
        seed=seed,
    )
    if variant == "without the clone":  # nothing is to be corrected then, and PPO has to learn to see
        return replace(config, corrections=0, cloning=replace(config.cloning, steps=0), frozen_for=0)
    return replace(config, frozen_for=0) if variant == "convolutions learnt" else config


def folder_of(variant: str, seed: int) -> Path:
    """Return where a training is kept."""
    return FOLDER / f"{variant.replace(' ', '-')}-seed{seed}"


def train(variant: str, seed: int) -> None:
    """Train in a process of its own, with one thread."""
    torch.set_num_threads(1)
    if variant != WHOLE:
        SharedExpert.episodes = TrainingDirectory(folder_of(WHOLE, seed)).recordings
        from_the_demonstration = variant == "states of the demonstration"
        vars(session)["SearchTraining"] = FromTheDemonstration if from_the_demonstration else SharedExpert
    path = folder_of(variant, seed)
    run_training(
        find_demonstrations(DEMONSTRATION),
        make_config(variant, seed),
        run_dir=path,
        limits=TrainingLimits(training_frames=TRAINING_FRAMES),
        env_workers=1,
        resume=is_started(path),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=VARIANTS, default=VARIANTS)
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    others = [(variant, seed) for seed in range(chosen.seeds) for variant in chosen.only if variant != WHOLE]
    FOLDER.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    with context.Pool(usable_cores(), maxtasksperchild=1) as pool:
        pool.starmap(train, [(WHOLE, seed) for seed in range(chosen.seeds)], chunksize=1)
        pool.starmap(train, others, chunksize=1)
    print("| variant | minutes | real starts at the end | episodes | first lives |")
    print("|---|---:|---:|---:|---:|")
    for variant in chosen.only:
        paths = [folder_of(variant, seed) for seed in range(chosen.seeds)]
        ends = [last_metrics(path) for path in paths]
        shares = [
            evaluate(path, score=SCORE, temperature=TEMPERATURE, max_game_frames=MAX_GAME_FRAMES)
            for path in paths
        ]
        columns = [
            " ".join(f"{end.wall_seconds / 60:.1f}" for end in ends),
            " ".join(f"{end.real_start_success or 0:.0%}" for end in ends),
            " ".join(episodes for episodes, _ in shares),
            " ".join(lives for _, lives in shares),
        ]
        print("|", variant, "|", " | ".join(columns), "|", flush=True)


if __name__ == "__main__":
    main()
