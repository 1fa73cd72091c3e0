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


def test_populations_have_the_mean_they_name() -> None:
    drawn = {each.name: each.draw(np.random.default_rng(0), (1, 100_000)).mean() for each in made()}
    assert drawn == pytest.approx({each.name: each.truth for each in made()}, abs=0.03)


def test_means_are_covered_about_as_often_as_by_the_usual_interval() -> None:
    found = {each.name: mean_coverage(each, 20, 40, np.random.default_rng(0))[:2] for each in made()}
    assert [name for name, (ours, usual) in found.items() if ours.covered < max(0.6, usual.covered - 0.1)] == []
    assert np.isnan([mean_coverage(each, 4, 2, np.random.default_rng(0))[0].covered for each in made()]).all()


def test_shares_are_those_they_name_and_covered() -> None:
    drawn = {each.name: each.draw(np.random.default_rng(0), (1, 100_000)) for each in made_shares()}
    shares = {name: parts.sum() / wholes.sum() for name, (parts, wholes) in drawn.items()}
    assert shares == pytest.approx({each.name: each.truth for each in made_shares()}, abs=0.01)
    covered = [share_coverage(each, 20, 40, np.random.default_rng(0))[0].covered for each in made_shares()]
    assert min(covered) > 0.9


def test_the_luck_of_the_choice_is_not_in_the_fresh_games() -> None:
    found = choice_results(30, 2, 0.0, 100, np.random.default_rng(0))
    assert found.luck > 0.3
    assert found.behind == 0
    assert abs(found.error) < 0.1
    assert choice_results(30, 2, 0.5, 100, np.random.default_rng(0)).behind > 0.1
