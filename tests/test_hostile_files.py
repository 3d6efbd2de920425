"""Every loader meets files that somebody made up, with checksums that fit: it takes them or says why not.

A mutation changes one or several values of a file anywhere: another type, a number out of all bounds, an
endless text, a name that leads elsewhere, something missing or added. Nothing but our own one-line errors may
come of it; no code may run, nothing may hang, and nothing may take memory that the file does not account for.
"""

import contextlib
import copy
import dataclasses
import json
import os
import random
import resource
import time
from pathlib import Path

import msgspec
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import zstandard
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from goexplore.demos import SUFFIX, parse_demonstration, write_demonstration
from goexplore.errors import GoExploreError
from goexplore.evaluation import Death, Episode, write_episodes
from goexplore.evaluation._episodes import NO_OP_COUNTS
from goexplore.files import file_sha256, json_sha256, pack
from goexplore.planning import append_recording, read_recordings
from goexplore.problems import find_problem
from goexplore.report._policies import TrainedRun
from goexplore.runs import Limits, SavedRun, SearchDirectory, SearchMetrics, TrainingMetrics, run_search
from goexplore.training import DemonstrationBuffer, TrainingDirectory, load_policy, training_preset
from goexplore.training._backward import BackwardTraining
from goexplore.training._group import ProcessGroup
from goexplore.training._policy_file import _sha256
from tests.training.mazes import demonstrate
from tests.training.recordings import recording

FEW = 150
"""Mutations of a loader in every run of the tests; the long one has 10^5 over all of them."""
SECONDS = 5.0
"""Of processor time for one file, at most."""
BYTES = 512 * 2**20
"""Of address space for one file, at most. All of these files are small."""

NUMBERS = [-1, 0, 1, 2**31, 2**63, -(2**64), 10**30, 0.5, -1e308, 1e308]
TEXTS = ["", "x", "/dev/zero", "../../etc/passwd", "\x00", "é" * 3, "A" * 5000]
ODD = [*NUMBERS, *TEXTS, None, True, [], {}, [[]], [None] * 3, {"": None}, {"path": "os:system"}, [1, "a"]]


