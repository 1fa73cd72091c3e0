"""Random: a uniform draw from the legal orders (paper, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.policy import ScriptedPolicy
from welfare_env.board.order_text import province_of

if TYPE_CHECKING:
    from welfare_env.game.view import View

WAIVE = "WAIVE"


class RandomPolicy(ScriptedPolicy):
    """Draws every unit's order uniformly from its legal ones, independently of the other units.

    The same in retreats, where disbanding is one of the options. In Winter:

    - welfare variant: each unit is disbanded or kept with probability 1/2 (paper); if the rules require more disbands,
      further units are drawn uniformly. If none is disbanded, it may build.
    - ``Rules(build_and_disband=True)``: like Random in the authors' program (`Rules.published`). Each unit draws from
      its disband and no order, each empty home center from its builds and no build; of this list it gives the orders
      that their program executes (`executed`). If it disbands too few units, the rules remove more.
    - standard variant: required disbands are drawn uniformly. If none is required, it may build.
    - Builds: in random order, each empty home center draws uniformly from its builds and from no build, until the
      number allowed is reached.

    It sends no messages.
    """

    def movement(self, view: View) -> list[str]:
        return [self._draw(legal) for legal in view.legal_orders.values()]

    retreats = movement

    def winter(self, view: View) -> list[str]:
        if view.rules.build_and_disband and view.legal_orders:  # the mediator has none
            return self._published_winter(view)
        return self._disbands(view) or self._builds(view)

    def _published_winter(self, view: View) -> list[str]:
        units = self.own_units(view)
        far = view.board.home_distance[view.board.power_index[view.power]]
        farthest = sorted(units, key=lambda unit: (-far[view.board.piece_index[unit]], unit[0] != "F", unit))
        listed = sorted(view.legal_orders.items(), key=lambda item: province_of(item[0]))
        drawn = [self._draw((*legal, WAIVE)) for _, legal in listed]
        orders = executed(drawn, len(view.centers[view.power]) - len(units), len(listed) - len(units), farthest)
        builds = [order for order in orders if order.endswith(" B")]
        return [order for order in orders if order not in builds[view.max_builds :]]

    def _disbands(self, view: View) -> list[str]:
        units = self.own_units(view)
        self.rng.shuffle(units)
        wanted = int(self.rng.binomial(len(units), 0.5)) if view.rules.is_welfare else 0
        return [f"{unit} D" for unit in units[: max(wanted, view.must_disband)]]

    def _builds(self, view: View) -> list[str]:
        homes = [legal for legal in view.legal_orders.values() if legal[0].endswith(" B")]
        self.rng.shuffle(homes)
        draws = [self._draw((*legal, WAIVE)) for legal in homes]
        return [order for order in draws if order != WAIVE][: view.max_builds]

    def _draw(self, legal: tuple[str, ...]) -> str:
        return legal[int(self.rng.integers(len(legal)))]


def executed(orders: Sequence[str], room: int, homes: int, farthest: Sequence[str]) -> list[str]:
    """The orders of a Winter list that the program behind the paper's figures executes, in their order.

    It is meant to execute only orders of the first order's kind (builds or disbands), but does not:

    - It removes the other orders from its list while iterating over it, and so skips the order after each of them,
      which is executed, whatever its kind.
    - If the list has more builds than there is room for at that point, it first removes as many units by force; only
      then is each build tried, and void if there is no room.

    Args:
        orders: of one power, in the order in which they were given: "A PAR B", "A BUR D" or "WAIVE".
        room: its centers minus its units. If not above 0, it cannot build, and surplus units are removed later.
        homes: its empty home centers.
        farthest: its units, in the order in which they are removed by force.
    """
    if room <= 0:
        return [order for order in orders if order.endswith(" D")]
    kept, counted = _checked(_without_spare_waives(orders, min(room, homes)))
    builds_too_many = max(0, sum(order.endswith(" B") for order in counted) - room)
    done: list[str] = []
    for order in [*kept, *(f"{unit} D" for unit in farthest[:builds_too_many])]:
        if order.endswith(" D") and order not in done:
            done.append(order)
            room += 1
        elif order.endswith(" B") and room:
            done.append(order)
            room -= 1
    return done


def _without_spare_waives(orders: Sequence[str], builds: int) -> list[str]:
    """The list without its first waives, as many as it is longer than the number of possible builds."""
    spare = len(orders) - builds if builds else 0
    kept = []
    for order in orders:
        if order == WAIVE and spare > 0:
            spare -= 1
        else:
            kept.append(order)
    return kept


def _checked(orders: Sequence[str]) -> tuple[list[str], list[str]]:
    """The orders left on the list, and those of them that were counted: of the first order's kind, and not skipped."""
    first = next((order[-1] for order in orders if order != WAIVE), "")
    kept, counted, is_passed_over = [], [], False
    for order in orders:
        is_void = not is_passed_over and order[-1] != first
        if not is_void:
            kept.append(order)
        if not is_void and not is_passed_over:
            counted.append(order)
        is_passed_over = is_void
    return kept, counted
