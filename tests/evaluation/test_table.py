"""Tables for papers and notes."""

import functools
import shutil
import subprocess

import pytest

from goexplore.cli import main
from goexplore.errors import ConfigError
from goexplore.evaluation import EvaluationConfig, OpenLoopPlayer, RandomPlayer, evaluate, write_table
from goexplore.games.two_mazes import TwoMazesConfig
from tests.training.mazes import demonstrate

CONFIG = EvaluationConfig(repetitions=1, until_score=200.0, repeat_action_probability=0.0)


@pytest.fixture
def found():
    return {
        "good_one": evaluate(functools.partial(OpenLoopPlayer, demonstrate()), CONFIG),
        "chance": evaluate(functools.partial(RandomPlayer, TwoMazesConfig()), CONFIG),
    }


def test_markdown(found, tmp_path):
    write_table(tmp_path / "t.md", found, found, temperature=0.5)
    head, rule, good, chance, mean, nothing, note = (tmp_path / "t.md").read_text().splitlines()
    assert head.startswith("| policy | episodes | truncated | policy score | 95 % interval |")
    assert rule.count("---:") == 6
    assert good == "| good_one | 31 | 0 | 200.0 | 200.0 to 200.0 | 100.0% | 89.0% to 100.0% |"
    assert chance.startswith("| chance | 31 | 0 | ")
    assert mean.startswith("| mean of 2 | 62 | 0 | ")
    assert mean.endswith("| 50.0% | 0.0% to 100.0% |")
    assert not nothing
    assert note.startswith(
        "sticky actions 0, each number of no-ops from 0 to 30 1 x, truncated after 400,000 game frames, "
        "ended at 200 points, temperature 0.5, seed 0"
    )
    assert "over 2 trainings (too narrow: over 2" in note


def test_truncated_episodes_are_counted(tmp_path):
    config = EvaluationConfig(repetitions=1, max_game_frames=40)
    found = {"chance": evaluate(functools.partial(RandomPlayer, TwoMazesConfig()), config)}
    write_table(tmp_path / "t.md", found, [], temperature=1.0)
    assert "| chance | 31 | 31 |" in (tmp_path / "t.md").read_text()


def test_latex(found, tmp_path):
    write_table(tmp_path / "t.tex", found, found, temperature=1.0)
    text = (tmp_path / "t.tex").read_text()
    assert r"good\_one & 31 & 0 & 200.0 & 200.0 to 200.0 & 100.0\% & 89.0\% to 100.0\% \\" in text
    if shutil.which("pdflatex"):
        page = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        (tmp_path / "page.tex").write_text(page)
        subprocess.run(["pdflatex", "-halt-on-error", "page.tex"], cwd=tmp_path, check=True)


def test_only_policies_are_averaged(found, tmp_path):
    write_table(tmp_path / "t.md", found, ["good_one"], temperature=1.0)
    assert "mean" not in (tmp_path / "t.md").read_text()


def test_other_formats_are_refused_before_the_work(tmp_path, capsys, found):
    with pytest.raises(ConfigError, match=r"\.md or \.tex"):
        write_table(tmp_path / "t.doc", found, found, temperature=1.0)
    assert main(["evaluate", "random:ALE/Pong-v5", "--table", str(tmp_path / "t.doc")]) == 2
    assert not capsys.readouterr().out
