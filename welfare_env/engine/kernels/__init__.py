"""The compiled engine: legal orders, adjudication, retreats and Winters of one game, on flat arrays.

Adjudication is a port, step by step, of the `diplomacy` package's (its numbers stand in the comments), so that results
are identical, quirks included; `docs/differences.md` lists those. Kernels take arrays and trust them. All arguments:

    T   int32, a board's tables with their header (`tables.py`)
    M   int64, its bit masks
    R   int32, the rules, then the yearly weights
    s   int32, the row of one game's state
    w   int32 scratch, x int64 scratch; nothing in them outlives a call

No kernel allocates. Bounds: a unit's index is below N_UNITS = provinces, since a province holds one unit; a dislodged
unit's below N_DISLODGED = provinces // 2 + 1, since each was pushed out by another unit; further bounds stand where
they are used. A change of any file of this folder, or of a number that it imports, compiles all of them anew
(`state_rows.kernel`).
"""

from __future__ import annotations

from welfare_env.engine.kernels.convoys import find_routes, resolve_convoys
from welfare_env.engine.kernels.decoding import read_orders
from welfare_env.engine.kernels.legal_orders import legal_flat
from welfare_env.engine.kernels.many_games import legal_games, sample_games, step_games
from welfare_env.engine.kernels.movement import move_units, step_movement
from welfare_env.engine.kernels.random_play import play
from welfare_env.engine.kernels.retreats import step_retreats
from welfare_env.engine.kernels.state_rows import occupy
from welfare_env.engine.kernels.stepping import step, step_flat
from welfare_env.engine.kernels.winter import step_winter

__all__ = [
    "find_routes",
    "legal_flat",
    "legal_games",
    "move_units",
    "occupy",
    "play",
    "read_orders",
    "resolve_convoys",
    "sample_games",
    "step",
    "step_flat",
    "step_games",
    "step_movement",
    "step_retreats",
    "step_winter",
]
