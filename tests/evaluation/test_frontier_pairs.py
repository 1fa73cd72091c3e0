"""The frontier of coalitions of two: threats against pairs, compared with linear programs over all joint orders."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import agents
from agents.toy_boards.shape import clique_of
from evaluation.checks import EvaluationError, board_of
from evaluation.exact import CertificateError, FrontierPoint, check_drawn, frontier
from evaluation.exact.clique_proofs import Naming, path_of
from evaluation.exact.drawn.frontier import FrontierSearch, leavers
from evaluation.exact.drawn.proofs import PathThreats
from evaluation.exact.drawn.threats import ThreatSearch
from evaluation.exact.planner import NO_ORDER, winter_plans
from welfare_env import Rules, UnknownAgentError
from welfare_env.engine import ADJUSTMENTS, FALL_MOVES
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position


def test_who_may_leave():
    assert list(leavers(clique_of(board_of("clique:3")), 2)) == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    pairs = list(leavers(clique_of(board_of("shared-clique:2")), 2))[3:]
    assert pairs == [(0, 1), (0, 2), (2, 1)]  # who shares a core comes first


def plans(position, powers):
    """All joint orders of some powers: one array per power and plan."""
    each = []
    for power in powers:
        if position.state.phase_type == ADJUSTMENTS:
            each.append([plan[plan != NO_ORDER] for plan in winter_plans(position, power)])
        else:
            lists = [position.slot_orders(slot) for slot in position.slots(power)]
            each.append([np.array(plan, np.int32) for plan in product(*lists)])
    return [dict(zip(powers, plan, strict=True)) for plan in product(*each)]


def brute_force(engine, state, pair):
    """The pair's points in the last year: the whole matrix by the engine, solved from the punishers' side."""
    if state.done:
        return 0.0
    position = Position(engine, state)
    others = [power for power in range(len(position.board.powers)) if power not in pair]
    payoffs = []
    for mine in plans(position, pair):
        row = []
        for theirs in plans(position, others):
            orders = mine | theirs
            after, _ = engine.step(state, [orders[power] for power in range(len(orders))])
            row.append((after.welfare - state.welfare)[list(pair)].sum() + brute_force(engine, after, pair))
        payoffs.append(row)
    payoffs = np.unique(np.unique(np.array(payoffs, float), axis=0), axis=1)
    size = payoffs.shape[1]
    found = linprog(
        np.append(np.zeros(size), 1.0),
        A_ub=np.hstack([payoffs, -np.ones((len(payoffs), 1))]),
        b_ub=np.zeros(len(payoffs)),
        A_eq=np.append(np.ones(size), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * size + [(None, None)],
        method="highs-ipm",
    )
    return float(found.fun)


def random_falls(engine, number, most_units, rng):
    """Positions in Fall of the second year of random games."""
    found = []
    while len(found) < number:
        state = engine.initial()
        while not (state.done or (state.year == 1 and state.phase == FALL_MOVES)):
            position = Position(engine, state)
            choices = [plans(position, [power]) for power in range(len(position.board.powers))]
            orders = [each[rng.integers(len(each))][power] for power, each in enumerate(choices)]
            state, _ = engine.step(state, orders)
        if not state.done and 0 < len(state.units) <= most_units:
            found.append(state)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "first", "pair"), [("clique:3", (0, 1), (1, 2)), ("shared-clique:2", (0, 1), (2, 1))]
)
def test_threats_against_brute_force(board, first, pair):
    """The pair searched is `first`; the pair that plays is another of the same kind."""
    threats = ThreatSearch(clique_of(board_of(board)), *first)
    naming, values = Naming(threats.search, *pair), []
    engine = make_engine("fast", board_of(board), Rules(press=None, years=2))
    for state in random_falls(engine, 8, 3, np.random.default_rng(1)):
        values.append(brute_force(engine, state, pair))
        assert threats.solve(naming.find(state)[0], 1) == pytest.approx((values[-1], values[-1]))
    assert len(set(values)) > 2


@pytest.mark.slow
def test_a_pair_gains_more_than_its_members():
    """From the paper's pi_3 nobody gains alone, but two together take centers from the third."""
    clique = clique_of(board_of("clique:3"))
    alone = PathThreats(ThreatSearch(clique, 0), 0, 3, tuple(path_of(clique, -1, 3, 0)))
    pair = PathThreats(ThreatSearch(clique, 0, 1), 1, 3, alone.path, 2)
    assert (alone.path_value, pair.path_value) == (4, 8)
    assert alone.solve() == (4, 4)
    assert pair.solve(8.5)[0] > 8.5


def test_two_years(tmp_path):
    """Nobody gains by keeping units for one more year, alone or with another; the file has proofs, but no players."""
    (point,) = frontier("clique:2", 2, [0], coalitions=2)
    assert point.file_name == "clique-2-years-2-epsilon-0-pairs.npz"
    point.save(tmp_path / "point.npz")
    read = FrontierPoint.load(tmp_path / "point.npz")
    assert (len(read.certificates), read.gain, check_drawn(read.pairs[0])) == (2, 0, len(point.pairs[0]))
    with pytest.raises(UnknownAgentError, match="certificates of pairs"):
        agents.make(f"frontier:point={tmp_path / 'point.npz'}")
    assert (point.points, point.gain) == ((4, 4), 0)
    (pair,) = point.pairs
    assert (pair.deviator, pair.path_value) == ("PLAYERA+PLAYERB", 8)
    assert check_drawn(pair) == len(pair)
    with pytest.raises(CertificateError, match="pays 8, not 4"):
        check_drawn(replace(pair, path_value=4))
    with pytest.raises(CertificateError, match="deviator"):
        check_drawn(replace(pair, deviator=3))


@pytest.mark.slow
def test_what_pairs_must_get():
    """A pair alone holds its two leaves and cores for a year; with two years it gets 7 of 12, so all get 21/2 or more.

    With one point less for each pair, the bound falls by a point for every two pairs.
    """
    for years, worth in ((1, 4), (2, 7)):
        search = FrontierSearch("clique:3", years, coalitions=2)
        assert search.least_welfare(Fraction(0)) == pytest.approx(3 * worth / 2)
        assert search.least_welfare(Fraction(1)) == pytest.approx(3 * (worth - 1) / 2)
        found = search.solve(Fraction(0), 0)
        assert found is not None
        assert found.points == (2 * years,) * 3
        for pair in found.pairs:
            assert check_drawn(pair) == len(pair)
            assert pair.path_value >= worth
    assert FrontierSearch("clique:3", 2).least_welfare(Fraction(0)) == 0


def test_odd_coalitions():
    with pytest.raises(EvaluationError, match="coalitions=3"):
        frontier("clique:2", 1, [0], coalitions=3)
