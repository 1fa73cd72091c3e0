"""Marks of orders and results as SVG: lines, arrows, rings. Color, pattern and line end all show the result.

Each kind has a look of its own: a move that succeeds is a solid arrow, one that fails long dashes with a bar, a support
a string of beads, a hold one ring, a convoy two rings.
"""

from __future__ import annotations

import math

from welfare_env.render.curves import Curve, circle, cross
from welfare_env.render.palette import PAPER, RESULTS
from welfare_env.render.places import UNIT, Point

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
    """Beads that end in a dot; a cross on the way and a hollow dot if it failed."""
    color, failed = RESULTS[outcome], outcome != "success"
    (x, y), fill = line.points[-1], PAPER if failed else color
    dot = f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{fill}" stroke-width="2.5"/>'
    beads = _cased(line.path, color, 5, BEADS)
    return beads + dot + (_cased(cross(line.halfway, 7), color, 3.4) if failed else "")


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
    """An exclamation mark, for an order that was not legal."""
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
