"""Trainings and policies on the page."""

import dataclasses
import functools
import json
import shutil
from html import unescape
from pathlib import Path

import pytest
import torch

from goexplore.cli import main
from goexplore.demos import find_demonstrations
from goexplore.errors import EvaluationError
from goexplore.evaluation import EvaluationConfig, PolicyPlayer, evaluate, read_episodes, write_episodes
from goexplore.report import write_report
from goexplore.report._paper import paper_policies
from goexplore.training import TrainingDirectory, TrainingLimits, run_training, training_preset
from tests.report.conftest import wait_for
from tests.report.test_page import MARKUP, with_markup
from tests.training.mazes import demonstrate

SMALL = dataclasses.replace(training_preset("tiny", "backward"), environments=8)
FRAMES = SMALL.environments * SMALL.ppo.steps
SHORT = ["--repetitions", "1", "--max-game-frames", "40", "--workers", "1"]


def train(path, *, updates, **options):
    limits = TrainingLimits(training_frames=updates * FRAMES)
    return run_training([demonstrate()], SMALL, run_dir=path, limits=limits, **options)


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Tests run side by side."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    path = tmp_path_factory.mktemp("trainings") / "mazes"
    train(path, updates=3)
    return path


def text(file):
    return unescape(file.read_text())


def test_a_training_that_was_not_evaluated_says_how(training, tmp_path):
    write_report([training], tmp_path / "page.html", videos=0)
    assert f"not evaluated yet: <code>goexplore evaluate {training}" in text(tmp_path / "page.html")


def test_policy_scores_are_called_policy_scores(training, tmp_path):
    policy = TrainingDirectory.open(training).last_policy()
    config = EvaluationConfig(repetitions=1, until_score=200.0, max_game_frames=50)
    make = functools.partial(PolicyPlayer, policy)
    evaluate(make, config, file=training / "evaluations" / "one.parquet")
    write_report([training], tmp_path / "page.html", videos=1)
    page = text(tmp_path / "page.html")
    assert "policy score" in page
    assert "until 200 points" in page
    assert "0.0% (95 %: 0.0% to 11.0%)" in page
    assert "31 (the protocol: 155)" in page
    assert "<video" in page
    assert page.count("<svg") == 2


@pytest.mark.parametrize("width", [320, 1600])
def test_curves_scores_and_a_video_are_there_in_a_browser(opened, training, tmp_path, width):
    write_report([training], tmp_path / "page.html", videos=1)
    tab = opened(tmp_path / "page.html", viewport={"width": width, "height": 800})
    assert tab.locator(".plots svg").count() == 2
    assert all(plot.bounding_box()["width"] > 200 for plot in tab.locator(".plots svg").all())
    assert "policy score" in tab.locator("#policies th").all_inner_texts()
    tab.evaluate("document.querySelector('video').play()")
    wait_for(tab, "document.querySelector('video').currentTime > 0.1")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_others_unfold_in_a_browser(opened, tmp_path):
    limits = TrainingLimits(training_frames=1)
    key = find_demonstrations("montezuma-first-key-00")
    run_training(key, SMALL, run_dir=tmp_path / "run", limits=limits)
    write_report([tmp_path / "run"], tmp_path / "page.html", videos=0)
    tab = opened(tmp_path / "page.html")
    assert tab.locator("#others svg text", has_text="Human expert").is_visible()
    row = tab.locator("#others td", has_text="Human expert")
    assert not row.is_visible()
    tab.locator("#others summary").click()
    assert row.is_visible()


def test_tests_of_a_choice_are_no_results(tmp_path, capsys):
    train(tmp_path / "run", updates=3, keep_every=FRAMES)
    arguments = ["evaluate", str(tmp_path / "run"), *SHORT]
    assert main([*arguments, "--choose", "2"]) == 0
    said = capsys.readouterr().out
    assert "the best of 2 tested" in said
    assert "re-test with fresh seeds:\n  31 episodes" in said
    run = TrainingDirectory.open(tmp_path / "run")
    assert run.policy() == run.chosen_policy
    results = tmp_path / "run" / "evaluations"
    assert len(list(results.glob("*.parquet"))) == 1
    assert main(arguments) == 0
    assert len(list(results.glob("*.parquet"))) == 1, "the chosen policy's evaluation is its re-test"
    (retest,), tests = results.glob("*.parquet"), (results / "tests").glob("*.parquet")
    played = read_episodes(retest)[0]
    assert all(read_episodes(test)[0] != played for test in tests)
    write_report([tmp_path / "run"], tmp_path / "page.html", videos=0)
    assert text(tmp_path / "page.html").count("<td>whole games</td>") == 1


