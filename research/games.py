"""How the scripts play: options, progress, and a store of finished games, from which an interrupted one continues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich import progress
from rich.console import Console

import evaluation
from evaluation.cli.options import usable_cores

T = TypeVar("T")
Out = Annotated[Path, typer.Option("--out", help="Folder for games and pictures.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes.")]
ALL_CORES = usable_cores()


@contextmanager
def playing(out: Path, workers: int) -> Iterator[dict[str, Any]]:
    """The store and the processes, as arguments of `evaluation.self_play` and the like."""
    with evaluation.GameStore(out / "games.sqlite") as store, evaluation.Workers(workers) as pool:
        yield {"store": store, "workers": pool}


def track(steps: Iterable[T], what: str) -> Iterable[T]:
    """The steps, with a bar on stderr."""
    return progress.track(steps, what, console=Console(stderr=True))
