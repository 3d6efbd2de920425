"""The code in the docs runs, and the examples do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(page):
    """Return a page's pieces of code; those of a tutorial belong together."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    return ["".join(blocks)] if page.name.startswith("tutorial-") else blocks


BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(python_blocks(page))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_in_the_docs_runs(block, tmp_path):
    subprocess.run([sys.executable, "-c", block], cwd=tmp_path, check=True, timeout=600)


def test_the_readme_explores_an_environment_of_your_own_in_twenty_lines():
    (block,) = (each.values[0] for each in BLOCKS if "class Lock" in each.values[0])
    assert len(block.strip().splitlines()) <= 20


def test_there_is_code_in_the_docs():
    assert len(BLOCKS) >= 3


def test_the_example_solves_its_maze():
    result = subprocess.run(
        [sys.executable, ROOT / "examples" / "own_environment.py"], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("solved after")


@pytest.mark.slow
def test_another_learner_climbs_our_curriculum():
    command = [sys.executable, ROOT / "examples" / "sb3_on_demonstrations.py", "20000"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    first, last = re.findall(r"(\d+) training frames\n|starting point (\d+)", result.stdout)
    assert int(last[1]) < int(first[0]) - 5


def test_commands_in_the_docs_exist():
    from goexplore.cli import _VERBS

    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL):
            for program, word in re.findall(r"^(goexplore|make) ([a-z-]+)", block, re.MULTILINE):
                assert word in _VERBS if program == "goexplore" else f"\n{word}:" in makefile
