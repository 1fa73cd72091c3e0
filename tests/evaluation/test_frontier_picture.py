"""The picture of the frontier: its steps, what is not known, and other policies by name."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from research.price_of_peace.frontier import interval
from research.price_of_peace.frontier_policies import Beside, Step, by_result, frontiers, picture, short_of


def point(epsilon, welfare, gain, last=None):
    return Step(Fraction(epsilon), Fraction(epsilon if last is None else last), welfare, Fraction(gain))


def test_the_table_of_the_page():
    found = frontiers()
    assert found["clique:3, 3"] == [point(0, 16, 0), point("1/2", 17, "2/51"), point(1, 18, 1)]
    assert point(1, 23, 1, last=2) in found["clique:3, 4"]


@pytest.mark.slow
def test_steps_and_names():
    points = [point(0, 16, 0), point(1, 18, 1)]
    others = [Beside("prosocial", 18, 2), Beside("punisher:t=2,remembers=yes", 15, 0), Beside("hold", 0, 8)]
    others += [Beside("own reward, seed 0", 12, 1, "own"), Beside("PSRO", np.nan, np.nan, "PSRO")]
    (axes,) = picture({"clique:3, 3": (points, others)}).axes
    steps, reached, _, marks, own, *_ = axes.lines
    assert steps.get_xydata().tolist() == [[0, 16], [1, 18], [2.5, 18]]
    assert reached.get_xydata().tolist() == [[0, 16], [1, 18]]
    assert marks.get_xydata().tolist() == [[2, 18], [0, 15]]  # who has nothing is not shown
    assert own.get_xydata().tolist() == [[1, 12]]
    assert [text.get_text() for text in axes.texts] == ["punisher:t=2", "prosocial"]
    (between,) = axes.collections
    corners = between.get_paths()[0].vertices
    assert (corners.min(axis=0).tolist(), corners.max(axis=0).tolist()) == ([0, 16], [1, 18])  # between 0 and epsilon 1


def test_gains_are_of_the_whole_game():
    assert interval(SimpleNamespace(value=0.5, low=0.25, high=0.75, n=20), 4) == "2.00 [1.00, 3.00]"
    assert interval(SimpleNamespace(value=0.5, low=np.nan, high=np.nan, n=20), 4) == "2.00 [all 20 alike]"


@pytest.mark.parametrize(
    ("welfare", "gain", "told"), [(15, 0, "1"), (18, 2, "0"), (12, 0.5, "4 to 6"), (0, 8, "18"), (np.nan, np.nan, "-")]
)
def test_the_distance_to_the_possible(welfare, gain, told):
    """At a gain of 1/2 the frontier lies between 16, reached at 0, and 18, the most at 1."""
    assert short_of([point(0, 16, 0), point(1, 18, 1)], Beside("any", welfare, gain)) == told


@pytest.mark.parametrize(("gain", "told"), [(0.5, "4 to 11"), (1.5, "11"), (2, "11"), (2.5, "11 to 12")])
def test_a_point_that_is_best_for_a_range_of_epsilons(gain, told):
    points = [point(0, 16, 0), point(1, 23, 1, last=2), point(3, 24, 3)]
    assert short_of(points, Beside("any", 12, gain)) == told


def test_seeds_with_equal_results_share_a_row():
    seeds = [Beside("", welfare, gain, "own") for welfare, gain in ((18, 2), (12, 8), (18, 2))]
    assert list(by_result(seeds)) == [
        Beside("own reward, seeds 0, 2", 18, 2, "own"),
        Beside("own reward, seed 1", 12, 8, "own"),
    ]
