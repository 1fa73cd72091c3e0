"""Programs of modal combat: formulas as people write them, games and environments with odd arguments."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np

import modal_env
from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import NASTY, junk, mangled, nested, nonsense, pick
from modal_env import LIBRARY, POST, Game
from modal_env.cli.plots import shares_over_time
from modal_env.dynamics.populations import payoffs_of
from modal_env.envs.action_modes import ContestTurn
from modal_env.errors import FormulaError, GameError, ModalError

FORMULAS = (
    *(agent.text for agent in LIBRARY.values()),
    *(agent.unicode for agent in LIBRARY.values()),
    "⌜□(Them(Me)=C ∧ ¬◇Me(Them)=D)⌝",
    "[3]b & <2>~a || false",
    "box X(me)",
    r"[]X(FB) /\ <>X(DB) \/ T",
    "Them(Me) => F",
    "[]⌜X(me)⌝",
    "~~~[][]X(NiceBot)",
    "[]X(H) <-> []X(h2)",
)
WORDS = (
    "[]",
    "<>",
    "□",
    "◇",
    "[2]",
    "<3>",
    "[",
    "]",
    "X",
    "Them",
    "me",
    "Me",
    "X(me)",
    "X(FB)",
    "X(PrudentBot)",
    "a",
    "b",
    "coin",
    "T",
    "F",
    "true",
    "⊥",
    "⊤",
    "~",
    "¬",
    "!",
    "&",
    "&&",
    "∧",
    "|",
    "∨",
    "->",
    "→",
    "=>",
    "<->",
    "(",
    ")",
    "⌜",
    "⌝",
    "=C",
    "=D",
    "[99999]",
)
BRACKETS = (
    ("[]", ""),
    ("(", ")"),
    ("~", ""),
    ("<>", ""),
    ("[](", ")"),
    ("⌜", "⌝"),
    ("[1]", ""),
    ("(true & ", ")"),
    ("[ ", ""),
    ("<", ""),
)
HELPERS = {"H": "[]X(me)", "h2": "~[]X(H)"}
GAME = Game(POST, "1/10")
NAMES = ("FB", "DB", "CB", "PB", "JustBot", "RandomBot", "[]X(me) & []X(DB)", "Nobody", "\uff26\uff22", "fairbot ", "")
NUMBERS = (
    0,
    1,
    "1/10",
    "0.3",
    1e-9,
    0.25,
    "1/3",
    -1,
    "1e-31",
    "1e7",
    "-0",
    "1_0",
    "٣",
    "1/0",
    10**400,
    2.0**-1074,
    "9" * 5000,
    "1e٩٩٩٩",
)


def _text(rng: np.random.Generator) -> str:
    kind = rng.random()
    if kind < 0.6:
        return mangled(rng, pick(rng, FORMULAS))
    if kind < 0.9:
        return nonsense(rng, WORDS, 30)
    opening, closing = BRACKETS[int(rng.integers(len(BRACKETS)))]
    return nested(rng, opening, closing, pick(rng, ("X(me)", "true", "", "X(FB)", "me")))[:120_000]


def _parse(text: str) -> None:
    """What parses can be printed, read again, pickled and played, also by a deep one against itself."""
    agent = modal_env.parse(text, helpers=HELPERS)
    if len(agent.text) < 5000 and modal_env.parse(agent.text, helpers=HELPERS) != agent:
        raise Broken("its text is another agent")
    if pickle.loads(pickle.dumps(agent)) != agent or hash(agent) != hash(agent.renamed("Other")):  # noqa: S301
        raise Broken("it does not survive pickling")
    modal_env.play(agent, POST[2])
    modal_env.play(agent, agent)


def _system(rng: np.random.Generator) -> dict[str, str]:
    letters = ("p", "q", "r", pick(rng, NASTY))[: int(rng.integers(1, 5))]
    bodies = ("[]p", "[][]p -> [](p -> []~p)", "~[]q & <>p", "[3]q <-> []p", "p", "[]me")
    return {letter: mangled(rng, pick(rng, bodies)) for letter in letters}


def _given(rng: np.random.Generator) -> Any:
    """An argument: odd, or fitting somewhere."""
    kind = rng.random()
    if kind < 0.4:
        return junk(rng)
    if kind < 0.6:
        return NUMBERS[int(rng.integers(len(NUMBERS)))]
    if kind < 0.8:
        return [pick(rng, NAMES) for _ in range(int(rng.integers(4)))]
    if kind < 0.9:
        return [NUMBERS[int(rng.integers(len(NUMBERS)))] for _ in range(int(rng.integers(6)))]
    return {pick(rng, NAMES): NUMBERS[int(rng.integers(len(NUMBERS)))] for _ in range(int(rng.integers(4)))}


def _arguments(rng: np.random.Generator) -> tuple[int, list[Any]]:
    return int(rng.integers(len(CALLS))), [_given(rng) for _ in range(3)]


CALLS = (
    lambda a, b, c: modal_env.play(a, b, c),
    lambda a, b, c: modal_env.tournament(a),
    lambda a, b, c: Game(a, b, c),
    lambda a, b, c: Game(a, b).utilities,
    lambda a, b, c: Game(POST, a, payoffs=b),
    lambda a, b, c: GAME.mix(a),
    lambda a, b, c: GAME.best_replies(a),
    lambda a, b, c: modal_env.exploitability(GAME, a, b),
    lambda a, b, c: modal_env.equilibria(a, b),
    lambda a, b, c: modal_env.survives(a, b, c, "1/10"),
    lambda a, b, c: modal_env.growth(GAME, a, b),
    lambda a, b, c: modal_env.growth(a, b, 10),
    lambda a, b, c: modal_env.basins(GAME, 5, a, tolerance=b),
    lambda a, b, c: modal_env.basins(GAME, 5, time=1 if isinstance(a, float | int) else a),
    lambda a, b, c: modal_env.replies(a, b, depth=1),
    lambda a, b, c: modal_env.replicator(GAME, a, 1, times=b),
    lambda a, b, c: payoffs_of([a, b, c]),
    lambda a, b, c: modal_env.WaitFairBot(a if not isinstance(a, int) or abs(a) < 10**400 else 0),
)


def _call(given: tuple[int, list[Any]]) -> None:
    number, arguments = given
    CALLS[number](*arguments)


def _setting(rng: np.random.Generator) -> dict[str, Any]:
    names = ("epsilon", "actions", "agents", "rounds", "players", "cost", "budget", "strict", "render_mode")
    fitting = {
        "actions": ("library", "formula", "tokens"),
        "cost": ("depth", "size", "worlds"),
        "render_mode": ("ansi", None),
    }
    chosen = {name: _given(rng) for name in names if rng.random() < 0.25}
    return {**{name: values[int(rng.integers(len(values)))] for name, values in fitting.items()}, **chosen}


def _make(options: dict[str, Any]) -> None:
    for make in (modal_env.make, modal_env.parallel_env):
        make(**options).reset(seed=0)


ENVIRONMENTS = {
    actions: modal_env.make(actions=actions, epsilon=0.1, rounds=3, budget=None if actions == "library" else 60)
    for actions in ("library", "formula", "tokens")
}


def _actions(rng: np.random.Generator) -> tuple[str, int, list[Any]]:
    mode = pick(rng, tuple(ENVIRONMENTS))
    drawn = {
        "library": lambda: int(rng.integers(-1, 5)),
        "formula": lambda: _text(rng)[:100],
        "tokens": lambda: int(rng.integers(-1, 17)),
    }[mode]
    return mode, int(rng.integers(1000)), [junk(rng) if rng.random() < 0.2 else drawn() for _ in range(12)]


def _step(given: tuple[str, int, list[Any]]) -> None:
    """Plays on; after a refusal nothing has changed."""
    mode, seed, actions = given
    env = ENVIRONMENTS[mode]
    env.reset(seed=seed)
    for action in actions:
        before = (env.agent_selection, env.unwrapped.contest.history, list(env.unwrapped.contest.turns))
        try:
            env.step(action)
        except ModalError:
            if before != (env.agent_selection, env.unwrapped.contest.history, list(env.unwrapped.contest.turns)):
                raise Broken("a refused action changed the game") from None
        env.last()
    env.render()
    if not all(isinstance(turn, ContestTurn) for turn in env.unwrapped.contest.turns):
        raise Broken("the turns are no turns")


def _named(rng: np.random.Generator) -> list[str]:
    return ["".join(pick(rng, NASTY) for _ in range(int(rng.integers(1, 4)))) or "A" for _ in range(3)]


def _draw(names: list[str]) -> None:
    """Tables and pictures of agents with any names."""
    game = Game(
        [modal_env.parse(text, name=name) for text, name in zip(("true", "false", "[]X(me)"), names, strict=True)],
        "1/10",
    )
    if not (str(game) and repr(modal_env.tournament(game.agents))):
        raise Broken("nothing is printed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matplotlib's about signs that its font lacks
        shares_over_time(modal_env.replicator(game, [0.3, 0.3, 0.4], 1.0)).draw_without_rendering()


_draw(["CooperateBot", "DefectBot", "FairBot"])  # matplotlib and scipy take seconds to load

DOORS = [
    Door("modal_env.parse", _text, _parse, (FormulaError, GameError), 150_000),
    Door("modal_env.fixed_point", _system, modal_env.fixed_point, (FormulaError,), 30_000),
    Door("modal_env functions", _arguments, _call, (ModalError,), 90_000),
    Door("modal_env.make", _setting, _make, (ModalError,), 15_000),
    Door("modal_env environments", _actions, _step, (ModalError,), 15_000),
    Door("modal_env names in pictures", _named, _draw, (ModalError,), 300),
]
