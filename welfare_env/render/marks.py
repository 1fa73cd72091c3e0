"""Units and order marks as SVG. A mark's color, pattern and line end all show the order's result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from welfare_env.render.curves import Curve, circle, cross
from welfare_env.render.palette import PAPER, RESULTS, ink_on, power_colors, power_letters
from welfare_env.render.places import DISLODGED, UNIT, Drawing, Point
from welfare_env.render.words import fit

SHAPES = {
    "A": "M-14-16h28v16c0 8-6.5 13-14 16.5c-7.5-3.5-14-8.5-14-16.5z",
    "F": "M-12.5-18h24q4.5 10.5 0 21h-24q3.5-10.5 0-21zM-18 6.5h36q-2.5 8.5-8.5 11h-19.5q-5.5-2.5-8-11z",
}
LOOK = (
    'stroke="#222222" stroke-width="2" stroke-linejoin="round" font-size="18" font-weight="bold" text-anchor="middle"'
)
LETTER_BASE = {"A": 5.5, "F": -1.3}  # baseline of the letter
UNIT_NAMES = {"A": "Army", "F": "Fleet"}


def units_layer(
    drawing: Drawing,
    powers: Sequence[str],
    units: Mapping[str, Sequence[str]],
    dislodged: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """All units of a position as one group, ``<g class="units">``; each unit is a group with the id ``u-PAR``.

    A dislodged unit is smaller, off the province's center, and has the id ``u-PAR-dislodged``.
    """
    lines = [f'<g class="units" {LOOK}>']
    for power, pieces in units.items():
        lines += [unit_mark(drawing, powers, power, piece) for piece in pieces]
    for power, pieces in (dislodged or {}).items():
        lines += [unit_mark(drawing, powers, power, piece, dislodged=True) for piece in pieces]
    return "\n".join([*lines, "</g>"])


def unit_mark(
    drawing: Drawing, powers: Sequence[str], power: str, piece: str, dislodged: bool = False, kind: str = "unit"
) -> str:
    """One unit ("A PAR") at its place.

    Args:
        kind: its first class; "built" draws it with a dashed outline.
    """
    x, y = unit_place(drawing, piece, dislodged)
    number, color = powers.index(power), power_colors(powers)[power]
    classes = f"{kind} {'army' if piece[0] == 'A' else 'fleet'} power-{number}" + " dislodged" * dislodged
    size = f" scale({DISLODGED})" if dislodged else ""
    ink = ink_on(color)
    letters = power_letters(powers)[power]
    name = "" if kind == "built" else f' id="u-{piece[2:5]}{"-dislodged" if dislodged else ""}"'
    edge = ' stroke="#c1121f" stroke-width="3.4"' if dislodged else ""
    edge = ' stroke-dasharray="5 3"' if kind == "built" else edge
    return (
        f'<g{name} class="{classes}" transform="translate({x:g} {y:g}){size}" fill="{color}"{edge}>'
        f"<title>{fit(_description(drawing, power, piece, dislodged))}</title>"
        f'<path d="{SHAPES[piece[0]]}"/>'
        f'<text y="{LETTER_BASE[piece[0]]}" fill="{ink}" stroke="none"{_narrow(letters)}>{fit(letters)}</text></g>'
    )


def unit_place(drawing: Drawing, piece: str, dislodged: bool = False) -> Point:
    """Center of a unit's box ("F STP/NC")."""
    return drawing.provinces[piece[2:5]].dislodged if dislodged else drawing.place(piece[2:])


def _description(drawing: Drawing, power: str, piece: str, dislodged: bool) -> str:
    place = drawing.provinces[piece[2:5]].long_name + piece[5:].lower().replace("/", ", ")
    return f"{UNIT_NAMES[piece[0]]} of {power.title()} in {place} ({piece[2:]}){', dislodged' if dislodged else ''}"


def _narrow(letters: str) -> str:
    return f' font-size="{max(7, 25 - 6 * len(letters))}"' if len(letters) > 1 else ""


SPIKES = [(math.cos(turn * math.pi / 6), math.sin(turn * math.pi / 6)) for turn in range(12)]
DASHES, BEADS = "14 9", "0.1 10"


def arrow(way: Curve, outcome: str) -> str:
    """A move along a line: with a head if it succeeds, dashed and with a bar if it fails."""
    color = RESULTS[outcome]
    if outcome == "success":
        head = f'<path class="head" d="{way.head}" fill="{color}" stroke="none"/>'
        return _cased(way.trimmed(0, 10).path, color, 4.6) + head
    return _cased(way.path, color, 4, DASHES) + _cased(way.bar, color, 4.8)


def support(line: Curve, outcome: str) -> str:
    """A dotted line that ends in a disc; if the support failed, with a cross on the line and a hollow disc."""
    color, failed = RESULTS[outcome], outcome != "success"
    (x, y), fill = line.points[-1], PAPER if failed else color
    dot = f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{fill}" stroke-width="2.5"/>'
    beads = _cased(line.path, color, 5, BEADS)
    return beads + dot + (_cased(cross(line.at(0.5), 7), color, 3.4) if failed else "")


def hold(spot: Point, outcome: str) -> str:
    return _cased(circle(spot, UNIT / 2 + 3), RESULTS[outcome], 3)


def convoy(spot: Point, outcome: str) -> str:
    return _cased(circle(spot, UNIT / 2 + 2) + circle(spot, UNIT / 2 + 8), RESULTS[outcome], 2)


def disband(spot: Point) -> str:
    return _cased(cross(spot, 15), RESULTS["disband"], 4.4)


def plus(spot: Point) -> str:
    """The mark of a newly built unit."""
    return _cased(f"M{spot[0] + 11:.1f} {spot[1] - 15:.1f}h14m-7-7v14", RESULTS["success"], 4.2)


def struck(spot: Point) -> str:
    """A dislodged unit: a ring of spikes."""
    x, y = spot
    spikes = "".join(f"M{x + 20 * u:.1f} {y + 20 * v:.1f}l{8 * u:.1f} {8 * v:.1f}" for u, v in SPIKES)
    return f'<path class="line" d="{spikes}" stroke="{RESULTS["dislodged"]}" stroke-width="4.2"/>'


def refusal(spot: Point) -> str:
    """An exclamation mark, for an illegal order."""
    x, y = spot
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{RESULTS["void"]}" stroke="{PAPER}"/>'
        f'<path d="M{x:.1f} {y - 5:.1f}v6m0 4v0.1" stroke="{PAPER}" stroke-width="2.6"/>'
    )


def _cased(path: str, color: str, width: float, dashes: str = "") -> str:
    """A line with a light edge, so that it stands out from the map."""
    broken = f' stroke-dasharray="{dashes}"' if dashes else ""
    casing = f'<path class="casing" d="{path}" stroke="{PAPER}" stroke-opacity="0.8" stroke-width="{width + 4:g}"/>'
    return f'{casing}<path class="line" d="{path}" stroke="{color}" stroke-width="{width:g}"{broken}/>'
