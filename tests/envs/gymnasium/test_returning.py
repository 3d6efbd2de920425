"""Ways to return: each is proven by play before it is trusted, and none of them changes what is found."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

import goexplore
from goexplore.checks import check_env, choose_way, require_env
from goexplore.envs.gymnasium import CopyCache, _plain
from goexplore.envs.gymnasium._returning import Moment, find_copier
from goexplore.errors import EnvironmentContractError, SnapshotError
from goexplore.problems import Gymnasium, Problem
from tests.envs.gymnasium import worlds


def proven(kind):
    return require_env(Problem(env=Gymnasium(factory=kind), cells=lambda obs: int(obs["x"][0])))


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        (worlds.Walk, "copies"),
        (worlds.Saves, "state"),
        (worlds.OnlyOne, "state"),
        (worlds.SavesHalf, "copies"),
        (worlds.ForgetsInCopies, "replay"),
        (worlds.ForgetsAndCannotCopy, "replay"),
        (worlds.SharesInCopies, "replay"),
    ],
)
def test_the_first_way_that_works_is_chosen(kind, way):
    assert proven(kind).problem.env.engine == way


def test_why_a_way_was_not_chosen_is_said():
    reason = proven(worlds.ForgetsInCopies).reason
    assert reason.startswith("replay: it replays the actions from a reset with the same seed (not by state: ")
    assert "not by copies: expected a restored state to go on" in reason


def test_a_way_that_does_not_work_is_refused_if_it_is_asked_for():
    problem = Problem(env=Gymnasium(factory=worlds.ForgetsInCopies), cells=lambda obs: 0)
    problem, _ = problem.with_engine("copies")
    with pytest.raises(EnvironmentContractError, match="expected a restored state to go on"):
        require_env(problem)
    with pytest.raises(goexplore.GoExploreError, match="expected `engine` auto, state, copies or replay"):
        problem.with_engine("native")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (worlds.DrawsGlobally, "draws from the global generators of `random` or `numpy.random`"),
        (worlds.DrawsFromPython, "draws from the global generators of `random` or `numpy.random`"),
        (
            worlds.NotDeterministic,
            "expected the same results from the same actions after `reset`",
        ),
        (worlds.Objects, "expected the same "),
    ],
)
def test_what_is_not_deterministic_is_refused_before_anything_is_written(kind, text, tmp_path):
    with pytest.raises(EnvironmentContractError, match=text):
        goexplore.explore(kind, cell=lambda obs: int(obs["x"][0]), run_dir=tmp_path / "run", game_frames=1000)
    assert not (tmp_path / "run").exists()


def test_an_observation_space_that_lies_is_named():
    notes = proven(worlds.Lies).notes
    assert any(
        note.startswith("the observation space says Box(0.0, 1.0, (2,), float32) for x, but")
        for note in notes
    )
    assert not any("observation space" in note for note in proven(worlds.Walk).notes)


def test_a_cell_that_counts_steps_is_named():
    problem = Problem(env=Gymnasium(factory=worlds.Endless), cells=lambda obs, info: info["steps"])
    assert any("is there a time or a counter in the cell?" in note for note in require_env(problem).notes)


def archive_files(folder):
    return {file.name: file.read_bytes() for file in sorted(folder.glob("checkpoints/*/*.parquet"))}


def cell(obs):
    return int(obs["x"][0] * 2)


def limited():
    return TimeLimit(worlds.Walk(), 60)


def saved():
    return TimeLimit(worlds.Saves(), 60)


def explored(factory, folder, engine, workers=0, **limits):
    limits = limits or {"game_frames": 20_000}
    return goexplore.explore(factory, cell=cell, run_dir=folder, engine=engine, workers=workers, **limits)


def test_copies_and_replay_find_the_same_bytes_and_tell_what_it_cost(tmp_path):
    copies = explored(limited, tmp_path / "copies", "copies")
    replay = explored(limited, tmp_path / "replay", "replay")
    workers = explored(limited, tmp_path / "workers", "copies", workers=2)
    found = archive_files(tmp_path / "copies")
    assert found
    assert found == archive_files(tmp_path / "replay") == archive_files(tmp_path / "workers")
    assert copies.status.game_frames_replayed == 0
    assert replay.status.game_frames_replayed == (
        replay.status.game_frames_with_replay - replay.status.game_frames
    )
    assert 0 < workers.status.game_frames_replayed < replay.status.game_frames_replayed


@pytest.mark.parametrize("factory", [limited, saved])
def test_a_time_limit_is_part_of_the_state(factory, tmp_path):
    run = explored(factory, tmp_path / "run", "auto")
    assert run.verify().mismatches == ()
    table = run.to_pandas()
    assert table.length.max() == 60
    assert (table[table.end == "truncated"].length == 60).all()
    assert (table.end == "truncated").any()


@pytest.mark.parametrize("engine", ["state", "copies", "replay"])
def test_a_resumed_search_goes_on_as_if_it_had_not_stopped(engine, tmp_path):
    explored(saved, tmp_path / "whole", engine)
    explored(saved, tmp_path / "parts", engine, game_frames=7_000)
    explored(saved, tmp_path / "parts", "auto", game_frames=20_000, resume=True)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    last = sorted((whole / "checkpoints").iterdir())[-1], sorted((parts / "checkpoints").iterdir())[-1]
    for name in ("archive.parquet", "segments.parquet"):
        assert (last[0] / name).read_bytes() == (last[1] / name).read_bytes()


def test_those_that_share_an_emulator_take_turns():
    spec = Gymnasium(factory=worlds.OnlyOne).with_engine("state").env
    one, other, alone = spec(), spec(), Gymnasium(factory=worlds.Saves).with_engine("state").env()
    for env in (one, other, alone):
        env.reset()
    for at in range(30):
        step = one.step(at % 3 != 0)
        assert step == alone.step(at % 3 != 0)
        other.step(0)
        assert one.observation()["x"] == alone.observation()["x"]
    assert one.snapshot() == alone.snapshot()
    for env in (one, other, alone):
        env.close()
    again = spec()  # the emulator was closed with the last of them
    again.close()


def test_a_picture_does_not_get_in_the_way_of_copies():
    env = Gymnasium(id="CartPole-v1").with_engine("copies").env()
    env.reset()
    before = env.snapshot()
    env.step(0)
    assert env.picture().shape[2] == 3
    snapshot = env.snapshot()
    env.restore(before)
    env.restore(snapshot)
    assert env.replayed == 0


def test_damaged_snapshots_are_refused():
    for engine in ("state", "copies"):
        env = Gymnasium(factory=lambda: worlds.Saves()).with_engine(engine).env()
        env.reset()
        with pytest.raises((SnapshotError, EnvironmentContractError)):
            env.restore(b"\xff\x00\xff")


def test_a_damaged_state_is_refused_in_one_line():
    env = Gymnasium(factory=worlds.Saves).with_engine("state").env()
    env.reset()
    good = env.snapshot()
    for damaged in (b"", good[:-3], good[::-1], _plain.encode((1, [{"step": 3}])), _plain.encode((1, [7]))):
        with pytest.raises(SnapshotError, match="expected a state of this environment"):
            env.restore(damaged)
    env.restore(good)


def test_views_of_constants_are_not_written_through():
    class Rooms(gymnasium.Wrapper):
        PLANS = np.zeros((3, 4), np.int8)

        def step(self, action):
            found = self.env.step(action)
            self.plan = self.PLANS[int(found[0]["x"][0]) % 3]
            return found

    env = Gymnasium(factory=lambda: Rooms(worlds.Saves())).with_engine("state").env()
    env.reset()
    before = env.snapshot()
    Rooms.PLANS[1] = 1
    for _ in range(5):
        env.step(1)
    env.restore(before)
    assert Rooms.PLANS[1].tolist() == [1, 1, 1, 1]


def test_an_environment_can_be_closed_twice():
    spec = Gymnasium(factory=worlds.OnlyOne).with_engine("state").env
    one, other = spec(), spec()
    one.close()
    one.close()
    other.reset()
    other.step(0)
    other.close()
    spec().close()


def moments(kind=worlds.Walk):
    env = kind()
    observation, info = env.reset(seed=0)
    while True:
        yield Moment(env, observation, info)
        observation, _, _, _, info = env.step(4)


def test_the_nearest_copy_on_the_way_is_taken():
    steps = moments()
    first = next(steps)
    cache = CopyCache(find_copier(first, None))
    cache.put(b"", first)
    for _ in range(3):
        moment = next(steps)
    cache.put(b"\1\1\1", moment)
    assert cache.nearest(b"\1\1\1", None)[0] == 3
    assert cache.nearest(b"\1\1\1\0\0", None)[0] == 3
    length, (env, observation, _) = cache.nearest(b"\1\1\0", None)
    assert (length, env.x, observation["x"].tolist()) == (0, 0.0, [0.0])


def test_copies_take_no_more_memory_than_allowed():
    steps = moments()
    cache = CopyCache(find_copier(next(steps), None), limit_bytes=20_000)
    for number in range(200):
        cache.put(bytes(number), next(steps))
    assert 2 <= len(cache) < 100
    assert cache.nearest(bytes(199), None)[0] == 199  # the newest is there, the oldest are gone
    assert cache.nearest(bytes(3), None) is None


def test_large_observations_count_as_memory():
    copier = find_copier(next(moments()), None)
    cache = CopyCache(copier, limit_bytes=500_000)
    noise = np.random.default_rng(0)
    for number, moment in zip(range(50), moments(), strict=False):
        cache.put(bytes(number), moment._replace(observation=noise.integers(0, 256, 100_000, np.uint8)))
    assert len(cache) < 10


def test_training_gets_the_proven_way():
    assert choose_way(Gymnasium(factory=worlds.Walk)).env.engine == "copies"


def test_check_env_says_how_it_returns():
    text = check_env(worlds.Walk, cell=lambda obs: 0, steps=60).text()
    assert (
        "return: copies: it keeps copies of it in memory, and replays from the nearest (not by state" in text
    )


@pytest.mark.parametrize("id", ["Ant-v5", "InvertedPendulum-v5"])
def test_mujoco_returns_by_its_state(id):
    pytest.importorskip("mujoco")
    found = require_env(Problem(env=Gymnasium(id=id), cells=lambda obs: 0))
    assert found.problem.env.engine == "state"


@pytest.mark.slow
def test_ale_returns_by_its_state_where_no_action_sticks():
    ale_py = pytest.importorskip("ale_py")
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)

    def breakout():
        return gymnasium.make("ALE/Breakout-v5", repeat_action_probability=0.0)

    found = require_env(Problem(env=Gymnasium(factory=breakout), cells=lambda obs: int(np.sum(obs)) // 10**5))
    assert found.problem.env.engine == "state"
