"""The parallel environment: the same game as the AEC one, slots and choices, rewards, ends, wrong actions."""

import copy
import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import welfare_env
from welfare_env import ActionError, Game, GameOverError, IllegalOrderError, OrderError, PressError, Rules

Drawer = Callable[[Game, str, np.random.Generator], list[str]]
MODES = [
    pytest.param({"press": press, "variant": variant}, id=f"{press}-{variant}")
    for press in (None, "tokens", "text")
    for variant in ("welfare", "standard")
]
OPTIONS = {
    "transfers": Rules(years=2, transfers=True),
    "overmilitarise": Rules(years=2, overmilitarise=True),
    "mediator": Rules(years=2, mediator=True),
    "published": Rules.published(years=2),
}


def made(**options: Any) -> tuple[Any, dict, dict]:
    """A parallel environment, its first observations and infos."""
    env = welfare_env.parallel_env(**{"years": 2, **options} if "rules" not in options else options)
    return env, *env.reset(seed=0)


def masked(env: Any, seen: dict, rng: np.random.Generator) -> dict[str, Any]:
    """Random open choices of all agents."""
    actions = {}
    for agent, observation in seen.items():
        weights = observation["action_mask"] * rng.random(observation["action_mask"].shape)
        choices = weights.argmax(axis=1)
        actions[agent] = {"orders": choices, "messages": {}} if env.rules.has_press else choices
    return actions


def nothing(env: Any) -> Any:
    return {"orders": [], "messages": {}} if env.rules.has_press else []


def snapshot(env: Any) -> str:
    return json.dumps([env.game.record(), env.agents, env._round, env._cycles])


class TestSlots:
    @pytest.mark.parametrize("map_name", ["standard", "pure"])
    @pytest.mark.parametrize("options", MODES)
    def test_slots_are_the_legal_lists(self, options: dict, map_name: str) -> None:
        env, seen, infos = made(map_name=map_name, **options)
        rng, texts = np.random.default_rng(1), env.board.orders.texts
        while env.agents:
            for agent, observation in seen.items():
                legal, mask = observation["legal"], observation["action_mask"]
                assert mask[:, 0].all()
                assert (mask[:, 1:] == (legal[:, 1:] >= 0)).all()
                view = infos[agent]["view"]
                rows = [[texts[number] for number in row if number >= 0] for row in legal if row[0] >= 0]
                expected = [list(orders) for orders in view.legal_orders.values()] if view.asked == "orders" else []
                assert rows == [["WAIVE", *orders] if view.phase_type == "A" else orders for orders in expected]
            seen, _, _, _, infos = env.step(masked(env, seen, rng))
        assert env.game.is_done

    @pytest.mark.parametrize("options", MODES)
    def test_open_choices_are_legal_orders(self, options: dict) -> None:
        env, seen, infos = made(**options)
        rng = np.random.default_rng(2)
        while env.agents:
            # In Winter every choice is legal for itself; together they may mix builds and disbands, or be too many.
            is_winter = infos[env.agents[0]]["view"].phase_type == "A"
            seen, _, _, _, infos = env.step(masked(env, seen, rng))
            for info in infos.values():
                assert is_winter or info["refused"] == ()

    @pytest.mark.parametrize("name", OPTIONS)
    def test_options_of_the_rules(self, name: str) -> None:
        env, seen, _ = made(rules=OPTIONS[name])
        rng = np.random.default_rng(3)
        while env.agents:
            seen, _, _, _, _ = env.step(masked(env, seen, rng))
        assert env.game.is_done

    def test_a_choice_is_an_index_into_its_row(self) -> None:
        env, seen, _ = made(press=None)
        texts, legal = env.board.orders.texts, seen["FRANCE"]["legal"]
        choices = np.zeros(len(legal), int)
        for slot in range(3):
            choices[slot] = (legal[slot] >= 0).sum() - 1
        env.step({"FRANCE": choices})
        assert env.game.history[0].orders["FRANCE"] == tuple(texts[legal[slot][choices[slot]]] for slot in range(3))

    def test_winter_choices(self) -> None:
        env, _, _ = made(press=None)
        units, centers = {"FRANCE": ["A PAR", "A SPA"]}, {"FRANCE": ["PAR", "MAR", "BRE"], "ITALY": ["ROM"]}
        for chosen, orders, void in (
            ({}, (), 0),
            ({"A SPA": 1}, ("A SPA D",), 0),
            ({"MAR": 2}, ("F MAR B",), 0),
            ({"MAR": 2, "BRE": 1}, ("A BRE B",), 1),  # one build is allowed; homes come in the map's order
            ({"A SPA": 1, "MAR": 1}, ("A SPA D",), 1),  # the first kind of order counts
        ):
            env.reset()
            env.game = Game.from_position("W1901A", units, centers, rules=env.rules)
            slots = list(env.game.legal_orders("FRANCE"))
            choices = np.zeros(env._shape[0], int)
            for slot, choice in chosen.items():
                choices[slots.index(slot)] = choice
            env.step({"FRANCE": choices})
            record = env.game.history[0]
            assert (record.orders["FRANCE"], len(record.void.get("FRANCE", ()))) == (orders, void), chosen


