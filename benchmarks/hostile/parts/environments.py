"""Environments: their options, and calls with odd values, shapes and types, in any sequence.

An environment begins each input in a position of its own, so that a fault can be had again by its number. After a
refusal nothing may have changed; after an answer the position has to be possible. Arrays that a kernel should not have
trusted may end the process, which ends the fuzzer, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import welfare_env
from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import NASTY, junk, mangled, pick
from welfare_env import Game, Rules
from welfare_env.engine import UNITS
from welfare_env.envs.vector import VectorEnv
from welfare_env.errors import ActionError, GameOverError, OrderError, PressError, RulesError, UnknownMapError

Call = tuple[Any, ...]
HUGE = "<huge>"  # stands for a number that Python refuses to print, also in the report of a fault
LARGE = (2**31, 2**32 + 1, -(2**63), 2**64, 10**9)
DTYPES = ("i1", "i4", "i8", "u8", "f4", "f8", "?", "O", "U3", "M8[s]", "m8[s]", "c8", ">i4", "S2")
MAPS = ("standard", "clique:2", "clique:4", "modern", "", "clique:", "clique:99", "nowhere.map", "../x.map", "\0.map")
OPTIONS: dict[str, tuple[Any, ...]] = {
    "variant": ("welfare", "standard"),
    "press": (None, "tokens", "text"),
    "years": (1, 3, 10, 1000),
    "message_rounds": (0, 1, 3, 100),
    "engine": ("fast", "reference"),
    "strict": (True, False),
    "max_cycles": (None, 1, 5),
    "render_mode": (None, "ansi", "human"),
    "rules": (None, Rules(years=2), Rules("standard", press=None)),
}
RULES: dict[str, tuple[Any, ...]] = {
    "scoring": (None, "welfare", "sum-of-squares", "draw-size", "concave"),
    "progressive": (None, (1,), [1, 2, 3], [0] * 10, ("1",), [1.5] * 10, [-1] * 10, [10**9] * 10),
    "transfers": (True, False),
    "overmilitarise": (True, False),
    "retreat_welfare": (True, False),
    "mediator": (True, False),
    "build_and_disband": (True, False),
} | {name: OPTIONS[name] for name in ("variant", "press", "years", "message_rounds")}


def _one_of(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _array(rng: np.random.Generator) -> np.ndarray:
    shape = tuple(int(n) for n in rng.integers(0, 5, rng.integers(0, 4)))
    return rng.integers(-3, 40, shape).astype(_one_of(rng, DTYPES))


def _odd(rng: np.random.Generator, proper: Any = None) -> Any:
    """Anything; a mangled form of what would be right, where that is a text."""
    if isinstance(proper, str) and rng.random() < 0.5:
        return mangled(rng, proper)
    match int(rng.integers(6)):
        case 0:
            return _array(rng)
        case 1:
            return (
                int(rng.integers(-3, 70))
                if rng.random() < 0.5
                else _one_of(rng, (2**31, 2**32 + 1, -(2**63), 2**64, 10**9))
            )
        case 2:
            return pick(rng, NASTY)
        case 3:
            return HUGE
        case _:
            return junk(rng)


def _meant(value: Any) -> Any:
    """The number that HUGE stands for, also in a list or a dict."""
    if isinstance(value, str):
        return 10**5000 if value == HUGE else value
    if isinstance(value, dict):
        return {key: _meant(held) for key, held in value.items()}
    return [_meant(held) for held in value] if isinstance(value, list) else value


@functools.cache
def _warm_up() -> None:
    """What takes seconds once, before anything is timed: maps are read, compiled code is loaded."""
    for name in ("standard", "clique:2", "clique:4", "modern"):
        for engine in OPTIONS["engine"]:
            welfare_env.make(name, engine=engine).reset()
    games = welfare_env.vector_env(2, "clique:2", threads=2)
    games.reset()
    games.step(games.sample())
    games.observe(np.array([0]), np.array([0]))


# Making.


def _options(rng: np.random.Generator, known: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
    chosen = {name: _one_of(rng, known[name]) for name in known if rng.random() < 0.4}
    for name in known:
        if rng.random() < 0.15:
            chosen[name] = _odd(rng, _one_of(rng, known[name]))
    return chosen


def _rules(given: dict[str, Any]) -> None:
    rules = Rules(**_meant(given))
    if Rules.from_dict(rules.to_dict()) != rules:
        raise Broken("its dict gives other rules")


def _make_options(rng: np.random.Generator) -> Call:
    _warm_up()
    maker = pick(rng, ("make", "raw_env", "parallel_env"))
    name = _one_of(rng, MAPS) if rng.random() < 0.2 else "clique:2"
    return maker, name if rng.random() < 0.9 else _odd(rng, name), _options(rng, OPTIONS)


def _make(given: Call) -> None:
    maker, name, options = given
    env = getattr(welfare_env, maker)(_meant(name), **_meant(options))
    if env.unwrapped.board.name != name:
        raise Broken("another board")


def _many_options(rng: np.random.Generator) -> dict[str, Any]:
    _warm_up()
    known = {"years": OPTIONS["years"], "variant": OPTIONS["variant"], "threads": (1, 2, 256), "num_games": (1, 2, 7)}
    return {"num_games": 2, "map_name": "clique:2"} | _options(rng, known)


def _make_many(given: dict[str, Any]) -> None:
    games = welfare_env.vector_env(**_meant(given))
    if games.num_games <= 5000:
        games.reset()
        games.step(games.sample())


# Calls of environments of one game.


@functools.cache
def _games(rules: Rules) -> list[Game]:
    """Games in the first phases of a random game."""
    rng, game, found = np.random.default_rng(1), Game("clique:4", rules), []
    while not game.is_done:
        found.append(game.branch())
        for power in game.powers:
            orders = [pick(rng, listed) for listed in game.legal_orders(power).values()]
            game.submit(power, orders, strict=False)
        game.advance()
    return found


@functools.cache
def _environment(maker: str, press: str | None, strict: bool) -> Any:
    return getattr(welfare_env, maker)(
        "clique:4", Rules(years=2, press=press, message_rounds=2), strict=strict, render_mode="ansi"
    )


def _text(rng: np.random.Generator, game: Game) -> str:
    listed = [order for orders in game.legal_orders(_one_of(rng, game.powers)).values() for order in orders]
    return mangled(rng, pick(rng, listed), 1) if listed else "WAIVE"


def _orders(rng: np.random.Generator, game: Game, slots: int) -> Any:
    match int(rng.integers(5)):
        case 0:
            return [_text(rng, game) for _ in range(int(rng.integers(4)))]
        case 1:
            return int(rng.integers(-2, len(game.board.orders) + 2))
        case 2:
            return rng.integers(-1, 9, slots).astype(_one_of(rng, DTYPES[:4]))
        case 3:
            return [_odd(rng, "WAIVE") for _ in range(int(rng.integers(4)))]
        case _:
            return _odd(rng)


def _action(rng: np.random.Generator, game: Game, slots: int) -> Any:
    if game.rules.press is None or rng.random() < 0.1:
        return _orders(rng, game, slots)
    names = (*game.powers, "GLOBAL", "MEDIATOR", "", "PLAYERZ")
    said = {
        pick(rng, names): _odd(rng, "a word") if rng.random() < 0.7 else "Peace." for _ in range(int(rng.integers(3)))
    }
    action = {"orders": _orders(rng, game, slots), "messages": said if rng.random() < 0.9 else _odd(rng)}
    if rng.random() < 0.1:
        action[pick(rng, ("order", "message", ""))] = 0
    return action


def _calls(rng: np.random.Generator, maker: str) -> Call:
    """Which environment, the position it begins in, and some calls."""
    _warm_up()
    which = maker, _one_of(rng, OPTIONS["press"]), bool(rng.random() < 0.5)
    env = _environment(*which)
    games = _games(env.unwrapped.rules)
    at = int(rng.integers(len(games)))
    calls = []
    for _ in range(int(rng.integers(1, 5))):
        action = _action(rng, games[at], 10 if maker != "parallel_env" else env._shape[0])
        if maker == "parallel_env":
            action = (
                {pick(rng, (*games[at].powers, "X")): action, games[at].powers[0]: 0} if rng.random() < 0.9 else action
            )
        agent = pick(rng, games[at].powers)
        agent = agent if rng.random() < 0.3 else _odd(rng, agent)
        calls.append(
            _one_of(
                rng,
                (
                    *[("step", action)] * 6,
                    ("observe", agent),
                    ("action_space", agent),
                    ("observation_space", agent),
                    ("reset", _odd(rng), None),
                    ("reset", 1, _odd(rng)),
                    ("reset", None, {pick(rng, ("game", "Game", "")): _odd(rng)}),
                    ("last",),
                    ("state",),
                    ("render",),
                ),
            )
        )
    return which, at, calls


def _shows(env: Any) -> tuple[Any, ...]:
    """All that a refused call may not change."""
    game, bare = env.unwrapped.game, env.unwrapped
    orders = [game.orders(power) for power in game.powers]
    told = [getattr(bare, name, None) for name in ("_turns", "_round", "_cycles", "agents", "_refused", "rewards")]
    return game.position, orders, game.messages, game.pending_void, len(game.history), [str(value) for value in told]


def _play(given: Call) -> None:
    which, at, calls = given
    env = _environment(*which)
    env.reset(seed=1, options={"game": _games(env.unwrapped.rules)[at]})
    for name, *arguments in calls:
        if not hasattr(env, name):
            continue
        before = _shows(env)
        try:
            getattr(env, name)(*map(_meant, arguments))
        except (ActionError, GameOverError, OrderError, PressError, RulesError):
            if _shows(env) != before:
                raise Broken(f"{name} was refused, and something has changed") from None
            if name == calls[-1][0]:
                raise


# Calls of many games.


@functools.cache
def _many(threads: int, variant: str) -> VectorEnv:
    return welfare_env.vector_env(3, "clique:4", years=1, variant=variant, threads=threads)


def _choices(rng: np.random.Generator, rows: int) -> Any:
    match int(rng.integers(4)):
        case 0:
            return rng.integers(-(2**62), 2**62, rows).astype(_one_of(rng, DTYPES[:4]))
        case 1:
            return rng.integers(-2, 9, rows + int(rng.integers(-1, 2))).astype(_one_of(rng, DTYPES))
        case 2:
            return rng.integers(-2, 9, rows).tolist()
        case _:
            return _odd(rng)


def _indices(rng: np.random.Generator) -> Any:
    return rng.integers(-1, 5, int(rng.integers(4))) if rng.random() < 0.6 else _odd(rng)


def _out(rng: np.random.Generator, games: VectorEnv) -> Any:
    if rng.random() < 0.5:
        return None
    shape = (int(rng.integers(3)), len(games.board.provinces), 5 * len(games.board.powers) + 28)
    out = np.zeros(shape, pick(rng, ("f4", "f8", ">f4", "i4")))
    return _one_of(
        rng, (out, out[:, ::-1], out.T, np.asfortranarray(out), np.broadcast_to(np.float32(0), shape), _odd(rng))
    )


def _many_calls(rng: np.random.Generator) -> Call:
    _warm_up()
    which = int(rng.integers(1, 3)), _one_of(rng, OPTIONS["variant"])
    games = _many(*which)
    calls: list[Call] = []
    for _ in range(int(rng.integers(1, 6))):
        calls.append(
            _one_of(
                rng,
                (
                    *[("step", _choices(rng, 12))] * 3,
                    *[("play", _one_of(rng, (-1, 0, 1, 10**6)))] * 3,
                    ("observe", _indices(rng), _indices(rng), _out(rng, games)),
                    ("state", _odd(rng)),
                    ("write", pick(rng, ("rows", "final"))),
                    ("write", pick(rng, ("orders", "starts", "games", "powers", "slots"))),
                    ("reset", _odd(rng)),
                ),
            )
        )
    return which, int(rng.integers(100)), calls


def _write(games: VectorEnv, name: str) -> None:
    """Overwrite an array that was handed out."""
    array = getattr(games if name in ("rows", "final") else games.legal, name)
    try:
        array[...] = 10**6
    except ValueError:
        return
    raise Broken(f"{name} can be written to")


def _play_many(given: Call) -> None:
    which, seed, calls = given
    games = _many(*which)
    games.reset(seed)
    extra: dict[str, Callable[..., Any]] = {
        "write": lambda name: _write(games, name),
        "play": lambda choice: games.step(np.full(len(games.legal), choice)),
    }
    for name, *arguments in calls:
        before = games.rows.copy(), games.legal.orders.copy()
        try:
            (extra.get(name) or getattr(games, name))(*map(_meant, arguments))
        except (ActionError, RulesError):
            if not all(map(np.array_equal, before, (games.rows, games.legal.orders))):
                raise Broken(f"{name} was refused, and something has changed") from None
            if name == calls[-1][0]:
                raise
        if not 0 <= games.rows[:, UNITS].min() <= games.rows[:, UNITS].max() <= len(games.board.provinces):
            raise Broken("impossible numbers of units")


STEP = (ActionError, GameOverError, OrderError, PressError, RulesError)
DOORS = [
    Door("Rules", lambda rng: _options(rng, RULES), _rules, (RulesError,), 60_000),
    Door("make", _make_options, _make, (RulesError, UnknownMapError), 40_000),
    Door("vector_env", _many_options, _make_many, (RulesError,), 30_000),
    Door("AEC calls", lambda rng: _calls(rng, pick(rng, ("make", "raw_env"))), _play, STEP, 40_000),
    Door("parallel calls", lambda rng: _calls(rng, "parallel_env"), _play, STEP, 30_000),
    Door("VectorEnv calls", _many_calls, _play_many, (ActionError, RulesError), 50_000),
]
