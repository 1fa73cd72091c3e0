"""Processes that play games side by side."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from types import TracebackType
from typing import TypeVar

from welfare_env import WelfareEnvError

Task = TypeVar("Task")
Result = TypeVar("Result")


class WorkerError(WelfareEnvError):
    """A worker process ended before its game did."""


class Workers:
    """Worker processes, started when there is first something for them to do, and shared by all calls that get them.

    They end, in the middle of a game if need be, when the block is left or when this process dies.

    Args:
        count: how many processes; 1 works in this process and starts none.

    Example:
        with Workers(2) as workers:
            evaluation.self_play("random", workers=workers)
            evaluation.self_play("dove", workers=workers)
    """

    def __init__(self, count: int) -> None:
        self.count = count
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
            WorkerError: a process was killed. In a script, start workers below ``if __name__ == "__main__":``.
        """
        if self.count <= 1 or len(tasks) <= 1:
            yield from ((task, work(task)) for task in tasks)
            return
        try:
            waiting = {self._start().submit(work, task): task for task in tasks}
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BrokenProcessPool as error:
            raise WorkerError(
                "a worker process ended before its game did (out of memory?). Finished games are kept in the store. "
                "A script that plays with several workers must do so below: if __name__ == '__main__':"
            ) from error

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._lifelines = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(
                self.count, mp_context=context, initializer=_prepare, initargs=(self._lifelines[0],)
            )
        return self._pool


def _prepare(lifeline: Connection) -> None:
    """Leave interruptions to the parent; its death, or its giving up, is the end of the other side of `lifeline`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    lifeline.poll(None)
    os._exit(1)
