"""Commands in the background, and commands in this process."""

import subprocess

import pytest

from goexplore.cli import main
from tests.cli.commands import COMMAND


@pytest.fixture
def start():
    """Start a command in the background; whatever is left of it goes when the test ends."""
    processes = []

    def start(*arguments, **settings):
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **settings,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def complaint(capsys):
    """Run a command in this process that has to fail; return the one line that it says."""

    def run(*arguments):
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == 2
        said = capsys.readouterr()
        *_, line = said.err.splitlines()  # before it may come how far the command got
        assert said.err.count("goexplore: ") == 1
        assert line.startswith("goexplore: ")
        return line.removeprefix("goexplore: ")

    return run
