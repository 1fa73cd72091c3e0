"""What the program behind the paper's figures makes of a Winter list that both builds and disbands.

It means to execute only the orders of the kind that comes first, and does not:

- It takes the others off its list while it goes through it, and so passes over the order after each of them, which is
  executed, whatever its kind.
- It lets a power build more than it has room for at that point, and then removes as many of its units by force; only
  after that is each build tried, and void if there is no room.
"""

from __future__ import annotations

from collections.abc import Sequence

WAIVE = "WAIVE"


def executed(orders: Sequence[str], room: int, homes: int, farthest: Sequence[str]) -> list[str]:
    """The builds and disbands that it executes, in this order.

    Args:
        orders: of one power, in the order in which they were given: "A PAR B", "A BUR D" or "WAIVE".
        room: its centers less its units. Without any it cannot build, and what it has too many is removed later.
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
    """A list without its first waives, as far as it is longer than the number of possible builds."""
    spare = len(orders) - builds if builds else 0
    kept = []
    for order in orders:
        if order == WAIVE and spare > 0:
            spare -= 1
        else:
            kept.append(order)
    return kept


def _checked(orders: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stays on the list, and those of it that were counted: of the kind that comes first, unless passed over."""
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
