"""Winter lists as the program behind the paper's figures executes them."""

from __future__ import annotations

import pytest

from agents.scripted.random import executed

BURGUNDY, GASCONY = "A BUR D", "A GAS D"
BREST, MARSEILLES, PARIS = "F BRE B", "A MAR B", "A PAR B"

CASES = {
    "no room": ([BURGUNDY, "WAIVE", GASCONY], 0, 0, [BURGUNDY, GASCONY]),
    "too many units": (["WAIVE", GASCONY], -1, 0, [GASCONY]),
    "builds only": ([BREST, "WAIVE", "WAIVE", MARSEILLES, PARIS], 3, 3, [BREST, MARSEILLES, PARIS]),
    "nothing": (["WAIVE", "WAIVE", "WAIVE"], 1, 1, []),
    "after a disband the build is void": ([BURGUNDY, MARSEILLES], 1, 1, [BURGUNDY]),
    "and the order after it is passed over": ([BURGUNDY, MARSEILLES, PARIS], 1, 2, [BURGUNDY, PARIS]),
    "a disband makes room": (
        [BREST, BURGUNDY, GASCONY, MARSEILLES, PARIS],
        1,
        3,
        [BREST, GASCONY, MARSEILLES, BURGUNDY],
    ),
    "builds beyond the room cost units": ([BREST, MARSEILLES, "WAIVE", PARIS], 1, 3, [BREST, GASCONY, BURGUNDY]),
    "a waive is void where the list is short": ([BURGUNDY, "WAIVE", PARIS], 3, 3, [BURGUNDY, PARIS]),
    "spare waives are dropped": ([BURGUNDY, "WAIVE", PARIS], 1, 1, [BURGUNDY]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_executed(name: str) -> None:
    orders, room, homes, expected = CASES[name]
    assert executed(orders, room, homes, farthest=["A GAS", "A BUR"]) == expected
