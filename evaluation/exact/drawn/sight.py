"""Late sight: when the others notice that somebody has deviated from a path, and what they order until then.

Until they notice, they give the path's orders, as far as these are still legal. From then on all know the deviator. An
attack that dislodges a unit is noticed at once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from evaluation.checks import EvaluationError
from evaluation.exact.planner import Given
from welfare_env import Board
from welfare_env.checks import quoted
from welfare_env.engine import ADJUSTMENTS, State
from welfare_env.game.position import Position

ADJACENT: Literal["adjacent"] = "adjacent"
Sight = int | Literal["adjacent"]
"""Phases until the others notice a deviation (0: at once); or ADJACENT: they notice it only from adjacent provinces."""
MOST_DELAY = 500  # phases
ON_PATH = -1  # instead of the phases since a deviation: there was none


def check_sight(sight: object, error: type[EvaluationError] = EvaluationError) -> None:
    """Check a `Sight`.

    Raises:
        error: neither ADJACENT nor a number of phases.
    """
    is_delay = isinstance(sight, int) and not isinstance(sight, bool) and 0 <= sight <= MOST_DELAY
    if not is_delay and not (isinstance(sight, str) and sight == ADJACENT):
        raise error(f"sight={quoted(sight)}: give a number of phases from 0 to {MOST_DELAY}, or {ADJACENT!r}")


def is_seen(sight: Sight, board: Board, deviators: Collection[int], now: State, path: State, age: int) -> bool:
    """Whether the others notice that some powers have deviated.

    Args:
        now, path: the game's position, and the path's. age: phases since the deviation.
    """
    if now.phase != path.phase:
        return True
    if sight == ADJACENT:
        return not _near(board, deviators, now, path).isdisjoint(_unlike(board, now, path))
    return age >= sight


def _places(board: Board, state: State) -> dict[str, tuple[int, int]]:
    """The powers of each province's unit and center, -1 for none."""
    found = dict.fromkeys(board.provinces, (-1, -1))
    for who, piece in state.units.tolist():
        found[board.pieces[piece][2:]] = (who, -1)
    for name, owner in zip(board.centers, state.owners.tolist(), strict=True):
        found[name] = (found[name][0], owner)
    return found


def _unlike(board: Board, now: State, path: State) -> set[str]:
    """The provinces where a position differs from the path's."""
    there = _places(board, path)
    return {name for name, held in _places(board, now).items() if held != there[name]}


def _near(board: Board, deviators: Collection[int], now: State, path: State) -> set[str]:
    """The provinces that the others see: those they occupy or own, now or on the path, and their neighbors."""
    own = set[str]()
    for state in (now, path):
        held = _places(board, state).items()
        own |= {name for name, powers in held if any(who >= 0 and who not in deviators for who in powers)}
    return own | {place for name in own for place in board.moves[f"A {name}"]}


def still_given(position: Position, texts: tuple[str, ...], deviators: Collection[int]) -> Given:
    """The orders that are legal in a position, of all powers but the deviators, by power and slot."""
    found: Given = {}
    for text in texts:
        order = position.board.orders.index[text]
        for who in range(len(position.board.powers)):
            before = list(found.get(who, {}).values())
            slot = position.slot_of(who, order)
            can = slot is not None and slot not in found.get(who, {})
            if position.state.phase_type == ADJUSTMENTS:
                can &= order in position.winter_orders(who, before)
            if can and slot is not None and who not in deviators:
                found.setdefault(who, {})[slot] = order
                break
    return found
