"""The engines by name. Each is imported on first use."""

from __future__ import annotations

from collections.abc import Callable

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.engine import Engine
from welfare_env.errors import RulesError
from welfare_env.rules import Rules


def _reference(board: Board, rules: Rules) -> Engine:
    from welfare_env.engine.reference import ReferenceEngine

    return ReferenceEngine(board, rules)


def _fast(board: Board, rules: Rules) -> Engine:
    from welfare_env.engine.fast import FastEngine

    return FastEngine(board, rules)


ENGINES: dict[str, Callable[[Board, Rules], Engine]] = {"fast": _fast, "reference": _reference}
DEFAULT_ENGINE = "fast"


def make_engine(name: str, board: Board, rules: Rules) -> Engine:
    """The engine of this name.

    Raises:
        RulesError: no such engine, or `rules` is not a `Rules`.
    """
    checks.choice("engine", name, ENGINES)
    if not isinstance(rules, Rules):
        raise RulesError(f"rules={checks.quoted(rules)}: give welfare_env.Rules(...)")
    return ENGINES[name](board, rules)
