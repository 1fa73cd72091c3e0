"""Orders as SVG: arrows, supports, convoys, builds and disbands, each with the class and color of its result.

Each order is a group, ``<g class="order move bounce" id="o-PAR">``, with its text and results as the title. The kinds
are hold, move, support, convoy, retreat, build and disband; the results success, bounce, cut, void, no-convoy,
disrupted and disband. Marks on units (disbands, dislodgements with the class ``dislodged-mark``, and refused orders)
are in a separate group above the units.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from welfare_env.board.order_text import order_parts
from welfare_env.render import marks
from welfare_env.render.curves import Curve, bowed, straight
from welfare_env.render.marks import unit_mark, unit_place
from welfare_env.render.palette import RESULTS
from welfare_env.render.places import Drawing
from welfare_env.render.words import fit

SUCCESS = "success"
PHRASES = {  # in order of precedence: if an order has several results, the first one here counts
    "dislodged": "is dislodged",
    "disband": "disbands",
    "void": "is void",
    "no convoy": "has no convoy",
    "disrupted": "is disrupted",
    "cut": "is cut",
    "bounce": "bounces",
    SUCCESS: "succeeds",
}


def worst(words: Collection[str]) -> str:
    """The result with the highest precedence; "success" if there are no results."""
    return next((result for result in PHRASES if result in words), SUCCESS)


def class_of(result: str) -> str:
    """The CSS class of marks with this result, also its key in `welfare_env.render.palette.RESULTS`."""
    return result.replace(" ", "-")


Words = Mapping[str, Sequence[str]]
Refused = tuple[str, str]  # order, reason

KINDS = {"H": "hold", "-": "move", "S": "support", "C": "convoy", "R": "retreat", "B": "build", "D": "disband"}
SHORTEST = 30.0  # minimum length of a move's line
LAYERS = ("hold", "convoy", "support", "move", "retreat", "build", "disband")  # from bottom to top


@dataclass(frozen=True)
class ReadOrder:
    """A parsed order, for drawing.

    Attributes:
        text: "F BRE S A PAR - PIC".
        power: the power that gave it.
        kind: one of `KINDS`' values.
        piece, other, goal: as the `unit`, `other` and `dest` of `welfare_env.board.order_text.OrderParts`.
        results: the words of its results; empty for success.
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
        """The result that decides the color, as a class name; not "dislodged", which has a separate mark."""
        return class_of(worst([word for word in self.results if word != "dislodged"]))


def orders_layer(
    drawing: Drawing,
    powers: Sequence[str],
    orders: Words,
    results: Words,
    dislodged: Words | None = None,
) -> str:
    """The orders of a phase except disbands, as one group for the layer under the units: ``<g class="orders">``.

    Args:
        powers: all powers, in the board's order, which determines their colors.
        orders: power -> its orders in this phase ("A PAR - BUR").
        results: unit -> the results of its order, as in `PhaseRecord.results`; empty for success.
        dislodged: power -> its dislodged units.
    """
    read = read_orders(orders, results)
    waiting = _waiting(dislodged)
    return layer(_drawn(drawing, powers, order, order.piece in waiting) for order in read if order.kind != "disband")


def marks_layer(
    drawing: Drawing,
    orders: Words,
    results: Words,
    dislodged: Words | None = None,
    refused: Mapping[str, Sequence[Refused]] | None = None,
) -> str:
    """The marks above the units, as another ``<g class="orders">``. Arguments as for `orders_layer`.

    Args:
        refused: power -> (order, reason) of its illegal orders.
    """
    waiting = _waiting(dislodged)
    disbands = [order for order in read_orders(orders, results) if order.kind == "disband"]
    drawn = [_group(each, marks.disband(unit_place(drawing, each.piece, each.piece in waiting))) for each in disbands]
    drawn += [_struck(drawing, unit) for unit, words in results.items() if "dislodged" in words]
    drawn += [_refusal(drawing, *pair) for pairs in (refused or {}).values() for pair in pairs]
    return layer(drawn)


