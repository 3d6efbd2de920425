"""What the server answers: one page, its assets, and what it shows of the runs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import anyio.to_thread
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from goexplore.errors import ConfigError, GoExploreError
from goexplore.serve._search import SearchSource
from goexplore.serve._source import NotThere, Outdated, Source
from goexplore.serve._training import TrainingSource

Answer = Callable[[Request], Response]

_ASSETS = Path(__file__).parent / "assets"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_LONGEST_CONDITION = 2000
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_BETWEEN_BEATS = 10.0

_log = logging.getLogger("goexplore")


class Watcher:
    """Looks at the runs once a second while a page is open, and tells all pages what changed."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._lock = Lock()
        self._looked = float("-inf")
        self._closing = False
        self.sights: list[dict[str, Any]] = []

    def look(self) -> list[dict[str, Any]]:
        """Return how all runs are, as of a second ago at most."""
        with self._lock:
            if time.monotonic() - self._looked > 0.9 * _SECONDS_BETWEEN_LOOKS:
                self.sights = [source.look() for source in self._sources]
                self._looked = time.monotonic()
            return self.sights

    def close(self) -> None:
        """Let all pages go."""
        self._closing = True

    async def events(self) -> AsyncIterator[bytes]:
        """Yield how the runs are whenever that changes, and now and then, as server-sent events."""
        told: list[dict[str, Any]] | None = None
        last = time.monotonic()
        while not self._closing:
            sights = await anyio.to_thread.run_sync(self.look)
            seen = [{**sight, "silent": None} for sight in sights]  # silence alone is no news
            if seen != told or time.monotonic() - last > _SECONDS_BETWEEN_BEATS:
                told, last = seen, time.monotonic()
                yield b"data: " + msgspec.json.encode(sights) + b"\n\n"
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)


