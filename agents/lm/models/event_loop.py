"""The event loop of language models: it plays their games, and answers the questions of threads.

All waiting is done by tasks, hundreds of which need one thread: a task can be canceled at any moment, whatever it
waits for, but a thread that reads from a server cannot.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Lock, Thread, current_thread
from typing import Any, TypeVar

_T = TypeVar("_T")


class BackgroundLoop:
    """An event loop in its own thread, started on first use; a forked process starts a new one.

    Code that it runs may in turn wait for coroutines, which then run in a loop below it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._process = 0
        self._loop: asyncio.AbstractEventLoop
        self._thread: Thread
        self._below: BackgroundLoop

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Waits for a coroutine, and cancels it if interrupted (Ctrl-C)."""
        future = self.submit(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Starts a coroutine, with the caller's context variables."""
        loop = self._running()
        if current_thread() is self._thread:
            return self._below.submit(coroutine)
        return asyncio.run_coroutine_threadsafe(coroutine, loop)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._process != os.getpid():
                self._process = os.getpid()
                self._loop = asyncio.new_event_loop()
                self._below = BackgroundLoop()
                self._thread = Thread(target=self._loop.run_forever, name="language models", daemon=True)
                self._thread.start()
            return self._loop


LOOP = BackgroundLoop()
"""The loop of this process."""
