"""Says on stderr, once a process, that something has to be compiled; numba keeps the result for later processes."""

from __future__ import annotations

import sys

from numba.core import event

NOTICE = "compiling the search through agents for this machine, once: a few seconds"


class Announcer(event.Listener):
    """Prints the notice when the first function of this package is compiled, not when it is loaded from the cache."""

    def __init__(self) -> None:
        self._is_said = False

    def on_start(self, seen: event.Event) -> None:
        if not self._is_said and seen.data["dispatcher"].py_func.__module__.startswith("modal_env."):
            self._is_said = True
            print(NOTICE, file=sys.stderr, flush=True)

    def on_end(self, seen: event.Event) -> None:
        """Does nothing."""


event.register("numba:compile", Announcer())
