"""The map and the position in words: units, centers, past orders, possible orders, and threats."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agents.lm.prompts.parts import Addition
from agents.lm.prompts.wording import Contents, Points
from agents.lm.reading.schemas import gift_sizes, has_names, neutral_orders
from agents.scripted.planner.distances import UNREACHABLE, steps_between
from welfare_env.board.board import Board
from welfare_env.board.order_text import unit_of
from welfare_env.engine import ADJUSTMENTS, MOVEMENT, RETREATS
from welfare_env.game.press import MEDIATOR

if TYPE_CHECKING:
    from welfare_env.game.history import PhaseRecord
    from welfare_env.game.view import View

SEASONS = {"S": "Spring", "F": "Fall", "W": "Winter"}
MOST_NEAREST = 4  # centers for each unit
TYPES = {MOVEMENT: "movement", RETREATS: "retreats", ADJUSTMENTS: "adjustments"}


def phase_title(view: View) -> str:
    """The phase in words: "S1901M (Spring 1901, movement)"."""
    return f"{view.phase} ({SEASONS[view.season]} {view.year}, {TYPES[view.phase_type]})"


def centers_section(view: View) -> str:
    """The owners of the supply centers."""
    lines = [f"- {_named(view, power)}: {' '.join(sorted(own)) or 'none'}\n" for power, own in view.centers.items()]
    if free := sorted(set(view.board.centers).difference(*view.centers.values())):
        lines.append(f"- nobody: {' '.join(free)}\n")
    return f"# Supply centers by owner\n{''.join(lines)}"


def units_section(view: View, with_ways: bool) -> str:
    """Every power's units, and where each can go, by itself or by convoy of the fleets at sea."""
    title = "# Units and where they can go" if with_ways else "# Units"
    lines = [title + "\n"]
    fleets = frozenset(unit[2:5] for units in view.units.values() for unit in units if unit[0] == "F")
    for power, units in view.units.items():
        named = _named(view, power)
        if with_ways and units:
            lines.append(f"- {named}\n" + "".join(f"  {unit}: {_ways(view, unit, fleets)}\n" for unit in sorted(units)))
        else:
            lines.append(f"- {named}: {', '.join(sorted(units)) or 'none'}\n")
    for power, dislodged in view.dislodged.items():
        for unit, places in dislodged.items():
            where = f", can retreat to: {' '.join(places) or 'nowhere'}" if with_ways else ""
            lines.append(f"- dislodged: {unit} of {_named(view, power)}{where}\n")
    return "".join(lines)


def _named(view: View, power: str) -> str:
    return f"{power} (you)" if power == view.power else power


def _ways(view: View, unit: str, fleets: frozenset[str]) -> str:
    steps = " ".join(view.board.moves[unit]) or "nowhere"
    convoyed = convoy_ends(view.board, unit, fleets)
    return f"{steps}; by convoy: {' '.join(convoyed)}" if convoyed else steps


def convoy_ends(board: Board, unit: str, fleets: frozenset[str]) -> list[str]:
    """Where fleets in these provinces can carry a unit to, sorted; empty if it is not an army."""
    routes = _routes(board).get(unit[2:5], ()) if unit[0] == "A" and fleets else ()
    return sorted({end for needed, ends in routes if needed <= fleets for end in ends})


@functools.lru_cache(maxsize=32)
def _routes(board: Board) -> dict[str, list[tuple[frozenset[str], frozenset[str]]]]:
    """Province -> (fleets that carry an army from there, where to) for every set of seas."""
    routes: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {}
    for start, fleets, ends in board.convoys:
        routes.setdefault(start, []).append((fleets, ends))
    return routes


def counts_section(view: View, points: Points | None) -> str:
    """Supply centers, units and points of every power."""
    title = f"# How many SCs, units, and {points.short} so far" if points else "# How many SCs and units"
    lines = []
    for power, centers in view.centers.items():
        counts = f"SCs {len(centers)}, units {len(view.units[power]) + len(view.dislodged[power])}"
        gained = f", {points.short} {view.welfare[power]}" if points else ""
        lines.append(f"- {_named(view, power)}: {counts}{gained}\n")
    return f"{title}\n{''.join(lines)}"


