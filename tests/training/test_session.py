"""Trainings with a run directory: the same for one seed, resumed after any kill, shared by processes."""

import dataclasses
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from goexplore.cli import main
from goexplore.demos import _samples, write_demonstration
from goexplore.errors import CheckpointError, ConfigError, DemonstrationError, ProblemError, RunDirectoryError
from goexplore.files import file_sha256
from goexplore.problems import Problem
from goexplore.runs import TrainingMetrics
from goexplore.training import (
    PRESETS,
    BackwardConfig,
    DemonstrationBuffer,
    TrainingDirectory,
    TrainingLimits,
    load_policy,
    run_training,
    training_preset,
)
from goexplore.training._backward import BackwardTraining
from goexplore.training._directory import TrainingStatus
from goexplore.training._group import ProcessGroup
from tests.cli.commands import children, wait_until
from tests.training.combination import Combination, by_digits
from tests.training.mazes import ACTIONS, demonstrate, key_after_a_fall

SMALL = dataclasses.replace(training_preset("tiny", "backward"), environments=8)
FRAMES = SMALL.environments * SMALL.ppo.steps


def train(path, *, updates, config=SMALL, **options):
    return run_training(
        () if options.get("resume") else [demonstrate()],
        config,
        run_dir=path,
        limits=TrainingLimits(training_frames=updates * FRAMES),
        **options,
    )


def weights(path):
    return load_policy(TrainingDirectory.open(path).last_policy())[0].state_dict()


def equal(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def test_one_seed_gives_one_policy(tmp_path):
    train(tmp_path / "one", updates=4)
    train(tmp_path / "other", updates=4)
    train(tmp_path / "seed1", updates=4, config=dataclasses.replace(SMALL, seed=1))
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "other"))
    assert not equal(weights(tmp_path / "one"), weights(tmp_path / "seed1"))


def test_environments_in_worker_processes_change_nothing(tmp_path):
    train(tmp_path / "one", updates=2)
    train(tmp_path / "workers", updates=2, env_workers=2)
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "workers"))


@pytest.mark.parametrize("workers", [0, SMALL.environments + 1])
def test_workers_without_environments_are_refused_before_anything_is_written(tmp_path, workers):
    with pytest.raises(ConfigError, match=f"`env_workers` to be 1 to {SMALL.environments}"):
        train(tmp_path / "run", updates=1, env_workers=workers)
    assert not (tmp_path / "run").exists()


def test_a_training_is_resumed_where_it_was(tmp_path):
    before = train(tmp_path / "run", updates=6).status
    saved = weights(tmp_path / "run")
    state = json.loads(
        (TrainingDirectory.open(tmp_path / "run").last_policy().parent / "meta.json").read_text()
    )["content"]
    after = train(tmp_path / "run", updates=6, resume=True).status
    assert after == dataclasses.replace(before, seconds=after.seconds)
    assert equal(weights(tmp_path / "run"), saved)
    again = json.loads(
        (TrainingDirectory.open(tmp_path / "run").last_policy().parent / "meta.json").read_text()
    )["content"]
    assert again["curriculum"] == state["curriculum"]
    assert train(tmp_path / "run", updates=8, resume=True).status.updates == 8


RECURRENT = dataclasses.replace(
    SMALL,
    network=dataclasses.replace(SMALL.network, kind="recurrent"),
    rollout=dataclasses.replace(SMALL.rollout, burn_in=4, after_death=1.0),
    curriculum=dataclasses.replace(SMALL.curriculum, near_start=10_000),
)


@pytest.mark.parametrize(
    ("config", "options"),
    [(SMALL, {}), (SMALL, {"env_workers": 2}), pytest.param(RECURRENT, {}, marks=pytest.mark.slow)],
    ids=["feed-forward", "worker processes", "recurrent"],
)
def test_a_stop_changes_nothing(tmp_path, config, options):
    """Rollouts under way are part of a checkpoint."""
    train(tmp_path / "one", updates=6, config=config, **options)
    for updates in (1, 2, 4, 6):
        resume = updates > 1
        train(tmp_path / "stopped", updates=updates, config=config, resume=resume, **options)
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "stopped"))


