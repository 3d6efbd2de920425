"""Both engines as a user meets them on the command line."""

import hashlib
import json
import os
import re
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import ale_py
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goexplore import _native as native
from goexplore._native import version
from goexplore.cli._certify import run_certify
from goexplore.cli._verify import run_verify
from goexplore.engines import Certification, choose_engine, distrust, version_for
from goexplore.envs import AtariEnv
from goexplore.errors import ConfigError, OutputError
from goexplore.games import certificate
from goexplore.problems import find_problem
from goexplore.runs import SavedRun
from tests.cli.commands import checkpoint, goexplore, goexplore_here, tables, wait_until

pytestmark = pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")

CERTIFIED = ["montezuma_revenge", "pitfall"]
QUICK = ["--game-frames", "100K", "--exploration.batch-size", "20"]
NATIVE = [*QUICK, "--engine", "native"]


def choose(rom, wish="auto"):
    return choose_engine(rom, wish, certificate(rom))


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    run = tmp_path_factory.mktemp("native") / "run"
    result = goexplore("explore", "montezuma", "--run-dir", run, *NATIVE)
    assert result.returncode == 0, result.stderr
    assert "engine: native" in result.stderr
    return run


def test_both_engines_leave_the_same_archive_but_for_the_snapshots(tmp_path):
    short = ["--game-frames", "20K", "--exploration.batch-size", "5"]
    runs = [tmp_path / engine for engine in ("native", "ale")]
    for run in runs:
        result = goexplore_here("explore", "montezuma", "--run-dir", run, *short, "--engine", run.name)
        assert result.returncode == 0, result.stderr
    ours, theirs = (
        pq.read_table(checkpoint(run) / "archive.parquet").drop_columns("snapshot") for run in runs
    )
    assert ours.equals(theirs)
    assert tables(runs[0])[1] == tables(runs[1])[1]


@pytest.mark.parametrize(
    "workers",
    [["--workers", "0"], pytest.param(["--workers", "1"], marks=pytest.mark.slow), ["--workers", "3"]],
)
def test_the_number_of_threads_does_not_change_a_byte(explored, workers, tmp_path):
    result = goexplore("explore", "montezuma", "--run-dir", tmp_path / "run", *NATIVE, *workers)
    assert result.returncode == 0, result.stderr
    assert tables(tmp_path / "run") == tables(explored)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGINT])
def test_stopped_and_resumed_the_archive_is_the_same(explored, start, number, tmp_path):
    run = tmp_path / "run"
    arguments = ["explore", "montezuma", "--run-dir", run, *NATIVE, "--checkpoint-minutes", "0.002"]
    process = start(*arguments)
    wait_until(lambda: (run / "checkpoints" / "000002").exists())
    process.send_signal(number)
    process.communicate(timeout=120)
    result = goexplore(*arguments, "--resume")
    assert result.returncode == 0, result.stderr
    assert tables(run) == tables(explored)


def test_without_a_compiler_one_line_says_what_that_costs(explored, tmp_path):
    environment = {**os.environ, "CC": "/nonexistent", "XDG_CACHE_HOME": str(tmp_path)}
    result = goexplore("explore", "montezuma", "--run-dir", tmp_path / "run", *NATIVE, env=environment)
    assert result.returncode == 0, result.stderr
    assert "the ROM is interpreted" in result.stderr
    assert "no C compiler '/nonexistent'" in result.stderr
    assert tables(tmp_path / "run") == tables(explored)


def test_a_run_goes_on_with_the_engine_that_it_has(explored):
    other = [*QUICK, "--engine", "ale"]
    result = goexplore_here("explore", "montezuma", "--run-dir", explored, *other, "--resume")
    assert result.returncode == 2
    assert "expected --engine native" in result.stderr


def test_verify_replays_on_the_reference(explored):
    result = goexplore_here("verify", explored, "--all")
    assert result.returncode == 0, result.stdout
    assert re.search(r"verified ([\d,]+) of \1 entries .* no mismatches", result.stdout)


