"""Games on a Ray cluster, with the same results. Only the driver uses the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from agents.runtime.ray_cluster import connect, first_line
from evaluation.play.workers import AHEAD, Result, Task, WorkerError, Workers

LOCAL = "local"


class RayWorkers(Workers):
    """`Workers` on a Ray cluster.

    The cluster's machines need the same versions of this package and its libraries: `play_all` refuses games played by
    other code. Files of policies and maps must have the same path there.

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
        ray = self._start()
        remote = ray.remote(num_cpus=1, max_retries=0)(work)
        processors = int(ray.cluster_resources().get("CPU", 0))
        if not processors:
            raise WorkerError(f"the Ray cluster {self.address!r:.200} has no processors")
        waiting: dict[Any, Task] = {}
        try:
            for task in tasks:
                waiting[remote.remote(task)] = task
                if len(waiting) >= AHEAD * processors:
                    yield self._next(waiting)
            while waiting:
                yield self._next(waiting)
        finally:
            for left in waiting:
                ray.cancel(left)

    def _next(self, waiting: dict[Any, Task]) -> tuple[Task, Any]:
        done, _ = self._ray.wait(list(waiting), num_returns=1)
        try:
            result = self._ray.get(done[0])
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            first = first_line(error)
            raise WorkerError(f"the Ray cluster lost a game: {first}. Finished games are in the store") from error
        return waiting.pop(done[0]), result

    def _start(self) -> Any:
        if self._ray is not None:
            return self._ray
        here: dict[str, Any] = {"num_cpus": self.count, "include_dashboard": False} if self.address == LOCAL else {}
        ray = connect(self.address, WorkerError, logging_level="ERROR", configure_logging=False, **here)
        self._ray = ray
        return ray
