"""Marks of orders and results as SVG: lines, arrows, rings. Colour, pattern and line end all show the result."""

from __future__ import annotations

import math

from welfare_env.render.curves import Curve, circle, cross
from welfare_env.render.palette import PAPER, RESULTS
from welfare_env.render.places import UNIT, Point

CLEAR = UNIT / 2 + 2  # from the middle of a unit to where lines begin and end
SPIKES = [(math.cos(turn * math.pi / 6), math.sin(turn * math.pi / 6)) for turn in range(12)]


def arrow(way: Curve, outcome: str) -> str:
    """A move: a solid line with an arrow head if it succeeds, a dashed line with a bar if it fails."""
    colour = RESULTS[outcome]
    if outcome == "success":
        way = way.trimmed(CLEAR, CLEAR)
        head = f'<path class="head" d="{way.head}" fill="{colour}" stroke="none"/>'
        return _cased(way.trimmed(0, 6).path, colour, 2.8) + head
    way = way.trimmed(CLEAR, CLEAR + 5)
    return _cased(way.path, colour, 2.4, "7 4") + _cased(way.bar, colour, 3)


def support(line: Curve, outcome: str) -> str:
    """A dotted line that ends in a dot; a cross on the way and a hollow dot if it failed."""
    colour, failed = RESULTS[outcome], outcome != "success"
    (x, y), fill = line.points[-1], PAPER if failed else colour
    dot = f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke-width="1.5"/>'
    return _cased(line.path, colour, 2, "2 4.5") + dot + (_cased(cross(line.halfway, 4), colour, 2) if failed else "")


def hold(spot: Point, outcome: str) -> str:
    return _cased(circle(spot, UNIT / 2 + 4), RESULTS[outcome], 1.8)


def convoy(spot: Point, outcome: str) -> str:
    return _cased(circle(spot, UNIT / 2 + 4), RESULTS[outcome], 1.8, "2.5 3")


def disband(spot: Point) -> str:
    return _cased(cross(spot, 9), RESULTS["disband"], 2.6)


def plus(spot: Point) -> str:
    """The mark of a newly built unit."""
    return _cased(f"M{spot[0] + 7:.1f} {spot[1] - 9:.1f}h8m-4-4v8", RESULTS["success"], 2.5)


def struck(spot: Point) -> str:
    """A dislodged unit: a ring of spikes."""
    x, y = spot
    spikes = "".join(f"M{x + 12 * u:.1f} {y + 12 * v:.1f}l{5 * u:.1f} {5 * v:.1f}" for u, v in SPIKES)
    return f'<path class="line" d="{spikes}" stroke="{RESULTS["dislodged"]}" stroke-width="2.6"/>'


def refusal(spot: Point) -> str:
    """An exclamation mark, for an order that was not legal."""
    x, y = spot
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{RESULTS["void"]}" stroke="{PAPER}"/>'
        f'<path d="M{x:.1f} {y - 3:.1f}v3.5m0 2.5v0.1" stroke="{PAPER}" stroke-width="1.6"/>'
    )


def _cased(path: str, colour: str, width: float, dashes: str = "") -> str:
    """A line with a light edge, so that it stands out from the map."""
    broken = f' stroke-dasharray="{dashes}"' if dashes else ""
    casing = f'<path class="casing" d="{path}" stroke="{PAPER}" stroke-opacity="0.8" stroke-width="{width + 2.4:g}"/>'
    return f'{casing}<path class="line" d="{path}" stroke="{colour}" stroke-width="{width:g}"{broken}/>'
