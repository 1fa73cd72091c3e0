"""The engines by name. Each is imported on first use."""

from __future__ import annotations

from importlib import import_module

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.engine import Engine
from welfare_env.errors import RulesError
from welfare_env.rules import Rules

ENGINES = {"fast": "FastEngine", "reference": "ReferenceEngine"}
DEFAULT_ENGINE = "fast"


def make_engine(name: str, board: Board, rules: Rules) -> Engine:
    """The engine of this name. The reference engine's rules always say `adjudication="package"`.

    Raises:
        RulesError: no such engine, or `rules` is not a `Rules`.
    """
    checks.choice("engine", name, ENGINES)
    if not isinstance(rules, Rules):
        raise RulesError(f"rules={checks.quoted(rules)}: give welfare_env.Rules(...)")
    engine: Engine = getattr(import_module(f"welfare_env.engine.{name}"), ENGINES[name])(board, rules)
    return engine
