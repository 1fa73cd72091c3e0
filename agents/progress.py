"""What commands show of long work, on stderr, so that stdout can be piped: how far it is, and that something compiles.

Where somebody looks on there is a bar, and elsewhere a line every ten seconds. The library itself stays silent: only
commands use this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event as Signal
from threading import Thread

from numba.core import event
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

EVERY = 10.0  # seconds between two lines
MEMORY = 600.0  # seconds whose pace is taken for that of the rest
OURS = ("welfare_env.", "agents.", "training.")
COMPILES = "compiling for this machine: a minute or two, the first time only"


def plain_console(stderr: bool = False, width: int | None = None) -> Console:
    """A console that shows all text as it is: in rich's own, brackets are markup, and what colons enclose an emoji."""
    return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


class Meter:
    """How far some work is. It may have several stages, one after the other; see `metered`."""

    def __init__(self, is_watched: bool) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        unit = TextColumn("{task.fields[unit]}", markup=False)
        times = (TimeElapsedColumn(), TimeRemainingColumn())
        console = plain_console(stderr=True)
        self.bar = Progress(
            *columns, unit, *times, console=console, disable=not is_watched, speed_estimate_period=MEMORY
        )
        self._task: TaskID | None = None

    def stage(self, what: str, total: int, unit: str) -> None:
        """Another stage begins, in place of the one before."""
        if self._task is not None:
            self.bar.remove_task(self._task)
        self._task = self.bar.add_task(what, total=total, unit=unit)

    def advance(self, count: int) -> None:
        """So many more are done."""
        if self._task is not None:
            self.bar.advance(self._task, count)

    def reach(self, done: int, what: str | None = None) -> None:
        """So many are done in all."""
        if self._task is not None:
            self.bar.update(self._task, completed=done, description=what)

    def line(self) -> str:
        """How far it is, in words: "playing: 12 of 60 games, 0:35 so far, about 2:20 left"."""
        return "".join(map(_line, self.bar.tasks))


def _line(task: Task) -> str:
    left = task.time_remaining
    rest = "" if left is None or task.finished else f", about {_clock(left)} left"
    done = f"{int(task.completed)} of {int(task.total or 0)} {task.fields['unit']}"
    return f"{task.description}: {done}, {_clock(task.elapsed or 0)} so far{rest}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def metered(what: str, total: int, unit: str) -> Iterator[Meter]:
    """Shows how far some work is, as long as the block lasts."""
    meter, is_over = Meter(sys.stderr.isatty()), Signal()
    meter.stage(what, total, unit)

    def tell() -> None:
        while not is_over.wait(EVERY):
            print(meter.line(), file=sys.stderr, flush=True)

    teller = Thread(target=tell, daemon=True)
    if meter.bar.disable:
        teller.start()
    try:
        with meter.bar:
            yield meter
    finally:
        is_over.set()
        if meter.bar.disable:
            teller.join()


class CompilingTold(event.Listener):
    """Says once that a function of ours is compiled: numba tells of none that it has kept from an earlier run.

    Args:
        may_tell: whether nobody else has said so already.
    """

    def __init__(self, may_tell: Callable[[], bool] = lambda: True) -> None:
        self._may_tell, self._is_told = may_tell, False

    def on_start(self, seen: event.Event) -> None:
        function = seen.data["dispatcher"].py_func
        if not self._is_told and function.__module__.startswith(OURS):
            self._is_told = True
            if self._may_tell():
                print(COMPILES, file=sys.stderr, flush=True)

    def on_end(self, seen: event.Event) -> None:
        """Nothing to say."""


@contextmanager
def compiling_told() -> Iterator[None]:
    """Says in a line on stderr that functions are being compiled, where that is so."""
    with event.install_listener("numba:compile", CompilingTold()):
        yield


def tell_compiling(may_tell: Callable[[], bool]) -> None:
    """The same from now on, for a worker process."""
    event.register("numba:compile", CompilingTold(may_tell))
