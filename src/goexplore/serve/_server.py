"""The server: a socket, a token, and the processes behind the page."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

from goexplore.errors import ConfigError
from goexplore.problems import Problem
from goexplore.report import run_names
from goexplore.serve._app import Watcher, make_app
from goexplore.serve._guard import LOOPBACK, Guard
from goexplore.serve._helper import Helper
from goexplore.serve._source import Helpers, Source, open_source

_PICTURE_SECONDS, _ARCHIVE_SECONDS = 60.0, 600.0
"""After which a helper is given up."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where the page is."""

    host: str
    port: int
    token: str

    @property
    def url(self) -> str:
        """What a browser opens."""
        name = {"0.0.0.0": "localhost", "::": "localhost"}.get(self.host, self.host)
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}/{self.token}/"


@contextlib.contextmanager
def opened_runs(paths: Sequence[Path], problem: Problem | None) -> Iterator[list[Source]]:
    """Yield runs as a page sees them, and close everything behind them in the end."""
    whole = [path.resolve() for path in paths]
    if len(set(whole)) < len(whole):
        raise ConfigError("expected each run once, got one several times: name it once")
    names = run_names(whole)
    helpers = Helpers(
        pictures=Helper(timeout_seconds=_PICTURE_SECONDS), archives=Helper(timeout_seconds=_ARCHIVE_SECONDS)
    )
    sources: list[Source] = []
    try:
        sources += [open_source(path, names[path], problem, helpers) for path in whole]
        yield sources
    finally:
        helpers.close()
        for source in sources:
            source.close()


def guarded_app(sources: Sequence[Source], *, token: str, hosts: Iterable[str]) -> tuple[Guard, Watcher]:
    """Return what answers requests about runs, of those who may ask, and what looks at the runs."""
    watcher = Watcher(sources)
    return Guard(make_app(sources, watcher), token=token, hosts=hosts), watcher


def serve(
    paths: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    allow_hosts: Sequence[str] = (),
    problem: Problem | None = None,
    ready: Callable[[Address], None] = lambda address: None,
) -> None:
    """Serve a page about runs until Ctrl-C. `ready` is called when the page can be opened.

    Args:
        paths: Run directories of searches and trainings.
        host: The address to listen on: only this computer, by default.
        port: The port; 0 takes a free one.
        allow_hosts: Names under which the page is opened, beside this computer's own.
        problem: The problem of the runs, where it comes from an import path.
        ready: Called with where the page is.

    """
    with opened_runs(paths, problem) as sources, _listening(host, port) as listener:
        address = Address(host=host, port=listener.getsockname()[1], token=secrets.token_urlsafe(18))
        app, watcher = guarded_app(sources, token=address.token, hosts=[*LOOPBACK, host, *allow_hosts])
        # Read the runs before somebody asks, so that the page is there at once.
        threading.Thread(target=watcher.look, daemon=True).start()

        def close() -> None:
            watcher.close()
            sources[0].helpers.close()  # nobody waits for what they were doing

        _Server(app, lambda: ready(address), close).run(sockets=[listener])


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"expected to listen on `host` {host} and `port` {port}, got {error}: choose others; port 0 "
                "takes a free one"
            ) from error
        yield listener
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """Lets pages go when it is told to end: they would listen for events for ever."""

    def __init__(self, app: Guard, ready: Callable[[], None], close: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_level="critical",  # answers log what goes wrong in them
                lifespan="off",
                ws="none",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=3,
            )
        )
        self._ready, self._close = ready, close

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on Ctrl-C and SIGTERM. Unlike uvicorn's own way, nothing is raised once all is closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Let pages go, and end."""
        self._close()
        super().handle_exit(sig, frame)
