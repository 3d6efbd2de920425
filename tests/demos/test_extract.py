"""Which trajectories become demonstrations, in a toy game."""

import shlex
from pathlib import Path

import pytest

from goexplore.archive import ScoreLength
from goexplore.cells import End
from goexplore.demos import Rules, Truncation, _extract, extract, keep_different, truncate
from goexplore.envs import Environment, Location, Step
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.exploration import Status
from goexplore.games import AtariGame
from goexplore.problems import EngineBinding, FactorySpec, Problem
from goexplore.replay import record, survey
from goexplore.runs import SavedRun
from tests.fields import candidate, result, rooted


class Ladder(Environment):
    """Action 1 pays a point, 2 costs one, 3 climbs to the next level, 4 down again, 5 ends the episode."""

    action_count = 6

    def __init__(self):
        self.steps = 0
        self.reset()

    def reset(self):
        self.level = 0

    def step(self, action):
        self.steps += 1
        self.level += {3: 1, 4: -1}.get(action, 0)
        return Step(float({1: 1, 2: -1}.get(action, 0)), terminated=action == 5)

    def observation(self):
        return self.level

    def snapshot(self):
        return bytes([self.level])

    def restore(self, snapshot):
        (self.level,) = snapshot

    def location(self):
        return Location(self.level, 0)


LADDER = Problem(env=Ladder)


def source(*trajectories, name="run", seed=0, problem=LADDER):
    """A run that found these trajectories, all from the initial state."""
    archive = rooted()
    for number, actions in enumerate(trajectories):
        env = Ladder()
        *_, last = [Step(0.0), *map(env.step, actions)]
        env.reset()
        score = sum(env.step(action).reward for action in actions)
        found = candidate(
            b"%d" % number,
            score=score,
            length=len(actions),
            offset=len(actions),
            location=env.location(),
            end=End.TERMINATED if last.ended else End.NONE,
        )
        archive.update([archive[0]], [result(found, actions=bytes(actions))], game_frame=number)
    path = Path(f"/runs/{name}")
    return SavedRun(
        path=path,
        problem=problem,
        seed=seed,
        archive=archive,
        status=Status(game_frames=1000),
        directory=None,
        checkpoint=path,
    )


def taken(*sources, **rules):
    truncation = {name: rules.pop(name) for name in list(rules) if hasattr(Truncation, name)}
    found = extract(sources, Rules(**rules, truncation=Truncation(**truncation)))
    return [list(each.actions) for each in found]


def test_the_best_is_the_one_with_the_highest_score():
    assert taken(source([0, 1], [1, 1, 0], [1, 2, 2])) == [[1, 1, 0]]


def test_of_equal_scores_the_shorter_one_is_the_best_then_the_first():
    assert taken(source([0, 0, 1], [0, 1], [1, 0])) == [[0, 1]]
    assert taken(source([0, 1], name="a"), source([1], name="b")) == [[1]]
    (demonstration,) = extract([source([0, 1], name="a"), source([1, 0], name="b")], Rules())
    assert demonstration.provenance.run == "a"


def test_each_run_gives_its_best():
    one, other = source([1], [1, 1], name="a"), source([0, 1], name="b")
    assert taken(one, other, take="per-run") == [[1, 1], [0, 1]]


