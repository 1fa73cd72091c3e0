"""How calls wait: the event loop, a server's rate limits, and stopping all calls of a run.

Calls wait as tasks, hundreds of them in one thread: a task can be canceled at any moment, whatever it waits for, but a
thread that reads from a server cannot.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock, Thread, current_thread
from types import MappingProxyType
from typing import Any, Self, TypeVar

from agents.lm.errors import LMError, StoppedError

_T = TypeVar("_T")

SECONDS = 60.0  # the window in which requests and tokens are counted
LONGEST_LOOK = 1.0  # seconds after which a call that waits for tokens looks again: others may have used fewer


@dataclass(frozen=True)
class Clock:
    """Time in seconds. Tests use one that does not wait.

    Attributes:
        now: the current time.
        sleep: sleeps in a task, which is canceled to end it.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep


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
        self._lock = Lock()
        self._pausing: set[Future[None]] = set()
        self._error: LMError = StoppedError()

    def stop(self, error: LMError | None = None) -> None:
        """Makes calls in progress raise `error` before they wait or send again; None for `StoppedError`."""
        with self._lock:
            self.stops += 1
            self._error = error or StoppedError("the call was given up, since the run ends")
            pausing, self._pausing = self._pausing, set()
        for stopped in pausing:
            if stopped.set_running_or_notify_cancel():
                stopped.set_result(None)

    def join(self, since: int) -> None:
        """Adds the current task (or thread) to a run: calls it begins after a stop are refused.

        Args:
            since: the result of `begin` at the start of the run.
        """
        _RUNS.set({**_RUNS.get(), self: since})

    def begin(self) -> int:
        """The value of `stops` at the beginning of a call or, within a run, of the run.

        Raises:
            LMError: the run has been stopped.
        """
        since = _RUNS.get().get(self, self.stops)
        self._check(since)
        return since

    async def pause(self, seconds: float, since: int, clock: Clock) -> None:
        """Sleeps, unless the time is 0; a stop ends it at once.

        Args:
            seconds: duration.
            since: the result of `begin`.
            clock: the clock to use.

        Raises:
            LMError: the call was stopped, before or during the pause.
        """
        stopped: Future[None] = Future()
        with self._lock:
            if self.stops == since and seconds > 0:
                self._pausing.add(stopped)
        if stopped in self._pausing:
            sleeping = asyncio.ensure_future(clock.sleep(seconds))
            try:
                await asyncio.wait((sleeping, asyncio.wrap_future(stopped)), return_when=asyncio.FIRST_COMPLETED)
            finally:
                sleeping.cancel()
                stopped.cancel()
                self._pausing.discard(stopped)
        self._check(since)

    def _check(self, since: int) -> None:
        if self.stops != since:
            raise type(self._error)(*self._error.args)  # a new error for each call, with its own traceback


class RequestSlot(ABC):
    """A slot to wait for with `async with`, first come, first served among the tasks of all event loops."""

    async def __aenter__(self) -> Self:
        ticket = self._enter()
        if ticket is not None:
            try:
                await asyncio.wrap_future(ticket)
            except BaseException:  # e.g. CancelledError
                self._give_up(ticket)
                raise
        return self

    async def __aexit__(self, *error: object) -> None:
        self._leave()

    def _give_up(self, ticket: Future[None]) -> None:
        if not ticket.cancel():  # too late: the slot is ours
            self._leave()

    @abstractmethod
    def _enter(self) -> Future[None] | None:
        """None if the slot is free, else a future that is done when the slot is ours."""

    @abstractmethod
    def _leave(self) -> None:
        """Gives the slot back."""


class Gate(RequestSlot):
    """A fixed number of slots."""

    def __init__(self, places: int) -> None:
        self._free = self._places = places
        self._waiting: deque[Future[None]] = deque()
        self._lock = Lock()

    def widen(self, places: int) -> None:
        """Raises the number of slots to `places`; never lowers it."""
        with self._lock:
            more, self._places = max(0, places - self._places), max(places, self._places)
        for _ in range(more):
            self._leave()

    def _enter(self) -> Future[None] | None:
        with self._lock:
            if self._free:
                self._free -= 1
                return None
            ticket: Future[None] = Future()
            self._waiting.append(ticket)
            return ticket

    def _leave(self) -> None:
        with self._lock:
            ticket = self._next()
            if ticket is None:
                self._free += 1
                return
        ticket.set_result(None)

    def _next(self) -> Future[None] | None:
        while self._waiting:
            ticket = self._waiting.popleft()
            if ticket.set_running_or_notify_cancel():  # from here on it cannot be canceled
                return ticket
        return None


class TokenPace:
    """A limit on the tokens of calls that begin within a minute.

    A call counts with the most tokens that it may use, and once it has ended with those that it has used. Calls begin
    in order of arrival; one that exceeds the limit by itself begins when no other counts any more.

    Args:
        per_minute: the limit; None for no limit.
        clock: the clock to use.
    """

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        self._most, self._clock = per_minute, clock
        self._calls: deque[tuple[float, list[int]]] = deque()  # when each began, and its tokens
        self._first = Gate(1)
        self._lock = Lock()

    async def begin(self, tokens: int, halt: Halt, since: int) -> list[int]:
        """Waits until a call of so many tokens may begin.

        Returns:
            A list with its tokens: replace them by those that it has used.

        Raises:
            LMError: the call was stopped.
        """
        entry = [tokens]
        if self._most is None:
            return entry
        async with self._first:
            while (seconds := self._wait(entry)) > 0:
                await halt.pause(min(seconds, LONGEST_LOOK), since, self._clock)
        return entry

    def _wait(self, entry: list[int]) -> float:
        """Seconds until a call may begin, if those in progress use all they may. If 0, the call is counted."""
        with self._lock:
            now = self._clock.now()
            while self._calls and self._calls[0][0] <= now - SECONDS:
                self._calls.popleft()
            wait, over = 0.0, sum(used[0] for _, used in self._calls) + entry[0] - (self._most or 0)
            for began, used in self._calls:
                if over <= 0:
                    break
                wait, over = began + SECONDS - now, over - used[0]
            if wait <= 0:
                self._calls.append((now, entry))
            return wait


class Pace:
    """A limit on starts in any minute.

    Args:
        per_minute: the limit; None for no limit.
        clock: the clock to use.
    """

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        self._starts: deque[float] | None = None if per_minute is None else deque(maxlen=per_minute)
        self._clock = clock
        self._lock = Lock()

    def wait(self) -> float:
        """Reserves the next free start and returns the seconds until then."""
        if self._starts is None:
            return 0.0
        with self._lock:
            now = start = self._clock.now()
            if len(self._starts) == self._starts.maxlen:
                start = max(now, self._starts[0] + SECONDS)
            self._starts.append(start)
            return start - now


class BackgroundLoop:
    """An event loop in its own thread, started on first use; a forked process starts a new one.

    Code that it runs may in turn wait for coroutines, which then run in a second loop below it.
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
