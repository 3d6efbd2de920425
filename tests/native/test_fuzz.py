"""Random cartridges, states and inputs under sanitizers: nothing leaves its bounds, nothing hangs.

GOEXPLORE_FUZZ_SECONDS and GOEXPLORE_FUZZ_SEED go further.
"""

import os
import resource
import shutil
import subprocess

import pytest

from goexplore import _native as native
from goexplore.envs import read_rom
from tests.native.programs import build, build_translated

SECONDS = int(os.environ.get("GOEXPLORE_FUZZ_SECONDS", "20"))
SEED = os.environ.get("GOEXPLORE_FUZZ_SEED", "0")
SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
QUICK = ("-Og",)


@pytest.fixture(scope="module")
def compiler(tmp_path_factory):
    command = shutil.which(os.environ.get("CC", "cc"))
    if command is None:
        pytest.skip("needs a C compiler")
    empty = tmp_path_factory.mktemp("empty") / "empty.c"
    empty.write_text("int main(void) { return 0; }")
    tried = subprocess.run([command, *SANITIZED, empty, "-o", empty.with_suffix("")], capture_output=True)
    if tried.returncode != 0 or subprocess.run([empty.with_suffix("")]).returncode != 0:
        pytest.skip("needs a C compiler with sanitizers")
    return command


def run(program, *arguments):
    def stop_if_it_hangs():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 10, SECONDS + 10))

    command = [program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, preexec_fn=stop_if_it_hangs)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.slow
def test_no_cartridge_state_or_input_leads_out_of_bounds(compiler, tmp_path):
    print(run(build(compiler, tmp_path, *SANITIZED), SECONDS, SEED).decode())


def play_translated(compiler, folder, flags, game, rom, visited):
    program, image = build_translated(compiler, folder, *flags, game=game, rom=rom, visited=visited)
    print(run(program, SECONDS, SEED, game, image).decode())


@pytest.mark.slow
@pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")
@pytest.mark.parametrize("game", ["gravitar", "montezuma_revenge", "pitfall"])
def test_a_translated_game_stays_in_step_whatever_happens_to_its_state(game, compiler, tmp_path):
    rom = read_rom(game)
    visited = native.atari.Cartridge(rom, game).trace(bytes(1000))
    play_translated(compiler, tmp_path, SANITIZED, game, rom, visited)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "size"),
    [
        ("pitfall", 2048),
        ("pitfall", 4096),
        ("pitfall", 8192),
        ("montezuma_revenge", 8192),  # whose banks are slices
        ("pitfall", 16384),
    ],
)
def test_translated_random_code_stays_in_step_with_the_interpreter(game, size, compiler, tmp_path):
    rom = run(build(compiler, tmp_path, *QUICK), "rom", SEED, size)
    visited = bytearray(32768)
    visited[: max(size, 4096) : 99] = b"\3" * len(range(0, max(size, 4096), 99))  # and all that follows on it
    play_translated(compiler, tmp_path, QUICK, game, rom, bytes(visited))
