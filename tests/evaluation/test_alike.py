"""Players who are alike: the names of the others change no value, and whoever goes by names is found out."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import agents
import welfare_env
from agents.policy import ScriptedPolicy
from evaluation.exact import best_response, best_responses
from evaluation.exact.alike import Alike, Naming, NotAlikeError
from evaluation.exact.best_responses import PolicyAnswers, told_who
from evaluation.exact.planner import Planner, Stepper
from welfare_env import Game, Rules, load_board
from welfare_env.engine import layout_of


def positions(map_name: str, games: int = 12, years: int = 6):
    """The positions of games at random."""
    rules = Rules(press=None, variant="standard", years=years)  # in which there are more dislodgements
    env = welfare_env.vector_env(games, map_name, rules)
    env.reset(seed=1)
    live = np.ones(games, bool)
    while live.any():
        yield from (env.state(game) for game in np.flatnonzero(live).tolist())
        live &= ~env.step(env.sample())[1]


def namings(map_name: str, deviator: int) -> list[Naming]:
    alike = Alike(load_board(map_name), deviator)
    seats = []
    for seat in permutations(range(len(load_board(map_name).powers))):
        groups = [{seat[power] for power in group} == set(group) for group in alike._groups]
        if all(groups) and seat[deviator] == deviator:
            seats.append(seat)
    return [alike._naming(seat) for seat in seats]


@pytest.mark.parametrize(
    ("map_name", "deviator", "many"),
    [("clique:3", 1, 2), ("clique:4", 0, 6), ("shared-clique:3", 0, 2), ("shared-clique:3", 1, 2)],
)
def test_a_game_under_other_names_is_the_same_game(map_name, deviator, many):
    """Orders and results of a game at random, played again under every naming."""
    rules = Rules(press=None, years=3)
    found = namings(map_name, deviator)
    assert len(found) == many
    env = welfare_env.vector_env(1, map_name, rules)
    for naming in found:
        game, other = Game(map_name, rules=rules), Game(map_name, rules=rules)
        env.reset(seed=3)
        retreats = 0
        while not game.is_done:
            legal = env.legal
            choices = env.sample()
            rows = np.flatnonzero(choices >= 0)
            numbers, powers = legal.orders[legal.starts[rows] + choices[rows]], legal.powers[rows]
            orders = {power: frozenset(numbers[powers == power].tolist()) for power in range(len(game.powers))}
            renamed, texts = naming.orders(orders), game.board.orders.texts
            for power, name in enumerate(game.powers):
                game.submit(name, [texts[number] for number in sorted(orders[power])], strict=True)
                other.submit(name, [texts[number] for number in sorted(renamed[power])], strict=True)
            env.step(choices)
            game.advance()
            other.advance()
            retreats += game.position.state.phase_type == "R"
            there, here = naming.state(game.position.state), other.position.state
            assert sorted(there.units.tolist()) == sorted(here.units.tolist())
            assert there.owners.tolist() == here.owners.tolist()
            lost = [sorted(zip(s.dislodged.tolist(), s.retreats.tolist(), strict=True)) for s in (there, here)]
            assert lost[0] == lost[1]
        assert [game.welfare[power] for power in game.powers] == [
            other.welfare[game.powers[naming.seat[at]]] for at in range(len(game.powers))
        ]


@pytest.mark.parametrize(
    ("map_name", "deviator"), [("clique:3", 0), ("clique:4", 2), ("shared-clique:3", 1), ("clique:6", 0)]
)
def test_positions_get_the_same_names(map_name, deviator):
    """A relabelled position is the same position under some naming; and most that differ in names become one."""
    board = load_board(map_name)
    stepper = Stepper(board, Rules(press=None), Alike(board, deviator))
    plain = Stepper(board, Rules(press=None))
    alike, same, retreats = Alike(board, deviator), [], 0
    for state in positions(map_name):
        rows = np.stack([state.row, alike.naming(state).state(state).row])
        stepper.make_canonical(rows)
        same.append(np.array_equal(*rows))
        retreats += len(state.dislodged)
        if len(board.powers) < 5:
            seen = np.stack([naming.state(state).row for naming in namings(map_name, deviator)])
            plain.make_canonical(seen)
            assert rows[0].tobytes() in {row.tobytes() for row in seen}
    assert np.mean(same) > 0.95
    assert retreats or map_name == "clique:3"


@pytest.mark.parametrize("years", [1, 2, 3])
@pytest.mark.parametrize(
    ("map_name", "profile", "power"),
    [
        ("clique:3", "prosocial", "PLAYERB"),
        ("clique:3", "sheriff:fight=punish,slack=0", "PLAYERA"),
        ("clique:4", "hold", "PLAYERC"),
        ("clique:4", "sheriff:fight=punish", "PLAYERA"),
        ("clique:4", "punisher:t=1,deviator=PLAYERA", "PLAYERA"),
        ("shared-clique:3", "prosocial", "PLAYERB"),
        ("shared-clique:3", "punisher:t=2,remembers=yes", "PLAYERD"),
    ],
)
def test_names_change_no_value(map_name, profile, power, years, monkeypatch):
    found = best_response(map_name, profile, power, years)
    monkeypatch.setattr(best_responses, "_are_same", lambda *given: False)
    plain = best_response(map_name, profile, power, years)
    assert (found.value, found.profile_value) == (plain.value, plain.profile_value)
    assert found.states <= plain.states


def test_names_save_most_of_the_work():
    assert best_response("clique:4", "sheriff:fight=punish", "PLAYERA", 3).states < 100


class ByName(ScriptedPolicy):
    """PLAYERB stays at home for ever, the others play prosocial."""

    def reset(self, agent, seed=0):
        super().reset(agent, seed)
        self._player = agents.make("hold" if agent == "PLAYERB" else "prosocial")
        self._player.reset(agent, seed)

    def orders(self, view):
        return self._player.orders(view)


def test_who_goes_by_names_is_found_out(monkeypatch):
    board, rules = load_board("clique:3"), Rules(press=None, years=2)
    policies = {power: ByName() for power in board.powers[1:]}
    answers = PolicyAnswers(board, rules, told_who(board, policies, "PLAYERA"), Alike(board, 0))
    with pytest.raises(NotAlikeError):
        Planner(board, rules, 0, answers.given, Alike(board, 0)).value(answers.engine.initial())
    plain = best_response("clique:3", policies, "PLAYERA", 2)
    monkeypatch.setattr(best_responses, "_are_same", lambda *given: True)
    assert best_response("clique:3", policies, "PLAYERA", 2) == plain


def test_layouts_have_one_of_each_in_every_province():
    """What the kernel takes for granted."""
    for map_name in ("clique:2", "clique:6", "shared-clique:2", "shared-clique:6"):
        board = load_board(map_name)
        assert len(board.pieces) == len(board.locations) == len(board.centers) == len(board.provinces)
        assert layout_of(board).most_units == len(board.provinces)
