"""Counts at the openings, as chess programs have them: an engine that counts right has its tables right."""

import itertools

import numpy as np
import pytest

from tests.playing import package_game
from tools.equivalence.lively import slots_of
from welfare_env import Rules, load_board
from welfare_env.engine import Engine, State
from welfare_env.engine.engines import make_engine

# Legal orders of every power at the opening.
LEGAL = {
    "standard": {"AUSTRIA": 34, "ENGLAND": 29, "FRANCE": 30, "GERMANY": 38, "ITALY": 38, "RUSSIA": 42, "TURKEY": 27},
    "ancmed": {"CARTHAGE": 29, "EGYPT": 37, "GREECE": 24, "PERSIA": 26, "ROME": 32},
    "modern": {
        "BRITAIN": 33, "EGYPT": 31, "FRANCE": 53, "GERMANY": 47, "ITALY": 40,
        "POLAND": 37, "RUSSIA": 56, "SPAIN": 36, "TURKEY": 39, "UKRAINE": 63,
    },
}  # fmt: skip


# Different positions that a power can bring about in the first phase while the others hold. Left out are those of
# modern's powers that have more than ten thousand ways to order their units.
REACHABLE = {
    "standard": {"AUSTRIA": 71, "ENGLAND": 88, "FRANCE": 93, "GERMANY": 160, "ITALY": 77, "RUSSIA": 425, "TURKEY": 40},
    "ancmed": {"CARTHAGE": 71, "EGYPT": 128, "GREECE": 73, "PERSIA": 58, "ROME": 86},
    "modern": {"BRITAIN": 392, "EGYPT": 84, "ITALY": 457, "POLAND": 135, "SPAIN": 61, "TURKEY": 604},
}
PAIRS = [
    pytest.param(map_name, power, marks=[pytest.mark.slow] * (map_name == "modern"))
    for map_name, powers in REACHABLE.items()
    for power in powers
]


def engine_of(map_name: str, name: str = "fast") -> Engine:
    return make_engine(name, load_board(map_name), Rules("standard", press=None))


def lists_of(engine: Engine, power: str) -> list[np.ndarray]:
    """The legal orders of each unit of a power at the opening."""
    legal = engine.legal(engine.initial())
    return [orders for _, owner, orders in slots_of(legal) if engine.board.powers[owner] == power]


def key(state: State) -> bytes:
    """What a position is, without the sequence of its units."""
    rows = [np.array(sorted(pairs.tolist())).tobytes() for pairs in (state.units, state.dislodged)]
    return b"|".join([*rows, state.retreats.tobytes(), state.owners.tobytes()])


def reachable(engine: Engine, power: str) -> int:
    start, none = engine.initial(), np.zeros(0, np.int32)
    found = set()
    for chosen in itertools.product(*(orders.tolist() for orders in lists_of(engine, power))):
        orders = [np.array(chosen, np.int32) if name == power else none for name in engine.board.powers]
        found.add(key(engine.step(start, orders)[0]))
    return len(found)


@pytest.mark.parametrize("map_name", LEGAL)
def test_legal_orders_at_the_opening(map_name: str) -> None:
    engine = engine_of(map_name)
    legal = engine.legal(engine.initial())
    counted = {power: int((legal.powers == n).sum()) for n, power in enumerate(engine.board.powers)}
    assert counted == LEGAL[map_name]
    assert sum(counted.values()) == len(legal.orders)


@pytest.mark.parametrize(("map_name", "power"), PAIRS)
def test_positions_one_phase_deep(map_name: str, power: str) -> None:
    assert reachable(engine_of(map_name), power) == REACHABLE[map_name][power]


@pytest.mark.slow
@pytest.mark.parametrize(("map_name", "power"), [("standard", "TURKEY"), ("ancmed", "GREECE"), ("modern", "EGYPT")])
def test_positions_one_phase_deep_as_the_package_counts_them(map_name: str, power: str) -> None:
    """Counted with nothing of ours: the package's game, its list of orders, its strings."""
    game = package_game(map_name)
    start, listed = game.get_state(), game.get_all_possible_orders()
    lists = [listed[place] for place in game.get_orderable_locations(power)]
    found = set()
    for chosen in itertools.product(*lists):
        game.set_state(start)
        game.set_orders(power, list(chosen))
        game.process()
        after = game.get_state()
        found.add(str([sorted(after["units"][name]) for name in game.powers] + [after["retreats"]]))
    assert len(found) == REACHABLE[map_name][power]
