"""On another processor, a game is the same: states and screens, byte for byte.

Debian: `apt install qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross`.
"""

import shutil
import subprocess
from pathlib import Path

import ale_py
import numpy as np
import pytest

from goexplore import _native as native
from goexplore.random import SplitMix64
from tests.native.programs import build, build_translated

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled"),
    pytest.mark.skipif(
        not (shutil.which(COMPILER) and shutil.which(EMULATOR)), reason=f"needs {COMPILER} and {EMULATOR}"
    ),
]


@pytest.mark.parametrize("translated", [False, True], ids=["interpreted", "translated"])
@pytest.mark.parametrize("game", native.atari.GAMES if native.atari else ())
def test_a_game_is_the_same_on_arm(game, translated, tmp_path):
    rom = Path(str(ale_py.roms.get_rom_path(game)))
    cartridge = native.atari.Cartridge(rom.read_bytes(), game)
    actions = np.repeat(SplitMix64(0).below(18, 60), 10).astype(np.uint8).tobytes()
    if translated:
        visited = cartridge.trace(actions)
        program, _ = build_translated(
            COMPILER, tmp_path, "-static", "-O2", game=game, rom=rom.read_bytes(), visited=visited
        )
    else:
        program = build(COMPILER, tmp_path, "-static", "-O2")
    there = subprocess.run(
        [EMULATOR, program, "play", game, rom], input=actions, capture_output=True, check=True
    )
    machine, here = native.atari.Machine(cartridge), []
    for action in actions:
        for frame in range(4):
            machine.frame(action, frame == 3)
        here += machine.snapshot(), bytes(machine)
    assert there.stdout == b"".join(here)


def test_no_cartridge_state_or_input_does_harm_on_arm(tmp_path):
    program = build(COMPILER, tmp_path, "-static", "-O2")
    subprocess.run([EMULATOR, program, "10", "0"], check=True, timeout=60)
