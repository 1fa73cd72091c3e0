"""Compiled functions: their cache on disk, and a notice when one has to be compiled.

numba compiles a function when it is first called and keeps the result next to the source (or, if that is read-only, in
the user's cache folder), so this happens once per installation.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import event

NOTICE = "compiling for this machine, once per installation: up to a minute or two"
OURS = ("welfare_env", "modal_env", "agents", "training", "evaluation")


class _Listener(event.Listener):
    """Prints the notice once per process, when numba compiles one of our functions; loading its cache is no event."""

    is_due = True

    def on_start(self, seen: event.Event) -> None:
        package = seen.data["dispatcher"].py_func.__module__.partition(".")[0]
        if self.is_due and package in OURS:
            self.is_due = False
            print(NOTICE, file=sys.stderr, flush=True)

    def on_end(self, seen: event.Event) -> None:
        """Does nothing."""


_LISTENER = _Listener()
event.register("numba:compile", _LISTENER)


def keep_silent() -> None:
    """Print no notice from now on."""
    _LISTENER.is_due = False


def compiler_of(
    files: Iterable[Path], names: Iterable[Mapping[str, object]], **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles and caches functions, even if they call each other across files.

    numba's cache watches only a function's own file. This decorator recompiles after a change of any of `files`, or of
    an integer among `names` (the namespaces of the modules whose constants the functions use).

    Args:
        options: of `numba.njit`, besides `cache` and `nogil`.
    """
    numbers = sorted((name, value) for each in names for name, value in each.items() if isinstance(value, int))
    digest = hashlib.sha256(repr(numbers).encode())
    for file in sorted(files):
        digest.update(file.read_bytes())
    stamp = digest.digest()

    def compiled(function: Callable[..., Any]) -> Any:
        kernel = njit(cache=True, nogil=True, **options)(function)
        if config.DISABLE_JIT:
            return kernel
        try:
            index = kernel._cache._cache_file
            index._source_stamp = index._source_stamp, stamp
        except AttributeError:  # a numba with another kind of cache: better no cache than a stale one
            return njit(nogil=True, **options)(function)
        return kernel

    return compiled
