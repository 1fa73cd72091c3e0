"""The tables, the line of play and the pictures of docs/theorems.md.

    python -m research.price_of_peace.theorems --docs docs

The tables come from docs/theorems.jsonl, written by `welfare-env theorems --cells docs/theorems.jsonl --board ...`, and
for randomizing punishers from docs/threats.jsonl, written by `welfare-env threats --cells docs/threats.jsonl ...`. The
first table has a column per T - t. Games with the same T - t should have the same gain; if not, the cell lists all
gains. The second table has the costs of the searches. The lines of play are recomputed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from evaluation.exact import Certified, certify_punishers
from evaluation.exact.cells.line_pictures import line_picture, line_text
from evaluation.exact.cells.theorems import Cell, read_cells
from evaluation.exact.drawn.values import ThreatCell, read_threats
from research.tables import Docs

SHOWN = ("clique:3", "PLAYERA", 3)  # board, deviator and years of the line of play on the page
PICTURES = {
    "theorem-1-clique-3": SHOWN,
    "theorem-1-clique-4": ("clique:4", "PLAYERA", 3),
    "theorem-2-shared-clique-3": ("shared-clique:3", "PLAYERD", 4),
}


def main(
    path: Annotated[Path, typer.Argument(help="File of cells, in the same folder as threats.jsonl.")] = Path(
        "docs/theorems.jsonl"
    ),
    docs: Docs = None,
) -> None:
    """Print the tables as Markdown."""
    text, drawn = tables(read_cells(path)), threats(read_threats(path.with_name("threats.jsonl")))
    print(f"{text}\n\n{drawn}")
    if docs is not None:
        write(docs, {"tables": text, "threats": drawn})


def write(docs: Path, texts: dict[str, str]) -> None:
    """Write the tables and the line of play into theorems.md, and the pictures into its folder."""
    for name, (board, deviator, years) in PICTURES.items():
        picture = line_picture(board, years, certified(board, deviator, years).line)
        (docs / "pictures" / f"{name}.svg").write_text(picture, encoding="utf-8")
    board, deviator, years = SHOWN
    line = line_text(board, years, certified(board, deviator, years).line, deviator)
    page = (docs / "theorems.md").read_text(encoding="utf-8")
    for name, part in (texts | {"line": f"```\n{line}\n```"}).items():
        begin, end = f"<!-- {name}:begin -->\n", f"\n<!-- {name}:end -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}{part}{end}{rest.partition(end)[2]}"
    (docs / "theorems.md").write_text(page, encoding="utf-8")


def certified(board: str, deviator: str, years: int) -> Certified:
    """A power's best deviation in a game with t = 1 against the best punishers, certified."""
    return certify_punishers(board, 1, deviator, years, punishers="best")


def tables(cells: Iterable[Cell]) -> str:
    """Tables of gains and of costs."""
    groups: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.punishers, cell.map_name, cell.role].append(cell)
    late = range(8)
    lines = ["| punishers | board | deviator | " + " | ".join(f"T-t={number}" for number in late) + " |"]
    lines.append("|---|---|---|" + "--:|" * len(late))
    for (punishers, name, role), mine in sorted(groups.items(), reverse=True):
        gains = [gains_of([cell for cell in mine if cell.disarmed == number]) for number in late]
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


def threats(cells: Iterable[ThreatCell]) -> str:
    """The table of gains against randomizing punishers, with the costs of the searches."""
    groups: dict[tuple[str, str], dict[int, ThreatCell]] = defaultdict(dict)
    for cell in cells:
        groups[cell.map_name, cell.role][cell.years - 1] = cell  # with t = 1
    late = range(1 + max((number for mine in groups.values() for number in mine), default=0))
    head = ["board", "deviator", *(f"T-t={number}" for number in late)]
    lines = [f"| {' | '.join(head)} | certificate | positions searched | CPU-s | checker CPU-s |"]
    lines.append("|---|---|" + "--:|" * (len(late) + 4))
    by_role = sorted(groups, key=lambda group: group[1], reverse=True)
    for name, role in sorted(by_role, key=lambda group: group[0]):
        mine = groups[name, role]
        gains = [mine[number].gain if number in mine else "-" for number in late]
        found = mine.values()
        sizes = max(cell.positions for cell in found), max(cell.states for cell in found)
        seconds = sum(cell.seconds for cell in found), sum(cell.check_seconds for cell in found)
        costs = [f"{number:,.0f}" for number in (*sizes, *seconds)]
        lines.append(f"| {' | '.join([name, role, *gains, *costs])} |")
    return "\n".join(lines)


def gains_of(cells: list[Cell]) -> str:
    """The gains of games with the same T - t, separated by slashes if they differ."""
    return "/".join(str(gain) for gain in sorted({cell.gain for cell in cells})) or "-"


if __name__ == "__main__":
    typer.run(main)