def test_the_best_that_differ_leave_out_what_shares_most_of_its_way_with_a_better_one():
    long = [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    alike = [*long[:9], 0]
    half = [*long[:5], 1, 1, 0, 0, 0]
    found = source(long, alike, half)
    assert taken(found, take="different") == [long, half]
    assert taken(found, take="different", difference=0.05) == [long, alike, half]
    assert taken(found, take="different", count=1) == [long]


def test_the_same_trajectory_is_never_taken_twice():
    assert taken(source([0, 1, 0], [0, 1, 3]), take="different", difference=0, after_last_reward=True) == [
        [0, 1]
    ]


def test_only_from_the_highest_level_of_each_run():
    cursed = [1, 1, 1, 1]
    assert taken(source(cursed, [1, 3])) == [cursed]
    assert taken(source(cursed, [1, 3]), highest_level=True) == [[1, 3]]


def test_cut_to_a_length_another_trajectory_may_be_the_best():
    slow, quick = [0, 0, 0, 1, 1, 1], [1, 1, 0, 2, 2, 0]
    assert taken(source(slow, quick)) == [slow]
    assert taken(source(slow, quick), max_training_frames=3) == [[1, 1, 0]]
    assert taken(source(slow, quick), max_training_frames=3, after_last_reward=True) == [[1, 1]]


def test_what_lies_beyond_the_longest_cut_is_not_played(monkeypatch):
    surveyed = []
    monkeypatch.setattr(
        _extract, "survey", lambda env, actions: surveyed.extend(actions) or survey(env, actions)
    )
    found = source([0, 1, 0, 1], [0, 1, 1, 3], [0, 3])
    assert taken(found, take="different", difference=0, max_training_frames=2) == [[0, 1]]
    assert surveyed == [b"", b"\0\1", b"\0\3"], "the first two are equal once cut"


def test_a_level_may_be_reached_beyond_the_longest_cut():
    late, never = [0, 1, 0, 3], [1, 1, 1, 1]
    assert taken(source(late, never), until_level=1, max_training_frames=2) == [[0, 1]]


def test_cut_where_a_level_is_completed_the_score_until_there_counts():
    rich_later, rich_now = [3, 1, 1, 1], [1, 3]
    assert taken(source(rich_later, rich_now), until_level=1) == [[1, 3]]


def test_one_cell_can_be_asked_for():
    found = source([1, 1], [0, 1])
    assert taken(found, cell="2") == [[0, 1]]
    assert taken(found, cell="0x" + b"1".hex()) == [[0, 1]]
    with pytest.raises(ConfigError, match="expected `cell` to be an entry's number below 3, or a cell"):
        taken(found, cell="9")


def test_a_cell_that_looks_like_a_number_is_written_in_hexadecimal():
    found = source(*([1] * length for length in range(1, 41)))
    assert b"0".hex() == "30"
    assert taken(found, cell="0x30") == [[1]]
    assert taken(found, cell="30") == [[1] * 30]


@pytest.mark.parametrize("cell", ["²", "-1", "", "1.0"])
def test_what_is_neither_a_cell_nor_a_number_is_told(cell):
    with pytest.raises(ConfigError, match="expected `cell` to be an entry's number"):
        taken(source([1]), cell=cell)


def test_one_cell_need_not_have_won_anything():
    assert taken(source([1], [0, 0]), cell="2") == [[0, 0]]


def test_runs_without_points_are_left_out_and_said():
    said = []
    extract([source([1], name="rich"), source([0], name="poor")], Rules(take="per-run"), said.append)
    assert "poor has none" in said
    assert "rich has none" not in said


@pytest.mark.parametrize("rules", [{}, {"take": "different"}, {"max_training_frames": 9}])
def test_a_trajectory_that_does_not_win_what_the_archive_says_is_refused(rules):
    damaged = source([1, 1], [0, 1])
    damaged.archive.score_index.improve(1, ScoreLength(7.0, 2))
    with pytest.raises(
        DemonstrationError, match="expected a score of 7 from entry 1 of run, got 2 on replay"
    ):
        taken(damaged, **rules)


def test_the_command_that_an_error_names_can_be_copied():
    damaged = source([1, 1], name="it's $1")
    damaged.archive.score_index.improve(1, ScoreLength(7.0, 2))
    with pytest.raises(DemonstrationError) as error:
        taken(damaged)
    assert f"see `{shlex.join(['goexplore', 'verify', str(damaged.path)])}`" in str(error.value)
    assert shlex.quote(str(damaged.path)) != str(damaged.path)


class Generous(Ladder):
    """Pays twice."""

    def step(self, action):
        step = super().step(action)
        return step._replace(reward=2 * step.reward)


class Differing(FactorySpec):
    """A fast engine that pays twice, and a reference that does not."""

    def with_engine(self, wish):
        return EngineBinding(FactorySpec(Generous), "it is fast")

    def reference(self):
        return FactorySpec(Ladder)


def test_a_demonstration_wins_what_the_survey_of_its_run_said():
    """Runs are surveyed on the engine that is chosen, demonstrations recorded on the reference."""
    problem = Problem(env=Differing(Ladder))
    expected = "expected a score of 4 from entry 1 of run, got 2 on replay"
    with pytest.raises(DemonstrationError, match=expected):
        taken(source([1, 1, 1], problem=problem), max_training_frames=2)


def test_without_rules_that_change_the_order_only_what_is_taken_is_played(monkeypatch):
    played = []
    monkeypatch.setattr(
        _extract, "record", lambda env, actions: played.append(actions) or record(env, actions)
    )
    monkeypatch.setattr(_extract, "survey", lambda *_: pytest.fail("the whole archive was played"))
    assert taken(source([1], [0, 1], [1, 1]), take="different", count=1) == [[1, 1]]
    assert len(played) == 1


def test_the_highest_level_and_one_cell_go_together():
    with pytest.raises(DemonstrationError, match="expected a trajectory"):
        taken(source([0, 0]), highest_level=True, cell="1", until_score=5)


@pytest.mark.parametrize(
    ("rules", "wish"),
    [
        ({"until_level": 7}, "where level 7 is first reached"),
        ({"until_score": 9.0}, "where a score of 9.0 is first reached"),
        ({"after_last_reward": True}, "right after the last reward"),
    ],
)
def test_where_nothing_qualifies_the_message_says_what_was_wanted(rules, wish):
    with pytest.raises(DemonstrationError, match=f"that can be cut {wish}, got none from 1 run"):
        taken(source([0, 0], [2]), **rules)


def test_a_run_that_found_nothing_gives_no_demonstration():
    with pytest.raises(
        DemonstrationError,
        match="with a positive score, or that ends its episode, got none from 1 run: explore",
    ):
        taken(source([0], [2]))


def test_runs_of_different_environments_do_not_mix():
    other = source([1], problem=Problem(env=Generous))
    with pytest.raises(ConfigError, match="expected runs of one environment with equal settings"):
        taken(source([1]), other)


class OnLadders(AtariGame):
    """An Atari game by name, played on a ladder."""

    def with_engine(self, wish):
        return EngineBinding(self, "there is no other")

    def reference(self):
        return FactorySpec(Ladder)


def test_a_game_may_be_spelled_in_two_ways():
    one, other, skips = (
        source([1] * number, problem=Problem(env=OnLadders(game=game, frame_skip=frame_skip)))
        for number, game, frame_skip in (
            (1, "ALE/MontezumaRevenge-v5", 4),
            (2, "montezuma_revenge", 4),
            (3, "montezuma_revenge", 2),
        )
    )
    assert taken(one, other) == [[1, 1]]
    with pytest.raises(ConfigError, match="with equal settings"):
        taken(one, skips)


# ---- ends -------------------------------------------------------------------------------------------------


def test_where_no_score_is_positive_the_best_end_of_an_episode_is_taken():
    """Every step may cost something: the goal is the end."""
    assert taken(source([2, 2, 5], [2, 5], [0], [2, 0])) == [[2, 5]]
    (found,) = extract([source([2, 5])], Rules())
    assert (found.score, found.end) == (-1.0, End.TERMINATED)


def test_a_positive_score_is_preferred_to_an_end_without_one():
    assert taken(source([0, 5], [0, 0, 1])) == [[0, 0, 1]]


def test_of_positive_scores_an_end_counts_as_any_other():
    assert taken(source([1, 1, 5], [1])) == [[1, 1, 5]]
    assert taken(source([1, 5], [0, 1, 1])) == [[0, 1, 1]]


def test_each_run_is_looked_at_on_its_own():
    assert taken(source([2, 5], name="a"), source([1], name="b"), take="per-run") == [[1], [2, 5]]


def test_what_is_cut_before_its_end_ends_no_episode():
    with pytest.raises(
        DemonstrationError, match="or that ends its episode and that can be cut to 2 training"
    ):
        taken(source([2, 2, 5]), max_training_frames=2)
    assert taken(source([2, 2, 5]), max_training_frames=3) == [[2, 2, 5]]


# ---- what a demonstration says ----------------------------------------------------------------------------


def test_a_demonstration_knows_where_it_comes_from():
    rules = Rules(truncation=Truncation(until_score=1))
    (demonstration,) = extract([source([0, 1, 1], name="deep", seed=7)], rules)
    origin = demonstration.provenance
    assert (origin.run, origin.seed, origin.entry, origin.cell) == ("deep", 7, 1, b"0".hex())
    assert origin.truncation == ("where a score of 1 is first reached",)
    assert (demonstration.score, demonstration.rewards) == (1.0, (0.0, 1.0))
    assert (demonstration.action_count, demonstration.frame_skip, demonstration.game_frames) == (6, 1, 2)
    assert demonstration.target == "tests.demos.test_extract:Ladder"


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"count": 0}, "`count` to be 1 or more"),
        ({"difference": 1.5}, "`difference` to be between 0 and 1"),
    ],
)
def test_impossible_rules_are_refused(rules, message):
    with pytest.raises(ConfigError, match=f"expected {message}"):
        Rules(**rules)


