"""Where lives end: maps, videos of typical failures, and the page."""

import dataclasses
import functools
import shutil

import av
import numpy as np
import pytest

from goexplore.api import find_policy
from goexplore.cli import main
from goexplore.demos import find_demonstrations
from goexplore.envs import NOWHERE, Location
from goexplore.errors import ConfigError, EvaluationError
from goexplore.evaluation import EvaluationConfig, PolicyPlayer, RandomPlayer, evaluate
from goexplore.games.two_mazes import TwoMazesConfig
from goexplore.problems import find_problem
from goexplore.report import (
    Moment,
    draw_deaths,
    photograph_rooms,
    play_failures,
    require_room_map,
    show,
    typical_failures,
    write_death_maps,
)
from goexplore.training import TrainingDirectory, TrainingLimits, run_training, training_preset
from tests.training.mazes import MONTEZUMA, native

CONFIG = EvaluationConfig(repetitions=1, max_game_frames=1500)
TILE = 162
"""A room of Montezuma's Revenge and what is between two."""


@pytest.fixture(scope="module")
def played():
    """Random play of Montezuma's Revenge, which loses many lives in the first room."""
    return evaluate(functools.partial(RandomPlayer, native(MONTEZUMA)), CONFIG)


def room(level, row, column):
    """Return the colours of a room's tile, given by its place on the map, without its number and count."""
    pixels = np.asarray(level.image)[..., :3]
    left = int(column * TILE * 1.75)
    return np.unique(pixels[row * TILE : row * TILE + 40, left + 4 : left + 270].reshape(-1, 3), axis=0)


def test_rooms_are_coloured_by_how_many_lives_ended_there():
    deaths = {Location(0, 1): 30, Location(0, 4): 3, Location(2, 1): 1, Location(0, 99): 5}
    first, third = draw_deaths(MONTEZUMA, deaths)
    assert (first.level, first.deaths, first.rooms, first.most) == (0, 33, 2, 30)
    assert (third.level, third.deaths, third.rooms, third.most) == (2, 1, 1, 30)
    assert first.title == "level 0: 33 lives ended in 2 rooms"
    assert third.title == "level 2: 1 life ended in 1 room"
    assert first.image.size == (int((9 * TILE - 2) * 1.75), 4 * TILE - 2)
    (worst,), (few,), (none,) = room(first, 0, 4), room(first, 1, 3), room(first, 0, 3)
    assert worst.sum() > few.sum() > none.sum()


def test_their_counts_are_written_in():
    def middle(count):
        (level,) = draw_deaths(MONTEZUMA, {Location(0, 1): count})
        return np.asarray(level.image)[55:105, int(4 * TILE * 1.75) :][:, 60:220]

    assert not np.array_equal(middle(7), middle(8)), "the colour is the same: the highest"


def test_without_deaths_the_first_level_is_empty():
    (level,) = draw_deaths(MONTEZUMA, {})
    assert (level.level, level.deaths, level.most) == (0, 0, 0)


def test_a_game_without_a_map_is_refused():
    with pytest.raises(ConfigError, match=r"rooms lie on a map .* got two-mazes: omit it"):
        require_room_map(TwoMazesConfig())
    require_room_map(find_problem("pitfall").env)


def test_demonstrations_show_what_rooms_look_like():
    pictures = photograph_rooms(find_demonstrations("montezuma-three-rooms"))
    assert len(pictures) == 3
    assert Location(0, 1) in pictures
    (level,) = draw_deaths(MONTEZUMA, {Location(0, 1): 2}, pictures)
    assert len(room(level, 0, 4)) > 3


def test_maps_are_written_one_for_each_level(tmp_path):
    deaths = {Location(0, 1): 2, Location(1, 1): 1}
    written = write_death_maps(tmp_path / "deaths.png", MONTEZUMA, deaths, title="mine")
    assert [file.name for file in written] == ["deaths.png", "deaths-1.png"]
    assert all(file.stat().st_size > 1000 for file in written)


