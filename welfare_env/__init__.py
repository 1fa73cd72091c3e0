"""Welfare Diplomacy: games to play by hand, PettingZoo environments, and many games at once.

`make` builds the paper's environment, `parallel_env` its parallel form, `vector_env` many games over arrays, and `Game`
a game to play by hand.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Unpack

import gymnasium
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo import register as _register

from welfare_env import errors
from welfare_env.board.board import Board
from welfare_env.board.loading import load_board
from welfare_env.board.maps import map_names
from welfare_env.envs.setting import UNSET, EnvSettings, Options, make_setting
from welfare_env.errors import (
    ActionError,
    GameOverError,
    IllegalOrderError,
    MapFormatError,
    OrderError,
    OrderSyntaxError,
    PositionError,
    PressError,
    RecordError,
    RulesError,
    UnknownAgentError,
    UnknownMapError,
    UnknownPowerError,
    WelfareEnvError,
    did_you_mean,
)
from welfare_env.game.game import Game
from welfare_env.game.history import PhaseRecord, Void
from welfare_env.game.press import Message
from welfare_env.game.view import View
from welfare_env.rules import Rules

if TYPE_CHECKING:
    from welfare_env.envs.open_spiel import WelfareDiplomacyGame
    from welfare_env.envs.vector import VectorEnv
    from welfare_env.imports.foreign import ImportedGame

__version__ = "0.1.0"

__all__ = [
    "ActionError",
    "Board",
    "Game",
    "GameOverError",
    "IllegalOrderError",
    "MapFormatError",
    "Message",
    "OrderError",
    "OrderSyntaxError",
    "PhaseRecord",
    "PositionError",
    "PressError",
    "RecordError",
    "Rules",
    "RulesError",
    "UnknownAgentError",
    "UnknownMapError",
    "UnknownPowerError",
    "View",
    "Void",
    "WelfareEnvError",
    "errors",
    "import_game",
    "load_board",
    "make",
    "map_names",
    "open_spiel_game",
    "parallel_env",
    "vector_env",
    "warm_up",
]


def make(map_name: str | Board = "standard", rules: Rules | None = None, **options: Unpack[Options]) -> AECEnv:
    """Welfare Diplomacy as a PettingZoo AEC environment; see `welfare_env.envs.aec` for actions and observations.

    Args:
        map_name: a map's name (`map_names()` lists them), a toy board ("clique:4"), the path of a `.map` file, or a
            `Board` from `load_board`.
        rules: see `Rules`; the default is the paper's: welfare variant, ten years, text press in three rounds.
        press, message_rounds, years, variant: override these fields of the rules; press is None, "tokens" or "text".
        engine: "fast", or "reference" (adjudication by the `diplomacy` package).
        strict: raise on illegal orders and messages instead of recording them as void.
        max_cycles: truncate after this many steps of an agent (AEC) or of the environment (parallel).
        infos: False leaves infos empty: they hold the whole game, and learning libraries copy them at every step.
        flat: observations as {"observations", "action_mask"}, two vectors, as RLlib's maskable module takes them.
        render_mode: "human" (a replay page in the browser), "ansi" (text), "svg", "rgb_array" (pixels) or None.

    Raises:
        RulesError: an invalid or conflicting option.
        UnknownMapError, MapFormatError: no such map, or a damaged map file.
    """
    from welfare_env.envs.aec import DiplomacyEnv

    return DiplomacyEnv(_setting("make", map_name, rules, options))


def parallel_env(
    map_name: str | Board = "standard", rules: Rules | None = None, **options: Unpack[Options]
) -> ParallelEnv:
    """The game as a PettingZoo ParallelEnv: all powers act at once. Arguments and errors as for `make`."""
    from welfare_env.envs.parallel import ParallelDiplomacyEnv

    return ParallelDiplomacyEnv(_setting("parallel_env", map_name, rules, options))


def _setting(function: str, map_name: str | Board, rules: Rules | None, options: Options) -> EnvSettings:
    """The settings of an environment; a TypeError for unknown options, as Python would for a parameter."""
    known = Options.__annotations__
    for name in sorted(options.keys() - known.keys()):
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{did_you_mean(name, known)}")
    return make_setting(map_name, rules, **options)


def vector_env(
    num_games: int,
    map_name: str | Board = "standard",
    rules: Rules | None = None,
    *,
    years: int = UNSET,
    variant: str = UNSET,
    threads: int = 1,
) -> VectorEnv:
    """Many games stepped at once over arrays, without press; see `welfare_env.envs.vector`.

    Args:
        num_games: number of games, up to 131,072; a game takes some 8 KB on the standard map.
        map_name, rules, years, variant: as for `make`; press is off.
        threads: threads that step the games, up to 256; the results do not depend on it.

    Raises:
        RulesError: an invalid or conflicting option.
        UnknownMapError, MapFormatError: no such map, or a damaged map file.
    """
    from welfare_env.envs.vector import VectorEnv

    setting = make_setting(map_name, rules, press=None, years=years, variant=variant)
    return VectorEnv(setting.board, setting.rules, num_games, threads)


def open_spiel_game(
    map_name: str | Board = "standard",
    rules: Rules | None = None,
    *,
    years: int = UNSET,
    variant: str = UNSET,
) -> WelfareDiplomacyGame:
    """The game without press as an OpenSpiel game, for OpenSpiel's algorithms (extra ``openspiel``).

    See `welfare_env.envs.open_spiel`.

    Args:
        map_name, rules, years, variant: as for `make`; press is off.

    Raises:
        ImportError: OpenSpiel is not installed.
        RulesError: an invalid or conflicting option.
        UnknownMapError, MapFormatError: no such map, or a damaged map file.
    """
    from welfare_env.extras import install_extra

    setting = make_setting(map_name, rules, press=None, years=years, variant=variant)
    try:
        from welfare_env.envs.open_spiel import WelfareDiplomacyGame
    except ImportError as error:
        raise ImportError(f"{error}: OpenSpiel's games need {install_extra('openspiel')}") from error
    return WelfareDiplomacyGame(setting)


def import_game(
    path: str | PathLike[str],
    *,
    number: int | None = None,
    until: str | None = None,
    messages: str | PathLike[str] | None = None,
) -> ImportedGame:
    """Read a game saved by another program and replay it under the standard rules; every position must match.

    Args:
        path: a JSON file of the `diplomacy` package (or JSON Lines, one game per line), dipcc, AI_Diplomacy or
            webDiplomacy.
        number: which game of a JSON Lines file, from 1.
        until: stop in this phase, such as "F1903M", e.g. where the other program adjudicated differently.
        messages: for webDiplomacy: the file messages.json of the same game.

    Returns:
        The game, the program that wrote the file, and notes on what could not be imported.

    Raises:
        RecordError: the file cannot be read, has an unknown format, is damaged (with the place), or has positions that
            do not follow from its orders by our rules.
    """
    from welfare_env.imports.files import read_file

    return read_file(path, number, until, messages)


def warm_up() -> None:
    """Compile the engine ahead of its first use: about a minute, once per installation.

    Otherwise the first game and the first `vector_env` compile it. Either way a line on stderr says so.
    """
    from welfare_env.interruptions import uninterrupted

    with uninterrupted():
        env = parallel_env("clique:2", years=1, press=None)
        env.reset(seed=0)
        env.step({})
        games = vector_env(1, "clique:2", years=1)
        games.reset()
        games.step(games.sample())
        games.observe([0], [0])


_register("aec", "WelfareDiplomacy-v0", "welfare_env:make")
_register("parallel", "WelfareDiplomacy-v0", "welfare_env:parallel_env")
if "WelfareDiplomacySeat-v0" not in gymnasium.registry:
    gymnasium.register("WelfareDiplomacySeat-v0", "agents.seat_env:SeatEnv")  # imported on first use
