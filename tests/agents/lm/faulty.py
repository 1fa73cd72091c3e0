"""A server on this machine that does what real ones should not, for the tests: it speaks HTTP, but not well.

What it does is a script: a coroutine that is given the two ends of a connection.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.agents.lm.local_server import LocalServer

Script = Callable[["Connection"], Awaitable[None]]

PATHS = {"chat": "/v1", "responses": "/v1", "messages": ""}  # which the SDKs want at the end of an address
USAGE = {
    "chat": {"prompt_tokens": 11, "completion_tokens": 7},
    "responses": {"input_tokens": 11, "output_tokens": 7},
    "messages": {"input_tokens": 11, "output_tokens": 7},
}


class Connection:
    """One connection; `read` first, or not: then `path` and `body` are those of the request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heads: list[str]) -> None:
        self.reader, self.writer, self.heads = reader, writer, heads
        self.path = ""
        self.body: Any = None

    async def read(self) -> Any:
        """The JSON of the next request."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.heads.append(head)
        self.path = head.split()[1]
        length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
        self.body = json.loads(await self.reader.readexactly(int(length.partition(":")[2])))
        return self.body

    async def send(self, content: bytes) -> None:
        self.writer.write(content)
        await self.writer.drain()

    async def answer(self, body: Any, status: int = 200, headers: str = "", length: int | None = None) -> None:
        """A whole answer, or with another `length` one that is not what it says."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        size = len(content) if length is None else length
        head = f"HTTP/1.1 {status} Said\r\ncontent-type: text/plain\r\ncontent-length: {size}\r\n{headers}\r\n"
        await self.send(head.encode("latin-1") + content)

    async def drip(self, content: bytes, pause: float = 0.02) -> None:
        """A byte at a time, for ever."""
        while True:
            for byte in content:
                await self.send(bytes([byte]))
                await asyncio.sleep(pause)


class FaultyServer(LocalServer):
    """A server that does what a script says.

    Attributes:
        script: what it does with the next connection.
        heads: of all requests.
    """

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.heads: list[str] = []

    def address(self, api: str, scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}{PATHS[api]}"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """As the script says."""
        await self.script(Connection(reader, writer, self.heads))


def wire(api: str, content: Any, **changes: Any) -> dict[str, Any]:
    """An answer of one of the three interfaces.

    Args:
        api: "chat", "responses" or "messages".
        content: what stands where the text, or the list of its parts, does.
        **changes: of the whole, such as `usage`.
    """
    if api == "chat":
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        body: dict[str, Any] = {"model": "any", "choices": [choice]}
    elif api == "responses":
        body = {"model": "any", "status": "completed", "output": [{"type": "message", "content": content}]}
    else:
        body = {"model": "any", "content": content, "stop_reason": "end_turn"}
    return body | {"usage": USAGE[api]} | changes


def says(*bodies: Any, status: int = 200, headers: str = "") -> Script:
    """Gives these answers, one a connection, the last one again and again."""
    left = list(bodies)

    async def script(connection: Connection) -> None:
        await connection.read()
        body = left.pop(0) if len(left) > 1 else left[0]
        await connection.answer(body, status, f"connection: close\r\n{headers}")

    return script


async def drips_headers(connection: Connection) -> None:
    """A header is always coming, never whole."""
    await connection.read()
    await connection.send(b"HTTP/1.1 200 OK\r\n")
    await connection.drip(b"x-slow: yes\r\n")


async def drips_status(connection: Connection) -> None:
    """Not even the first line ever ends."""
    await connection.read()
    await connection.drip(b"HTTP/1.1 100 Continue\r\n\r\n")


async def drips_body(connection: Connection) -> None:
    """Blanks before the JSON, for ever."""
    await connection.read()
    await connection.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    await connection.drip(b"1\r\n \r\n")


async def drips_error(connection: Connection) -> None:
    """An error whose text never ends."""
    await connection.read()
    await connection.send(b"HTTP/1.1 500 Bad\r\ntransfer-encoding: chunked\r\n\r\n")
    await connection.drip(b"1\r\nx\r\n")


async def drips_handshake(connection: Connection) -> None:
    """The beginning of TLS, a byte at a time."""
    await connection.send(b"\x16\x03\x03\x40\x00")
    await connection.drip(b"\x02\x00\x3f\x00")


async def says_nothing(connection: Connection) -> None:
    """Takes the connection, and that is all."""
    await connection.reader.read()


BOMB = gzip.compress(b" " * 2**26)
"""64 MB of blanks, in 64 KB."""
