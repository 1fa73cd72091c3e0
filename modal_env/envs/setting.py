"""The arguments that all environments share, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from modal_env.checks import Number, brief, choice, items, whole
from modal_env.envs.action_modes import FormulaMode, LibraryMode, Mode, TokenMode, check_calls
from modal_env.envs.tokens import Vocabulary
from modal_env.errors import GameError
from modal_env.games.costs import Cost, GivenCost, as_cost
from modal_env.games.game import GivenPayoffs, check_epsilon
from modal_env.games.payoffs import PAYOFFS, PayoffTable, as_table
from modal_env.logic.library import LIBRARY, POST
from modal_env.logic.notation import MAX_AGENTS, as_agents
from modal_env.logic.syntax import MAX_NESTING, Agent

RENDER_MODES = ("human", "ansi")
ACTIONS = ("library", "formula", "tokens")
BUDGETS = {"formula": (1000, 10_000), "tokens": (16, MAX_NESTING)}  # default and maximum
MAX_ROUNDS = 100_000
MAX_PLAYERS = 1000
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
    given = None if agents is None else _checked_agents("agents", agents)
    if actions == "library":
        for name, option in (("calls", calls), ("budget", budget)):
            if option is not None:
                raise GameError(f"{name}: programs of a library are not written; give agents=[...]")
        if given == ():
            raise GameError("agents: give one at least for players to choose from")
        calls, budget = (), None
    else:
        default, most = BUDGETS[actions]
        budget = default if budget is None else whole("budget", budget, 1, most)
        if calls is None:
            everybody = tuple(LIBRARY.values()) if actions == "formula" else POST
            calls = everybody if given is None else given
        calls = _checked_agents("calls", calls)
        Vocabulary(calls)  # refuses names that cannot be called or are not all different
    if flat and actions == "formula":
        raise GameError("flat=True: observations of texts have no numbers; give actions='library' or 'tokens'")
    setting = Setting(
        check_epsilon(epsilon),
        actions,
        given or POST,
        calls,
        me,
        whole("rounds", rounds, 1, MAX_ROUNDS),
        whole("players", players, 2, MAX_PLAYERS),
        as_cost(cost),
        budget,
        strict,
        flat,
        render_mode,
        as_table(payoffs),
        infos,
    )
    _check_memory(setting)
    return setting


def _check_memory(setting: Setting) -> None:
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


def _checked_agents(name: str, given: Iterable[Agent | str]) -> tuple[Agent, ...]:
    """The programs to choose from or the agents to call; there may be none.

    Raises:
        GameError, FormulaError: as `make_setting`.
    """
    listed = items(given, MAX_AGENTS + 1)
    return () if listed == () else tuple(map(check_calls, as_agents(listed, name)))
