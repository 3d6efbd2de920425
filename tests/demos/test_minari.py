"""Demonstrations in the real Minari."""

import sys

import numpy as np
import pytest

from goexplore.demos import find_demonstrations
from goexplore.demos._minari import write_dataset
from goexplore.errors import DemonstrationError
from tests.fields import Corridor, Lock
from tests.training.mazes import demonstrate

NAMES = ("montezuma-first-key-00", "montezuma-first-key-01")


def sample(name):
    (found,) = find_demonstrations(name, verify=False)
    return found


@pytest.fixture
def minari(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return pytest.importorskip("minari")


def test_minari_opens_what_was_written(minari):
    demonstrations = [sample(name) for name in NAMES]
    write_dataset(demonstrations, "montezuma/key-v0")
    dataset = minari.load_dataset("montezuma/key-v0")
    assert dataset.total_episodes == 2
    assert dataset.env_spec.id == "ALE/MontezumaRevenge-v5"
    assert dataset.total_steps == sum(len(each.actions) for each in demonstrations)
    for demonstration, episode in zip(demonstrations, dataset, strict=True):
        assert episode.actions.tolist() == list(demonstration.actions)
        assert episode.rewards.tolist() == list(demonstration.rewards)
        assert not episode.terminations.any()
        assert episode.truncations.tolist() == [False] * (len(demonstration.actions) - 1) + [True]
        env = demonstration.env()
        env.reset()
        assert np.array_equal(episode.observations[0], env.picture())
        for position, action in enumerate(demonstration.actions, start=1):
            env.step(action)
            assert np.array_equal(episode.observations[position], env.picture())
    told = dataset.storage.metadata["goexplore"]
    assert [each["score"] for each in told] == [100.0, 100.0]
    assert told[0]["target"] == "ALE/MontezumaRevenge-v5"
    assert told[0]["env"]["frame_skip"] == 4
    assert told[0]["provenance"]["run"] == demonstrations[0].provenance.run


def test_a_name_that_minari_refuses_is_told(minari):
    with pytest.raises(DemonstrationError, match="expected a name for Minari"):
        write_dataset([sample(NAMES[0])], "no version")


def test_a_dataset_is_not_overwritten(minari):
    demonstrations = [sample(NAMES[0])]
    write_dataset(demonstrations, "montezuma/key-v0")
    with pytest.raises(DemonstrationError, match="which Minari has already"):
        write_dataset(demonstrations, "montezuma/key-v0")


def test_without_minari_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(DemonstrationError, match=r"pip install 'goexplore\[minari\]'"):
        write_dataset([sample(NAMES[0])], "montezuma/key-v0")


class Described(Corridor):
    """Observes a dictionary."""

    def observation(self):
        return {"x": self.x, "steps": (self.steps, 0.5)}


@pytest.mark.parametrize(
    ("env", "actions", "seen", "terminated"),
    [
        (Corridor, bytes([1] * 4), [[0], [1], [2], [3], [4]], True),
        (Corridor, bytes([1, 1, 0]), [[0], [1], [2], [1]], False),
        (Lock, (950, 899), [[0, 0], [1, 9], [2, 8]], False),
        (Described, bytes([1, 0]), [[0, 0.5, 0], [1, 0.5, 1], [2, 0.5, 0]], False),
    ],
)
def test_a_user_s_environment_is_written_as_the_numbers_that_it_observes(
    minari, env, actions, seen, terminated
):
    demonstration = demonstrate(actions, env)
    write_dataset([demonstration], "mine/demos-v0")
    dataset = minari.load_dataset("mine/demos-v0")
    (episode,) = dataset
    assert episode.observations.tolist() == seen
    assert episode.actions.tolist() == list(actions)
    assert episode.rewards.tolist() == list(demonstration.rewards)
    assert episode.terminations.tolist() == [False] * (len(actions) - 1) + [terminated]
    assert episode.truncations.tolist() == [False] * (len(actions) - 1) + [not terminated]
    assert dataset.action_space.n == env.action_count
    assert dataset.storage.metadata["goexplore"][0]["target"] == demonstration.target
