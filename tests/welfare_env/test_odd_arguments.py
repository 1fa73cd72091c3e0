"""Arguments of the wrong kind: a named error that is short, and nothing has changed."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import welfare_env
from welfare_env import ActionError, Game, GameOverError, OrderError, Rules, RulesError, WelfareEnvError, checks

HUGE = 10**5000  # Python refuses to print it
ODD = [
    *(-1, 1.5, True, "x", "x" * 10**6, b"FRANCE", None, [], {}, [None], {"a": 1}, object(), float("nan"), HUGE, -HUGE),
    *(np.zeros(3), np.array(5), np.array("FRANCE"), np.timedelta64(3, "s"), "FRANCE\0", "\ud800"),
]
odd = st.sampled_from(ODD)

DOORS: dict[str, Callable[[Game, Any], object]] = {
    "submit, power": lambda game, odd: game.submit(odd, ["A PAR H"]),
    "submit, orders": lambda game, odd: game.submit("FRANCE", odd),
    "submit, an order": lambda game, odd: game.submit("FRANCE", ["A PAR H", odd]),
    "send, sender": lambda game, odd: game.send(odd, "GERMANY", "hi"),
    "send, recipient": lambda game, odd: game.send("FRANCE", odd, "hi"),
    "send, text": lambda game, odd: game.send("FRANCE", "GERMANY", odd),
    "send, round": lambda game, odd: game.send("FRANCE", "GERMANY", "hi", odd),
    "view": lambda game, odd: game.view(odd),
    "load": lambda game, odd: Game.load(odd),
    "Game, map_name": lambda game, odd: Game(odd),
    "Game, engine": lambda game, odd: Game(engine=odd),
    "from_position, phase": lambda game, odd: Game.from_position(odd, {}, {}),
    "from_position, units": lambda game, odd: Game.from_position("S1901M", odd, {}),
    "from_position, a unit": lambda game, odd: Game.from_position("S1901M", {"FRANCE": [odd]}, {}),
    "from_position, centers": lambda game, odd: Game.from_position("S1901M", {}, {"FRANCE": odd}),
    "from_position, dislodged": lambda game, odd: Game.from_position("S1901R", {}, {}, dislodged=odd),
    "from_position, retreats": lambda game, odd: Game.from_position("S1901R", {}, {}, {"FRANCE": {"A PAR": odd}}),
    "from_position, points": lambda game, odd: Game.from_position("S1901M", {}, {}, welfare={"FRANCE": odd}),
}


@given(st.sampled_from(sorted(DOORS)), odd)
def test_a_game_refuses_or_takes_what_is_fine(door: str, value: Any) -> None:
    """An empty list of orders, say, is fine."""
    game = Game()
    before = json.dumps(game.record())
    told = None
    try:
        DOORS[door](game, value)
    except WelfareEnvError as error:
        told = str(error)
    assert told is None or (len(told) < 3000 and json.dumps(game.record()) == before)


def test_orders_are_a_list_of_limited_length() -> None:
    for orders in (itertools.repeat("A PAR H"), {"A PAR H"}, {"A PAR - BUR": 1}):
        with pytest.raises(OrderError):
            Game().submit("FRANCE", orders)
    game = Game()
    game.submit("FRANCE", np.array(["A PAR - BUR", "A MAR H"]))
    assert game.orders("FRANCE") == ("A PAR - BUR", "A MAR H")


# Checks of values.


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_any_value_can_be_shown() -> None:
    for value in [*ODD, [0] * 10**6, [HUGE], {HUGE: 1}, Unprintable(), [Unprintable()]]:
        assert len(checks.quoted(value)) < 200


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [({"engine": "fsat"}, "'fast'"), ({"variant": "WELFARE"}, "'welfare'"), ({"press": "token"}, "'tokens'")],
)
def test_near_misses_are_told(arguments: dict[str, Any], meant: str) -> None:
    with pytest.raises(RulesError, match=rf"\(did you mean {meant}\?\)"):
        welfare_env.make(**arguments)


# The doors of the environments.

MAKERS: dict[str, Callable[..., Any]] = {
    "make": welfare_env.make,
    "parallel_env": welfare_env.parallel_env,
    "vector_env": lambda **options: welfare_env.vector_env(**{"num_games": 2, **options}),
}
OPTIONS = ("press", "message_rounds", "years", "variant", "engine", "strict", "max_cycles", "render_mode")
NONE_FITS = {"years": [0, 1001], "message_rounds": [101], "max_cycles": [0], "num_games": [0, 10**10], "threads": [257]}


@pytest.mark.parametrize(
    ("maker", "name"),
    [*((maker, name) for maker in ("make", "parallel_env") for name in OPTIONS), ("vector_env", "num_games"),
     ("vector_env", "threads"), ("vector_env", "rules")],
)  # fmt: skip
def test_options_of_makers(maker: str, name: str) -> None:
    for value in [*ODD, *NONE_FITS.get(name, [])]:
        is_fine = value is None and name in ("press", "max_cycles", "render_mode", "rules")
        is_fine |= (value is True and name == "strict") or (name == "max_cycles" and type(value) is int and value > 0)
        if not is_fine:
            with pytest.raises(RulesError, match=name):
                MAKERS[maker](**{name: value})


@pytest.mark.parametrize("maker", MAKERS)
def test_seeds_of_reset(maker: str) -> None:
    env = MAKERS[maker](years=1)
    env.reset(seed=np.int64(1))
    for value in ODD:
        if value is not None or maker == "vector_env":
            with pytest.raises(RulesError):
                env.reset(seed=value)


@pytest.mark.parametrize("maker", ["make", "parallel_env"])
def test_options_of_reset(maker: str) -> None:
    finished = Game(rules=Rules(years=1))
    while not finished.is_done:
        finished.advance()
    env = MAKERS[maker](years=1)
    env.reset(seed=1, options={"game": Game(rules=Rules(years=1))})
    before = env.unwrapped.game
    wrong = [5, "game", [], {"gmae": 1}, {5: 1}, {"game": 5}, {"game": Game()}, {"game": finished}, {HUGE: 1}]
    for options in [*wrong, {"game": Game("clique:4", Rules(years=1))}]:
        with pytest.raises(RulesError, match="option"):
            env.reset(seed=2, options=options)
    assert env.unwrapped.game is before


def test_an_error_in_reset_leaves_the_stream_of_chance() -> None:
    env, other = (welfare_env.make("clique:4", years=1) for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=1)
    with pytest.raises(RulesError):
        env.reset(seed=2, options={"game": 5})
    env.reset()
    other.reset()
    assert [turn.agent for turn in env.unwrapped._turns] == [turn.agent for turn in other.unwrapped._turns]


@pytest.mark.parametrize("maker", ["make", "parallel_env"])
def test_agents_that_do_not_exist(maker: str) -> None:
    env = MAKERS[maker](years=1)
    env.reset(seed=1)
    for door in (env.observation_space, env.action_space, *([env.observe] if maker == "make" else [])):
        for value in [*ODD, "MEDIATOR", "france", ["FRANCE"], np.array(["FRANCE"] * 2)]:
            with pytest.raises(ActionError):
                door(value)


@pytest.mark.parametrize("maker", ["make", "parallel_env"])
def test_before_reset(maker: str) -> None:
    env = MAKERS[maker](years=1)
    doors = [lambda: env.step({}), env.state, env.render]
    for door in [*doors, *([lambda: env.observe("FRANCE"), env.last, env.agent_iter] if maker == "make" else [])]:
        with pytest.raises(GameOverError, match="reset"):
            door()


OBSERVED = [
    *(([0], [0, 1], None), ("x", [0], None), ([0], None, None), ([5], [0], None), ([0], [7], None), ([0], [0], [])),
    ([0], [0], np.broadcast_to(np.float32(0), (1, 75, 63))),
    ([0], [0], np.zeros((1, 75, 63), ">f4")),
    ([0], [0], np.zeros((1, 75, 126), np.float32)[:, :, ::2]),
]


def test_states_lists_and_observations_of_many_games() -> None:
    games = welfare_env.vector_env(2, years=1)
    for early in (lambda: games.state(0), lambda: games.legal, lambda: games.observe([0], [0])):
        with pytest.raises(ActionError, match="reset"):
            early()
    games.reset()
    for which, who, out in OBSERVED:
        with pytest.raises(ActionError):
            games.observe(which, who, out)  # type: ignore[arg-type]
    for value in [*ODD, 10**9]:
        with pytest.raises(ActionError):
            games.state(value)  # type: ignore[arg-type]
        if value is not None:
            with pytest.raises(ActionError):
                games.legal.padded(value)  # type: ignore[arg-type]


def test_views_encode_lists_only() -> None:
    view = Game().view("FRANCE")
    for orders in ("A PAR H", 5, None, {"A PAR": "H"}):
        with pytest.raises(ActionError):
            view.encode_orders(orders)  # type: ignore[arg-type]
    for messages in ("ab", 5, None, [5], {"GERMANY": "a"}):
        with pytest.raises(ActionError):
            view.encode_messages(messages)  # type: ignore[arg-type]
    assert view.encode_orders(order for order in ["A PAR H"]) == {"orders": ["A PAR H"], "messages": {}}  # type: ignore[arg-type]
