"""The orders by which the members of a coalition carry out a plan."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.scripted.center_partition import planned_owners
from agents.scripted.deterrents.matching import matched
from agents.scripted.planner.distances import UNREACHABLE, steps_between
from agents.scripted.planner.landing import Traffic, is_landing, landing_moves, landing_winter
from agents.scripted.planner.plans import Course, Move, Neutral

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from welfare_env import View
    from welfare_env.board.board import Board

GOING = (Move.TAKE, Move.STAGE, Move.RECEIVE, Move.FETCH)  # moves to centers
MOST_ROTATED = 5  # units


def centers_wanted(view: View, course: Course, members: Iterable[str]) -> list[str]:
    """The centers that a member goes for in this phase, the most wanted first."""
    own, board = view.centers[view.power], view.board
    room = course.most - len(own)
    if room <= 0:
        return []
    units = view.units[view.power]
    steps = steps_between(board)

    guarded = {unit[2:5] for power, others in view.units.items() if power not in members for unit in others}

    def distance(center: str) -> int:
        return min((steps(unit, center) for unit in units), default=UNREACHABLE) + (center in guarded)

    homes = {center for power in course.victims for center in board.start_centers[power]}
    victims = [center for power in course.victims for center in view.centers[power]]
    if course.only_homes:
        victims = [center for center in homes if center not in own]
    if course.move is Move.FETCH:
        theirs = {center for power in members for center in view.centers[power]}
        lost = [c for c, power in planned_owners(board).items() if power == view.power and c not in theirs]
        return sorted(lost, key=lambda center: (distance(center), center))
    if course.move is Move.RECEIVE:
        due_to = planned_owners(board)
        partners = {c: due_to.get(c) == power for power in members if power != view.power for c in view.centers[power]}
        return sorted(partners, key=lambda center: (partners[center], distance(center), center))[:room]
    free = set(board.centers).difference(*view.centers.values())
    due = {center for center in free if planned_owners(board).get(center) == view.power}
    neutral = {Neutral.NONE: set(), Neutral.DUE: due, Neutral.ALL: free}[course.neutral]
    if course.move is Move.STAGE:
        return sorted(neutral, key=lambda center: (distance(center), center))[:room]
    targets = sorted({*victims, *neutral}, key=lambda center: (center not in homes, distance(center), center))
    wished = [center for center in course.wish if center not in own]
    return list(dict.fromkeys(wished + targets))[:room]


def homes_of(view: View, course: Course) -> list[str]:
    """The centers where a course's victims may build."""
    return [home for power in course.victims for home in view.board.start_centers[power]]


@dataclass
class Phase:
    """What the members' units do in one phase, decided member by member.

    Attributes:
        entered: provinces that a member's unit goes to or stays in.
        leaving: provinces that a member's unit leaves.
        traffic: planned locations of units that land.
    """

    entered: set[str] = field(default_factory=set)
    leaving: set[str] = field(default_factory=set)
    traffic: Traffic = field(default_factory=Traffic)

    def movement(self, view: View, course: Course, members: Iterable[str]) -> list[str]:
        """Orders that take centers: the nearest unit goes to each, and the remaining units support."""
        if is_landing(course):
            return list(landing_moves(view, course, members, self.traffic).values())
        steps = steps_between(view.board)
        mine = set(view.units[view.power])
        goals = centers_wanted(view, course, members) if course.move in GOING else []
        standing = {unit[2:5]: power for power, units in view.units.items() for unit in units}
        owners = {center: power for power, owned in view.centers.items() for center in owned}
        left = 1 if view.season == "F" else 2
        turning = rotation(view, members) if course.move is Move.SWAP else {}
        orders = {unit: order for unit, order in turning.items() if unit in mine}
        free = mine.difference(orders)
        self.entered.update(order[8:11] if " - " in order else order[2:5] for order in orders.values())
        last = assignment(view.board, free, goals) if left == 1 else {}
        for goal in _leaving_first(goals, last):
            near = sorted((steps(unit, goal), unit) for unit in free)
            near = [(distance, unit) for distance, unit in near if distance <= left and last.get(goal, unit) == unit]
            for distance, unit in near:
                if distance == 0:
                    orders[unit] = f"{unit} H"
                    self.entered.add(goal)
                    free.discard(unit)
                    break
                place = self._step(view, unit, goal, distance, standing, owners)
                if place is None:
                    continue
                orders[unit] = f"{unit} - {place}"
                self.entered.add(place[:3])
                self.leaving.add(unit[2:5])
                free.discard(unit)
                if place[:3] in standing and standing[place[:3]] not in members:
                    self._support(view, unit, place[:3], free, orders)
                break
        far = [goal for goal in goals if goal not in self.entered]
        if course.move is Move.STAGE:
            homes = homes_of(view, course)
            for target in course.wish or homes:
                nearest = min(free, key=lambda unit: (steps(unit, target), unit), default=None)
                if nearest is not None:
                    orders[nearest] = self._approach(view, nearest, [target], standing, owners)
                    free.discard(nearest)
            far = homes
        for unit in sorted(free):
            orders[unit] = self._approach(view, unit, far, standing, owners)
        return [orders[unit] for unit in sorted(mine)]

    def _step(
        self,
        view: View,
        unit: str,
        goal: str,
        distance: int,
        standing: Mapping[str, str],
        owners: Mapping[str, str],
    ) -> str | None:
        """A place one step nearer to the goal that the unit may enter now."""
        steps = steps_between(view.board)
        for place in view.board.moves[unit]:
            if steps(f"{unit[0]} {place}", goal) != distance - 1 or place[:3] in self.entered:
                continue
            if place[:3] == goal:
                there = standing.get(goal)
                if there == view.power and goal not in self.leaving:
                    continue
                return place
            takes = place[:3] in set(view.board.centers) and owners.get(place[:3]) != view.power and view.season == "F"
            if (place[:3] not in standing or place[:3] in self.leaving) and not takes:
                return place
        return None

    def _support(self, view: View, unit: str, province: str, free: set[str], orders: dict[str, str]) -> None:
        """One free unit supports the move of another into a province, if one can."""
        start = f"S {unit} - {province}"
        for other in sorted(free):
            for order in view.legal_orders.get(other, ()):
                if order.startswith(f"{other} {start}"):
                    orders[other] = order
                    self.entered.add(other[2:5])
                    free.discard(other)
                    return

    def _approach(
        self, view: View, unit: str, goals: list[str], standing: Mapping[str, str], owners: Mapping[str, str]
    ) -> str:
        """A step towards the nearest goal, or hold."""
        steps = steps_between(view.board)
        near = min(((steps(unit, goal), goal) for goal in goals), default=(UNREACHABLE, ""))
        board_centers = set(view.board.centers)
        if 0 < near[0] < UNREACHABLE:
            for place in view.board.moves[unit]:
                province = place[:3]
                nearer = steps(f"{unit[0]} {place}", near[1]) < near[0]
                takes = province in board_centers and owners.get(province) != view.power
                is_free = province not in standing or province in self.leaving
                if nearer and is_free and province not in self.entered and not takes:
                    self.entered.add(province)
                    self.leaving.add(unit[2:5])
                    return f"{unit} - {place}"
        self.entered.add(unit[2:5])
        return f"{unit} H"