def test_every_rollout_is_logged_as_it_ends(tmp_path):
    status = train(tmp_path / "whole", updates=6).status
    ended = TrainingDirectory.open(tmp_path / "whole").rollout_log.read()
    assert len(ended) == status.rollouts > 0
    assert {each.training_frames for each in ended} <= {FRAMES * update for update in range(1, 7)}
    length = len(demonstrate().actions)
    assert all(each.demonstration == 0 and 0 <= each.start < length for each in ended)
    assert all(each.success == (each.ending == "success") for each in ended)
    assert sum(each.success for each in ended if each.start == 0) == sum(status.real_starts)


def test_a_stop_and_workers_change_nothing_in_the_log(tmp_path):
    train(tmp_path / "whole", updates=6)
    train(tmp_path / "workers", updates=6, env_workers=2)
    train(tmp_path / "stopped", updates=3)
    log = TrainingDirectory.open(tmp_path / "stopped").rollout_log
    later = dataclasses.replace(log.read()[-1], training_frames=4 * FRAMES)
    log.append([later])  # as if it had been killed after its checkpoint
    train(tmp_path / "stopped", updates=6, resume=True)
    logs = [(tmp_path / name / "rollouts.jsonl").read_bytes() for name in ("whole", "workers", "stopped")]
    assert logs[0] == logs[1] == logs[2]


def test_with_other_processes_rollouts_begin_anew_and_that_is_told(tmp_path, caplog):
    train(tmp_path / "run", updates=2, env_workers=2)
    assert train(tmp_path / "run", updates=3, resume=True).status.updates == 3
    assert "rollouts under way begin anew" in caplog.text


def test_rollouts_that_do_not_fit_begin_anew_and_that_is_told(tmp_path, caplog):
    """Another version of an engine may have other states."""
    train(tmp_path / "run", updates=2)
    training = BackwardTraining(
        DemonstrationBuffer([demonstrate()], SMALL.preprocessing), SMALL, ProcessGroup()
    )
    TrainingDirectory.open(tmp_path / "run").restore_checkpoint(training)
    training.saved_rollouts = [training.saved_rollouts[0][:-9]]
    training.start(1)
    assert "rollouts under way begin anew: those of the checkpoint do not fit" in caplog.text
    training.update()
    training.close()


