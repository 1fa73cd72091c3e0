"""Compiling the engine in two processes at once, instead of kernel by kernel on first call."""

from __future__ import annotations

import functools
import gc
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from numba import config, types

from welfare_env import compiling
from welfare_env.board.cache import folder
from welfare_env.compiling import ANNOUNCER, NOTICES, NotCached
from welfare_env.engine import kernels

# What the two processes compile, each about half of the work. A kernel that one process compiles early is cached when
# the other one needs it.
Parts = tuple[tuple[str, ...], tuple[str, ...]]
SHARED: Parts = (
    ("read_orders", "find_routes", "move_units", "step_movement"),
    ("resolve_convoys", "step_winter", "step_retreats"),
)
GAMES: Parts = ("step_flat",), ("legal_flat",)  # used by single games
VECTORS: Parts = ("step_games",), ("legal_games", "sample_games")  # used by `vector_env`

_tables = {"T": types.Array(types.int32, 1, "C", readonly=True), "M": types.Array(types.int64, 1, "C", readonly=True)}
_rows = dict.fromkeys(("w", "b", "S", "final", "gains"), types.int32[:, ::1])
_wide = {"x": types.int64[::1], "rng": types.uint64[::1], "flags": types.uint8[::1], "done": types.bool_[::1]}
_numbers = dict.fromkeys(("g", "first", "last", "room", "movers", "supporters", "carriers"), types.int64)
TYPES = _tables | _rows | _wide | _numbers  # name of a kernel's argument -> type; all others are int32 arrays


# The child process gets its parent's module search path.
CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop(1))
from welfare_env.engine.precompile import compile_named
compile_named()
"""


@functools.cache
def ensure_compiled(*uses: Parts) -> None:
    """Call `compile_engine`, once per process."""
    compile_engine(*uses)


def compile_engine(*uses: Parts, on_progress: Callable[[int, int], None] | None = None) -> None:
    """Compile the kernels that are not in numba's cache, in two processes (in one on a single core).

    If several processes on one machine need this at the same time, the first compiles and the others wait. A line on
    stderr says that something is compiled, unless `on_progress` is given.

    Args:
        uses: GAMES, VECTORS or both.
        on_progress: called with the numbers of finished and of all kernels.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    parts = [[*SHARED[number], *(name for use in uses for name in use[number])] for number in range(2)]
    called, total = [name for use in uses for part in use for name in part], sum(map(len, parts))
    report = on_progress or (lambda ready, total: None)
    if not all(map(_is_cached, called)):
        with ANNOUNCER.quiet() if on_progress else nullcontext():
            if on_progress is None:
                ANNOUNCER.announce(NOTICES["welfare_env."] if GAMES in uses else compiling.VECTORS)
            with _one_at_a_time():
                if not all(map(_is_cached, called)):  # no other process has compiled them meanwhile
                    for ready, _ in enumerate(_compiled(parts), 1):
                        report(ready, total)
                for name in called:  # loads each kernel, or compiles it here if the child processes failed
                    _compile(name)
    report(total, total)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Hold a lock against other processes of this user that compile the engine, if files can be locked."""
    try:
        import fcntl

        place = folder()
        place.mkdir(parents=True, exist_ok=True)
        lock = (place / "compiling.lock").open("w")
    except (ImportError, OSError, RuntimeError):  # Windows; a read-only or missing home
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        yield


def _compiled(parts: Sequence[Sequence[str]]) -> Iterator[str]:
    """Start a process per part and yield each kernel's name once it is compiled; one process on a single core.

    If a process fails, the reason goes to stderr and the caller compiles the missing kernels.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1:
        parts = [[name for part in parts for name in part]]
    if "python" not in Path(sys.executable or "").name.lower():  # a program that embeds Python
        return
    read, write = os.pipe()
    started: list[subprocess.Popen[bytes]] = []
    try:
        with os.fdopen(read) as lines, tempfile.TemporaryFile() as errors:
            try:
                started += (_start(part, write, errors) for part in parts)
            except OSError as error:
                print(f"cannot start a process for compiling ({error}): compiling in this one", file=sys.stderr)
            finally:
                os.close(write)
            yield from map(str.strip, lines)
            if any(process.wait() for process in started):
                errors.seek(0)
                last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
                print(f"a process for compiling has failed ({last:.200}): compiling in this one", file=sys.stderr)
    finally:
        for process in started:
            process.terminate()
            process.wait()


def _start(part: Sequence[str], write: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process that compiles a part. It ignores Ctrl-C; its parent terminates it."""
    return subprocess.Popen(  # noqa: S603 (this Python, with code of our own)
        [sys.executable, "-P", "-c", CHILD, json.dumps(sys.path), *part],
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=errors,
        start_new_session=True,
    )


def compile_named() -> None:
    """The child process of `compile_engine`: compile the kernels named on the command line, and print each name."""
    ANNOUNCER.keep_silent()
    gc.disable()  # saves 6% of the time
    for name in sys.argv[1:]:
        _compile(name)
        print(name, flush=True)


def _compile(name: str) -> None:
    kernel, signature = _kernel(name)
    kernel.compile(signature)


def _is_cached(name: str) -> bool:
    """Load a kernel from the cache; whether that was possible."""
    try:
        with ANNOUNCER.refusing():
            _compile(name)
    except NotCached:
        return False
    return True


def _kernel(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A kernel and the types of its arguments."""
    kernel = getattr(kernels, name)
    arguments = inspect.signature(kernel.py_func).parameters
    return kernel, tuple(TYPES.get(argument, types.int32[::1]) for argument in arguments)
