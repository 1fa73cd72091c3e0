"""Prints a line on stderr while functions are being compiled. Imports numba, so commands import it lazily."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event

OURS = ("welfare_env.", "agents.", "training.")
COMPILES = "compiling for this machine: a minute or two, the first time only"


class CompilingTold(event.Listener):
    """Prints once that a function is being compiled; numba sends no event for functions in its cache.

    Args:
        may_tell: whether to print, e.g. because nothing was printed so far.
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
        """Does nothing."""


@contextmanager
def compiling_told() -> Iterator[None]:
    """Prints a line on stderr when functions are compiled within the block."""
    with event.install_listener("numba:compile", CompilingTold()):
        yield


def tell_compiling(may_tell: Callable[[], bool]) -> None:
    """The same from now on, for worker processes."""
    event.register("numba:compile", CompilingTold(may_tell))
