"""Every public function and method, called with odd values: it answers or raises one of our errors, in bounded time;
long texts, deep ones, and huge numbers.
"""

import inspect
import itertools
import sys
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
from modal_env.errors import FormulaError, GameError, ModalError
from modal_env.games.payoffs import PAYOFFS
from modal_env.logic.notation import parse
from modal_env.logic.provability import play
from tests.modal_env.conftest import chain


class Deep(list[Any]):
    """Lists in lists, which cannot be printed."""

    def __repr__(self) -> str:
        return "Deep"


LOOP: list[Any] = []
LOOP.append(LOOP)
CIRCLE: dict[str, Any] = {}
CIRCLE["FB"] = CIRCLE
DEEP = Deep()
for _ in range(3000):
    DEEP = Deep([DEEP])

ODD_VALUES = [
    None, True, 0, -1, 3, 10**400, -(10**5000), 0.5, float("nan"), float("inf"), -1e308, 1e308, 1e-320, 1j,
    "", "FB", "fairbot", "Nobody", "[]X(me)", "X(", "[]" * 600 + "X(me)", "9" * 5000, "1e99999999", "\ud800",
    b"FB", "\x00", Fraction(1, 3), Fraction(1, 10**500), LOOP, CIRCLE, DEEP, object(), Ellipsis,
    lambda *given: None, [], {}, set(), (), [[]], [None],
    ["FB", "DB"], ["FB", "FB"], [1, 0, 0, 0], [Fraction(1, 4)] * 4,
    {"FB": 1}, {"FB": "1/2", "DB": float("nan")}, {3: 4}, {"CC": 2}, frozenset({"FB"}), range(10**9),
    np.array(2), np.array([]), np.nan, np.float32(0.25), np.int8(3), np.zeros((2, 2)), np.array(["FB", None]),
    np.datetime64("2026-01-01"), np.timedelta64(3, "s"), np.random.default_rng(0), modal_env.FairBot, PAYOFFS,
    slice(None), [0, 3], np.array([[0]], "m8[s]"),
]  # fmt: skip
ENDLESS = [itertools.count, lambda: itertools.repeat("FB"), lambda: iter(["FB", "DB"])]
ODD = st.sampled_from(ODD_VALUES) | st.sampled_from(ENDLESS).map(lambda make: make())
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
    wrong = draw(st.sampled_from(wanted)).name if wanted else ""
    values = {}
    for one in wanted:
        if one.name == wrong or (one.default is one.empty and one.name not in GOOD) or draw(st.integers(0, 9)) == 0:
            values[one.name] = draw(ODD)
        elif one.default is one.empty:
            values[one.name] = GOOD[one.name]
    return name, values


@given(hostile_calls())
@settings(max_examples=120, suppress_health_check=list(HealthCheck), deadline=20_000)
def test_odd_values_are_refused_by_our_own_errors(drawn: tuple[str, dict[str, Any]]) -> None:
    name, values = drawn
    with suppress(ModalError):
        targets()[name](**values)


@pytest.mark.parametrize(
    ("named", "call"),
    [
        ("'FairBot'", lambda: modal_env.basins(modal_env.ProgramGame(POST, "1/10"), 20).share("FairBot")),
        ("'chess'", lambda: modal_env.ProgramGame(POST, 0, payoffs="chess")),
        ("worlds=10001", lambda: modal_env.play("FB", "PB", 10_001)),
        ("seed=-1", lambda: modal_env.make().reset(seed=-1)),
        ("timedelta64", lambda: modal_env.rare_mutations(np.array([[0]], "m8[s]"), 8)),
        ("timedelta64", lambda: modal_env.replicator([[0] * 4] * 4, [0.25] * 4, np.timedelta64(3, "s"))),
    ],
)
def test_what_is_wrong_is_named(named: str, call: Callable[[], Any]) -> None:
    with pytest.raises(GameError, match=named):
        call()


# Long texts, deep ones, and huge numbers; test_formula plays the deepest formulas.


def test_long_texts_are_refused() -> None:
    """Runs of one sign took minutes where they were matched with backtracking."""
    begun = ["[" + " " * 99_000, "<" + " " * 99_000, "[" + "1" * 99_000, "[ " * 49_000]
    for text in (*begun, *(sign * 99_000 for sign in "~( ")):
        with pytest.raises(FormulaError):
            parse(text)


def test_thousands_of_helpers_that_call_each_other() -> None:
    texts = {f"H{i}": f"[]X(h{i - 1})" if i else "[]X(me)" for i in range(2000)}
    assert parse("[]X(h1999)", helpers=texts).depth == 1


def test_a_longer_chain_than_the_stack_is_deep_plays() -> None:
    agent = chain(sys.getrecursionlimit() + 100, "[]X(me)", "[](X(P) | []false)")
    assert play(agent, agent).settles >= 0
    assert modal_env.ProgramGame([agent, modal_env.FairBot], "1/1000").utilities


def test_a_play_that_depends_on_too_many_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modal_env.logic.provability.MAX_PLAYS", 1000)
    agent = chain(40, "[]X(me)", "[](X(P) & X(me))")
    with pytest.raises(GameError, match="depends on more than"):
        play(agent, agent)


@pytest.mark.parametrize(
    "wrong",
    [
        {"players": 10**30},
        {"players": 1000, "actions": "tokens", "budget": 500},
        {"rounds": 100_001},
        {"rounds": 10**5000},
        {"budget": 10**5000, "actions": "tokens"},
        {"agents": ["FB"] * 10_001},
        {"actions": np.array(["library", "x"])},
        {"cost": np.array(["depth", "x"])},
    ],
    ids=lambda wrong: "-".join(wrong),
)
def test_bounds_of_environments(wrong: dict[str, Any]) -> None:
    for make in (modal_env.make, modal_env.parallel_env):
        with pytest.raises(GameError, match=next(iter(wrong))):
            make(**wrong)


def test_the_largest_environments_are_made() -> None:
    env = modal_env.make(players=1000, rounds=100_000)
    env.reset(seed=2**128)
    assert env.observe("player_999")["observation"].shape == (1001, 3)
    assert modal_env.make(players=np.int64(2), rounds=np.int64(2)).unwrapped.setting.rounds == 2
