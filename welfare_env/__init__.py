"""Welfare Diplomacy for people and learners: games, and PettingZoo environments.

`make` builds the environment of the paper, `parallel_env` its parallel form, `Game` a game to play by hand.
"""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo import register as _register
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from welfare_env import errors
from welfare_env.board import Board, load_board, map_names
from welfare_env.errors import (
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
)
from welfare_env.game import Game, PhaseRecord, Void
from welfare_env.position import Position
from welfare_env.press import Message
from welfare_env.rules import Rules
from welfare_env.setting import make_setting
from welfare_env.view import View

__version__ = "0.1.0"

__all__ = [
    "Board",
    "Game",
    "GameOverError",
    "IllegalOrderError",
    "MapFormatError",
    "Message",
    "OrderError",
    "OrderSyntaxError",
    "PhaseRecord",
    "Position",
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
    "env",
    "errors",
    "load_board",
    "make",
    "map_names",
    "parallel_env",
    "raw_env",
]


def make(map_name: str = "standard", rules: Rules | None = None, **options: Any) -> AECEnv:
    """Welfare Diplomacy as a PettingZoo AEC environment; see `welfare_env.aec` for actions and observations.

    Args:
        map_name: a map's name (`map_names()` lists them), or the path of a `.map` file.
        rules: see `Rules`; the default is the paper's: welfare variant, ten years, text press in three rounds.
        press, message_rounds, years, variant: change these of the rules.
        engine: which engine adjudicates; "reference" is the `diplomacy` package.
        strict: raise on illegal orders and messages instead of recording them as void.
        max_cycles: truncate after so many steps of an agent (AEC) or of the environment (parallel).
        render_mode: "human" (prints), "ansi" (returns text) or None.

    Raises:
        RulesError, UnknownMapError, MapFormatError: with what was given and what would be right.
    """
    return OrderEnforcingWrapper(raw_env(map_name, rules, **options))


env = make


def raw_env(map_name: str = "standard", rules: Rules | None = None, **options: Any) -> AECEnv:
    """The environment of `make` without the wrapper that reports a step before reset."""
    from welfare_env.aec import DiplomacyEnv

    return DiplomacyEnv(make_setting(map_name, rules, **options))


def parallel_env(map_name: str = "standard", rules: Rules | None = None, **options: Any) -> ParallelEnv:
    """The game as a PettingZoo ParallelEnv: all powers act at once. Arguments and errors as for `make`."""
    from welfare_env.parallel import ParallelDiplomacyEnv

    return ParallelDiplomacyEnv(make_setting(map_name, rules, **options))


_register("aec", "WelfareDiplomacy-v0", "welfare_env:make")
_register("parallel", "WelfareDiplomacy-v0", "welfare_env:parallel_env")