class TestSameGame:
    @pytest.mark.parametrize("map_name", ["standard", "pure"])
    @pytest.mark.parametrize("options", MODES)
    def test_the_same_orders_lead_to_the_same_positions(
        self, options: dict, map_name: str, draw_orders: Drawer
    ) -> None:
        aec = welfare_env.make(years=3, map_name=map_name, **options)
        aec.reset(seed=0)
        env, _, _ = made(**{**options, "years": 3, "map_name": map_name})
        rng = np.random.default_rng(4)
        while env.agents:
            if env._round:
                env.step({agent: nothing(env) for agent in env.agents})
                continue
            orders = {power: draw_orders(env.game, power, rng) for power in env.agents}
            phase = env.game.phase
            give_all(aec, phase, orders)
            env.step(
                {power: {"orders": orders[power]} if env.rules.has_press else orders[power] for power in env.agents}
            )
            assert aec.unwrapped.game.position.state.same_as(env.game.position.state), phase
        assert aec.unwrapped.game.record() == env.game.record()

    def test_what_is_said_is_heard_from_the_next_step_on(self) -> None:
        env, _, infos = made()
        for number in (1, 2, 3):
            assert all(len(info["view"].messages) == 7 * (number - 1) for info in infos.values())
            assert all(info["view"].message_round == number for info in infos.values())
            _, _, _, _, infos = env.step(
                {a: {"orders": [], "messages": {"GLOBAL": f"{a} {number}"}} for a in env.agents}
            )
        assert {info["view"].asked for info in infos.values()} == {"orders"}
        assert [message.round for message in env.game.messages] == [1] * 7 + [2] * 7 + [3] * 7

    def test_private_messages_stay_private(self) -> None:
        env, _, _ = made()
        _, _, _, _, infos = env.step({"FRANCE": {"orders": [], "messages": {"GERMANY": "psst"}}})
        assert {agent for agent, info in infos.items() if info["view"].messages} == {"FRANCE", "GERMANY"}

    @pytest.mark.parametrize("options", MODES)
    def test_a_copy_in_the_middle_goes_on_in_the_same_way(self, options: dict) -> None:
        env, seen, _ = made(**options)
        for _ in range(5):
            seen, *_ = env.step(masked(env, seen, np.random.default_rng(5)))
        twin, ways = copy.deepcopy(env), []
        for either in (env, twin):
            rng, now = np.random.default_rng(6), seen
            while either.agents:
                now, *_ = either.step(masked(either, now, rng))
            ways.append(either.game.record())
        assert ways[0] == ways[1]

    def test_the_whole_game_repeats(self) -> None:
        records = []
        for _ in range(2):
            env, seen, _ = made()
            rng = np.random.default_rng(7)
            while env.agents:
                seen, *_ = env.step(masked(env, seen, rng))
            records.append(env.game.record())
        assert records[0] == records[1]


class TestRevisedOrders:
    """Orders may be revised every round; those given last count."""

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
    def test_the_last_list_counts(self, given: list, expected: tuple) -> None:
        env, _, _ = made()
        for orders in given:
            env.step({} if orders is None else {"FRANCE": {"orders": orders, "messages": {}}})
        assert env.game.history[0].orders["FRANCE"] == expected

    def test_so_do_the_last_choices(self) -> None:
        env, _, _ = made(message_rounds=1)
        env.game = Game.from_position("W1901A", {}, {"FRANCE": ["PAR", "MAR"], "ITALY": ["ROM"]}, rules=env.rules)
        env.step({"FRANCE": {"orders": ["A PAR B"], "messages": {}}})
        env.step({"FRANCE": {"orders": np.zeros(38, int), "messages": {}}})
        assert env.game.history[0].orders["FRANCE"] == ()


def give_all(aec: Any, phase: str, orders: dict[str, list[str]]) -> None:
    """Plays one phase of an AEC environment with given orders."""
    while not all(aec.terminations.values()):
        view = aec.infos[aec.agent_selection]["view"]
        if view.phase != phase:
            return
        aec.step(view.encode_orders(orders[view.power] if view.asked == "orders" else []))


