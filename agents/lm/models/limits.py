"""How calls wait: the event loops, and stopping all calls of a run.

Games play in one loop (`GAMES`), and models are asked in another (`MODELS`), each in a thread of its own, so that games
that compute do not hold up the answers. All calls of remote models run in `MODELS`: their state needs no locks.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock, Thread, current_thread
from time import monotonic
from types import MappingProxyType
from typing import Any, TypeVar

from agents.lm.errors import LMError, ModelError, StoppedError

_T = TypeVar("_T")

LOOK = 0.5  # seconds after which a call that waits looks whether its run has ended

now, sleep = monotonic, asyncio.sleep  # tests replace both by a clock that does not wait

_RUNS: ContextVar[Mapping[Halt, int]] = ContextVar("runs", default=MappingProxyType({}))
"""Halt -> its `stops` at the beginning of the run to which the current task (or thread) belongs."""


class Halt:
    """Stops all calls of a run when one of them cannot go on: pauses end, and nothing is retried.

    A run consists of the tasks (and threads) that `join` it. A stop ends its calls in progress and refuses its later
    ones. Calls of others that begin after a stop are not affected.

    Attributes:
        stops: number of stops so far; a call remembers the number at its beginning, or at that of its run.
    """

    def __init__(self) -> None:
        self.stops = 0
        self._error: LMError = StoppedError()

    def stop(self, error: LMError | None = None) -> None:
        """Makes calls in progress raise `error` before they wait or send again; None for `StoppedError`."""
        self._error = error or StoppedError("the call was given up, since the run ends")
        self.stops += 1

    def join(self, since: int) -> None:
        """Adds the current task (or thread) to the run that began with `since`: see `begin`."""
        _RUNS.set({**_RUNS.get(), self: since})

    def begin(self) -> int:
        """The value of `stops` at the beginning of a call or, within a run, of the run.

        Raises:
            LMError: the run has been stopped.
        """
        since = _RUNS.get().get(self, self.stops)
        self.check(since)
        return since

    @contextmanager
    def call(self) -> Iterator[int]:
        """A context for a call, with what `begin` returns: an error of it that ends the run stops all other calls."""
        since = self.begin()
        try:
            yield since
        except LMError as error:
            goes_on = isinstance(error, ModelError) and not error.is_passing
            if not goes_on and self.stops == since:  # not the error of another call
                self.stop(error)
            raise

    def check(self, since: int) -> None:
        """Raises the error of a stop after `since`: a new one for each call, with its own traceback."""
        if self.stops != since:
            raise type(self._error)(*self._error.args)

    async def pause(self, seconds: float, since: int) -> None:
        """Sleeps; a stop, before or during the pause, raises its error within `LOOK`."""
        self.check(since)
        end = now() + seconds
        while (left := end - now()) > 0:
            await sleep(min(left, LOOK))
            self.check(since)


class BackgroundLoop:
    """An event loop in its own thread, started on first use; a forked process starts a new one.

    Code that it runs may in turn wait for coroutines, which then run in a second loop below it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
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
        finally:
            future.cancel()  # no effect on one that is done

    async def wait(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Waits for a coroutine from any event loop."""
        if asyncio.get_running_loop() is self._running():
            return await coroutine
        return await asyncio.wrap_future(self.submit(coroutine))

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
                self._below = BackgroundLoop(self._name)
                self._thread = Thread(target=self._loop.run_forever, name=self._name, daemon=True)
                self._thread.start()
            return self._loop


GAMES = BackgroundLoop("games with language models")
MODELS = BackgroundLoop("language models")