def assignment(board: Board, units: Iterable[str], goals: Sequence[str]) -> dict[str, str]:
    """Goal -> the unit that goes or stays there in one move, for as many goals as possible, the first ones first."""
    steps, units = steps_between(board), list(units)

    def able(goal: str) -> list[str]:
        near = sorted((steps(unit, goal), unit) for unit in units)
        return [unit for distance, unit in near if distance <= 1]

    return matched(goals, able)


def _leaving_first(goals: Sequence[str], assigned: Mapping[str, str]) -> list[str]:
    """The goals, ordered such that a unit leaves a goal before another unit enters it."""
    goal_of = {unit: goal for goal, unit in assigned.items()}
    found: list[str] = []
    for goal in goals:
        chain = [goal]
        while True:
            leaving = next((unit for unit in goal_of if unit[2:5] == chain[-1]), None)
            onward = goal_of.get(leaving or "")
            if onward is None or onward in chain or onward in found:
                break
            chain.append(onward)
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
    standing = {unit[2:5] for units in view.units.values() for unit in units}
    guarded = {unit[2:5] for other in board.powers if other not in members for unit in view.units[other]}
    units, places = [], []
    for unit, power in sorted((each, member) for member in members for each in view.units[member]):
        near = [place for place in board.moves[unit] if place[:3] in loot and place[:3] not in guarded]
        if unit[2:5] in loot or near:
            exits = [p for p in board.moves[unit] if p[:3] not in standing and p[:3] not in board.centers]
            units.append((unit, power))
            places.append([unit[2:], *near, *(exits[:1] if unit[2:5] in loot else [])])
    units, places = units[:MOST_ROTATED], places[:MOST_ROTATED]
    starts = [unit[2:5] for unit, _ in units]
    best, most = tuple(unit[2:] for unit, _ in units), 0
    for chosen in itertools.product(*places):
        ends = [place[:3] for place in chosen]
        if len(set(ends)) == len(ends) and not _exchanges(starts, ends):
            passed = sum(loot.get(end, power) != power for end, (_, power) in zip(ends, units, strict=True))
            if passed > most:
                best, most = chosen, passed
    orders = zip(units, best, strict=True)
    return {unit: f"{unit} H" if place == unit[2:] else f"{unit} - {place}" for (unit, _), place in orders}


def _exchanges(starts: Sequence[str], ends: Sequence[str]) -> bool:
    """Whether two units would swap places."""
    going = dict(zip(starts, ends, strict=True))
    return any(end != start and going.get(end) == start for start, end in going.items())


def winter(view: View, course: Course, following: Course, members: Iterable[str]) -> list[str]:
    """Builds or disbands to reach the number of units in the plan, favoring units near next year's goals."""
    if is_landing(following):
        return landing_winter(view, following, members)
    units = sorted(view.units[view.power])
    wanted = course.units or 0
    steps = steps_between(view.board)
    goals = centers_wanted(view, following, members)[:6]
    if following.move is Move.STAGE:
        goals = [*goals, *(following.wish or homes_of(view, following))]

    def distance(unit: str) -> int:
        return sum(sorted(steps(unit, goal) for goal in goals)[:2]) if goals else 0

    if wanted > len(units) and view.max_builds:
        offers = [order[:-2] for legal in view.legal_orders.values() for order in legal if order.endswith(" B")]
        orders: list[str] = []
        used: set[str] = set()
        for unit in sorted(offers, key=lambda unit: (distance(unit), unit)):
            if len(orders) < min(wanted - len(units), view.max_builds) and unit[2:5] not in used:
                orders.append(f"{unit} B")
                used.add(unit[2:5])
        return orders
    number = max(len(units) - wanted if view.rules.is_welfare else 0, view.must_disband)
    ranked = sorted(units, key=lambda unit: (-distance(unit), unit))
    return [f"{unit} D" for unit in ranked[:number]]
