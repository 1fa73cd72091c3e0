"""The environment: what is paid, who sees what, what is refused."""

from fractions import Fraction

import numpy as np
import pytest

import modal_env
from modal_env.errors import FormulaError, ProgramActionError
from modal_env.logic.library import LIBRARY, CooperateBot, DefectBot, FairBot, PrudentBot, RandomBot
from tests.modal_env.conftest import chosen

CB, DB, FB, PB = range(4)


def play(env, *programs, seed=None):
    """One game in which players choose these programs, turn by turn; returns the sums of the rewards."""
    env.reset(seed=seed)
    paid = dict.fromkeys(env.possible_agents, 0.0)
    turns = iter(programs)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        paid[agent] += reward
        env.step(None if terminated or truncated else next(turns))
    return list(paid.values())


def begun(**options):
    """A game at its beginning."""
    env = modal_env.make(**options)
    env.reset()
    return env


def tokens(env, text):
    vocabulary = env.unwrapped.contest.mode.vocabulary
    return [vocabulary.texts.index(token) for token in text.split()]


# What is paid.


@pytest.mark.parametrize("cost", ["depth", "size", "opponent", "sum", "worlds"])
def test_payoffs_are_those_of_the_game(cost):
    """The environment pays what the exact game says, for every pair of the library but the coin."""
    agents = [agent for agent in LIBRARY.values() if not agent.is_random][:12]
    utilities = modal_env.ProgramGame(agents, Fraction(3, 100), cost).utilities
    env = modal_env.parallel_env(0.03, agents=agents, cost=cost)
    for row in range(len(agents)):
        for column in range(len(agents)):
            env.reset()
            rewards = env.step({"player_0": row, "player_1": column})[1]
            assert list(rewards.values()) == [float(utilities[row][column]), float(utilities[column][row])]


def test_coins_of_random_bot_fall_both_ways_and_are_seeded():
    env = modal_env.make(agents=[RandomBot, CooperateBot], rounds=400)
    first = play(env, *[0, 1] * 400, seed=5)
    assert first == play(env, *[0, 1] * 400, seed=5)
    history = env.unwrapped.contest.history
    moves = [played.moves[0] for played in history]
    assert 150 < moves.count("C") < 250
    assert {played.payoffs for played in history} == {(2.0, 2.0), (3.0, 0.0)}


# Rounds and populations.


def test_one_after_the_other_without_seeing_what_others_choose():
    env = begun(rounds=2)
    before, *_, info = env.last()
    env.step(PB)
    assert env.agent_selection == "player_1"
    after, *_, told = env.last()
    assert np.array_equal(before["observation"], after["observation"])
    assert info["history"] == told["history"] == ()


def test_the_last_round_as_each_player_sees_it():
    env = begun(rounds=3)
    env.step(PB)
    env.step(CB)
    assert env.observe("player_0")["observation"].tolist() == [[1, 3, 0], [2, 1, PB + 1], [1, 2, CB + 1]]
    assert env.observe("player_1")["observation"].tolist() == [[1, 3, 0], [2, 2, CB + 1], [1, 1, PB + 1]]
    (played,) = env.infos["player_1"]["history"]
    assert played.programs == (PrudentBot, CooperateBot)
    assert (played.partners, played.moves, played.payoffs) == ((1, 0), ("D", "C"), (2.98, 0.0))


def test_everybody_has_one_partner_and_meets_others_in_other_rounds():
    env = modal_env.make(rounds=30, players=6)
    play(env, *[FB] * 180, seed=3)
    history = env.unwrapped.contest.history
    for played in history:
        assert sorted(played.partners) == list(range(6))
        assert all(played.partners[partner] == player != partner for player, partner in enumerate(played.partners))
    assert {played.partners[0] for played in history} == {1, 2, 3, 4, 5}


def test_pairs_are_drawn_after_all_have_chosen_and_are_seeded():
    env = modal_env.make(players=6)
    drawn = set()
    for choice in ([FB] * 6, [CB, DB, PB] * 2):
        play(env, *choice, seed=7)
        drawn.add(env.unwrapped.contest.history[0].partners)
    assert len(drawn) == 1


# What is refused.


@pytest.mark.parametrize("text", ["", "X(me)", "[]X(Nobody)", "I cooperate!", "[]X(me", "\u2603", "true" + " " * 2000])
def test_a_text_that_is_no_formula_counts_as_defect_bot(text):
    env = begun(actions="formula", rounds=2)
    env.step(text)
    env.step("true")
    (played,) = env.infos["player_0"]["history"]
    assert played.programs == (DefectBot, CooperateBot)
    assert played.payoffs == (3.0, 0.0)
    assert len(env.infos["player_0"]["refused"]) == 1
    assert env.infos["player_1"]["refused"] == ()
    env.step("true")
    assert env.infos["player_0"]["refused"] == ()


