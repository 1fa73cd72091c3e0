"""The fast engine is the reference: a short part of `python -m tools.equivalence`."""

import functools

import numpy as np
import pytest

from tools.equivalence.comparing import Duel, Tally, play, suites
from tools.equivalence.lively import lively
from welfare_env import Rules, load_board
from welfare_env.board.orders import CONVOY, SUPPORT_HOLD, VIA
from welfare_env.engine import FLAG, Legal, State

SEED = 20  # any will do; the command takes other ones
GAMES = {
    "standard games": 3,
    "welfare games": 3,
    "crowded positions": 8,
    "DATC cases, varied": 20,
    "convoys, disrupted": 12,
    "lively games": 1,
    "dumbbot games": 1,
    "other maps": 3,
    "other maps, crowded": 5,
    "rule options": 5,
    "rule options, crowded": 5,
    "builds anywhere": 3,
    "builds anywhere, from the opening": 3,
}
SUITES = {suite.name: suite for suite in suites(1, 1, 1, 1)}


def test_every_suite_is_tested() -> None:
    assert list(GAMES) == list(SUITES)


@functools.cache
def played(name: str) -> Tally:
    return play(SUITES[name], SEED, range(GAMES[name]))


LONG = ("other maps, crowded",)  # what else is quick has its maps, and its positions


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in SUITES]
)
def test_engines_agree_after_every_phase(name: str) -> None:
    tally = played(name)
    assert tally.counts["phases"] > GAMES[name]
    assert tally.mismatches == []


def test_positions_made_for_it_have_disrupted_convoys_and_paradoxes() -> None:
    tally = played("convoys, disrupted")
    assert tally.became[CONVOY, "disrupted"] >= 5
    assert tally.became[VIA, "no convoy"] >= tally.counts["armies whose convoy was disrupted"] >= 5
    assert tally.counts["paradoxes"] >= 10
    assert tally.counts["paradoxes with own units"] >= 5


@pytest.mark.slow
def test_crowded_positions_bring_up_everything() -> None:
    """What the comparison is worth: no rare situation is missing from it (circular moves are among the DATC cases)."""
    tally = play(SUITES["crowded positions"], SEED, range(60))
    assert tally.mismatches == []
    rare = ["attacks on one's own", "beleaguered garrisons", "convoys that may cut a support about their fleet"]
    rare += ["convoys with several routes", "head-to-heads with support", "removals decided by name", "victories"]
    rare += ["units in retreat conflicts", "swaps by convoy", "units without order"]
    assert [situation for situation in rare if not tally.counts[situation]] == []
    for kind, word in ((VIA, "ok"), (VIA, "no convoy"), (VIA, "bounce"), (CONVOY, "disrupted"), (SUPPORT_HOLD, "cut")):
        assert tally.became[kind, word], (kind, word)


class Faulty:
    """An engine with a fault: results are taken through `spoil`, legal orders through `forget`."""

    def __init__(self, engine, spoil=lambda state, flags: (state, flags), forget=lambda legal: legal) -> None:
        self.engine, self.spoil, self.forget = engine, spoil, forget

    def legal(self, state: State) -> Legal:
        return self.forget(self.engine.legal(state))

    def step(self, state: State, orders: list) -> tuple[State, np.ndarray]:
        return self.spoil(*self.engine.step(state, orders))

    def __getattr__(self, name: str):
        return getattr(self.engine, name)


def without_last(legal: Legal) -> Legal:
    return Legal(legal.orders[:-1], legal.slots[:-1], legal.powers[:-1])


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ({"forget": without_last}, "only reference"),
        ({"spoil": lambda state, flags: (state, flags ^ FLAG["cut"])}, "result of"),
        ({"spoil": lambda state, flags: (state.replaced(units=state.units[::-1]), flags)}, "units"),
        ({"spoil": lambda state, flags: (state.replaced(owners=state.owners[::-1]), flags)}, "owners"),
        ({"spoil": lambda state, flags: (state.replaced(influence=state.influence[::-1]), flags)}, "influence"),
        ({"spoil": lambda state, flags: (state.replaced(winner=0, done=True), flags)}, "winner"),
    ],
)
def test_a_fault_is_found_and_reported_as_a_program(fault: dict, seen: str, capsys: pytest.CaptureFixture) -> None:
    tally = Tally()
    duel = Duel(load_board(), Rules("standard", years=1, press=None), tally)
    fast, reference = duel.engines
    duel.engines = Faulty(fast, **fault), reference
    duel.play(reference.initial(), lively, np.random.default_rng(0))
    assert tally.counts["mismatches"] == len(tally.mismatches) > 0
    found = tally.mismatches[0]
    assert seen in found
    exec(found, {})  # noqa: S102 (our own words)
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {"fast", "reference"}
