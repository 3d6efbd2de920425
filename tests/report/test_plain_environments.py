"""Reports and videos of environments that have no picture, no rooms, or nothing to win."""

import re
from pathlib import Path

import av
import numpy as np
import pytest

from goexplore.envs import Step
from goexplore.exploration import ExplorationConfig
from goexplore.problems import Problem
from goexplore.report import ArchiveView, has_map, play_moments, write_report
from goexplore.report._gallery import gallery
from goexplore.report._picture import picture_of
from goexplore.runs import Limits, SavedRun, run_search
from tests.fields import Corridor, Field, itself


class Meadow(Field):
    """Nothing to win and nothing to fear."""

    pit = None
    treasures = ()


class Closet(Meadow):
    """The same, but so small that every way is short."""

    size = 2


def explore(env, folder, *, game_frames=8000):
    problem = Problem(env=env, cells=itself, exploration=ExplorationConfig(batch_size=10))
    run_search(problem, run_dir=folder / "run", limits=Limits(game_frames=game_frames))
    return SavedRun.open(folder / "run", problem)


def report(saved, **settings):
    file = saved.path / "report.html"
    write_report([saved.path], file, problem=saved.problem, **settings)
    return file.read_text()


def test_an_environment_without_a_picture_is_shown_by_its_observation_as_text():
    env = Field()
    assert env.picture() is None
    before = picture_of(env).copy()
    assert before.shape == (160, 320, 3)
    assert (before != before[0, 0]).any(), "something is written there"
    env.step(0)
    assert (picture_of(env) != before).any()


@pytest.mark.parametrize(
    "observation",
    [7, "a word", (1, 2.5), np.arange(500.0), {"door": "open"}, None, "long " * 500, "", "ä\n\n日"],
    ids=str,
)
def test_whatever_is_observed_can_be_shown(observation):
    class Shown(Field):
        def observation(self):
            return observation

    assert picture_of(Shown()).shape == (160, 320, 3)


def test_an_image_that_is_observed_is_its_own_picture():
    class Grey(Field):
        def observation(self):
            return np.full((4, 5), 9, np.uint8)

    assert (picture_of(Grey()) == np.full((4, 5, 3), 9)).all()


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    return explore(Field, tmp_path_factory.mktemp("field"), game_frames=40_000)


def test_its_cells_are_a_gallery(field):
    view = ArchiveView(field.archive, field.problem)
    assert not has_map(view)
    shown = gallery(view)
    assert len(shown) > 10
    assert len({each.picture.tobytes() for each in shown}) == len(shown)


def test_ends_of_episodes_have_no_state_to_be_photographed(field):
    view = ArchiveView(field.archive, field.problem)
    ends = [entry.number for entry in field.archive if field.archive.has_ended(entry.number)]
    assert ends
    assert view.photograph(ends) is None
    assert not set(ends) & {each.entry for each in gallery(view)}


def test_a_page_without_rooms_does_not_speak_of_them(field):
    page = report(field, videos=1)
    assert "<b>20</b>best search score" in page
    assert "ends of episodes" in page
    for word in ("rooms", "highest level", "room -1", "level -1"):
        assert word not in re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)


def films(page, folder):
    """Return the number of frames of each video on a page."""
    import base64

    counts = []
    for number, data in enumerate(re.findall(r'src="data:video/mp4;base64,([^"]+)"', page)):
        file = Path(folder) / f"{number}.mp4"
        file.write_bytes(base64.b64decode(data))
        with av.open(str(file)) as container:
            counts.append(sum(1 for _ in container.decode(video=0)))
    return counts


def test_a_run_that_has_won_nothing_shows_what_it_found_and_no_film_of_one_frame(tmp_path):
    meadow = explore(Meadow, tmp_path)
    assert not meadow.archive.best_is_a_result
    counts = films(report(meadow), tmp_path)
    assert counts
    assert min(counts) > 5


def test_where_there_is_nothing_to_see_yet_the_page_says_so(tmp_path):
    page = report(explore(Closet, tmp_path))
    assert "<video" not in page
    assert "No trajectory has won anything or ended its episode yet." in page


def test_what_costs_points_shows_the_goal_first(tmp_path):
    corridor = explore(Corridor, tmp_path)
    page = report(corridor)
    shown = re.findall(r"search score (-?\d+) in (\d+) training frames", page)
    assert shown == [("-4", "4")], "a step towards it is no film of its own"
    assert "<b>-4</b>best search score" in page


def test_a_video_ends_with_the_end_of_the_episode(tmp_path):
    corridor = explore(Corridor, tmp_path)
    actions = corridor.archive.trajectory(corridor.archive.best)
    moments = list(play_moments(corridor.problem.env, [*actions, 1, 1]))
    assert [moment.score for moment in moments] == [0, -1, -2, -3, -4]


def test_rewards_are_added_as_they_were_by_the_search(tmp_path):
    """Of NumPy's numbers, the sum would have their precision."""

    class Tenths(Field):
        def step(self, action):
            super().step(action)
            return Step(np.float32(0.1))

    moments = list(play_moments(Problem(env=Tenths).env, bytes(30)))
    total = 0.0
    for _ in range(30):
        total += float(np.float32(0.1))
    assert moments[-1].score == total


def test_videos_say_how_far_they_are(field):
    lines = []
    report(field, videos=2, progress=lines.append)
    assert lines[0] == f"reading {field.path}"
    assert "drawing curves" in lines
    rendered = [line for line in lines if line.startswith("rendering video")]
    assert [line.partition(":")[0] for line in rendered] == [
        "rendering video 1 of 2",
        "rendering video 2 of 2",
    ]
