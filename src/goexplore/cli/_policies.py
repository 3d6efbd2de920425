"""Policies as a command takes them."""

from __future__ import annotations

from pathlib import Path

from goexplore.directories import is_training
from goexplore.errors import ConfigError
from goexplore.files import is_file, is_folder

_SAMPLES = Path(__file__).parent.parent / "samples"
_SUFFIX = ".safetensors"


def find_policy(name: str) -> Path | None:
    """Return the file of a policy, given by its path, a training's run directory or a sample's name.

    A training's policy is the one that was chosen among all, or else the newest.

    None where the name means something else.
    """
    for file in (Path(name), _SAMPLES / f"{name}{_SUFFIX}"):
        if file.suffix == _SUFFIX and is_file(file):
            require_torch()
            return file
    if is_folder(name) and is_training(Path(name)):
        require_torch()
        from goexplore.robustify import TrainingDirectory

        return TrainingDirectory.open(Path(name)).policy()
    return None


def require_torch() -> None:
    """Refuse to go on without what policies need."""
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise ConfigError(
            "expected PyTorch for policies, got an installation without it: pip install 'goexplore[train]'"
        )
