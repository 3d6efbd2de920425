"""Demonstrations as a Minari dataset, for learners that read those."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from goexplore.build import build_env
from goexplore.config import AtariConfig
from goexplore.demos._demonstration import Demonstration
from goexplore.envs import gymnasium_id
from goexplore.errors import DemonstrationError


def check_name(name: str) -> None:
    """Find out before the work whether Minari is there and takes a dataset of this name."""
    try:
        import minari
        from minari.dataset.minari_dataset import parse_dataset_id
    except ImportError as error:
        raise DemonstrationError(
            "expected the package minari for --minari, got an installation without it: "
            "pip install 'goexplore[minari]'"
        ) from error
    try:
        parse_dataset_id(name)
    except (ValueError, TypeError) as error:
        raise DemonstrationError(
            f"expected a name for Minari such as montezuma/demos-v0, got {name!r}: change it"
        ) from error
    if name in minari.list_local_datasets():
        raise DemonstrationError(
            f"expected a new dataset, got {name}, which Minari has already: raise its version or delete it"
        )


def write_dataset(demonstrations: Sequence[Demonstration], name: str) -> Path:
    """Write a dataset to where Minari keeps them, and return its folder.

    Observations are whole frames, 210 x 160 RGB, one more than actions, without stacking or loss. The end of
    a demonstration is a truncation: the game would go on. Provenance is in the metadata.
    """
    check_name(name)
    import ale_py
    import gymnasium
    import minari
    from minari.data_collector import EpisodeBuffer

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    settings = demonstrations[0].env
    if not isinstance(settings, AtariConfig):
        raise DemonstrationError(
            f"expected demonstrations of an Atari game for Minari, got {settings.game}: "
            "use its files as they are"
        )
    env = gymnasium.make(
        gymnasium_id(settings.name),
        frameskip=settings.frame_skip,
        repeat_action_probability=0.0,
        full_action_space=settings.full_action_set,
    )
    # One episode at a time: whole frames of all of them would fill the memory.
    episodes = (EpisodeBuffer(id=number, **_episode(each)) for number, each in enumerate(demonstrations))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", module="minari"
            )  # no author, no permalink: who and where is yours
            dataset = minari.create_dataset_from_buffers(
                name,
                [next(episodes)],
                env=env,
                algorithm_name=f"Go-Explore Phase 1 (goexplore {version('goexplore')})",
                data_format="arrow",
                jpeg_encoding=False,
            )
    finally:
        env.close()
    for episode in episodes:
        dataset.storage.update_episodes([episode])
    dataset.storage.update_metadata(
        {
            "goexplore": [
                {"score": each.score, "provenance": dataclasses.asdict(each.provenance)}
                for each in demonstrations
            ]
        }
    )
    return Path(dataset.storage.data_path)


def _episode(demonstration: Demonstration) -> dict[str, Any]:
    env = build_env(demonstration.env)
    env.reset()
    steps = len(demonstration.actions)
    observations = np.empty((steps + 1, *env.picture().shape), np.uint8)
    observations[0] = env.picture()
    for position, action in enumerate(demonstration.actions, start=1):
        env.step(action)
        observations[position] = env.picture()
    return {
        "observations": observations,
        "actions": np.frombuffer(demonstration.actions, np.uint8).astype(np.int64),
        "rewards": np.array(demonstration.rewards),
        "terminations": np.zeros(steps, bool),
        "truncations": np.arange(1, steps + 1) == steps,
    }
