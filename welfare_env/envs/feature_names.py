"""The names of the rows and columns of observations (`welfare_env.envs.observation`).

>>> import welfare_env
>>> from welfare_env.envs.feature_names import board_columns
>>> names = board_columns(welfare_env.load_board("clique:3"), "PLAYERB")
>>> names[:4], len(names)
(('unit of PLAYERB', 'unit of PLAYERC', 'unit of PLAYERA', 'fleet'), 43)

The rows of observation["observation"] are `board.provinces`.
"""

from __future__ import annotations

from welfare_env.board.board import Board
from welfare_env.game.press import players
from welfare_env.rules import Rules

ORDERS = ("hold", "move", "move by convoy", "support unit", "support move", "convoy", "retreat", "disband", "build")
PHASES = ("Spring moves", "Spring retreats", "Fall moves", "Fall retreats", "Winter")


def seats(board: Board, observer: str | None = None) -> tuple[str, ...]:
    """The powers in an observer's order, itself first; without an observer "self", "power +1", "power +2", ...

    Raises:
        UnknownPowerError: no such power.
    """
    if observer is None:
        return ("self", *(f"power +{place}" for place in range(1, len(board.powers))))
    board.check_power(observer)
    first = board.power_index[observer]
    return (*board.powers[first:], *board.powers[:first])


def board_columns(board: Board, observer: str | None = None) -> tuple[str, ...]:
    """The columns of observation["observation"], and of `agents.rl.inputs.Inputs.boards`.

    Raises:
        UnknownPowerError: no such power.
    """
    powers = seats(board, observer)
    return (
        *(f"unit of {power}" for power in powers),
        *("fleet", "unit on coast 1", "unit on coast 2"),
        *("dislodged unit of self", "dislodged unit of another"),
        *(f"owned by {power}" for power in powers),
        "center",
        *(f"home of {power}" for power in powers),
        *("land", "coast", "sea"),
        "asked",
        *(f"own order: {order}" for order in ORDERS),
        *("own destination", "own help"),
        *(f"phase: {phase}" for phase in PHASES),
        *("message round", "years left"),
        *(f"balance of {power}" for power in powers),
        *(f"welfare of {power}" for power in powers),
    )


def message_rows(board: Board, rules: Rules, observer: str | None = None) -> tuple[str, ...]:
    """The rows of observation["messages"] in games with tokens: the players.

    Raises:
        UnknownPowerError: no such power.
    """
    return (*seats(board, observer), *players(board, rules)[len(board.powers) :])


def message_columns(rules: Rules) -> tuple[str, ...]:
    """The columns of observation["messages"]; values are numbers of `welfare_env.game.press.TOKENS`, 0 is silence."""
    said = ("to observer", "to all", "from observer")
    return tuple(f"round {number}: {how}" for number in range(1, rules.message_rounds + 1) for how in said)
