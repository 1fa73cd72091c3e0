"""Every public function and method, called with odd values: it answers or raises one of our errors, in bounded time."""

import inspect
import itertools
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import modal_env
from modal_env import best_replies
from modal_env.errors import ModalError
from modal_env.games.payoffs import PAYOFFS

loop: list[Any] = []
loop.append(loop)
circle: dict[str, Any] = {}
circle["FB"] = circle
deep: list[Any] = []
for _ in range(3000):
    deep = [deep]

ODD: list[Callable[[], Any]] = [  # made anew for every call
    *(
        lambda value=value: value  # type: ignore[misc]
        for value in (
            None, True, 0, -1, 3, 10**400, -(10**5000), 0.5, float("nan"), float("inf"), -1e308, 1e308, 1e-320, 1j,
            "", "FB", "fairbot", "Nobody", "[]X(me)", "X(", "[]" * 600 + "X(me)", "9" * 5000, "1e99999999", "\ud800",
            b"FB", "\x00", Fraction(1, 3), Fraction(1, 10**500), loop, circle, deep, object(), Ellipsis,
            lambda *given: None, [], {}, set(), (), [[]], [None],
            ["FB", "DB"], ["FB", "FB"], [1, 0, 0, 0], [Fraction(1, 4)] * 4,
            {"FB": 1}, {"FB": "1/2", "DB": float("nan")}, {3: 4}, {"CC": 2}, frozenset({"FB"}), range(10**9),
            np.array(2), np.array([]), np.nan, np.float32(0.25), np.int8(3), np.zeros((2, 2)), np.array(["FB", None]),
            np.datetime64("2026-01-01"), np.random.default_rng(0), modal_env.FairBot, PAYOFFS, slice(None), [0, 3],
        )
    ),
    lambda: itertools.count(),
    lambda: itertools.repeat("FB"),
    lambda: iter(["FB", "DB"]),
]  # fmt: skip
POST = modal_env.POST
GOOD: dict[str, Any] = {  # parameter -> a value that most functions take
    "agents": POST, "opponents": ["FB"], "deviants": ["FB"], "given": POST, "players": 2, "a": "FB", "b": "PB",
    "epsilon": "1/10", "mix": [0, 1, 0, 0], "against": "DB", "shares": [0, 0, 1, 0], "start": [0.25] * 4, "time": 5.0,
    "steps": 50, "max_runs": 20, "starts": 20, "size": 8, "counts": [1, 1, 1, 1], "text": "[]X(me)", "k": 3,
    "action": 1, "actions": "library", "num_games": 2, "agent": "player_0", "seed": 0,
    "name": "FairBot", "depth": 1, "calls": [], "worlds": 3, "moves": "CC", "rng": np.random.default_rng(0),
}  # fmt: skip


@cache
def targets() -> dict[str, Callable[..., Any]]:
    """Name -> a public function, class or method."""
    env, parallel = modal_env.make(), modal_env.parallel_env(actions="tokens")
    texts, games = modal_env.make(actions="formula", render_mode="ansi"), modal_env.vector_env(2)
    for one in (env, parallel, texts, games):
        one.reset(seed=0)
    game = modal_env.ProgramGame(POST, "1/10")
    found = modal_env.ranges(POST)
    path = modal_env.replicator(game, [0.25] * 4, 5.0)
    objects = {
        "agent": modal_env.FairBot, "game": game, "tournament": modal_env.tournament(POST), "env": env,
        "play": modal_env.play("FB", "PB"), "equilibrium": modal_env.equilibria(POST, "1/10")[0], "texts": texts,
        "ranges": found, "family": found.families[1], "interval": found.families[1].interval, "parallel": parallel,
        "path": path, "growth": modal_env.growth(game, [1, 1, 1, 1], 50), "basins": modal_env.basins(game, 20),
        "stability": modal_env.jacobian(game, {"DB": 1}), "shares": modal_env.rare_mutations(game, 8), "games": games,
        "payoffs": PAYOFFS,
    }  # fmt: skip
    places = {"modal_env": modal_env, "library": modal_env.library, "best_replies": best_replies, **objects}
    listed = {f"{place}.{name}": getattr(thing, name) for place, thing in places.items() for name in names(thing)}
    errors = {name for name, one in listed.items() if inspect.isclass(one) and issubclass(one, BaseException)}
    return {name: one for name, one in listed.items() if callable(one) and name not in errors}


def names(thing: Any) -> list[str]:
    """The public names of a module, or of an object without what it has from other libraries."""
    if inspect.ismodule(thing):
        return list(getattr(thing, "__all__", ["WaitFairBot", "ConFairBot", "ToughButFairBot"]))
    own = [kind for kind in type(thing).__mro__ if kind.__module__.startswith("modal_env")]
    return sorted({name for kind in own for name in vars(kind) if not name.startswith("_")})


@st.composite
def hostile_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A function, and its arguments: most of them good, one at least odd."""
    name = draw(st.sampled_from(sorted(targets())))
    parameters = list(inspect.signature(targets()[name]).parameters.values())
    wanted = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    odd = draw(st.sampled_from(wanted)).name if wanted else ""
    given = {}
    for one in wanted:
        if one.name == odd or (one.default is one.empty and one.name not in GOOD) or draw(st.integers(0, 9)) == 0:
            given[one.name] = draw(st.integers(0, len(ODD) - 1))
        elif one.default is one.empty:
            given[one.name] = None
    return name, given


def called(call: tuple[str, dict[str, Any]]) -> None:
    name, given = call
    values = {key: GOOD[key] if number is None else ODD[number]() for key, number in given.items()}
    with suppress(ModalError):
        targets()[name](**values)


@given(hostile_calls())
@settings(max_examples=120, suppress_health_check=list(HealthCheck), deadline=20_000)
def test_odd_values_are_refused_by_our_own_errors(call: tuple[str, dict[str, Any]]) -> None:
    called(call)


@pytest.mark.slow
@given(hostile_calls())
@settings(max_examples=5000, suppress_health_check=list(HealthCheck), deadline=20_000)
def test_five_thousand_odd_calls(call: tuple[str, dict[str, Any]]) -> None:
    called(call)
