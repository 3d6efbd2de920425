"""Demonstrations as a Minari dataset, for learners that read those."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import End
from goexplore.demos._demonstration import Demonstration
from goexplore.envs import Environment
from goexplore.errors import DemonstrationError
from goexplore.play import as_vector


def check_name(name: str) -> None:
    """Find out before the work whether Minari is there and takes a dataset of this name."""
    try:
        import minari
        from minari.dataset.minari_dataset import parse_dataset_id
    except ImportError as error:
        raise DemonstrationError(
            "expected the package minari for `minari`, got an installation without it: "
            "pip install 'goexplore[minari]'"
        ) from error
    try:
        parse_dataset_id(name)
    except (ValueError, TypeError) as error:
        raise DemonstrationError(
            f"expected a name for Minari such as montezuma/demos-v0, got {name!r}"
        ) from error
    if name in minari.list_local_datasets():
        raise DemonstrationError(
            f"expected a new dataset, got {name}, which Minari has already: raise its version or delete it"
        )


def write_dataset(demonstrations: Sequence[Demonstration], name: str) -> Path:
    """Write a dataset to where Minari keeps them, and return its folder.

    Observations are whole pictures where the environment has any, else what `observation` returns as numbers,
    tuples and dictionaries as vectors: one more than actions, without stacking or loss. A demonstration that
    does not end its episode is truncated there: the game would go on. Provenance is in the metadata.
    """
    check_name(name)
    import gymnasium
    import minari
    from minari.data_collector import EpisodeBuffer

    # One episode at a time: whole frames of all of them would fill the memory.
    episodes = (EpisodeBuffer(id=number, **_episode(each)) for number, each in enumerate(demonstrations))
    first = next(episodes)
    seen = first.observations
    low, high = (0, 255) if seen.dtype == np.uint8 else (-np.inf, np.inf)
    env = demonstrations[0].env.make_gymnasium()
    spaces: dict[str, Any] = {
        "observation_space": gymnasium.spaces.Box(low, high, seen.shape[1:], seen.dtype.type),
        "action_space": gymnasium.spaces.Discrete(demonstrations[0].action_count),
    }
    with warnings.catch_warnings():
        # No author, no permalink: those are the user's to add.
        warnings.filterwarnings("ignore", module="minari")
        dataset = minari.create_dataset_from_buffers(
            name,
            [first],
            **(spaces if env is None else {"env": env}),
            algorithm_name=f"Go-Explore Phase 1 (goexplore {version('goexplore')})",
            data_format="arrow",
            jpeg_encoding=False,
        )
    if env is not None:
        env.close()
    for episode in episodes:
        dataset.storage.update_episodes([episode])
    dataset.storage.update_metadata(
        {
            "goexplore": [
                {
                    "target": each.target,
                    "env": each.env.settings(),
                    "score": each.score,
                    "provenance": dataclasses.asdict(each.provenance),
                }
                for each in demonstrations
            ]
        }
    )
    return Path(dataset.storage.data_path)


def _observe(env: Environment) -> NDArray[Any]:
    picture = env.picture()
    if picture is not None:
        return picture.copy()
    seen = env.observation()
    return seen.astype(np.float64) if isinstance(seen, np.ndarray) else as_vector(seen, np.float64)


def _episode(demonstration: Demonstration) -> dict[str, Any]:
    env = demonstration.env.reference()()
    env.reset()
    steps = len(demonstration.actions)
    first = _observe(env)
    observations = np.empty((steps + 1, *first.shape), first.dtype)
    observations[0] = first
    for position, action in enumerate(demonstration.actions, start=1):
        env.step(action)
        observations[position] = _observe(env)
    last = np.arange(1, steps + 1) == steps
    terminated = demonstration.end == End.TERMINATED
    return {
        "observations": observations,
        "actions": np.array(list(demonstration.actions), np.int64),
        "rewards": np.array(demonstration.rewards),
        "terminations": last & terminated,
        "truncations": last & (not terminated),
    }
