"""Orders as SVG: arrows, supports, convoys, builds and disbands, each with the class and colour of its result.

A group for each order, ``<g class="order move bounce" id="o-PAR">``, holds its text and results as a title. The kinds
are hold, move, support, convoy, retreat, build and disband; the results success, bounce, cut, void, no-convoy,
disrupted and disband. A unit that was dislodged has a mark besides (class ``dislodged-mark``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from welfare_env.render.curves import Curve, bowed, circle, cross, straight, through
from welfare_env.render.palette import PAPER, RESULTS
from welfare_env.render.places import UNIT, Drawing, Point
from welfare_env.render.units import unit_mark, unit_place

Words = Mapping[str, Sequence[str]]
Refused = tuple[str, str]  # order, reason

KINDS = {"H": "hold", "-": "move", "S": "support", "C": "convoy", "R": "retreat", "B": "build", "D": "disband"}
LAYERS = ("hold", "convoy", "support", "move", "retreat", "build", "disband")  # later ones lie on top
WORST = ("void", "no convoy", "disrupted", "cut", "bounce", "disband")  # which of several results gives the colour
SPIKES = [(math.cos(turn * math.pi / 6), math.sin(turn * math.pi / 6)) for turn in range(12)]
CLEAR = UNIT / 2 + 2  # from the middle of a unit to where lines begin and end


@dataclass(frozen=True)
class ReadOrder:
    """An order, taken apart.

    Attributes:
        text: "F BRE S A PAR - PIC".
        power: whose it is.
        kind: one of `KINDS`' values.
        piece: the ordered or built unit.
        other: the supported or convoyed unit, or "".
        goal: where it moves or retreats, or the supported or convoyed unit moves; or "".
        results: its results' words; none is success.
    """

    text: str
    power: str
    kind: str
    piece: str
    other: str
    goal: str
    results: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The result that gives the colour: a class name."""
        return next((word for word in WORST if word in self.results), "success").replace(" ", "-")


def orders_layer(
    drawing: Drawing,
    powers: Sequence[str],
    orders: Words,
    results: Words,
    dislodged: Words | None = None,
    refused: Mapping[str, Sequence[Refused]] | None = None,
) -> str:
    """All orders of a phase as one group, ``<g class="orders">``. Arguments as for `board_svg`."""
    read = [found for power, texts in orders.items() for text in texts if (found := read_order(text, power, results))]
    waiting = {piece for pieces in (dislodged or {}).values() for piece in pieces}
    read.sort(key=lambda order: LAYERS.index(order.kind))
    marks = [_drawn(drawing, powers, order, read, order.piece in waiting) for order in read]
    marks += [_struck(drawing, unit) for unit, words in results.items() if "dislodged" in words]
    marks += [_refusal(drawing, *pair) for pairs in (refused or {}).values() for pair in pairs]
    return "\n".join(['<g class="orders" fill="none" stroke-linecap="round">', *filter(None, marks), "</g>"])


def read_order(text: str, power: str, results: Words) -> ReadOrder | None:
    """An order taken apart; None for orders without a unit (WAIVE, GIVE)."""
    words = text.split()
    if len(words) < 3 or words[2] not in KINDS:
        return None
    piece, kind, rest = " ".join(words[:2]), KINDS[words[2]], words[3:]
    other = " ".join(rest[:2]) if kind in ("support", "convoy") else ""
    goals = rest[3:] if other else rest
    return ReadOrder(text, power, kind, piece, other, goals[0] if goals else "", tuple(results.get(piece, ())))


def _drawn(drawing: Drawing, powers: Sequence[str], order: ReadOrder, orders: Sequence[ReadOrder], waits: bool) -> str:
    start = unit_place(drawing, order.piece, waits)
    colour = RESULTS[order.outcome]
    if order.kind == "build":
        return _group(order, unit_mark(drawing, powers, order.power, order.piece, kind="built") + _plus(start, colour))
    if order.kind == "disband":
        return _group(order, _cased(cross(start, 9), RESULTS["disband"], 3))
    if order.kind == "hold":
        return _group(order, _ring(start, colour, ""))
    if order.kind == "convoy":
        return _group(order, _ring(start, colour, "2.5 3"))
    if order.kind == "support":
        return _group(order, _support(drawing, order, start, orders))
    return _group(order, _arrow(_way(drawing, order, start, orders), order))


def _group(order: ReadOrder, marks: str) -> str:
    words = f"{order.text}: {', '.join(order.results) or 'succeeds'}"
    head = f'<g class="order {order.kind} {order.outcome}" id="o-{order.piece[2:5]}" stroke="{RESULTS[order.outcome]}">'
    return f"{head}<title>{escape(words)}</title>{marks}</g>"


