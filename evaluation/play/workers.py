"""Workers that play games in parallel: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, Self, TypeVar

from agents.runtime.ray_cluster import connect, first_line
from welfare_env import WelfareEnvError
from welfare_env.interruptions import uninterrupted

Task = TypeVar("Task")
Result = TypeVar("Result")

GARBAGE = 100_000  # new objects between collections: games create many objects and hardly any cycles
UNGUARDED = 78  # exit code of a worker whose script would start more workers
SAVED = "Finished games are in the store"

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
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    """Starts processes and records them, since the executor starts them one by one and does not tell exit codes."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[_Process] = []

    def Process(self, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]
        process = _Process(**kwargs)
        self.started.append(process)
        return process


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
        self._pool: ProcessPoolExecutor | None = None
        self._lifelines: tuple[Connection, ...] = ()
        self._context = _Context()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.count}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._pool is not None:
            for process in self._context.started if kind is not None else ():
                if process.is_alive():
                    process.kill()  # even those that are still importing
            self._pool.shutdown(wait=True, cancel_futures=True)
            for end in self._lifelines:
                end.close()
        self._pool, self._lifelines, self._context = None, (), _Context()

    def run(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[Task, Result]]:
        """Yield every task with its result, in order of completion.

        Raises:
            WorkerError: a process was killed, or a script starts workers outside ``if __name__ == "__main__":``.
        """
        if self.count <= 1 or len(tasks) <= 1:
            yield from ((task, work(task)) for task in tasks)
            return
        try:
            with uninterrupted():  # a partly started pool could not be stopped
                waiting = {self._submitted(work, task): task for task in tasks}
            for future in as_completed(waiting):
                yield waiting.pop(future), future.result()
        except BrokenProcessPool as error:
            processes = self._context.started
            self.__exit__(None)  # waits until all have ended
            if any(process.exitcode == UNGUARDED for process in processes):
                raise WorkerError(GUARD) from None
            raise WorkerError(f"a worker process ended before its game finished (out of memory?). {SAVED}") from error

    def _submitted(self, work: Callable[[Task], Result], task: Task) -> Future[Result]:
        """Submit a task; the first ones start processes, with SIGINT blocked until they ignore it (`_prepare`)."""
        if self._pool is not None:
            return self._pool.submit(work, task)
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            os._exit(UNGUARDED)  # a worker that imports the main script; the parent explains (`GUARD`)
        _start_tracker()  # before the pool's semaphores start it with warnings; started later, it would unblock SIGINT
        self._lifelines = self._context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            self.count, mp_context=self._context, initializer=_prepare, initargs=(self._lifelines[0],)
        )
        return self._pool.submit(work, task)


def _start_tracker() -> None:
    """Start Python's resource tracker (the process that cleans up semaphores) with its warnings turned off.

    Otherwise they would appear after the last line of an interrupted command.
    """
    sys.warnoptions.append("ignore::UserWarning:multiprocessing.resource_tracker")  # inherited by the tracker
    resource_tracker.ensure_running()
    sys.warnoptions.pop()


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


class RayWorkers(Workers):
    """`Workers` on a Ray cluster.

    The cluster's machines need the same versions of this package and its libraries: games played by other code are
    refused. Files of policies and maps must have the same path there. Only this process uses the store.

    Args:
        address: "auto" or "HOST:PORT" of a running cluster; "local" starts a temporary cluster on this machine.
        count: number of processors of a local cluster; a running cluster is used fully.

    Raises:
        WorkerError: Ray is not installed, or no cluster answers.
    """

    is_remote = True

    def __init__(self, address: str, count: int = 1) -> None:
        super().__init__(count)
        self.address = address
        self._ray: Any = None

    def __exit__(self, *error: object) -> None:
        if self._ray is not None:
            self._ray.shutdown()
            self._ray = None

    def run(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[Task, Result]]:
        """Yield every task with its result, in order of completion.

        Raises:
            WorkerError: as for the class, or a process of the cluster was lost.
        """
        if not tasks:
            return
        if self._ray is None:
            here = {"num_cpus": self.count, "include_dashboard": False} if self.address == "local" else {}
            self._ray = connect(self.address, WorkerError, logging_level="ERROR", configure_logging=False, **here)
        if not self._ray.cluster_resources().get("CPU"):
            raise WorkerError(f"the Ray cluster {self.address!r:.200} has no processors")
        remote = self._ray.remote(num_cpus=1, max_retries=0)(work)
        waiting = {remote.remote(task): task for task in tasks}
        try:
            while waiting:
                (done,), _ = self._ray.wait(list(waiting), num_returns=1)
                result = self._ray.get(done)
                yield waiting.pop(done), result
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            raise WorkerError(f"the Ray cluster lost a game: {first_line(error)}. {SAVED}") from error
        finally:
            for left in waiting:
                self._ray.cancel(left)
