"""The lab's server: one page, and two questions it may ask.

GET  /              the page
GET  /static/...    its modules, style sheet and icon; those of the player under /static/player
GET  /api/start     the methods, the presets, and the data named on the command line
POST /api/run       one method on the drawn points: the whole replay, once
POST /api/prove     whether the classes can be separated, with proof
GET  /api/player    the page that plays a replay by itself, for lecture notes
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from separatrix import __version__
from separatrix.lab.building import MOST_POINTS
from separatrix.lab.guard import Guard
from separatrix.lab.methods import METHODS, catalogue
from separatrix.lab.parameters import lift_catalogue
from separatrix.lab.presets import preset_catalogue
from separatrix.lab.workers import Busy, TooLong, Workers
from separatrix.plots.player.page import STATIC as PLAYER
from separatrix.plots.player.page import player_page

__all__ = ["Lab", "application", "serve"]

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

        from separatrix.lab.guard import protocol
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
