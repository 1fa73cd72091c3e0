"""How fast a server may be asked: so many requests at once, so many a minute. And what ends all waiting."""

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
    """Time in seconds. Tests pass one that does not wait.

    Attributes:
        now: what time it is.
        sleep: for threads; None for a sleep that `Halt.stop` ends.
        asleep: for tasks of event loops, which are cancelled to end it.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] | None = None
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Halt:
    """Ends the waiting of all calls in progress at once, and lets the threads of a run that has ended begin none.

    Calls that other threads begin later are not concerned.

    Attributes:
        stops: how often it has done so; a call remembers how often it was when it, or the run of its thread, began.
    """

    def __init__(self) -> None:
        self.stops = 0
        self._told = Condition()
        self._run = local()  # of a thread of a run: `since`
        self._error: LMError = StoppedError()

    def stop(self, error: LMError | None = None) -> None:
        """Has the calls in progress raise `error` before they wait or send anything again; None for `StoppedError`."""
        with self._told:
            self.stops += 1
            self._error = error or StoppedError("the call was given up, since the run ends")
            self._told.notify_all()

    def join(self, since: int) -> None:
        """Makes the calling thread one of a run: what it begins after a stop is refused.

        Args:
            since: what `begin` has returned when the run began.
        """
        self._run.since = since

    def begin(self) -> int:
        """`stops` as it was when the call begins; in a thread of a run, when the run began.

        Raises:
            LMError: the run of the thread has been stopped.
        """
        since: int = getattr(self._run, "since", self.stops)
        self._check(since)
        return since

    def pause(self, seconds: float, since: int, clock: Clock) -> None:
        """Sleeps, but not for no time at all: that would let every other thread and process go first.

        Args:
            seconds: how long.
            since: what `begin` has returned.
            clock: what to sleep by.

        Raises:
            LMError: the call was stopped, before or meanwhile.
        """
        if seconds > 0 and clock.sleep is not None:
            clock.sleep(seconds)
        elif seconds > 0:
            with self._told:
                self._told.wait_for(lambda: self.stops != since, seconds)
        self._check(since)

    async def apause(self, seconds: float, since: int, clock: Clock) -> None:
        """As `pause`, for event loops; a stop is noticed when the time is over."""
        if seconds > 0:
            await clock.asleep(seconds)
        self._check(since)

    def _check(self, since: int) -> None:
        if self.stops != since:
            raise type(self._error)(*self._error.args)  # each thread one of its own, with its own traceback


class Turn(ABC):
    """What one may have to wait for, in the sequence in which threads and tasks of event loops come.

    A context manager, with `with` for threads and `async with` for tasks.
    """

    def __enter__(self) -> Self:
        ticket = self._enter()
        if ticket is not None:
            try:
                ticket.result()
            except BaseException:  # such as KeyboardInterrupt
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
            except BaseException:  # such as CancelledError
                self._give_up(ticket)
                raise
        return self

    async def __aexit__(self, *error: object) -> None:
        self._leave()

    def _give_up(self, ticket: Future[None]) -> None:
        if not ticket.cancel():  # too late, the turn is ours
            self._leave()

    @abstractmethod
    def _enter(self) -> Future[None] | None:
        """None when the turn has come at once, else what tells that it has."""

    @abstractmethod
    def _leave(self) -> None:
        """The turn is over."""


class Gate(Turn):
    """Lets so many in at a time."""

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
            if ticket.set_running_or_notify_cancel():  # from here on nobody can give it up
                return ticket
        return None


class Pace:
    """At most so many starts in any minute.

    Args:
        per_minute: None for as many as come.
        clock: what time it is.
    """

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        self._starts: deque[float] | None = None if per_minute is None else deque(maxlen=per_minute)
        self._clock = clock
        self._lock = Lock()

    def wait(self) -> float:
        """Books the next start that is free and returns how many seconds it is away."""
        if self._starts is None:
            return 0.0
        with self._lock:
            now = start = self._clock.now()
            if len(self._starts) == self._starts.maxlen:
                start = max(now, self._starts[0] + SECONDS)
            self._starts.append(start)
            return start - now
