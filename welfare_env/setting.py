"""The arguments that all environments share, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from welfare_env.board import Board
from welfare_env.engine import DEFAULT_ENGINE, ENGINES
from welfare_env.errors import RulesError
from welfare_env.game import Game
from welfare_env.mapfile import load_board
from welfare_env.press import players
from welfare_env.rules import Rules

RENDER_MODES = ("human", "ansi")
UNSET: Any = type("Unset", (), {"__repr__": lambda self: "(from rules)"})()


@dataclass(frozen=True)
class Setting:
    """A board, rules and how an environment behaves at its edges (see `welfare_env.make`)."""

    board: Board
    rules: Rules
    engine: str
    strict: bool
    max_cycles: int | None
    render_mode: str | None

    def new_game(self, options: Mapping[str, Any] | None = None) -> Game:
        """A game from the opening, or from the position of ``options["game"]``. Other options are not looked at.

        Raises:
            RulesError: that game is on another board or has other rules.
        """
        given = (options or {}).get("game")
        if given is None:
            return Game(self.board.name, self.rules, self.engine)
        if not isinstance(given, Game) or given.board is not self.board or given.rules != self.rules:
            raise RulesError(f"options['game'] is {given!r:.80}: give a Game on {self.board.name} with {self.rules}")
        return given.branch()

    def rewards(self, game: Game, welfare_before: np.ndarray) -> dict[str, float]:
        """What every player is paid for the phase that was just played."""
        if self.rules.is_welfare:
            gains = (game.position.state.welfare - welfare_before).tolist()
        else:
            gains = list(game.scores.values()) if game.is_done else [0.0] * len(self.board.powers)
        paid = dict(zip(self.board.powers, map(float, gains), strict=True))
        return {player: paid.get(player, sum(paid.values())) for player in players(self.board, self.rules)}

    def render(self, game: Game) -> str | None:
        """The text of render_mode "ansi"; "human" prints it."""
        from welfare_env.render.ansi import render

        if self.render_mode == "ansi":
            return render(game)
        if self.render_mode == "human":
            print(render(game))
        return None


def make_setting(
    map_name: str = "standard",
    rules: Rules | None = None,
    *,
    press: Any = UNSET,
    message_rounds: Any = UNSET,
    years: Any = UNSET,
    variant: Any = UNSET,
    engine: str = DEFAULT_ENGINE,
    strict: bool = False,
    max_cycles: int | None = None,
    render_mode: str | None = None,
) -> Setting:
    """Check the arguments of `welfare_env.make`.

    Raises:
        RulesError, UnknownMapError, MapFormatError: as their names say.
    """
    given = {"press": press, "message_rounds": message_rounds, "years": years, "variant": variant}
    changes = {name: value for name, value in given.items() if value is not UNSET}
    base = Rules() if rules is None else rules
    if not isinstance(base, Rules):
        raise RulesError(f"rules={rules!r}: give welfare_env.Rules(...)")
    if changes.get("variant", base.variant) != base.variant:
        changes["scoring"] = None  # the default of the other variant
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise RulesError(f"render_mode={render_mode!r}: choose None or one of {', '.join(map(repr, RENDER_MODES))}")
    if max_cycles is not None and (isinstance(max_cycles, bool) or not isinstance(max_cycles, int) or max_cycles < 1):
        raise RulesError(f"max_cycles={max_cycles!r}: give None or a whole number from 1")
    if not isinstance(engine, str) or engine not in ENGINES:
        raise RulesError(f"engine={engine!r}: choose one of {', '.join(map(repr, ENGINES))}")
    return Setting(load_board(map_name), replace(base, **changes), engine, bool(strict), max_cycles, render_mode)
