"""The benchmark of intervals: what it draws has the truth that it names, and its counts are right."""

import numpy as np
import pytest

from evaluation.measures import intervals
from evaluation.measures.intervals import Bounds
from research.validation.intervals import (
    choice_results,
    coverage,
    made,
    made_shares,
    mean_coverage,
    share_coverage,
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "RESAMPLES", 200)


def test_coverage_width_and_samples_without_an_interval() -> None:
    found = coverage(Bounds(np.array([0.0, 1.5, np.nan]), np.array([3.0, 2.5, np.nan])), 1.0)
    assert found == (0.5, 2.0, pytest.approx(1 / 3))


@pytest.mark.parametrize("population", made(), ids=lambda population: population.name)
def test_populations_have_the_mean_they_name(population) -> None:
    assert population.draw(np.random.default_rng(0), (1, 100_000)).mean() == pytest.approx(population.truth, abs=0.03)
    ours, usual, _ = mean_coverage(population, 20, 40, np.random.default_rng(0))
    assert ours.covered >= max(0.6, usual.covered - 0.1)
    assert np.isnan(mean_coverage(population, 4, 2, np.random.default_rng(0))[0].covered)


@pytest.mark.parametrize("population", made_shares(), ids=lambda population: population.name)
def test_shares_are_those_they_name(population) -> None:
    parts, wholes = population.draw(np.random.default_rng(0), (1, 100_000))
    assert parts.sum() / wholes.sum() == pytest.approx(population.truth, abs=0.01)
    assert share_coverage(population, 20, 40, np.random.default_rng(0))[0].covered > 0.9


def test_the_luck_of_the_choice_is_not_in_the_fresh_games() -> None:
    found = choice_results(30, 2, 0.0, 100, np.random.default_rng(0))
    assert found.luck > 0.3
    assert found.behind == 0
    assert abs(found.error) < 0.1
    assert choice_results(30, 2, 0.5, 100, np.random.default_rng(0)).behind > 0.1
