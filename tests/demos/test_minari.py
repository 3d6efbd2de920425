"""Demonstrations in the real Minari."""

import sys

import numpy as np
import pytest

from goexplore.build import build_env
from goexplore.demos import find_demonstration
from goexplore.demos._minari import write_dataset
from goexplore.errors import DemonstrationError

NAMES = ("montezuma-first-key-00", "montezuma-first-key-01")


def test_minari_opens_what_was_written(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    demonstrations = [find_demonstration(name) for name in NAMES]
    write_dataset(demonstrations, "montezuma/key-v0")
    dataset = minari.load_dataset("montezuma/key-v0")
    assert dataset.total_episodes == 2
    assert dataset.total_steps == sum(len(each.actions) for each in demonstrations)
    assert dataset.env_spec.id == "ALE/MontezumaRevenge-v5"
    for demonstration, episode in zip(demonstrations, dataset, strict=True):
        assert episode.actions.tolist() == list(demonstration.actions)
        assert episode.rewards.tolist() == list(demonstration.rewards)
        assert not episode.terminations.any()
        assert episode.truncations.tolist() == [False] * (len(demonstration.actions) - 1) + [True]
        env = build_env(demonstration.env)
        env.reset()
        assert np.array_equal(episode.observations[0], env.picture())
        for position, action in enumerate(demonstration.actions, start=1):
            env.step(action)
            assert np.array_equal(episode.observations[position], env.picture())
    told = dataset.storage.metadata["goexplore"]
    assert [each["score"] for each in told] == [100.0, 100.0]
    assert told[0]["provenance"]["run"] == demonstrations[0].provenance.run


def test_a_name_that_minari_refuses_is_told(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    with pytest.raises(DemonstrationError, match="expected a name for Minari"):
        write_dataset([find_demonstration(NAMES[0])], "no version")


def test_a_dataset_is_not_overwritten(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    demonstrations = [find_demonstration(NAMES[0])]
    write_dataset(demonstrations, "montezuma/key-v0")
    with pytest.raises(DemonstrationError, match="which Minari has already"):
        write_dataset(demonstrations, "montezuma/key-v0")


def test_without_minari_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(DemonstrationError, match=r"pip install 'goexplore\[minari\]'"):
        write_dataset([find_demonstration(NAMES[0])], "montezuma/key-v0")
