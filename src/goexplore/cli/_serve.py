"""goexplore serve: a page on runs, live, in a browser."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from goexplore.cli._arguments import parse, parse_problem
from goexplore.cli._sources import require_runs
from goexplore.errors import ConfigError, require_between
from goexplore.runs import Directory, SearchDirectory, is_training

if TYPE_CHECKING:
    from goexplore.serve import Address


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Show runs on a local web page, while they run or afterwards, until Ctrl-C. It only reads.

    The page has the map of cells, the way to each as a video, curves, and policies at play. Its address
    contains a token, and without the token nothing is shown. From another computer, use an SSH tunnel: ssh -L
    8000:localhost:PORT.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run directories of searches and trainings."""
    host: str = "127.0.0.1"
    """The address to listen on. The default is reached from this computer only."""
    port: int = 0
    """The port; 0 takes a free one."""
    allow_host: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Another name under which the page may be opened, such as that of a reverse proxy; can be repeated."""
    open: bool = False
    """Open the page in a browser."""
    problem: str | None = None
    """The problem's import path, such as my_game:Lock, if the runs are of one that no package registers."""


def run_serve(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore serve")
    require_runs(chosen.runs)
    require_between("port", chosen.port, 0, 65535)
    try:
        from goexplore.serve import serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "anyio"):
            raise
        raise ConfigError(
            f"expected {error.name} for the page, got an installation without it: pip install "
            "'goexplore[serve]'"
        ) from error

    for path in chosen.runs:
        if is_training(path):
            Directory(path).info()
        else:
            SearchDirectory.open(path)
    problem = parse_problem(chosen.problem)

    def ready(address: Address) -> None:
        print(f"{address.url} (until Ctrl-C)", flush=True)
        if chosen.open:
            webbrowser.open(address.url)

    serve(
        chosen.runs,
        host=chosen.host,
        port=chosen.port,
        allow_hosts=chosen.allow_host,
        problem=problem,
        ready=ready,
    )
    return 0
