"""Evaluations on disk: resumed, extended, never mixed up; and the choice of a policy by them."""

import dataclasses
import functools
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pandas
import pyarrow.parquet
import pytest

from goexplore.api import choose_policy, find_policy
from goexplore.errors import EvaluationError
from goexplore.evaluation import (
    Death,
    Episode,
    Evaluation,
    EvaluationConfig,
    OpenLoopPlayer,
    PolicyCandidate,
    PolicyPlayer,
    RandomPlayer,
    candidates,
    choose,
    describe,
    evaluate,
    read_episodes,
    whole_repetitions,
    write_episodes,
)
from goexplore.evaluation import _protocol as protocol
from goexplore.games.two_mazes import TwoMazesConfig
from goexplore.training import load_policy, save_policy
from tests.cli.commands import is_at_work, wait_until
from tests.training.mazes import MONTEZUMA, demonstrate, native

CONFIG = EvaluationConfig(repetitions=3, max_game_frames=80)
MAKE = functools.partial(OpenLoopPlayer, demonstrate())


def test_pandas_reads_the_episodes(tmp_path):
    evaluation = evaluate(MAKE, CONFIG, file=tmp_path / "e.parquet")
    table = pandas.read_parquet(tmp_path / "e.parquet")
    assert len(table) == 93
    assert table.groupby("no_ops").score.mean().mean() == pytest.approx(evaluation.score)


def test_what_is_read_is_what_was_played(tmp_path):
    evaluation = evaluate(MAKE, CONFIG, file=tmp_path / "e.parquet")
    assert read_episodes(tmp_path / "e.parquet")[0] == evaluation.episodes


def test_deaths_are_kept(tmp_path):
    make = functools.partial(RandomPlayer, native(MONTEZUMA))
    evaluation = evaluate(
        make, EvaluationConfig(repetitions=1, max_game_frames=1500), file=tmp_path / "e.parquet"
    )
    assert any(each.deaths for each in evaluation.episodes)
    assert read_episodes(tmp_path / "e.parquet")[0] == evaluation.episodes
    row = pandas.read_parquet(tmp_path / "e.parquet").query("lives_lost > 0").iloc[0]
    assert len(row.deaths) == row.lives_lost
    assert set(row.deaths[0]) == {"level", "room", "score", "game_frame"}


