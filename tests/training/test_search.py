"""Phase 2 by search: the expert plays, a network clones it, PPO goes on; through any stop and kill."""

import dataclasses
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise

import pytest
import torch

from goexplore.cli._watch import look
from goexplore.demos import write_demonstration
from goexplore.errors import CheckpointError, ConfigError, DemonstrationError, EnvironmentContractError
from goexplore.games.two_mazes import TWO_MAZES
from goexplore.planning import ExpertPlayer, append_recording, read_recordings
from goexplore.play import PreprocessingConfig
from goexplore.problems import Problem
from goexplore.training import (
    NetworkConfig,
    SearchConfig,
    TrainingDirectory,
    TrainingLimits,
    load_policy,
    run_training,
    training_preset,
)
from goexplore.training import _bank_rollout as bank_rollout
from goexplore.training import _ppo as ppo
from goexplore.training import _search as search_module
from goexplore.training._corrections import Corrector
from goexplore.training._directory import TrainingStatus
from goexplore.training._group import ProcessGroup
from goexplore.training._search import SearchTraining
from tests.training.combination import Combination, by_digits
from tests.training.mazes import ACTIONS, demonstrate, first_key, key_after_a_fall, native
from tests.training.recordings import recording

TINY = training_preset("tiny")
SMALL = dataclasses.replace(
    TINY,
    environments=8,
    episodes=4,
    expert=dataclasses.replace(TINY.expert, horizon=12, tries=2),
    cloning=dataclasses.replace(TINY.cloning, steps=30),
)
FRAMES = SMALL.environments * SMALL.ppo.steps
ON_VECTORS = {
    "demonstrate": lambda: demonstrate(bytes(Combination.digits), Combination),
    "problem": Problem(env=Combination, cells=by_digits),
}


def train(path, *, updates, config=SMALL, demonstrate=demonstrate, **options):
    return run_training(
        () if options.get("resume") else [demonstrate()],
        config,
        run_dir=path,
        limits=TrainingLimits(training_frames=updates * FRAMES),
        **options,
    )


def training(path, config=SMALL, demonstrations=None, env=TWO_MAZES.env, cells=TWO_MAZES.cells):
    """Return a training without a session."""
    return SearchTraining(
        demonstrations or [demonstrate()],
        config,
        ProcessGroup(),
        env=env,
        cells=cells,
        recordings=path / "expert.jsonl",
    )


def weights(path, problem=None):
    return load_policy(TrainingDirectory.open(path).last_policy(), problem)[0].state_dict()