class TestFailures:
    def test_the_worst_rooms_come_first(self, played):
        failures = typical_failures(played, 2)
        counts = played.deaths_by_room()
        assert [each.location for each in failures] == list(counts)[:2]
        assert failures[0].lives == counts[failures[0].location] == len(failures[0].examples)
        total = sum(counts.values())
        assert failures[0].caption.startswith(f"level 0, room 1: {failures[0].lives} of {total} lives")

    def test_a_game_without_rooms_has_one(self, played):
        episodes = [
            dataclasses.replace(
                each, deaths=tuple(dataclasses.replace(one, level=-1, room=-1) for one in each.deaths)
            )
            for each in played.episodes
        ]
        (failure,) = typical_failures(dataclasses.replace(played, episodes=episodes), 3)
        assert failure.location == NOWHERE
        assert "room" not in failure.caption

    def test_the_last_seconds_of_a_life_are_shown(self, played):
        player = RandomPlayer(native(MONTEZUMA))
        (failure,) = typical_failures(played, 1)
        episode, death = failure.examples[0]
        moments = list(play_failures(player, played, 1))
        assert 100 < len(moments) <= 8 * 60
        assert {moment.caption for moment in moments} == {failure.caption}
        assert 4 * moments[-1].training_frame + episode.no_ops == death.game_frame
        assert moments[-1].score == death.score
        assert moments[0].training_frame < moments[-1].training_frame

    def test_faster(self, played):
        player = RandomPlayer(native(MONTEZUMA))
        everything = list(play_failures(player, played, 1))
        some = list(play_failures(player, played, 1, every=4))
        assert abs(len(some) - len(everything) / 4) <= 1

    def test_without_lost_lives_there_is_nothing_to_show(self):
        make = functools.partial(RandomPlayer, TwoMazesConfig())
        safe = evaluate(make, EvaluationConfig(repetitions=1, max_game_frames=40))
        with pytest.raises(EvaluationError, match="lives are lost, got none"):
            play_failures(make(), safe, 1)

    def test_another_player_s_episodes_are_not_passed_off_as_these(self, played):
        other = dataclasses.replace(played, config=dataclasses.replace(CONFIG, seed=5))
        with pytest.raises(EvaluationError, match="evaluate again with this installation"):
            list(play_failures(RandomPlayer(native(MONTEZUMA)), other, 1))

    def test_the_caption_is_a_second_line(self):
        picture = np.zeros((210, 160, 3), np.uint8)
        plain, captioned = Moment(picture, 0.0, 7, 1.75), Moment(picture, 0.0, 7, 1.75, "level 0, room 1")
        assert show(captioned, overlay=True).shape == (468 + 48, 560, 3)
        assert np.array_equal(show(captioned, overlay=True)[:468], show(plain, overlay=True))
        assert np.array_equal(show(captioned), show(plain))


SHORT = ["--repetitions", "1", "--max-game-frames", "1000", "--workers", "1"]


def test_a_video_of_failures_plays_what_was_evaluated(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    hot = ["--temperature", "3"]  # the policy itself loses few lives so soon
    assert main(["evaluate", "montezuma-first-key", *SHORT, *hot]) == 0
    evaluated = capsys.readouterr().out
    assert "lives end in" in evaluated
    assert main(["video", "montezuma-first-key", "--failures", "1", "--scale", "1", *SHORT, *hot]) == 0
    said = capsys.readouterr()
    assert "31 of 31 episodes" in said.err
    assert "8 of 31 episodes" not in said.err, "they were there already"
    assert "video.mp4: " in said.out
    assert "\n  level 0, room 1: " in said.out
    with av.open("video.mp4") as film:
        assert 60 < sum(1 for _ in film.decode(video=0)) <= 480


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["montezuma-first-key-00", "--failures", "1"], "expected a policy for --failures"),
        (["montezuma-first-key", "--failures", "-1"], "expected --failures to be 1 or more"),
        (
            ["montezuma-first-key", "--failures", "1", "--no-ops", "3"],
            "expected no --no-ops and --repetition",
        ),
    ],
)
def test_what_has_no_failures_is_refused(arguments, message, capsys):
    assert main(["video", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_page_shows_where_lives_end(tmp_path, monkeypatch):
    config = dataclasses.replace(training_preset("tiny", "backward"), environments=8)
    run = tmp_path / "run"
    key = find_demonstrations("montezuma-first-key-00", verify=False)
    run_training(key, config, run_dir=run, limits=TrainingLimits(training_frames=1))
    shutil.copyfile(find_policy("montezuma-first-key"), TrainingDirectory.open(run).chosen_policy)
    make = functools.partial(PolicyPlayer, TrainingDirectory.open(run).chosen_policy, temperature=3.0)
    evaluate(make, dataclasses.replace(CONFIG, max_game_frames=800), file=run / "evaluations" / "e.parquet")
    monkeypatch.setattr("goexplore.report._page.policy_videos_section", lambda *arguments: "")
    assert main(["report", str(run), "--videos", "1", "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "Where lives end" in page
    assert 'alt="Where lives ended, level 0"' in page
    assert "lives that end there" in page
    assert page.count("<video") == 1
    assert main(["report", str(run), "--videos", "0", "--out", str(tmp_path / "page.html")]) == 0
    assert "<video" not in (tmp_path / "page.html").read_text()
