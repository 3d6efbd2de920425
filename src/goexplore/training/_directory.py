"""The run directory of a training: policy, optimiser, curriculum and counts in checkpoints."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors.torch import save
from torch import Tensor

from goexplore.demos import SUFFIX, Demonstration, parse_demonstration, write_demonstration
from goexplore.errors import CheckpointError, ConfigError, PolicyError
from goexplore.files import as_counts, make_folder, open_to_read, pack, unpack, whole_files
from goexplore.problems import Problem
from goexplore.runs import Directory, RolloutLog, SavedFiles, TrainingMetrics, clear_errors
from goexplore.training._config import RobustifyConfig, config_from_json, config_to_json
from goexplore.training._network import Policy
from goexplore.training._policy_file import SUFFIX as SUFFIX_OF_POLICIES
from goexplore.training._policy_file import About, read_tensors, save_policy

_POLICY, _OPTIMIZER, _ROLLOUTS = "policy.safetensors", "optimizer.safetensors", "rollouts.msgpack.zst"


@dataclass(kw_only=True)
class TrainingStatus:
    """How far a training has come."""

    updates: int = 0
    training_frames: int = 0
    game_frames: int = 0
    cloned: int = 0
    """Gradient steps of behavioural cloning."""
    correction_rounds: int = 0
    """How often the expert has corrected the clone."""
    recordings: int = 0
    """How many episodes and corrections of the expert there were."""
    simulated_in_vain: int = 0
    """Training frames in which the expert tried plans out for corrections that left no recording."""
    corrected_in_vain: list[int] = field(default_factory=list)
    """Which corrections of the present round left no recording: most came too late."""
    rollouts: int = 0
    seconds: float = 0.0
    """Of all sessions, without the time between them."""
    real_starts: list[bool] = field(default_factory=list)
    """Whether the last rollouts from the real start succeeded."""
    near_since: int | None = None
    """Training frames when a starting point last came near the start and stayed there."""


class Resumable(Protocol):
    """A training, as far as checkpoints know it."""

    policy: Policy
    saved_rollouts: Sequence[bytes]

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """Of what is learnt at present."""
        ...

    def restore(self, status: TrainingStatus, state: dict[str, Any]) -> None:
        """Go back to a checkpoint, except for the weights and what the optimiser remembers."""
        ...


class TrainingDirectory(Directory):
    """One training on disk."""

    kind = "training"
    verb = "robustify"
    libraries = ("torch",)
    files = (_POLICY, _OPTIMIZER)
    optional_files = (_ROLLOUTS,)  # earlier versions have none

    @classmethod
    @contextlib.contextmanager
    def create(
        cls, path: Path, config: RobustifyConfig, demonstrations: Sequence[Demonstration]
    ) -> Iterator[TrainingDirectory]:
        """Make a new run directory that has all that the training needs, and keep it locked."""
        digests = [each.digest for each in demonstrations]
        with cls._create(path, config_to_json(config), demonstrations=digests) as run:
            with clear_errors(path):
                for number, each in enumerate(demonstrations):
                    write_demonstration(each, make_folder(run.demonstrations) / f"{number:03d}{SUFFIX}")
            yield run

    @property
    def demonstrations(self) -> Path:
        """The folder of the demonstrations that are learnt from."""
        return self.path / "demos"

    @property
    def policies(self) -> Path:
        """The folder of policies from all along the training."""
        return self.path / "policies"

    def config(self) -> RobustifyConfig:
        """Return the settings of the training."""
        return config_from_json(self.info().get("training", {}))

    def require(self, config: RobustifyConfig, demonstrations: Sequence[Demonstration]) -> None:
        """Refuse to go on with other settings or demonstrations than the training was started with."""
        self._require(config_to_json(config))
        if [each.digest for each in demonstrations] != self.info().get("demonstrations"):
            raise ConfigError(
                f"expected the demonstrations that {self.path} was started with, got others: resume without "
                "naming any, or start a new run"
            )

    def read_demonstrations(self, problem: Problem | None = None) -> list[Demonstration]:
        """Return the demonstrations that the training was started with; training replays them."""
        return [parse_demonstration(file, problem) for file in whole_files(self.demonstrations, f"*{SUFFIX}")]

    def metrics(self) -> list[TrainingMetrics]:
        """Return all lines of metrics.jsonl."""
        return self.read_metrics(TrainingMetrics)

    def rewind_metrics(self, game_frames: int) -> list[str]:
        """Drop the lines of work after a checkpoint; return what the user should know."""
        return self._rewind_metrics(TrainingMetrics, game_frames)

    @property
    def recordings(self) -> Path:
        """The file of the expert's episodes, in a training by search."""
        return self.path / "expert.jsonl"

    @cached_property
    def rollout_log(self) -> RolloutLog:
        """How the newest rollouts ended."""
        return RolloutLog(self.path)

    def write_checkpoint(
        self,
        policy: Policy,
        about: About,
        optimizer: torch.optim.Optimizer,
        state: dict[str, Any],
        status: TrainingStatus,
        rollouts: Sequence[bytes],
    ) -> Path:
        """Write a checkpoint that is there whole or not at all; keep the last two.

        `rollouts` are those under way, of each learning process.
        """

        def write(folder: Path) -> list[Path]:
            save_policy(policy, about, folder / _POLICY)
            (folder / _OPTIMIZER).write_bytes(save(_optimizer_tensors(optimizer)))
            (folder / _ROLLOUTS).write_bytes(pack(list(rollouts)))
            return [folder / _POLICY, folder / _OPTIMIZER, folder / _ROLLOUTS]

        return self._write_checkpoint(write, {"status": asdict(status), "curriculum": state})

    def restore_checkpoint(self, training: Resumable) -> dict[Path, str]:
        """Bring everything back to the newest whole checkpoint; return what is wrong with newer ones."""
        damaged: dict[Path, str] = {}
        for folder in self._folders():
            try:
                saved = self._saved(folder)
                content = saved.content
                # First: what is cloned next may standardise observations anew.
                training.policy.load_state_dict(read_tensors(folder / _POLICY)[1])
                training.restore(as_counts(TrainingStatus, content["status"]), content["curriculum"])
                _restore_optimizer(training.optimizer, read_tensors(folder / _OPTIMIZER)[1])
                training.saved_rollouts = _read_rollouts(saved)
            except (
                CheckpointError,
                PolicyError,
                OSError,
                LookupError,
                TypeError,
                ValueError,
                RuntimeError,
            ) as error:
                damaged[folder] = f"checkpoint {folder.name} is not used: {error}"
                training.restore(TrainingStatus(), {})
                continue
            break
        else:
            if damaged:
                raise CheckpointError(
                    "; ".join(damaged.values()) + ". No checkpoint is whole: start a new run"
                )
        return damaged

    def all_policies(self) -> list[Path]:
        """Return the files of all policies that were kept along the training, the oldest first."""
        return whole_files(self.policies, f"*{SUFFIX_OF_POLICIES}")

    @property
    def chosen_policy(self) -> Path:
        """The file of the policy that was chosen among all of them, if one was."""
        return self.path / "policy.safetensors"

    def policy(self) -> Path:
        """Return the file of the policy that was chosen, or else of the newest."""
        return self.chosen_policy if self.chosen_policy.is_file() else self.last_policy()

    def last_policy(self) -> Path:
        """Return the file of the newest policy."""
        for folder in self._folders():
            if (folder / _POLICY).is_file():
                return folder / _POLICY
        raise CheckpointError(f"expected a checkpoint in {self.path}, got none: let the training go on")


def _read_rollouts(saved: SavedFiles) -> list[bytes]:
    if _ROLLOUTS not in saved.sha256:
        return []
    with open_to_read(saved.folder / _ROLLOUTS) as stream:
        return unpack(list[bytes], stream.read())


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state: dict[int, dict[str, Any]] = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value).cpu().contiguous()
        for number, values in state.items()
        for name, value in values.items()
    }


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    learnt = [each for group in optimizer.param_groups for each in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, name = key.split(".")
        state.setdefault(int(number), {})[name] = value
    for weight, values in state.items():  # PyTorch would take any, and crash
        shape = learnt[weight].shape
        expected = {"step": torch.Size(), "exp_avg": shape, "exp_avg_sq": shape}
        if {name: value.shape for name, value in values.items()} != expected:
            raise CheckpointError(
                f"expected step, exp_avg and exp_avg_sq of shape {tuple(shape)} for weight {weight} in the "
                "optimiser's state, got others"
            )
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
