"""The common arguments of all environments, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.engine.engines import DEFAULT_ENGINE
from welfare_env.errors import RulesError
from welfare_env.game.game import Game
from welfare_env.game.position import Position
from welfare_env.game.press import players
from welfare_env.rules import VARIANTS, Rules

CONFORMANCE_OPTION = "options"  # a reset option that PettingZoo's conformance tests use
OPTIONS = ("game", CONFORMANCE_OPTION)
RENDER_MODES = ("human", "ansi", "svg", "rgb_array")
UNSET: Any = type("Unset", (), {"__repr__": lambda self: "(from rules)"})()


@dataclass(frozen=True)
class EnvSettings:
    """The game and the options of an environment (see `welfare_env.make`).

    Attributes:
        opening: a game without orders; all games of the environment begin as branches of it.
    """

    opening: Game
    strict: bool
    max_cycles: int | None
    render_mode: str | None
    infos: bool = True
    flat: bool = False

    @property
    def board(self) -> Board:
        return self.opening.board

    @property
    def rules(self) -> Rules:
        return self.opening.rules

    def new_game(self, options: Mapping[str, Any] | None = None) -> Game:
        """A game from the opening, or from the position of ``options["game"]``.

        Raises:
            RulesError: that game has another board or other rules, or is over; or an unknown option.
        """
        if options is not None and not isinstance(options, Mapping):
            raise RulesError(f"options={checks.quoted(options)}: give a dict, {{'game': game}}, or None")
        for name in options or {}:
            checks.choice("an option of reset", name, OPTIONS)
        given = (options or {}).get("game")
        return (self.opening if given is None else self._checked(given)).branch()

    def _checked(self, game: Any) -> Game:
        """Check that games of the environment can begin in the position of this game.

        Raises:
            RulesError: as `new_game`.
        """
        board = self.board
        if not isinstance(game, Game):
            raise RulesError(f"options['game'] is {checks.quoted(game)}: give a Game")
        if (game.board.name, game.board.digest, game.rules) != (board.name, board.digest, self.rules):
            raise RulesError(
                f"options['game'] is {game!r} with {game.rules}: give a game on {board.name} with {self.rules}"
            )
        if game.is_done:
            raise RulesError(f"options['game'] is {game!r}: give a game that is not over")
        return game

    def rewards(self, position: Position, welfare_before: np.ndarray) -> dict[str, float]:
        """Every player's reward for the phase that led to a position."""
        if self.rules.is_welfare:
            gains = (position.state.welfare - welfare_before).tolist()
        else:
            gains = list(position.scores.values()) if position.state.done else [0.0] * len(self.board.powers)
        paid = dict(zip(self.board.powers, map(float, gains), strict=True))
        return {player: paid.get(player, sum(paid.values())) for player in players(self.board, self.rules)}


class Options(TypedDict, total=False):
    """The options of `make_setting` by name, for type checkers."""

    press: str | None
    message_rounds: int
    years: int
    variant: str
    engine: str
    strict: bool
    max_cycles: int | None
    infos: bool
    flat: bool
    render_mode: str | None


def make_setting(
    map_name: str | Board = "standard",
    rules: Rules | None = None,
    *,
    press: str | None = UNSET,
    message_rounds: int = UNSET,
    years: int = UNSET,
    variant: str = UNSET,
    engine: str = DEFAULT_ENGINE,
    strict: bool = False,
    max_cycles: int | None = None,
    infos: bool = True,
    flat: bool = False,
    render_mode: str | None = None,
) -> EnvSettings:
    """Check the arguments of `welfare_env.make`.

    Raises:
        RulesError: an invalid or conflicting option.
        UnknownMapError, MapFormatError: no such map, or a damaged map file.
    """
    given = {"press": press, "message_rounds": message_rounds, "years": years, "variant": variant}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not UNSET}
    base = Rules() if rules is None else rules
    if not isinstance(base, Rules):
        raise RulesError(f"rules={checks.quoted(rules)}: give welfare_env.Rules(...)")
    if variant is not UNSET and checks.choice("variant", variant, VARIANTS) != base.variant:
        changes["scoring"] = None  # the default of the other variant
    checks.choice("render_mode", render_mode, (None, *RENDER_MODES))
    for name, value in (("strict", strict), ("infos", infos), ("flat", flat)):
        checks.choice(name, value, (True, False))
    most = None if max_cycles is None else checks.whole("max_cycles", max_cycles, 1)
    return EnvSettings(Game(map_name, replace(base, **changes), engine), strict, most, render_mode, infos, flat)
