"""What both environments do with actions that are none, or not legal: errors change nothing, refusals are told."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import welfare_env
from tests.playing import ended
from welfare_env import Game, Rules, checks
from welfare_env.errors import ActionError, GameOverError, IllegalOrderError, OrderError, PressError, RulesError

SLOTS = 38  # of a power in the parallel environment, on the standard map
GARBAGE: list[Any] = [
    *(1.5, float("nan"), None, "A PAR H", b"x", object, [1], [None], ["A PAR H", 5], {"A PAR H"}, {}, np.array([1, 2])),
    *({"orders": 1.5}, ["A PAR H"] * 1001),
]
NO_NUMBERS: list[Any] = [-1, 10**9, 2**70, True, np.array(1.5), np.array(True), np.float64(1)]
NO_CHOICES: list[Any] = [1, [1.5] * SLOTS, np.zeros(SLOTS), np.zeros((SLOTS, 1), int), np.zeros(SLOTS, bool)]


class Turned:
    """Either environment; `act` is one agent's action, in the AEC one in its turn."""

    def __init__(self, make: Callable[..., Any], **options: Any) -> None:
        self.env = make(years=2, **options)
        self.env.reset(seed=0)
        self.is_parallel = make is welfare_env.parallel_env
        self.game: Game = self.env.unwrapped.game

    @property
    def agent(self) -> str:
        return "AUSTRIA" if self.is_parallel else self.env.agent_selection

    def act(self, action: Any) -> tuple[str, ...]:
        """Returns what was refused; England's good action in the same step is not taken after an error either."""
        agent = self.agent
        good = {"orders": [], "messages": {}} if self.env.unwrapped.rules.has_press else ["F LON - ENG"]
        self.env.step({"ENGLAND": good, agent: action} if self.is_parallel else action)
        return self.env.unwrapped._refused[agent]

    def go_to_orders(self) -> None:
        while self.env.unwrapped._round if self.is_parallel else self.env.infos[self.agent]["view"].asked == "messages":
            self.env.step({} if self.is_parallel else {"orders": 0, "messages": {}})

    def seen(self) -> tuple[Any, ...]:
        bare = self.env.unwrapped
        names = ("_turns", "_round", "_cycles", "agents", "_refused", "rewards", "_fresh")
        return json.dumps(self.game.record()), [str(getattr(bare, name, None)) for name in names]


@pytest.fixture(params=[welfare_env.make, welfare_env.parallel_env], ids=["aec", "parallel"])
def make(request: pytest.FixtureRequest) -> Callable[..., Turned]:
    return lambda **options: Turned(request.param, **options)


def check_refused(turned: Turned, action: Any, error: type[Exception]) -> None:
    before = turned.seen()
    with pytest.raises(error):
        turned.act(action)
    assert turned.seen() == before


def test_what_is_no_action_raises_and_changes_nothing(make: Callable[..., Turned]) -> None:
    turned = make(press=None)
    for action in [*GARBAGE, *(NO_CHOICES if turned.is_parallel else NO_NUMBERS)]:
        check_refused(turned, action, ActionError)


@pytest.mark.parametrize("asked", ["messages", "orders"])
def test_with_press_too(make: Callable[..., Turned], asked: str) -> None:
    turned = make(message_rounds=1)
    if asked == "orders":
        turned.go_to_orders()
    odd = [{"messages": {}}, *({"orders": 0, "messages": wrong} for wrong in (5, None, [("GLOBAL", "x")]))]
    for action in [*GARBAGE[:-1], *({"orders": each} for each in GARBAGE), *odd, {"orders": 0, "other": 1}]:
        check_refused(turned, action, ActionError)


def test_messages_that_cannot_be_sent(make: Callable[..., Turned]) -> None:
    for messages in ({"NOBODY": "x"}, {"GLOBAL": 5}, {5: "x"}):  # texts: test_messages
        check_refused(make(strict=True), {"orders": [], "messages": {"GLOBAL": "hello"} | messages}, PressError)
        turned = make()
        assert len(turned.act({"orders": [], "messages": messages})) == 1
        assert turned.game.messages == ()


def test_messages_with_the_orders(make: Callable[..., Turned]) -> None:
    action = {"orders": ["A BUD - SER"], "messages": {"GLOBAL": "too late"}}
    for strict in (True, False):
        turned = make(message_rounds=1, strict=strict)
        turned.go_to_orders()
        if strict:
            check_refused(turned, action, PressError)
    assert "not a message round" in turned.act(action)[0]
    assert turned.game.messages == ()
    while not turned.game.history:
        turned.env.step([])
    assert turned.game.history[0].orders["AUSTRIA"] == ("A BUD - SER",)


def test_numbers_in_a_message_round(make: Callable[..., Turned]) -> None:
    turned = make()
    action = {"orders": np.ones(SLOTS, int) if turned.is_parallel else 5, "messages": {"GLOBAL": "hello"}}
    check_refused(make(strict=True), action, IllegalOrderError)
    agent = turned.agent
    assert "message round" in turned.act(action)[0]
    assert [message.text for message in turned.game.messages] == ["hello"]
    assert turned.game.orders(agent) == ()


@pytest.mark.parametrize("orders", [["A PAR H"], ["A BUD - SER", "A BUD H"]], ids=repr)
def test_words_that_are_not_legal(make: Callable[..., Turned], orders: list[str]) -> None:
    check_refused(make(press=None, strict=True), orders, OrderError)
    turned = make(press=None)
    assert len(turned.act(orders)) == 1
    assert turned.is_parallel or turned.agent == "ENGLAND"


