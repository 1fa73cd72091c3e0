"""What all commands of training show: a bar, errors in one line, and how to go on after an interruption."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from modal_env.errors import ModalError
from welfare_env.errors import WelfareEnvError

EXTRA = ("torch", "ray", "safetensors", "tensorboardX")


@contextmanager
def progress_shown(iterations: int, line: Callable[[Any], str]) -> Iterator[Callable[[Any], None]]:
    """A bar on stderr, with a line on each iteration, which has a number `iteration`.

    Ctrl-C ends the training after the iteration at hand, saved; a second one ends it at once.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    hidden = not sys.stderr.isatty()
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), disable=hidden)
    asked: list[int] = []

    def stop(signum: int, frame: object) -> None:
        asked.append(signum)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, stop)
    try:
        with bar:
            task = bar.add_task("learning", total=iterations)

            def show(told: Any) -> None:
                bar.update(task, completed=told.iteration, description=line(told))
                if asked:
                    raise KeyboardInterrupt

            yield show
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def errors_told() -> Iterator[None]:
    """Our own errors as one line, an interruption as what to do next."""
    logging.getLogger("ray._common.deprecation").setLevel(logging.ERROR)  # Ray's use of Ray: nothing for its users
    try:
        yield
    except (ModalError, WelfareEnvError) as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from error
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        Console(stderr=True).print(f"error: {error}: training needs pip install 'welfare-env[rl]'", markup=False)
        raise typer.Exit(2) from error
    except KeyboardInterrupt as interruption:
        print("interrupted: the training is saved, the same command goes on from there", file=sys.stderr)
        raise typer.Exit(130) from interruption
