"""A line of play on a toy board as text, and as a picture with one board per phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import cos, pi, sin

from agents.runtime.colors import GRAY, SERIES
from agents.toy_boards.shape import NOBODY, Clique, clique_of
from evaluation.checks import board_of
from evaluation.exact.cells.theorems import states
from evaluation.exact.clique_proofs import Line
from welfare_env.engine import State
from welfare_env.render.words import KINDS, phase_title

COLORS = (*SERIES[:-1], GRAY)  # of powers; black is reserved for frames
SIZE, RADIUS, LEAF, DOT = 150, 34, 60, 9
KEY = 22  # height of a legend line
STYLE = """.paper, .nobody { fill: #fff } .ink { fill: #1a1a1a } .edge { stroke: #bbb }
.center { stroke: #555 } .unit { stroke: #000; stroke-width: 2 }
@media (prefers-color-scheme: dark) { .paper, .nobody { fill: #121212 } .ink { fill: #e6e6e6 } .edge { stroke: #666 }
.center { stroke: #aaa } .unit { stroke: #fff } }"""
ACROSS = 6  # boards per row


def line_text(map_name: str, years: int, line: Line, deviator: str) -> str:
    """Everybody's orders phase by phase, with the deviator's centers, units and points after every Winter."""
    board = board_of(map_name)
    number, rows = board.power_index[deviator], []
    after = list(states(map_name, years, line))[1:]
    for (phase, orders), state in zip(line, after, strict=True):
        told = "; ".join(f"{power}: {', '.join(given)}" for power, given in orders.items() if given)
        rows.append(f"{phase}  {told or '-'}")
        if phase[0] == "W":
            owned, units = int((state.owners == number).sum()), int((state.units[:, 0] == number).sum())
            rows.append(f"        {deviator}: {owned} centers, {units} units, {state.welfare[number]} points")
    return "\n".join(rows)


def line_picture(map_name: str, years: int, line: Line) -> str:
    """An SVG picture of a line: the board before every phase, the final board, and a legend."""
    clique = clique_of(board_of(map_name))
    phases = [phase for phase, _ in line]
    titles = [f"before {_named(phase)}" for phase in phases] + [f"after {_named(phases[-1])}"]
    boards = list(zip(titles, states(map_name, years, line), strict=True))
    rows = -(-len(boards) // ACROSS)
    width, height = ACROSS * SIZE, rows * (SIZE + 20) + 2 * KEY
    about = f"A line of play on {map_name}, board by board"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="12"><title>{about}</title><style>{STYLE}</style>',
        f'<rect class="paper" width="{width}" height="{height}"/>',
    ]
    for number, (title, state) in enumerate(boards):
        across, down = number % ACROSS * SIZE, number // ACROSS * (SIZE + 20)
        parts.append(f'<g transform="translate({across} {down})">{"".join(_board(clique, title, state))}</g>')
    return "\n".join([*parts, *_legend(board_of(map_name).powers, height - 2 * KEY), "</svg>\n"])


def _named(phase: str) -> str:
    """The phase's title as short as possible, since boards are narrow: "Spring 1901" for S1901M."""
    season, _, kind = phase_title(phase).partition(", ")
    return f"{season} {kind}" if kind == KINDS["R"] else season


def _legend(powers: Sequence[str], top: float) -> Iterator[str]:
    """A legend of the symbols, and below it each power's color."""
    signs = (
        (_center(14, top + 8, 0), "supply center, in its owner's color"),
        (_center(314, top + 8, NOBODY), "nobody's supply center"),
        (_unit(514, top + 8, 0), "unit (beside the board's centers: dislodged)"),
    )
    for (sign, text), left in zip(signs, (14, 314, 514), strict=True):
        yield f'{sign}<text class="ink" x="{left + 16}" y="{top + 12:.0f}">{text}</text>'
    for number, power in enumerate(powers):
        x = 14 + number * 880 / len(powers)
        place = f'x="{x + 16:.0f}" y="{top + KEY + 12:.0f}"'
        name = power.replace("PLAYER", "player ")
        yield f'{_center(x, top + KEY + 8, number)}<text class="ink" {place}>{name}</text>'


def places(clique: Clique) -> list[tuple[float, float]]:
    """Coordinates of the provinces: the cores on a circle, each leaf outside its core."""
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
    yield f'<text class="ink" x="{SIZE / 2}" y="12" text-anchor="middle">{title}</text>'
    edges = [(a, b) for a in range(clique.cores) for b in range(a)]
    edges += [(clique.home(power), clique.cores + power) for power in range(clique.powers)]
    for a, b in edges:
        (x, y), (to_x, to_y) = spots[a], spots[b]
        yield f'<line class="edge" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'
    owner, unit = clique.rows(state)
    for (x, y), who, here in zip(spots, owner.tolist(), unit.tolist(), strict=True):
        yield _center(x, y, who)
        if here != NOBODY:
            yield _unit(x, y, here)
    for core, who in enumerate(clique.lost_rows(state)[0].tolist()):
        if who != NOBODY:
            yield _unit(spots[core][0] + DOT, spots[core][1] - DOT, who)


def _center(x: float, y: float, power: int) -> str:
    look = 'class="center nobody"' if power == NOBODY else f'class="center" fill="{COLORS[power]}"'
    return f'<circle {look} cx="{x:.1f}" cy="{y:.1f}" r="{DOT}"/>'


def _unit(x: float, y: float, power: int) -> str:
    place = f'x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10"'
    return f'<rect class="unit" {place} fill="{COLORS[power]}"/>'
