"""The benchmark of intervals: what it draws has the truth that it names, and its counts are right."""

import numpy as np
import pytest

from benchmarks.calibration import choice_row, choices, made, mean_row, stopped_row, told
from evaluation.measures import intervals
from evaluation.measures.intervals import Estimate


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "RESAMPLES", 300)


def test_coverage_width_and_error() -> None:
    found = [Estimate(1.0, 0.0, 3.0, 5, ()), Estimate(2.0, 1.5, 2.5, 5, ())]
    assert told(found, 1.0) == ["50.0%", "2.00", "+0.50"]


@pytest.mark.parametrize("population", made(), ids=lambda population: population.name)
def test_populations_have_the_mean_they_name(population) -> None:
    assert population.draw(np.random.default_rng(0), 100_000).mean() == pytest.approx(population.truth, abs=0.03)
    (estimate,) = mean_row(population, 20, 1, np.random.default_rng(0))
    assert estimate.n == 20


@pytest.mark.parametrize("choice", choices(), ids=lambda choice: choice.name)
def test_the_best_gain_is_worth_nothing(choice) -> None:
    assert choice.worse.min() == 0
    rows = list(choice_row(choice, 20, 3, np.random.default_rng(0)))
    assert all(corrected.n == naive.n == 20 for corrected, naive in rows)
    assert np.mean([naive.value for _, naive in rows]) == pytest.approx(0, abs=0.6)


def test_stopping_reaches_the_width() -> None:
    found = list(stopped_row(made()[0], 0.9, 5, np.random.default_rng(0)))
    assert all(estimate.high - estimate.low <= 0.9 for estimate in found)
    assert max(estimate.n for estimate in found) > 10
