"""What the kernels rely on, and results do not show."""

import numpy as np
import pytest

from tests.playing import ordered
from welfare_env import Game, Rules, load_board
from welfare_env.engine import UNITS, layout_of
from welfare_env.engine import tables as t
from welfare_env.engine.fast import FastEngine

RULES = Rules(variant="standard", years=3, press=None)


def entries(engine: FastEngine) -> list[list[int]]:
    """Province -> entries of the combat table of the last movement phase, in their linked list."""
    work, found = engine._scratch.w, []
    for place in range(len(engine.board.provinces)):
        listed, entry = [], int(work[t.W_HEAD, place])
        while entry >= 0:
            assert entry not in listed, f"the list of {engine.board.provinces[place]} never ends: {listed}"
            listed.append(entry)
            entry = int(work[t.W_NEXT, entry])
        found.append(listed)
    return found


def check(engine: FastEngine, units: int) -> None:
    """Each unit has one entry where it wants to be, and at most one more, at home, after it has bounced once."""
    all_entries = sorted(entry for listed in entries(engine) for entry in listed)
    most = layout_of(engine.board).most_units
    assert [entry for entry in all_entries if entry < most] == list(range(units))
    assert len(set(all_entries)) == len(all_entries)


def test_a_unit_bounces_once() -> None:
    """A support is cut by a dislodgement after the first bounces, so that all is looked at again."""
    units = {"AUSTRIA": ["A TYR"], "FRANCE": ["A MUN", "A BUR"], "GERMANY": ["A SIL", "A RUH"]}
    game = Game.from_position("S1901M", units, {}, rules=RULES, engine="fast")
    france, germany = ["A MUN - RUH", "A BUR S A MUN - RUH"], ["A SIL - MUN", "A RUH S A SIL - MUN"]
    ordered(game, {"AUSTRIA": ["A TYR - MUN"], "FRANCE": france, "GERMANY": germany})
    check(game.position.engine, 5)


def test_the_combat_table_in_random_play() -> None:
    engine, rng = FastEngine(load_board(), RULES), np.random.default_rng(0)
    state, seen = engine.initial(), 0
    for _ in range(600):
        legal = engine.legal(state)
        orders = [np.zeros(0, np.int32)] * 7
        chosen: dict[int, int] = {}
        for row in rng.permutation(len(legal.orders)):
            chosen.setdefault(int(legal.slots[row]), int(row))
        if state.phase_type != "A":
            rows = np.array(sorted(chosen.values()), np.int64)
            orders = [legal.orders[rows[legal.powers[rows] == power]] for power in range(7)]
        units, moves = int(state.row[UNITS]), state.phase_type == "M"
        state, _ = engine.step(state, orders)
        if moves:
            check(engine, units)
            seen += 1
        if state.done:
            state = engine.initial()
    assert seen > 200


@pytest.mark.parametrize(("order", "results"), [("A BER H", []), ("A BER - KIE", ["bounce"])], ids=["stays", "swap"])
def test_no_unit_dislodges_one_of_its_power_with_foreign_help(order: str, results: list[str]) -> None:
    """Foreign help counts in full, so nothing but this rule keeps the attacker out."""
    units = {"GERMANY": ["F KIE", "A BER"], "RUSSIA": ["A PRU"]}
    game = Game.from_position("S1901M", units, {}, rules=RULES)
    ordered(game, {"GERMANY": ["F KIE - BER", order], "RUSSIA": ["A PRU S F KIE - BER"]})
    assert game.phase == "F1901M"
    assert game.units == {power: tuple(units.get(power, ())) for power in game.powers}
    assert game.history[-1].results["A BER"] == results
