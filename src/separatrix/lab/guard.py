"""Who may speak to the lab: this machine's browser, with the token, from the lab's own page.

A web page elsewhere could try three things: ask for the lab's address by a name of its own
(rebinding; refused by Host), post to it (refused by Origin and by the cookie's SameSite), and frame
it (refused by the content security policy). Another user of the machine has no token.

Connections that stall are closed: the headers of a request must come within a few seconds. uvicorn
closes idle connections between requests, but waits for ever for the rest of a header, so a client
that sends a byte now and then could hold as many connections as it likes.
"""

from __future__ import annotations

import asyncio
import hmac
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

__all__ = ["Guard", "protocol"]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}
_NOT_HERE = "This address is not the lab's. Open the one that the command printed."
_NO_TOKEN = (
    "The lab opens with the address that `separatrix lab` printed: it holds a token, so that only "
    "you can use it."
)


class Guard:
    """ASGI middleware: checks every request before anything else sees it."""

    def __init__(self, app: Any, *, token: str, hosts: set[str], cookie: str) -> None:
        self._app, self._token, self._cookie = app, token, cookie
        self._hosts = {host.lower() for host in hosts}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, refuse, or pass the request on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _once(scope["headers"])

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS.items()]
            await send(message)

        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _say(guarded, *refusal)
        elif _is_entry(scope):
            await self._enter(scope, guarded)
        else:
            await self._app(scope, receive, guarded)

    def _refusal(self, scope: Any, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host", "").lower() not in self._hosts:
            return 421, _NOT_HERE
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            return 403, "Only the lab's own page may speak to it."
        is_visit = scope["method"] == "GET" and scope["path"] == "/"  # by a link from anywhere
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_visit:
            return 403, "Only the lab's own page may speak to it."
        if scope["path"].startswith("/static/") or _is_entry(scope):
            return None
        by_header = self._is_token(headers.get("authorization", "").removeprefix("Bearer "))
        by_cookie = self._is_token(_cookie(headers.get("cookie", ""), self._cookie))
        if scope["method"] == "POST" and not by_header and origin is None:
            return 403, "A request without an origin needs the token in its header."
        return None if by_header or by_cookie else (403, _NO_TOKEN)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    async def _enter(self, scope: Any, send: Any) -> None:
        """Take the token out of the address and into a cookie that no script can read."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self._is_token(given):
            await _say(send, 403, _NO_TOKEN)
            return
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def _is_entry(scope: Any) -> bool:
    """Whether the address is that of the page, with a token in it: `_enter` looks at it."""
    return scope["path"] == "/" and b"token=" in scope["query_string"]


def _once(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers by name; of a name given twice nothing can be trusted, so it is spoilt."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.decode("latin-1").lower()
        found[key] = "given twice" if key in found else value.decode("latin-1")
    return found


def _cookie(written: str, name: str) -> str:
    try:
        morsel = SimpleCookie(written).get(name)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


async def _say(send: Any, status: int, sentence: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": sentence.encode()})


# ---- connections that stall


HEADER_SECONDS = 5.0
MOST_IDLE = 256  # connections without a request: beyond that the one that waits longest is closed
MOST_CONNECTIONS = 512


def protocol() -> Any:
    """Return uvicorn's HTTP/1.1 protocol with a limit on the time that headers take."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    idle: dict[Any, None] = {}  # in the order in which they became so
    busy: set[Any] = set()

    def make_room() -> None:
        """Close idle connections: whoever opens many must not keep the lab's owner out."""
        while len(idle) > MOST_IDLE or (len(idle) > 1 and len(idle) + len(busy) > MOST_CONNECTIONS):
            oldest = next(iter(idle))
            del idle[oldest]
            oldest.transport.abort()

    class Patient(H11Protocol):
        """Closes the connection if no request has begun in time."""

        _alarm: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            idle[self] = None
            make_room()
            self._set_alarm()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            begun = self.cycle is not None and not self.cycle.response_complete
            if not begun and not self.transport.is_closing():
                busy.discard(self)
                idle[self] = None
                make_room()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            begun = self.cycle is not None and not self.cycle.response_complete
            if begun:
                idle.pop(self, None)
                busy.add(self)
            if begun and self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            elif not begun and self._alarm is None:
                self._set_alarm()

        def connection_lost(self, exc: Exception | None) -> None:
            idle.pop(self, None)
            busy.discard(self)
            if self._alarm is not None:
                self._alarm.cancel()
            super().connection_lost(exc)

        def _set_alarm(self) -> None:
            self._alarm = self.loop.call_later(HEADER_SECONDS, self._give_up)

        def _give_up(self) -> None:
            self._alarm = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Patient