class TestRewardsAndEnds:
    @pytest.mark.parametrize("name", ["plain", *OPTIONS])
    def test_rewards_sum_to_the_final_points(self, name: str) -> None:
        rules = OPTIONS.get(name, Rules(years=2))
        env, seen, _ = made(rules=rules)
        paid, rng = defaultdict(float), np.random.default_rng(8)
        while env.agents:
            seen, rewards, ended, cut, _ = env.step(masked(env, seen, rng))
            for agent, reward in rewards.items():
                paid[agent] += reward
            assert set(ended.values()) == {env.game.is_done}
            assert not any(cut.values())
        total = {"MEDIATOR": sum(env.game.welfare.values())} if rules.mediator else {}
        assert dict(paid) == {power: float(points) for power, points in (env.game.welfare | total).items()}

    def test_standard_pays_the_scores_at_the_end(self) -> None:
        env, seen, _ = made(press=None, variant="standard")
        rng, last = np.random.default_rng(9), {}
        while env.agents:
            assert not any(last.values())
            seen, last, _, _, _ = env.step(masked(env, seen, rng))
        assert last == env.game.scores

    @pytest.mark.parametrize("most", [1, 3, 10])
    def test_max_cycles_counts_steps(self, most: int) -> None:
        env, seen, _ = made(max_cycles=most, years=10)
        for number in range(1, most + 1):
            seen, _, ended, cut, _ = env.step(masked(env, seen, np.random.default_rng(0)))
            assert set(cut.values()) == {number == most}
            assert not any(ended.values())
        assert env.agents == []

    def test_a_step_after_the_end_is_an_error(self) -> None:
        env, _, _ = made(press=None, years=1)
        while env.agents:
            env.step({})
        for actions in ({}, {"FRANCE": []}):
            with pytest.raises(GameOverError, match="reset"):
                env.step(actions)
        env.reset()
        assert len(env.agents) == 7

    def test_a_step_before_the_first_reset_is_an_error(self) -> None:
        with pytest.raises(GameOverError, match="reset"):
            welfare_env.parallel_env().step({})

    def test_who_is_left_out_holds(self) -> None:
        env, _, _ = made(press=None)
        before = env.game.units
        env.step({})
        assert env.game.units == before


GARBAGE: list[Any] = [
    *(None, 1, 1.5, "A PAR H", b"x", object, print, [1], [[1], [2, 3]], [1.5] * 38, [None], ["A PAR H", 5], (1, 2)),
    *({"A PAR H"}, {}, {"orders": 1}, np.zeros(3, int), np.zeros(38), np.zeros((38, 1), int), np.zeros(38, bool), True),
]
BAD_MESSAGES: list[Any] = [
    *({"NOBODY": "x"}, {"GLOBAL": 5}, {"GLOBAL": None}, {5: "x"}, {None: "x"}, {("a", "b"): "x"}, {"GLOBAL": "\ud800"}),
    *({"GLOBAL": "x" * 5000}, {"GLOBAL": " "}, {"GLOBAL": ["x"]}, {"GLOBAL": np.array(["x", "y"])}),
]