def orders_section(records: Sequence[PhaseRecord]) -> str:
    """The orders of all powers in some phases, and their results."""
    if not records:
        return ""
    return "# Orders of the last phases\n" + "".join(_phase_orders(record) for record in records)


def _phase_orders(record: PhaseRecord) -> str:
    results, orders = record.results, record.orders
    lines = [f"## {record.phase}\n"]
    for power, given in orders.items():
        if given:
            lines.append(f"- {power}: {', '.join(f'{order}{_became(results, order)}' for order in given)}\n")
    ordered = {unit_of(order) for given in orders.values() for order in given}
    silent = [f"{unit}{_became(results, unit)}" for unit in sorted(results) if results[unit] and unit not in ordered]
    if silent:
        lines.append(f"- without order: {', '.join(silent)}\n")
    return "".join(lines) if len(lines) > 1 else f"## {record.phase}: no orders\n"


def _became(results: dict[str, list[str]], order: str) -> str:
    words = results.get(unit_of(order))
    return f" ({', '.join(words)})" if words else ""


def form_section(view: View, contents: Contents, seed: int | None = None) -> str:
    """An example reply in the form of the schema, without messages and with orders that change as little as possible.

    Args:
        seed: draws the sequence of units.
    """
    gives = contents.points(view.rules) is not None
    orders = {} if view.power == MEDIATOR else neutral_orders(view, gives, seed)
    listed = [] if view.phase_type == ADJUSTMENTS else list(orders.values())
    values = {
        "reasoning": "...",
        "orders": listed if contents.is_list else orders,
        "messages": dict.fromkeys(view.recipients, ""),
        "journal": "...",
    }
    example = json.dumps({key: values[key] for key in contents.reply_keys(view.rules)}, ensure_ascii=False)
    return f"# The form of your reply in {view.phase}\n{example}\n"


def instructions_section(view: View, contents: Contents) -> str:
    """The player's options in this phase; for retreats and Winter all legal orders."""
    points = contents.points(view.rules) if view.points_to_give > 0 else None
    if not (view.legal_orders or points):
        lines = ["You have nothing to order in this phase: give no orders."]
    elif view.phase_type == MOVEMENT:
        lines = [*_movement(view, Addition.LEGAL_ORDERS in contents.addition)]
    elif view.phase_type == RETREATS:
        lines = [
            "Each of your dislodged units retreats (R) or disbands (D). One without an order disbands, and so do two "
            "that retreat to the same province. All legal orders:",
            *_legal(view),
        ]
    else:
        lines = [*_winter(view, points, contents.is_list)]
    return f"# What you can order in {view.phase}\n" + "".join(f"{line}\n" for line in lines)


def _movement(view: View, lists_all: bool) -> Iterator[str]:
    kinds = ["H hold", "- move", "S support"]
    kinds += ["C convoy an army (fleets at sea), - ... VIA move by convoy (armies)"] if view.board.convoys else []
    yield f"Each of your units may have one order: {', '.join(kinds)}. A unit without an order holds."
    yield f"Your units: {', '.join(view.legal_orders)}."
    if lists_all:
        yield "All legal orders:"
        yield from _legal(view)


def _winter(view: View, points: Points | None, is_list: bool) -> Iterator[str]:
    """The options in Winter; `points` is None if there are none to give away."""
    yield from _winter_room(view)
    if view.legal_orders:
        if not is_list:
            yield _winter_keys(view)
        yield "All legal orders, of which at most one for each unit or place counts:"
        yield from _legal(view)
    if points:
        yield _gifts(view, points, is_list)


def _winter_keys(view: View) -> str:
    """The keys of a reply's orders in Winter, in words."""
    places = [key for key, orders in view.legal_orders.items() if orders[0].endswith(" B")]
    units = [key for key in view.legal_orders if key not in places]
    to_build = _some_of(places, view.max_builds)
    to_disband = _some_of(units, len(units) if view.rules.is_welfare else view.must_disband)
    if not (to_build and to_disband):
        keys = f"The keys of your orders are {to_build or to_disband or 'none'}"
    elif view.rules.build_and_disband:
        keys = f"The keys of your orders are {to_build}, and {to_disband}"
    else:
        keys = f"To build, the keys of your orders are {to_build}; to disband, they are {to_disband}"
    return f"{keys}. WAIVE in place of an order changes nothing."


