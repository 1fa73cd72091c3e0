"""Notices on stderr when numba has to compile something, which takes long and is otherwise silent.

numba compiles a kernel when it is first called and caches the result next to the source (or, if that is read-only, in
the user's cache folder), so this happens once per installation.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import event

AHEAD = "to do it ahead of time: welfare_env.warm_up() or `welfare-env warm-up`"
VECTORS = f"compiling vector_env for this machine, once: half a minute, less if a game was played ({AHEAD})"
NOTICES = {  # prefix of a module's name -> notice; the first match counts
    "welfare_env.envs.": "compiling observations for this machine, once: a few seconds",
    "welfare_env.": f"compiling the game engine for this machine, once: half a minute ({AHEAD})",
    "agents.toy_boards.": "compiling the exact solver of toy boards for this machine, once: a minute or two",
    "evaluation.exact.": "compiling the exact solver of toy boards for this machine, once: a minute or two",
    "agents.": "compiling players for this machine, once: a few seconds",
    "training.": "compiling the trainer for this machine, once: a few seconds",
}


class NotCached(Exception):
    """A function is not in numba's cache and would have to be compiled."""


class Announcer(event.Listener):
    """Prints what is being compiled, each notice once per process. numba reports compilation, not loading its cache."""

    def __init__(self) -> None:
        self._left = {VECTORS, *NOTICES.values()}
        self._thread = threading.local()  # its `mode`: None, "refuse" or "quiet"

    def on_start(self, seen: event.Event) -> None:
        mode = getattr(self._thread, "mode", None)
        if mode == "refuse":
            raise NotCached
        if mode is None:
            module = seen.data["dispatcher"].py_func.__module__
            self.announce(next((text for start, text in NOTICES.items() if module.startswith(start)), ""))

    def on_end(self, seen: event.Event) -> None:
        """Does nothing."""

    def announce(self, text: str) -> None:
        """Print a notice, unless it was printed before or the process is silent."""
        if text in self._left:
            self._left.remove(text)
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Within the block this thread raises NotCached instead of compiling."""
        with self._as("refuse"):
            yield

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Within the block this thread compiles without notices."""
        with self._as("quiet"):
            yield

    @contextmanager
    def _as(self, mode: str) -> Iterator[None]:
        before, self._thread.mode = getattr(self._thread, "mode", None), mode
        try:
            yield
        finally:
            self._thread.mode = before

    def keep_silent(self) -> None:
        """Print nothing from now on."""
        self._left.clear()


ANNOUNCER = Announcer()
event.register("numba:compile", ANNOUNCER)


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
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return kernel
        try:
            index = kernel._cache._cache_file
            index._source_stamp = index._source_stamp, stamp
        except AttributeError:  # a numba with another kind of cache: better no cache than a stale one
            return njit(nogil=True, **options)(function)
        return kernel

    return compiled
