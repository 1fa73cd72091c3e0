"""A line of play on a toy board as text, and as a picture: board after board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import cos, pi, sin

from agents.cliques.shape import NOBODY, Clique, clique_of
from evaluation.checks import board_of
from evaluation.exact.clique_proofs import Line
from evaluation.exact.theorems import states
from welfare_env.engine import State

COLOURS = ("#c23b3b", "#3b6fc2", "#3f9a4f", "#c29a2b", "#8a4fb5", "#2b9a9a", "#77655a")
SIZE, RADIUS, LEAF, DOT = 150, 34, 60, 9
ACROSS = 6  # boards in a row


def line_text(map_name: str, years: int, line: Line, deviator: str) -> str:
    """Phase after phase what everybody orders, and the deviator's centres, units and points after every Winter."""
    board = board_of(map_name)
    number, rows = board.power_index[deviator], []
    after = list(states(map_name, years, line))[1:]
    for (phase, orders), state in zip(line, after, strict=True):
        told = "; ".join(f"{power}: {', '.join(given)}" for power, given in orders.items() if given)
        rows.append(f"{phase}  {told or '-'}")
        if phase[0] == "W":
            owned, units = int((state.owners == number).sum()), int((state.units[:, 0] == number).sum())
            rows.append(f"        {deviator}: {owned} centres, {units} units, {state.welfare[number]} points")
    return "\n".join(rows)


def line_picture(map_name: str, years: int, line: Line) -> str:
    """An SVG picture of a line: a board before every phase, and the last one.

    A disc is a centre in its owner's colour, white if it is nobody's; a square on it is a unit.
    """
    clique = clique_of(board_of(map_name))
    titles = [phase for phase, _ in line] + ["end"]
    boards = list(zip(titles, states(map_name, years, line), strict=True))
    rows = -(-len(boards) // ACROSS)
    width, height = ACROSS * SIZE, rows * (SIZE + 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (title, state) in enumerate(boards):
        across, down = number % ACROSS * SIZE, number // ACROSS * (SIZE + 20)
        parts.append(f'<g transform="translate({across} {down})">{"".join(_board(clique, title, state))}</g>')
    return "\n".join([*parts, "</svg>\n"])


def places(clique: Clique) -> list[tuple[float, float]]:
    """Where the provinces are drawn: the cores on a circle, each leaf outside of its core."""
    middle = SIZE / 2
    angles = [2 * pi * core / clique.cores - pi / 2 for core in range(clique.cores)]
    turns = [0.28 if clique.is_shared and power in (0, clique.cores) else 0.0 for power in range(clique.powers)]
    if clique.is_shared:
        turns[0] = -turns[0]
    spots = [(RADIUS, angle) for angle in angles]
    spots += [(LEAF, angles[clique.home(power)] + turns[power]) for power in range(clique.powers)]
    return [(middle + far * cos(angle), middle + 10 + far * sin(angle)) for far, angle in spots]


def _board(clique: Clique, title: str, state: State) -> Iterator[str]:
    spots = places(clique)
    yield f'<text x="{SIZE / 2}" y="12" text-anchor="middle">{title}</text>'
    edges = [(a, b) for a in range(clique.cores) for b in range(a)]
    edges += [(clique.home(power), clique.cores + power) for power in range(clique.powers)]
    for a, b in edges:
        (x, y), (to_x, to_y) = spots[a], spots[b]
        yield f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="#bbb"/>'
    owner, unit = clique.rows(state)
    for (x, y), who, here in zip(spots, owner.tolist(), unit.tolist(), strict=True):
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" fill="{_colour(who)}" stroke="#555"/>'
        if here != NOBODY:
            yield _unit(x, y, here)
    for core, who in enumerate(clique.lost_rows(state)[0].tolist()):
        if who != NOBODY:
            yield _unit(spots[core][0] + DOT, spots[core][1] - DOT, who)


def _unit(x: float, y: float, power: int) -> str:
    place = f'x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10"'
    return f'<rect {place} fill="{_colour(power)}" stroke="black" stroke-width="2"/>'


def _colour(power: int, colours: Sequence[str] = COLOURS) -> str:
    return "white" if power == NOBODY else colours[power]