def equal(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def lines(path):
    return (path / "expert.jsonl").read_bytes().splitlines(keepends=True)


class Watch:
    """A reporter that remembers what is done; it may stop the training like Ctrl-C."""

    def __init__(self, stop=lambda progress: False):
        self.activities, self.said, self._stop = [], [], stop
        self.real_starts = []

    def progress(self, progress):
        self.activities.append((progress.teaching.activity, progress.teaching.episodes))
        self.last = progress
        if progress.real_start_success is not None:
            self.real_starts.append(progress.real_start_success)
        if self._stop(progress):
            signal.raise_signal(signal.SIGINT)

    def log(self, line):
        self.said.append(line)


def test_a_policy_learns_the_two_mazes(tmp_path):
    """Replaying the demonstration hardly ever reaches both pieces of gold, and chance never does."""
    watch = Watch()
    outcome = run_training(
        [demonstrate()],
        TINY,
        run_dir=tmp_path / "run",
        limits=TrainingLimits(until_success=0.9, training_frames=300_000),
        reporter=watch,
    )
    assert watch.last.teaching.reached_goal >= 0.9 * TINY.episodes
    assert watch.real_starts[1] <= 0.3, "the clone alone cannot do it yet"
    assert real_start_success(outcome) >= 0.8
    assert min(watch.last.teaching.success_along_the_way) > 0.8


@pytest.mark.slow
def test_the_clone_alone_finds_both_pieces_of_gold(tmp_path):
    """All updates of PPO are those in which only the estimate of the return learns."""
    config = dataclasses.replace(
        TINY,
        cloning=dataclasses.replace(TINY.cloning, steps=1000),
        ppo=dataclasses.replace(TINY.ppo, value_warm_up=10_000),
    )
    limits = TrainingLimits(training_frames=30_000)
    outcome = run_training([demonstrate()], config, run_dir=tmp_path / "run", limits=limits)
    assert real_start_success(outcome) >= 0.6


def real_start_success(outcome):
    real = outcome.status.real_starts
    assert len(real) >= 50
    return sum(real) / len(real)


class TestOrder:
    def test_the_expert_plays_then_it_is_cloned_then_ppo_goes_on(self, tmp_path, monkeypatch):
        monkeypatch.setattr(search_module, "_CLONING_STEPS", 10)
        watch = Watch()
        outcome = train(tmp_path / "run", updates=2, reporter=watch)
        activities = [activity for activity, _ in watch.activities]
        assert list(dict.fromkeys(activities)) == ["expert plays", "cloning", "improving"]
        assert (outcome.status.updates, outcome.status.cloned) == (2, 30)
        assert outcome.status.training_frames == 2 * FRAMES
        assert len(lines(tmp_path / "run")) == SMALL.episodes
        metrics = TrainingDirectory.open(tmp_path / "run").metrics()[-1]
        with TrainingDirectory.open(tmp_path / "run").locked():
            assert look(tmp_path / "run")["now"] == "improving"
        assert "now" not in look(tmp_path / "run"), "it does nothing any more"
        assert metrics.expert_episodes == SMALL.episodes
        assert metrics.starting_points == []
        along = watch.last.teaching.success_along_the_way
        assert len(along) == 8, "63 training frames in bins of eight"
        assert metrics.success_along_the_way == [round(each, 3) for each in along]
        assert len(set(along)) > 1

    def test_one_seed_gives_one_policy(self, tmp_path):
        for name, seed in (("one", 0), ("other", 0), ("seed1", 1)):
            train(tmp_path / name, updates=2, config=dataclasses.replace(SMALL, seed=seed))
        assert lines(tmp_path / "one") == lines(tmp_path / "other")
        assert equal(weights(tmp_path / "one"), weights(tmp_path / "other"))
        assert not equal(weights(tmp_path / "one"), weights(tmp_path / "seed1"))

    def test_environments_in_worker_processes_change_nothing(self, tmp_path):
        """But for the states that the policy reached: processes do not share these."""
        config = dataclasses.replace(SMALL, starts=dataclasses.replace(SMALL.starts, own_share=0.0))
        train(tmp_path / "one", updates=2, config=config)
        train(tmp_path / "workers", updates=2, config=config, env_workers=2)
        assert equal(weights(tmp_path / "one"), weights(tmp_path / "workers"))

    def test_the_clone_chooses_what_the_expert_chose(self, tmp_path):
        config = dataclasses.replace(SMALL, cloning=dataclasses.replace(SMALL.cloning, steps=400))
        watch = Watch()
        train(tmp_path / "run", updates=1, config=config, reporter=watch)
        assert watch.last.teaching.agreement > 0.6, "by chance it would be a fifth"


class TestRehearsals:
    """The expert first plays guided by the demonstration, then by the fastest of these episodes."""

    CONFIG = dataclasses.replace(SMALL, rehearsals=3)

    def recordings(self, path):
        return list(read_recordings([path / "expert.jsonl"], 5))

    def test_they_come_first(self, tmp_path):
        watch = Watch()
        train(tmp_path / "run", updates=1, config=self.CONFIG, reporter=watch)
        activities = [activity for activity, _ in watch.activities]
        assert list(dict.fromkeys(activities))[:2] == ["expert rehearses", "expert plays"]
        assert watch.last.teaching.episodes == len(lines(tmp_path / "run")) == 3 + SMALL.episodes

    def test_the_fastest_that_reached_the_goal_measures_progress(self, tmp_path):
        train(tmp_path / "run", updates=1, config=self.CONFIG)
        made = training(tmp_path / "run", self.CONFIG)
        made.read()
        *first, second = self.recordings(tmp_path / "run")[:3]
        assert second.ending == "goal", "else the demonstrations guide"
        assert made._best == second
        assert (
            made._buffer.goal == made._demonstrated.following(second).reference.goal <= second.training_frames
        )
        assert len(made._buffer.recordings) == SMALL.episodes, "rehearsals are not taught"
        half = training(tmp_path / "run", self.CONFIG)
        for each in first:
            half._keep(each)
        reached = [each for each in first if each.ending == "goal"]
        assert half._best == min(reached, key=lambda each: (each.training_frames, each.seed))

    def test_a_rehearsal_that_was_deleted_is_played_again_and_nothing_else(self, tmp_path):
        train(tmp_path / "run", updates=1, config=self.CONFIG)
        first, *others = lines(tmp_path / "run")
        (tmp_path / "run" / "expert.jsonl").write_bytes(b"".join(others))
        train(tmp_path / "run", updates=2, config=self.CONFIG, resume=True)
        assert lines(tmp_path / "run") == [*others, first]

    def test_a_round_in_which_none_reached_it_is_followed_by_the_next(self, tmp_path):
        made = training(tmp_path, self.CONFIG)
        for seed in made._rehearsal_seeds[:2]:
            made._keep(dataclasses.replace(recording(), ending="stuck", seed=seed))
        while made.teaching().episodes < 3:
            made.update()
        assert made._rehearsals[-1].seed == made._rehearsal_seeds[-1]

    def test_if_none_reached_it_the_demonstrations_go_on_guiding(self, tmp_path):
        made = training(tmp_path, self.CONFIG)
        for seed in made._rehearsal_seeds:
            failed = dataclasses.replace(recording(), ending="stuck", seed=seed)
            append_recording(tmp_path / "expert.jsonl", failed, 5)
        made.read()
        made.update()
        assert made._buffer.goal == len(ACTIONS)
        assert made.teaching().activity == "expert plays"

    @pytest.mark.parametrize("episodes", [1, 3, 4])
    def test_whenever_they_are_stopped_the_policy_is_the_same(self, tmp_path, monkeypatch, episodes):
        train(tmp_path / "whole", updates=2, config=self.CONFIG)
        monkeypatch.setattr(SearchTraining, "_play_expert", one_episode)
        watch = Watch(lambda progress: progress.teaching.episodes == episodes)
        assert train(tmp_path / "run", updates=2, config=self.CONFIG, reporter=watch).interrupted
        train(tmp_path / "run", updates=2, config=self.CONFIG, resume=True)
        assert lines(tmp_path / "run") == lines(tmp_path / "whole")
        assert equal(weights(tmp_path / "run"), weights(tmp_path / "whole"))


class TestCorrections:
    """The expert takes over from the clone, which is cloned once more: several times, if asked to."""

    CONFIG = dataclasses.replace(SMALL, corrections=3, correction_rounds=2)

    def rounds(self, progress):
        return progress.status.correction_rounds

    def test_every_round_is_followed_by_cloning(self, tmp_path):
        watch = Watch()
        outcome = train(tmp_path / "run", updates=1, config=self.CONFIG, reporter=watch)
        activities = [activity for activity, _ in watch.activities]
        changes = [now for before, now in pairwise([None, *activities]) if now != before]
        assert changes == ["expert plays", *["cloning", "expert corrects"] * 2, "cloning", "improving"]
        assert (outcome.status.cloned, outcome.status.correction_rounds) == (90, 2)
        assert 0 < watch.last.teaching.corrections <= 6
        assert len(lines(tmp_path / "run")) == SMALL.episodes + watch.last.teaching.corrections

    def test_no_rounds_mean_no_corrections(self, tmp_path):
        config = dataclasses.replace(self.CONFIG, correction_rounds=0)
        assert train(tmp_path / "run", updates=1, config=config).status.cloned == 30
        assert len(lines(tmp_path / "run")) == SMALL.episodes

    @pytest.mark.parametrize(("cloned", "rounds"), [(30, 0), (30, 1), (60, 1)])
    def test_stopped_between_rounds_the_policy_is_the_same(self, tmp_path, cloned, rounds):
        train(tmp_path / "whole", updates=2, config=self.CONFIG)
        watch = Watch(lambda progress: progress.status.cloned == cloned and self.rounds(progress) == rounds)
        assert train(tmp_path / "run", updates=2, config=self.CONFIG, reporter=watch).interrupted
        train(tmp_path / "run", updates=2, config=self.CONFIG, resume=True)
        assert equal(weights(tmp_path / "run"), weights(tmp_path / "whole"))

    @pytest.mark.parametrize("sees", ["vectors", pytest.param("images", marks=pytest.mark.slow)])
    def test_killed_at_any_moment_the_policy_is_the_same(self, tmp_path, monkeypatch, sees):
        """A kill loses what came after the last checkpoint, but for the recordings, which are all kept."""
        monkeypatch.setattr(search_module, "_CLONING_STEPS", 10)
        config = dataclasses.replace(self.CONFIG, rehearsals=2, episodes=2)
        how = {"updates": 2, "config": config, **(ON_VECTORS if sees == "vectors" else {})}
        run, saved, rounds = tmp_path / "run", [], set()
        write = TrainingDirectory.write_checkpoint

        def write_and_copy(directory, *content):
            write(directory, *content)
            if directory.path == run:
                saved.append(tmp_path / f"checkpoint{len(saved)}")
                shutil.copytree(run, saved[-1])

        monkeypatch.setattr(TrainingDirectory, "write_checkpoint", write_and_copy)
        train(run, **how, checkpoint_minutes=1e-9)
        whole = lines(run)
        for number, checkpoint in enumerate(saved[:-1]):
            (checkpoint / "lock").unlink()
            (checkpoint / "expert.jsonl").write_bytes(b"".join(whole))  # killed long after the checkpoint
            rounds.add(content(checkpoint)["status"]["correction_rounds"])
            train(checkpoint, **how, resume=True)
            assert lines(checkpoint) == whole, number
            problem = how.get("problem")
            assert equal(weights(checkpoint, problem), weights(run, problem)), number
        assert len(saved) > 12
        assert rounds == {0, 1, 2}

    def test_what_was_tried_in_vain_counts_too(self, tmp_path, monkeypatch):
        """A correction that comes too late leaves nothing behind but what it took."""
        counted = []

        def too_late(corrector, played, seed, random):
            yield
            corrector._player.expert.simulator.played += 7
            return False

        monkeypatch.setattr(Corrector, "_teach", too_late)
        watch = Watch(lambda progress: counted.append(progress.teaching.simulated))
        train(tmp_path / "run", updates=1, config=self.CONFIG, reporter=watch)
        corrects = [activity for activity, _ in watch.activities].index("expert corrects")
        before_corrections = counted[:corrects]
        assert watch.last.teaching.corrections == 0
        in_vain = content(tmp_path / "run")["status"]["simulated_in_vain"]
        assert in_vain >= 7
        assert counted[-1] == before_corrections[-1] + in_vain

    def test_and_is_not_done_again_after_a_stop(self, tmp_path, monkeypatch):
        tried = []

        def too_late(corrector, played, seed, random):
            tried.append(seed)
            yield
            corrector._player.expert.simulator.played += 7
            return False

        monkeypatch.setattr(Corrector, "_teach", too_late)
        train(tmp_path / "whole", updates=1, config=self.CONFIG)
        whole = sorted(tried)
        tried.clear()
        monkeypatch.setattr(search_module, "_EXPERT_SECONDS", 1e-3)
        watch = Watch(lambda progress: bool(progress.status.corrected_in_vain))
        assert train(tmp_path / "run", updates=1, config=self.CONFIG, reporter=watch).interrupted
        assert content(tmp_path / "run")["status"]["corrected_in_vain"] == [0]
        train(tmp_path / "run", updates=1, config=self.CONFIG, resume=True)
        assert sorted(tried) == whole
        counts = [content(tmp_path / name)["status"]["simulated_in_vain"] for name in ("run", "whole")]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("rehearsals", [0, 4])
def test_an_environment_that_does_not_repeat_itself_is_told_and_nothing_is_written(
    tmp_path, monkeypatch, rehearsals
):
    """Else the episode would end every session that resumes."""
    other = dataclasses.replace(recording(), rewards=(7.0, *recording().rewards[1:]))
    monkeypatch.setattr(
        ExpertPlayer, "episode", lambda player, seed: iter([dataclasses.replace(other, seed=seed)])
    )
    made = training(tmp_path, dataclasses.replace(SMALL, rehearsals=rehearsals))
    made.start()
    with pytest.raises(EnvironmentContractError, match=r"the environment does not repeat itself.*check-env"):
        made.update()
    assert not (tmp_path / "expert.jsonl").exists()


def test_an_expert_that_never_arrives_is_told_before_it_is_cloned(tmp_path, caplog):
    config = dataclasses.replace(SMALL, cloning=dataclasses.replace(SMALL.cloning, steps=1))
    made = training(tmp_path, config)
    for number in range(config.episodes):
        lost = dataclasses.replace(recording(), ending="stuck", taught_until=5, seed=number)
        append_recording(tmp_path / "expert.jsonl", lost, 5)
    made.read()
    made.update()
    (said,) = caplog.messages
    assert f"in none of {config.episodes} episodes" in said
    assert "play-expert" in said


def test_a_demonstration_that_loses_a_life_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(search_module, "_EXPERT_SECONDS", 1e-3)
    watch = Watch(lambda progress: True)
    outcome = run_training(
        [key_after_a_fall()],
        SMALL,
        run_dir=tmp_path / "run",
        limits=TrainingLimits(training_frames=FRAMES),
        reporter=watch,
    )
    assert outcome.interrupted
    (said,) = [line for line in watch.said if "loses a life" in line]
    assert "demonstration 0 loses a life" in said


class Computing(Combination):
    """An environment that computes with PyTorch."""

    def step(self, action):
        computed = torch.ones(2, 2) @ torch.full((2, 2), 1 / 3)
        assert computed.dtype == torch.float32
        return super().step(action)


def test_environments_compute_as_they_always_do(tmp_path, monkeypatch):
    """The learner's 16 bits are none of their business."""
    monkeypatch.setattr(ppo, "_has_bfloat16", lambda: True)  # slow, but right, on any processor
    config = dataclasses.replace(SMALL, ppo=dataclasses.replace(SMALL.ppo, mixed_precision=True))
    outcome = run_training(
        [demonstrate(bytes(Computing.digits), Computing)],
        config,
        run_dir=tmp_path / "run",
        limits=TrainingLimits(training_frames=FRAMES),
        problem=Problem(env=Computing, cells=by_digits),
    )
    assert outcome.status.training_frames == FRAMES


def test_without_cloning_vectors_are_standardised_all_the_same(tmp_path):
    config = dataclasses.replace(SMALL, cloning=dataclasses.replace(SMALL.cloning, steps=0))
    problem = Problem(env=Combination, cells=by_digits)
    outcome = run_training(
        [demonstrate(bytes(Combination.digits), Combination)],
        config,
        run_dir=tmp_path / "run",
        limits=TrainingLimits(training_frames=FRAMES),
        problem=problem,
    )
    policy, _ = load_policy(outcome.run.last_policy(), problem)
    assert policy.scale.min() < 0.001, "one of the numbers goes up to 7,000"


def test_learning_rates_fall_with_training_frames(tmp_path):
    ppo = dataclasses.replace(SMALL.ppo, decay_over=4 * FRAMES)
    made = training(tmp_path, dataclasses.replace(SMALL, ppo=ppo))
    made.start()
    while made.status.updates < 3:
        made.update()
    expected = (1 - 0.9 * 2 / 4) * ppo.learning_rate  # two updates came before the third
    assert [group["lr"] for group in made.optimizer.param_groups] == [pytest.approx(expected)] * 2
    made.close()


class TestFrozenConvolutions:
    """PPO leaves the clone's convolutions as they are: for ever, for a while, or not at all."""

    def config(self, frozen_for):
        return dataclasses.replace(
            SMALL,
            frozen_for=frozen_for,
            network=NetworkConfig(channels=(4,), hidden=16, value_hidden=8),
            ppo=dataclasses.replace(SMALL.ppo, value_warm_up=0),
        )

    def convolutions(self, path):
        """Return the convolutions of all policies that were kept, one after each update."""
        found = []
        for file in TrainingDirectory.open(path).all_policies():
            state = load_policy(file)[0].state_dict()
            found.append({name: state[name] for name in state if name.startswith("features")})
        assert found[0]
        return found

    @pytest.mark.parametrize(("frozen_for", "last"), [(None, 4), (0, 0), (2 * FRAMES, 2)])
    def test_they_change_only_after_that(self, tmp_path, frozen_for, last):
        run = tmp_path / "run"
        config = self.config(frozen_for)
        watch = Watch(lambda progress: progress.teaching.cloned == SMALL.cloning.steps)
        assert train(run, updates=4, config=config, reporter=watch, keep_every=FRAMES).interrupted
        train(run, updates=4, config=config, resume=True, keep_every=FRAMES)
        clone, *improved = self.convolutions(run)
        assert len(improved) == 4
        assert [equal(clone, each) for each in improved] == [number <= last for number in range(1, 5)]

    def test_a_training_may_stop_around_their_release(self, tmp_path):
        """From then on the optimiser has more weights, which a checkpoint has to fit."""
        run, found = tmp_path / "run", []
        for updates in (1, 2, 3, 4):
            watch = Watch()
            config = self.config(2 * FRAMES)
            train(run, updates=updates, config=config, resume=updates > 1, reporter=watch)
            assert content(run)["status"]["updates"] == updates
            assert not any("is not used" in line for line in watch.said)
            found.append(self.convolutions(run)[-1])
        assert equal(found[0], found[1])
        assert not equal(found[1], found[2])
        assert not equal(found[2], found[3])


class TestResuming:
    def test_recordings_are_not_played_again(self, tmp_path, monkeypatch):
        monkeypatch.setattr(search_module, "_EXPERT_SECONDS", 0.0)
        watch = Watch(lambda progress: progress.teaching.episodes >= 2)
        # One training frame of the expert at a time would be slow: a whole episode is.
        monkeypatch.setattr(SearchTraining, "_play_expert", one_episode)
        outcome = train(tmp_path / "run", updates=2, reporter=watch)
        assert outcome.interrupted
        before = lines(tmp_path / "run")
        assert len(before) == 2
        again = Watch()
        train(tmp_path / "run", updates=2, resume=True, reporter=again)
        assert lines(tmp_path / "run")[:2] == before
        assert again.activities[0] == ("expert plays", 3)
        recordings = list(read_recordings([tmp_path / "run" / "expert.jsonl"], 5))
        assert len({each.seed for each in recordings}) == len(recordings) == SMALL.episodes

    def test_whenever_the_expert_was_stopped_the_policy_is_the_same(self, tmp_path, monkeypatch):
        train(tmp_path / "whole", updates=2)
        monkeypatch.setattr(SearchTraining, "_play_expert", one_episode)
        train(tmp_path / "run", updates=2, reporter=Watch(lambda progress: progress.teaching.episodes == 1))
        train(tmp_path / "run", updates=2, resume=True)
        assert lines(tmp_path / "run") == lines(tmp_path / "whole")
        assert equal(weights(tmp_path / "run"), weights(tmp_path / "whole"))

    def test_a_torn_line_is_played_again(self, tmp_path, caplog):
        train(tmp_path / "run", updates=1)
        whole = lines(tmp_path / "run")
        (tmp_path / "run" / "expert.jsonl").write_bytes(b"".join(whole[:-1]) + whole[-1][:40])
        train(tmp_path / "run", updates=2, resume=True)
        assert lines(tmp_path / "run") == whole
        (said,) = caplog.messages  # the optimiser has learnt from it already, and begins anew
        assert f"expected {len(whole)} whole episodes" in said
        assert f"got {len(whole) - 1}" in said

    def test_a_training_that_improves_is_resumed_where_it_was(self, tmp_path):
        before = train(tmp_path / "run", updates=3).status
        saved, expert = weights(tmp_path / "run"), lines(tmp_path / "run")
        bank = content(tmp_path / "run")["curriculum"]
        assert len(bank["rates"]) > 2
        watch = Watch()
        after = train(tmp_path / "run", updates=3, resume=True, reporter=watch).status
        assert after == dataclasses.replace(before, seconds=after.seconds)
        assert equal(weights(tmp_path / "run"), saved)
        assert content(tmp_path / "run")["curriculum"] == bank
        assert train(tmp_path / "run", updates=4, resume=True).status.updates == 4
        assert lines(tmp_path / "run") == expert

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_stop_while_ppo_improves_changes_nothing(self, tmp_path, monkeypatch, workers):
        """Rollouts under way are part of a checkpoint, and the states that the policy itself has reached."""
        monkeypatch.setattr(bank_rollout, "_ENOUGH", 1)
        monkeypatch.setattr(bank_rollout, "_KEEP_SHARE", 0.2)
        config = dataclasses.replace(SMALL, starts=dataclasses.replace(SMALL.starts, held_up_share=0.5))
        train(tmp_path / "one", updates=6, config=config, env_workers=workers)
        for updates in (2, 3, 6):
            train(
                tmp_path / "stopped",
                updates=updates,
                config=config,
                env_workers=workers,
                resume=updates > 2,
            )
        assert equal(weights(tmp_path / "one"), weights(tmp_path / "stopped"))

    def test_cloning_goes_on_where_it_was(self, tmp_path, monkeypatch):
        monkeypatch.setattr(search_module, "_CLONING_STEPS", 10)
        train(tmp_path / "run", updates=1, reporter=Watch(lambda progress: progress.teaching.cloned == 20))
        assert content(tmp_path / "run")["status"]["cloned"] == 20
        train(tmp_path / "run", updates=1, resume=True)
        train(tmp_path / "whole", updates=1)
        assert content(tmp_path / "run")["status"]["cloned"] == 30
        assert equal(weights(tmp_path / "run"), weights(tmp_path / "whole"))

    def test_what_cloning_s_optimiser_remembers_is_not_taken_for_ppo_s(self, tmp_path):
        """A stop right after cloning changes nothing."""
        config = dataclasses.replace(SMALL, ppo=dataclasses.replace(SMALL.ppo, value_warm_up=0))
        train(tmp_path / "whole", updates=2, config=config)
        watch = Watch(lambda progress: progress.teaching.cloned == SMALL.cloning.steps)
        assert train(tmp_path / "run", updates=2, config=config, reporter=watch).interrupted
        train(tmp_path / "run", updates=2, config=config, resume=True)
        assert equal(weights(tmp_path / "run"), weights(tmp_path / "whole"))

    def test_a_stop_right_after_cloning_with_convolutions_that_are_frozen(self, tmp_path):
        """Then PPO learns fewer weights than cloning did."""
        demonstration = first_key()
        config = dataclasses.replace(
            SMALL,
            episodes=1,
            expert=dataclasses.replace(SMALL.expert, horizon=44),
            cloning=dataclasses.replace(SMALL.cloning, steps=2, batch=8),
            preprocessing=PreprocessingConfig(),
            network=NetworkConfig(channels=(4, 8), hidden=16, value_hidden=8),
            ppo=dataclasses.replace(SMALL.ppo, steps=8, value_warm_up=0),
        )
        limits = TrainingLimits(training_frames=2 * 8 * config.environments)
        watch = Watch(lambda progress: progress.teaching.cloned == 2)
        run = tmp_path / "run"
        assert run_training([demonstration], config, run_dir=run, limits=limits, reporter=watch).interrupted
        outcome = run_training([], config, run_dir=run, limits=limits, resume=True)
        assert outcome.status.updates == 2

    def test_a_damaged_checkpoint_is_set_aside(self, tmp_path):
        train(tmp_path / "run", updates=2)
        newest = TrainingDirectory.open(tmp_path / "run").last_policy()
        damaged = bytearray(newest.read_bytes())
        damaged[-1] ^= 1
        newest.write_bytes(damaged)
        watch = Watch()
        assert train(tmp_path / "run", updates=3, resume=True, reporter=watch).status.updates == 3
        assert any("is not used" in line for line in watch.said)

    def test_so_is_one_whose_optimiser_has_other_weights(self, tmp_path):
        """PyTorch takes numbers of any shape, and the next step would crash."""
        train(tmp_path / "run", updates=2)
        run = TrainingDirectory.open(tmp_path / "run")
        saved = content(tmp_path / "run")
        other = torch.nn.Linear(3, 3)
        optimizer = torch.optim.Adam(other.parameters())
        other(torch.ones(1, 3)).sum().backward()
        optimizer.step()
        policy, about = load_policy(run.last_policy())
        status = TrainingStatus(**{**saved["status"], "updates": 7})
        run.write_checkpoint(policy, about, optimizer, saved["curriculum"], status, [])
        watch = Watch()
        assert train(tmp_path / "run", updates=3, resume=True, reporter=watch).status.updates == 3
        assert any(
            "is not used: expected step, exp_avg and exp_avg_sq of shape" in line for line in watch.said
        )

    def test_a_damaged_recording_is_told_and_no_checkpoint_is_blamed(self, tmp_path):
        train(tmp_path / "run", updates=2)
        whole = lines(tmp_path / "run")
        damaged = b"".join([whole[0], whole[1][:40] + b"\n", *whole[2:]])
        (tmp_path / "run" / "expert.jsonl").write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"line 2 of .*expert\.jsonl"):
            train(tmp_path / "run", updates=3, resume=True)
        assert not list((tmp_path / "run").glob("checkpoints/*.damaged"))
        assert (tmp_path / "run" / "expert.jsonl").read_bytes() == damaged

    def test_recordings_of_another_version_are_told(self, tmp_path):
        train(tmp_path / "run", updates=1)
        file = tmp_path / "run" / "expert.jsonl"
        first, *others = read_recordings([file], 5)
        file.unlink()
        for each in (dataclasses.replace(first, rewards=(7.0, *first.rewards[1:])), *others):
            append_recording(file, each, 5)
        with pytest.raises(CheckpointError, match="another version of the environment"):
            train(tmp_path / "run", updates=2, resume=True)


