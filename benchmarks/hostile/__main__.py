"""`python -m benchmarks.hostile`: tries every door, prints what came of it, and ends with 1 after a fault."""

from __future__ import annotations

import importlib
import pkgutil
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

import benchmarks.hostile.parts
from benchmarks.hostile.doors import Door, Tally, try_inputs

CHUNK = 500  # inputs a task of a worker process


def all_doors() -> dict[str, Door]:
    """Every door, by its name."""
    folder = benchmarks.hostile.parts
    modules = [importlib.import_module(f"{folder.__name__}.{found.name}") for found in pkgutil.iter_modules(folder.__path__)]
    return {door.name: door for module in modules for door in module.DOORS}


def main(
    seed: Annotated[int, typer.Option(help="Another seed, other inputs.")] = 0,
    scale: Annotated[float, typer.Option(help="1 is a full run, two million inputs and more.")] = 1.0,
    only: Annotated[str, typer.Option(help="Only doors whose names have this in them.")] = "",
    index: Annotated[int | None, typer.Option(help="Only this input of each door, as a fault names it.")] = None,
    workers: Annotated[int, typer.Option(help="Processes.")] = 2,
) -> None:
    """Try hostile input on every public door."""
    doors = {name: door for name, door in all_doors().items() if only in name}
    tallies = {name: Tally() for name in doors}
    begun = time.perf_counter()
    tasks = [
        (name, range(low, min(low + CHUNK, most)) if index is None else range(index, index + 1))
        for name, door in doors.items()
        for most in [max(1, round(door.inputs * scale))]
        for low in (range(0, most, CHUNK) if index is None else [index])
    ]
    with ProcessPoolExecutor(workers) as pool, Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("trying", total=len(tasks))
        for (name, _), tally in zip(tasks, pool.map(_run, *zip(*[(seed, *task) for task in tasks], strict=True)), strict=True):
            tallies[name].add(tally)
            progress.advance(bar)
    _show(tallies, time.perf_counter() - begun)
    raise typer.Exit(1 if any(tally.faults for tally in tallies.values()) else 0)


def _run(seed: int, name: str, indices: range) -> Tally:
    return try_inputs(all_doors()[name], seed, indices)


def _show(tallies: dict[str, Tally], seconds: float) -> None:
    console = Console()
    table = Table("door", "inputs", "refused", "slowest, ms", "faults")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, tally in tallies.items():
        numbers = (tally.tried, tally.refused, round(1000 * tally.slowest), len(tally.faults))
        table.add_row(escape(name), *(f"{number:,}" for number in numbers))
    console.print(table)
    faults = [fault for tally in tallies.values() for fault in tally.faults]
    total = sum(tally.tried for tally in tallies.values())
    console.print(f"{total:,} inputs in {seconds:.0f} s, {len(faults)} faults")
    for fault in faults[:50]:
        console.print(fault, markup=False, emoji=False, highlight=False)


if __name__ == "__main__":
    typer.run(main)
