"""Payoffs that can be reached at all, and what the theorems say about efficiency."""

import pytest

from evaluation import EvaluationError
from evaluation.exact.pareto import dominates, is_efficient, is_total_the_most, reachable_payoffs
from tests.agents.test_cliques import played


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
def test_disarming_in_the_first_year_pays_for_every_centre(name):
    """So it is efficient on every board, and later years are not paid in full."""
    assert is_total_the_most(name, 5, tuple(played(name, "punisher:t=1", 5)))
    assert not is_total_the_most(name, 5, tuple(played(name, "punisher:t=2", 5)))


def test_too_large_games_are_refused():
    with pytest.raises(EvaluationError, match="too many to enumerate"):
        reachable_payoffs("clique:2", 2, most_positions=5)