def test_a_token_that_is_not_open_ends_the_turn_as_defect_bot():
    env = begun(actions="tokens")
    env.step(tokens(env, "~")[0])
    env.step(tokens(env, "X(me)")[0])
    assert env.agent_selection == "player_1"
    assert "not allowed here" in env.infos["player_0"]["refused"][0]
    env.step(tokens(env, "true")[0])
    assert env.unwrapped.contest.history[0].programs == (DefectBot, CooperateBot)


@pytest.mark.parametrize(
    ("actions", "action", "error"),
    [
        ("formula", "X(me)", FormulaError),
        ("tokens", 11, FormulaError),
        ("library", 4, ProgramActionError),
        ("library", "FairBot", ProgramActionError),
        ("formula", 3, ProgramActionError),
    ],
)
def test_strict_errors_leave_everything_as_it_was(actions, action, error):
    env = begun(actions=actions, strict=True)
    before = env.last()
    with pytest.raises(error):
        env.step(action)
    assert env.agent_selection == "player_0"
    assert str(env.last()) == str(before)


@pytest.mark.parametrize(
    ("text", "options", "is_allowed"),
    [
        ("[](me -> X(me))", {}, False),
        ("[](me -> X(me))", {"me": True}, True),
        ("MirrorBot", {}, False),
        ("[]X([](me -> X(me)))", {}, False),  # nor within an agent that is called
        ("[]X(SlipBot)", {}, True),
        ("[]X(SlipBot)", {"calls": ["FairBot"]}, False),
        ("[]X(JustBot)", {"calls": ["JustBot"]}, True),  # whoever JustBot calls
        ("[]X([]X(FairBot))", {"calls": ["FairBot"]}, True),
        ("[]X([]X(SlipBot))", {"calls": ["FairBot"]}, False),
    ],
    ids=str,
)
def test_what_formulas_may_say(text, options, is_allowed):
    env = begun(actions="formula", strict=True, **options)
    if is_allowed:
        env.step(text)
    else:
        with pytest.raises(FormulaError) as caught:
            env.step(text)
        assert caught.value.text == text
    assert (env.agent_selection == "player_1") == is_allowed


def test_infos_of_earlier_rounds_stay_as_they_are():
    env = begun(rounds=3)
    seen = []
    for action in (FB, FB, CB, DB, PB, PB):
        seen.append(env.infos["player_0"]["history"])
        env.step(action)
    assert [len(history) for history in seen] == [0, 0, 1, 1, 2, 2]
    assert seen[4][:1] == (seen[2][0],)
    assert [played.programs[0] for played in env.unwrapped.contest.history] == [FairBot, CooperateBot, PrudentBot]
    with pytest.raises(IndexError):
        seen[2][1]


@pytest.mark.parametrize("actions", ["library", "tokens"])
def test_flat_observations_and_states_say_the_same_as_rows(actions):
    envs = [modal_env.parallel_env(actions=actions, rounds=3, players=3, flat=flat) for flat in (False, True)]
    rng = np.random.default_rng(0)
    seen = [env.reset(seed=1)[0] for env in envs]
    while envs[0].agents:
        state = envs[0].state()
        assert envs[0].state_space.contains(state)
        for place, player in enumerate(envs[0].agents):
            rows, flat = seen[0][player]["observation"], seen[1][player]["observations"]
            assert envs[1].observation_space(player).contains(seen[1][player])
            assert set(np.unique(flat[1:])) <= {0, 1}
            assert flat[0] == np.float32(rows[0, 0] / 3)
            largest = envs[0].contest.mode.largest
            written = flat[1 : 1 + rows[:, 2:].size * (1 + largest)].reshape(*rows[:, 2:].shape, 1 + largest)
            assert (written.argmax(-1) == rows[:, 2:]).all()
            assert (state[place, 2:] == rows[0, 2:]).all()
            assert (state[3 + place, 1] == rows[1, 1]).all()
        actions_of = {player: chosen(rng, seen[0][player]) for player in envs[0].agents}
        seen = [env.step(actions_of)[0] for env in envs]


def test_calls_after_the_end_say_what_to_do():
    env = modal_env.make()
    env.reset(seed=0)
    env.step(0)
    env.step(0)
    with pytest.raises(ProgramActionError, match="terminated"):
        env.step(0)
    for _ in range(2):
        env.step(None)
    for wrong in (env.last, lambda: env.step(0), lambda: env.step(None)):
        with pytest.raises(ProgramActionError, match="the game is over: call reset"):
            wrong()
    assert list(env.agent_iter()) == []
    parallel = modal_env.parallel_env()
    parallel.reset(seed=0)
    parallel.step({"player_0": 0, "player_1": 0})
    with pytest.raises(ProgramActionError, match="the game is over: call reset"):
        parallel.step({"player_0": 0, "player_1": 0})