class Answers:
    """An answer for each kind of request."""

    def __init__(self, sources: Sequence[Source], watcher: Watcher) -> None:
        self._sources, self._watcher = sources, watcher
        # Only what is in this table is ever sent, whatever a path says.
        self._assets = {
            file.relative_to(_ASSETS).as_posix(): file.read_bytes()
            for file in sorted(_ASSETS.rglob("*"))
            if file.suffix in _TYPES
        }

    def routes(self) -> list[Route]:
        """Return what is answered."""
        cell = "/api/runs/{run:int}/{version}/cells/{entry:int}"
        return [
            Route("/", lambda request: self._asset("index.html")),
            Route("/assets/{name:path}", lambda request: self._asset(request.path_params["name"])),
            Route("/api/events", self._events),
            *(
                Route(path, _answering(answer))
                for path, answer in {
                    "/api/runs": lambda request: _json(self._watcher.look()),
                    "/api/runs/{run:int}": lambda request: _json(self._source(request).about()),
                    "/api/runs/{run:int}/metrics": self._metrics,
                    "/api/runs/{run:int}/rollouts": lambda request: _json(self._training(request).rollouts()),
                    "/api/runs/{run:int}/rooms/{level:int}/{room:int}": self._room,
                    "/api/runs/{run:int}/{version}/columns/{name}": self._column,
                    "/api/runs/{run:int}/{version}/layouts/{name}": self._layout,
                    "/api/runs/{run:int}/{version}/parents": lambda request: _bytes(
                        self._search(request).parents(request.path_params["version"])
                    ),
                    "/api/runs/{run:int}/{version}/filter": self._filter,
                    cell: lambda request: _json(self._search(request).cell(*_entry(request))),
                    f"{cell}/descendants": lambda request: _bytes(
                        self._search(request).descendants(*_entry(request))
                    ),
                    f"{cell}/picture": lambda request: _bytes(
                        self._search(request).picture(*_entry(request)), "image/png"
                    ),
                    f"{cell}/way": lambda request: _json(self._search(request).way(*_entry(request))),
                    f"{cell}/video/{{part:int}}": lambda request: _bytes(
                        self._search(request).video_part(*_entry(request), request.path_params["part"]),
                        "video/mp4",
                    ),
                    f"{cell}/demonstration": self._demonstration,
                    "/api/runs/{run:int}/evaluations/{evaluation:int}/episodes/{no_ops:int}/{repetition:int}"
                    "/video/{part:int}": self._episode,
                }.items()
            ),
        ]

    def _asset(self, name: str) -> Response:
        if name not in self._assets:
            raise HTTPException(404, "expected a part of the page, got another name")
        return Response(self._assets[name], media_type=_TYPES[Path(name).suffix])

    async def _events(self, request: Request) -> Response:
        return StreamingResponse(
            self._watcher.events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )

    def _source(self, request: Request) -> Source:
        number: int = request.path_params["run"]
        if number >= len(self._sources):
            raise NotThere(f"expected one of {len(self._sources)} runs, got number {number}")
        return self._sources[number]

    def _search(self, request: Request) -> SearchSource:
        source = self._source(request)
        if not isinstance(source, SearchSource):
            raise NotThere(f"expected a search, got {source.name}, which is a {source.kind}")
        return source

    def _training(self, request: Request) -> TrainingSource:
        source = self._source(request)
        if not isinstance(source, TrainingSource):
            raise NotThere(f"expected a training, got {source.name}, which is a {source.kind}")
        return source

    def _metrics(self, request: Request) -> Response:
        source = self._source(request)
        metrics = source.metrics
        known = _number(request, "epoch") == metrics.epoch
        begin = _number(request, "since") if known else 0
        return _json({"epoch": metrics.epoch, "since": begin, "fields": metrics.since(begin)})

    def _room(self, request: Request) -> Response:
        params = request.path_params
        shown = self._source(request).room_picture(params["level"], params["room"])
        return Response(status_code=204) if shown is None else _bytes(shown, "image/png")

    def _column(self, request: Request) -> Response:
        params = request.path_params
        since = request.query_params.get("since")
        content, is_change = self._search(request).column(params["version"], params["name"], since)
        return Response(
            content, media_type="application/octet-stream", headers={"X-Change": "1" if is_change else "0"}
        )

    def _layout(self, request: Request) -> Response:
        params = request.path_params
        return _bytes(self._search(request).layout(params["version"], params["name"]))

    def _filter(self, request: Request) -> Response:
        condition = request.query_params.get("where", "")
        search = self._search(request)
        try:
            if len(condition) > _LONGEST_CONDITION:
                raise ConfigError(
                    f"expected a condition of at most {_LONGEST_CONDITION} characters, got more"
                )
            return _bytes(search.matching(request.path_params["version"], condition))
        except ConfigError as error:  # people mistype: the request is right, and browsers log no failure
            return _refuse(error, 200)

    def _demonstration(self, request: Request) -> Response:
        name, content = self._search(request).demonstration(*_entry(request))
        safe = "".join(each if each.isascii() and (each.isalnum() or each in "-_.") else "-" for each in name)
        headers = {"Content-Disposition": f'attachment; filename="{safe}"'}
        return Response(content, media_type="application/json", headers=headers)

    def _episode(self, request: Request) -> Response:
        names = ("evaluation", "no_ops", "repetition", "part")
        training = self._training(request)
        return _bytes(training.episode_part(*(request.path_params[name] for name in names)), "video/mp4")


def _entry(request: Request) -> tuple[str, int]:
    return request.path_params["version"], request.path_params["entry"]


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise ConfigError(f"expected `{name}` to be a whole number, got {text[:40]!r}")
    return int(text)


def _json(content: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def _bytes(content: bytes, media_type: str = "application/octet-stream") -> Response:
    return Response(content, media_type=media_type)


def _answering(answer: Answer) -> Answer:
    """Return an answer that says in one line what is wrong, and never how our code got there."""

    def respond(request: Request) -> Response:
        try:
            return answer(request)
        except NotThere as error:
            return _refuse(error, 404)
        except Outdated as error:
            return _refuse(error, 410)
        except ConfigError as error:
            return _refuse(error, 404 if "entry" in request.path_params else 400)
        except GoExploreError as error:
            return _refuse(error, 503)
        except Exception:
            _log.exception("%s could not be answered", request.url.path)
            return _json({"error": "expected to answer, got an error of our own: see the terminal"}, 500)

    return respond


def _refuse(error: GoExploreError, status: int) -> Response:
    return _json({"error": " ".join(str(error).split())}, status)


def make_app(sources: Sequence[Source], watcher: Watcher) -> Starlette:
    """Return what answers requests about runs; a `Guard` stands before it."""

    def refused(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return _json({"error": str(getattr(error, "detail", "")) or "refused"}, status)

    return Starlette(routes=Answers(sources, watcher).routes(), exception_handlers={HTTPException: refused})
