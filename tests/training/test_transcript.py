"""Transcripts: what players see of games in batches is what they see of the same games one by one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import agents
import welfare_env
from agents import DovePolicy, HoldPolicy, PlannerPolicy, PunisherPolicy
from agents.rl.inputs import InputEncoder
from agents.rl.network import Size
from agents.rl.token_press import Said
from tests.playing import ordered, play_parallel
from tests.training.small import local_runner
from training import PopulationConfig
from training.board.games import TextHistory
from training.board.imitation import watch
from training.board.runner import Play
from training.board.seats import Lineup
from training.population.psro import play_seatings
from welfare_env import Game, Rules
from welfare_env.engine import PHASE, SPRING_MOVES, YEAR
from welfare_env.game.press import TOKENS
from welfare_env.game.view import View

SELF_PLAY = Lineup(((0,),), ("learner",), (1.0,))
SETTINGS = [
    ("clique:3", Rules(press=None, years=3)),
    ("standard", Rules(press=None, years=6)),
    ("standard", Rules(press=None, variant="standard", years=6)),
    ("pure", Rules(press="tokens", message_rounds=2, years=2)),
    ("standard", Rules(press=None, build_and_disband=True, retreat_welfare=True, years=6)),
]


def talk(said: Said, rng: np.random.Generator, powers: int) -> None:
    for number in range(said.words.shape[1]):
        games, who = np.indices((len(said.words), powers)).reshape(2, -1)
        said.say(number + 1, games, who, rng.integers(0, 1 + len(TOKENS), (len(games), powers)))


@pytest.mark.parametrize(("map_name", "rules"), SETTINGS)
def test_a_transcript_has_the_history_of_each_game(map_name, rules):
    env, rng = welfare_env.vector_env(3, map_name, rules), np.random.default_rng(0)
    env.reset(seed=5)
    played, said = TextHistory(env.board, rules), Said(env.board, rules, 3)
    games = [Game(map_name, rules=rules) for _ in range(3)]
    live, retreats = np.ones(3, bool), 0
    while live.any():
        played.begin_phase(env.rows.copy())
        said.clear()
        if rules.has_press:
            talk(said, rng, len(env.board.powers))
        for number in np.flatnonzero(live).tolist():
            game, history = games[number], played.history(number)
            position = played.position(number)
            np.testing.assert_array_equal(position.state.row, game.position.state.row)
            mine = View(position, game.powers[0], history=history)
            theirs = game.view(game.powers[0])
            assert len(mine.history) == len(theirs.history) == len(history)
            assert mine.beginning.units == theirs.beginning.units
            retreats += position.state.phase_type == "R"
        choices = env.sample()
        played.add(env.legal, choices, said)
        _, done = env.step(choices)
        for number in np.flatnonzero(live).tolist():
            game, record = games[number], played.record(number, len(games[number].history))
            for message in record.messages:
                game.send(message.sender, message.recipient, message.text, message.round)
            last = ordered(game, record.orders).history[-1]
            assert (record.phase, record.orders, record.void) == (last.phase, last.orders, last.void)
            assert (record.results, record.messages) == (last.results, last.messages)
            after = env.final[number] if done[number] else env.rows[number]
            np.testing.assert_array_equal(record.after.state.row, after)
        live &= ~done
    assert retreats or rules.variant != "standard"
    assert bool(games[0].history[0].messages) == rules.has_press


@pytest.mark.slow
def test_who_remembers_plays_as_in_single_games():
    """Every seating of policies that read the history pays what it pays in a game of its own."""
    map_name, policies = "clique:3", ("punisher:t=2,remembers=yes", "marshal", "deterrent:provoked=growth,forgive=1")
    powers, population = welfare_env.load_board(map_name).powers, PopulationConfig(map_name=map_name, years=4)
    seatings = list(product(range(3), repeat=len(powers)))
    found = play_seatings(population, policies, seatings)
    for seating, points in zip(seatings, found, strict=True):
        profile = dict(zip(powers, (policies[who] for who in seating), strict=True))
        env = welfare_env.parallel_env(map_name, press=None, years=4)
        game = play_parallel(env, {power: agents.make(spec) for power, spec in profile.items()}).game
        assert points.tolist() == pytest.approx([game.welfare[power] / 4 for power in game.powers]), seating


@pytest.mark.parametrize("press", [None, "tokens"])
def test_who_is_imitated_sees_the_history(press, monkeypatch):
    rules, seen = Rules(press=press, message_rounds=1, years=2), set()
    orders = PunisherPolicy.orders
    monkeypatch.setattr(PunisherPolicy, "orders", lambda self, view: seen.add(len(view.history)) or orders(self, view))
    watch(Play("clique:3", rules, SELF_PLAY, Size(8, 1)), "noisy:of=(punisher:t=2,remembers=yes),error=0.5", games=2)
    assert seen >= {0, 1, 2, 3, 4}


def test_seats_that_learn_are_imitated_and_the_others_are_played_by_the_opponents():
    """If the opponents play as the policy does, all seats are imitated."""
    lineup = Lineup(((0,), (2,)), ("hold",), (1.0,))
    play = Play("clique:3", Rules(press=None, years=3), lineup, Size(8, 1))
    lesson, everybody = (watch(replace(play, lineup=each), "dove", games=4) for each in (lineup, SELF_PLAY))
    reader = InputEncoder(welfare_env.load_board("clique:3"), play.rules)
    openings = [(each.observations[:, [YEAR, PHASE]] == (0, SPRING_MOVES)).all(axis=1) for each in (lesson, everybody)]
    assert [opening.sum() for opening in openings] == [4, 12]
    assert sorted(reader.read(lesson.observations[openings[0]]).powers.tolist()) == [0, 0, 2, 2]
    alike = watch(replace(play, lineup=Lineup(((0,),), ("dove",), (1.0,))), "dove", games=4)
    np.testing.assert_array_equal(alike.observations, everybody.observations)
    np.testing.assert_array_equal(alike.actions, everybody.actions)


def test_a_planner_that_is_imitated_knows_its_opponents(monkeypatch):
    met = []

    def meet(self, make):
        met.append([type(make(power)) for power in ("PLAYERB", "PLAYERC")])

    monkeypatch.setattr(PlannerPolicy, "meet", meet)
    lineup = Lineup(((0,),), ("2*hold + 1*dove",), (1.0,))
    watch(Play("clique:3", Rules(press=None, years=2), lineup, Size(8, 1)), "plan:budget=1", games=3)
    assert len(met) == 3
    assert all(set(each) <= {DovePolicy, HoldPolicy} for each in met)


def test_what_is_imitated_is_worth_the_points_to_come():
    """All disarm in the first Winter, and are paid then and in the two years after it."""
    play = Play("clique:3", Rules(press=None, years=3), SELF_PLAY, Size(8, 1))
    lesson = watch(play, "punisher:t=1", games=2)
    opening = (lesson.observations[:, [YEAR, PHASE]] == (0, SPRING_MOVES)).all(axis=1)
    assert lesson.returns[opening] == pytest.approx(6 * play.reward_scale)  # two centers in each of three years
    assert opening.sum() == 2 * 3


def test_each_game_has_the_history_of_its_own(monkeypatch):
    seen, orders = [], PunisherPolicy.orders

    def watched(self, view):
        seen.append((view.phase, len(view.history)))
        return orders(self, view)

    monkeypatch.setattr(PunisherPolicy, "orders", watched)
    lineup = Lineup(((0,),), ("punisher:t=2,remembers=yes",), (1.0,))
    play = Play("clique:3", Rules(press=None, years=3), lineup, Size(8, 1))
    runner = local_runner(replace(play, num_games=3))
    for _ in range(2):
        runner.sample()
    assert {number for phase, number in seen if phase == "S1901M"} == {0}
    assert {number for phase, number in seen if phase == "F1901M"} == {1}
    assert not runner.games.transcript.history(0)  # what is over takes no memory