class TestWrongActions:
    @pytest.mark.parametrize("strict", [False, True])
    def test_what_is_no_action_raises_and_changes_nothing(self, strict: bool, subtests: pytest.Subtests) -> None:
        env, _, _ = made(press=None, strict=strict)
        assert env._shape[0] == 38
        self.check_refused(env, ["F LON - ENG"], GARBAGE, subtests)

    @pytest.mark.parametrize("rounds_before", [0, 1])
    def test_with_press_too(self, rounds_before: int, subtests: pytest.Subtests) -> None:
        env, _, _ = made(message_rounds=1)
        for _ in range(rounds_before):
            env.step({})
        actions = [{"orders": bad} for bad in GARBAGE] + GARBAGE[:8]
        self.check_refused(env, {"orders": [], "messages": {}}, actions, subtests)

    def check_refused(self, env: Any, good: Any, actions: list[Any], subtests: pytest.Subtests) -> None:
        """Each of France's actions is refused, and England's good one not taken either."""
        before = snapshot(env)
        for action in actions:
            with subtests.test(ascii(action)[:40]):
                with pytest.raises(ActionError, match="FRANCE"):
                    env.step({"ENGLAND": good, "FRANCE": action})
                assert snapshot(env) == before

    @pytest.mark.parametrize("actions", [None, 5, "FRANCE", [1], {"NOBODY": []}, {"MEDIATOR": []}, {5: []}], ids=repr)
    def test_actions_of_nobody(self, actions: Any) -> None:
        env, _, _ = made(press=None)
        before = snapshot(env)
        with pytest.raises(ActionError):
            env.step(actions)
        assert snapshot(env) == before

    @pytest.mark.parametrize("messages", BAD_MESSAGES, ids=lambda messages: repr(messages)[:30])
    def test_messages_that_cannot_be_sent(self, messages: Any) -> None:
        env, _, _ = made()
        strict, _, _ = made(strict=True)
        before = snapshot(strict)
        good = {"ENGLAND": {"orders": [], "messages": {"GLOBAL": "hello"}}}
        with pytest.raises(PressError):
            strict.step(good | {"FRANCE": {"orders": [], "messages": messages}})
        assert snapshot(strict) == before
        _, _, _, _, infos = env.step(good | {"FRANCE": {"orders": [], "messages": messages}})
        assert [message.sender for message in env.game.messages] == ["ENGLAND"]
        assert {agent: len(info["refused"]) for agent, info in infos.items() if info["refused"]} == {"FRANCE": 1}

    def test_messages_with_the_orders(self) -> None:
        for strict in (False, True):
            env, _, _ = made(message_rounds=1, strict=strict)
            env.step({})
            before, action = snapshot(env), {"FRANCE": {"orders": ["A PAR - BUR"], "messages": {"GLOBAL": "hello"}}}
            if strict:
                with pytest.raises(PressError, match="not a message round"):
                    env.step(action)
                assert snapshot(env) == before
                continue
            _, _, _, _, infos = env.step(action)
            assert "not a message round" in infos["FRANCE"]["refused"][0]
            assert env.game.history[0].orders["FRANCE"] == ("A PAR - BUR",)
            assert env.game.history[0].messages == ()

    def test_choices_in_a_message_round(self) -> None:
        for strict in (False, True):
            env, _, _ = made(strict=strict)
            before, action = snapshot(env), {"FRANCE": {"orders": np.ones(38, int), "messages": {"GLOBAL": "hello"}}}
            if strict:
                with pytest.raises(IllegalOrderError, match="message round"):
                    env.step(action)
                assert snapshot(env) == before
                continue
            _, _, _, _, infos = env.step(action)
            assert "message round" in infos["FRANCE"]["refused"][0]
            assert env.game.orders("FRANCE") == ()

    @pytest.mark.parametrize(
        ("orders", "others"),
        [
            (["A PAR - MOS"], 0),
            (["A PAR H", "A PAR - BUR"], 1),
            (["no order", "F BRE - MAO"], 1),
            ({0: 99}, 2),
            ({0: -1}, 2),
            ({5: 1}, 3),
        ],
        ids=repr,
    )
    def test_orders_that_are_not_legal(self, orders: Any, others: int) -> None:
        env, _, _ = made(press=None)
        strict, _, _ = made(press=None, strict=True)
        if isinstance(orders, dict):
            choices = np.zeros(env._shape[0], int)
            choices[list(orders)] = list(orders.values())
            orders = choices
        before = snapshot(strict)
        with pytest.raises(OrderError):
            strict.step({"ENGLAND": ["F LON - ENG"], "FRANCE": orders})
        assert snapshot(strict) == before
        _, _, _, _, infos = env.step({"ENGLAND": ["F LON - ENG"], "FRANCE": orders})
        record = env.game.history[0]
        assert len(infos["FRANCE"]["refused"]) == len(record.void["FRANCE"]) == 1
        assert len(record.orders["FRANCE"]) == others
        assert record.orders["ENGLAND"] == ("F LON - ENG",)

    def test_random_choices_make_a_game_that_can_be_saved(self, tmp_path: Any) -> None:
        env, _, _ = made(map_name="pure", press=None)
        rng = np.random.default_rng(10)
        while env.agents:
            env.step({agent: rng.integers(-1, env._shape[1], env._shape[0]) for agent in env.agents})
        env.game.save(tmp_path / "game.json")
        assert Game.load(tmp_path / "game.json").record() == env.game.record()


class TestSpaces:
    @pytest.mark.parametrize("options", MODES)
    def test_observations_and_sampled_actions_are_in_their_spaces(self, options: dict) -> None:
        env, seen, _ = made(map_name="pure", **options)
        while env.agents:
            actions = {}
            for agent, observation in seen.items():
                assert env.observation_space(agent).contains(observation)
                actions[agent] = env.action_space(agent).sample(observation["action_mask"])
                assert env.action_space(agent).contains(actions[agent])
            seen, *_ = env.step(actions)