def test_large_actions_are_compared_like_small_ones():
    assert list(keep_different([(1, 999, 3), (1, 999, 4), (1, 231, 3), (1, 999, 3)], 0.5)) == [0, 2]


# ---- demonstrations that are cut again --------------------------------------------------------------------


def demonstrated(*actions):
    """A demonstration out of a run that found these actions."""
    (found,) = extract([source(actions)], Rules())
    return found


def test_a_demonstration_is_cut_like_a_trajectory_of_a_run():
    whole = demonstrated(1, 3, 1, 2, 1)
    short = truncate(whole, Rules(truncation=Truncation(until_score=2)))
    assert (short.actions, short.score, short.location) == (bytes([1, 3, 1]), 2, Location(1, 0))
    assert short.provenance.truncation == ("where a score of 2 is first reached",)
    assert short.provenance.run == whole.provenance.run
    assert short.digest == record(Ladder(), short.actions).digest


def test_what_was_cut_no_longer_ends_its_episode():
    whole = demonstrated(1, 0, 5)
    assert whole.end is End.TERMINATED
    assert truncate(whole, Rules(truncation=Truncation(after_last_reward=True))).end is End.NONE


def test_a_beginning_must_win_something():
    with pytest.raises(DemonstrationError, match="to win something, got 1 training frames with 0 points"):
        truncate(demonstrated(0, 1), Rules(truncation=Truncation(max_training_frames=1)))


