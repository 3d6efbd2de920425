"""Processes that learn together: gradients averaged, results shared, one of them writes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as distributed
from numpy.typing import NDArray
from torch import nn

from goexplore.errors import ProcessGroupError

_PATIENCE = timedelta(minutes=10)
"""How long the others may take for their part."""


class ProcessGroup:
    """All processes that learn, and which one this is: alone, or as torchrun's environment says."""

    def __init__(self) -> None:
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.number = int(os.environ.get("RANK", "0"))
        local = int(os.environ.get("LOCAL_RANK", "0"))
        self.device = torch.device("cpu")
        if torch.cuda.is_available():
            self.device = torch.device("cuda", local % torch.cuda.device_count())
        if self.size > 1:
            backend = "cpu:gloo,cuda:nccl" if self.device.type == "cuda" else "gloo"
            with _told():
                distributed.init_process_group(backend, timeout=_PATIENCE)

    @property
    def writes(self) -> bool:
        """Whether this is the process that writes files and speaks."""
        return self.number == 0

    def sum(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums over all processes."""
        if self.size == 1:
            return values
        tensor = torch.from_numpy(values.copy())
        with _told():
            distributed.all_reduce(tensor)
        total: NDArray[np.float64] = tensor.numpy()
        return total

    def gather(self, value: Any) -> list[Any]:
        """Return a value of each process, in order."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        with _told():
            distributed.all_gather_object(values, value)
        return values

    def bring(self, value: Any) -> list[Any]:
        """Return a value of each process to the one that writes, and nothing to the others."""
        if self.size == 1:
            return [value]
        values: list[Any] | None = [None] * self.size if self.writes else None
        with _told():
            distributed.gather_object(value, values)
        return values or []

    def average_gradients(self, module: nn.Module) -> None:
        """Let every process have the mean of all gradients."""
        if self.size == 1:
            return
        gradients = [each.grad for each in module.parameters() if each.grad is not None]
        flat = torch.cat([each.flatten() for each in gradients])
        with _told():
            distributed.all_reduce(flat)
        flat /= self.size
        for each, mean in zip(
            gradients, torch.split(flat, [each.numel() for each in gradients]), strict=True
        ):
            each.copy_(mean.view_as(each))

    def close(self) -> None:
        """Leave the others."""
        if self.size > 1:
            distributed.destroy_process_group()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise ProcessGroupError(
            "expected all learning processes to answer, got one that is gone or unreachable "
            f"({str(error).splitlines()[0]}): see what it said; go on from the last checkpoint with `resume`"
        ) from error
