"""The lab's server: one page, and two questions it may ask.

GET  /              the page
GET  /static/...    its modules, style sheet and icon; those of the player under /static/player
GET  /api/start     the methods, the presets, and the data named on the command line
POST /api/run       one method on the drawn points: the whole replay, once
POST /api/prove     whether the classes can be separated, with proof
GET  /api/player    the page that plays a replay by itself, for lecture notes

Who may speak to the lab: this machine's browser, with the token, from the lab's own page.

A web page elsewhere could try three things: ask for the lab's address by a name of its own
(rebinding; refused by Host), post to it (refused by Origin and by the cookie's SameSite), and frame
it (refused by the content security policy). Another user of the machine has no token.

Connections that stall are closed: the headers of a request must come within a few seconds. uvicorn
closes idle connections between requests, but waits for ever for the rest of a header, so a client
that sends a byte now and then could hold as many connections as it likes.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from separatrix import __version__
from separatrix.lab.building import MOST_POINTS
from separatrix.lab.methods import METHODS, catalogue
from separatrix.lab.parameters import lift_catalogue
from separatrix.lab.presets import preset_catalogue
from separatrix.lab.workers import Busy, TooLong, Workers
from separatrix.plots.player.page import STATIC as PLAYER
from separatrix.plots.player.page import player_page

__all__ = [
    "Guard",
    "Lab",
    "application",
    "protocol",
    "serve",
]


STATIC = Path(__file__).parent / "static"
MOST_BYTES = 1_000_000
BODY_SECONDS = 10.0
_MISSING = (
    "The lab needs starlette and uvicorn, which are not installed. Install them with: "
    "pip install starlette uvicorn"
)
_WARM_UP = {"points": [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]], "classes": [0, 0, 1, 1]}


@dataclass(frozen=True)
class Lab:
    """Where the lab is, who may enter, and what it opens with."""

    port: int
    host: str = "127.0.0.1"
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    table: dict[str, Any] | None = None
    seconds: float = 10.0
    warm: bool = True
    workers: int = 2

    @property
    def address(self) -> str:
        """Return the address to open, with the token."""
        return f"http://{self.host}:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> set[str]:
        """Return the names by which browsers may ask."""
        names = {self.host, "localhost", "127.0.0.1", "[::1]"}
        return {f"{name}:{self.port}" for name in names}


class _Refused(Exception):
    """A request that is answered with an error and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def application(lab: Lab) -> Any:
    """Return the ASGI application."""
    try:
        from starlette.applications import Starlette
        from starlette.responses import FileResponse, Response
        from starlette.routing import Mount, Route
        from starlette.staticfiles import StaticFiles
    except ImportError:
        raise ValueError(_MISSING) from None
    workers = Workers(lab.workers, lab.seconds)

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        warming = None
        if lab.warm:
            warming = asyncio.create_task(workers.warm(_WARM_UP, list(METHODS)))
        try:
            yield
        finally:
            if warming is not None:
                warming.cancel()
            await workers.end()

    def as_json(value: Any, status: int = 200) -> Any:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return Response(body, status, media_type="application/json")

    async def page(_: Any) -> Any:
        return FileResponse(STATIC / "lab.html", media_type="text/html")

    async def start(_: Any) -> Any:
        return as_json(
            {
                "version": __version__,
                "methods": catalogue(),
                "lifts": lift_catalogue(),
                "presets": preset_catalogue(),
                "table": lab.table,
                "most_points": MOST_POINTS,
            }
        )

    async def player(_: Any) -> Any:
        return Response(player_page(), media_type="text/plain")

    def answering(do: str) -> Any:
        async def endpoint(request: Any) -> Any:
            try:
                message = await _body(request)
                answer = await workers.ask_bytes(do, message, f"{do} {_topic(message)}")
            except _Refused as refusal:
                return as_json({"refused": str(refusal)}, refusal.status)
            except TooLong:
                sentence = f"No answer within {lab.seconds:g} seconds. Use fewer points."
                return as_json({"refused": sentence}, 503)
            except asyncio.CancelledError:  # the lab is being ended
                return as_json({"refused": "The lab has ended."}, 503)
            except Busy:
                return as_json({"refused": "Too many questions at once. Wait a moment."}, 503)
            status = 200 if answer.startswith(b'{"ok"') else 422
            return as_json(answer, 500 if answer.startswith(b'{"fault"') else status)

        return endpoint

    routes = [
        Route("/", page),
        Route("/api/start", start),
        Route("/api/player", player),
        Route("/api/run", answering("run"), methods=["POST"]),
        Route("/api/prove", answering("prove"), methods=["POST"]),
        Mount("/static/player", StaticFiles(directory=PLAYER)),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    inner = Starlette(routes=routes, lifespan=lifespan)
    cookie = f"separatrix_lab_{lab.port}"
    return Guard(inner, token=lab.token, hosts=lab.hosts, cookie=cookie)


def _topic(message: Any) -> str:
    """Name what decides which loops a question needs: their first use may have to compile them."""
    if not isinstance(message, dict):
        return ""
    parameters, lift, classes = (message.get(key) for key in ("parameters", "lift", "classes"))
    given = parameters.values() if isinstance(parameters, dict) else ()
    words = [message.get("method"), message.get("many"), *given]
    words.append(lift.get("name") if isinstance(lift, dict) else None)
    words.append(str(isinstance(classes, list) and any(code not in (0, 1) for code in classes)))
    return " ".join(word[:20] for word in words if isinstance(word, str))


async def _body(request: Any) -> Any:
    """Read the body as JSON: at most a megabyte, within seconds."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise _Refused(415, "Send JSON.")
    too_large = _Refused(413, f"The lab takes at most {MOST_BYTES:,} bytes.")
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > MOST_BYTES:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise too_large
    except TimeoutError:
        raise _Refused(408, "The question did not come to its end in time.") from None
    try:
        return json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _Refused(400, "That is not JSON.") from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def serve(lab: Lab, socket: Any = None) -> None:
    """Serve until interrupted."""
    try:
        import uvicorn

    except ImportError:
        raise ValueError(_MISSING) from None
    config = uvicorn.Config(
        application(lab),
        host=lab.host,
        port=lab.port,
        http=protocol(),
        ws="none",
        loop="asyncio",
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=None if socket is None else [socket])


# ---- who may speak to the lab: this machine's browser, with the token, from the lab's own page


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