@pytest.fixture
def own_trust(tmp_path, monkeypatch):
    """What is learnt about the engine here is forgotten after the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def copied(explored, tmp_path, own_trust):
    """A copy of the run."""
    return Path(shutil.copytree(explored, tmp_path / "run"))


def test_a_difference_ends_the_use_of_the_native_engine_for_that_game(copied, monkeypatch, capsys):
    memory = AtariEnv.memory
    monkeypatch.setattr(AtariEnv, "memory", lambda env: memory(env)[:-1] + b"!")  # what ale-py would say
    assert run_verify([str(copied), "--sample", "3"]) == 1
    printed = capsys.readouterr().out
    assert "the game's memory differs from the saved snapshot's" in printed
    assert "is not used for montezuma_revenge on this machine any more" in printed
    assert choose("montezuma_revenge").engine == "ale"
    with pytest.raises(ConfigError, match="the native one, which was seen to differ"):
        choose("montezuma_revenge", "native")
    saved = SavedRun.open(copied)  # what was found before can still be looked at
    assert saved.problem.env.engine == "native"
    assert saved.problem.env.with_engine("auto").env.engine == "ale"
    result = goexplore_here("explore", "montezuma", "--run-dir", copied, *QUICK, "--resume")
    assert result.returncode == 2
    assert "was seen to differ" in result.stderr


def test_a_damaged_archive_is_not_the_engines_fault(copied):
    folder = checkpoint(copied)
    table = pq.read_table(folder / "archive.parquet")
    snapshots = table["snapshot"].to_pylist()
    snapshots[5] = snapshots[5][:20] + bytes([snapshots[5][20] ^ 1]) + snapshots[5][21:]  # a byte of memory
    table = table.set_column(table.column_names.index("snapshot"), "snapshot", pa.array(snapshots))
    pq.write_table(table, folder / "archive.parquet")
    meta = json.loads((folder / "meta.json").read_text())
    meta["sha256"]["archive.parquet"] = hashlib.sha256((folder / "archive.parquet").read_bytes()).hexdigest()
    (folder / "meta.json").write_text(json.dumps(meta))
    result = goexplore_here("verify", copied, "--all")
    assert result.returncode == 1
    assert "entry 5: the game's memory differs" in result.stdout
    assert "the archive is damaged" in result.stdout
    assert choose("montezuma_revenge").engine == "native"


def test_without_the_engine_nobody_says_whose_fault_it_is(copied, monkeypatch, capsys):
    memory = AtariEnv.memory
    monkeypatch.setattr(AtariEnv, "memory", lambda env: memory(env)[:-1] + b"!")
    monkeypatch.setattr(native, "atari", None)
    assert run_verify([str(copied), "--sample", "3"]) == 1
    assert "whether the engine or the archive is to blame cannot be told" in capsys.readouterr().out
    monkeypatch.undo()
    assert choose("montezuma_revenge").engine == "native"


def test_a_run_knows_the_version_of_the_engine_that_explored(copied, monkeypatch, capsys):
    config = json.loads((copied / "config.json").read_text())
    assert config["engine_version"] == version_for("montezuma_revenge")
    config["engine_version"] = "another"
    (copied / "config.json").write_text(json.dumps(config))
    memory = AtariEnv.memory
    monkeypatch.setattr(AtariEnv, "memory", lambda env: memory(env)[:-1] + b"!")
    assert run_verify([str(copied), "--sample", "3"]) == 1
    assert "whether the engine or the archive is to blame cannot be told" in capsys.readouterr().out
    result = goexplore("explore", "montezuma", "--run-dir", copied, *QUICK, "--resume")
    assert "engine: native, as the run has it" in result.stderr
    assert "warning: another version of the engine began this run" in result.stderr


@pytest.mark.parametrize("rom", CERTIFIED)
def test_certified_games_use_the_native_engine(rom):
    choice = choose(rom)
    assert choice.engine == "native"
    assert f"{certificate(rom).game_frames:,} game frames" in choice.reason


@pytest.mark.parametrize("rom", CERTIFIED)
def test_a_certificate_is_of_one_version_of_the_engine(rom):
    """Who changes how it plays has to certify it again: `goexplore certify` prints the new certificate."""
    assert certificate(rom).version == version_for(rom)
    choice = choose_engine(rom, "auto", replace(certificate(rom), version="another"))
    assert choice.engine == "ale"
    assert f"changed since it was certified for {rom}" in choice.reason
    choice = choose_engine(rom, "auto", replace(certificate(rom), md5="another"))
    assert choice.engine == "ale"
    assert f"certified for another ROM of {rom}" in choice.reason


def test_a_game_is_bound_to_the_engine_that_plays_it():
    env = find_problem("pitfall").env
    assert env.with_engine("auto").env.engine == "native"
    assert env.with_engine("ale").env.engine == env.with_engine("native").env.reference().engine == "ale"
    assert env.with_engine("native").env == env, "the engine decides nothing but the speed"


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the engine's sources, of which versions are."""
    folder = Path(shutil.copytree(version._HERE, tmp_path / "_native"))
    monkeypatch.setattr(version, "_HERE", folder)
    return folder / "atari"