def test_no_text_of_a_training_becomes_part_of_the_page(training, tmp_path):
    run = Path(shutil.copytree(training, tmp_path / f"run {MARKUP.replace('/', '')}"))
    for file in [run / "config.json", *(run / "demos").glob("*.json")]:
        file.write_text(json.dumps(with_markup(json.loads(file.read_text()))))
    line = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({**line, "activity": MARKUP}) + "\n")
    policy = TrainingDirectory.open(training).last_policy()
    make = functools.partial(PolicyPlayer, policy)
    played = evaluate(make, EvaluationConfig(repetitions=1, max_game_frames=40)).episodes
    settings = {**PolicyPlayer(policy).identity(), "policy": MARKUP, "max_game_frames": 40}
    write_episodes(run / "evaluations" / "one.parquet", played, settings)
    write_report([run], tmp_path / "page.html", videos=0)
    page = (tmp_path / "page.html").read_text()
    assert "&lt;img" in page
    assert "<img src=x" not in page
    assert "<script" not in page


@pytest.mark.parametrize("wrong", [{"temperature": "hot"}, {"training_frames": None}, {"seed": -1}])
def test_an_evaluation_with_impossible_settings_is_told(training, tmp_path, wrong):
    run = Path(shutil.copytree(training, tmp_path / "run"))
    policy = TrainingDirectory.open(training).last_policy()
    config = EvaluationConfig(repetitions=1, max_game_frames=40)
    played = evaluate(functools.partial(PolicyPlayer, policy), config).episodes
    settings = {**PolicyPlayer(policy).identity(), **wrong}
    write_episodes(run / "evaluations" / "one.parquet", played, settings)
    with pytest.raises(EvaluationError, match="expected the settings of an evaluation"):
        write_report([run], tmp_path / "page.html", videos=0)


def test_a_damaged_choice_is_told(training, tmp_path, capsys):
    run = Path(shutil.copytree(training, tmp_path / "run"))
    (run / "policy.safetensors").write_bytes(b"nothing")
    assert main(["report", str(run), "--videos", "0"]) == 2
    assert "got a file that is none or damaged" in capsys.readouterr().err


def test_one_training_is_not_taken_for_several(training, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, other = (Path(shutil.copytree(training, tmp_path / name)) for name in ("one", "other"))
    limits = [*SHORT, "--until-score", "200"]
    policies = [
        str(one),
        str(one / "policies" / sorted(file.name for file in (one / "policies").iterdir())[0]),
    ]
    assert main(["evaluate", *policies, *limits]) == 0
    said = capsys.readouterr()
    assert "mean over" not in said.out
    assert "several policies of one training" in said.err
    assert main(["evaluate", str(one), str(other), *limits]) == 0
    assert "mean over 2 trainings" in capsys.readouterr().out
    assert main(["evaluate", str(one), *limits, "--seed", "1"]) == 0
    write_report([one], tmp_path / "page.html", videos=0)
    assert "intervals over trainings" not in text(tmp_path / "page.html")
    write_report([one, other], tmp_path / "page.html", videos=0)
    assert "2 trainings, temperature 1, until 200 points" in text(tmp_path / "page.html")


def test_searches_and_trainings_share_a_page(training, tmp_path):
    assert main(["explore", "two-mazes", "--game-frames", "6K", "--run-dir", str(tmp_path / "search")]) == 0
    write_report([tmp_path / "search", training], tmp_path / "page.html", videos=0)
    page = text(tmp_path / "page.html")
    assert "best search score" in page
    assert "maximum starting point" in page


def test_a_training_of_another_game_does_not(training, tmp_path, capsys):
    limits = ["--game-frames", "2K", "--run-dir", str(tmp_path / "search")]
    assert main(["explore", "montezuma-2021", *limits]) == 0
    assert main(["report", str(tmp_path / "search"), str(training)]) == 2
    said = capsys.readouterr().err
    assert "expected runs of one environment, got" in said
    assert "ALE/MontezumaRevenge-v5, two-mazes" in said


def test_the_paper_s_table_is_there_with_its_source():
    others = paper_policies("montezuma_revenge")
    assert len(others.rows) == 35
    assert "1901.10995" in others.source
    rows = {each.algorithm: each for each in others.rows}
    assert rows["Human expert"].score == 34_900
    assert rows["RND"].source == "Burda et al. 2018"
    assert rows["Go-Explore (best)"].statistic == "best episode"
    assert rows["Go-Explore"].game_frames == 4.35e9
    assert {each.algorithm: each.score for each in paper_policies("pitfall").rows}["TDC+CMC"] == 76_813
    assert not paper_policies("pong").rows
