"""The command line: one file per verb. Nothing heavy is imported before a verb is known."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from errno import ENOSPC
from importlib import import_module
from typing import TextIO

from goexplore.cli._text import printable_lines

_VERBS = {
    "explore": "search a problem for new cells and better trajectories (Phase 1)",
    "check-env": "test whether an environment keeps its contract",
    "cells-preview": "play at random and show what a choice of cells makes of it",
    "compare": "search beside simpler searches, with equal game frames",
    "watch": "show how runs in other terminals are doing",
    "info": "summarise a run",
    "cells": "list a run's cells",
    "verify": "replay trajectories or demonstrations from the initial state and compare",
    "demos": "take demonstrations out of runs",
    "play-expert": "let the planner that teaches policies play the stochastic game",
    "robustify": "train a policy from demonstrations for the stochastic game (Phase 2)",
    "evaluate": "play the stochastic game with a policy and report its scores",
    "video": "render a trajectory, a demonstration or a policy at play",
    "report": "write one page about one or several runs",
    "serve": "show runs in a browser, while they run or afterwards",
    "map": "draw the rooms and cells of a run",
    "certify": "compare the native engine with ale-py, frame by frame",
}

_HELP = f"""usage: goexplore VERB ...

Go-Explore for hard-exploration problems.

{chr(10).join(f"  {verb:13} {what}" for verb, what in _VERBS.items())}

`goexplore VERB --help` tells more. Start with: goexplore explore montezuma-2021 --minutes 3
Your own environment: goexplore explore my_game:Lock, where my_game.py has the class Lock.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; errors that a user can fix are one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files need not be UTF-8
    try:
        try:
            return _run(sys.argv[1:] if arguments is None else arguments, is_command=arguments is None)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where it can be told that it fails
    except BrokenPipeError:
        _silence_broken_streams()
        return 141
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        _silence_broken_streams()
        return _fail(f"expected free disk space, got {error}: free some space and try again")


def _run(arguments: list[str], *, is_command: bool) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_HELP, end="")
        return 0 if arguments else 2
    if arguments[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(f"goexplore {version('goexplore')}")
        return 0
    verb, rest = arguments[0], arguments[1:]
    if verb not in _VERBS:
        import difflib

        near = difflib.get_close_matches(verb, _VERBS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return _fail(f"expected one of {', '.join(_VERBS)}, got {verb!r}.{hint}")
    from goexplore.cli._arguments import with_flags
    from goexplore.errors import GoExploreError, ProcessGroupError

    name = verb.replace("-", "_")
    try:
        run: Callable[[list[str]], int] = getattr(import_module(f"goexplore.cli._{name}"), f"run_{name}")
        return run(rest)
    except GoExploreError as error:
        code = _fail(with_flags(str(error)))
        if isinstance(error, ProcessGroupError) and is_command:
            # PyTorch's threads still wait for the process that is gone. If the interpreter shut down in the
            # usual way, one of them could wake up meanwhile, and that aborts the process (seen once in 30).
            with contextlib.suppress(OSError):
                sys.stdout.flush()
            os._exit(code)
        return code
    except KeyboardInterrupt:
        return 130


def _fail(message: str) -> int:
    try:
        print(f"goexplore: {printable_lines(message)}", file=sys.stderr)
    except OSError:
        _silence_broken_streams()
    return 2


def _silence_broken_streams() -> None:
    """Send what cannot be written nowhere: or Python would try it again at the end, and fail."""
    for stream in (sys.stdout, sys.stderr):
        if _is_broken(stream):
            with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())


def _is_broken(stream: TextIO | None) -> bool:
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        return True
    return False