@pytest.mark.parametrize("order", ["WAIVE", "A PAR - BUR"])
def test_a_masked_number(order: str) -> None:
    turned = Turned(welfare_env.make, press=None)
    index = turned.game.board.orders.index
    check_refused(Turned(welfare_env.make, press=None, strict=True), index[order], IllegalOrderError)
    turned.act(index[order])
    assert "not allowed for AUSTRIA" in turned.env.last()[4]["refused"][0]  # asked for its next unit
    for text in ("A VIE - GAL", "F TRI - ALB"):
        turned.act(index[text])
    while not turned.game.history:
        turned.env.step([])
    record = turned.game.history[0]
    assert record.orders["AUSTRIA"] == ("A VIE - GAL", "F TRI - ALB")
    assert "A BUD" in turned.game.units["AUSTRIA"]
    assert len(record.void["AUSTRIA"]) == 1


def test_a_masked_number_in_winter_leaves_the_rest() -> None:
    env = welfare_env.make(press=None, years=2)
    units, centers = {"FRANCE": ["A PAR", "A SPA"]}, {"FRANCE": ["PAR", "MAR", "BRE"]}
    env.reset(options={"game": Game.from_position("W1901A", units, centers, rules=env.unwrapped.rules)})
    for order in ("A SPA D", "A MAR B"):
        env.step(env.unwrapped.board.orders.index[order])
    record = env.unwrapped.game.history[0]
    assert record.orders["FRANCE"] == ("A SPA D",)
    assert [void.order for void in record.void["FRANCE"]] == ["A MAR B"]


@pytest.mark.parametrize("choices", [{0: 99}, {5: 1}], ids=repr)
def test_choices_out_of_range(choices: dict[int, int]) -> None:
    array = np.zeros(SLOTS, int)
    array[list(choices)] = list(choices.values())
    check_refused(Turned(welfare_env.parallel_env, press=None, strict=True), array, OrderError)
    turned = Turned(welfare_env.parallel_env, press=None)
    assert len(turned.act(array)) == 1
    assert len(turned.game.history[0].void["AUSTRIA"]) == 1
    assert len(turned.game.history[0].orders["AUSTRIA"]) == (3 if 5 in choices else 2)


def test_actions_of_nobody() -> None:
    turned = Turned(welfare_env.parallel_env, press=None)
    before = turned.seen()
    for actions in (None, {"NOBODY": []}):
        with pytest.raises(ActionError):
            turned.env.step(actions)
    assert turned.seen() == before


def test_a_step_after_the_end_is_an_error(make: Callable[..., Turned]) -> None:
    turned = make(press=None, max_cycles=1)
    while turned.env.agents:
        turned.env.step({} if turned.is_parallel else None if turned.env.truncations[turned.agent] else [])
    for action in ({}, None, 0):
        with pytest.raises(GameOverError, match="reset"):
            turned.env.unwrapped.step(action)
    turned.env.reset()
    assert len(turned.env.agents) == 7


@pytest.mark.parametrize("maker", [welfare_env.make, welfare_env.parallel_env])
def test_options_of_reset(maker: Callable[..., Any]) -> None:
    finished = ended(Game(rules=Rules(years=1)))
    env = maker(years=1)
    env.reset(seed=1, options={"game": Game(rules=Rules(years=1))})
    before = env.unwrapped.game
    wrong = [5, [], {"gmae": 1}, {"game": 5}, {"game": Game()}, {"game": finished}]
    for options in [*wrong, {"game": Game("clique:4", Rules(years=1))}]:
        with pytest.raises(RulesError, match="option"):
            env.reset(seed=2, options=options)
    assert env.unwrapped.game is before


ODD: list[Any] = [-1, 1.5, "x" * 10**6, [], {"a": 1}, float("nan"), -(10**5000), np.zeros(3), "\ud800"]
MAKERS: dict[str, Callable[..., Any]] = {
    "make": welfare_env.make,
    "parallel_env": welfare_env.parallel_env,
    "vector_env": partial(welfare_env.vector_env, num_games=2),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_options_of_makers_and_seeds_of_reset(maker: str) -> None:
    names = "press message_rounds years engine strict max_cycles render_mode"
    for name in ("num_games threads" if maker == "vector_env" else names).split():
        for value in ODD:
            with pytest.raises(RulesError, match=name):
                MAKERS[maker](**{name: value})
    env = MAKERS[maker](years=1)
    env.reset(seed=np.int64(1))
    for value in ODD:
        with pytest.raises(RulesError):
            env.reset(seed=value)


def test_a_reset_without_seed_goes_on_with_the_stream_of_chance_which_an_error_leaves() -> None:
    env, other = (welfare_env.make("clique:4", years=1) for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=1)
    spoken = set()
    for number in (1, 2, 3):
        turns, others = ([turn.agent for turn in each.unwrapped._turns] for each in (env, other))
        assert turns == others
        spoken.add(tuple(turns))
        assert len(spoken) == number
        with pytest.raises(RulesError):
            env.reset(seed=2, options={"game": 5})
        env.reset()
        other.reset()


@pytest.mark.parametrize("maker", [welfare_env.make, welfare_env.parallel_env])
def test_before_reset(maker: Callable[..., Any]) -> None:
    env = maker(years=1)
    doors: dict[str, list[Any]] = {"step": [{}], "state": [], "render": []}
    if maker is welfare_env.make:
        doors |= {"observe": ["FRANCE"], "last": [], "agent_iter": []}
    for door, arguments in doors.items():
        with pytest.raises(GameOverError, match="reset"):
            getattr(env, door)(*arguments)


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_any_value_can_be_shown() -> None:
    for value in (10**5000, "x" * 10**6, [0] * 10**6, {10**5000: 1}, Unprintable(), [Unprintable()], "\ud800"):
        assert len(checks.quoted(value)) < 200