def test_environments_in_worker_processes_end_with_a_training_that_is_killed(tmp_path):
    write_demonstration(demonstrate(), tmp_path / "demos" / "maze.demo.json")
    how = ["--method", "backward", "--preset", "tiny", "--environments", "8", "--workers", "1"]
    command = [sys.executable, "-m", "goexplore", "robustify", str(tmp_path / "demos"), *how]
    process = subprocess.Popen(
        [*command, "--env-workers", "2", "--run-dir", str(tmp_path / "run")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: (tmp_path / "run" / "metrics.jsonl").exists())
    workers = children(process)
    assert len(workers) >= 2
    process.kill()
    process.wait()
    wait_until(lambda: not any(Path(f"/proc/{each}").exists() for each in workers), seconds=10)


def test_a_resumed_training_learns_as_an_uninterrupted_one_from_the_same_weights(tmp_path):
    """The optimiser comes back too: without its moments the next step would be another."""
    train(tmp_path / "run", updates=3)
    run = TrainingDirectory.open(tmp_path / "run")
    training = BackwardTraining(
        DemonstrationBuffer([demonstrate()], SMALL.preprocessing), SMALL, ProcessGroup()
    )
    assert not equal(training.policy.state_dict(), weights(tmp_path / "run"))
    assert not run.restore_checkpoint(training)
    assert training.status.updates == 3
    assert equal(training.policy.state_dict(), weights(tmp_path / "run"))
    moments = training.optimizer.state_dict()["state"]
    assert {int(each["step"]) for each in moments.values()} == {3 * 3 * 8}
    assert all(each["exp_avg_sq"].abs().sum() > 0 for each in moments.values())


def test_without_a_state_the_curriculum_begins_anew():
    """What a checkpoint that turned out to be damaged had said is forgotten."""
    training = BackwardTraining(
        DemonstrationBuffer([demonstrate()], SMALL.preprocessing), SMALL, ProcessGroup()
    )
    fresh = training.state()
    training.start(1)
    for _ in range(12):
        training.update()
    training.close()
    assert training.state() != fresh
    training.restore(TrainingStatus(), {})
    assert training.state() == fresh
    assert training.status == TrainingStatus()


def test_limits_say_why_they_stop():
    status = TrainingStatus(training_frames=5_000_000, near_since=1_000_000, real_starts=[True] * 150)
    assert "within 50 of the start" in TrainingLimits().reached(status)
    assert TrainingLimits(until_start=None).reached(status) is None
    assert TrainingLimits(held=10_000_000).reached(status) is None
    assert "100%" in TrainingLimits(until_start=None, until_success=0.95).reached(status)
    few = dataclasses.replace(status, real_starts=[True] * 50)
    assert TrainingLimits(until_start=None, until_success=0.95).reached(few) is None
    assert "minutes" in TrainingLimits(minutes=1).reached(dataclasses.replace(status, seconds=61.0))


def test_policies_are_kept_along_the_way_and_at_the_end(tmp_path):
    train(tmp_path / "run", updates=5, keep_every=2 * FRAMES)
    kept = TrainingDirectory.open(tmp_path / "run").all_policies()
    assert [int(file.stem) for file in kept] == [2 * FRAMES, 4 * FRAMES, 5 * FRAMES]


def test_cloning_comes_once(tmp_path):
    """A kill between cloning and the first update does not clone again."""
    config = dataclasses.replace(SMALL, ppo=dataclasses.replace(SMALL.ppo, cloning=5))
    limits = TrainingLimits(training_frames=1)
    first = run_training([demonstrate()], config, run_dir=tmp_path / "run", limits=limits)
    assert first.status.cloned == 5
    again = run_training([], config, run_dir=tmp_path / "run", limits=limits, resume=True)
    assert again.status.cloned == 5


def test_metrics_tell_of_starting_points(tmp_path):
    train(tmp_path / "run", updates=3)
    first, *_, last = TrainingDirectory.open(tmp_path / "run").metrics()
    assert isinstance(first, TrainingMetrics)
    assert first.training_frames == first.game_frames == FRAMES
    assert first.starting_points == [pytest.approx(59, abs=4)]
    assert 0 < first.environment_share < 1
    assert (last.updates, last.training_frames) == (3, 3 * FRAMES)
    assert list((tmp_path / "run" / "tensorboard").glob("events*"))


def test_a_damaged_checkpoint_is_set_aside(tmp_path):
    train(tmp_path / "run", updates=2)
    newest = TrainingDirectory.open(tmp_path / "run").last_policy()
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    said = []

    class Reporter:
        def progress(self, progress):
            pass

        def log(self, line):
            said.append(line)

    outcome = train(tmp_path / "run", updates=3, resume=True, reporter=Reporter())
    assert outcome.status.updates == 3
    assert any("is not used" in line for line in said)
    assert newest.parent.with_suffix(".damaged").is_dir()


def test_without_a_whole_checkpoint_it_is_told(tmp_path):
    train(tmp_path / "run", updates=1)
    for meta in tmp_path.glob("run/checkpoints/*/meta.json"):
        meta.write_text("{}")
    with pytest.raises(CheckpointError, match="No checkpoint is whole"):
        train(tmp_path / "run", updates=2, resume=True)


def forge(run, change, name=None):
    """Leave one checkpoint, and change its meta.json or the tensors of a file; all sums are right."""
    *older, folder = sorted((run / "checkpoints").iterdir())
    for each in older:
        shutil.rmtree(each)
    meta = json.loads((folder / "meta.json").read_text())
    if name is None:
        change(meta, folder)
    else:
        (folder / name).write_bytes(save(change(load((folder / name).read_bytes()))))
        meta["sha256"][name] = file_sha256(folder / name)
    (folder / "meta.json").write_text(json.dumps(meta))


@pytest.mark.parametrize("name", ["policy.safetensors", "optimizer.safetensors"])
def test_a_pipe_that_has_no_checksum_is_not_waited_for(tmp_path, name):
    def plant(meta, folder):
        del meta["sha256"][name]
        (folder / name).unlink()
        os.mkfifo(folder / name)

    train(tmp_path / "run", updates=1)
    forge(tmp_path / "run", plant)
    with pytest.raises(CheckpointError, match="expected the checksums of a checkpoint's files"):
        train(tmp_path / "run", updates=2, resume=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: {key.replace("exp_avg", "other"): each for key, each in tensors.items()},
        lambda tensors: {
            key: each.repeat(7) if key.endswith("step") else each for key, each in tensors.items()
        },
        lambda tensors: {key: each for key, each in tensors.items() if not key.endswith("step")},
    ],
)
def test_what_no_optimizer_remembers_is_refused(tmp_path, change):
    train(tmp_path / "run", updates=1)
    forge(tmp_path / "run", change, "optimizer.safetensors")
    with pytest.raises(CheckpointError, match="expected step, exp_avg and exp_avg_sq"):
        train(tmp_path / "run", updates=2, resume=True)


