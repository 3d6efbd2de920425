"""The protocol: who plays, what is counted, and that it is the same every time."""

import dataclasses
import functools
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from goexplore.api import find_policy
from goexplore.cli import main
from goexplore.demos import write_demonstration
from goexplore.envs import Location, NativeAtariEnv
from goexplore.errors import ConfigError, EngineError, PolicyError, ProblemError
from goexplore.evaluation import (
    Death,
    Episode,
    EpisodeInPlay,
    Evaluation,
    EvaluationConfig,
    OpenLoopPlayer,
    Player,
    PolicyPlayer,
    RandomPlayer,
    evaluate,
    play_episodes,
    share_with_interval,
)
from goexplore.games import AtariGame
from goexplore.games.two_mazes import TwoMazesConfig
from goexplore.play import PreprocessingConfig
from goexplore.problems import FactorySpec, Problem
from goexplore.random import SplitMix64
from goexplore.training import About, NetworkConfig, load_policy, save_policy
from tests.fields import Corridor, Field, Lock
from tests.training.mazes import ACTIONS, MONTEZUMA, demonstrate, first_key, key_after_a_fall, native

ONCE = EvaluationConfig(repetitions=1)


def untrained(env, file, *, shape, **changes):
    """Write a policy that has learnt nothing, and return its file."""
    about = About(
        target=env.target,
        env=env,
        preprocessing=PreprocessingConfig(stack=1),
        shape=shape,
        network=NetworkConfig(channels=(), hidden=16),
        actions=env().action_count,
    )
    about = dataclasses.replace(about, **changes)
    save_policy(about.build(), about, file)
    return file


@pytest.fixture
def policy(tmp_path):
    """A policy of the two mazes that has learnt nothing."""
    torch.manual_seed(0)
    return untrained(TwoMazesConfig(), tmp_path / "policy.safetensors", shape=(1, 15, 20))


class Scripted(Player):
    """Plays the same actions in every episode, then nothing."""

    def __init__(self, env, actions):
        self.env, self._actions = env, actions

    def identity(self):
        return {"script": list(self._actions)}

    def begin(self, episodes):
        self._step = -1

    def act(self, episodes, observations, random):
        self._step += 1
        return [self._actions[self._step] if self._step < len(self._actions) else 0] * len(episodes)


def blind():
    return OpenLoopPlayer(demonstrate())


def test_every_number_of_no_ops_is_played_equally_often():
    evaluation = evaluate(blind, EvaluationConfig(repetitions=3))
    played = [(each.no_ops, each.repetition) for each in evaluation.episodes]
    assert sorted(played) == [(no_ops, repetition) for no_ops in range(31) for repetition in range(3)]


def test_without_sticky_actions_a_demonstration_of_the_mazes_succeeds():
    """No-ops only cost time there."""
    evaluation = evaluate(blind, EvaluationConfig(repetitions=1, repeat_action_probability=0.0))
    assert evaluation.score == 200
    assert {each.game_frames - each.no_ops for each in evaluation.episodes} == {len(ACTIONS)}


def test_the_score_is_the_mean_of_the_means():
    def episode(no_ops, score):
        return Episode(
            seed=0,
            no_ops=no_ops,
            repetition=0,
            score=score,
            first_life_score=0.0,
            game_frames=1,
            lives_lost=0,
            level=0,
            rooms=1,
            truncated=False,
        )

    lopsided = [episode(0, 310.0)] * 9 + [episode(no_ops, 0.0) for no_ops in range(1, 31)]
    assert Evaluation(config=ONCE, episodes=lopsided).score == pytest.approx(10.0)


def test_an_episode_ends_at_the_cap():
    config = EvaluationConfig(repetitions=1, max_game_frames=100)
    episodes = play_episodes(Scripted(TwoMazesConfig(), b""), config, 0, range(31))
    assert all(each.truncated and each.game_frames == 100 for each in episodes)


def test_or_when_the_game_is_over():
    config = EvaluationConfig(repetitions=1, max_game_frames=None)
    episodes = play_episodes(Scripted(TwoMazesConfig(), b""), config, 0, range(31))
    assert not any(each.truncated for each in episodes)
    assert {each.game_frames for each in episodes} == {400}


