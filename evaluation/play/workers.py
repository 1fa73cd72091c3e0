"""Processes that play games side by side."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.synchronize import Semaphore
from types import TracebackType
from typing import Any, TypeVar

from welfare_env import WelfareEnvError

Task = TypeVar("Task")
Result = TypeVar("Result")


NAME = "welfare-env worker"
GARBAGE = 100_000  # objects more than before, until cycles are looked for: games make many objects and hardly any cycle
UNGUARDED = 78  # the exit code of a worker whose script would start workers of its own

GUARD = """workers: each of them imports this script, which would start more of them. Put what it does below:

    if __name__ == "__main__":
        result = evaluation.self_play("dove", workers=2)
"""


class WorkerError(WelfareEnvError):
    """Worker processes cannot be started, or one ended before its game did."""


class _Context(SpawnContext):
    """Starts processes, and keeps them: the executor does not tell how they ended."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]
        process = SpawnProcess(**kwargs, name=NAME)
        self.started.append(process)
        return process

    @property
    def is_unguarded(self) -> bool:
        """Whether a process ended since its script lacks the guard."""
        return any(process.exitcode == UNGUARDED for process in self.started)


class Workers:
    """Worker processes, started when there is first something for them to do, and shared by all calls that get them.

    They end, in the middle of a game if need be, when the block is left or when this process dies.

    Args:
        count: how many processes; 1 works in this process and starts none.
        tell_compiling: whether one of them says on stderr that it has to compile; for commands.

    Example:
        with Workers(2) as workers:
            evaluation.self_play("random", workers=workers)
            evaluation.self_play("dove", workers=workers)
    """

    is_remote = False
    """Whether they may be on other machines."""

    def __init__(self, count: int, tell_compiling: bool = False) -> None:
        self.count, self.tell_compiling = count, tell_compiling
        self._context = _Context()
        self._pool: ProcessPoolExecutor | None = None
        self._lifelines: tuple[Connection, Connection] | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pool is None or self._lifelines is None:
            return
        if kind is not None:
            self._lifelines[1].close()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for end in self._lifelines:
            end.close()
        self._pool = self._lifelines = None

    def run(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[Task, Result]]:
        """Every task with its result, in the order in which they are finished.

        Raises:
            WorkerError: a process was killed, or a script starts them outside ``if __name__ == "__main__":``.
        """
        if self.count <= 1 or len(tasks) <= 1:
            yield from ((task, work(task)) for task in tasks)
            return
        try:
            waiting = {self._start().submit(work, task): task for task in tasks}
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BrokenProcessPool as error:
            self._start().shutdown(wait=True, cancel_futures=True)  # until all have ended
            if self._context.is_unguarded:
                raise WorkerError(GUARD) from None
            raise WorkerError(
                "a worker process ended before its game did (out of memory?). Finished games are kept in the store"
            ) from error

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None:
            _end_in_imported_script()
            self._lifelines = self._context.Pipe(duplex=False)
            first = self._context.Semaphore(1) if self.tell_compiling else None
            self._pool = ProcessPoolExecutor(
                self.count, mp_context=self._context, initializer=_prepare, initargs=(self._lifelines[0], first)
            )
        return self._pool


def _end_in_imported_script() -> None:
    """Ends a worker that is still importing the script that started it: the parent says why (`GUARD`).

    Python would end it, too, with a traceback from each worker.
    """
    process = multiprocessing.current_process()
    if process.name == NAME and getattr(process, "_inheriting", False):
        os._exit(UNGUARDED)


def _prepare(lifeline: Connection, first: Semaphore | None) -> None:
    """Leave interruptions to the parent; its death, or its giving up, is the end of the other side of `lifeline`.

    Args:
        first: whoever has to compile first says so; None where nobody does.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # what was imported stays
    gc.set_threshold(GARBAGE)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    if first is not None:
        from agents.compiling import tell_compiling  # which loads numba

        tell_compiling(lambda: first.acquire(block=False))


def _end_with(lifeline: Connection) -> None:
    lifeline.poll(None)
    os._exit(1)
