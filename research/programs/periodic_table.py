"""The table and the picture of docs/periodic-table.md: ``python -m research.programs.periodic_table``.

``--search`` searches all 78 games again (under a minute) and rewrites docs/periodic-table.json; otherwise the page and
the picture are made from this file. In both cases every entry is checked first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from modal_env.pictures.style import PALETTE
from modal_env.search.table_checker import table_faults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"
COLORS = {"rescued": PALETTE[2], "settled": PALETTE[0], "shared": PALETTE[1], "ruined": PALETTE[5]}
WORDS = {
    "rescued": "better for both",
    "settled": "the only pure equilibrium",
    "shared": "better for one, worse for the other",
    "ruined": "worse for both",
}
LAYERS = {
    "1": "layer 1: the 4s lie diagonally",
    "2": "layers 2 and 4: in one row or column",
    "3": "layer 3: in one cell",
}
CELLS = ("CC", "CD", "DC", "DD")  # upper left, upper right, lower left, lower right

Entry = Mapping[str, Any]


def main(
    search: Annotated[bool, typer.Option("--search", help="Search all games again.")] = False,
    docs: Annotated[Path, typer.Option(help="Folder of the page, its data and its picture.")] = Path("docs"),
) -> None:
    """Search or read, check, write the table, draw the picture."""
    path = docs / "periodic-table.json"
    if search:
        path.write_text(json.dumps(searched(), indent=1) + "\n", encoding="utf-8")
    table: list[Entry] = json.loads(path.read_text(encoding="utf-8"))
    if wrong := table_faults(table):
        raise SystemExit("\n".join(wrong))
    page = docs / "periodic-table.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{text(table)}\n{END}{after}", encoding="utf-8")
    picture(table).savefig(docs / "pictures" / "periodic-table.png", dpi=110)
    kinds = Counter(kind for entry in table for kind in entry["kinds"])
    print("78 games checked:", ", ".join(f"{number} {kind}" for kind, number in kinds.items()))


def searched() -> list[dict[str, Any]]:
    """Search all games."""
    from modal_env.search.periodic_table import as_data, periodic_table

    with Progress(transient=True) as progress:
        task = progress.add_task("searching 78 games", total=1.0)
        return as_data(periodic_table(lambda done: progress.update(task, completed=done)))


def text(table: Sequence[Entry]) -> str:
    """The games in which reading programs adds an outcome, as a table."""
    lines = [
        "| game | place | upper row; lower row | without reading | with reading | for | what it does |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in table:
        for one in entry["with_reading"]:
            shown = {moves: ",".join(pair) for moves, pair in entry["payoffs"].items()}
            grid = f"{shown['CC']} {shown['CD']}; {shown['DC']} {shown['DD']}"
            without = " and ".join(shown[moves] for moves in entry["without_reading"]) or "none"
            name = f" {entry['name']}" if entry["name"] else ""
            until = "0 < eps" if one["high"] is None else f"0 < eps <= {one['high']}"
            cells = (f"{entry['number']}{name}", entry["place"], grid, without, shown[one["outcome"]], until)
            lines.append(f"| {' | '.join(cells)} | {', '.join(WORDS[kind] for kind in entry['kinds'])} |")
    return "\n".join(lines)


def picture(table: Sequence[Entry]) -> Figure:
    """The 78 games in Robinson and Goforth's arrangement, with the new outcomes in color."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(16, 6.2), layout="constrained")
    panels = dict(zip(LAYERS, figure.subplots(1, 3), strict=True))
    for layer, axes in panels.items():
        axes.set_title(LAYERS[layer], fontsize=11)
        axes.set(xlim=(0.45, 6.55), ylim=(6.55, 0.4), xticks=range(1, 7), yticks=range(1, 7), aspect="equal")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    for entry in table:
        layer, row, column = entry["place"]
        _draw(panels[layer], entry, int(row), int(column))
    keys = [Patch(color="#d0d0d0", label="equilibrium without reading")]
    keys += [Patch(color=COLORS[kind], label=f"with reading only: {WORDS[kind]}") for kind in _kinds(table)]
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False)
    return figure


def _kinds(table: Sequence[Entry]) -> list[str]:
    return [kind for kind in COLORS if any(kind in entry["kinds"] for entry in table)]


def _draw(axes: Axes, entry: Entry, row: int, column: int) -> None:
    """One game: four outcomes with the payoffs of both players, and Rapoport and Guyer's number above."""
    new = {one["outcome"] for one in entry["with_reading"]}
    for place, moves in enumerate(CELLS):
        left, top = column - 0.42 + 0.42 * (place % 2), row - 0.28 + 0.35 * (place // 2)
        old = moves in entry["without_reading"]
        fill = COLORS[entry["kinds"][0]] if moves in new else "#d0d0d0" if old else "white"
        axes.add_patch(_box(left, top, fill))
        ink = "white" if fill in (COLORS["settled"], COLORS["rescued"]) else "black"
        strong = "bold" if moves in new else "normal"
        paid = ",".join(entry["payoffs"][moves])
        axes.text(left + 0.21, top + 0.175, paid, ha="center", va="center", fontsize=7, weight=strong, color=ink)
    name = f"{entry['number']} {entry['name']}".strip()
    axes.text(column, row - 0.31, name.replace("prisoner's dilemma", "prisoner's d."), ha="center", fontsize=7)


def _box(left: float, top: float, fill: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((left, top), 0.42, 0.35, facecolor=fill, edgecolor="#808080", linewidth=0.6)


if __name__ == "__main__":
    typer.run(main)