def test_or_at_a_score():
    config = EvaluationConfig(repetitions=1, until_score=100.0, repeat_action_probability=0.0)
    episodes = play_episodes(blind(), config, 0, range(31))
    assert {each.score for each in episodes} == {100.0}
    assert {each.game_frames - each.no_ops for each in episodes} == {22}


def test_lives_and_rooms_are_counted():
    """Right, off the ledge of Montezuma's Revenge, again and again."""
    player = Scripted(native(MONTEZUMA), bytes([3]) * 2000)
    episodes = play_episodes(player, EvaluationConfig(repetitions=1, max_game_frames=6000), 0, range(31))
    assert all(each.lives_lost == 6 for each in episodes), "five to spare, and the last one"
    assert all(each.score == each.first_life_score == 0 for each in episodes)
    assert {(each.level, each.rooms) for each in episodes} == {(0, 1)}
    for each in episodes:
        assert [(death.level, death.room, death.score) for death in each.deaths] == [(0, 1, 0.0)] * 6
        frames = [death.game_frame for death in each.deaths]
        assert frames == sorted(set(frames))
        assert frames[-1] == each.game_frames, "the game is over with the last life"


def test_what_was_won_after_a_death_is_not_of_the_first_life():
    """Follow the demonstration of the first key, in the first life or after a fall off the ledge."""
    key = first_key()
    config = EvaluationConfig(repetitions=1, repeat_action_probability=0.0)

    def play(actions):
        episode = EpisodeInPlay(Scripted(native(key.env), actions), config, no_ops=0, repetition=0)
        for action in actions:
            episode.step(action)
        return episode.record()

    straight = play(key.actions)
    assert straight.score == straight.first_life_score == 100
    assert straight.lives_lost == 0
    late = play(key_after_a_fall().actions)
    assert late.lives_lost == 1
    assert late.score == 100
    assert late.first_life_score == 0
    (death,) = late.deaths
    assert (death.location, death.score) == (Location(0, 1), 0)
    assert 0 < death.game_frame < late.game_frames


def ended(no_ops, score, deaths=(), **changes):
    """Return an episode by hand; deaths are level, room and score."""
    lost = tuple(
        Death(level=level, room=room, score=then, game_frame=100 * number)
        for number, (level, room, then) in enumerate(deaths, 1)
    )
    episode = Episode(
        seed=0,
        no_ops=no_ops,
        repetition=0,
        score=score,
        first_life_score=lost[0].score if lost else score,
        game_frames=1000,
        lives_lost=len(lost),
        level=0,
        rooms=1,
        truncated=False,
        deaths=lost,
    )
    return dataclasses.replace(episode, **changes)


def test_shares_and_rooms_by_hand():
    episodes = [
        ended(0, 500.0, [(0, 1, 100.0), (0, 4, 500.0)]),
        ended(1, 500.0, [(0, 4, 500.0)], level=1),
        ended(2, 900.0, [(0, 4, 0.0), (1, 4, 900.0), (0, 1, 900.0)], level=2),
        ended(3, 0.0, truncated=True),
    ]
    evaluation = Evaluation(config=ONCE, episodes=episodes)
    assert evaluation.reached(500) == share_with_interval(3, 4)
    assert evaluation.first_lives_reached(500) == share_with_interval(1, 4)
    assert [evaluation.reached_level(level).value for level in range(4)] == [1.0, 0.5, 0.25, 0.0]
    assert evaluation.highest_level == 2
    assert list(evaluation.deaths_by_room().items()) == [
        (Location(0, 4), 3),
        (Location(0, 1), 2),
        (Location(1, 4), 1),
    ]


def test_lives_of_a_game_without_rooms_end_in_none_of_them():
    evaluation = Evaluation(config=ONCE, episodes=[ended(0, 0.0, [(-1, -1, 0.0)], level=-1)])
    assert evaluation.deaths_by_room() == {}


def test_where_the_native_engine_cannot_go_on_ale_py_does(monkeypatch):
    """After nine minutes of doing nothing, Montezuma's Revenge has a frame that does not end in time."""
    config = EvaluationConfig(repetitions=1, max_game_frames=60)
    expected = play_episodes(Scripted(MONTEZUMA, bytes([3, 4, 3])), config, 0, range(3))

    def refuse(self, actions):
        raise EngineError("a frame without an end")

    monkeypatch.setattr(NativeAtariEnv, "play", refuse)
    assert play_episodes(Scripted(native(MONTEZUMA), bytes([3, 4, 3])), config, 0, range(3)) == expected


