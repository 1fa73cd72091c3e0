"""DumbBot: David Norman's heuristic attacker for no-press Diplomacy.

Reimplemented from the published description of the DAIDE project ("Summaries - DumbBot Algorithm",
daide.org.uk/s0003.html, 2003), with the original's weights; the search for orders is our own.
"""

from __future__ import annotations

from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from agents.policy import ScriptedPolicy
from agents.scripted.dumbbot_values import Valuation, valuate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from welfare_env.game.view import View

ALTERNATIVE = 0.5  # probability of taking the next best choice if it is equally good
SLOPE = 5  # that probability falls to 0 if the next best is worse by 1/SLOPE


class DumbBotPolicy(ScriptedPolicy):
    """Moves every unit towards the most valuable place, by `agents.scripted.dumbbot_values`, and supports where rivals
    are near.

    Units decide in random order. Each goes to its best place, or sometimes to one that is nearly as good. If another
    own unit stays or goes there, it supports that unit if rivals could beat it, and otherwise tries the next place.
    Units that would only hold give support where it is needed most. Retreats, builds and disbands follow the same
    values.

    It builds as many units as it may, disbands only what it must in both variants, sends no messages and never convoys.
    """

    def movement(self, view: View) -> list[str]:
        return OrderPlan(view, self._values(view), self.closed(view), self.rng).orders()

    def spared(self, view: View) -> frozenset[str]:
        """The powers that it does not fight; here nobody."""
        return frozenset()

    def closed(self, view: View) -> frozenset[str]:
        """The provinces that its units do not enter; here none."""
        return frozenset()

    def most_builds(self, view: View) -> int:
        """How many units it builds at most; here all that it may."""
        return view.max_builds

    def may_build(self, view: View, unit: str) -> bool:
        """Whether to build this unit; here any."""
        return True

    def _values(self, view: View) -> Valuation:
        return valuate(view, self.spared(view))

    def retreat_to(self, view: View, unit: str, places: list[str]) -> str | None:
        closed, values = self.closed(view), self._values(view)
        places = [place for place in places if place[:3] not in closed]
        return places[choose(self.rng, [values.of(unit, place) for place in places])] if places else None

    def winter(self, view: View) -> list[str]:
        return self._disbands(view) if view.must_disband else self._builds(view)

    def _disbands(self, view: View) -> list[str]:
        values, kept, orders = self._values(view), self.own_units(view), []
        for _ in range(view.must_disband):
            worst = choose(self.rng, [-values.of(unit, unit[2:]) for unit in kept])
            orders.append(f"{kept.pop(worst)} D")
        return orders

    def _builds(self, view: View) -> list[str]:
        builds = [order[:-2] for legal in view.legal_orders.values() for order in legal if order.endswith(" B")]
        open_to = [unit for unit in builds if self.may_build(view, unit)]
        if not open_to:
            return []
        values, orders, most = self._values(view), list[str](), self.most_builds(view)
        while open_to and len(orders) < most:
            unit = open_to[choose(self.rng, [values.of(unit, unit[2:]) for unit in open_to])]
            orders.append(f"{unit} B")
            open_to = [other for other in open_to if other[2:5] != unit[2:5]]
        return orders


def choose(rng: np.random.Generator, values: Sequence[float]) -> int:
    """Index of the best value, or sometimes, at random, of a nearly equal one.

    Goes down the ranking and takes the next one with probability 1/2 if it is equal to the one before, 0 if it is worse
    by a fifth or more, and linear in between.
    """
    ranking = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    for better, worse in pairwise(ranking):
        largest = max(abs(values[better]), abs(values[worse]))
        gap = (values[better] - values[worse]) / largest if largest else 0.0
        if rng.random() >= ALTERNATIVE * max(0.0, 1 - SLOPE * gap):
            return better
    return ranking[-1]


