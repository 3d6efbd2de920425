"""Demonstrations on disk: what is read back, and what is refused."""

import dataclasses
import json

import pytest

from goexplore.demos import (
    find_demonstration,
    read_demonstration,
    sample_names,
    verify_demonstration,
    write_demonstration,
)
from goexplore.envs import Location
from goexplore.errors import DemonstrationError
from goexplore.files import json_sha256


@pytest.fixture(scope="module")
def key():
    return find_demonstration("montezuma-first-key-00")


@pytest.fixture
def file(key, tmp_path):
    write_demonstration(key, tmp_path / "key.demo.json")
    return tmp_path / "key.demo.json"


def change(file, **fields):
    """Change fields of the content and make the checksum fit, as only somebody who knows how could."""
    written = json.loads(file.read_text())
    written["content"].update(fields)
    written["sha256"] = json_sha256(written["content"])
    file.write_text(json.dumps(written))


def test_what_is_read_is_what_was_written(key, file):
    assert read_demonstration(file) == key


def test_a_file_takes_a_few_kilobytes_and_is_text(file):
    assert len(file.read_bytes()) < 3000
    assert file.read_text().isascii()


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_replays(name):
    demonstration = find_demonstration(name)
    assert demonstration.game_frames == 4 * len(demonstration.actions)
    if "first-key" in name:
        assert demonstration.score == demonstration.rewards[-1] == 100


def test_one_sample_solves_three_levels_as_the_demonstrations_of_the_paper_do():
    """Section 3.1.2; the game's memory stands still at the third level, so levels are counted."""
    demonstration = find_demonstration("montezuma-three-levels")
    assert demonstration.end == Location(3, 1)
    assert 35_200 <= demonstration.score <= 51_900  # the paper's


def test_there_are_ten_samples_of_the_first_key_and_no_two_are_alike():
    keys = {find_demonstration(name).actions for name in sample_names() if "first-key" in name}
    assert len(keys) == 10


def test_an_unknown_name_lists_the_samples():
    with pytest.raises(DemonstrationError, match="got 'key': samples are montezuma-"):
        find_demonstration("key")


@pytest.mark.parametrize("name", ["k" * 5000, "a\0b"])
def test_a_name_that_no_file_can_have_is_unknown_too(name):
    with pytest.raises(DemonstrationError, match="samples are"):
        find_demonstration(name)


@pytest.mark.parametrize("part", [0, 10, 500, -3])
def test_a_truncated_file_is_refused(file, part):
    file.write_bytes(file.read_bytes()[:part])
    with pytest.raises(DemonstrationError, match="got text that is no whole JSON"):
        read_demonstration(file)


def test_json_nested_too_deep_is_refused(file):
    file.write_text("[" * 100_000)
    with pytest.raises(DemonstrationError, match="got text that is no whole JSON"):
        read_demonstration(file)


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": "something else"}', "7"])
def test_another_kind_of_file_is_refused(file, content):
    file.write_text(content)
    with pytest.raises(DemonstrationError, match="got another kind of file"):
        read_demonstration(file)


def test_a_file_of_a_newer_version_is_refused(file):
    file.write_text(file.read_text().replace('"version": 1,', '"version": 2,'))
    with pytest.raises(DemonstrationError, match="expected a demonstration of version 1, got 2"):
        read_demonstration(file)


@pytest.mark.parametrize(
    ("old", "new"),
    [('"training_frames": 72', '"training_frames": 73'), ("100.0", "200.0"), ('"seed": 1', '"seed": 2')],
)
def test_a_changed_letter_does_not_fit_the_checksum(file, old, new):
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(DemonstrationError, match="expected the content that the checksum"):
        read_demonstration(file)


def test_a_changed_checksum_is_refused(file):
    written = json.loads(file.read_text())
    file.write_text(json.dumps({**written, "sha256": "0" * 64}))
    with pytest.raises(DemonstrationError, match="expected the content that the checksum"):
        read_demonstration(file)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"actions": "no base64!"}, "expected the fields"),
        ({"actions": ""}, "expected the fields"),
        ({"training_frames": 5}, "72 actions instead of 5"),
        ({"rewards": [[71, 100.0], [99, 1.0]]}, "expected the fields"),
        ({"score": 5.0}, "rewards of 100 instead of 5"),
        ({"env": {"game": "ALE/MontezumaRevenge-v5", "frame_skip": 0}}, "expected the fields"),
        ({"end": {}}, "expected the fields"),
        ({"env": {"game": 7}}, "expected the fields"),
        ({"env": {"game": "ALE/MontezumaRevenge-v5", "episode_end": "never"}}, "expected the fields"),
    ],
)
def test_fields_that_make_no_demonstration_are_refused(file, fields, message):
    change(file, **fields)
    with pytest.raises(DemonstrationError, match=message):
        read_demonstration(file)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(DemonstrationError, match="No such file"):
        read_demonstration(tmp_path / "nothing.demo.json")


# ---- replay: somebody made the checksum fit ---------------------------------------------------------------


@pytest.mark.parametrize("position", [3, 40, 71])
def test_replay_finds_a_single_changed_action(key, position):
    actions = bytearray(key.actions)
    actions[position] = (actions[position] + 5) % 18
    with pytest.raises(DemonstrationError, match=r"expected (a reward|the actions|an episode)"):
        verify_demonstration(dataclasses.replace(key, actions=bytes(actions)))


def test_replay_finds_a_changed_reward(key):
    rewards = (1.0, *key.rewards[1:])
    with pytest.raises(DemonstrationError, match="expected a reward of 1 at training frame 0"):
        verify_demonstration(dataclasses.replace(key, rewards=rewards))


def test_a_demonstration_of_another_game_does_not_replay(key):
    other = dataclasses.replace(key, env=dataclasses.replace(key.env, game="ALE/Pitfall-v5"))
    with pytest.raises(DemonstrationError, match="of ALE/Pitfall-v5, got 0"):
        verify_demonstration(other)


def test_actions_that_the_game_does_not_have_are_told(key):
    other = dataclasses.replace(key, env=dataclasses.replace(key.env, game="ALE/Pong-v5"))
    with pytest.raises(DemonstrationError, match="expected actions below 6, got 1"):
        verify_demonstration(other)


def test_another_frame_skip_does_not_replay(key):
    other = dataclasses.replace(key, env=dataclasses.replace(key.env, frame_skip=3))
    with pytest.raises(DemonstrationError, match="expected"):
        verify_demonstration(other)