def test_without_a_rule_that_cuts_a_demonstration_stays_as_it_is():
    whole = demonstrated(1, 3, 1)
    assert truncate(whole, Rules()) is whole


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            Rules(truncation=Truncation(until_score=9)),
            "where a score of 9 is first reached, got one of 3",
        ),
        (Rules(truncation=Truncation(until_level=7)), "where level 7 is first reached, got one of 3"),
        (Rules(take="different"), "expected only rules that cut demonstrations"),
        (Rules(cell="3"), "expected only rules that cut demonstrations"),
    ],
)
def test_what_a_demonstration_cannot_give_is_refused(rules, message):
    with pytest.raises((ConfigError, DemonstrationError), match=message):
        truncate(demonstrated(1, 3, 1), rules)


# ---- surveys ----------------------------------------------------------------------------------------------


def test_a_survey_tells_what_each_trajectory_brings():
    trajectories = [bytes([1, 3, 1]), bytes([1, 3]), bytes([1, 2, 2]), b"", bytes([1, 3, 1, 1])]
    found = {
        number: (list(each.rewards), list(each.levels)) for number, each in survey(Ladder(), trajectories)
    }
    assert found == {
        0: ([1, 0, 1], [0, 1, 1]),
        1: ([1, 0], [0, 1]),
        2: ([1, -1, -1], [0, 0, 0]),
        3: ([], []),
        4: ([1, 0, 1, 1], [0, 1, 1, 1]),
    }


def test_a_level_that_is_left_again_stays_reached():
    ((_, found),) = survey(Ladder(), [bytes([0, 3, 4, 0, 3, 3])])
    assert list(found.levels) == [0, 1, 1, 1, 1, 2]