def one_episode(self, expert):
    """Let the expert play one episode, where it plays for some seconds."""
    each = expert.play(self._seeds.pop(0))
    append_recording(self._recordings_file, each, self.action_count)
    self._keep(each)


def content(path):
    """Return what the newest checkpoint says."""
    meta = TrainingDirectory.open(path).last_policy().parent / "meta.json"
    return json.loads(meta.read_text())["content"]


class TestRefusals:
    def test_a_demonstration_that_was_tampered_with(self, tmp_path):
        tampered = dataclasses.replace(demonstrate(), actions=bytes([1]) + ACTIONS[1:])
        limits = TrainingLimits(training_frames=1)
        with pytest.raises(DemonstrationError, match="it does not replay"):
            run_training([tampered], SMALL, run_dir=tmp_path / "run", limits=limits)
        assert not (tmp_path / "run").exists()

    def test_demonstrations_of_several_environments(self, tmp_path):
        limits = TrainingLimits(training_frames=1)
        with pytest.raises(ConfigError, match="expected demonstrations of one environment"):
            run_training([demonstrate(), first_key()], SMALL, run_dir=tmp_path / "run", limits=limits)
        assert not (tmp_path / "run").exists()

    def test_a_recurrent_policy(self):
        with pytest.raises(ConfigError, match="expected a feed-forward policy for the method search"):
            SearchConfig(network=NetworkConfig(kind="recurrent"))

    def test_corrections_without_a_clone(self):
        with pytest.raises(ConfigError, match="expected no `corrections` without a clone"):
            SearchConfig(cloning=dataclasses.replace(TINY.cloning, steps=0))

    def test_the_other_method_on_resume(self, tmp_path):
        train(tmp_path / "run", updates=1)
        with pytest.raises(ConfigError, match="method is 'search', not 'backward'"):
            train(tmp_path / "run", updates=2, resume=True, config=training_preset("tiny", "backward"))

    @pytest.mark.parametrize(
        ("setting", "value"), [("episodes", 0), ("seed", -1), ("no_ops", -1), ("environments", 10**12)]
    )
    def test_impossible_settings(self, setting, value):
        with pytest.raises(ConfigError, match=f"expected `{setting}`"):
            SearchConfig(**{setting: value})