def test_a_pipe_among_the_files_of_a_training_is_refused(tmp_path):
    train(tmp_path / "run", updates=1)
    os.mkfifo(tmp_path / "run" / "expert.jsonl")
    with pytest.raises(RunDirectoryError, match=r"got expert\.jsonl, a pipe or device"):
        train(tmp_path / "run", updates=2, resume=True)


def test_a_training_may_lie_in_a_folder_whose_name_is_not_utf_8(tmp_path):
    run = tmp_path / os.fsdecode(b"caf\xe9 \xff")
    train(run, updates=1)
    assert train(run, updates=2, resume=True).status.updates == 2
    _, about = load_policy(TrainingDirectory.open(run).last_policy())
    assert about.training["run"] == "caf? ?"


class TestRefusals:
    def test_other_settings_on_resume(self, tmp_path):
        train(tmp_path / "run", updates=1)
        with pytest.raises(ConfigError, match="seed is 0, not 5"):
            train(tmp_path / "run", updates=2, resume=True, config=dataclasses.replace(SMALL, seed=5))

    def test_other_demonstrations_on_resume(self, tmp_path):
        train(tmp_path / "run", updates=1)
        with pytest.raises(ConfigError, match="expected the demonstrations"):
            run_training(
                [demonstrate(ACTIONS[:30])],
                SMALL,
                run_dir=tmp_path / "run",
                limits=TrainingLimits(),
                resume=True,
            )

    def test_a_directory_with_something_in_it(self, tmp_path):
        (tmp_path / "precious").touch()
        with pytest.raises(RunDirectoryError, match="continue it with `resume`"):
            train(tmp_path, updates=1)

    def test_a_search_s_directory(self, tmp_path):
        (tmp_path / "config.json").write_text('{"format": 2, "command": [], "versions": {}, "search": {}}')
        with pytest.raises(RunDirectoryError, match="of another kind"):
            TrainingDirectory.open(tmp_path)

    def test_a_directory_of_an_older_format(self, tmp_path):
        (tmp_path / "config.json").write_text('{"format": 1, "training": {}}')
        with pytest.raises(RunDirectoryError, match=r"of format 2, got format 1 in .*: read it with"):
            TrainingDirectory.open(tmp_path)

    def test_demonstrations_that_lose_a_life_where_that_ends_rollouts(self, tmp_path):
        """Before anything is written; what ended the search's episodes would do."""
        config = dataclasses.replace(
            SMALL, rollout=dataclasses.replace(SMALL.rollout, episode_end="life-loss")
        )
        limits = TrainingLimits(training_frames=1)
        with pytest.raises(ConfigError, match="expected demonstrations that lose no life"):
            run_training([key_after_a_fall()], config, run_dir=tmp_path / "run", limits=limits)
        assert not (tmp_path / "run").exists()
        outcome = run_training([key_after_a_fall()], SMALL, run_dir=tmp_path / "run", limits=limits)
        assert outcome.status.training_frames == FRAMES

    def test_a_demonstration_that_was_tampered_with(self, tmp_path):
        tampered = dataclasses.replace(demonstrate(), actions=bytes([1]) + ACTIONS[1:])
        limits = TrainingLimits(training_frames=1)
        with pytest.raises(DemonstrationError, match="it does not replay"):
            run_training([tampered], SMALL, run_dir=tmp_path / "run", limits=limits)
        assert not (tmp_path / "run").exists()

    def test_no_demonstration(self, tmp_path):
        with pytest.raises(ConfigError, match="expected at least one demonstration"):
            run_training([], SMALL, run_dir=tmp_path / "run", limits=TrainingLimits())
        assert not (tmp_path / "run").exists()

    def test_too_few_environments(self):
        with pytest.raises(ConfigError, match="multiple of 3 environments for 3 learning processes"):
            SMALL.environments_of_each(3)
        recurrent = dataclasses.replace(
            SMALL, network=dataclasses.replace(SMALL.network, kind="recurrent"), environments=4
        )
        with pytest.raises(ConfigError, match="with 8 minibatches, got 4"):
            recurrent.environments_of_each(1)

    def test_a_burn_in_without_memory(self):
        with pytest.raises(ConfigError, match="remembers nothing"):
            BackwardConfig(rollout=dataclasses.replace(SMALL.rollout, burn_in=5))

    @pytest.mark.parametrize("limits", [{"minutes": 0}, {"training_frames": -1}, {"until_success": 1.5}])
    def test_impossible_limits(self, limits):
        """They are refused."""
        with pytest.raises(ConfigError, match="expected `"):
            TrainingLimits(**limits)