def _waiting(dislodged: Words | None) -> set[str]:
    return {piece for pieces in (dislodged or {}).values() for piece in pieces}


def layer(drawn: Iterable[str]) -> str:
    """Drawn orders as one group."""
    return "\n".join(['<g class="orders" fill="none" stroke-linecap="round">', *filter(None, drawn), "</g>"])


def read_orders(orders: Words, results: Words) -> list[ReadOrder]:
    """The orders that have a unit, bottom layer first."""
    found = [read_order(text, power, results) for power, texts in orders.items() for text in texts]
    return sorted((order for order in found if order), key=lambda order: LAYERS.index(order.kind))


def read_order(text: str, power: str, results: Words) -> ReadOrder | None:
    """Parse an order; None for orders without a unit (WAIVE, GIVE)."""
    parts = order_parts(text)
    if parts is None:
        return None
    results_of_unit = tuple(results.get(parts.unit, ()))
    return ReadOrder(text, power, KINDS[parts.command], parts.unit, parts.other, parts.dest, results_of_unit)


def _drawn(drawing: Drawing, powers: Sequence[str], order: ReadOrder, waits: bool) -> str:
    start = unit_place(drawing, order.piece, waits)
    if order.kind == "build":
        return _group(order, unit_mark(drawing, powers, order.power, order.piece, kind="built") + marks.plus(start))
    if order.kind == "hold":
        return _group(order, marks.hold(start, order.outcome))
    if order.kind == "convoy":
        return _group(order, marks.convoy(start, order.outcome))
    if order.kind == "support":
        return _group(order, marks.support(_support_line(drawing, order), order.outcome))
    way = bowed(drawing.end(order.piece[2:], waits), drawing.end(order.goal))
    return _group(order, marks.arrow(_between_units(way, drawing.clear, order.outcome), order.outcome))


def _between_units(way: Curve, clear: float, outcome: str) -> Curve:
    """Trim a move's line at both units; if these are close, less at the start, to keep a minimum length."""
    end = clear if outcome == "success" else clear + 8  # keeps the bar clear of the unit
    room = math.dist(way.points[0], way.points[-1]) - end - SHORTEST
    return way.trimmed(max(0, min(clear, room)), end)


def _group(order: ReadOrder, drawn: str) -> str:
    words = f"{order.text}: {', '.join(order.results) or 'succeeds'}"
    head = f'<g class="order {order.kind} {order.outcome}" id="o-{order.piece[2:5]}" stroke="{RESULTS[order.outcome]}">'
    return f"{head}<title>{fit(words)}</title>{drawn}</g>"


def _support_line(drawing: Drawing, order: ReadOrder) -> Curve:
    """A line to the supported unit, or to the middle of its move."""
    start, place = drawing.end(order.piece[2:]), drawing.end(order.other[2:])
    if not order.goal:
        return straight(start, place).trimmed(drawing.clear, drawing.clear + 4)
    way = bowed(place, drawing.end(order.goal))
    return straight(start, way.at(0.5)).trimmed(drawing.clear, 7)


def _struck(drawing: Drawing, unit: str) -> str:
    title = f"<title>{fit(unit)} is dislodged</title>"
    color = RESULTS["dislodged"]
    return f'<g class="dislodged-mark" stroke="{color}">{title}{marks.struck(drawing.place(unit[2:]))}</g>'


def _refusal(drawing: Drawing, text: str, reason: str) -> str:
    """A mark next to the unit with the illegal order; "" if the text names no place."""
    words = text.split()
    place = words[1].upper() if len(words) > 1 else ""
    if place[:3] not in drawing.provinces:
        return ""
    x, y = drawing.place(place)
    title = fit(f"refused: {text}: {reason}")
    return f'<g class="refused"><title>{title}</title>{marks.refusal((x - 18, y - 18))}</g>'
