"""The frontier of welfare against exploitability: its paths keep their promise, and none better was missed."""

import copy
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import agents
from agents.toy_boards.shape import clique_of
from evaluation import self_play
from evaluation.checks import EvaluationError, board_of
from evaluation.cli.commands import app
from evaluation.exact import FrontierPoint, check_drawn, equilibrium_payoffs, exploitability, frontier
from evaluation.exact.clique_proofs import path_of
from evaluation.exact.drawn.frontier import FrontierSearch
from evaluation.exact.planner import Stepper
from research.price_of_peace.frontier_paths import home_path, theft_path
from welfare_env import Game, Rules


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


@pytest.mark.slow
@pytest.mark.parametrize(("path", "points", "gain"), [(home_path, (8, 8, 7, 7), 0), (theft_path, (10, 8, 8, 5), 1 / 2)])
def test_paths_by_hand(path, points, gain):
    """Nobody gains by leaving if two keep their units for a year, and go home before they disband."""
    found = FrontierSearch("clique:4", 4).certified(Fraction(gain), path(clique_of(board_of("clique:4"))))
    assert (found.points, found.gain) == (points, gain)
    assert holds(found)


@pytest.mark.slow
def test_one_keeper_is_not_enough():
    """Nobody deters it, so it gains by staying."""
    found = FrontierSearch("clique:3", 3).certified(Fraction(0), home_path(clique_of(board_of("clique:3")), 1))
    assert found.points == (6, 6, 5)
    assert found.certificates[2].bounds[0] > 5
    check_drawn(found.certificates[2])


def test_the_shortest_game():
    (point,) = frontier("clique:2", 1, [0])
    assert (point.welfare, point.points, point.gain) == (4, (2, 2), 0)
    assert holds(point)


def test_the_command_saves_its_points(tmp_path):
    """And players made from a file get what it says."""
    folder = tmp_path / "points"
    command = ["frontier", "--board", "clique:2", "--years", "1", "--epsilon", "0", "--save", str(folder)]
    assert CliRunner().invoke(app, command).exit_code == 0
    point = FrontierPoint.load(folder / "clique-2-years-1-epsilon-0.npz")
    assert holds(point)
    found = exploitability("clique:2", f"frontier:point={folder / point.file_name}", 1)
    assert (found.points, found.gap) == ({"PLAYERA": 2, "PLAYERB": 2}, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("board", "most_lost"), [("clique:3", 1), ("shared-clique:3", 1)])
def test_its_players_are_worth_what_the_certificates_say(tmp_path, board, most_lost):
    """Exact best responses to the players themselves, in positions that no certificate lists as well."""
    (point,) = frontier(board, 3, [Fraction(1, 2)], most_lost)
    point.save(tmp_path / point.file_name)
    spec = f"frontier:point={tmp_path / point.file_name}"
    played = self_play(spec, games=2, map_name=board, rules=Rules(press=None, years=3))
    total = {power: 3 * found.value for power, found in played.welfare_per_year.items()}
    assert tuple(total.values()) == pytest.approx(point.points)
    found = exploitability(board, spec, 3)
    assert tuple(found.points.values()) == point.points
    for certificate in point.certificates:
        low, high = certificate.bounds
        assert low - 1e-6 <= found.responses[certificate.deviator].value <= high + 1e-6
    assert found.gap * 3 <= point.epsilon + 1e-6


@pytest.mark.slow
def test_the_best_response_to_its_players_in_games(tmp_path):
    """What backward induction expects is what games pay on average, each with its own draws."""
    search, path = FrontierSearch("clique:3", 3), path_of(clique_of(board_of("clique:3")), -1, 3, 2)
    search.certified(Fraction(1), tuple(path)).save(tmp_path / "point.npz")
    policy = agents.make(f"frontier:point={tmp_path / 'point.npz'}")
    response = exploitability("clique:3", f"frontier:point={tmp_path / 'point.npz'}", 3).responses["PLAYERA"]
    plan = {row.tobytes(): orders for row, orders, _ in response.plan}
    points = [played_against(policy, plan, seed) for seed in range(200)]
    assert response.gain > 0
    assert abs(np.mean(points) - response.value) <= 4 * np.std(points) / 200**0.5


def played_against(policy, plan, seed):
    """PLAYERA's points in a game in which it gives the orders of a plan: canonical position -> orders."""
    game = Game("clique:3", Rules(press=None, years=3))
    stepper = Stepper(game.board, game.rules)
    others = {power: copy.deepcopy(policy) for power in game.powers[1:]}
    for power, other in others.items():
        other.reset(power, seed)
    while not game.is_done:
        row = game.position.state.row[None].copy()
        stepper.make_canonical(row)
        game.submit("PLAYERA", [game.board.orders.texts[order] for order in plan[row.tobytes()]])
        for power, other in others.items():
            game.submit(power, other.act(None, {"view": game.view(power)}))
        game.advance()
    return game.welfare["PLAYERA"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((0, [0]), "years"),
        ((1, 1), "epsilons=1"),
        ((1, [-1]), "epsilons"),
        ((1, [0.5]), "epsilons"),
        ((1, [0], -1), "most_lost"),
    ],
)
def test_odd_input(arguments, told):
    with pytest.raises(EvaluationError, match=told):
        frontier("clique:2", *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("board", ["shared-clique:3", "shared-clique:4"])
def test_each_undominated_vector_has_certificates(board):
    """For one year, anybody may be the one without a core."""
    found = FrontierSearch(board, 1).equilibria(Fraction(0), 1)
    powers = len(board_of(board).powers)
    assert {point.points for point in found} == {
        tuple(2 - (who == left) for who in range(powers)) for left in range(powers)
    }
    assert all(holds(point) and point.gain == 0 for point in found)


@pytest.mark.slow
def test_the_undominated_points():
    """Two cores for three players: the sharer that is left without one gets a point less."""
    assert equilibrium_payoffs("shared-clique:2", 1, 2) == [(1, 2, 2), (2, 2, 1)]
    for wrong in ((11, 1, 0), (1, -1, 0), (1, 1, -1), (1, 1, 0.5)):
        with pytest.raises(EvaluationError):
            equilibrium_payoffs("shared-clique:2", *wrong)