def test_a_preset_that_is_none_is_told():
    with pytest.raises(ConfigError, match=r"`preset` to be one of small, tiny, .*, got 'large'"):
        training_preset("large", "backward")


def test_a_preset_of_the_other_method_is_told():
    with pytest.raises(ConfigError, match=r"got 'paper', or set `method` to backward"):
        training_preset("paper")


def test_a_method_that_is_none_is_told():
    with pytest.raises(ConfigError, match=r"`method` to be search or backward, got 'forward'"):
        training_preset("small", "forward")


@pytest.mark.parametrize(
    ("method", "name"), [(method, name) for method, presets in PRESETS.items() for name in presets]
)
def test_settings_come_back_from_a_run_directory_as_they_were(tmp_path, method, name):
    with TrainingDirectory.create(tmp_path / "run", training_preset(name, method), [demonstrate()]):
        pass
    run = TrainingDirectory.open(tmp_path / "run")
    assert run.config() == training_preset(name, method)
    assert run.read_demonstrations() == [demonstrate()]


class TestUsersEnvironment:
    """A problem from an import path: no file makes us import it."""

    PROBLEM = Problem(env=Combination, cells=by_digits)
    LIMITS = TrainingLimits(training_frames=FRAMES)

    @pytest.fixture
    def run(self, tmp_path):
        demonstration = demonstrate(bytes(Combination.digits), Combination)
        run_training([demonstration], SMALL, run_dir=tmp_path / "run", limits=self.LIMITS)
        return tmp_path / "run"

    def test_it_is_resumed_if_the_problem_is_named(self, run):
        longer = TrainingLimits(training_frames=2 * FRAMES)
        with pytest.raises(ProblemError, match=r"add `problem` tests\.training\.combination:Comb"):
            run_training([], SMALL, run_dir=run, limits=longer, resume=True)
        outcome = run_training([], SMALL, run_dir=run, limits=longer, resume=True, problem=self.PROBLEM)
        assert outcome.status.training_frames == 2 * FRAMES

    def test_its_policy_has_the_demonstrations_mean_and_deviation(self, run):
        """Of nine lamps, each of the first eight shines in one step of eight; `right` is 0 to 7,000."""
        policy, about = load_policy(TrainingDirectory.open(run).last_policy(), self.PROBLEM)
        assert about.shape == (10,)
        assert policy.offset.tolist() == pytest.approx([1 / 8] * 8 + [0, 3500])
        assert policy.scale[-1].item() == pytest.approx(1 / (1000 * 5.25**0.5))

    def test_worker_processes_change_nothing(self, run, tmp_path):
        demonstration = demonstrate(bytes(Combination.digits), Combination)
        run_training([demonstration], SMALL, run_dir=tmp_path / "two", limits=self.LIMITS, env_workers=2)
        one, two = (
            load_policy(TrainingDirectory.open(path).last_policy(), self.PROBLEM)[0].state_dict()
            for path in (run, tmp_path / "two")
        )
        assert equal(one, two)


