"""Demonstrations on disk: what is read back, and what is refused."""

import dataclasses
import json

import pytest

from goexplore.cells import End
from goexplore.demos import (
    demonstration_files,
    find_demonstrations,
    parse_demonstration,
    read_demonstration,
    sample_names,
    verify_demonstration,
    write_demonstration,
)
from goexplore.envs import Location
from goexplore.errors import ConfigError, DemonstrationError, ProblemError
from goexplore.files import json_sha256
from goexplore.problems import Problem, find_problem
from tests.fields import Corridor, Field, Lock
from tests.training.mazes import demonstrate


def sample(name):
    (found,) = find_demonstrations(name)
    return found


@pytest.fixture(scope="module")
def key():
    return sample("montezuma-first-key-00")


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
    demonstration = sample(name)
    assert demonstration.game_frames == 4 * len(demonstration.actions)
    if "first-key" in name:
        assert demonstration.score == demonstration.rewards[-1] == 100


def test_one_sample_solves_three_levels_as_the_demonstrations_of_the_paper_do():
    """Section 3.1.2; the game's memory stands still at the third level, so levels are counted."""
    (demonstration,) = find_demonstrations("montezuma-three-levels", verify=False)
    assert demonstration.location == Location(3, 1)
    assert demonstration.end == End.NONE
    assert 35_200 <= demonstration.score <= 51_900  # the paper's


def test_there_are_ten_samples_of_the_first_key_and_no_two_are_alike():
    names = [name for name in sample_names() if "first-key" in name]
    keys = {each.actions for name in names for each in find_demonstrations(name, verify=False)}
    assert len(keys) == 10


def test_an_unknown_name_lists_the_samples():
    with pytest.raises(DemonstrationError, match="got 'key': samples are montezuma-"):
        find_demonstrations("key")


@pytest.mark.parametrize("name", ["k" * 5000, "a\0b"])
def test_a_name_that_no_file_can_have_is_unknown_too(name):
    with pytest.raises(DemonstrationError, match="samples are"):
        find_demonstrations(name)


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


@pytest.mark.parametrize("version", [1, 3])
def test_a_file_of_another_version_is_refused_with_what_to_do(file, version):
    file.write_text(file.read_text().replace('"version": 2,', f'"version": {version},'))
    with pytest.raises(
        DemonstrationError,
        match=f"expected a demonstration of version 2, got {version} in .*: make it anew",
    ):
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
        ({"end": "happily"}, "expected the fields"),
        ({"location": {}}, "expected the fields"),
        ({"action_count": 1000}, "expected the fields"),
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


@pytest.mark.parametrize("changes", [{"end": End.TERMINATED}, {"location": Location(0, 2)}])
def test_replay_finds_another_end(key, changes):
    with pytest.raises(DemonstrationError, match="got others from montezuma_revenge"):
        verify_demonstration(dataclasses.replace(key, **changes))


def test_a_demonstration_of_another_game_does_not_replay(key):
    other = dataclasses.replace(key, env=dataclasses.replace(key.env, game="ALE/Pitfall-v5"))
    with pytest.raises(DemonstrationError, match="of pitfall, got 0"):
        verify_demonstration(other)


def test_actions_that_the_game_does_not_have_are_told(key):
    other = dataclasses.replace(key, env=dataclasses.replace(key.env, game="ALE/Pong-v5"))
    with pytest.raises(DemonstrationError, match="expected actions below 6, got 1"):
        verify_demonstration(other)


def test_another_frame_skip_does_not_replay(key):
    other = dataclasses.replace(key, env=dataclasses.replace(key.env, frame_skip=3))
    with pytest.raises(DemonstrationError, match="expected"):
        verify_demonstration(other)


# ---- environments of a user's own -------------------------------------------------------------------------


class Described(Field):
    """Observes dictionaries."""

    def observation(self):
        return {"where": super().observation(), "rich": bool(self.taken)}


@pytest.mark.parametrize(
    ("env", "actions", "end", "score"),
    [
        (Field, bytes([0] * 5), End.NONE, 10),
        (Described, bytes([0] * 5), End.NONE, 10),
        (Lock, (950, 0, 899, 700), End.NONE, 3),
        (Corridor, bytes([0, 1, 1, 1, 1]), End.TERMINATED, -5),
        (Corridor, bytes(255), End.TRUNCATED, -255),
    ],
)
def test_what_is_read_of_a_user_s_environment_is_what_was_written(tmp_path, env, actions, end, score):
    written = demonstrate(actions, env)
    file = tmp_path / "mine.demo.json"
    write_demonstration(written, file)
    read = read_demonstration(file, Problem(env=env))
    assert read == written
    assert (read.actions, read.end, read.score) == (actions, end, score)


def test_a_file_never_imports_code_and_says_what_to_type(tmp_path):
    file = tmp_path / "mine.demo.json"
    write_demonstration(demonstrate(bytes([0] * 5), Field), file)
    with pytest.raises(
        ProblemError,
        match=r"got tests\.fields:Field in .*mine\.demo\.json, .*: add `problem` tests\.fields:Field",
    ):
        parse_demonstration(file)
    assert parse_demonstration(file, find_problem("tests.fields:Field")).score == 10


def test_what_was_made_in_a_script_is_opened_from_there(tmp_path):
    file = tmp_path / "mine.demo.json"
    write_demonstration(
        dataclasses.replace(demonstrate(bytes([0] * 5), Field), target="__main__:Field"), file
    )
    with pytest.raises(ProblemError, match="name the Problem, class or function that"):
        parse_demonstration(file)


def test_another_problem_than_the_file_s_is_refused(tmp_path):
    file = tmp_path / "mine.demo.json"
    write_demonstration(demonstrate(bytes([0] * 5), Field), file)
    with pytest.raises(ConfigError, match=r"expected tests\.fields:Field, as the file says, got .*Lock"):
        parse_demonstration(file, Problem(env=Lock))


# ---- several at once --------------------------------------------------------------------------------------


def test_a_folder_stands_for_all_files_in_it_in_the_order_of_their_names(key, tmp_path):
    other = sample("montezuma-first-key-01")
    for name, each in (("b", key), ("a", other), ("c", key)):
        write_demonstration(each, tmp_path / f"{name}.demo.json")
    (tmp_path / "notes.txt").touch()
    assert [file.name[0] for file in demonstration_files(str(tmp_path))] == ["a", "b", "c"]
    assert find_demonstrations(str(tmp_path)) == [other, key, key]


def test_an_empty_folder_is_told(tmp_path):
    with pytest.raises(DemonstrationError, match=r"got none: make them with `goexplore demos`"):
        find_demonstrations(str(tmp_path))


def test_found_demonstrations_are_replayed_unless_somebody_else_does(key, tmp_path):
    tampered = dataclasses.replace(key, actions=bytes([5]) + key.actions[1:])
    write_demonstration(tampered, tmp_path / "key.demo.json")
    with pytest.raises(DemonstrationError):
        find_demonstrations(str(tmp_path))
    assert find_demonstrations(str(tmp_path), verify=False) == [tampered]