def test_a_score_counter_that_rolls_over_costs_a_policy_nothing():
    """The counter stands at 999,950, in digits of four bits, when the key is taken."""
    key = first_key()
    config = EvaluationConfig(repetitions=1, repeat_action_probability=0.0)
    episode = EpisodeInPlay(Scripted(key.env, key.actions), config, no_ops=0, repetition=0)
    ale = episode.game.env._ale
    for address, digits in zip(range(0x13, 0x16), (0x99, 0x99, 0x50), strict=True):
        ale.setRAM(address, digits)  # a jump that ale-py takes for points
    for action in key.actions:
        episode.step(action)
    assert ale.getRAM()[0x13:0x16].tolist() == [0, 0, 0x50], "it rolled over"
    assert episode.record().score == 999_950 + 100


class TestMistakes:
    def test_a_policy_for_another_game(self, policy):
        loaded, about = load_policy(policy)
        other = dataclasses.replace(about, target="ALE/Pitfall-v5", env=AtariGame(game="pitfall"))
        save_policy(loaded, other, policy)
        with pytest.raises(PolicyError, match="made for another game"):
            evaluate(functools.partial(PolicyPlayer, policy), ONCE)

    @pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
    def test_a_temperature_that_is_none(self, policy, temperature):
        with pytest.raises(ConfigError, match="`temperature`"):
            PolicyPlayer(policy, temperature=temperature)

    @pytest.mark.parametrize(
        "settings",
        [
            {"until_score": float("nan")},
            {"max_game_frames": 30},
            {"repeat_action_probability": 1.0},
            {"repetitions": 0},
            {"repetitions": 10**9},
            {"seed": -1},
            {"seed": 2**63},
        ],
    )
    def test_settings_that_make_no_sense(self, settings):
        (name,) = settings
        with pytest.raises(ConfigError, match=f"`{name}`"):
            EvaluationConfig(**settings)


class TestSameEveryTime:
    CONFIG = EvaluationConfig(repetitions=2, max_game_frames=60)

    def test_one_seed_gives_the_same_episodes(self, policy):
        make = functools.partial(PolicyPlayer, policy)
        first = evaluate(make, self.CONFIG)
        assert evaluate(make, self.CONFIG) == first

    def test_another_seed_gives_others(self):
        found = [evaluate(blind, EvaluationConfig(repetitions=1, seed=seed)).episodes for seed in (0, 1)]
        assert found[0] != found[1]

    def test_with_any_number_of_workers(self, policy):
        make = functools.partial(PolicyPlayer, policy)
        assert evaluate(make, self.CONFIG, workers=2) == evaluate(make, self.CONFIG)

    def test_random_players_too(self):
        make = functools.partial(RandomPlayer, TwoMazesConfig())
        assert evaluate(make, self.CONFIG) == evaluate(make, self.CONFIG)


def test_a_policy_of_a_lower_temperature_is_more_decided(policy):
    observation = [np.full((1, 15, 20), 255, np.uint8)] * 200
    most = {}
    for temperature in (1e-4, 1.0, 100.0):
        player = PolicyPlayer(policy, temperature=temperature)
        player.begin(200)
        streams = [SplitMix64(number) for number in range(200)]
        actions = player.act(np.arange(200), observation, streams)
        most[temperature] = max(actions.count(action) for action in range(5))
    assert most[1e-4] == 200 > most[1.0] >= most[100.0]


def test_the_temperature_divides_the_logits(policy):
    """Half the temperature is twice the logits: probabilities are squared, then brought to a sum of 1."""
    loaded, about = load_policy(policy)
    loaded.policy.bias.data[:] = torch.log(torch.tensor([0.8, 0.2, 1e-9, 1e-9, 1e-9]))
    loaded.policy.weight.data.zero_()
    save_policy(loaded, about, policy)
    player = PolicyPlayer(policy, temperature=0.5)
    player.begin(4000)
    streams = [SplitMix64(number) for number in range(4000)]
    actions = player.act(np.arange(4000), [np.zeros((1, 15, 20), np.uint8)] * 4000, streams)
    assert actions.count(1) / 4000 == pytest.approx(0.04 / 0.68, abs=0.012)


