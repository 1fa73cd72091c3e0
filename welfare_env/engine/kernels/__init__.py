"""The compiled engine: legal orders, adjudication, retreats and Winters of one game, on flat arrays.

Adjudication is a step-by-step port of the `diplomacy` package (docstrings name its step numbers), so that results are
identical, including its quirks, listed in `docs/differences.md`. Kernels trust their input. Common arguments:

    T   int32, a board's tables with their header (`tables.py`)
    M   int64, its bit masks
    R   int32, the rules, then the yearly weights
    s   int32, the row of one game's state
    w   int32 scratch, b int32 scratch, x int64 scratch; no content is kept between calls

No kernel allocates. Bounds: a unit's index is below N_UNITS = provinces, since a province holds one unit; a dislodged
unit's is below N_DISLODGED = provinces // 2 + 1, since each was dislodged by another unit. A change of any file in this
folder, or of an imported number, recompiles all kernels (`state_rows.kernel`).
"""

from __future__ import annotations

from welfare_env.engine.kernels.legal_orders import legal_flat
from welfare_env.engine.kernels.many_games import legal_games, sample_games, step_games
from welfare_env.engine.kernels.random_play import play
from welfare_env.engine.kernels.state_rows import occupy
from welfare_env.engine.kernels.stepping import step, step_flat

__all__ = [
    "legal_flat",
    "legal_games",
    "occupy",
    "play",
    "sample_games",
    "step",
    "step_flat",
    "step_games",
]
