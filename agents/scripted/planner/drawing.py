"""Random plans of a coalition, and random changes of plans."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents.scripted.deterrents.ownership import fair_shares
from agents.scripted.planner.campaign import JOINT, PLANS, fixed_plan
from agents.scripted.planner.distances import steps_between
from agents.scripted.planner.plans import ANY_NUMBER, PEACE, Course, Move, Neutral, Plan, ended, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from welfare_env import View
    from welfare_env.board.board import Board

NEAREST = 4  # nearest powers, from which a member mostly chooses its victims
UNITS = (0.1, 0.2, 0.25, 0.15, 0.1, 0.05, 0.05, 0.04, 0.02, 0.02, 0.02)  # probabilities of 0 to 10 units
NAMED = 0.3  # probability of one of the plans of `campaign:`
FIELDS = ("move", "victims", "only_homes", "neutral", "most", "units", "wish")  # of a course, to be changed
WISH_STEPS, MOST_WISHES = 2, 3


class PlanDrawer:
    """Draws plans for a coalition on one board.

    Args:
        board, years: the game's board and number of years.
        members: the coalition.
        rng: the random generator.
    """

    def __init__(self, board: Board, years: int, members: Sequence[str], rng: np.random.Generator) -> None:
        self.board, self.years, self.members, self.rng = board, years, tuple(members), rng
        self.near = {member: nearest(board, member, members)[:NEAREST] for member in members}
        self.shares = fair_shares(board)
        self.names = [name for name in PLANS if name not in JOINT or len(members) > 1]
        self.moves = [each for each in Move if each not in (Move.SWAP, Move.RECEIVE) or len(members) > 1]

    def peaceful(self) -> Plan:
        """The plan to stay nice."""
        return Plan(dict.fromkeys(self.members, (PEACE,) * self.years))

    def known(self) -> list[Plan]:
        """The plans of `campaign:` against each of the nearest powers, from which a search starts."""
        return [
            fixed_plan(name, victim, 0, self.board, self.years, self.members, other)
            for name in self.names
            for victim in ((1,) if name == "last-years" else (1, 2, 3))
            for other in {"landing": range(1, len(self.members) + 1), "refill": (1, 2, 3), "lend": (1, 2, 3)}.get(
                name, (1,)
            )
        ]

    def draw(self, view: View) -> Plan:
        """A new plan: one of those of `campaign:`, or a raid, often the same one for all members; from now on or later,
        and with some changes.
        """
        rng, now = self.rng, view.year_index
        begin = min(now + int(rng.geometric(0.5)) - 1, self.years - 1)
        if rng.random() < NAMED:
            first, *rest = rng.permutation(self.members).tolist()
            name = self.names[int(rng.integers(len(self.names)))]
            victim, other = (int(number) for number in rng.integers(1, NEAREST + 1, 2))
            plan = fixed_plan(name, victim, begin, self.board, self.years, (first, *rest), other)
            return self.change(plan, view) if rng.random() < 0.5 else plan
        shared = self._raid(self.members[0], begin)
        return Plan({who: shared if rng.random() < 0.6 else self._raid(who, begin) for who in self.members})

    def change(self, plan: Plan, view: View) -> Plan:
        """The plan with one to three random changes in the years that are left."""
        changed = dict(plan.courses)
        for _ in range(int(self.rng.integers(1, 4))):
            member = self.members[int(self.rng.integers(len(self.members)))]
            changed[member] = self._changed(member, changed[member], view)
        return Plan(changed)

    def _raid(self, member: str, begin: int) -> tuple[Course, ...]:
        """Wait or get ready, take, and fetch what was lost."""
        rng = self.rng
        move = Move.FIGHT if rng.random() < 0.2 else Move.TAKE
        taking = Course(move, self._victims(member), bool(rng.random() < 0.6), self._neutral(), self._most(member))
        taking = replace(taking, units=self._units())
        fetching = Course(Move.FETCH, neutral=self._neutral(), units=int(rng.integers(1, 4)))
        waits = (PEACE, Course(units=self._units()), replace(taking, move=Move.STAGE), replace(taking, move=Move.DENY))
        waiting = [waits[int(rng.integers(len(waits)))]] * begin
        taken = [taking] * int(rng.integers(1, 5))
        return ended([*waiting, *taken, *[fetching] * int(rng.choice((0, 0, 2, 4)))], self.years)

    def _changed(self, member: str, courses: tuple[Course, ...], view: View) -> tuple[Course, ...]:
        """The courses with one field changed in consecutive years, or with all remaining years shifted by one."""
        rng, now = self.rng, view.year_index
        new = list(courses)
        if rng.random() < 0.15:
            shift, last = int(rng.choice([-1, 1])), self.years - 1
            new[now:] = [courses[min(max(year - shift, now), last)] for year in range(now, self.years)]
            return ended(new, self.years)
        first = int(rng.integers(now, self.years))
        end = first + 1 if rng.random() < 0.5 else int(rng.integers(first, self.years)) + 1
        name = FIELDS[int(rng.integers(len(FIELDS)))]
        changes: dict[str, Any] = {name: self._value(name, member, courses[first], view)}
        if name == "move" and not new[first].victims:
            changes["victims"] = self._victims(member)
        new[first:end] = [replace(course, **changes) for course in new[first:end]]
        return ended(new, self.years)

    def _value(self, name: str, member: str, course: Course, view: View) -> object:
        """A new value of a field of a course."""
        if name == "move":
            return self.moves[int(self.rng.integers(len(self.moves)))]
        if name == "victims":
            return self._victims(member)
        if name == "only_homes":
            return not course.only_homes
        if name == "neutral":
            return self._neutral()
        if name == "most":
            return self._most(member)
        return self._units() if name == "units" else self._wish(member, view)

    def _neutral(self) -> Neutral:
        return list(Neutral)[int(self.rng.choice(len(Neutral), p=(0.4, 0.3, 0.3)))]

    def _units(self) -> int:
        return int(self.rng.choice(len(UNITS), p=UNITS))

    def _most(self, member: str) -> int:
        return ANY_NUMBER if self.rng.random() < 0.6 else self.shares[member] + int(self.rng.integers(0, 4))

    def _victims(self, member: str) -> tuple[str, ...]:
        """Mostly one of the nearest powers, sometimes two of them, or all."""
        drawn, near = self.rng.random(), self.near[member]
        if drawn < 0.15:
            return tuple(power for power in self.board.powers if power not in self.members)
        chosen = self.rng.choice(len(near), min(2 if drawn < 0.3 else 1, len(near)), replace=False)
        return tuple(near[i] for i in sorted(chosen.tolist()))

    def _wish(self, member: str, view: View) -> tuple[str, ...]:
        """Some centers that the member's units could reach within a year."""
        steps, own = steps_between(self.board), set(view.centers[member])
        units = view.units[member] or [f"A {home}" for home in self.board.start_centers[member]]
        near = [c for c in self.board.centers if c not in own and any(steps(u, c) <= WISH_STEPS for u in units)]
        number = min(int(self.rng.integers(MOST_WISHES + 1)), len(near))
        return tuple(near[i] for i in self.rng.choice(len(near), number, replace=False).tolist()) if near else ()
