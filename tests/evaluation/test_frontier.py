"""The frontier of welfare against exploitability: its paths keep their promise, and none better was missed."""

from fractions import Fraction

import pytest

from agents.cliques.shape import clique_of
from evaluation.checks import EvaluationError, board_of
from evaluation.exact import check_drawn, frontier
from evaluation.exact.clique_proofs import path_of
from evaluation.exact.drawn.frontier import FrontierSearch


def holds(point):
    """Every power's certificate is accepted, and says that it gains no more than epsilon."""
    for certificate in point.certificates:
        check_drawn(certificate)
        assert certificate.bounds[1] - certificate.path_value <= point.epsilon
    return sum(certificate.path_value for certificate in point.certificates) == point.welfare


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "welfare"), [(0, 16), (1, 18)])
def test_three_cores_and_years(epsilon, welfare):
    (point,) = frontier("clique:3", 3, [epsilon])
    assert point.welfare == welfare
    assert holds(point)


@pytest.mark.slow
def test_at_least_as_much_as_the_best_of_the_papers_paths():
    """pi_t is one of the paths, so the frontier at its gain is not below it."""
    search = FrontierSearch("clique:3", 3)
    clique = clique_of(board_of("clique:3"))
    for t in (1, 2, 3):
        paper = search.certified(Fraction(0), tuple(path_of(clique, -1, 3, 3 - t)))
        found = search.solve(paper.gain, 18 - paper.welfare)
        assert found is not None
        assert found.welfare >= paper.welfare
        assert found.gain <= paper.gain


def test_the_shortest_game():
    (point,) = frontier("clique:2", 1, [0])
    assert (point.welfare, point.points, point.gain) == (4, (2, 2), 0)
    assert holds(point)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [((0, [0]), "years"), ((1, [-1]), "epsilons"), ((1, [0.5]), "epsilons"), ((1, [0], -1), "most_lost")],
)
def test_odd_input(arguments, told):
    with pytest.raises(EvaluationError, match=told):
        frontier("clique:2", *arguments)