class TestPolicyFile:
    def test_what_is_loaded_is_what_was_saved(self, policy, tmp_path):
        loaded, about = load_policy(policy)
        save_policy(loaded, about, tmp_path / "again.safetensors")
        again, same = load_policy(tmp_path / "again.safetensors")
        assert about == same
        for one, other in zip(loaded.parameters(), again.parameters(), strict=True):
            assert torch.equal(one, other)

    @pytest.mark.parametrize("position", [20, -1])
    def test_a_changed_byte_is_noticed(self, policy, position):
        content = bytearray(policy.read_bytes())
        content[position] ^= 1
        policy.write_bytes(content)
        with pytest.raises(PolicyError, match=r"copy it again|another kind of file"):
            load_policy(policy)

    def test_a_file_cut_short_is_noticed(self, policy):
        policy.write_bytes(policy.read_bytes()[:-10])
        with pytest.raises(PolicyError, match="or a damaged one"):
            load_policy(policy)

    def test_another_file_is_refused(self, tmp_path):
        from safetensors.torch import save_file

        save_file({"x": torch.zeros(1)}, tmp_path / "other.safetensors")
        with pytest.raises(PolicyError, match="another kind of file"):
            load_policy(tmp_path / "other.safetensors")

    def test_weights_for_another_shape_are_refused(self, policy, tmp_path):
        loaded, about = load_policy(policy)
        wrong = dataclasses.replace(about, shape=(1, 10, 10))
        save_policy(loaded, wrong, tmp_path / "wrong.safetensors")
        with pytest.raises(PolicyError, match="weights of other shapes"):
            load_policy(tmp_path / "wrong.safetensors")

    def test_a_policy_of_another_version_is_refused(self, policy):
        from safetensors import safe_open
        from safetensors.torch import save_file

        with safe_open(policy, framework="pt") as opened:
            written = opened.metadata()["goexplore"]
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        older = written.replace('"version": 2', '"version": 1')
        assert older != written
        save_file(tensors, policy, metadata={"goexplore": older})
        with pytest.raises(PolicyError, match=r"a policy of version 2, got 1 in .*: use the version"):
            load_policy(policy)

    def test_a_user_s_environment_has_to_be_named(self, tmp_path):
        file = untrained(FactorySpec(Field), tmp_path / "mine.safetensors", shape=(2,))
        with pytest.raises(
            ProblemError, match=r"got tests\.fields:Field in .*: add `problem` tests\.fields:Field"
        ):
            load_policy(file)
        with pytest.raises(PolicyError, match=r"expected tests\.fields:Field, as the file says, got .*Lock"):
            load_policy(file, Problem(env=Lock))
        _, about = load_policy(file, Problem(env=Field))
        assert about.env() is not about.env()
        assert about.shape == (2,)

    def test_vectors_are_standardised_as_they_were_in_training(self, tmp_path):
        """Mean and deviation are part of the file, and of its checksum."""
        file = untrained(FactorySpec(Field), tmp_path / "mine.safetensors", shape=(2,))
        loaded, about = load_policy(file, Problem(env=Field))
        loaded.standardise(np.array([3.0, 4.0], np.float32), np.array([2.0, 0.5], np.float32))
        before = PolicyPlayer(file, problem=Problem(env=Field)).identity()
        save_policy(loaded, about, file)
        again, _ = load_policy(file, Problem(env=Field))
        assert again.offset.tolist() == [3.0, 4.0]
        assert again.scale.tolist() == [0.5, 2.0]
        assert PolicyPlayer(file, problem=Problem(env=Field)).identity() != before