def _way(drawing: Drawing, order: ReadOrder, start: Point, orders: Sequence[ReadOrder]) -> Curve:
    """Where a unit moves: past the fleets that convoy it, if any do."""
    end = drawing.place(order.goal)
    fleets = [
        drawing.place(fleet.piece[2:])
        for fleet in orders
        if fleet.kind == "convoy" and (fleet.other, fleet.goal) == (order.piece, order.goal)
    ]
    return through([start, *_in_sequence(start, fleets), end]) if fleets else bowed(start, end)


def _in_sequence(start: Point, places: list[Point]) -> list[Point]:
    """The places from nearest to nearest."""
    left, sequence, here = list(places), [], start
    while left:
        here = min(left, key=lambda spot: (spot[0] - here[0]) ** 2 + (spot[1] - here[1]) ** 2)
        left.remove(here)
        sequence.append(here)
    return sequence


def _arrow(way: Curve, order: ReadOrder) -> str:
    """Success has a full head and line; whatever fails has a broken line that ends at a bar."""
    colour = RESULTS[order.outcome]
    if order.outcome == "success":
        way = way.trimmed(CLEAR, CLEAR)
        shaft = _cased(way.trimmed(0, 6).path, colour, 2.8)
        return f'{shaft}<path class="head" d="{way.head}" fill="{colour}" stroke="none"/>'
    way = way.trimmed(CLEAR, CLEAR + 5)
    return _cased(way.path, colour, 2.4, "7 4") + _cased(way.bar, colour, 3)


def _support(drawing: Drawing, order: ReadOrder, start: Point, orders: Sequence[ReadOrder]) -> str:
    colour = RESULTS[order.outcome]
    place = drawing.place(order.other[2:])
    if order.goal:
        moved = next((o for o in orders if o.kind == "move" and (o.piece, o.goal) == (order.other, order.goal)), None)
        target = (_way(drawing, moved, place, orders) if moved else bowed(place, drawing.place(order.goal))).halfway
        line = straight(start, target).trimmed(CLEAR, 4)
    else:
        line = straight(start, place).trimmed(CLEAR, CLEAR + 2)
    (x, y), failed = line.points[-1], order.outcome != "success"
    fill = PAPER if failed else colour
    dot = f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke-width="1.5"/>'
    lines = _cased(line.path, colour, 2, "2 4.5")
    return lines + dot + (_cased(cross(line.halfway, 4), colour, 2) if failed else "")


def _ring(spot: Point, colour: str, dashes: str) -> str:
    return _cased(circle(spot, UNIT / 2 + 4), colour, 1.8, dashes)


def _plus(spot: Point, colour: str) -> str:
    x, y = spot[0] + 11, spot[1] - 9
    return _cased(f"M{x - 4:.1f} {y:.1f}h8m-4-4v8", colour, 2.5)


def _cased(path: str, colour: str, width: float, dashes: str = "") -> str:
    """A line with a light edge, so that it stands out from the map."""
    broken = f' stroke-dasharray="{dashes}"' if dashes else ""
    casing = f'<path class="casing" d="{path}" stroke="{PAPER}" stroke-opacity="0.8" stroke-width="{width + 2.4:g}"/>'
    return f'{casing}<path class="line" d="{path}" stroke="{colour}" stroke-width="{width:g}"{broken}/>'


def _struck(drawing: Drawing, unit: str) -> str:
    """The mark of a unit that was dislodged: a ring of spikes."""
    x, y = drawing.place(unit[2:])
    spikes = "".join(f"M{x + 12 * u:.1f} {y + 12 * v:.1f}l{5 * u:.1f} {5 * v:.1f}" for u, v in SPIKES)
    red = RESULTS["dislodged"]
    marks = f'<path class="line" d="{spikes}" stroke="{red}" stroke-width="2.6"/>'
    return f'<g class="dislodged-mark" stroke="{red}"><title>{escape(unit)} is dislodged</title>{marks}</g>'


def _refusal(drawing: Drawing, text: str, reason: str) -> str:
    """A mark beside the unit whose order was not legal; none if the text names no place."""
    words = text.split()
    place = words[1].upper() if len(words) > 1 else ""
    if place[:3] not in drawing.provinces:
        return ""
    x, y = drawing.place(place)
    x, y = x - 11, y - 11
    return (
        f'<g class="refused"><title>{escape(f"refused: {text}: {reason}")}</title>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{RESULTS["void"]}" stroke="{PAPER}"/>'
        f'<path d="M{x:.1f} {y - 3:.1f}v3.500m0 2.500v0.1" stroke="{PAPER}" stroke-width="1.6"/></g>'
    )
