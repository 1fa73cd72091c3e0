"""Compiling the engine before it is needed, in two processes at once; see `compile_engine`."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from numba import config, types
from numba.core import event

from welfare_env.compiling import ANNOUNCER, NOTICES
from welfare_env.engine import kernels
from welfare_env.envs import observation

MODULES: dict[str, ModuleType] = {"kernels": kernels, "observation": observation}

# Two processes at a time. Adjudicating movement takes as long as everything else that a single game needs; what the
# others need comes first, so that it is in the cache when they ask for it.
GAMES = (
    ("kernels._step_movement", "kernels.step_flat"),
    ("kernels._step_winter", "kernels._step_retreats", "kernels.legal_flat"),
)
VECTORS = (
    ("kernels.step_games", "observation._fill_many"),
    ("kernels.legal_games", "kernels.sample_games", "observation.fill"),
)

NUMBER = sum(len(part) for stage in (GAMES, VECTORS) for part in stage)

_tables = {"T": types.Array(types.int32, 1, "C", readonly=True), "M": types.Array(types.int64, 1, "C", readonly=True)}
_rows = dict.fromkeys(("w", "b", "S", "final", "gains"), types.int32[:, ::1])
_wide = {"x": types.int64[::1], "rng": types.uint64[::1], "flags": types.uint8[::1], "done": types.bool_[::1]}
_numbers = dict.fromkeys(("g", "last", "first", "room", "years", "power", "asked"), types.int64)
_seen = {"seen": types.float32[:, ::1], "asked_messages": types.bool_}
TYPES = _tables | _rows | _wide | _numbers | _seen  # by the name of a kernel's argument; all others are int32 arrays
MANY = {  # and those of `observation._fill_many`
    "S": types.Array(types.int32, 2, "C", readonly=True),
    "games": types.int64[::1],
    "powers": types.int64[::1],
    "seen": types.float32[:, :, ::1],
}


class _NotCached(Exception):
    """A kernel would have to be compiled."""


class _Refuser(event.Listener):
    def on_start(self, seen: event.Event) -> None:
        raise _NotCached

    def on_end(self, seen: event.Event) -> None:
        """Does nothing."""


def compile_engine(for_games: bool = False, on_progress: Callable[[int, int], None] | None = None) -> None:
    """Compile the kernels that are not in numba's cache, with as many processes as there are cores (two at most).

    A line on stderr says so, unless `on_progress` is given.

    Args:
        for_games: only what single games need; else what `vector_env` needs, too.
        on_progress: is called with the number of kernels that are ready, and of all.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    stages = [GAMES] if for_games else [GAMES, VECTORS]
    names = [name for stage in stages for part in stage for name in part]
    missing = [name for name in names if not _is_cached(name)]
    report, ready = on_progress or (lambda ready, total: None), len(names) - len(missing)
    report(ready, len(names))
    if missing and on_progress is None:
        ANNOUNCER.announce(NOTICES["welfare_env."])
    for stage in stages:
        for _ in _compiled([[name for name in part if name in missing] for part in stage]):
            ready += 1
            report(ready, len(names))
    for name in missing:  # loads it; compiles it here if the process could not
        _compile(name)


def _compiled(parts: Sequence[Sequence[str]]) -> Iterator[str]:
    """The names of kernels as processes compile them, a part each; on a single core one process takes all parts."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1:
        parts = [[name for part in parts for name in part]]
    package = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    read, write = os.pipe()
    processes = [
        subprocess.Popen(  # noqa: S603 (this Python, with code of our own)
            [sys.executable, "-c", "from welfare_env.envs.precompile import compile_named; compile_named()", *part],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=subprocess.DEVNULL,
        )
        for part in parts
        if part and sys.executable
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
    for name in sys.argv[1:]:
        _compile(name)
        print(name, flush=True)


def _compile(name: str) -> None:
    kernel, signature = _kernel(name)
    kernel.compile(signature)


def _is_cached(name: str) -> bool:
    """Whether a kernel can be loaded, which it then is."""
    kernel, signature = _kernel(name)
    with _listening(_Refuser()):
        try:
            kernel.compile(signature)
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
    """A kernel by its name in `welfare_env`, and the types of its arguments."""
    module, _, function = name.rpartition(".")
    kernel = getattr(MODULES[module], function)
    known = TYPES | MANY if function == "_fill_many" else TYPES
    if function == "fill":
        known = known | {"s": types.Array(types.int32, 1, "C", readonly=True)}
    arguments = inspect.signature(kernel.py_func).parameters
    return kernel, tuple(known.get(argument, types.int32[::1]) for argument in arguments)
