"""Terminal output of the training commands: progress, errors in one line, and how to resume after an interruption."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from agents.runtime.progress import Meter, metered
from agents.runtime.progress import errors_in_one_line as own_errors
from modal_env.console import print_error
from modal_env.interruptions import patient
from training.run_folder import saved_iterations
from welfare_env.extras import install_extra

EXTRAS = dict.fromkeys(("torch", "ray", "safetensors", "tensorboardX"), "train") | {"matplotlib": "plot"}
PATIENCE = "interrupted: stopping at the next safe point; interrupt again to stop at once\n"


class TrainingProgress:
    """The callbacks of a training: they move its progress bar, and stop it after Ctrl-C."""

    def __init__(
        self, meter: Meter, iterations: int, line: Callable[[Any], str], hurry: Callable[[], None] = lambda: None
    ) -> None:
        self._meter, self._iterations, self._line, self._hurry = meter, iterations, line, hurry
        self._stage = "learning"
        self._is_asked = False

    def stop(self, signum: int, frame: object) -> None:
        """Handle the first Ctrl-C: stop at the next safe point."""
        self._is_asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._hurry()
        os.write(2, PATIENCE.encode())  # print is not for signal handlers

    def warm_start(self, stage: str, unit: str, done: int, total: int) -> None:
        """A step before the first iteration (such as imitation) is done.

        Raises:
            KeyboardInterrupt: after Ctrl-C.
        """
        self._enter(stage, total, unit)
        self._meter.reach(done)
        self._check()

    def iteration(self, finished: Any) -> None:
        """An iteration is done; `finished` has its number, `iteration`.

        Raises:
            KeyboardInterrupt: after Ctrl-C.
        """
        self._enter("learning", self._iterations, "iterations")
        self._meter.reach(finished.iteration, self._line(finished))
        self._check()

    def _enter(self, stage: str, total: int, unit: str) -> None:
        if stage != self._stage:
            self._stage = stage
            self._meter.stage(stage, total, unit)

    def _check(self) -> None:
        if self._is_asked:
            raise KeyboardInterrupt


@contextmanager
def training_progress(
    iterations: int, line: Callable[[Any], str], folder: Path, kept: str | None = None
) -> Iterator[TrainingProgress]:
    """Shows progress on stderr: a bar, or occasional lines; `line` describes the last iteration.

    The first Ctrl-C saves after the current iteration and stops, a second one stops at once. The last line printed is
    `kept`, or by default the number of saved iterations.
    """
    with patient() as hurry, metered("learning", iterations, "iterations") as meter:
        shown = TrainingProgress(meter, iterations, line, hurry)
        before = signal.signal(signal.SIGINT, shown.stop)
        try:
            yield shown
        except KeyboardInterrupt as interruption:
            print(f"interrupted: {kept or _kept(folder)}", file=sys.stderr)
            raise typer.Exit(130) from interruption
        finally:
            signal.signal(signal.SIGINT, before)


def _kept(folder: Path) -> str:
    """A sentence on what is saved, and what rerunning the command does."""
    done = saved_iterations(folder)
    if done is None:
        return "nothing is saved yet; the same command starts again"
    saved = f"saved after iteration {done}" if done else "saved before its first iteration"
    return f"the training is {saved}; the same command resumes it"


@contextmanager
def errors_in_one_line(kept: str = "the same command starts again") -> Iterator[None]:
    """As `agents.runtime.progress.errors_in_one_line`, and names a missing extra."""
    with own_errors(kept):
        try:
            yield
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            print_error(f"{error}: this needs {install_extra(EXTRAS[error.name])}")
            raise typer.Exit(2) from error