@pytest.mark.parametrize(
    ("file", "same"),
    [
        ("tia.h", False),
        ("game.h", False),
        ("games/pitfall.h", False),
        ("games/venture.h", True),
        ("games.h", True),
        ("boot.h", True),
    ],
)
def test_what_does_not_concern_a_game_leaves_its_version_as_it_is(file, same, sources):
    before = version.game_version("pitfall", b"state")
    with (sources / file).open("a") as source:
        source.write("/* a comment */\n")
    assert version.game_version("pitfall", b"state") == before
    assert version.sources_version() == native.atari.VERSION
    with (sources / file).open("a") as source:
        source.write("enum { CHANGED = 1 };\n")
    assert (version.game_version("pitfall", b"state") == before) == same
    assert version.sources_version() != native.atari.VERSION


def test_how_a_game_begins_and_how_it_is_translated_belong_to_its_version(sources):
    before = version.game_version("pitfall", b"one")
    assert version.game_version("pitfall", b"other") != before
    with (sources.parent / "translator.py").open("a") as source:
        source.write("CHANGED = True\n")
    assert version.game_version("pitfall", b"one") != before


def test_an_engine_that_was_compiled_from_other_sources_is_not_certified(monkeypatch):
    monkeypatch.setattr(native, "build_version", lambda: "another")
    choice = choose("pitfall")
    assert choice.engine == "ale"
    assert "sources changed since it was compiled" in choice.reason
    with pytest.raises(ConfigError, match="compiled before they changed: reinstall goexplore"):
        choose("pitfall", "native")
    assert version_for("pitfall") == native.atari.VERSION


def test_a_game_that_the_engine_does_not_know_has_the_version_of_all_sources():
    assert version_for("pong") == native.atari.VERSION


def test_other_games_use_the_reference():
    choice = choose("pong")
    assert choice.engine == "ale"
    assert "not certified for pong" in choice.reason


def test_without_a_compiled_engine_everything_runs_on_the_reference(monkeypatch):
    monkeypatch.setattr(native, "atari", None)
    choice = choose("montezuma_revenge")
    assert choice.engine == "ale"
    assert "not compiled" in choice.reason
    with pytest.raises(ConfigError, match=r"got an installation without one .* install a C compiler"):
        choose("montezuma_revenge", "native")


def test_trust_that_cannot_be_noted_is_told_of(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(OutputError, match=r"expected to note in .* set `engine` to ale"):
        distrust("pitfall", "a difference")


def test_a_game_that_the_engine_does_not_know_is_refused(tmp_path):
    result = goexplore_here("explore", "ALE/Pong-v5", "--engine", "native", "--run-dir", tmp_path / "run")
    assert result.returncode == 2
    assert re.search(r"cannot play 'pong': .*--engine", result.stderr)


def test_certify_compares_both_engines(explored):
    result = goexplore_here(
        "certify", "montezuma_revenge", "--runs", explored, "--game-frames", "20K", "--workers", "1"
    )
    assert result.returncode == 0, result.stdout
    assert re.search(r"montezuma_revenge .*: [\d,]+ game frames compared", result.stdout)
    assert "no difference" in result.stdout


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="worker processes do not see what is patched here")
def test_a_difference_that_certify_finds_ends_the_use_of_the_engine(own_trust, monkeypatch, capsys):
    lives = ale_py.ALEInterface.lives
    monkeypatch.setattr(ale_py.ALEInterface, "lives", lambda ale: lives(ale) + 1)
    assert run_certify(["pitfall", "--game-frames", "100", "--workers", "1"]) == 1
    printed = capsys.readouterr().out
    assert "lives 3, not 4" in printed
    assert "is not used for pitfall on this machine any more" in printed
    assert choose("pitfall").engine == "ale"
    monkeypatch.setattr(ale_py.ALEInterface, "lives", lives)
    assert run_certify(["pitfall", "--game-frames", "100", "--workers", "1"]) == 0
    assert "seen to differ before and is still not used" in capsys.readouterr().out


@pytest.mark.parametrize("translated", [True, False])
def test_only_what_was_translated_gets_a_certificate(translated, monkeypatch, capsys):
    found = Certification(
        rom="pitfall",
        md5="checksum",
        version="version",
        translated=translated,
        game_frames=7,
        trajectory_game_frames=0,
        trajectories=0,
        locations=frozenset(),
        differences=(),
    )
    monkeypatch.setattr("goexplore.cli._certify.certify", lambda *_, **__: found)
    assert run_certify(["pitfall"]) == 0
    entry = "CERTIFICATE = Certificate(md5='checksum', version='version', game_frames=7)"
    assert (entry in capsys.readouterr().out) == translated


def test_certify_refuses_runs_of_other_games(explored):
    result = goexplore_here("certify", "pitfall", "--runs", explored)
    assert result.returncode == 2
    assert "expected a run of pitfall" in result.stderr
