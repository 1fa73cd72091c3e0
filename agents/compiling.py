"""Says in a line on stderr that functions are being compiled. Loads numba, so it is imported when a command runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event

OURS = ("welfare_env.", "agents.", "training.")
COMPILES = "compiling for this machine: a minute or two, the first time only"


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
