"""Fault drills. `make test-faults` runs them, and prints how many faults there were and what they cost."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.damage import Disk

HERE = Path(__file__).parent


@dataclass
class Figures:
    """What the drills of one kind did."""

    faults: int = 0
    survived: int = 0
    """Faults after which the result is that of an undisturbed run."""
    told: int = 0
    """Faults after which one line says what is lost, or has to be done."""
    lost: list[int] = field(default_factory=list)
    """Game frames that each of them cost, where that is known."""


FIGURES: defaultdict[str, Figures] = defaultdict(Figures)


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest.fixture
def figures(request):
    """Return the figures of this drill."""
    return FIGURES[request.node.name.removeprefix("test_").replace("_", " ")]


@pytest.fixture
def disk(tmp_path):
    """Return a disk that faults can be done to."""
    made = Disk(tmp_path / "disk")
    if not made.mount():
        pytest.skip("needs the right to mount a file system")
    yield made
    made.unmount()


def pytest_terminal_summary(terminalreporter):
    if not FIGURES:
        return
    say = terminalreporter.write_line
    say("")
    say("| drill | faults | same result | told in one line | game frames lost: median | most |")
    say("|---|---:|---:|---:|---:|---:|")
    for name, each in FIGURES.items():
        lost = sorted(each.lost)
        median, most = (f"{lost[len(lost) // 2]:,}", f"{lost[-1]:,}") if lost else ("", "")
        say(f"| {name} | {each.faults} | {each.survived} | {each.told} | {median} | {most} |")