class TestUsersEnvironments:
    """Environments without no-ops, with vectors, with many actions, with a time limit of their own."""

    def test_every_number_of_no_ops_is_played_but_none_of_them(self):
        player = Scripted(FactorySpec(Corridor), bytes([1] * 4))
        config = EvaluationConfig(repetitions=1, repeat_action_probability=0.0)
        episodes = play_episodes(player, config, 0, range(31))
        assert [each.no_ops for each in episodes] == list(range(31))
        assert {(each.score, each.game_frames, each.truncated) for each in episodes} == {(-4.0, 4, False)}

    def test_a_time_limit_of_the_environment_is_its_own_end(self):
        """An episode is called truncated where our cap ends it."""
        config = EvaluationConfig(repetitions=1, repeat_action_probability=0.0)
        (episode,) = play_episodes(Scripted(FactorySpec(Corridor), b""), config, 0, [0])
        assert (episode.game_frames, episode.truncated) == (255, False)
        (episode,) = play_episodes(
            Scripted(FactorySpec(Corridor), b""), dataclasses.replace(config, max_game_frames=100), 0, [0]
        )
        assert (episode.game_frames, episode.truncated) == (100, True)

    def test_game_frames_are_counted_by_the_frame_skip(self):
        """A step of Field is four game frames."""
        config = EvaluationConfig(repetitions=1, until_score=10.0, repeat_action_probability=0.0)
        (episode,) = play_episodes(Scripted(FactorySpec(Field), bytes([0] * 5)), config, 0, [30])
        assert (episode.game_frames, episode.score) == (20, 10.0)
        assert (episode.level, episode.rooms, episode.lives_lost) == (-1, 0, 0)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_policy_of_vectors_plays(self, tmp_path, workers):
        file = untrained(FactorySpec(Field), tmp_path / "mine.safetensors", shape=(2,))
        make = functools.partial(PolicyPlayer, file, problem=Problem(env=Field))
        config = EvaluationConfig(repetitions=1, max_game_frames=80)
        found = evaluate(make, config, workers=workers)
        assert len(found.episodes) == 31
        assert found == evaluate(make, config)

    def test_a_policy_with_a_thousand_actions_plays(self, tmp_path):
        file = untrained(FactorySpec(Lock), tmp_path / "mine.safetensors", shape=(2,))
        player = PolicyPlayer(file, problem=Problem(env=Lock))
        player.begin(300)
        streams = [SplitMix64(number) for number in range(300)]
        actions = player.act(np.arange(300), [np.zeros(2, np.float32)] * 300, streams)
        assert max(actions) > 900
        config = EvaluationConfig(repetitions=1, max_game_frames=40)
        assert evaluate(lambda: player, config).episodes[0].game_frames == 40

    def test_large_actions_are_played_open_loop(self):
        make = functools.partial(OpenLoopPlayer, demonstrate((999, 899, 0, 799), Lock))
        config = EvaluationConfig(repetitions=1, repeat_action_probability=0.0)
        assert evaluate(make, config).score == 3

    def test_what_no_other_process_could_import_is_played_in_this_one(self, tmp_path):
        class Local(Field):
            pass

        make = functools.partial(RandomPlayer, FactorySpec(Local))
        config = EvaluationConfig(repetitions=1, max_game_frames=40)
        assert evaluate(make, config, workers=2) == evaluate(make, config)


