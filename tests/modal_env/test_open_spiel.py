"""The game of choosing a program as OpenSpiel plays it: its algorithms agree with our exact equilibria."""

import sys

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as spiel_policies
from open_spiel.python.algorithms import cfr, exploitability

import modal_env

GAMES = [
    modal_env.ProgramGame(modal_env.POST, epsilon="1/10"),
    modal_env.ProgramGame(["FairBot", "PrudentBot", "DefectBot"], epsilon="1/4", payoffs="stag-hunt"),
    modal_env.ProgramGame(
        modal_env.POST, epsilon="1/3", payoffs={"CC": (2, 1), "CD": (0, 3), "DC": (3, 0), "DD": (1, 1)}
    ),
]


def mixed(game, row, column):
    """A profile as a policy of OpenSpiel."""
    found = spiel_policies.TabularPolicy(game)
    for player, shares in enumerate((row, column)):
        found.action_probability_array[player] = [float(share) for share in shares]
    return found


@pytest.mark.parametrize("ours", GAMES, ids=repr)
def test_payoffs_are_those_of_both_seats(ours):
    theirs = modal_env.open_spiel_game(ours)
    rows, columns = np.array(theirs.row_utilities()), np.array(theirs.col_utilities())
    assert rows.ravel() == pytest.approx([float(paid) for row in ours.utilities for paid in row])
    assert columns.T.ravel() == pytest.approx([float(paid) for row in ours.turned.utilities for paid in row])
    assert theirs.row_action_name(1) == ours.names[1]


@pytest.mark.parametrize("ours", GAMES, ids=repr)
def test_nobody_gains_by_leaving_our_equilibria(ours):
    theirs = pyspiel.convert_to_turn_based(modal_env.open_spiel_game(ours))
    equilibria = modal_env.equilibria(ours.agents, ours.epsilon, payoffs=ours.payoffs)
    assert equilibria
    for found in equilibria:
        assert exploitability.nash_conv(theirs, mixed(theirs, found.row, found.column)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ours", GAMES, ids=repr)
def test_what_best_responses_gain_is_ours(ours):
    """NashConv is the sum of both players' gains; our exploitability is the larger."""
    rng = np.random.default_rng(3)
    theirs = pyspiel.convert_to_turn_based(modal_env.open_spiel_game(ours))
    for _ in range(20):
        drawn = [rng.integers(1, 9, len(ours.agents)).tolist() for _ in range(2)]
        row, column = (ours.mix([f"{share}/{sum(shares)}" for share in shares]) for shares in drawn)
        gains = exploitability.nash_conv(theirs, mixed(theirs, row, column), return_only_nash_conv=False)
        expected = float(modal_env.exploitability(ours, row, column))
        assert max(gains.player_improvements) == pytest.approx(expected)


def test_regret_minimization_finds_an_equilibrium_of_the_post():
    theirs = pyspiel.convert_to_turn_based(modal_env.open_spiel_game(GAMES[0]))
    solver = cfr.CFRPlusSolver(theirs)
    for _ in range(300):
        solver.evaluate_and_update_policy()
    assert exploitability.nash_conv(theirs, solver.average_policy()) < 0.01


def test_without_open_spiel_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(ImportError, match=r"OpenSpiel's games need the extra openspiel"):
        modal_env.open_spiel_game(GAMES[0])
