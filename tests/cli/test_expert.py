"""The expert on the command line: it plays by itself, and ranks demonstrations by how robust they are."""

import re
from types import SimpleNamespace

import pytest
from PIL import Image

from goexplore.api import _experts
from goexplore.cli import main
from goexplore.demos import find_demonstrations, write_demonstration
from tests.cli.commands import goexplore_here
from tests.training.driving import WAY, Driving
from tests.training.mazes import ACTIONS, demonstrate

QUICK = ["--horizon", "12", "--tries", "2", "--random-plans", "4"]


def said(*arguments):
    """Return what a command printed, and what it logged."""
    result = goexplore_here(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout, result.stderr


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    file = tmp_path_factory.mktemp("demos") / "maze.demo.json"
    write_demonstration(demonstrate(), file)
    return file


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return tmp_path_factory.mktemp("films") / "expert.gif"


@pytest.fixture(scope="module")
def played(demo, film):
    return said("play-expert", demo, "--episodes", "6", *QUICK, "--workers", "2", "--video", film)


class TestPlayExpert:
    def test_it_says_how_often_it_reaches_the_end(self, played):
        printed, _ = played
        found = re.search(
            r"came to the demonstrations' end without losing a life in (\d) of 6 episodes: (\d+)% "
            r"\((\d+)% to (\d+)%\); on average (\d+)% of the way",
            printed,
        )
        reached, share, low, high, way = map(int, found.groups())
        assert reached >= 5
        assert low < share <= high
        assert way >= share
        assert re.search(r"mean score 1?\d\d|mean score 200", printed)
        assert re.search(r"[\d,]+ training frames played, [\d,]+ tried out", printed)

    def test_it_shows_every_episode(self, played):
        _, logged = played
        found = re.findall(r"episode (\d) of 6: (\w+), score (\d+), (\d+)% of the way in \d+ tr", logged)
        assert [number for number, *_ in found] == list("123456")
        assert ("goal", "200", "100") in [tuple(rest) for _, *rest in found]

    def test_the_best_episode_becomes_a_film(self, played, film):
        printed, _ = played
        pictures = int(re.search(r"expert\.gif: (\d+) pictures, score 200", printed).group(1))
        assert pictures >= len(ACTIONS) // 4, "a GIF has every fourth picture"
        with Image.open(film) as opened:
            assert opened.format == "GIF"
            assert 10 < opened.n_frames <= pictures

    def test_the_number_of_workers_changes_nothing(self, demo, played):
        printed, _ = said("play-expert", demo, "--episodes", "6", *QUICK, "--workers", "1")
        assert printed.splitlines() == played[0].splitlines()[: len(printed.splitlines())]

    def test_a_problem_from_an_import_path_has_to_be_named(self, tmp_path, complaint):
        write_demonstration(demonstrate(WAY, Driving), tmp_path / "car.demo.json")
        words = complaint("play-expert", tmp_path, "--episodes", 1)
        assert "add --problem tests.training.driving:Driving" in words
        printed, _ = said(
            *("play-expert", tmp_path, "--episodes", 3, *QUICK, "--workers", 1),
            *("--problem", "tests.training.driving:Driving"),
        )
        assert "of 3 episodes" in printed

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--episodes", "0"], "expected --episodes to be 1 or more"),
            (["--workers", "0"], "expected --workers to be 1 or more"),
            (["--video", "film.txt"], r".mp4 or .gif"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, demo, complaint, arguments, words):
        assert words in complaint("play-expert", demo, *arguments)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = tmp_path_factory.mktemp("ranking") / "run"
    said("explore", "two-mazes", "--run-dir", run, "--game-frames", "60K", "--workers", "1")
    return run


def progress_of(demonstration):
    """Return a made-up progress that has nothing to do with how demonstrations are sorted otherwise."""
    return demonstration.actions.count(1) % 7 / 8


def told(settings, count, **_):
    (demonstration,) = settings.demonstrations
    return SimpleNamespace(reached_goal=0, progress=progress_of(demonstration))


class TestRanking:
    def test_every_demonstration_is_played_and_written(self, run, tmp_path):
        printed, logged = said(
            *("demos", run, "--out", tmp_path / "demos", "--take", "different", "--count", "3"),
            *("--rank-robust", "2", "--workers", "1"),
        )
        found = re.findall(
            r"demonstration (\d) \(score ([\d,]+), ([\d,]+) training frames\): the expert reaches its end in "
            r"(\d) of 2 episodes, and goes (\d+)% of the way on average",
            logged,
        )
        assert [int(number) for number, *_ in found] == list(range(len(found)))
        assert len(found) > 1
        assert {goals for *_, goals, _ in found} <= {"0", "1", "2"}
        order = sorted(found, key=lambda each: (-int(each[3]), -int(each[4]), int(each[0])))
        written = find_demonstrations(str(tmp_path / "demos"))
        assert [(f"{each.score:,.0f}", f"{len(each.actions):,}") for each in written] == [
            (score, length) for _, score, length, _, _ in order
        ]
        assert printed.count("; replayed") == len(found)

    def test_others_of_which_too_little_is_reached_are_left_out(self, run, tmp_path, monkeypatch, capsys):
        """The expert is told how far it comes with each demonstration, by its length."""
        monkeypatch.setattr(_experts, "play_trials", told)
        arguments = ["--take", "different", "--count", "4", "--rank-robust", "2", "--workers", "1"]
        ways = {"all": [], "half": ["--least-robust", "0.5"]}
        for name, more in ways.items():
            assert main(["demos", str(run), "--out", str(tmp_path / name), *arguments, *more]) == 0
            capsys.readouterr()
            ways[name] = [progress_of(each) for each in find_demonstrations(str(tmp_path / name))]
        assert len(ways["all"]) == 4
        assert ways["all"] == sorted(ways["all"], reverse=True)
        assert ways["half"] == [each for each in ways["all"] if each >= 0.5]
        assert 0 < len(ways["half"]) < 4

    def test_all_may_be_too_fragile(self, run, tmp_path, monkeypatch, complaint):
        monkeypatch.setattr(_experts, "play_trials", told)
        words = complaint("demos", run, "--out", tmp_path / "demos", "--rank-robust", 2, "--least-robust", 1)
        assert "expected a demonstration of which the expert goes at least 100% of the way" in words
        assert not list(tmp_path.glob("demos/*"))

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--rank-robust", "0"], "expected --rank-robust to be 1 or more"),
            (
                ["--rank-robust", "2", "--least-robust", "1.5"],
                "expected --least-robust to be between 0",
            ),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, run, tmp_path, complaint, arguments, words):
        assert words in complaint("demos", run, "--out", tmp_path / "demos", *arguments)
        assert not (tmp_path / "demos").exists()
