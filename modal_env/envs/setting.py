"""The arguments that both environments share, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from modal_env.checks import Number, brief, choice, items, seed_of, whole
from modal_env.envs.action_modes import FormulaMode, LibraryMode, Mode, TokenMode, check_calls
from modal_env.envs.tokens import Vocabulary
from modal_env.errors import GameError, ProgramActionError
from modal_env.games.costs import Cost, GivenCost, as_cost
from modal_env.games.game import GivenPayoffs, check_epsilon
from modal_env.games.payoffs import PAYOFFS, PayoffTable, as_table
from modal_env.logic.library import LIBRARY, POST
from modal_env.logic.notation import as_agents
from modal_env.logic.syntax import MAX_NESTING, Agent

CONFORMANCE_OPTION = "options"  # which PettingZoo's conformance tests pass to every environment
RENDER_MODES = ("human", "ansi")
ACTIONS = ("library", "formula", "tokens")
BUDGETS = {"formula": 1000, "tokens": 16}
MAX_BUDGETS = {"formula": 10_000, "tokens": MAX_NESTING}
MAX_ROUNDS = 100_000
MAX_PLAYERS = 1000
MAX_AGENTS = 10_000
MAX_NUMBERS = 20_000_000  # in the observations of all players in total


@dataclass(frozen=True)
class Setting:
    """The checked arguments of an environment; see `modal_env.make` for each."""

    epsilon: Fraction
    actions: str
    agents: tuple[Agent, ...]
    calls: tuple[Agent, ...]
    me: bool
    rounds: int
    players: int
    cost: str | Cost
    budget: int | None
    strict: bool
    flat: bool
    render_mode: str | None
    payoffs: PayoffTable = PAYOFFS
    infos: bool = True

    @property
    def names(self) -> list[str]:
        """The players: "player_0", "player_1", ..."""
        return [f"player_{number}" for number in range(self.players)]

    def mode(self) -> Mode:
        """The way programs are chosen."""
        if self.budget is None:
            return LibraryMode(self.agents)
        return (FormulaMode if self.actions == "formula" else TokenMode)(self.calls, self.me, self.budget)


def make_setting(
    epsilon: Number = 0.01,
    *,
    actions: str = "library",
    agents: Iterable[Agent | str] | None = None,
    calls: Iterable[Agent | str] | None = None,
    me: bool = False,
    rounds: int = 1,
    players: int = 2,
    cost: GivenCost = "depth",
    budget: int | None = None,
    strict: bool = False,
    flat: bool = False,
    infos: bool = True,
    render_mode: str | None = None,
    payoffs: GivenPayoffs = PAYOFFS,
) -> Setting:
    """Check the arguments of `modal_env.make`.

    Raises:
        GameError, FormulaError: an argument is invalid.
    """
    choice("actions", actions, ACTIONS)
    if render_mode is not None:
        choice("render_mode", render_mode, RENDER_MODES)
    for name, value in (("me", me), ("strict", strict), ("flat", flat), ("infos", infos)):
        if not isinstance(value, bool):
            raise GameError(f"{name}={brief(value)}: give True or False")
    if flat and actions == "formula":
        raise GameError("flat=True: observations of texts have no numbers; give actions='library' or 'tokens'")
    given = None if agents is None else _checked_agents("agents", agents)
    if actions == "library" and given == ():
        raise GameError("agents: give one at least for players to choose from")
    setting = Setting(
        check_epsilon(epsilon),
        actions,
        given or POST,
        _checked_calls(calls, given, actions),
        me,
        whole("rounds", rounds, 1, MAX_ROUNDS),
        whole("players", players, 2, MAX_PLAYERS),
        as_cost(cost),
        _checked_budget(budget, actions),
        strict,
        flat,
        render_mode,
        as_table(payoffs),
        infos,
    )
    _check_players(setting)
    return setting


def _check_players(setting: Setting) -> None:
    """Check that observations fit into memory.

    Raises:
        GameError: they do not.
    """
    players, mode = setting.players, setting.mode()
    one_hot = 1 + mode.largest if setting.flat else 1
    if players * (1 + players) * (2 + mode.width * one_hot + players * setting.flat) > MAX_NUMBERS:
        raise GameError(
            f"players={players}: too many for observations of {setting.budget} tokens each; give fewer of either"
        )


def check_reset(seed: Any, options: Any) -> None:
    """Check the arguments of reset().

    Raises:
        GameError: the seed is not a whole number from 0 to 2^128, or an option is given.
    """
    if seed is not None:
        seed_of(seed)
    if options is not None and not isinstance(options, Mapping):
        raise GameError(f"options={brief(options)}: reset() has no options; leave it out")
    for name in options or {}:
        if name != CONFORMANCE_OPTION:
            raise GameError(f"options: {brief(name)} is unknown: reset() has no options; leave it out")


def number_of(player: object, names: Sequence[str]) -> int:
    """The number of a player.

    Raises:
        ProgramActionError: there is no player of this name.
    """
    if not isinstance(player, str) or player not in names:
        raise ProgramActionError(f"player {brief(player)}: there are {', '.join(names):.300}")
    return names.index(player)


def _checked_agents(name: str, given: Iterable[Agent | str]) -> tuple[Agent, ...]:
    """Check the programs to choose from or the agents to call, given as objects, by name or as formulas.

    Raises:
        GameError, FormulaError: as `make_setting`.
    """
    listed = items(given, MAX_AGENTS + 1)
    if listed is None or len(listed) > MAX_AGENTS:
        raise GameError(f"{name}={brief(given)}: give a list of at most {MAX_AGENTS:,} agents, names or formulas")
    found = as_agents(listed, name) if listed else ()
    for agent in found:
        check_calls(agent)
    return found


def _checked_calls(
    calls: Iterable[Agent | str] | None, agents: tuple[Agent, ...] | None, actions: str
) -> tuple[Agent, ...]:
    """The agents that formulas may call: `calls`, else `agents` if given, else the post's four or all of the library.

    Raises:
        GameError, FormulaError: as `make_setting`.
    """
    if actions == "library":
        if calls is not None:
            raise GameError("calls: programs of a library are not written; give agents=[...]")
        return ()
    default = tuple(LIBRARY.values()) if actions == "formula" else POST
    found = (default if agents is None else agents) if calls is None else _checked_agents("calls", calls)
    Vocabulary(found)  # refuses names that cannot be called or are not all different
    return found


def _checked_budget(budget: int | None, actions: str) -> int | None:
    """Check the budget; the default depends on the kind of actions, None for a library.

    Raises:
        GameError: the budget is out of bounds, or given for a library.
    """
    if actions not in BUDGETS:
        if budget is not None:
            raise GameError(f"budget={brief(budget)}: only formulas and tokens have one; leave it out")
        return None
    if budget is not None:
        return whole("budget", budget, 1, MAX_BUDGETS[actions])
    return BUDGETS[actions]
