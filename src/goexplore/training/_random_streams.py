"""Randomness of a training that needs no saving: it follows from the seed and the number of the update."""

from __future__ import annotations

import torch

from goexplore.random import SplitMix64, stream_state


class RandomStreams:
    """Draws of one learning process, begun anew for every update."""

    def __init__(self, seed: int, rank: int, update: int) -> None:
        self._seed, self._rank = seed, rank
        self.tensors = torch.Generator()
        """For torch."""
        self.restart(update)

    def restart(self, update: int, *, purpose: int = 0) -> None:
        """Begin the streams of an update, or of another purpose at that time."""
        self.words = SplitMix64(stream_state(self._seed, self._rank, update, purpose, 0))
        """For everything else."""
        self.tensors.manual_seed(stream_state(self._seed, self._rank, update, purpose, 1) >> 1)

    def environment_streams(self, update: int, count: int) -> list[int]:
        """Return states of streams for environments that start at an update."""
        return [stream_state(self._seed, self._rank, update, 2, number) for number in range(count)]