def test_a_lock_that_only_ends_the_episode_is_learnt(tmp_path):
    """Every step costs a point, so nothing is ever won: the goal itself is the gain."""
    problem = Problem(env=Combination, cells=by_digits)
    outcome = run_training(
        [demonstrate(bytes(Combination.digits), Combination)],
        dataclasses.replace(SMALL, episodes=6, cloning=dataclasses.replace(SMALL.cloning, steps=200)),
        run_dir=tmp_path / "run",
        limits=TrainingLimits(training_frames=10 * FRAMES),
        problem=problem,
    )
    real = outcome.status.real_starts
    assert sum(real) / len(real) > 0.5


class TestNative:
    def test_the_key_is_taught_on_the_native_engine(self, tmp_path):
        demonstration = first_key()
        config = dataclasses.replace(
            SMALL,
            episodes=1,
            expert=dataclasses.replace(SMALL.expert, horizon=44),
            preprocessing=PreprocessingConfig(),
        )
        made = training(tmp_path, config, [demonstration], native(demonstration.env))
        made.start()
        while made.teaching().activity == "expert plays":
            made.update()
        (recording,) = read_recordings([tmp_path / "expert.jsonl"], made.action_count)
        assert len(recording.played) == 4 * recording.training_frames
        assert made.teaching().simulated == recording.simulated > 0
        made.close()


