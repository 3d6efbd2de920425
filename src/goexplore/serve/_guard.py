"""Who may ask: those who know the token, from pages of this server, under a name that it goes by."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

_LONGEST_PATH = 1000


class Guard:
    """Refuses requests before anything looks at them. The token is the first part of every path.

    Another name than the server's own in `Host` means that somebody's DNS points here (rebinding); another
    `Origin` means that somebody else's page asks.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Iterable[str]) -> None:
        """`hosts` are names and addresses without ports: those may differ behind a tunnel."""
        self._app, self._token = app, token
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        inner = {**scope, "root_path": f"{scope.get('root_path', '')}/{self._token}"}
        await self._app(inner, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        if not self._is_ours(f"//{headers.get('host', '')}"):
            return PlainTextResponse(
                "expected the name of this computer as the host, got another: name it with --allow-host", 403
            )
        origin = headers.get("origin")
        if origin is not None and not self._is_ours(origin):
            return PlainTextResponse("expected a request of this server's own page, got another's", 403)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("expected GET: this server only shows", 405, {"Allow": "GET, HEAD"})
        parts = scope["path"].split("/", 2)
        if len(parts) < 2 or not secrets.compare_digest(parts[1].encode(), self._token.encode()):
            return PlainTextResponse(
                "expected the address that `goexplore serve` printed, with its token, got another", 403
            )
        if len(scope["path"]) > _LONGEST_PATH:  # Python reads no number of thousands of digits
            return PlainTextResponse(f"expected a path of at most {_LONGEST_PATH} characters, got more", 414)
        return RedirectResponse(f"{parts[1]}/") if len(parts) == 2 else None

    def _is_ours(self, address: str) -> bool:
        try:
            parts = urlsplit(address)
            more = parts.username is not None or parts.path or parts.query or parts.fragment
            return not more and (parts.hostname or "") in self._hosts
        except ValueError:
            return False
