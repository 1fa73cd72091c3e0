"""Server-sent events: a page is told that something has changed, and asks for what it may see.

An event carries a position and nothing else that is secret, so that all pages of a game may have the same one. Its id
is the position, which counts what is on disk: a page that comes back after a lost connection, or a restart of the
server, says the last id it has seen (`Last-Event-ID`) and is told at once if there is more. Nothing is queued: a reader
gets the newest position, however many it has missed, so that slow readers cost no memory. Signs of life are events of
their own ("alive"), so that a page sees when they stop: a connection that is half open ends without an error.

>>> topic = Topic(position=3)
>>> topic.move(4)  # wakes the streams
>>> response = streams.response(request, topic)  # in a route
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response, StreamingResponse

if TYPE_CHECKING:
    from starlette.requests import Request

PULSE = 20.0  # seconds between signs of life, by which proxies and browsers know that a quiet stream is alive
RETRY = 1500  # milliseconds after which a browser connects again


async def wait_for(event: asyncio.Event, seconds: float | None) -> None:
    """Wait until an event is set, or until the time is over; None is forever."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


class Topic:
    """Something that streams follow: a game, a run.

    Args:
        position: how far it is on disk.

    Attributes:
        followers: streams that are open.
    """

    def __init__(self, position: int = 0) -> None:
        self.position = position
        self.followers = 0
        self.is_closed = False
        self._moved = asyncio.Event()

    def move(self, position: int) -> None:
        """Tell all streams of a new position."""
        self.position = position
        self._wake()

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        self._wake()

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Wait for the next position, or until the time is over."""
        await wait_for(self._moved, seconds)


class Streams:
    """All event streams of a server.

    Args:
        most: of all topics at once; one more is answered by 503, and the browser tries again.
        pulse: seconds between signs of life.
    """

    def __init__(self, most: int = 2000, pulse: float = PULSE) -> None:
        self.most = most
        self.pulse = pulse
        self.open = 0

    def response(self, request: Request, topic: Topic) -> Response:
        """The events of a topic: at once if the position is not the one of `Last-Event-ID`, then whenever it moves."""
        if self.open >= self.most:
            return PlainTextResponse("too many streams", 503, {"retry-after": "5"})
        headers = {"x-accel-buffering": "no"}  # for nginx
        return StreamingResponse(
            self._events(topic, last_event(request)), media_type="text/event-stream", headers=headers
        )

    async def _events(self, topic: Topic, last: int) -> AsyncIterator[str]:
        self.open += 1
        topic.followers += 1
        try:
            yield f"retry: {RETRY}\n\n"
            while not topic.is_closed:
                if topic.position != last:
                    last = topic.position
                    yield f"id: {last}\ndata: {last}\n\n"
                    continue
                await topic.wait(self.pulse)
                if topic.position == last:
                    yield f"event: alive\ndata: {last}\n\n"
        finally:
            self.open -= 1
            topic.followers -= 1


def last_event(request: Request) -> int:
    """The position that a page has seen last, by its header or (a page's first stream) by ``?after=``; -1 for none."""
    text = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 12 else -1
