"""The orders by which the members of a coalition carry out a plan."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.scripted.center_partition import partition, planned_owners
from agents.scripted.deterrents.matching import matched
from agents.scripted.deterrents.ownership import fair_shares
from agents.scripted.peaceful_policy import foreign_centers, occupied
from agents.scripted.planner.distances import UNREACHABLE, steps_between
from agents.scripted.planner.landing import TURNS_LEFT, is_landing, own_landing
from agents.scripted.planner.plans import Course, Move, Neutral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from welfare_env import View

    Steps = Callable[[str, str], int]

GOING = (Move.TAKE, Move.STAGE, Move.RECEIVE, Move.FETCH)  # moves to centers
MOST_ROTATED = 5  # units


def centers_wanted(view: View, course: Course, members: Iterable[str]) -> list[str]:
    """The centers that a member goes for in this phase, the most wanted first."""
    own, board, due_to = view.centers[view.power], view.board, planned_owners(view.board)
    room = course.most - len(own)
    if room <= 0:
        return []
    steps = steps_between(board)
    guarded = {unit[2:5] for power, others in view.units.items() if power not in members for unit in others}

    def distance(center: str) -> tuple[int, str]:
        nearest = min((steps(unit, center) for unit in view.units[view.power]), default=UNREACHABLE)
        return nearest + (center in guarded), center

    free = set(board.centers).difference(*view.centers.values())
    due = {center for center in free if due_to.get(center) == view.power}
    neutral = {Neutral.NONE: set(), Neutral.DUE: due, Neutral.ALL: free}[course.neutral]
    if course.move is Move.FETCH:
        theirs = {center for power in members for center in view.centers[power]}
        missing = fair_shares(board)[view.power] - len(own)
        lost = [center for center, power in due_to.items() if power == view.power and center not in theirs]
        return list(dict.fromkeys([*sorted(neutral, key=distance)[: max(0, missing)], *sorted(lost, key=distance)]))
    if course.move is Move.RECEIVE:
        partners = {c: due_to.get(c) == power for power in members if power != view.power for c in view.centers[power]}
        return sorted(partners, key=lambda center: (partners[center], distance(center)))[:room]
    if course.move is Move.STAGE:
        return sorted(neutral, key=distance)[:room]
    homes = set(course.homes(board))
    victims = {center for power in course.victims for center in view.centers[power]}
    victims = homes.difference(own) if course.only_homes else victims
    targets = sorted(victims | neutral, key=lambda center: (center not in homes, distance(center)))
    wished = [center for center in course.wish if center not in own]
    return list(dict.fromkeys(wished + targets))[:room]


@dataclass
class Phase:
    """What the members' units do in one phase, decided member by member.

    Attributes:
        entered: provinces that a member's unit goes to or stays in.
        leaving: provinces that a member's unit leaves.
    """

    entered: set[str] = field(default_factory=set)
    leaving: set[str] = field(default_factory=set)

    def movement(self, view: View, course: Course, members: Iterable[str]) -> list[str]:
        """Orders that take centers: the nearest unit goes to each, and the remaining units support."""
        steps = steps_between(view.board)
        mine = set(view.units[view.power])
        standing = {unit[2:5]: power for power, units in view.units.items() for unit in units}
        orders = dict[str, str]()
        if course.move is Move.SWAP:
            orders = {unit: order for unit, order in rotation(view, members).items() if unit in mine}
        elif is_landing(course):
            orders = self._landing(view, course, members, standing)
        self.entered.update(order[8:11] if " - " in order else order[2:5] for order in orders.values())
        free = mine.difference(orders)
        goals = centers_wanted(view, course, members) if course.move in GOING and not is_landing(course) else []
        turns = TURNS_LEFT[view.season]
        last = assignment(view, free, goals) if turns == 1 else {}
        for goal in _leaving_first(goals, last):
            for distance, unit in sorted((steps(unit, goal), unit) for unit in free):
                if distance > turns or last.get(goal, unit) != unit:
                    continue
                place = self._step(view, unit, goal, standing, enters=True) if distance else unit[2:]
                if place is None:
                    continue
                orders[unit] = self._going(unit, place)
                free.discard(unit)
                if distance and place[:3] in standing and standing[place[:3]] not in members:
                    self._support(view, unit, place[:3], free, orders)
                break
        far = [goal for goal in goals if goal not in self.entered]
        if course.move is Move.STAGE:
            far = course.homes(view.board)
            for target in course.wish or far:
                nearest = min(free, key=lambda unit: (steps(unit, target), unit), default=None)
                if nearest is not None:
                    orders[nearest] = self._approach(view, nearest, [target], standing)
                    free.discard(nearest)
        for unit in sorted(free):
            orders[unit] = self._approach(view, unit, far, standing)
        return [orders[unit] for unit in sorted(mine)]

    def _landing(
        self, view: View, course: Course, members: Iterable[str], standing: Mapping[str, str]
    ) -> dict[str, str]:
        """Unit -> order: units gather next to the goals, and enter all of them in the same Fall."""
        found, orders = own_landing(view, course, members), dict[str, str]()
        if found is None:
            return orders
        around = steps_between(view.board, frozenset(foreign_centers(view, view.power)))
        left = TURNS_LEFT[view.season] + 2 * found.winters
        theirs = {center for power in members for center in view.centers[power]}
        is_taken = course.move is Move.LAND or not theirs.isdisjoint(found.standing)
        for goal, unit in 2 * list(found.standing.items()):  # twice: who was in the way may have left
            if " - " in orders.get(unit, ""):
                continue
            if left == 1 and unit[2:5] != goal:
                place = next(place for place in view.board.moves[unit] if place[:3] == goal)
                orders[unit] = self._going(unit, place)
            elif is_taken or around(unit, goal) >= left:  # receivers come late, out of the others' way
                orders[unit] = self._approach(view, unit, [goal], standing, around)
            else:
                orders[unit] = self._going(unit, unit[2:])
        return orders

    def _going(self, unit: str, place: str) -> str:
        """The order to go to a place, or to hold."""
        self.entered.add(place[:3])
        if place == unit[2:]:
            return f"{unit} H"
        self.leaving.add(unit[2:5])
        return f"{unit} - {place}"

    def _step(
        self, view: View, unit: str, goal: str, standing: Mapping[str, str], enters: bool, steps: Steps | None = None
    ) -> str | None:
        """A place one step nearer to the goal that the unit may go to now.

        Args:
            enters: whether it may enter the goal, and in Spring other foreign centers.
        """
        steps = steps or steps_between(view.board)
        foreign = set(view.board.centers).difference(view.centers[view.power])
        for place in view.board.moves[unit]:
            province = place[:3]
            if province in self.entered or steps(f"{unit[0]} {place}", goal) >= steps(unit, goal):
                continue
            if enters and province == goal:
                if standing.get(goal) != view.power or goal in self.leaving:
                    return place
            elif (province not in standing or province in self.leaving) and (
                province not in foreign or (enters and view.season != "F")
            ):
                return place
        return None

    def _support(self, view: View, unit: str, province: str, free: set[str], orders: dict[str, str]) -> None:
        """One free unit supports the move of another into a province, if one can."""
        for other in sorted(free):
            start = f"{other} S {unit} - {province}"
            order = next((each for each in view.legal_orders.get(other, ()) if each.startswith(start)), None)
            if order is not None:
                orders[other] = order
                self.entered.add(other[2:5])
                free.discard(other)
                return

    def _approach(
        self, view: View, unit: str, goals: list[str], standing: Mapping[str, str], steps: Steps | None = None
    ) -> str:
        """A step towards the nearest goal, or hold."""
        steps = steps or steps_between(view.board)
        distance, goal = min(((steps(unit, goal), goal) for goal in goals), default=(UNREACHABLE, ""))
        is_far = 0 < distance < UNREACHABLE
        place = self._step(view, unit, goal, standing, enters=False, steps=steps) if is_far else None
        return self._going(unit, place or unit[2:])


def assignment(view: View, units: Iterable[str], goals: Sequence[str]) -> dict[str, str]:
    """Goal -> the unit that goes or stays there in one move, for as many goals as possible, the first ones first."""
    steps, units = steps_between(view.board), list(units)
    return matched(goals, lambda goal: [unit for near, unit in sorted((steps(u, goal), u) for u in units) if near <= 1])


def _leaving_first(goals: Sequence[str], assigned: Mapping[str, str]) -> list[str]:
    """The goals, ordered such that a unit leaves a goal before another unit enters it."""
    onward = {unit[2:5]: goal for goal, unit in reversed(list(assigned.items()))}
    found: list[str] = []
    for goal in goals:
        chain = [goal]
        while (following := onward.get(chain[-1])) is not None and following not in (*chain, *found):
            chain.append(following)
        found += [each for each in reversed(chain) if each not in found]
    return found


def rotation(view: View, members: Iterable[str]) -> dict[str, str]:
    """Unit -> order, so that as many taken centers as possible pass from one member to another.

    Units on such centers and next to them take part. Two units cannot swap places, so three or more rotate, some leave,
    or some enter empty centers.
    """
    board, members = view.board, tuple(members)
    homes = {center for power in members for center in board.start_centers[power]}
    loot = {center: power for power in members for center in view.centers[power] if center not in homes}
    standing = occupied(view)
    guarded = {unit[2:5] for other in board.powers if other not in members for unit in view.units[other]}
    ways: list[tuple[str, str, list[str]]] = []  # unit, its power, and where it may go
    for unit, power in sorted((each, member) for member in members for each in view.units[member]):
        near = [place for place in board.moves[unit] if place[:3] in loot and place[:3] not in guarded]
        exits = [p for p in board.moves[unit] if p[:3] not in standing and p[:3] not in board.centers]
        if unit[2:5] in loot or near:
            ways.append((unit, power, [unit[2:], *near, *(exits[:1] if unit[2:5] in loot else [])]))
    units = [(unit, power) for unit, power, _ in ways[:MOST_ROTATED]]

    def passed(chosen: Sequence[str]) -> int:
        """How many centers pass on; none if two units meet or swap places."""
        going = {unit[2:5]: place[:3] for (unit, _), place in zip(units, chosen, strict=True)}
        if len(set(going.values())) < len(going) or any(e != s and going.get(e) == s for s, e in going.items()):
            return 0
        return sum(loot.get(place[:3], power) != power for (_, power), place in zip(units, chosen, strict=True))

    best = max(itertools.product(*(places for *_, places in ways[:MOST_ROTATED])), key=passed)
    orders = zip(units, best, strict=True)
    return {unit: f"{unit} H" if place == unit[2:] else f"{unit} - {place}" for (unit, _), place in orders}


def denying(view: View, course: Course, members: Iterable[str]) -> dict[str, str]:
    """Unit -> order: in the first year, meets units of other powers on their planned ways to neutral centers, or else
    stands in these centers in Spring, and leaves them in Fall.
    """
    turn, orders = {"S": 1, "F": 2}.get(view.season, 0), dict[str, str]()
    for (power, start), route in partition(view.board).items() if view.year_index == 0 and turn else ():
        goal, (here, there) = route.stops[-1][:3], (stop[:3] for stop in route.stops[turn - 1 : turn + 1])
        is_denied = goal in course.wish or (not course.wish and power in course.victims)
        if not is_denied or power in members or goal in view.board.start_centers[power]:
            continue
        is_coming = here != there and f"{start[0]} {route.stops[turn - 1]}" in view.units[power]
        for unit in (unit for unit in sorted(view.units[view.power]) if unit not in orders):
            near = view.board.moves[unit]
            if turn == 2 and unit[2:5] == goal:
                out = next((place for place in near if place[:3] not in view.board.centers), None)
                orders[unit] = f"{unit} - {out}" if out else f"{unit} H"
                break
            into = [place for to in (there, goal) for place in near if place[:3] == to]
            if into and (is_coming or turn == 1):
                orders[unit] = f"{unit} - {into[0]}"
                break
    return orders


def winter(view: View, course: Course, following: Course, members: Iterable[str]) -> list[str]:
    """Builds or disbands to reach the number of units in the plan, favoring units near next year's goals."""
    if is_landing(following):
        found = own_landing(view, following, members)
        idle = sorted(set(view.units[view.power]).difference(found.standing.values() if found else ()))
        if idle:
            return [f"{unit} D" for unit in idle[: len(idle) if view.rules.is_welfare else view.must_disband]]
        return [f"{unit} B" for unit in found.built][: view.max_builds] if found else []
    units, wanted, steps = view.units[view.power], course.units or 0, steps_between(view.board)
    goals = centers_wanted(view, following, members)[:6]
    if course.move is Move.FETCH:
        wanted = min(wanted, len(goals))
    if following.move is Move.STAGE:
        goals = [*goals, *(following.wish or following.homes(view.board))]

    def distance(unit: str) -> int:
        return sum(sorted(steps(unit, goal) for goal in goals)[:2])

    if wanted > len(units) and view.max_builds:
        offers = [order[:-2] for legal in view.legal_orders.values() for order in legal if order.endswith(" B")]
        nearest: dict[str, str] = {}  # home -> the unit to build there
        for unit in sorted(offers, key=lambda unit: (distance(unit), unit)):
            nearest.setdefault(unit[2:5], unit)
        return [f"{unit} B" for unit in nearest.values()][: min(wanted - len(units), view.max_builds)]
    number = max(len(units) - wanted if view.rules.is_welfare else 0, view.must_disband)
    return [f"{unit} D" for unit in sorted(units, key=lambda unit: (-distance(unit), unit))[:number]]