def places(node):
    """Yield all that JSON values consist of, as containers and keys."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


def odd(chance):
    """Return a value that may be changed further."""
    return copy.deepcopy(chance.choice(ODD))


def mutated(values, chance):
    """Return a copy of JSON values in which something is different."""
    changed = copy.deepcopy(values)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        everything = list(places(changed))
        if not everything:
            return odd(chance)
        node, key = chance.choice(everything)
        how = chance.random()
        if how < 0.15:
            del node[key]
        elif how < 0.25 and isinstance(node, dict):
            node[chance.choice(["", "x", "seed", "method", "__class__", key + "_"])] = odd(chance)
        elif how < 0.35 and isinstance(node[key], int) and not isinstance(node[key], bool):
            node[key] += chance.choice([-1, 1, 255, -(2**31)])
        elif how < 0.4:
            node[key] = [node[key]] * chance.choice([0, 2, 30])
        else:
            node[key] = odd(chance)
    return changed


def deep(text):
    """Return JSON that is nested more deeply than any parser can follow."""
    return text[:-1] + ', "deep": ' + "[" * 100_000 + "]" * 100_000 + "}"


class Loader:
    """A kind of file: how to make it, how to change it, how to read it."""

    few = FEW

    def __init__(self, folder: Path) -> None:
        raise NotImplementedError

    def write(self, chance: random.Random) -> None:
        raise NotImplementedError

    def read(self) -> None:
        raise NotImplementedError


class Demonstrations(Loader):
    def __init__(self, folder):
        self.file = folder / f"demo{SUFFIX}"
        write_demonstration(demonstrate(), self.file)
        self.whole = json.loads(self.file.read_text())

    def write(self, chance):
        written = dict(self.whole, content=mutated(self.whole["content"], chance))
        written["sha256"] = json_sha256(written["content"])
        if chance.random() < 0.2:
            written = mutated(written, chance)
        self.file.write_text(json.dumps(written))

    def read(self):
        parse_demonstration(self.file)


class Recordings(Loader):
    def __init__(self, folder):
        self.file = folder / "expert.jsonl"
        append_recording(self.file, recording(), 4)
        self.whole = json.loads(self.file.read_text())["recording"]

    def write(self, chance):
        values = mutated(self.whole, chance)
        line = json.dumps({"recording": values, "sha256": json_sha256(values)})
        self.file.write_text(f"{line}\n{line}\n")

    def read(self):
        list(read_recordings([self.file], 4))


class SearchConfigs(Loader):
    def __init__(self, folder):
        with SearchDirectory.create(folder / "run", find_problem("montezuma-2021")) as run:
            self.run = run.path
        self.whole = json.loads((self.run / "config.json").read_text())

    def write(self, chance):
        (self.run / "config.json").write_text(json.dumps(mutated(self.whole, chance)))

    def read(self):
        run = SearchDirectory.open(self.run)
        problem = run.problem()
        run.require(problem, run.seed())


class TrainingConfigs(Loader):
    def __init__(self, folder):
        with TrainingDirectory.create(folder / "run", training_preset("small"), [demonstrate()]) as run:
            self.run = run.path
        self.whole = json.loads((self.run / "config.json").read_text())

    def write(self, chance):
        (self.run / "config.json").write_text(json.dumps(mutated(self.whole, chance)))

    def read(self):
        TrainingDirectory.open(self.run).config()


class Checkpoints(Loader):
    """meta.json and the two tables, with sums of what they hold now."""

    def __init__(self, folder):
        self.run = folder / "run"
        run_search(find_problem("two-mazes"), run_dir=self.run, limits=Limits(game_frames=3000))
        (self.checkpoint,) = (self.run / "checkpoints").iterdir()
        self.whole = json.loads((self.checkpoint / "meta.json").read_text())
        names = ("archive.parquet", "segments.parquet")
        self.tables = {name: pq.read_table(self.checkpoint / name) for name in names}

    def write(self, chance):
        for name, table in self.tables.items():
            if chance.random() < 0.5:
                table = self.changed(table, chance)
            pq.write_table(table, self.checkpoint / name)
        meta = copy.deepcopy(self.whole)
        if chance.random() < 0.5:
            meta["content"] = mutated(meta["content"], chance)
        meta["sha256"] = {name: file_sha256(self.checkpoint / name) for name in self.tables}
        meta["sha256"]["content"] = json_sha256(meta["content"])
        if chance.random() < 0.2:
            meta = mutated(meta, chance)
        (self.checkpoint / "meta.json").write_text(json.dumps(meta))

    def changed(self, table, chance):
        index = chance.randrange(table.num_columns)
        name, values = table.column_names[index], table.column(index).to_pylist()
        how = chance.random()
        if how < 0.1:
            return table.remove_column(index)
        if how < 0.2:
            return table.slice(0, chance.randrange(table.num_rows))
        odd = [None, -1, 0, 7, 70_000, 2**40, float("nan"), b"", b"x" * 3000, "text", [1]]
        for _ in range(chance.choice([1, 3])):
            values[chance.randrange(len(values))] = chance.choice(odd)
        try:
            return table.set_column(index, name, pa.array(values))
        except (pa.ArrowException, OverflowError, TypeError):
            return table.set_column(index, name, pa.array([chance.choice(odd[:6])] * len(values)))

    def read(self):
        saved = SavedRun.open(self.run)
        for entry in list(saved.archive)[:20]:
            saved.archive.trajectory(entry.number)


class Metrics(Loader):
    def __init__(self, folder):
        with SearchDirectory.create(folder / "run", find_problem("montezuma")) as run:
            self.run = run
        self.whole = [
            dataclasses.asdict(SearchMetrics(game_frames=frames, events={"a": 1})) for frames in (1, 2)
        ]

    def write(self, chance):
        lines = [json.dumps(mutated(line, chance)) for line in self.whole]
        self.run.metrics_file.write_text("\n".join(lines))

    def read(self):
        self.run.metrics()
        self.run.read_metrics(TrainingMetrics)
        self.run.rewind_metrics(2)


class Verifications(Loader):
    def __init__(self, folder):
        with SearchDirectory.create(folder / "run", find_problem("montezuma")) as run:
            self.run = run
        found = {"checkpoint": "1", "checked": 5, "entries": 9, "game_frames": 12}
        self.whole = found | {"mismatches": [{"number": 1, "reason": "other"}]}

    def write(self, chance):
        (self.run.path / "verification.json").write_text(json.dumps(mutated(self.whole, chance)))

    def read(self):
        self.run.verification()


class Policies(Loader):
    def __init__(self, folder):
        sample = next(Path(__file__).parents[1].glob("src/goexplore/**/*first-key*.safetensors"))
        with safe_open(sample, framework="pt") as file:
            self.whole = json.loads(file.metadata()["goexplore"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        self.tensors = dict(list(tensors.items())[-2:])  # the shapes are wrong then, and checksums are quick
        self.file = folder / "policy.safetensors"
        save_file(self.tensors, self.file)

    def write(self, chance):
        content = {name: value for name, value in self.whole.items() if name != "sha256"}
        content = mutated(content, chance)
        tensors = dict(self.tensors)
        if chance.random() < 0.3:
            tensors[chance.choice(["x", "policy.weight"])] = torch.zeros(chance.choice([0, 3]))
        if isinstance(content, dict):
            content["sha256"] = _sha256(tensors, content)
        with contextlib.suppress(SafetensorError):  # it takes no header of megabytes
            save_file(tensors, self.file, metadata={"goexplore": json.dumps(content)})

    def read(self):
        load_policy(self.file)


class Episodes(Loader):
    """Of a policy, read for the protocol and for a report."""

    def __init__(self, folder):
        self.run = folder / "run"
        self.file = self.run / "evaluations" / "episodes.parquet"
        death = Death(level=0, room=1, score=0.0, game_frame=5)
        episode = Episode(
            seed=1,
            no_ops=0,
            repetition=0,
            score=1.0,
            first_life_score=1.0,
            game_frames=9,
            lives_lost=1,
            level=0,
            rooms=1,
            truncated=False,
            deaths=(death,),
        )
        episodes = [dataclasses.replace(episode, no_ops=count) for count in NO_OP_COUNTS]
        settings = {"policy": "a", "training_frames": 8, "game_frames": 32, "temperature": 1.0}
        config = {"max_game_frames": 400, "until_score": 9.0, "repeat_action_probability": 0.2, "seed": 1}
        write_episodes(self.file, episodes, settings | config)
        self.table = pq.read_table(self.file)

    def write(self, chance):
        rows = self.table.to_pylist()
        if chance.random() < 0.5:
            index = chance.randrange(len(rows))
            rows[index] = mutated(rows[index], chance)
        metadata = dict(self.table.schema.metadata)
        settings = mutated(json.loads(metadata[b"goexplore"]), chance)
        metadata[b"goexplore"] = json.dumps(settings).encode()

        def write(table):
            metadata[b"sha256"] = json_sha256([settings, table.to_pylist()]).encode()
            pq.write_table(table.replace_schema_metadata(metadata), self.file)

        try:
            write(pa.Table.from_pylist(rows))
        except (pa.ArrowException, OverflowError, TypeError, AttributeError, ValueError, UnicodeError):
            write(self.table.slice(0, 1))

    def read(self):
        len(TrainedRun(name="run", path=self.run).results_by_settings)


class Rollouts(Loader):
    """Rollouts under way: packed states inside packed lists. Some of them are played, which takes longer."""

    few = FEW // 3

    def __init__(self, folder):
        config = dataclasses.replace(training_preset("tiny", "backward"), environments=2)
        buffer = DemonstrationBuffer([demonstrate()], config.preprocessing)
        self.training = BackwardTraining(buffer, config, ProcessGroup())
        self.training.start(1)
        self.packed = self.training.rollouts()
        self.whole = self.plain(self.packed)

    def plain(self, packed):
        return msgspec.msgpack.decode(zstandard.decompress(packed))

    def write(self, chance):
        with contextlib.suppress(OverflowError):  # there are no larger numbers in such files
            self.packed = self.changed(chance)

    def changed(self, chance):
        whole = copy.deepcopy(self.whole)
        part = self.plain(whole["parts"][0])
        if chance.random() < 0.7:
            part["rollouts"][0] = pack(mutated(self.plain(part["rollouts"][0]), chance))
        elif chance.random() < 0.5:
            part = mutated(part, chance)
        whole["parts"][0] = pack(part)
        if chance.random() < 0.3:
            whole = mutated(whole, chance)
        packed = pack(whole)
        return packed if chance.random() < 0.9 else packed[: chance.randrange(len(packed))]

    def read(self):
        collector = self.training.collector
        if collector.restore(self.packed) is not None:
            collector.begin()
        collector.collect(2, 0.99)


LOADERS = [
    Checkpoints,
    Demonstrations,
    Episodes,
    Metrics,
    Policies,
    Recordings,
    Rollouts,
    SearchConfigs,
    TrainingConfigs,
    Verifications,
]


@contextlib.contextmanager
def little_memory():
    """Let this process have no more than a little memory besides what it has already."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def attack(loader, seed):
    """Read one made-up file; only our own errors may come of it."""
    chance = random.Random(seed)
    loader.write(chance)
    began = time.process_time()
    said = ""
    try:
        with little_memory():
            loader.read()
    except GoExploreError as error:
        said = str(error)
    except Exception as error:
        raise AssertionError(f"seed {seed} of {type(loader).__name__}: {error!r}") from error
    assert "\n" not in said, seed
    assert time.process_time() - began < SECONDS, seed


