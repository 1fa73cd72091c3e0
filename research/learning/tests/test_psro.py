"""Populations: the payoffs of the empirical game, its equilibrium, what a mix is worth, and resuming."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from evaluation.exact import exploitability
from evaluation.measures.symmetric_game import SymmetricGame
from research.learning import psro
from research.learning.psro import Population, as_policy, equilibrium, payoffs, steps

SMALL = Population(Path("p"), "clique:3", ("hold", "prosocial"), 1, 100_000, years=2, iterations=2, games=8)


def test_payoffs_are_means_over_seats_and_seatings() -> None:
    points = {(0, 0, 1): (1, 2, 6), (0, 1, 0): (3, 8, 4), (1, 0, 0): (1, 5, 9), (1, 1, 1): (1, 2, 6)}
    table = payoffs(points, 2)
    assert table[2, 1] == [4, 5]
    assert np.isnan(table[0, 3][0])
    assert table[0, 3][1] == 3


def test_of_several_equilibria_the_smallest_that_pays_most() -> None:
    nan = np.nan
    coordination = SymmetricGame.of(("a", "b"), [{(2, 0): (1, nan), (1, 1): (0, 0), (0, 2): (nan, 2)}])
    assert equilibrium(coordination).tolist() == [0, 1]
    hawk_dove = SymmetricGame.of(("dove", "hawk"), [{(2, 0): (2, nan), (1, 1): (1, 3), (0, 2): (nan, 0)}])
    assert equilibrium(hawk_dove).tolist() == [0.5, 0.5]


@pytest.mark.slow
def test_a_population_is_measured_exactly_and_finished_steps_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    population = replace(SMALL, out=tmp_path / "p")
    found = steps(population)
    assert [step["step"] for step in found] == [0, 1]
    for step in found:
        exact = exploitability("clique:3", as_policy(step["mix"]), 2)
        assert (step["gap"], step["welfare"]) == (exact.gap, exact.welfare)
        assert (population.out / f"payoffs-{step['step']}.png").stat().st_size > 1000
    monkeypatch.setattr(psro, "_step", lambda *_: pytest.fail("measured again"))
    assert steps(population) == found


@pytest.mark.slow
def test_a_mix_whose_gap_is_unknown_is_attacked(tmp_path: Path) -> None:
    (step,) = steps(replace(SMALL, out=tmp_path / "p", steps=0, max_positions=1))
    assert step["gap"] is None
    assert step["attack"]["low"] is None or step["attack"]["low"] <= step["attack"]["gain"]
