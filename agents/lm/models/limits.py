"""Rate limits of a server: requests at a time and per minute; and how all waiting is ended."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Condition, Lock, local
from typing import Self

from agents.lm.errors import LMError, StoppedError

SECONDS = 60.0  # the window in which requests are counted


@dataclass(frozen=True)
class Clock:
    """Time in seconds. Tests use one that does not wait.

    Attributes:
        now: the current time.
        sleep: sleeps in threads; None for a sleep that `Halt.stop` ends.
        asleep: sleeps in tasks of event loops, which are cancelled to end it.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] | None = None
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Halt:
    """Ends the waiting of all calls in progress, and prevents further calls by threads of an ended run.

    Later calls of other threads are not affected.

    Attributes:
        stops: number of stops so far; a call remembers the number at its beginning, or at that of its thread's run.
    """

    def __init__(self) -> None:
        self.stops = 0
        self._told = Condition()
        self._run = local()  # per thread of a run: `since`
        self._error: LMError = StoppedError()

    def stop(self, error: LMError | None = None) -> None:
        """Makes calls in progress raise `error` before they wait or send again; None for `StoppedError`."""
        with self._told:
            self.stops += 1
            self._error = error or StoppedError("the call was given up, since the run ends")
            self._told.notify_all()

    def join(self, since: int) -> None:
        """Adds the calling thread to a run: calls it begins after a stop are refused.

        Args:
            since: the result of `begin` at the start of the run.
        """
        self._run.since = since

    def begin(self) -> int:
        """The value of `stops` at the beginning of a call or, in a thread of a run, of the run.

        Raises:
            LMError: the run of the thread has been stopped.
        """
        since: int = getattr(self._run, "since", self.stops)
        self._check(since)
        return since

    def pause(self, seconds: float, since: int, clock: Clock) -> None:
        """Sleeps, unless the time is 0: even that would let all other threads and processes go first.

        Args:
            seconds: duration.
            since: the result of `begin`.
            clock: the clock to use.

        Raises:
            LMError: the call was stopped, before or during the pause.
        """
        if seconds > 0 and clock.sleep is not None:
            clock.sleep(seconds)
        elif seconds > 0:
            with self._told:
                self._told.wait_for(lambda: self.stops != since, seconds)
        self._check(since)

    async def apause(self, seconds: float, since: int, clock: Clock) -> None:
        """As `pause`, for event loops; a stop is noticed at the end of the pause."""
        if seconds > 0:
            await clock.asleep(seconds)
        self._check(since)

    def _check(self, since: int) -> None:
        if self.stops != since:
            raise type(self._error)(*self._error.args)  # a new error for each thread, with its own traceback


class Turn(ABC):
    """Something to wait for; threads and tasks of event loops are served in the order they come.

    A context manager: `with` in threads, `async with` in tasks.
    """

    def __enter__(self) -> Self:
        ticket = self._enter()
        if ticket is not None:
            try:
                ticket.result()
            except BaseException:  # e.g. KeyboardInterrupt
                self._give_up(ticket)
                raise
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()

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
        if not ticket.cancel():  # too late: the turn is ours
            self._leave()

    @abstractmethod
    def _enter(self) -> Future[None] | None:
        """None if it is our turn at once, else a future that is done when it is."""

    @abstractmethod
    def _leave(self) -> None:
        """Ends the turn."""


class Gate(Turn):
    """Lets a fixed number in at a time."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[Future[None]] = deque()
        self._lock = Lock()

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
            if ticket.set_running_or_notify_cancel():  # from here on it cannot be cancelled
                return ticket
        return None


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
