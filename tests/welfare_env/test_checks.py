"""Values that are none of those asked for: a named error that says what came in, and nothing has changed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import welfare_env
from welfare_env import ActionError, Game, GameOverError, Rules, RulesError, checks
from welfare_env.envs.setting import make_setting

HUGE = 10**5000  # Python refuses to print it
ODD = [
    -1,
    1.5,
    True,
    "x",
    b"x",
    None,
    [],
    {},
    object(),
    np.zeros(3),
    np.array(5),
    np.timedelta64(3, "s"),
    HUGE,
    -HUGE,
    float("nan"),
]
IDS = [type(value).__name__ + str(number) for number, value in enumerate(ODD)]


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_any_value_can_be_shown() -> None:
    for value in [*ODD, "A" * 10**6, [0] * 10**6, [HUGE], {HUGE: 1}, Unprintable(), [Unprintable()]]:
        assert len(checks.quoted(value)) < 200


@pytest.mark.parametrize("value", ODD, ids=IDS)
def test_no_whole_number(value: object) -> None:
    with pytest.raises(RulesError, match=r"n=.*: give a whole number from 0 to 4"):
        checks.whole("n", value, 0, 4)


@pytest.mark.parametrize("value", ODD, ids=IDS)
def test_no_seed(value: object) -> None:
    with pytest.raises(RulesError, match=r"seed=.*: give a whole number from 0, below 2\*\*128"):
        checks.seed(value)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    for kind in (np.int8, np.uint64, np.int64):
        number = checks.whole("n", kind(3), 0)
        assert (type(number), number) == (int, 3)
    rules = Rules(years=np.int64(4), progressive=[np.int64(1)] * 4)  # type: ignore[arg-type]
    assert rules == Rules(years=4, progressive=(1, 1, 1, 1))
    assert {type(rules.years), *map(type, rules.to_dict()["progressive"])} == {int}
    assert checks.seed(np.uint64(2**64 - 1)) == 2**64 - 1


NO_INDICES = [3, "x", None, [[0], [1, 2]], [0.5], [True], [3], [-1], [HUGE], [[0]], np.array(["1"]), {0: 1}, [2**63]]


@pytest.mark.parametrize("values", NO_INDICES, ids=range(len(NO_INDICES)))
def test_no_indices(values: object) -> None:
    with pytest.raises(ActionError, match=r"games=.*: give a list of whole numbers from 0 to 2"):
        checks.indices("games", values, 3)


def test_indices() -> None:
    for values in ([], [0, 2], (2,), range(3), np.array([1], np.uint8), np.arange(6)[::3] // 2):
        found = checks.indices("games", values, 3)
        assert (found.dtype, found.tolist()) == (np.int64, list(values))


# Words that are nearly right.


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"engine": "fsat"}, "'fast'"),
        ({"engine": "Reference"}, "'reference'"),
        ({"variant": "standart"}, "'standard'"),
        ({"variant": "WELFARE"}, "'welfare'"),
        ({"press": "txt"}, "'text'"),
        ({"press": "token"}, "'tokens'"),
        ({"press": "none"}, "None"),
        ({"render_mode": "humen"}, "'human'"),
        ({"strict": "true"}, "True"),
        ({"variant": "standard", "scoring": "sum of squares"}, "'sum-of-squares'"),
    ],
)
def test_near_misses_are_told(arguments: dict[str, Any], meant: str) -> None:
    make: Callable[..., Any] = Rules if "scoring" in arguments else make_setting
    with pytest.raises(RulesError, match=rf"\(did you mean {meant}\?\)"):
        make(**arguments)


def test_near_misses_of_rules_options_and_agents() -> None:
    with pytest.raises(RulesError, match=r"did you mean 'years'\?"):
        Rules.from_dict({"year": 3})
    env = welfare_env.make(press=None, years=1)
    with pytest.raises(RulesError, match=r"did you mean 'game'\?"):
        env.reset(options={"gmae": None})
    with pytest.raises(ActionError, match=r"did you mean 'FRANCE'\?"):
        env.observation_space("France")


def test_what_resembles_nothing_gets_no_guess() -> None:
    for engine in ("quantum", "", "f" * 10**6):
        with pytest.raises(RulesError, match=r"choose one of 'fast', 'reference'$"):
            welfare_env.make(engine=engine)


# The doors of the environments.

MAKERS = {
    "make": welfare_env.make,
    "raw_env": welfare_env.raw_env,
    "parallel_env": welfare_env.parallel_env,
    "vector_env": lambda **kwargs: welfare_env.vector_env(2, **kwargs),
}
NONE_FITS = {
    "years": [0, 1001, 10**9],
    "message_rounds": [101, 10**9],
    "max_cycles": [0],
    "num_games": [0],
    "threads": [0, 257],
}


@pytest.mark.parametrize("maker", ["make", "raw_env", "parallel_env"])
@pytest.mark.parametrize(
    "name", ["press", "message_rounds", "years", "variant", "engine", "strict", "max_cycles", "render_mode", "rules"]
)
def test_options_of_makers(maker: str, name: str) -> None:
    for value in [*ODD, *NONE_FITS.get(name, [])]:
        is_fine = value is None and name in ("press", "max_cycles", "render_mode", "rules")
        is_fine |= (value is True and name == "strict") or (name == "max_cycles" and type(value) is int and value > 0)
        if not is_fine:
            with pytest.raises(RulesError, match=name):
                MAKERS[maker](**{name: value})


@pytest.mark.parametrize("name", ["num_games", "threads", "years", "variant", "rules"])
def test_options_of_many_games(name: str) -> None:
    for value in [*ODD, *NONE_FITS.get(name, [])]:
        if value is not None or name != "rules":
            with pytest.raises(RulesError, match=name):
                welfare_env.vector_env(**{"num_games": 2, name: value})


@pytest.mark.parametrize("map_name", ["standard", "clique:2", "clique:20"])
def test_more_games_than_fit_are_refused_with_the_number_that_does(map_name: str) -> None:
    with pytest.raises(RulesError, match=r"a game takes \d+ KiB or more; give \d+ at most"):
        welfare_env.vector_env(10**10, map_name)


@pytest.mark.parametrize("maker", MAKERS)
def test_no_seed_of_reset(maker: str) -> None:
    env = MAKERS[maker](years=1)
    env.reset(seed=1)
    for value in ODD:
        if value is not None or maker == "vector_env":
            with pytest.raises(RulesError, match="seed="):
                env.reset(seed=value)
    env.reset(seed=np.int64(1))


def finished() -> Game:
    game = Game(rules=Rules(years=1))
    while not game.is_done:
        game.advance()
    return game


@pytest.mark.parametrize("maker", ["make", "raw_env", "parallel_env"])
def test_no_options_of_reset(maker: str) -> None:
    env = MAKERS[maker](years=1)
    env.reset(seed=1, options={"game": Game(rules=Rules(years=1))})
    before = env.unwrapped.game
    wrong = [5, "game", [], {"gmae": 1}, {5: 1}, {"game": 5}, {"game": Game()}, {"game": finished()}]
    wrong += [{"game": Game("clique:4", Rules(years=1))}, {HUGE: 1}, {"game": HUGE}, np.zeros(3)]
    for options in wrong:
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


@pytest.mark.parametrize("maker", ["make", "raw_env", "parallel_env"])
def test_agents_that_do_not_exist(maker: str) -> None:
    env = MAKERS[maker](years=1)
    env.reset(seed=1)
    ask = [env.observation_space, env.action_space, *([env.observe] if maker != "parallel_env" else [])]
    for door in ask:
        for value in [*ODD, "MEDIATOR", "france", ["FRANCE"], np.array(["FRANCE"] * 2)]:
            with pytest.raises(ActionError, match="agent="):
                door(value)


def test_actions_for_nobody() -> None:
    env = welfare_env.parallel_env(years=1)
    env.reset()
    for actions in [*ODD[:7], {HUGE: 0}, {5: 0}, {"MEDIATOR": 0}, {None: 0}]:
        with pytest.raises(ActionError):
            env.step(actions)


BEFORE: dict[str, Callable[[Any], Any]] = {
    "step": lambda env: env.step({}),
    "observe": lambda env: env.observe("FRANCE"),
    "last": lambda env: env.last(),
    "state": lambda env: env.state(),
    "render": lambda env: env.render(),
    "agent_iter": lambda env: env.agent_iter(),
}


@pytest.mark.parametrize("maker", ["make", "raw_env", "parallel_env"])
@pytest.mark.parametrize("door", BEFORE)
def test_before_reset(maker: str, door: str) -> None:
    env = MAKERS[maker](years=1)
    if hasattr(env, door):
        with pytest.raises(GameOverError, match="reset"):
            BEFORE[door](env)


@pytest.mark.parametrize("maker", ["make", "raw_env"])
def test_after_the_end(maker: str) -> None:
    env = MAKERS[maker]("clique:2", years=1, press=None, max_cycles=1)
    env.reset(seed=0)
    for _ in env.agent_iter(100):
        _, _, terminated, truncated, info = env.last()
        env.step(None if terminated or truncated else info["view"].encode_orders([]))
    for door in (env.last, lambda: env.step(None)):
        with pytest.raises(GameOverError, match="reset"):
            door()


def test_a_loop_without_a_step_is_stopped() -> None:
    env = welfare_env.make("clique:2", years=1)
    env.reset()
    agents = iter(env.agent_iter())
    next(agents)
    with pytest.raises(AssertionError, match="need to call step"):  # PettingZoo's own
        next(agents)


OBSERVED = [
    ([0], [0, 1], None),
    ("x", [0], None),
    ([0], None, None),
    (0, 0, None),
    ([0.0], [0], None),
    ([5], [0], None),
    ([0], [7], None),
    ([HUGE], [0], None),
    ([0], [0], []),
    ([0], [0], np.zeros(3, np.float32)),
    ([0], [0], np.broadcast_to(np.float32(0), (1, 75, 63))),
    ([0], [0], np.zeros((1, 75, 63), ">f4")),
    ([0], [0], np.zeros((1, 75, 126), np.float32)[:, :, ::2]),
]


@pytest.mark.parametrize(("which", "who", "out"), OBSERVED, ids=range(len(OBSERVED)))
def test_observations_of_nothing(which: Any, who: Any, out: Any) -> None:
    games = welfare_env.vector_env(2, years=1)
    with pytest.raises(ActionError, match="reset"):
        games.observe([0], [0])
    games.reset()
    with pytest.raises(ActionError):
        games.observe(which, who, out)


def test_states_and_widths_that_do_not_exist() -> None:
    games = welfare_env.vector_env(2, years=1)
    for early in (lambda: games.state(0), lambda: games.legal):
        with pytest.raises(ActionError, match="reset"):
            early()
    games.reset()
    for value in [*ODD, 2]:
        with pytest.raises(ActionError, match="game="):
            games.state(value)  # type: ignore[arg-type]
    for value in [*ODD, 10**9]:
        if value is not None:
            with pytest.raises(ActionError, match="width="):
                games.legal.padded(value)  # type: ignore[arg-type]


def test_views_encode_lists_only() -> None:
    view = Game().view("FRANCE")
    for orders in ("A PAR H", 5, None, [5], {"A PAR": "H"}):
        with pytest.raises(ActionError, match="list of strings"):
            view.encode_orders(orders)  # type: ignore[arg-type]
    for messages in ("ab", 5, None, [5], ["ab"], [("GERMANY", 5)], {"GERMANY": "a"}):
        with pytest.raises(ActionError, match="list of"):
            view.encode_messages(messages)  # type: ignore[arg-type]
    assert view.encode_orders(order for order in ["A PAR H"]) == {"orders": ["A PAR H"], "messages": {}}  # type: ignore[arg-type]


def test_a_map_that_has_changed_since_does_not_change_the_game(tmp_path: Any) -> None:
    from welfare_env.board.toy_boards import toy_map

    file = tmp_path / "mine.map"
    file.write_text(toy_map("clique:3"))
    env = welfare_env.parallel_env(str(file), years=1, press=None)
    file.write_text(toy_map("clique:4"))
    env.reset()
    assert env.game.board is env.board
    file.unlink()
    env.reset()
    assert env.game.board is env.board
