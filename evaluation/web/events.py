"""Server-sent events: they notify a page of a change, and the page then requests the state it may see.

An event has only a position, nothing secret, so all pages of a game get the same events. The position counts entries on
disk and is the id of the event: a page that reconnects, also after a restart of the server, sends the last id it has
seen (`Last-Event-ID`) and is notified at once if there is more. Nothing is queued: a reader gets only the newest
position, so slow readers need no memory. Heartbeats are separate events ("alive"), so that a page notices a half-open
connection, which otherwise ends without an error.

>>> events = Events(position=3)
>>> events.move(4)  # wakes the streams
>>> response = events.response(request)  # in a route
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response, StreamingResponse

if TYPE_CHECKING:
    from starlette.requests import Request

PULSE = 20.0  # seconds between heartbeats, which also keep proxies from closing quiet streams
RETRY = 1500  # milliseconds until a browser reconnects


async def wait_for(event: asyncio.Event, seconds: float | None) -> None:
    """Wait until an event is set, with a timeout in seconds; None for no timeout."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


class Events:
    """The event streams of a game.

    Args:
        position: the current position.
        max_open: maximum number of open streams; further requests get status 503, and the browser tries again.
        pulse: seconds between heartbeats.
    """

    def __init__(self, position: int = 0, max_open: int = 2000, pulse: float = PULSE) -> None:
        self.position, self.max_open, self.pulse = position, max_open, pulse
        self.open = 0
        self._is_closed = False
        self._moved = asyncio.Event()

    def move(self, position: int) -> None:
        """Notify all streams of a new position."""
        self.position = position
        self._moved.set()
        self._moved = asyncio.Event()

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        self.move(self.position)

    def response(self, request: Request) -> Response:
        """An event stream: an event at once if `Last-Event-ID` is not current, then one per change."""
        if self.open >= self.max_open:
            return PlainTextResponse("too many streams", 503, {"retry-after": "5"})
        headers = {"x-accel-buffering": "no"}  # for nginx
        return StreamingResponse(self._events(last_event(request)), media_type="text/event-stream", headers=headers)

    async def _events(self, last: int) -> AsyncIterator[str]:
        self.open += 1
        try:
            yield f"retry: {RETRY}\n\n"
            while not self._is_closed:
                if self.position != last:
                    last = self.position
                    yield f"id: {last}\ndata: {last}\n\n"
                    continue
                await wait_for(self._moved, self.pulse)
                if self.position == last:
                    yield f"event: alive\ndata: {last}\n\n"
        finally:
            self.open -= 1


def last_event(request: Request) -> int:
    """The last position a page has seen, from the header or (for its first stream) from ``?after=``; -1 for none."""
    text = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 12 else -1