class TestCommand:
    @pytest.fixture
    def demo(self, tmp_path):
        write_demonstration(demonstrate(), tmp_path / "demos" / "maze.demo.json")
        return tmp_path / "demos"

    def command(self, *arguments):
        return [sys.executable, "-m", "goexplore", "robustify", *map(str, arguments)]

    def small(self, demo, run, *more):
        return [
            str(demo),
            "--run-dir",
            str(run),
            "--method",
            "backward",
            "--preset",
            "tiny",
            "--environments",
            "8",
            *map(str, more),
        ]

    def test_info_tells_how_far_a_training_is(self, tmp_path, capsys):
        train(tmp_path / "run", updates=1)
        assert main(["info", str(tmp_path / "run")]) == 0
        said = capsys.readouterr().out
        assert "1 demonstrations" in said
        assert f"{FRAMES:,} training frames" in said

    def test_files_are_replayed_by_the_training_alone(self, demo, tmp_path, monkeypatch):
        monkeypatch.setattr(_samples, "verify_demonstration", lambda _: pytest.fail("replayed twice"))
        arguments = self.small(demo, tmp_path / "run", "--workers", 1, "--training-frames", 1)
        assert main(["robustify", *arguments]) == 0

    def test_a_file_that_was_tampered_with_is_found_all_the_same(self, demo, tmp_path, capsys):
        changed = dataclasses.replace(demonstrate(), actions=bytes([1]) + ACTIONS[1:])
        write_demonstration(changed, demo / "maze.demo.json")
        assert main(["robustify", *self.small(demo, tmp_path / "run", "--workers", 1)]) == 2
        assert "it does not replay" in capsys.readouterr().err
        assert not (tmp_path / "run").exists()

    def test_two_processes_learn_together(self, demo, tmp_path):
        run = tmp_path / "run"
        arguments = self.small(demo, run, "--workers", 2, "--training-frames", 4 * FRAMES)
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "2,048 training frames" in done.stdout
        last = TrainingDirectory.open(run).metrics()[-1]
        assert last.training_frames % FRAMES == 0

    @pytest.mark.slow
    def test_killed_at_a_random_moment_it_goes_on(self, demo, tmp_path):
        run = tmp_path / "run"
        arguments = self.small(demo, run, "--workers", 2, "--checkpoint-minutes", 0.005)
        process = subprocess.Popen(self.command(*arguments), stdout=subprocess.DEVNULL)
        until = time.monotonic() + 120
        while not list(run.glob("checkpoints/00000[3-9]")) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(random.Random(1).random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        saved = TrainingDirectory.open(run).last_policy()
        content = json.loads((saved.parent / "meta.json").read_text())["content"]
        frames = content["status"]["training_frames"]
        assert frames > 0
        more = ["--run-dir", run, "--resume", "--workers", 1, "--training-frames", frames + FRAMES]
        done = subprocess.run(self.command(*more), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert f"{frames + FRAMES:,} training frames" in done.stdout
        lines = [line.training_frames for line in TrainingDirectory.open(run).metrics()]
        assert lines == sorted(set(lines)), "no line twice"

    def test_ctrl_c_writes_a_checkpoint(self, demo, tmp_path):
        run = tmp_path / "run"
        process = subprocess.Popen(
            self.command(*self.small(demo, run, "--workers", 2)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 120
        while not (run / "metrics.jsonl").exists() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 130, err
        assert "continue with: goexplore robustify" in err
        assert "interrupted:" in out

    def test_a_learning_process_that_dies_is_told(self, demo, tmp_path):
        run = tmp_path / "run"
        environment = {**os.environ, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            environment["MASTER_PORT"] = str(free.getsockname()[1])
        processes = [
            subprocess.Popen(
                self.command(*self.small(demo, run)),
                env={**environment, "RANK": str(rank)},
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
            )
            for rank in range(2)
        ]
        until = time.monotonic() + 120
        while not (run / "metrics.jsonl").exists() and time.monotonic() < until:
            time.sleep(0.05)
        processes[1].kill()
        _, said = processes[0].communicate(timeout=120)
        processes[1].communicate()
        assert processes[0].returncode == 2, said
        assert "expected all learning processes to answer" in said

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["nowhere.demo.json"], "expected a demonstration's file, a folder of them"),
            ([], "expected at least one demonstration"),
            (["montezuma-first-key-00", "--preset", "large"], "expected --preset to be one of"),
            (["montezuma-first-key-00", "--preset", "paper"], "or set --method to backward"),
            (["montezuma-first-key-00", "--method", "forward"], "expected --method to be search or backward"),
            (["montezuma-first-key-00", "--workers", "0"], "--workers to be 1 or more"),
            (["montezuma-first-key-00", "--workers", "7"], "multiple of 7 environments"),
            (["montezuma-first-key-00", "pitfall-three-rooms-right", "--workers", "1"], "one environment"),
        ],
    )
    def test_mistakes_are_told_at_once(self, arguments, message, tmp_path, capsys):
        assert main(["robustify", *arguments, "--run-dir", str(tmp_path / "run")]) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "run").exists()
