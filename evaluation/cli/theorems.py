"""``welfare-env theorems``, ``threats`` and ``frontier``: exact computations on toy boards."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from agents.runtime.command_options import with_options
from agents.runtime.files import no_folder, shown
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables, print_text
from evaluation.checks import EvaluationError
from evaluation.cli.console import errors_in_one_line, print_json

if TYPE_CHECKING:
    from evaluation.exact.cells.theorems import Cell

BOARDS = ["clique:3", "shared-clique:3"]
Boards = Annotated[
    list[str] | None,
    typer.Option(help="clique:n or shared-clique:n; repeat for several.", show_default=", ".join(BOARDS)),
]
Cells = Annotated[Path, typer.Option(help="Results file; an existing one is continued.")]
CELLS, THREATS = Path("runs/theorems.jsonl"), Path("runs/threats.jsonl")


@with_options
def theorems(
    tables: TableOptions,
    board: Boards = None,
    years: Annotated[int, typer.Option(min=1, max=10, help="Longest game, in years.")] = 6,
    punishers: Annotated[
        str, typer.Option(help="stated: the policy punisher:t=N. ranked: its 300 best movements. best: all movements.")
    ] = "stated",
    check: Annotated[int, typer.Option(min=0, help="Verify certificates up to this many years.")] = 10,
    cells: Cells = CELLS,
    lines: Annotated[
        Path | None, typer.Option(help="Folder for the refuting lines of play, as text and pictures.")
    ] = None,
    as_json: Json = False,
) -> None:
    """A deviator's gain against the paper's punishing profile, by length of the game and year of disarmament."""
    from evaluation.exact.cells.theorems import fill, read_cells, roles  # lazily: numba

    boards = board or BOARDS
    with errors_in_one_line("cells that are computed are kept; run the same command to resume"):
        _check_boards(boards)
        if lines is not None and (wrong := no_folder(lines)):
            raise EvaluationError(f"--lines {shown(lines)}: it {wrong}")
        tables.check()
        cells.parent.mkdir(parents=True, exist_ok=True)
        for name in boards:
            fill(cells, name, years, punishers, check, report=lambda text: typer.echo(text, err=True))
        chosen = [
            cell
            for cell in read_cells(cells)
            if cell.map_name in boards and cell.years <= years and cell.punishers == punishers
        ]
        tables.write([cell.row() for cell in chosen])
        if lines is not None:
            write_lines(lines, chosen)
        if as_json:
            print_json([cell.__dict__ | {"gain": cell.gain} for cell in chosen])
            return
        for name in boards:
            for role in roles(name):
                mine = [cell for cell in chosen if (cell.map_name, cell.role) == (name, role)]
                print_tables(gain_table(name, role, mine))
                print_text(verdict(mine))


def _check_boards(boards: list[str]) -> None:
    """Check the values of --board.

    Raises:
        EvaluationError: several boards in one value.
        UnknownMapError, CertificateError: as `roles`.
    """
    from evaluation.exact.cells.theorems import roles  # lazily: numba

    for name in boards:
        if "," in name:
            raise EvaluationError(f"--board {shown(name)}: give one board; repeat --board for several")
        roles(name)


def gain_table(name: str, role: str, cells: list[Cell]) -> Table:
    """Gains by T and t; * marks gains without a verified certificate."""
    longest = max(cell.years for cell in cells)
    unchecked = "* without a verified certificate" if not all(cell.checked for cell in cells) else None
    table = Table(title=f"{name}: gain of a deviating {role}", caption=unchecked, title_justify="left")
    table.add_column("T")
    for t in range(1, longest + 1):
        table.add_column(f"t={t}", justify="right")
    found = {(cell.years, cell.t): cell for cell in cells}
    for years in range(1, longest + 1):
        row = [found.get((years, t)) for t in range(1, longest + 1)]
        table.add_row(
            str(years), *("" if cell is None else f"{cell.gain}{'' if cell.checked else '*'}" for cell in row)
        )
    return table


def verdict(cells: list[Cell]) -> str:
    """The values of T - t for which no deviator of a role gains."""
    by_late: dict[int, set[int]] = {}
    for cell in cells:
        by_late.setdefault(cell.disarmed, set()).add(cell.gain)
    none = [str(late) for late, gains in sorted(by_late.items()) if gains == {0}]
    some = [f"{late} ({'/'.join(map(str, sorted(gains)))})" for late, gains in sorted(by_late.items()) if gains != {0}]
    return f"no gain for T-t = {', '.join(none) or 'none'}; a gain for T-t = {', '.join(some) or 'none'}"


def write_lines(folder: Path, cells: list[Cell]) -> None:
    """The lines of play of cells that have one, as .txt and .svg."""
    from evaluation.exact.cells.line_pictures import line_picture, line_text  # lazily: numba

    folder.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        if cell.line:
            name = f"{cell.map_name.replace(':', '-')}-{cell.role}-{cell.punishers}-{cell.disarmed}"
            text = line_text(cell.map_name, cell.years, cell.line, cell.deviator)
            (folder / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
            (folder / f"{name}.svg").write_text(line_picture(cell.map_name, cell.years, cell.line), encoding="utf-8")


@with_options
def threats(
    tables: TableOptions,
    board: Boards = None,
    years: Annotated[int, typer.Option(min=1, max=10, help="Longest game, in years.")] = 4,
    cells: Cells = THREATS,
    as_json: Json = False,
) -> None:
    """A deviator's gain from leaving the paper's path pi_1, against the best punishers (mixed strategies)."""
    from evaluation.exact.cells.theorems import roles
    from evaluation.exact.drawn.values import fill_threats, read_threats  # lazily: numba

    boards = board or BOARDS
    with errors_in_one_line("cells that are computed are kept; run the same command to resume"):
        _check_boards(boards)
        tables.check()
        cells.parent.mkdir(parents=True, exist_ok=True)
        for name in boards:
            fill_threats(cells, name, years, report=lambda text: typer.echo(text, err=True))
        chosen = [cell for cell in read_threats(cells) if cell.map_name in boards and cell.years <= years]
        tables.write([cell.row() for cell in chosen])
        if as_json:
            print_json([cell.__dict__ for cell in chosen])
            return
        table = Table(title="gain from leaving pi_1 against optimal punishers", title_justify="left")
        for column in ("map", "deviator", *(f"T={length}" for length in range(1, years + 1))):
            table.add_column(column)
        for name in boards:
            for role in roles(name):
                found = {cell.years: cell.gain for cell in chosen if (cell.map_name, cell.role) == (name, role)}
                table.add_row(name, role, *(found.get(length, "") for length in range(1, years + 1)))
        print_tables(table)


@with_options
def frontier(
    tables: TableOptions,
    board: Annotated[str, typer.Option(help="clique:n or shared-clique:n.")] = "clique:3",
    years: Annotated[int, typer.Option(min=1, max=10, help="Length of the game, in years.")] = 3,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(help="Tolerated gain from deviating, in points; repeat for several.", show_default="0, 1, 2"),
    ] = None,
    by: Annotated[str, typer.Option(help="Welfare to maximize: sum or root-nash.")] = "sum",
    most_lost: Annotated[int, typer.Option(min=0, help="Search down to this far below the highest possible sum.")] = 6,
    coalitions: Annotated[
        int, typer.Option(min=1, max=2, help="2: pairs may not gain more than epsilon, either (sum of their points).")
    ] = 1,
    save: Annotated[
        Path | None, typer.Option(help="Folder for the points found, one file each; frontier:point=FILE plays one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The highest welfare of a path that nobody gains more than epsilon by leaving, given mixed-strategy threats."""
    from evaluation.exact.drawn.checking import check_drawn  # lazily: numba
    from evaluation.exact.drawn.frontier import frontier as solve

    with errors_in_one_line("nothing was saved"):
        tables.check()
        if save is not None and (wrong := no_folder(save)):
            raise EvaluationError(f"--save {shown(save)}: it {wrong}")
        try:
            wanted = [Fraction(text) for text in epsilon or ["0", "1", "2"]]
        except (ValueError, ZeroDivisionError) as error:
            right = "give a number such as 1/2 or 1.5; repeat --epsilon for several"
            raise EvaluationError(f"--epsilon: {shown(str(error))}: {right}") from error
        points = solve(board, years, wanted, most_lost, by, lambda text: typer.echo(text, err=True), coalitions)
        for point in points:
            for certificate in (*point.certificates, *point.pairs):
                check_drawn(certificate)
        tables.write([point.row() for point in points])
        if save is not None:
            save.mkdir(parents=True, exist_ok=True)
            for point in points:
                point.save(save / point.file_name)
        if as_json:
            print_json([point.row() | {"path": point.path} for point in points])
            return
        no_gain = "no power or pair gains more than epsilon" if coalitions == 2 else "no power gains more than epsilon"
        table = Table(
            title=f"{board}, {years} year{'s' * (years > 1)}: highest welfare, {no_gain}", title_justify="left"
        )
        for column in ("epsilon", "sum", "root Nash", "points", "gain by leaving"):
            table.add_column(column)
        for point in points:
            cells = (str(point.epsilon), str(point.welfare), f"{point.root_nash:.2f}", str(point.points))
            table.add_row(*cells, f"{float(point.gain):.5g}")
        print_tables(table)
