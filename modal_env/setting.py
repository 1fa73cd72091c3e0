"""The arguments that both environments share, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from modal_env.errors import GameError
from modal_env.game import Number, check_cost, check_epsilon
from modal_env.library import POST
from modal_env.modes import FormulaMode, LibraryMode, Mode, TokenMode, check_calls, find
from modal_env.syntax import MAX_NESTING, Agent
from modal_env.tokens import Vocabulary

CONFORMANCE_OPTION = "options"  # which PettingZoo's conformance tests give to every environment
RENDER_MODES = ("human", "ansi")
ACTIONS = ("library", "formula", "tokens")
BUDGETS = {"formula": 1000, "tokens": 16}
MAX_BUDGETS = {"formula": 10_000, "tokens": MAX_NESTING}


@dataclass(frozen=True)
class Setting:
    """What an environment plays and how it behaves at its edges; see `modal_env.make` for each."""

    epsilon: Fraction
    actions: str
    agents: tuple[Agent, ...]
    rounds: int
    players: int
    cost: str
    budget: int | None
    strict: bool
    render_mode: str | None

    @property
    def names(self) -> list[str]:
        """The players: "player_0", "player_1", ..."""
        return [f"player_{number}" for number in range(self.players)]

    def mode(self) -> Mode:
        """How programs are chosen."""
        if self.budget is None:
            return LibraryMode(self.agents)
        return (FormulaMode if self.actions == "formula" else TokenMode)(self.agents, self.budget)


def make_setting(
    epsilon: Number = 0.01,
    *,
    actions: str = "library",
    agents: Iterable[Agent | str] = POST,
    rounds: int = 1,
    players: int = 2,
    cost: str = "depth",
    budget: int | None = None,
    strict: bool = False,
    render_mode: str | None = None,
) -> Setting:
    """Check the arguments of `modal_env.make`.

    Raises:
        GameError, FormulaError: as their names say.
    """
    if actions not in ACTIONS:
        raise GameError(f"actions={actions!r:.80}: choose one of {', '.join(map(repr, ACTIONS))}")
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise GameError(f"render_mode={render_mode!r:.80}: choose None or one of {', '.join(map(repr, RENDER_MODES))}")
    check_whole("rounds", rounds, 1)
    check_whole("players", players, 2)
    if players % 2:
        raise GameError(f"players={players}: give an even number, they play in pairs")
    if not isinstance(strict, bool):
        raise GameError(f"strict={strict!r:.80}: give True or False")
    return Setting(
        check_epsilon(epsilon),
        actions,
        _checked_agents(agents, actions),
        rounds,
        players,
        check_cost(cost),
        _checked_budget(budget, actions),
        strict,
        render_mode,
    )


def check_reset(seed: Any, options: Any) -> None:
    """The arguments of reset().

    Raises:
        GameError: a seed that is no whole number from 0, or an option; there are none.
    """
    is_whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0
    if seed is not None and not is_whole:
        raise GameError(f"seed={seed!r:.80}: give a whole number from 0, or None to go on without one")
    if options is not None and not isinstance(options, Mapping):
        raise GameError(f"options={options!r:.80}: there are none; leave it out")
    for name in options or {}:
        if name != CONFORMANCE_OPTION:
            raise GameError(f"options: {name!r:.80} is none, reset() has no options; leave it out")


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """That a value is a whole number within bounds.

    Raises:
        GameError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        bounds = f"from {least}" if most is None else f"from {least} to {most}"
        raise GameError(f"{name}={value!r:.80}: give a whole number {bounds}")


def _checked_agents(agents: Iterable[Agent | str], actions: str) -> tuple[Agent, ...]:
    """The agents, given as such, by name, or as text.

    Raises:
        GameError, FormulaError: as `make_setting`.
    """
    if isinstance(agents, (str, Agent)) or not isinstance(agents, Iterable):
        raise GameError(f"agents={agents!r:.80}: give a list of agents, names or formulas")
    given = tuple(agents)
    for agent in given:
        if not isinstance(agent, (Agent, str)):
            raise GameError(f"agents: {agent!r:.80} is no agent, name or formula")
    found = tuple(check_calls(agent if isinstance(agent, Agent) else find(agent)) for agent in given)
    if actions == "library" and not found:
        raise GameError("agents: give one at least for players to choose from")
    if actions != "library":
        Vocabulary(found)  # which refuses names that cannot be called, or are not all different
    return found


def _checked_budget(budget: int | None, actions: str) -> int | None:
    """The budget, by default one that fits the kind of actions; None for a library.

    Raises:
        GameError: out of bounds, or given for a library.
    """
    if actions not in BUDGETS:
        if budget is not None:
            raise GameError(f"budget={budget!r:.80}: only formulas and tokens have one; leave it out")
        return None
    if budget is not None:
        check_whole("budget", budget, 1, MAX_BUDGETS[actions])
    return BUDGETS[actions] if budget is None else budget
