"""Checksums: of the sources that a module was compiled from, and of what plays a game, for certificates.

setup.py runs this file by itself and compiles the first two names in.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

_HERE = Path(__file__).parent
_NOT_THE_MACHINE = ("boot.h", "games.h")
"""How games are begun, which shows in how they start, and the list of them."""


def build_version() -> str:
    """Return a checksum of all that is compiled: whether the modules are of the sources that are here."""
    return _checksum(_HERE.glob("**/*.[ch]"))


def sources_version() -> str:
    """Return a checksum of the engine's sources: what a translated ROM has to fit."""
    return _checksum((_HERE / "atari").glob("**/*.h"))


def game_version(rom: str, start: bytes) -> str:
    """Return a checksum of what plays a game: the machine, what is known of the game, and how it starts.

    `start` is the state and the screen that it begins with. Another game, or another way to begin one, leaves
    the versions of all others as they are.
    """
    machine = [file for file in (_HERE / "atari").glob("*.h") if file.name not in _NOT_THE_MACHINE]
    return _checksum([*machine, _HERE / "atari" / "games" / f"{rom}.h"], start)


def _checksum(sources: Iterable[Path], start: bytes = b"") -> str:
    """Return a checksum of sources, without comments and white space, of the translator, and of a state."""
    digest = hashlib.sha256()
    for source in sorted(sources):
        code = re.sub(r"/\*.*?\*/|\s+", " ", source.read_text(encoding="utf-8"), flags=re.DOTALL)
        digest.update(" ".join(code.split()).encode() + b"\n")
    digest.update((_HERE / "translator.py").read_text(encoding="utf-8").encode())
    digest.update(start)
    return digest.hexdigest()[:16]
