"""The fast engine is the reference: a short part of `python -m tools.equivalence`."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tools.equivalence.comparing import Duel, Tally, play, suites
from tools.equivalence.lively import lively
from welfare_env import Rules, load_board
from welfare_env.board.orders import CONVOY, SUPPORT_HOLD, VIA
from welfare_env.engine import FLAG, Legal

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


@pytest.mark.parametrize(
    ("method", "fault", "seen"),
    [
        ("legal", lambda right: Legal(right.orders[:-1], right.slots[:-1], right.powers[:-1]), "only reference"),
        ("step", lambda right: (right[0], right[1] ^ FLAG["cut"]), "result of"),
        ("step", lambda right: (right[0].replaced(units=right[0].units[::-1]), right[1]), "units"),
        ("step", lambda right: (right[0].replaced(owners=right[0].owners[::-1]), right[1]), "owners"),
        ("step", lambda right: (right[0].replaced(influence=right[0].influence[::-1]), right[1]), "influence"),
        ("step", lambda right: (right[0].replaced(winner=0, done=True), right[1]), "winner"),
    ],
)
def test_a_fault_is_found_and_reported_as_a_program(
    method: str, fault: Callable[[Any], Any], seen: str, capsys: pytest.CaptureFixture
) -> None:
    tally = Tally()
    duel = Duel(load_board(), Rules("standard", years=1, press=None), tally)
    fast, reference = duel.engines
    right = getattr(fast, method)
    setattr(fast, method, lambda *given: fault(right(*given)))
    duel.play(reference.initial(), lively, np.random.default_rng(0))
    assert tally.counts["mismatches"] == len(tally.mismatches) > 0
    found = tally.mismatches[0]
    assert seen in found
    exec(found, {})  # noqa: S102 (our own words)
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {"fast", "reference"}