def _some_of(keys: Sequence[str], most: int) -> str:
    """How many of the keys may be used, in words; "" for none."""
    if most >= len(keys):
        return ", ".join(keys)
    named = ", under a key that names them" if has_names(most, len(keys)) else ""
    return f"{most} of {', '.join(keys)}{named}" if most else ""


def _gifts(view: View, points: Points, is_list: bool) -> str:
    """How many points can be given away, and how."""
    most, other = view.points_to_give, next(power for power in view.powers if power != view.power)
    if is_list:
        return f"You can give away up to {most} {points.short}, for example GIVE {most} {other}."
    sizes = gift_sizes(view)
    gifts = ", ".join(f"{key}: {size} {points.short}" for key, size in sizes.items())
    return (
        f"You can give away up to {most} {points.short}, in gifts of these sizes, each to any power or WAIVE: {gifts}; "
        f"for example GIVE {next(iter(sizes.values()))} {other}."
    )


def _winter_room(view: View) -> Iterator[str]:
    """How many units may be built or disbanded."""
    if view.must_disband:
        yield f"You must disband (D) {_units(view.must_disband)}; if you name too few, others go by force."
    choice = [f"build (B) up to {_units(view.max_builds)}"] if view.max_builds else []
    if view.rules.is_welfare and view.units[view.power]:
        choice.append("disband (D) more" if view.must_disband else "disband (D) any of your units")
    if choice:
        both = ", or both" if view.rules.build_and_disband else ", but not both"
        yield f"You may {', or '.join(choice)}{both if len(choice) > 1 else ''}."
    if not view.must_disband:
        yield "Without orders all stays as it is."


def _units(number: int) -> str:
    return f"{number} unit{'s' * (number != 1)}"


def _legal(view: View) -> Iterator[str]:
    for name, orders in view.legal_orders.items():
        yield f"- {name}: {', '.join(orders)}"


@functools.lru_cache(maxsize=32)
def adjacency_section(board: Board) -> str:
    """Where an army and a fleet can go from each province or coast; the same in the whole game."""
    lines = []
    for place in board.locations:
        ends = {kind: board.moves.get(f"{kind} {place}", ()) for kind in "AF"}
        if ways := [f"{kind} {' '.join(places)}" for kind, places in ends.items() if places]:
            lines.append(f"- {place}: {'; '.join(ways)}\n")
    return f"# Which provinces border which\nWhere an army (A) and a fleet (F) can go in one move:\n{''.join(lines)}"


def nearest_section(view: View) -> str:
    """The nearest centers that are not the player's, for each of its units, with their owners; "" without units."""
    owners, steps = {c: power for power, centers in view.centers.items() for c in centers}, steps_between(view.board)
    others = [center for center in view.board.centers if owners.get(center) != view.power]
    lines = []
    for unit in sorted(view.units.get(view.power, ())):
        found = sorted((steps(unit, center), center) for center in others if steps(unit, center) < UNREACHABLE)
        if found:
            named = [f"{center} in {count} ({owners.get(center, 'nobody')})" for count, center in found[:MOST_NEAREST]]
            lines.append(f"- {unit}: {', '.join(named)}\n")
    if not lines:
        return ""
    return f"# Nearest SCs of others\nIn moves of the unit by itself, without convoys:\n{''.join(lines)}"


def threats_section(view: View) -> str:
    """Units of others that can reach the player's units and centers in one move, by itself or by convoy; "" if none."""
    mine = {unit[2:5] for unit in view.units.get(view.power, ())} | set(view.centers.get(view.power, ()))
    lines = [f"- {place}: {', '.join(found)}\n" for place in sorted(mine) if (found := list(_threats(view, place)))]
    if not lines:
        return ""
    return f"# Who can reach your units and SCs in one move\n{''.join(lines)}"


def _threats(view: View, place: str) -> Iterator[str]:
    fleets = frozenset(unit[2:5] for units in view.units.values() for unit in units if unit[0] == "F")
    for power, units in view.units.items():
        for unit in sorted(units) if power != view.power else ():
            if any(end[:3] == place for end in view.board.moves[unit]):
                yield f"{unit} ({power})"
            elif place in convoy_ends(view.board, unit, fleets):
                yield f"{unit} ({power}, by convoy)"