@pytest.mark.parametrize("kind", LOADERS)
def test_files_that_somebody_made_up_are_taken_or_refused(kind, tmp_path):
    loader = kind(tmp_path)
    for seed in range(kind.few):
        attack(loader, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOADERS)
def test_a_hundred_thousand_of_them(kind, tmp_path):
    loader = kind(tmp_path)
    for seed in range(kind.few, kind.few + 100_000 // len(LOADERS) + 1):
        attack(loader, seed)


def test_a_policy_of_a_million_actions_takes_no_memory(tmp_path):
    loader = Policies(tmp_path)
    content = {**loader.whole, "actions": 10**6}
    del content["sha256"]
    content["sha256"] = _sha256(loader.tensors, content)
    save_file(loader.tensors, loader.file, metadata={"goexplore": json.dumps(content)})
    with little_memory(), pytest.raises(GoExploreError, match="weights of other shapes"):
        loader.read()


def test_a_pipe_is_no_policy(tmp_path):
    os.mkfifo(tmp_path / "policy.safetensors")
    with pytest.raises(GoExploreError, match="a pipe, a device or a folder"):
        load_policy(tmp_path / "policy.safetensors")


def test_json_without_end_is_refused(tmp_path):
    loader = Demonstrations(tmp_path)
    loader.file.write_text(deep(json.dumps(loader.whole)))
    with pytest.raises(GoExploreError):
        loader.read()