def test_an_interrupted_evaluation_goes_on(tmp_path, monkeypatch):
    whole = evaluate(MAKE, CONFIG)
    played = []

    def stop_in_the_second(player, config, repetition, no_ops):
        if len(played) == 5:
            raise KeyboardInterrupt
        played.append(repetition)
        return play(player, config, repetition, no_ops)

    play = protocol.play_episodes
    monkeypatch.setattr(protocol, "play_episodes", stop_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        evaluate(MAKE, CONFIG, file=tmp_path / "e.parquet")
    monkeypatch.setattr(protocol, "play_episodes", play)
    kept = read_episodes(tmp_path / "e.parquet")[0]
    assert len(kept) == 31 + 8, "what was played side by side with the interrupted ones is not lost"
    assert whole_repetitions(kept) == whole.episodes[:31], "a part of a repetition is no result"
    done = []
    assert evaluate(MAKE, CONFIG, file=tmp_path / "e.parquet", progress=done.append) == whole
    assert done[:2] == [39, 47]
    assert done[-1] == 93


@pytest.mark.slow
def test_a_policy_s_evaluation_that_was_killed_goes_on_with_any_number_of_workers(tmp_path):
    make = functools.partial(PolicyPlayer, find_policy("montezuma-first-key"))
    config = EvaluationConfig(repetitions=1, until_score=100.0, max_game_frames=400)
    whole = evaluate(make, config)
    part = [each for each in whole.episodes if 8 <= each.no_ops < 16]
    write_episodes(tmp_path / "e.parquet", part, describe(make(), config))
    assert evaluate(make, config, file=tmp_path / "e.parquet", workers=2) == whole


def test_ctrl_c_stops_workers_at_once(tmp_path):
    """What they were playing is lost, what was done is kept."""
    arguments = ["random:ALE/MontezumaRevenge-v5", "--repetitions", "40", "--workers", "2"]
    command = [sys.executable, "-m", "goexplore", "evaluate", *arguments, "--max-game-frames", "20000"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: is_at_work(process))
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert time.monotonic() - began < 20


def test_more_repetitions_extend_it(tmp_path):
    evaluate(MAKE, dataclasses.replace(CONFIG, repetitions=1), file=tmp_path / "e.parquet")
    longer = evaluate(MAKE, CONFIG, file=tmp_path / "e.parquet")
    assert longer == evaluate(MAKE, CONFIG)
    shorter = evaluate(MAKE, dataclasses.replace(CONFIG, repetitions=2), file=tmp_path / "e.parquet")
    assert shorter.episodes == longer.episodes[:62]


@pytest.mark.parametrize(
    "other",
    [
        (MAKE, dataclasses.replace(CONFIG, seed=1)),
        (MAKE, dataclasses.replace(CONFIG, repeat_action_probability=0.1)),
        (functools.partial(RandomPlayer, TwoMazesConfig()), CONFIG),
    ],
)
def test_other_settings_are_not_mixed_in(tmp_path, other):
    evaluate(MAKE, CONFIG, file=tmp_path / "e.parquet")
    with pytest.raises(EvaluationError, match="the same settings"):
        evaluate(*other, file=tmp_path / "e.parquet")


def test_a_damaged_file_is_told(tmp_path):
    (tmp_path / "e.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(EvaluationError, match="evaluate again"):
        evaluate(MAKE, CONFIG, file=tmp_path / "e.parquet")


@pytest.mark.parametrize(
    "forged",
    [
        {"level": 2_000_000_000},
        {"level": -2},
        {"score": float("nan")},
        {"score": 1e308},
        {"first_life_score": float("-inf")},
        {"game_frames": -1},
        {"deaths": (Death(level=2**15, room=1, score=0.0, game_frame=5),)},
        {"deaths": (Death(level=0, room=1, score=float("nan"), game_frame=5),)},
    ],
)
def test_episodes_that_cannot_be_are_refused(tmp_path, forged):
    first, *rest = evaluate(MAKE, dataclasses.replace(CONFIG, repetitions=1)).episodes
    file = tmp_path / "e.parquet"
    write_episodes(file, [first, *rest], {})
    assert len(read_episodes(file)[0]) == 31
    write_episodes(file, [dataclasses.replace(first, **forged), *rest], {})
    with pytest.raises(EvaluationError, match="delete it and evaluate again"):
        read_episodes(file)


def test_an_altered_score_is_noticed(tmp_path):
    file = tmp_path / "e.parquet"
    evaluate(MAKE, CONFIG, file=file)
    table = pyarrow.parquet.read_table(file)
    scores = [score + 1 for score in table["score"].to_pylist()]
    column = table.schema.get_field_index("score")
    pyarrow.parquet.write_table(table.set_column(column, "score", [scores]), file)
    with pytest.raises(EvaluationError, match=r"do not match their checksum.*evaluate again"):
        read_episodes(file)


@pytest.mark.parametrize("version", ["3", "5"])
def test_a_file_of_another_version_is_told(tmp_path, version):
    file = tmp_path / "e.parquet"
    evaluate(MAKE, CONFIG, file=file)
    table = pyarrow.parquet.read_table(file)
    other = {**table.schema.metadata, b"version": version.encode()}
    pyarrow.parquet.write_table(table.replace_schema_metadata(other), file)
    with pytest.raises(EvaluationError, match=rf"format version {version} instead of 4.*evaluate again"):
        read_episodes(file)


class TestChoice:
    def evaluation(self, score):
        episode = Episode(
            seed=0,
            no_ops=0,
            repetition=0,
            score=score,
            first_life_score=score,
            game_frames=1,
            lives_lost=0,
            level=0,
            rooms=1,
            truncated=False,
        )
        episodes = [dataclasses.replace(episode, no_ops=number) for number in range(31)]
        return Evaluation(config=CONFIG, episodes=episodes)

    def policies(self, tmp_path, points, successes=None):
        return [
            PolicyCandidate(
                file=tmp_path / f"{number:02d}",
                starting_point=point,
                real_start_success=successes[number] if successes else None,
            )
            for number, point in enumerate(points)
        ]

    def test_candidates_are_near_the_lowest_starting_point(self, tmp_path):
        drawn = candidates(self.policies(tmp_path, [200, 90, 3, 0, 10, 11]), 50, seed=0)
        assert [each.starting_point for each in drawn] == [3, 0, 10]

    def test_they_are_a_random_subset(self, tmp_path):
        policies = self.policies(tmp_path, [0] * 30)
        drawn = candidates(policies, 10, seed=0)
        assert len(set(drawn)) == 10
        assert drawn == candidates(policies, 10, seed=0)
        assert drawn != candidates(policies, 10, seed=1)

    def test_where_successes_are_known_they_decide(self, tmp_path):
        """Of equal ones the later: it has learnt for longer. Where none is known yet, none is tested."""
        successes = [None, 0.2, 0.9, 0.5, 0.5, 0.5, 0.1]
        policies = self.policies(tmp_path, [0, 0, 40, 0, 0, 0, 0], successes)
        drawn = candidates(policies, 3, seed=0)
        assert [int(each.file.name) for each in drawn] == [2, 4, 5]
        assert candidates(policies, 3, seed=1) == drawn
        assert len(candidates(policies, 50, seed=0)) == 6

    def test_the_best_is_tested_again(self, tmp_path):
        drawn = self.policies(tmp_path, [0, 0, 0])
        scores = dict(zip([each.file for each in drawn], [10.0, 30.0, 20.0], strict=True))
        choice = choose(
            drawn, lambda file: self.evaluation(scores[file]), lambda file: self.evaluation(scores[file] - 7)
        )
        assert choice.file == drawn[1].file
        assert (choice.test.score, choice.retest.score) == (30.0, 23.0)

    def test_policies_of_a_search_have_no_starting_points(self, tmp_path):
        """Their success decides which are tested; the chosen one is kept."""
        policy, about = load_policy(find_policy("montezuma-first-key"))
        files = []
        for number, success in enumerate([0.3, 0.8, None]):
            trained = {**about.training, "starting_points": [], "real_start_success": success}
            files.append(tmp_path / f"{number}.safetensors")
            save_policy(policy, dataclasses.replace(about, training=trained), files[-1])
        directory = SimpleNamespace(all_policies=lambda: files, chosen_policy=tmp_path / "chosen.safetensors")
        run = SimpleNamespace(directory=directory, problem=None)
        tested = []

        def test(file, config, is_test):
            tested.append((file.name, is_test))
            return self.evaluation(1.0)

        assert choose_policy(run, 1, test, CONFIG).file == files[1]
        assert tested == [("1.safetensors", True), ("1.safetensors", False)]
        assert directory.chosen_policy.read_bytes() == files[1].read_bytes()

    def test_without_policies_there_is_no_choice(self):
        with pytest.raises(EvaluationError, match="train for longer"):
            candidates([], 10, seed=0)
