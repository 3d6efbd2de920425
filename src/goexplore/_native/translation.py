"""Keeps ROMs translated: compiles what `translator` makes of one, and keeps it for the next time.

What comes out is derived from the ROM: it is made on the user's machine and stays there. It is the only file
that goexplore loads code from, so it must be the user's own, and whole.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from threading import Thread
from time import sleep, time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goexplore._native.translator import SOURCES, translate
from goexplore._native.version import sources_version
from goexplore.files import cache_folder, sync

if TYPE_CHECKING:
    from goexplore._native._atari import Cartridge

_CODE_SIZE = 32 * 1024
_TRACED_FRAMES = 20_000
_ACTION_FRAMES = 40
_COMPILER_FLAGS = ("-O2", "-shared", "-fPIC", "-w")
_COMPILER_SECONDS = 600
_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS = 10.0, 600.0
_UNUSED_SECONDS = 7 * 24 * 3600
"""After this long, a translation that nobody used goes."""
_OTHERS_MAY_WRITE = 0o022


class TranslationError(Exception):
    """Why there is no translation, for people to read."""


def use_translation(cartridge: Cartridge, rom: bytes, compiled_version: str) -> None:
    """Let a cartridge run a translation of its ROM; raise TranslationError where there can be none.

    `compiled_version` is the version of the engine that the translation has to fit.
    """
    keeper = _Keeper(cartridge, rom, compiled_version)
    keeper.translate()
    Thread(target=keeper.watch, name="goexplore-translator", daemon=True).start()


class _Keeper:
    """Keeps a cartridge's translation complete: a search reaches code that nothing before it has run.

    The code that is known to run is kept in a file beside the compiled translation, so the next search begins
    where this one ends.
    """

    def __init__(self, cartridge: Cartridge, rom: bytes, compiled_version: str) -> None:
        self._cartridge, self._rom, self._version = cartridge, rom, compiled_version
        self._folder = _private_folder(cache_folder() / "translations")
        self._compiler = _Compiler()
        self._name = hashlib.sha256(rom).hexdigest()[:16]
        self._visited = self._known_code()
        self._file: Path | None = None
        self._libraries: list[ctypes.CDLL] = []
        """They stay loaded: a machine may be running any of them."""

    def watch(self) -> None:
        """Fill gaps, less and less often, for as long as the process lives."""
        pause = _FIRST_PAUSE_SECONDS
        with contextlib.suppress(TranslationError):  # then the interpreter goes on filling them
            while True:
                sleep(pause)
                if self.fill_gaps():
                    pause = min(2 * pause, _LAST_PAUSE_SECONDS)

    def fill_gaps(self) -> bool:
        """Translate anew if the interpreter had to take over somewhere new; return whether it had to."""
        library = self._libraries[-1]
        gaps = np.ctypeslib.as_array((ctypes.c_uint8 * _CODE_SIZE).in_dll(library, "gaps")).copy()
        if not (gaps & ~self._visited).any():
            return False
        self._visited |= gaps
        self.translate()
        return True

    def translate(self) -> None:
        """Compile a translation of all code that is known to run, or find it in the cache, and use it."""
        if sources_version() != self._version:
            raise TranslationError("the engine's sources changed since it was compiled; reinstall goexplore")
        before = self._file
        try:
            self._file = self._kept() or self._make()
            translation = ctypes.CDLL(str(self._file))
        except OSError as error:
            raise TranslationError(f"it cannot be kept or loaded: {error}") from error
        if before is not None:
            before.unlink(missing_ok=True)
        translation.prepare()
        self._libraries.append(translation)
        self._cartridge.translate(ctypes.cast(translation.run_frame, ctypes.c_void_p).value or 0)

    def _known_code(self) -> NDArray[np.uint8]:
        with contextlib.suppress(OSError):
            known = (self._folder / f"{self._name}.code").read_bytes()
            if len(known) == _CODE_SIZE:
                return np.frombuffer(known, np.uint8).copy()
        actions = np.random.default_rng(0).integers(18, size=_TRACED_FRAMES // _ACTION_FRAMES, dtype=np.uint8)
        visited = self._cartridge.trace(np.repeat(actions, _ACTION_FRAMES).tobytes())
        return np.frombuffer(visited, np.uint8).copy()

    def _stem(self) -> str:
        """Return the beginning of a library's name, which says of what it is; the rest is its checksum."""
        parts = (self._version.encode(), self._compiler.identity, self._visited.tobytes())
        return f"{self._name}-{_checksum(b''.join(map(bytes.fromhex, map(_checksum, parts))))}"

    def _kept(self) -> Path | None:
        """Return the library that was made before, if it is whole and nobody else's."""
        for library in self._folder.glob(f"{self._stem()}-*.so"):
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                if _is_private(library) and library.stem.endswith(_checksum(library.read_bytes())):
                    with contextlib.suppress(OSError):  # a folder that cannot be written to
                        os.utime(library)
                    return library
                library.unlink()  # loading half a library would end the process
        return None

    def _make(self) -> Path:
        self._tidy()
        visited = self._visited.tobytes()
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="making-") as aside:
            source, made, code = Path(aside, "rom.c"), Path(aside, "rom.so"), Path(aside, "rom.code")
            source.write_text(translate(self._rom, visited, sliced=self._cartridge.sliced))
            code.write_bytes(visited)
            self._compiler.compile(source, made)
            made.chmod(0o700)
            sync(made)
            library = self._folder / f"{self._stem()}-{_checksum(made.read_bytes())}.so"
            made.rename(library)
            code.rename(self._folder / f"{self._name}.code")
        return library

    def _tidy(self) -> None:
        """Remove what was not used for long, and what a compiler that was killed left behind."""
        for old in (*self._folder.glob("*.so"), *self._folder.glob("making-*")):
            with contextlib.suppress(OSError):
                if time() - old.stat().st_mtime > _UNUSED_SECONDS:
                    shutil.rmtree(old) if old.is_dir() else old.unlink()


