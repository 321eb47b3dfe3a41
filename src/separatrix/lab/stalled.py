"""Connections that stall are closed: a request's headers must come within a few seconds.

uvicorn closes idle connections between requests, but waits for ever for the rest of a header. A
client that sends a byte now and then could hold as many connections as it likes.
"""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["protocol"]

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