class TestCommand:
    @pytest.fixture(autouse=True)
    def elsewhere(self, tmp_path, monkeypatch):
        """Evaluations of what is no training are kept in the working directory."""
        monkeypatch.chdir(tmp_path)

    def evaluate(self, *arguments):
        return main(["evaluate", *map(str, arguments), "--repetitions", "1", "--workers", "1"])

    def test_a_policy(self, policy, capsys):
        assert self.evaluate(policy, "--until-score", 200) == 0
        said = capsys.readouterr().out
        assert "31 episodes: sticky actions 0.25, each number of no-ops from 0 to 30 1 x" in said
        assert "0.0% (95 %: 0.0% to 11.0%) of episodes and 0.0%" in said

    def test_a_demonstration(self, tmp_path, capsys):
        file = tmp_path / "maze.demo.json"
        write_demonstration(demonstrate(), file)
        assert self.evaluate(file) == 0
        assert "open loop" in capsys.readouterr().out

    def test_chance_in_a_preset_s_game(self, capsys):
        assert self.evaluate("random:two-mazes") == 0
        assert "each as likely as the others" in capsys.readouterr().out

    def test_chance(self, capsys):
        assert self.evaluate("random:ALE/MontezumaRevenge-v5", "--max-game-frames", 400) == 0
        assert "31 episodes were truncated after 400 game frames" in capsys.readouterr().out

    def test_goals_and_where_lives_end(self, tmp_path, capsys):
        """Ten lives or so end in the first room, and nobody comes near the second goal."""
        limits = ["--max-game-frames", 1500, "--goal", 0, "--goal", 5500, "--map", tmp_path / "deaths.png"]
        assert self.evaluate("random:ALE/MontezumaRevenge-v5", *limits) == 0
        said = capsys.readouterr().out
        assert "100.0% (95 %: 89.0% to 100.0%) of episodes and 100.0%" in said
        assert "of first lives reach 0 points\n" in said
        assert "of first lives reach 5500 points\n" in said
        assert "  lives end in (" in said
        assert re.search(r"^ +0 +1 +\d+ +\d+\.\d%$", said, re.MULTILINE)
        assert f"{tmp_path / 'deaths.png'}: level 0: " in said
        assert (tmp_path / "deaths.png").stat().st_size > 1000

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--goal", "nan"], "expected --goal to be a finite number"),
            (
                ["--goal", "200", "--until-score", "100"],
                "expected --goal to be at most 100, where episodes end",
            ),
            (["--map", "deaths.jpg"], "expected --map to be a file name that ends in .png"),
            (["--map", "deaths.png"], "expected a game whose rooms lie on a map for --map, got two-mazes"),
            (["random:two-mazes", "--map", "deaths.png"], "expected one source for --map, got 2"),
        ],
    )
    def test_what_cannot_be_is_refused_before_the_work(self, arguments, message, capsys):
        assert self.evaluate("random:two-mazes", *arguments) == 2
        said = capsys.readouterr()
        assert message in said.err
        assert not said.out

    def test_a_user_s_policy(self, tmp_path, capsys):
        file = untrained(FactorySpec(Field), tmp_path / "mine.safetensors", shape=(2,))
        assert self.evaluate(file) == 2
        assert "add --problem tests.fields:Field" in capsys.readouterr().err
        assert self.evaluate(file, "--problem", "tests.fields:Field", "--max-game-frames", 80) == 0
        assert "31 episodes: sticky actions 0.25" in capsys.readouterr().out

    def test_nothing(self, capsys):
        assert main(["evaluate", "nowhere.safetensors"]) == 2
        assert "got 'nowhere.safetensors'" in capsys.readouterr().err

    def test_a_video_of_a_policy(self, policy, tmp_path, capsys):
        out = tmp_path / "video.mp4"
        assert main(["video", str(policy), "--out", str(out), "--max-game-frames", "50"]) == 0
        assert "51 pictures of 50 training frames" in capsys.readouterr().out
        import av

        with av.open(str(out)) as film:
            assert sum(1 for _ in film.decode(video=0)) == 51


def test_the_sample_policy_reaches_the_key():
    """One episode for each number of no-ops; docs/results.md has all five."""
    player = PolicyPlayer(find_policy("montezuma-first-key"), temperature=0.5)
    config = EvaluationConfig(repetitions=1, until_score=100.0, max_game_frames=8000)
    evaluation = evaluate(lambda: player, config)
    assert evaluation.reached(100).value > 0.9
    blind = functools.partial(OpenLoopPlayer, first_key())
    assert evaluate(blind, config).reached(100).value < 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "score"),
    [
        ("montezuma-first-key", 100.0),
        ("montezuma-2500-points", 2500.0),
        ("montezuma-5500-points", 5500.0),
    ],
)
def test_the_sample_policies_have_the_documented_numbers(policy, score):
    make = functools.partial(PolicyPlayer, find_policy(policy), temperature=0.5)
    found = evaluate(make, EvaluationConfig(until_score=score, seed=1000), workers=2)
    said = (
        f"{found.reached(score).text(percent=True)} of episodes and "
        f"{found.first_lives_reached(score).text(percent=True)} of first lives"
    )
    documented = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
    assert said in documented.replace("\n", " ")


@pytest.mark.slow
def test_a_sample_policy_solves_the_first_level_in_most_games():
    """One whole game for each number of no-ops; docs/results.md has all five."""
    make = functools.partial(PolicyPlayer, find_policy("montezuma-level-1"), temperature=0.5)
    found = evaluate(make, EvaluationConfig(repetitions=1, max_game_frames=20_000, seed=1), workers=2)
    assert found.reached_level(1).value > 0.6
    assert found.score > 12_000
