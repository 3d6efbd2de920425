"""Whether cells are of use: what a random play shows, and what is said before a search begins."""

import pytest

import goexplore
from goexplore.checks import CellCounts, judge_cells, play_preview, require_env
from goexplore.checks._preview import WALK
from goexplore.envs import Step
from goexplore.games.two_mazes import TwoMazes
from goexplore.problems import Combination, DownscaledConfig, Grid, Problem, Rendering, find_problem
from tests.fields import Corridor, Field, itself


def counts(cells, observations=None, frames=None):
    observations = list(observations or cells)
    return CellCounts.of(zip(cells, observations, strict=True), frames or len(observations))


def test_what_is_counted_can_be_counted_by_hand():
    found = counts("aabacd", [1, 2, 3, 1, 4, 4])
    assert (found.training_frames, found.states, found.cells, found.observations) == (6, 6, 4, 4)
    assert (found.again, found.again_new) == (2, 1), "the first came again as itself, the last in a new cell"
    assert found.largest == 3
    assert found.per_frame == pytest.approx(4 / 6)
    assert counts("abab").effective == pytest.approx(2)
    assert counts("aaaa").effective == pytest.approx(1)
    assert counts("").cells == 0


@pytest.mark.parametrize(
    ("cells", "observations", "kind", "text"),
    [
        ([0] * 50, range(50), "few", "1 cell in 50 training frames: nearly everything is one cell"),
        ([0] * 10, range(10), "fine", "1 cell in 10"),
        ([n % 4 for n in range(20_000)], range(20_000), "few", "4 cells in 20,000 training frames: most"),
        (
            [n // 1990 for n in range(2000)],
            range(2000),
            "few",
            "2 cells in 2,000 training frames: nearly every",
        ),
        ([n % 4 for n in range(20_000)], [n % 4 for n in range(20_000)], "fine", "4 cells in 20,000"),
        (
            [n % 40 for n in range(20_000)],
            range(20_000),
            "fine",
            "40 cells in 20,000 training frames, with 2%",
        ),
        (range(200), range(200), "many", "1.00 cells per training frame: hardly a cell is met twice"),
        ([n // 2 for n in range(200)], range(200), "fine", "100 cells in 200"),
        ([n * 6 // 10 for n in range(2000)], range(2000), "many", "0.60 cells per training frame"),
        (
            range(200),
            [n % 50 for n in range(200)],
            "many",
            "150 times an observation came again, and its cell was",
        ),
    ],
)
def test_cells_are_too_few_too_many_or_fine(cells, observations, kind, text):
    verdict = judge_cells(counts(cells, observations))
    assert verdict.kind == kind
    assert text in verdict.text


# ---- before a search --------------------------------------------------------------------------------------


class Clock(Field):
    """It says what time it is."""

    pit = None

    def reset(self):
        super().reset()
        self.time = 0

    def step(self, action):
        self.time += 1
        return super().step(action)

    def info(self):
        return {"time": self.time}

    def snapshot(self):
        return super().snapshot() + self.time.to_bytes(4, "little")

    def restore(self, snapshot):
        super().restore(snapshot[:3])
        self.time = int.from_bytes(snapshot[3:], "little")


def test_a_time_in_the_cell_is_named_before_anything_is_written(tmp_path, caplog):
    problem = Problem(env=Clock, cells=Grid("observation") + Grid("time"))
    (note,) = require_env(problem).notes
    assert "1.00 cells per training frame" in note or "1.01 cells per training frame" in note
    assert "is there a time or a counter in the cell?" in note
    goexplore.explore(problem, run_dir=tmp_path / "run", game_frames=100, workers=0)
    assert note in caplog.text


def test_one_cell_in_all_is_named_before_anything_is_written():
    (note,) = require_env(Problem(env=Field, cells=lambda seen: 0)).notes
    assert "nearly everything is one cell" in note
    assert "make cells finer" in note


@pytest.mark.parametrize("target", ["two-mazes", "montezuma", Corridor])
def test_good_cells_are_not_spoken_of(target):
    assert require_env(find_problem(target)).notes == ()


# ---- random play ------------------------------------------------------------------------------------------


def played(env, frames=500, **choices):
    return play_preview(Problem(env=env), choices, training_frames=frames)


def test_a_play_is_the_same_each_time_and_gives_every_choice_the_same_states():
    first, again = (played(TwoMazes, fine=Rendering(width=20, height=15), one=Grid("observation", dims=(0,)))
                    for _ in range(2))  # fmt: skip
    assert first.training_frames == 500
    assert [choice.visited for choice in first.choices] == [choice.visited for choice in again.choices]
    assert len(first.choices[0].visited) == len(first.choices[1].visited) == len(first)
    assert first.choices[0].growth()[-1] == len(first.choices[0].keys) > 10
    assert len(first.choices[1].keys) == 1
    assert (
        play_preview(Problem(env=TwoMazes), {"x": Rendering()}, training_frames=500, seed=1).actions
        != first.actions
    )


def test_walks_end_with_episodes_and_after_a_thousand_training_frames():
    endless = played(Clock, 2500, cells=Grid("observation"))
    assert list(endless.walks) == [0, WALK + 1, 2 * WALK + 2]
    corridor = played(Corridor, 300, cells=Grid("observation"))
    assert len(corridor.walks) > 5
    assert all(len(actions) < 255 for actions in corridor.actions)


def test_an_episode_that_ends_at_once_does_not_go_on_for_ever():
    class Over(Field):
        def step(self, action):
            return Step(0.0, terminated=True)

    assert played(Over, 50, cells=Grid("observation")).training_frames == 50


def test_a_choice_that_loses_an_episode_leaves_it_to_the_others():
    def lost_on_the_right(seen):
        return None if seen[0] > 3 else seen

    preview = played(
        Clock, 500, all=Grid("observation"), left=Problem(env=Field, cells=lost_on_the_right).cells
    )
    everywhere, left = preview.choices
    assert -1 in left.visited
    assert -1 not in everywhere.visited
    assert preview.counts(left).states < preview.counts(everywhere).states


def test_states_are_shown_by_playing_them_again():
    preview = played(Field, 400, cells=Problem(env=Field, cells=itself).cells)
    keys = list(preview.choices[0].keys)
    wanted = [399, 3, 77, 78, preview.walks[1]]
    shown = {state: repr(env.observation()).encode() for state, env in preview.show(wanted)}
    assert shown == {state: keys[preview.choices[0].visited[state]] for state in wanted}


def test_the_verdict_has_a_line_for_each_choice():
    preview = played(
        TwoMazes, 1200, one=Grid("observation", dims=(0,)), fine=DownscaledConfig(width=20, height=15)
    )
    first, second = preview.text().splitlines()
    assert first.startswith("one: 1 cell in 1,200 training frames: nearly everything is one cell")
    assert second.startswith("fine: ")
    assert second.endswith("neither too few nor too many")
    assert isinstance(Rendering() + itself, Combination)
