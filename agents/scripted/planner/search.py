"""The search for a plan: many plans are tried once, the best of every kind are changed, the best overall confirmed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.scripted.planner.plans import Move, Plan

if TYPE_CHECKING:
    import numpy as np

    from agents.scripted.planner.drawing import PlanDrawer
    from welfare_env import View

Kind = tuple[int, tuple[tuple[str, tuple[str, ...]], ...]]
Simulate = Callable[[Plan, int], float]
"""A plan and a seed -> the value in one game."""

EXPLORING = 0.75  # share of a phase's simulations for exploring; the rest confirm
FINALISTS = 8
NEW = 0.4  # share of the tried plans that are drawn anew; the others are changes of good ones
SOON = 0.4  # probability of the first year in which a known raid begins, then of the next one, ...
KEPT = 16  # plans kept from one phase to the next


def kind_of(plan: Plan, year: int) -> Kind:
    """The kind of a plan, within which plans compete: the year in which its raid begins, and its moves and victims.

    Plans without a raid count as beginning after the last year.
    """
    last = len(next(iter(plan.courses.values())))
    for now in range(year, last):
        begun = tuple((courses[now].move.value, courses[now].victims) for courses in plan.courses.values())
        if any(move != Move.NICE.value for move, _ in begun):
            return now, begun
    return last, ()


@dataclass
class PlanSearch:
    """Keeps the best plan of every kind (as MAP-Elites, Mouret and Clune 2015), so that raids that do not pay yet are
    improved, too, although peace is hard to beat.

    Attributes:
        drawer: draws and changes plans.
        rng: the random generator.
        plans: the best known plans, the best first.
    """

    drawer: PlanDrawer
    rng: np.random.Generator
    plans: list[Plan] = field(default_factory=list)

    def improve(self, view: View, budget: int, simulate: Simulate) -> Plan:
        """The best plan after `budget` simulations from the view on."""
        seed, year = int(self.rng.integers(2**31)), view.year_index
        best: dict[Kind, tuple[float, Plan]] = {}

        def attempt(plan: Plan) -> None:
            value, kind = simulate(plan, seed), kind_of(plan, year)
            if kind not in best or value >= best[kind][0]:
                best[kind] = value, plan

        exploring = max(int(budget * EXPLORING), len(self.plans) + 1)
        attempt(self.drawer.peaceful())
        for plan in self.plans:
            attempt(plan)
        for _ in range(exploring - len(self.plans) - 1):
            attempt(self._proposal(view, best))
        ranked = sorted(best.values(), key=lambda each: -each[0])
        self._confirm([plan for _, plan in ranked], max(budget - exploring, FINALISTS), simulate)
        return self.plans[0]

    def _proposal(self, view: View, best: dict[Kind, tuple[float, Plan]]) -> Plan:
        """A new or changed plan; raids that begin soon are tried more often than late ones."""
        begins = sorted({begin for begin, moves in best if moves})
        if not begins or self.rng.random() < NEW:
            return self.drawer.draw(view)
        begin = begins[min(int(self.rng.geometric(SOON)) - 1, len(begins) - 1)]
        ranked = sorted((each for kind, each in best.items() if kind[0] == begin), key=lambda each: -each[0])
        return self.drawer.change(ranked[min(int(self.rng.exponential(2.0)), len(ranked) - 1)][1], view)

    def _confirm(self, ranked: list[Plan], budget: int, simulate: Simulate) -> None:
        """Rank the best plans by their values in new games; better plans get more games."""
        contenders = ranked[:FINALISTS]
        values: dict[int, list[float]] = {number: [] for number in range(len(contenders))}
        left = list(values)

        def mean(number: int) -> float:
            return sum(values[number]) / len(values[number])

        while budget > 0:
            seed = int(self.rng.integers(2**31))
            for number in left:
                values[number].append(simulate(contenders[number], seed))
            budget -= len(left)
            if len(values[left[0]]) >= 2 and len(left) > 2:
                left = sorted(left, key=lambda number: -mean(number))[: (len(left) + 1) // 2]
        order = sorted(values, key=lambda number: (number not in left, -mean(number)))
        self.plans = [*(contenders[number] for number in order), *ranked[FINALISTS:]][:KEPT]
