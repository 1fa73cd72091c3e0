"""Payoffs that can be reached at all, and what the theorems say about efficiency."""

import pytest

from evaluation import EvaluationError
from evaluation.exact.pareto import dominates, is_efficient, is_total_the_most, reachable_payoffs
from tests.agents.test_toy_boards import played


def test_smaller_t_dominates_and_the_first_is_efficient():
    """Theorem 1, second and third claim, on a board on which everything can be enumerated."""
    reachable = reachable_payoffs("clique:2", 2)
    paths = [tuple(played("clique:2", f"punisher:t={t}", 2)) for t in (1, 2)]
    assert set(paths) <= reachable
    assert dominates(paths[0], paths[1])
    assert [is_efficient(path, reachable) for path in paths] == [True, False]


def test_both_allocations_of_the_shared_core_are_efficient():
    """Theorem 2's claim on efficiency."""
    reachable = reachable_payoffs("shared-clique:2", 1)
    for shared in ("PLAYERA", "PLAYERC"):
        path = tuple(played("shared-clique:2", f"punisher:t=1,shared={shared}", 1))
        assert path in reachable
        assert is_efficient(path, reachable)
    assert (2, 2, 1) in reachable
    assert (1, 2, 2) in reachable


@pytest.mark.parametrize("name", ["clique:3", "clique:6", "shared-clique:3", "shared-clique:6"])
def test_disarming_in_the_first_year_pays_for_every_center(name):
    """So it is efficient on every board, and later years are not paid in full."""
    assert is_total_the_most(name, 5, tuple(played(name, "punisher:t=1", 5)))
    assert not is_total_the_most(name, 5, tuple(played(name, "punisher:t=2", 5)))


@pytest.mark.parametrize(("years", "most"), [(1, 2), (2, 4)])
def test_all_payoffs_of_two_who_can_only_waste(years, most):
    """On clique:2 the neighbor cannot be robbed alone: everybody gets any number up to two a year."""
    every = {(one, other) for one in range(most + 1) for other in range(most + 1)}
    assert reachable_payoffs("clique:2", years) == every


@pytest.mark.parametrize(
    ("one", "other", "is_better"),
    [((2, 1), (1, 1), True), ((2, 2), (1, 1), True), ((1, 1), (1, 1), False), ((2, 0), (1, 1), False)],
)
def test_domination_is_somebody_more_and_nobody_less(one, other, is_better):
    assert dominates(one, other) == is_better
    assert is_efficient(other, frozenset({one, other})) != is_better


def test_too_large_games_are_refused():
    assert len(reachable_payoffs("clique:2", 1, most_positions=10)) == 9
    with pytest.raises(EvaluationError, match="more than 9 positions"):
        reachable_payoffs("clique:2", 1, most_positions=9)
    with pytest.raises(EvaluationError, match="too many to enumerate"):
        reachable_payoffs("clique:2", 2, most_positions=5)
