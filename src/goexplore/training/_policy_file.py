"""A policy's file: its weights, and everything needed to let it play. Loading it never runs code."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from goexplore.errors import ConfigError, PolicyError
from goexplore.files import (
    as_record,
    json_sha256,
    open_to_read,
    parse_json,
    tensors_metadata,
    versions,
    written_whole,
)
from goexplore.play import PreprocessingConfig
from goexplore.problems import EnvironmentSpec, Problem, environment_from_file
from goexplore.training._network import NetworkConfig, Policy

FORMAT = "goexplore policy"
VERSION = 2
SUFFIX = ".safetensors"


@dataclass(frozen=True, kw_only=True)
class About:
    """What a policy plays, and where it comes from."""

    target: str
    """What finds the environment again."""
    env: EnvironmentSpec
    preprocessing: PreprocessingConfig
    shape: tuple[int, ...]
    """Of an observation."""
    network: NetworkConfig
    actions: int
    """How many actions the environment has."""
    training: dict[str, Any] = field(default_factory=dict)
    """How far its training was: training frames, starting points and so on."""
    versions: dict[str, str] = field(default_factory=lambda: versions("torch"))

    def build(self) -> Policy:
        """Return a policy of this kind that has learnt nothing."""
        return Policy(self.network, shape=self.shape, actions=self.actions)

    def to_json(self) -> dict[str, Any]:
        """Return all this as JSON values."""
        return {
            "target": self.target,
            "env": self.env.settings(),
            "preprocessing": asdict(self.preprocessing),
            "shape": list(self.shape),
            "network": asdict(self.network),
            "actions": self.actions,
            "training": self.training,
            "versions": self.versions,
        }


@dataclass(frozen=True, kw_only=True)
class _Written:
    """What a file says about a policy."""

    target: str
    env: dict[str, Any]
    preprocessing: PreprocessingConfig
    shape: tuple[int, ...]
    network: NetworkConfig
    actions: int
    training: dict[str, Any]
    versions: dict[str, str]


def weights(policy: Policy) -> dict[str, Tensor]:
    """Return a policy's numbers as they are saved: in one order of memory, whatever computes fastest."""
    return {name: each.detach().cpu().contiguous() for name, each in policy.state_dict().items()}


def checksum(policy: Policy) -> str:
    """Return a name for a policy's weights."""
    return _sha256(weights(policy), {})


def save_policy(policy: Policy, about: About, file: Path) -> None:
    """Write a policy's file; a question mark stands for what is no text in the names of files."""
    tensors = weights(policy)
    written = {"format": FORMAT, "version": VERSION, **about.to_json()}
    content = json.loads(json.dumps(written, ensure_ascii=False).encode(errors="replace"))
    content["sha256"] = _sha256(tensors, content)
    with written_whole(file) as aside:
        aside.write_bytes(save(tensors, metadata={"goexplore": json.dumps(content)}))


def read_tensors(file: Path) -> tuple[bytes, dict[str, Tensor]]:
    """Return the content of a safetensors file, and its tensors; raise ValueError for another file."""
    with open_to_read(file) as stream:
        content = stream.read()
    try:
        return content, load(content)
    except (SafetensorError, LookupError, AssertionError, RuntimeError) as error:
        raise ValueError(f"a file that is not whole, or not of safetensors ({error})") from error


def load_policy(file: Path, problem: Problem | None = None) -> tuple[Policy, About]:
    """Read a policy's file; raise PolicyError for one that is not whole.

    The `problem` has to be given where it comes from an import path: a file never makes us import code.
    """
    try:
        content, tensors = read_tensors(file)
        written = parse_json(tensors_metadata(content).get("goexplore", "null"))
    except OSError as error:
        raise PolicyError(
            f"expected a policy in {file}, got {error.strerror or error}: check the path"
        ) from error
    except ValueError as error:
        raise PolicyError(
            f"expected a policy in {file}, got another kind of file or a damaged one ({error}): copy it again"
        ) from error
    if not isinstance(written, dict) or written.get("format") != FORMAT:
        raise PolicyError(
            f"expected a policy in {file}, got another kind of file: make one with `goexplore robustify`"
        )
    if written.get("version") != VERSION:
        raise PolicyError(
            f"expected a policy of version {VERSION}, got {written.get('version')!r} in {file}: use the "
            "version of goexplore that wrote it"
        )
    if written.pop("sha256", None) != _sha256(tensors, written):
        raise PolicyError(
            f"expected what the checksum of {file} was made of, got something else: it was changed or "
            "damaged, copy it again"
        )
    try:
        known = as_record(_Written, written)
        if not 1 <= len(known.shape) <= 3 or not all(
            0 < size < 2**31 for size in (*known.shape, known.actions)
        ):
            raise ConfigError(f"{known.actions} actions and observations of shape {known.shape}")
        env = environment_from_file(known.target, known.env, problem, str(file))
        about = About(**{**vars(known), "env": env})
        with torch.device("meta"):  # which needs no memory: a file must not make us take more than its size
            expected = {name: each.shape for name, each in about.build().state_dict().items()}
        if expected != {name: each.shape for name, each in tensors.items()}:
            raise ConfigError("weights of other shapes than its settings say")
        policy = about.build()
        policy.load_state_dict(tensors)
    except (ValueError, TypeError, OverflowError, ConfigError, RuntimeError) as error:
        raise PolicyError(f"expected a policy's weights and settings in {file}, got {error!r}") from error
    return policy.eval(), about


def _sha256(tensors: dict[str, Tensor], content: dict[str, Any]) -> str:
    digest = hashlib.sha256(json_sha256(content).encode())
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
