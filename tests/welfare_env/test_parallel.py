"""The parallel environment: slots and choices, and the same game with the same rewards as the AEC one."""

from typing import Any

import numpy as np
import pytest

import welfare_env
from tests.welfare_env.positions import MODES, draw_orders
from welfare_env import Game, Rules

RULES = [Rules(mediator=True), Rules.published(), Rules("standard", press=None)]
SAME = [*MODES, *(pytest.param({"rules": rules}, id=str(number)) for number, rules in enumerate(RULES))]


def made(**options: Any) -> tuple[Any, dict, dict]:
    """A parallel environment, its first observations and infos."""
    env = welfare_env.parallel_env(**{"years": 2, **options} if "rules" not in options else options)
    return env, *env.reset(seed=0)


def masked(env: Any, seen: dict, rng: np.random.Generator) -> dict[str, Any]:
    """Random open choices of all agents."""
    actions = {}
    for agent, observation in seen.items():
        choices = (observation["action_mask"] * rng.random(observation["action_mask"].shape)).argmax(axis=1)
        actions[agent] = {"orders": choices, "messages": {}} if env.rules.has_press else choices
    return actions


@pytest.mark.parametrize("options", MODES)
def test_slots_are_the_legal_lists_and_open_choices_are_legal(options: dict) -> None:
    env, seen, infos = made(**options)
    rng, texts = np.random.default_rng(1), env.board.orders.texts
    while env.agents:
        for agent, observation in seen.items():
            legal, mask = observation["legal"], observation["action_mask"]
            assert env.observation_space(agent).contains(observation)
            assert mask[:, 0].all()
            assert (mask[:, 1:] == (legal[:, 1:] >= 0)).all()
            view = infos[agent]["view"]
            rows = [[texts[number] for number in row if number >= 0] for row in legal if row[0] >= 0]
            expected = [list(orders) for orders in view.legal_orders.values()] if view.asked == "orders" else []
            assert rows == [["WAIVE", *orders] if view.phase_type == "A" else orders for orders in expected]
        is_winter = view.phase_type == "A"  # choices legal for themselves may be too many, or of both kinds
        seen, _, _, _, infos = env.step(masked(env, seen, rng))
        assert is_winter or all(info["refused"] == () for info in infos.values())
    assert env.game.is_done


def test_winter_choices() -> None:
    env, _, _ = made(press=None)
    units, centers = {"FRANCE": ["A PAR", "A SPA"]}, {"FRANCE": ["PAR", "MAR", "BRE"], "ITALY": ["ROM"]}
    for chosen, orders, void in (
        ({}, (), 0),
        ({"A SPA": 1}, ("A SPA D",), 0),
        ({"MAR": 2}, ("F MAR B",), 0),
        ({"MAR": 2, "BRE": 1}, ("A BRE B",), 1),  # one build is allowed; homes come in the map's order
        ({"A SPA": 1, "MAR": 1}, ("A SPA D",), 1),  # the first kind of order counts
    ):
        env.reset(options={"game": Game.from_position("W1901A", units, centers, rules=env.rules)})
        slots = list(env.game.legal_orders("FRANCE"))
        choices = np.zeros(env._shape[0], int)
        for slot, choice in chosen.items():
            choices[slots.index(slot)] = choice
        env.step({"FRANCE": choices})
        record = env.game.history[0]
        assert (record.orders["FRANCE"], len(record.void.get("FRANCE", ()))) == (orders, void), chosen


@pytest.mark.parametrize("options", SAME)
def test_the_same_orders_lead_to_the_same_positions_and_rewards(options: dict) -> None:
    aec, env = welfare_env.make(**options, years=2), welfare_env.parallel_env(**options, years=2)
    aec.reset(seed=0)
    env.reset(seed=0)
    rng = np.random.default_rng(4)
    while env.agents:
        if env._round:
            env.step({})
            continue
        orders = {power: draw_orders(env.game, power, rng) for power in env.game.powers}
        phase = env.game.phase
        give_all(aec, phase, orders)
        _, rewards, ended, _, _ = env.step(orders)
        assert aec.unwrapped.game.position.state.same_as(env.game.position.state), phase
        assert (aec.rewards, aec.terminations) == (rewards, ended)
    assert aec.unwrapped.game.record() == env.game.record()


def test_what_is_said_is_heard_from_the_next_step_on() -> None:
    """And seen: a word to all, and one to the mediator alone."""
    env, seen, infos = made(rules=Rules(press="tokens", mediator=True))
    words = {agent: 1 + index % 5 for index, agent in enumerate(env.agents)}
    said = {agent: {"GLOBAL": word, "MEDIATOR": 2} for agent, word in words.items()} | {"MEDIATOR": {"GLOBAL": 1}}
    for number in (1, 2, 3):
        for agent, info in infos.items():
            assert len(info["view"].messages) == (number - 1) * (15 if agent == "MEDIATOR" else 9)
            assert np.count_nonzero(seen[agent]["messages"]) == len(info["view"].messages)
            assert info["view"].message_round == number
            own = seen[agent]["messages"][0, 1]  # the observer is the first power, and the mediator none
            assert own == (number > 1) * (1 if agent == "MEDIATOR" else words[agent])
        seen, _, _, _, infos = env.step({agent: {"orders": [], "messages": said[agent]} for agent in env.agents})
    assert {info["view"].asked for agent, info in infos.items() if agent != "MEDIATOR"} == {"orders"}
    assert [message.round for message in env.game.messages] == [1] * 15 + [2] * 15 + [3] * 15


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([["A PAR - PIC"], ["A PAR - BUR"], [], None], ("A PAR - BUR",)),
        ([["A PAR - PIC"], None, None, None], ("A PAR - PIC",)),
        ([["A PAR - PIC"], [], [], ["A PAR - GAS"]], ("A PAR - GAS",)),
        ([["A PAR - PIC"], [], [], []], ()),
    ],
    ids=repr,
)
def test_of_lists_of_orders_given_in_several_rounds_the_last_counts(given: list, expected: tuple) -> None:
    env, _, _ = made()
    for orders in given:
        env.step({} if orders is None else {"FRANCE": orders})
    assert env.game.history[0].orders["FRANCE"] == expected


def give_all(aec: Any, phase: str, orders: dict[str, list[str]]) -> None:
    """Plays one phase of an AEC environment with given orders."""
    while not all(aec.terminations.values()):
        view = aec.infos[aec.agent_selection]["view"]
        if view.phase != phase:
            return
        aec.step(view.encode_orders(orders[view.power] if view.asked == "orders" else []))
