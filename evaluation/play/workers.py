"""Worker processes that play games in parallel."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from types import TracebackType
from typing import Any, TypeVar

from welfare_env import WelfareEnvError
from welfare_env.interruptions import uninterrupted

Task = TypeVar("Task")
Result = TypeVar("Result")


NAME = "welfare-env worker"
GARBAGE = 100_000  # new objects between collections: games create many objects and hardly any cycles
AHEAD = 4  # queued tasks per process
UNGUARDED = 78  # exit code of a worker whose script would start more workers

GUARD = """workers: each worker imports this script, which would start more workers. Put the script's code below:

    if __name__ == "__main__":
        result = evaluation.self_play("dove", workers=2)
"""


class WorkerError(WelfareEnvError):
    """Worker processes cannot be started, or one ended before its game finished."""


class _Process(SpawnProcess):
    """A process that ignores Ctrl-C, which reaches the whole process group but is handled by the parent."""

    def start(self) -> None:
        """Start with SIGINT blocked, which the child inherits; after its imports, `_prepare` ignores the signal."""
        _start_tracker()  # starting it later would unblock SIGINT
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    """Starts processes and records them, since the executor does not report their exit codes."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[_Process] = []

    def Process(self, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]
        process = _Process(**kwargs, name=NAME)
        self.started.append(process)
        return process

    def kill(self) -> None:
        """Kill all processes, even those that are still importing."""
        for process in self.started:
            if process.is_alive():
                process.kill()

    @property
    def is_unguarded(self) -> bool:
        """Whether a process ended because its script lacks the guard."""
        return any(process.exitcode == UNGUARDED for process in self.started)


class Workers:
    """Worker processes, started on first use and shared by all calls that get this object.

    They end with the `with` block or when this process dies, even in the middle of a game.

    Args:
        count: number of processes; with 1, games are played in this process.

    Example:
        with Workers(2) as workers:
            evaluation.self_play("random", workers=workers)
            evaluation.self_play("dove", workers=workers)
    """

    is_remote = False
    """Whether workers may run on other machines."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._context = _Context()
        self._pool: ProcessPoolExecutor | None = None
        self._lifelines: tuple[Connection, Connection] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.count}>"

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pool is None or self._lifelines is None:
            return
        if kind is not None:
            self._context.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for end in self._lifelines:
            end.close()
        self._pool = self._lifelines = None

    def run(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[Task, Result]]:
        """Yield every task with its result, in order of completion.

        Raises:
            WorkerError: a process was killed, or a script starts workers outside ``if __name__ == "__main__":``.
        """
        if self.count <= 1 or len(tasks) <= 1:
            yield from ((task, work(task)) for task in tasks)
            return
        waiting: dict[Future[Result], Task] = {}
        try:
            for task in tasks:
                with uninterrupted():
                    waiting[self._start().submit(work, task)] = task
                if len(waiting) >= AHEAD * self.count:
                    yield from _finished(waiting)
            while waiting:
                yield from _finished(waiting)
        except BrokenProcessPool as error:
            self._start().shutdown(wait=True, cancel_futures=True)  # wait until all have ended
            if self._context.is_unguarded:
                raise WorkerError(GUARD) from None
            raise WorkerError(
                "a worker process ended before its game finished (out of memory?). Finished games are in the store"
            ) from error

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None:
            _end_in_imported_script()
            _start_tracker()
            self._lifelines = self._context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(
                self.count, mp_context=self._context, initializer=_prepare, initargs=(self._lifelines[0],)
            )
        return self._pool


def _finished(waiting: dict[Future[Result], Task]) -> Iterator[tuple[Task, Result]]:
    """Wait until at least one task has ended; remove ended tasks from `waiting`."""
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        yield waiting.pop(future), future.result()


def _start_tracker() -> None:
    """Start Python's resource tracker (the process that cleans up semaphores) with its warnings turned off.

    Otherwise they would appear after the last line of an interrupted command.
    """
    sys.warnoptions.append("ignore::UserWarning:multiprocessing.resource_tracker")  # inherited by the tracker
    resource_tracker.ensure_running()
    sys.warnoptions.pop()


def _end_in_imported_script() -> None:
    """Exit if this is a worker that is still importing the main script; the parent explains why (`GUARD`).

    Python would end it as well, but with a traceback from each worker.
    """
    process = multiprocessing.current_process()
    if process.name == NAME and getattr(process, "_inheriting", False):
        os._exit(UNGUARDED)


def _prepare(lifeline: Connection) -> None:
    """Ignore interrupts, which the parent handles; exit when the other end of `lifeline` is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # for child processes of policies
    gc.freeze()  # imported modules are never garbage
    gc.set_threshold(GARBAGE)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    from welfare_env.compiling import keep_silent  # imports numba

    keep_silent()


def _end_with(lifeline: Connection) -> None:
    lifeline.poll(None)
    os._exit(1)
