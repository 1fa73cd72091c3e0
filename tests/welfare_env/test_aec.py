"""The AEC environment: masks, turns, the two doors for orders, rewards, ends, seeds, the mediator."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import welfare_env
from tests.welfare_env.positions import MODES, dislodging
from welfare_env import Game, Rules

Env = Any
OPTIONS = {
    "transfers": Rules(years=2, press="tokens", transfers=True, mediator=True),
    "overmilitarise": Rules(years=2, overmilitarise=True),
    "published": Rules.published(years=2),
}
RULES: list[dict[str, Any]] = [
    *({"variant": "standard", "scoring": scoring} for scoring in ("sum-of-squares", "draw-size", "concave")),
    {"press": None, "message_rounds": 0, "retreat_welfare": True, "build_and_disband": True},
    {"scoring": "welfare", "progressive": (1, 3), "transfers": True, "mediator": True},
    {"years": 3, "press": "tokens", "mediator": True, "overmilitarise": True, "adjudication": "package"},
]


def masked(env: Env, rng: np.random.Generator) -> Any:
    """A random open action of the agent whose turn it is, with a message now and then."""
    agent = env.agent_selection
    number = int(rng.choice(np.flatnonzero(env.observe(agent)["action_mask"])))
    if not env.unwrapped.rules.has_press:
        return number
    view, messages = env.infos[agent]["view"], {}
    if view.asked == "messages" and rng.random() < 0.3:
        said: Any = f"{agent} in round {view.message_round}"
        if view.vocabulary:
            said = int(rng.integers(1 + len(view.vocabulary)))
        messages = {view.recipients[rng.integers(len(view.recipients))]: said}
    return {"orders": number, "messages": messages}


def is_dead(env: Env) -> bool:
    return env.terminations[env.agent_selection] or env.truncations[env.agent_selection]


def turns(env: Env, rng: np.random.Generator) -> Iterator[str]:
    """Plays masked random actions to the end; yields the agent before each of its steps."""
    while env.agents:
        yield env.agent_selection
        env.step(None if is_dead(env) else masked(env, rng))


def made(**options: Any) -> Env:
    env = welfare_env.make(**{"years": 2, **options} if "rules" not in options else options)
    env.reset(seed=0)
    return env


def open_orders(env: Env) -> list[str]:
    """What the mask leaves open to the agent whose turn it is."""
    mask = env.observe(env.agent_selection)["action_mask"]
    return [env.unwrapped.board.orders.texts[number] for number in np.flatnonzero(mask)]


class TestMasks:
    @pytest.mark.parametrize(
        "options", [*MODES, *(pytest.param({"rules": OPTIONS[name], "map_name": "pure"}, id=name) for name in OPTIONS)]
    )
    def test_an_open_action_is_what_the_game_allows_and_is_never_refused(self, options: dict) -> None:
        env = made(**options)
        game = env.unwrapped.game
        for agent in turns(env, np.random.default_rng(1)):
            assert env.infos[agent]["refused"] == ()
            assert set(env.terminations.values()) in ({True}, {False})
            if is_dead(env):
                continue
            view, open_now = env.infos[agent]["view"], open_orders(env)
            if view.asked == "messages":
                assert open_now == ["WAIVE"]
            elif view.phase_type == "A":
                for text in open_now:
                    game.check_orders(agent, [*game.orders(agent), text])
            else:
                assert tuple(sorted(open_now)) in {tuple(sorted(orders)) for orders in view.legal_orders.values()}
        assert game.is_done
        assert all(record.void == {} for record in game.history)

    def test_waive_is_closed_while_units_have_to_go(self) -> None:
        env = made(press=None)
        units = {"FRANCE": ["A PAR", "A BEL", "A RUH"], "ITALY": ["A ROM"]}
        centers = {"FRANCE": ["PAR"], "ITALY": ["ROM"]}
        env.reset(options={"game": Game.from_position("W1901A", units, centers, rules=env.unwrapped.rules)})
        open_now = []
        for order in ("A RUH D", "A PAR D", "WAIVE"):
            assert env.agent_selection == "FRANCE"
            open_now.append(open_orders(env))
            env.step(env.unwrapped.board.orders.index[order])
        assert open_now == [["A BEL D", "A PAR D", "A RUH D"], ["A BEL D", "A PAR D"], ["WAIVE", "A BEL D"]]
        assert env.agent_selection == "ITALY"


class TestTurns:
    @staticmethod
    def spoken(env: Env, seed: int = 0) -> dict[tuple[str, int], list[str]]:
        """(phase, round) -> who was asked for messages, in that order."""
        asked: dict[tuple[str, int], list[str]] = defaultdict(list)
        for agent in turns(env, np.random.default_rng(seed)):
            view = env.infos[agent]["view"]
            if not is_dead(env) and view.asked == "messages":
                asked[view.phase, view.message_round].append(view.power)
            assert is_dead(env) or view.asked == "messages" or agent != "MEDIATOR"
        return asked

    def test_in_every_round_before_the_orders_each_speaks_once_in_a_sequence_of_its_own_the_mediator_too(self) -> None:
        env = made(rules=Rules(years=1, mediator=True), map_name="pure")
        said = self.spoken(env)
        assert env.possible_agents[-1] == "MEDIATOR"
        phases = [record.phase for record in env.unwrapped.game.history if not record.phase.endswith("R")]
        assert list(said) == [(phase, number) for phase in phases for number in (1, 2, 3)]
        assert all(sorted(speakers) == sorted(env.possible_agents) for speakers in said.values())
        assert len(set(map(tuple, said.values()))) == len(said)

    def test_retreats_are_ordered_without_messages(self) -> None:
        env = made(years=2)
        env.reset(options={"game": dislodging(rules=env.unwrapped.rules)})
        view = env.infos["GERMANY"]["view"]
        assert (env.agent_selection, view.phase, view.asked) == ("GERMANY", "S1901R", "orders")
        env.step(masked(env, np.random.default_rng(0)))
        assert env.infos[env.agent_selection]["view"].phase == "F1901M"

    def test_who_is_eliminated_is_not_asked(self) -> None:
        env = made(years=2)
        start = Game.from_position("F1901M", {"FRANCE": ["A PAR"]}, {"ITALY": ["ROM"]}, rules=env.unwrapped.rules)
        env.reset(options={"game": start})
        said = self.spoken(env)
        assert {agent for speakers in said.values() for agent in speakers} == {"FRANCE", "ITALY"}

    def test_everybody_sees_the_words_that_its_own_view_tells_also_who_is_not_asked(self) -> None:
        """Nobody speaks twice to one recipient in a round: each message has a cell of its own."""
        env, heard = made(rules=Rules(years=1, press="tokens", mediator=True), map_name="pure"), 0
        for _ in turns(env, np.random.default_rng(1)):
            for agent in env.agents:
                told = env.unwrapped.game.view(agent).messages
                assert np.count_nonzero(env.observe(agent)["messages"]) == len(told)
                heard += len(told)
        assert heard > 500

    def test_what_was_said_is_heard_later_in_the_same_round_by_those_to_whom_it_was_said(self) -> None:
        env = made(years=1, message_rounds=1)
        said: list[tuple[str, str]] = []  # recipients and texts
        while (view := env.infos[env.agent_selection]["view"]).asked == "messages":
            agent, powers = view.power, env.possible_agents
            heard = [message.text for message in view.messages]
            assert sorted(heard) == sorted(text for to, text in said if to in (agent, "GLOBAL"))
            to = powers[(powers.index(agent) + 1) % 7]
            said += [("GLOBAL", f"{agent} to all"), (to, f"{agent} to {to}")]
            env.step({"orders": 0, "messages": dict(said[-2:])})
        assert len(said) == 14


def test_a_list_replaces_what_was_ordered_and_ends_the_turns() -> None:
    env = made(press=None)
    index = env.unwrapped.board.orders.index
    assert env.agent_selection == "AUSTRIA"
    env.step(index["A BUD - SER"])
    env.step(["A VIE - GAL"])
    assert env.agent_selection == "ENGLAND"
    assert env.unwrapped.game.orders("AUSTRIA") == ("A VIE - GAL",)


def speak(env: Env, orders: dict[tuple[str, int], list[str]]) -> None:
    """Goes through the message rounds of a phase; some powers order instead: (power, round) -> orders."""
    while env.infos[env.agent_selection]["view"].asked == "messages":
        view = env.infos[env.agent_selection]["view"]
        env.step(orders.get((view.power, view.message_round), {"orders": [], "messages": {}}))


class TestRevisedOrders:
    """Orders may be revised every round; those given last count."""

    def test_the_last_list_counts(self) -> None:
        env = made()
        speak(env, {("FRANCE", 1): ["A PAR - PIC"], ("FRANCE", 2): ["A PAR - BUR"], ("ITALY", 1): ["A ROM - APU"]})
        assert env.unwrapped.game.orders("FRANCE") == ("A PAR - BUR",)
        assert env.unwrapped.game.orders("ITALY") == ("A ROM - APU",)

    def test_the_orders_turn_replaces_them(self) -> None:
        for orders, expected in ((["A PAR - GAS"], ("A PAR - GAS",)), ([], ())):
            env = made()
            speak(env, {("FRANCE", 1): ["A PAR - BUR", "A MAR - SPA"]})
            while env.agent_selection != "FRANCE":
                env.step({"orders": [], "messages": {}})
            assert env.infos["FRANCE"]["view"].orders == ("A PAR - BUR", "A MAR - SPA")
            env.step({"orders": orders, "messages": {}})
            assert env.unwrapped.game.orders("FRANCE") == expected


class TestRewards:
    @pytest.mark.parametrize("options", RULES, ids=str)
    def test_under_every_rule_they_sum_to_the_scores_of_a_game_that_can_be_saved(self, options, tmp_path) -> None:
        rules = Rules(**{"years": 2, "message_rounds": 1} | options)
        env, paid, rng = made(rules=rules, map_name="pure"), defaultdict(list), np.random.default_rng(5)
        for agent in env.agent_iter():
            paid[agent].append(env.last()[1])
            env.step(None if is_dead(env) else masked(env, rng))
        game = env.unwrapped.game
        total = {"MEDIATOR": sum(game.welfare.values())} if rules.mediator else {}
        assert {agent: sum(rewards) for agent, rewards in paid.items()} == pytest.approx(game.scores | total)
        assert rules.is_welfare or not any(any(rewards[:-1]) for rewards in paid.values())
        game.save(tmp_path / "game.json")
        assert Game.load(tmp_path / "game.json").record() == game.record()

    def test_no_rule_is_left_out(self) -> None:
        assert {field.name for field in fields(Rules)} == set().union(*RULES)

    def test_points_come_at_the_end_of_winter_and_the_mediator_gets_their_sum(self) -> None:
        env = made(rules=Rules(years=1, mediator=True), map_name="pure")
        while (view := env.infos[env.agent_selection]["view"]).phase_type != "A" or view.asked == "messages":
            assert not any(env.rewards.values())
            env.step(view.encode_orders([]))
        while not any(env.terminations.values()):
            view = env.infos[env.agent_selection]["view"]
            disbands = [f"{unit} D" for unit in view.units[view.power] if view.power != "FRANCE"]
            env.step({"orders": disbands, "messages": {}})
        assert env.rewards == dict.fromkeys(env.possible_agents, 1.0) | {"FRANCE": 0.0, "MEDIATOR": 6.0}
