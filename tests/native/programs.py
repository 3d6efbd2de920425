"""Compiles fuzz.c, with the core as its package has it."""

import subprocess
from pathlib import Path

from goexplore import _native as native
from goexplore._native.translator import translate

_PROGRAM = Path(__file__).with_name("fuzz.c")
_SOURCES = Path(native.__file__).parent


def build(compiler, folder, *arguments):
    """Return the program that a compiler makes of it, with further flags and files."""
    program = folder / "fuzz"
    include = (f"-I{_SOURCES}", f"-I{_SOURCES / 'atari'}")
    subprocess.run([compiler, "-w", *include, *arguments, _PROGRAM, "-lm", "-o", program], check=True)
    return program


def build_translated(compiler, folder, *flags, game, rom, visited):
    """Return the program with a ROM translated as far as its code is known, and a file with the ROM."""
    source, image = folder / "rom.c", folder / "rom.bin"
    source.write_text(translate(rom, visited, sliced=game == "montezuma_revenge" and len(rom) == 8192))
    image.write_bytes(rom)
    return build(compiler, folder, *flags, "-DTRANSLATED", source), image
