"""HTTP/1.1 connections with limits on their number per address and on slow clients.

The application sees a request only once its head has arrived. Attacks before that (thousands of connections, slow
heads) and after it (clients that do not read) are limited here, in uvicorn's own protocol class.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from uvicorn.protocols.http.h11_impl import H11Protocol


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of connections.

    Attributes:
        max_each: maximum number of connections per address.
        max_all: maximum number of connections in total.
        head_seconds: time limit for the head of a request.
        send_seconds: time limit for a client that does not read the response; then the connection is dropped (an event
            stream resumes after `Last-Event-ID` when the client reconnects).
    """

    max_each: int = 200
    max_all: int = 4000
    head_seconds: float = 10
    send_seconds: float = 15


def limited(limits: ConnectionLimits) -> type[H11Protocol]:
    """The protocol class for the connections of one server, for `uvicorn.Config(http=...)`."""
    held: Counter[str] = Counter()

    class LimitedConnection(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            self._timers: dict[str, asyncio.TimerHandle] = {}
            peer = transport.get_extra_info("peername")
            self._address = str(peer[0]) if isinstance(peer, tuple) else ""
            held[self._address] += 1
            super().connection_made(transport)
            if held[self._address] > limits.max_each or held.total() > limits.max_all:
                transport.abort()
                return
            self._set_timer("head", limits.head_seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            for name in list(self._timers):
                self._end_timer(name)
            held[self._address] -= 1
            if not held[self._address]:
                del held[self._address]
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._end_timer("head")
            elif "head" not in self._timers:
                self._set_timer("head", limits.head_seconds)

        def on_response_complete(self) -> None:
            self._end_timer("head")
            super().on_response_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._set_timer("send", limits.send_seconds)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._end_timer("send")

        def _set_timer(self, name: str, seconds: float) -> None:
            self._end_timer(name)
            self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

        def _end_timer(self, name: str) -> None:
            if timer := self._timers.pop(name, None):
                timer.cancel()

        def _should_upgrade_to_ws(self) -> bool:
            return False

    return LimitedConnection
