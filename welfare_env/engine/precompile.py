"""Compiling the engine in two processes at once, in place of kernel after kernel as they are called."""

from __future__ import annotations

import functools
import gc
import inspect
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import config, types
from numba.core import event

from welfare_env.compiling import ANNOUNCER, NOTICES
from welfare_env.engine import kernels

# What two processes compile, each about half of the work. A kernel that is listed first in one process is in the cache
# when the other one needs it.
Parts = tuple[tuple[str, ...], tuple[str, ...]]
SHARED: Parts = (
    ("_read_orders", "_find_routes", "_move_units", "_step_movement"),
    ("_resolve_convoys", "_step_winter", "_step_retreats"),
)
GAMES: Parts = ("step_flat",), ("legal_flat",)  # what single games call
VECTORS: Parts = ("step_games",), ("legal_games", "sample_games")  # what `vector_env` calls

_tables = {"T": types.Array(types.int32, 1, "C", readonly=True), "M": types.Array(types.int64, 1, "C", readonly=True)}
_rows = dict.fromkeys(("w", "b", "S", "final", "gains"), types.int32[:, ::1])
_wide = {"x": types.int64[::1], "rng": types.uint64[::1], "flags": types.uint8[::1], "done": types.bool_[::1]}
_numbers = dict.fromkeys(("g", "first", "last", "room", "movers", "supporters", "carriers"), types.int64)
TYPES = _tables | _rows | _wide | _numbers  # by the name of a kernel's argument; all others are int32 arrays


class _NotCached(Exception):
    """A kernel would have to be compiled."""


class _Refuser(event.Listener):
    def on_start(self, seen: event.Event) -> None:
        raise _NotCached

    def on_end(self, seen: event.Event) -> None:
        """Does nothing."""


@functools.cache
def ensure_compiled(*uses: Parts) -> None:
    """Before the first use in a process: `compile_engine`. Worker processes leave it to their parent."""
    if multiprocessing.parent_process() is None:
        compile_engine(*uses)


def compile_engine(*uses: Parts, on_progress: Callable[[int, int], None] | None = None) -> None:
    """Compile the kernels that are not in numba's cache, in two processes (in one on a single core).

    A line on stderr says so, unless `on_progress` is given.

    Args:
        uses: GAMES, VECTORS or both.
        on_progress: is called with the number of kernels that are ready, and of all.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    called = [name for use in uses for part in use for name in part]
    missing = [name for name in called if not _is_cached(name)]
    parts = [[*SHARED[number], *(name for use in uses for name in use[number])] for number in range(2)]
    total = sum(map(len, parts))
    report = on_progress or (lambda ready, total: None)
    if missing and on_progress is None:
        ANNOUNCER.announce(NOTICES["welfare_env."])
    for ready, _ in enumerate(_compiled(parts) if missing else (), 1):
        report(ready, total)
    for name in missing:  # loads it; compiles it here if the process could not
        _compile(name)
    report(total, total)


def _compiled(parts: Sequence[Sequence[str]]) -> Iterator[str]:
    """The names of kernels as processes compile them, a part each; on a single core one process takes all parts."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1:
        parts = [[name for part in parts for name in part]]
    is_python = "python" in Path(sys.executable or "").name.lower()  # not a program that embeds it
    package = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    read, write = os.pipe()
    processes = [
        subprocess.Popen(  # noqa: S603 (this Python, with code of our own)
            [sys.executable, "-c", "from welfare_env.engine.precompile import compile_named; compile_named()", *part],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=subprocess.DEVNULL,
        )
        for part in (parts if is_python else ())
    ]
    os.close(write)
    try:
        with os.fdopen(read) as lines:
            yield from map(str.strip, lines)
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def compile_named() -> None:
    """What a process of `compile_engine` does: compile the kernels named on its command line, and print each name."""
    ANNOUNCER.keep_silent()
    gc.disable()  # 6% of the time
    for name in sys.argv[1:]:
        _compile(name)
        print(name, flush=True)


def _compile(name: str) -> None:
    kernel, signature = _kernel(name)
    kernel.compile(signature)


def _is_cached(name: str) -> bool:
    """Whether a kernel can be loaded, which it then is."""
    try:
        with _listening(_Refuser()):
            _compile(name)
    except _NotCached:
        return False
    return True


@contextmanager
def _listening(listener: event.Listener) -> Iterator[None]:
    """Replace the announcer by another listener."""
    event.unregister("numba:compile", ANNOUNCER)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
        event.register("numba:compile", ANNOUNCER)


def _kernel(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A kernel, and the types of its arguments."""
    kernel = getattr(kernels, name)
    arguments = inspect.signature(kernel.py_func).parameters
    return kernel, tuple(TYPES.get(argument, types.int32[::1]) for argument in arguments)