class OrderPlan:
    """The orders of one movement phase, decided unit by unit.

    Args:
        closed: provinces that no undecided unit may enter.
        decided: unit -> order, where that is fixed.
    """

    def __init__(
        self,
        view: View,
        values: Valuation,
        closed: frozenset[str],
        rng: np.random.Generator,
        decided: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.view, self.values, self.closed, self.rng = view, values, closed, rng
        self.units = {unit[2:5]: unit for unit in view.units.get(view.power, ())}  # by province
        self.decided = dict(decided)  # unit -> order
        self.open: set[str] = set()  # units in the middle of their decision
        self.going = {order.split(" - ")[1][:3]: unit for unit, order in decided.items() if self._move_of(unit)}
        self.helped: dict[str, int] = {}  # province -> supports given to the own unit that goes or stays there

    def orders(self) -> list[str]:
        for unit in self._shuffled(self.units.values()):
            self._decide(unit)
        for unit in self._shuffled(self.units.values()):
            if self.decided[unit].endswith(" H"):
                self._lend(unit)
        return list(self.decided.values())

    def _decide(self, unit: str) -> None:
        if unit in self.decided or unit in self.open:
            return
        self.open.add(unit)
        places = [unit[2:], *(place for place in self.view.board.moves[unit] if place[:3] not in self.closed)]
        values = [self.values.of(unit, place) for place in places]
        order = None
        while order is None and places:
            best = choose(self.rng, values)
            del values[best]
            order = self._order(unit, places.pop(best))
        self.decided[unit] = order or f"{unit} H"
        self.open.remove(unit)

    def _order(self, unit: str, place: str) -> str | None:
        """An order that moves the unit to `place`, or supports the own unit there; None if neither makes sense."""
        if place == unit[2:]:
            return f"{unit} H"
        province = place[:3]
        occupant = self.units.get(province)
        if occupant:
            self._decide(occupant)
        if province in self.going or (occupant and self._stays(occupant, unit)):
            return self._support(unit, province)
        self.going[province] = unit
        return f"{unit} - {place}"

    def _stays(self, occupant: str, follower: str) -> bool:
        """Whether `follower` cannot count on the place: the occupant holds, is undecided, or wants to swap places."""
        return self.going.get(follower[2:5]) == occupant or not self._move_of(occupant)

    def _move_of(self, unit: str) -> str:
        """The unit's order if it moves itself, else ""."""
        order = self.decided.get(unit, "")
        return order if order.startswith(" - ", len(unit)) else ""

    def _support(self, unit: str, province: str) -> str | None:
        """The order to support the own unit in the province next turn, if that is legal and still needed."""
        friend = self.going.get(province) or self.units.get(province)
        if friend not in self.decided or self._wanted(province) <= 0:
            return None
        move = self._move_of(friend)
        targets = [f"{unit} S {target}" for target in ([move, move.partition("/")[0]] if move else [friend])]
        order = next((target for target in targets if target in self.view.legal_orders[unit]), None)
        if order:
            self.helped[province] = self.helped.get(province, 0) + 1
        return order

    def _wanted(self, province: str) -> int:
        """Number of supports missing to beat (when moving in) or to match (when staying) the strongest rival."""
        rivals = self.values.threat(province)
        return rivals - (province not in self.going) - self.helped.get(province, 0)

    def _lend(self, unit: str) -> None:
        """Turns a hold into the most valuable support."""
        staying = [place for place, other in self.units.items() if not self._move_of(other) and place not in self.going]
        places = sorted({*self.going, *staying} - {unit[2:5]}, key=self._worth, reverse=True)
        order = next(filter(None, (self._support(unit, place) for place in places)), None)
        self.decided[unit] = order or self.decided[unit]

    def _worth(self, province: str) -> tuple[float, str]:
        friend = self.going.get(province) or self.units[province]
        place = (self._move_of(friend) or friend).split()[-1]
        return self.values.of(friend, place), province

    def _shuffled(self, units: Iterable[str]) -> list[str]:
        known = list(units)
        return [known[index] for index in self.rng.permutation(len(known)).tolist()]