class _Compiler:
    """The C compiler: what CC names, or cc."""

    def __init__(self) -> None:
        named = os.environ.get("CC", "")
        try:
            words = shlex.split(named) or ["cc"]
        except ValueError as error:
            raise TranslationError(f"CC={named} is no command: {error}") from error
        if shutil.which(words[0]) is None:
            raise TranslationError(f"there is no C compiler {words[0]!r}")
        self._command = [*words, *_COMPILER_FLAGS]
        self.identity = "\n".join(
            [*self._command, platform.machine(), self._run([*words, "--version"])]
        ).encode()

    def compile(self, source: Path, library: Path) -> None:
        """Make a library of a source."""
        self._run([*self._command, f"-I{SOURCES}", str(source), "-o", str(library)])

    def _run(self, command: list[str]) -> str:
        try:
            done = subprocess.run(
                command,
                check=True,
                capture_output=True,
                timeout=_COMPILER_SECONDS,
                text=True,
                errors="replace",
            )
        except subprocess.CalledProcessError as error:
            said = (error.stderr or error.stdout or "").strip().splitlines()
            last = f": {said[-1]}" if said else ""
            raise TranslationError(f"{command[0]} failed with {error.returncode}{last}") from error
        except (OSError, subprocess.SubprocessError) as error:
            raise TranslationError(f"{command[0]} failed: {error}") from error
        return done.stdout


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _is_private(path: Path) -> bool:
    """Whether nobody else can have written to a file or folder."""
    status = path.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_MAY_WRITE


def _private_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        private, owner = _is_private(folder), folder.stat().st_uid
    except OSError as error:
        raise TranslationError(f"there is no place to keep it: {error}") from error
    if owner != os.geteuid():
        raise TranslationError(f"{folder} belongs to somebody else; set XDG_CACHE_HOME")
    if not private:
        raise TranslationError(f"others may write to {folder}; `chmod 700` it, or set XDG_CACHE_HOME")
    return folder
