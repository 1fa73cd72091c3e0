"""The tables of docs/theorems.md from the file of results: `python -m studies.theorems docs/theorems.jsonl`.

The file is written by `welfare-env theorems --cells docs/theorems.jsonl --board ...`. The first table has a column for
every T - t: games that differ only in the years before they disarm have the same gain, and where they have not, both
stand there. The second one has what the searches cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from evaluation.exact.theorems import Cell, read_cells


def main(path: Annotated[Path, typer.Argument(help="A file of cells.")] = Path("docs/theorems.jsonl")) -> None:
    """Print the tables as Markdown."""
    print(page(read_cells(path)))


def page(cells: Iterable[Cell]) -> str:
    """Tables of gains and of costs."""
    groups: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.punishers, cell.map_name, cell.role].append(cell)
    late = range(8)
    lines = ["| punishers | board | deviator | " + " | ".join(f"T-t={number}" for number in late) + " |"]
    lines.append("|---|---|---|" + "--:|" * len(late))
    for (punishers, name, role), mine in sorted(groups.items(), reverse=True):
        gains = [told([cell for cell in mine if cell.disarmed == number]) for number in late]
        lines.append(f"| {punishers} | {name} | {role} | " + " | ".join(gains) + " |")
    lines.append("")
    lines.append("| punishers | board | deviator | longest game | games | checked | certificate | states | CPU-s |")
    lines.append("|---|---|---|--:|--:|--:|--:|--:|--:|")
    for (punishers, name, role), mine in sorted(groups.items(), reverse=True):
        counts = (max(cell.years for cell in mine), len(mine), sum(cell.checked for cell in mine))
        sizes = f"{max(cell.positions for cell in mine):,} | {max(cell.states for cell in mine):,}"
        seconds = sum(cell.seconds for cell in mine)
        lines.append(f"| {punishers} | {name} | {role} | {' | '.join(map(str, counts))} | {sizes} | {seconds:,.1f} |")
    return "\n".join(lines)


def told(cells: list[Cell]) -> str:
    """The gain of games with the same T - t: one number if they all agree."""
    return "/".join(str(gain) for gain in sorted({cell.gain for cell in cells})) or "-"


if __name__ == "__main__":
    typer.run(main)
