"""The event loop that answers the questions of threads.

Requests are only sent by the async clients of the SDKs: a task can be cancelled at any moment, whatever it waits for,
but a thread that reads from a server cannot.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from threading import Lock, Thread
from typing import Any, TypeVar

_T = TypeVar("_T")


class BackgroundLoop:
    """An event loop in its own thread, started on first use; a forked process starts a new one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process = 0
        self._loop: asyncio.AbstractEventLoop

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Waits for a coroutine, and cancels it if interrupted (Ctrl-C)."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._running())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._process != os.getpid():
                self._process = os.getpid()
                self._loop = asyncio.new_event_loop()
                Thread(target=self._loop.run_forever, name="language models", daemon=True).start()
            return self._loop


LOOP = BackgroundLoop()
"""The loop of this process."""
