"""Where the rulebook decides otherwise than the `diplomacy` package, and retreats that are what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.playing import ordered
from tools.equivalence.lively import crowded, lively
from welfare_env import Game, Rules, errors, load_board
from welfare_env.engine import RETREATS
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

RULEBOOK = Rules("standard", press=None)
PACKAGE = Rules("standard", press=None, adjudication="package")


def play(orders: dict[str, str], rules: Rules = RULEBOOK) -> Game:
    """A movement phase of these orders, separated by commas."""
    given = {power: texts.split(", ") for power, texts in orders.items()}
    units = {power: [" ".join(text.split()[:2]) for text in texts] for power, texts in given.items()}
    game = Game.from_position("S1901M", units, {"TURKEY": ["CON"]}, rules=rules)
    return ordered(game, given)


def results(game: Game, unit: str) -> list[str]:
    return list(game.history[-1].results[unit])


LON_BEL = {"ENGLAND": "A LON - BEL VIA, F NTH C A LON - BEL, F ENG S A LON - BEL"}


def test_a_province_left_empty_by_a_stand_off_is_closed() -> None:
    contested = {"FRANCE": "A BEL H, A PAR - BUR", "GERMANY": "A MUN - BUR"}
    assert play(LON_BEL | contested).dislodged["FRANCE"] == {"A BEL": ("HOL", "PIC", "RUH")}


def test_a_convoy_that_seemed_lost_is_one() -> None:
    """Another convoy cuts the support of the attack on its fleet."""
    orders = {
        "AUSTRIA": "F KIE - BAL, A LVN H",
        "ENGLAND": "F DEN S F KIE - BAL, A PRU - LVN VIA",
        "TURKEY": "A NWY - DEN VIA, F BOT S A PRU - LVN, F NTH C A NWY - DEN, F BAL C A PRU - LVN",
    }
    assert "PRU" in play(orders).dislodged["AUSTRIA"]["A LVN"]
    assert "PRU" not in play(orders, PACKAGE).dislodged["AUSTRIA"]["A LVN"]


def test_an_occupied_retreat_cannot_be_given() -> None:
    lost = {"FRANCE": {"A BEL": ["HOL", "PIC"]}}
    with pytest.raises(errors.PositionError, match="HOL"):
        Game.from_position("S1901R", {"GERMANY": ["A HOL", "A BEL"]}, {}, dislodged=lost, rules=RULEBOOK)


@pytest.mark.parametrize("helper", ["A GAS", "F POR"])
def test_a_support_that_names_the_wrong_coast_is_void(helper: str) -> None:
    """DATC 6.B.9 and 4.B.4; one that names no coast is good (6.B.7)."""
    for named, result in (("SPA/NC", []), ("SPA", []), ("SPA/SC", ["void"])):
        game = play({"FRANCE": f"F MAO - SPA/NC, {helper} S F MAO - {named}"})
        assert results(game, helper) == result


def test_an_army_that_a_fleet_of_its_power_convoys_goes_by_sea() -> None:
    """Edition of 2000: the convoy is used, the land route disregarded; so a lost fleet stops the army."""
    orders = {"ITALY": "A NAP - ROM, F TYS C A NAP - ROM"}
    assert "A ROM" in play(orders).units["ITALY"]
    sunk = orders | {"FRANCE": "F WES - TYS, F LYO S F WES - TYS"}
    assert results(play(sunk), "A NAP") == ["no convoy"]
    assert results(play(sunk, PACKAGE), "A NAP") == []


def test_ones_own_support_dislodges_nothing_not_even_by_convoy() -> None:
    orders = {"ENGLAND": "A LON - BEL VIA, F NTH C A LON - BEL", "FRANCE": "A BEL H, A PIC S A LON - BEL"}
    assert results(play(orders), "A LON") == ["bounce"]
    assert results(play(orders, PACKAGE), "A LON") == []


def test_ones_own_support_disrupts_no_convoy() -> None:
    orders = {"ITALY": "A TUN - GRE VIA, F ION C A TUN - GRE, F NAP S F ALB - ION", "AUSTRIA": "F ALB - ION"}
    assert results(play(orders), "A TUN") == []
    assert results(play(orders, PACKAGE), "A TUN") == ["no convoy"]


def test_every_disrupted_route_is_given_up() -> None:
    orders = {
        "FRANCE": "A BRE - LVP VIA, F ENG C A BRE - LVP, F MAO C A BRE - LVP, F IRI C A BRE - LVP",
        "RUSSIA": "F NAO - IRI, F WAL S F NAO - IRI",
        "ENGLAND": "A LVP S A EDI - YOR, A EDI - YOR",
        "TURKEY": "A YOR H",
    }
    assert results(play(orders), "A LVP") == []
    assert results(play(orders, PACKAGE), "A LVP") == ["cut"]


def test_a_support_that_others_have_cut_makes_no_paradox() -> None:
    orders = {
        "ENGLAND": "A RUH - KIE",
        "ITALY": "F LVN - BAL, A SWE - KIE VIA, A DEN S A SWE - KIE",
        "TURKEY": "F BAL C A SWE - KIE, F KIE S F BAL",
    }
    assert "A KIE" in play(orders).units["ITALY"]
    assert results(play(orders, PACKAGE), "A SWE") == ["no convoy"]


NO_PARADOX = {  # what keeps a convoy's attack from deciding about its own fleet, and the army
    "two attackers of the fleet are equal": (
        "A LON",
        {
            "AUSTRIA": "F EDI - NTH",
            "ENGLAND": "A LON - BEL VIA, F NTH C A LON - BEL, F ENG S A LON - BEL",
            "FRANCE": "F BEL S F NTH, F DEN S F EDI - NTH",
            "GERMANY": "F SKA - NTH, F HEL S F SKA - NTH",
        },
    ),
    "the support is by the army's own power": (
        "A CON",
        {
            "AUSTRIA": "A CON - TUN VIA, F TYS C A POR - NAP, F AEG C A CON - TUN, F WES C A POR - NAP, F EAS - ION, "
            "F GRE S F EAS - ION",
            "ENGLAND": "F TUN S F TYS, F ION C A CON - TUN, F MAO C A POR - NAP, F TUS S F LYO - TYS",
            "TURKEY": "A POR - NAP VIA, F LYO - TYS, F NAP S F ION",
        },
    ),
    "a convoy of the chain carries nobody": (
        "A YOR",
        {
            "AUSTRIA": "F NTH C A YOR - SWE, F LVN - BOT",
            "ENGLAND": "F BOT C A STP - DEN, F DEN S F NTH, F BEL - NTH, F BAL C A STP - DEN",
            "GERMANY": "A YOR - SWE VIA, A STP H, F NWY S A YOR - SWE",
            "RUSSIA": "F HOL S F BEL - NTH, F SKA C A YOR - SWE, F SWE S F BOT, F FIN S F LVN - BOT",
        },
    ),
}


@pytest.mark.parametrize("reason", NO_PARADOX)
def test_no_paradox(reason: str) -> None:
    army, orders = NO_PARADOX[reason]
    assert "no convoy" not in results(play(orders), army)
    assert "no convoy" in results(play(orders, PACKAGE), army)


def test_all_supports_defend_in_a_battle_for_each_others_place() -> None:
    orders = {
        "AUSTRIA": "F TRI - VEN, A ALB S A VEN - TRI",
        "ITALY": "A VEN - TRI, A ROM S F TRI - VEN",
        "TURKEY": "F ADR S A VEN - TRI",
    }
    assert results(play(orders), "A VEN") == ["bounce"]
    assert results(play(orders, PACKAGE), "A VEN") == []


@pytest.mark.parametrize("number", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_the_listed_retreats_are_the_legal_ones(number: int) -> None:
    short, rng, seen = replace(RULEBOOK, years=2), np.random.default_rng(8), 0
    engine = make_engine("fast", load_board(), short)
    start = make_engine("fast", load_board(), replace(short, adjudication="package"))  # accepts any retreats
    while seen < number:
        state = crowded(start, rng)
        if state.phase_type == RETREATS:
            continue
        while not state.done:
            if state.phase_type == RETREATS:
                position = Position(engine, state)
                for power, waiting in position.dislodged.items():
                    legal = position.legal_orders(power)
                    for unit, places in waiting.items():
                        assert {text.split()[-1] for text in legal[unit] if " R " in text} == {*places} != set()
                        seen += 1
            state, _ = engine.step(state, lively(engine, state, engine.legal(state), rng))
