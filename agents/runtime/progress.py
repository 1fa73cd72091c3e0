"""Progress and one-line errors of commands, on stderr so that stdout can be piped.

Long work shows a bar on a terminal, and elsewhere a line every ten seconds. Only commands use this: the library itself
prints nothing except in `welfare_env.compiling`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

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
from rich.text import Text

from agents.runtime.command_options import in_options
from agents.runtime.files import reason, shown
from modal_env.console import EVERY, errors_printed, lines_every, plain_console
from modal_env.errors import ModalError
from welfare_env.errors import WelfareEnvError

MEMORY = 600.0  # seconds over which the speed is averaged
EARLY, SURE = 1 / 20, 300.0  # time left is estimated after this share of the work, or this many seconds


@contextmanager
def errors_in_one_line(kept: str) -> Iterator[None]:
    """Prints our own errors in one line, and on an interruption what to do next.

    Args:
        kept: what an interruption leaves, and what rerunning the command does.
    """
    with errors_printed(f"interrupted: {kept}", (ModalError, WelfareEnvError, OSError), _text_of):
        yield


def _text_of(error: Exception) -> object:
    if not isinstance(error, OSError):
        return in_options(str(error))
    return f"{shown(str(error.filename))}: {reason(error)}" if error.filename else error


def _is_early(task: Task) -> bool:
    """Whether it is too early to estimate the time left: the start includes compiling and the first games."""
    return task.completed < EARLY * (task.total or 0) and (task.elapsed or 0) < SURE


class _TimeLeft(TimeRemainingColumn):
    """The time left on a bar, once it can be estimated."""

    def render(self, task: Task) -> Text:
        return Text("-:--:--", style="progress.remaining") if _is_early(task) else super().render(task)


class Meter:
    """The progress of some work, which may have several stages in sequence; see `metered`."""

    def __init__(self, is_watched: bool) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        unit = TextColumn("{task.fields[unit]}", markup=False)
        times = (TimeElapsedColumn(), _TimeLeft())
        console = plain_console(stderr=True)
        self.bar = Progress(
            *columns, unit, *times, console=console, disable=not is_watched, speed_estimate_period=MEMORY
        )
        self._task: TaskID | None = None

    def stage(self, what: str, total: int, unit: str) -> None:
        """Begins another stage, which replaces the one before."""
        if self._task is not None:
            self.bar.remove_task(self._task)
        self._task = self.bar.add_task(what, total=total, unit=unit)

    def advance(self, count: int) -> None:
        """Adds to the number done."""
        if self._task is not None:
            self.bar.advance(self._task, count)

    def reach(self, done: int, what: str | None = None, total: int | None = None) -> None:
        """Sets the number done, and the total if it was not known before."""
        if self._task is not None:
            self.bar.update(self._task, completed=done, description=what, total=total)

    def line(self) -> str:
        """The progress in words: "playing: 12 of 60 games, 0:35 so far, about 2:20 left"."""
        return "".join(map(_line, self.bar.tasks))


def _line(task: Task) -> str:
    left = task.time_remaining
    rest = "" if left is None or task.finished or _is_early(task) else f", about {_clock(left)} left"
    done = f"{int(task.completed)} of {int(task.total or 0)} {task.fields['unit']}"
    return f"{task.description}: {done}, {_clock(task.elapsed or 0)} so far{rest}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def metered(what: str, total: int, unit: str) -> Iterator[Meter]:
    """Shows the progress of some work on stderr while the block lasts."""
    meter = Meter(sys.stderr.isatty())
    meter.stage(what, total, unit)
    lines = lines_every(EVERY, meter.line) if meter.bar.disable else nullcontext()
    with lines, meter.bar:
        yield meter