class TestCommand:
    @pytest.fixture
    def demo(self, tmp_path):
        write_demonstration(demonstrate(), tmp_path / "demos" / "maze.demo.json")
        return tmp_path / "demos"

    def command(self, *arguments):
        return [sys.executable, "-m", "goexplore", "robustify", *map(str, arguments)]

    @pytest.mark.slow
    def test_killed_while_the_expert_plays_nothing_of_it_is_lost(self, demo, tmp_path):
        run = tmp_path / "run"
        settings = ["--preset", "tiny", "--environments", 8, "--cloning.steps", 20, "--episodes", 48]
        process = subprocess.Popen(
            self.command(demo, "--run-dir", run, "--workers", 1, *settings), stdout=subprocess.DEVNULL
        )
        file, until = run / "expert.jsonl", time.monotonic() + 120
        while not (file.exists() and file.stat().st_size) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.3 * random.Random(1).random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = [line for line in lines(run) if line.endswith(b"\n")]
        assert 0 < len(before) < 48
        more = ["--run-dir", run, "--resume", "--workers", 1, "--training-frames", FRAMES]
        done = subprocess.run(self.command(*more), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert f"{FRAMES:,} training frames" in done.stdout
        assert lines(run)[: len(before)] == before
        seeds = [each.seed for each in read_recordings([file], 5)]
        assert len(set(seeds)) == len(seeds) == 48

    def test_two_processes_share_the_expert_s_episodes(self, demo, tmp_path):
        run = tmp_path / "run"
        settings = ["--preset", "tiny", "--environments", 8, "--cloning.steps", 20, "--episodes", 5]
        arguments = [demo, "--run-dir", run, "--workers", 2, *settings, "--training-frames", FRAMES]
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert len({each.seed for each in read_recordings([run / "expert.jsonl"], 5)}) == 5
