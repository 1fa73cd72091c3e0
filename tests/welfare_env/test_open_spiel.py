"""The game as OpenSpiel plays it: against our environment, and its algorithms against our exact solver."""

import sys

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as spiel_policies
from open_spiel.python.algorithms import best_response

import welfare_env
import welfare_env.envs.open_spiel  # registers the game
from evaluation import exact
from tests.playing import seated
from welfare_env import Game, Rules

CASES = [
    ("clique:2", Rules(years=3, press=None)),
    ("clique:3", Rules(years=3, press=None, build_and_disband=True)),
    ("shared-clique:3", Rules(years=2, press=None, transfers=True)),
    ("clique:3", Rules(years=3, press=None, variant="standard")),
    ("clique:4", Rules(years=2, press=None, retreat_welfare=True, overmilitarise=True)),
    ("standard", Rules(years=2, press=None, variant="standard", scoring="concave")),
]


@pytest.mark.parametrize(("map_name", "rules"), CASES)
def test_turns_actions_and_rewards_are_those_of_the_aec_environment(map_name, rules):
    rng = np.random.default_rng(7)
    game = welfare_env.open_spiel_game(map_name, rules)
    env = welfare_env.make(map_name, rules).unwrapped
    env.reset(seed=0)
    state, paid = game.new_initial_state(), np.zeros(game.num_players())
    while not state.is_terminal():
        power = env.agent_selection
        assert env.board.powers[state.current_player()] == power
        legal = state.legal_actions()
        assert legal == np.flatnonzero(env.observe(power)["action_mask"]).tolist()
        seen = np.reshape(state.observation_tensor(state.current_player()), env.observe(power)["observation"].shape)
        assert np.array_equal(seen, env.observe(power)["observation"])
        action = int(rng.choice(legal))
        assert state.action_to_string(action) == env.board.orders.texts[action]
        state.apply_action(action)
        env.step(action)
        paid += state.rewards()
        assert state.rewards() == [env.rewards.get(each, 0.0) for each in env.board.powers]
    assert all(env.terminations.values())
    assert np.allclose(state.returns(), paid)
    assert np.allclose(paid, list(env.game.scores.values()))
    assert max(state.returns()) <= game.max_utility()
    assert len(state.history()) <= game.max_game_length()


def test_openspiels_own_test_of_games():
    for name in ("clique:2", "shared-clique:3"):
        game = pyspiel.load_game(f"welfare_diplomacy(map_name={name},years=2)")
        pyspiel.random_sim_test(game, num_sims=2, serialize=False, verbose=False)


def test_orders_are_secret_until_all_are_in_and_then_remembered():
    """Information states are equal exactly if what the player knows is."""
    game, known = welfare_env.open_spiel_game("clique:2", years=1), {}

    def walk(state):
        if state.is_terminal():
            return
        player, moment = state.current_player(), state.moment
        knows = (moment.past, moment.given[player], state.legal_actions())
        assert known.setdefault((player, state.information_state_string()), knows) == knows
        for action in state.legal_actions():
            walk(state.child(action))

    walk(game.new_initial_state())
    assert len({(player, str(knows)) for (player, _), knows in known.items()}) == len(known)
    opening = {text for player, text in known if "F1901M" not in text}
    assert opening == {"S1901M: PLAYERA ", "S1901M: PLAYERB "}


class OfSpec(spiel_policies.Policy):
    """One of our policies, all whose orders are a function of the position."""

    def __init__(self, game, spec):
        super().__init__(game, list(range(game.num_players())))
        self._spec = spec

    def action_probabilities(self, state, player_id=None):
        player = state.current_player() if player_id is None else player_id
        position, given = state.moment.position, state.moment.given[player]
        board, rules = position.board, position.engine.rules
        units = {power: list(each) for power, each in position.units.items()}
        dislodged = {power: dict(each) for power, each in position.dislodged.items()}
        game = Game.from_position(
            position.phase, units, position.centers, dislodged, position.welfare, rules, board.name
        )
        policy = seated(self._spec, board.powers[player])
        view = game.view(board.powers[player])
        wanted = {board.orders.index[order] for order in policy.act(None, {"view": view})} - set(given)
        legal = state.legal_actions(player)
        chosen = next((action for action in legal if action in wanted), None)
        if chosen is None:  # no order: WAIVE in Winter, a unit that holds, a disbanding in retreats
            chosen = next(each for each in legal if board.orders.texts[each].split()[-1] in ("WAIVE", "H", "D"))
        return {chosen: 1.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("map_name", "years", "spec"),
    [
        ("clique:2", 1, "hold"),
        pytest.param("clique:2", 2, "prosocial", marks=pytest.mark.slow),
        ("clique:3", 1, "prosocial"),
        ("shared-clique:2", 1, "hold"),
    ],
)
def test_best_responses_are_worth_what_our_solver_says(map_name, years, spec):
    game = welfare_env.open_spiel_game(map_name, years=years)
    root = game.new_initial_state()
    for player, power in enumerate(game.setting.board.powers):
        ours = exact.best_response(map_name, spec, power, years=years)
        theirs = best_response.BestResponsePolicy(game, player, OfSpec(game, spec)).value(root)
        assert theirs == float(ours.value), power


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "welfare_env.envs.open_spiel")
    with pytest.raises(ImportError, match="openspiel"):
        welfare_env.open_spiel_game("clique:2")
