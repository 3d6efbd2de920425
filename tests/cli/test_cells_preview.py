"""goexplore cells-preview, as a command."""

import pytest

from goexplore.cli import main


def preview(*arguments):
    return main(["cells-preview", "two-mazes", *map(str, arguments)])


def test_the_command_prints_the_verdict_and_writes_the_page(tmp_path, capsys):
    choices = ["--cells", "rendering", "--cells", "grid(observation, dims=(0,))"]
    assert preview(*choices, "--training-frames", "1K", "--out", tmp_path / "page.html") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith(
        "grid(observation, dims=(0,)): 1 cell in 1,000 training frames: nearly everyth"
    )
    assert lines[3].endswith("open it in a browser")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cells", "girds(x)"], "Did you mean grid?"),
        (
            ["--cells", "grid(z)"],
            "expected one of observation in the observation or info, or an attribute",
        ),
        (["--seconds", "0"], "expected --seconds to be more than 0"),
        (["--training-frames", "x"], "expected --training-frames to be a whole number"),
        (["--training-frames", "0"], "expected --training-frames to be 1 or more, got 0"),
    ],
)
def test_the_command_refuses_what_it_cannot_use_in_one_line(arguments, message, tmp_path, capsys):
    assert preview(*arguments, "--out", tmp_path / "page.html") == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "page.html").exists()
