"""Certificates: proofs of bounds on a deviator's points, which can be checked without a search.

A certificate has a path, that is, everybody's orders until somebody deviates, and lists positions. Each has the years
left, joint orders of the others with probabilities (a mix), and an upper bound on the deviator's points from there on.
Lower bounds come with mixes of the deviator. A bound holds if, against the mix, no orders of the other side lead
beyond it: expected points of the phase plus the bound of the next position. For positions that are not listed the
checker uses loose bounds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.exact.results import OrdersByPhase

UNIT = 36_756_720  # denominator of weights and bounds; divisible by 1 to 18, so most mixes and values are exact
OTHERS, MINE = 0, 1  # sides of a mix
ARRAYS = ("rows", "years_left", "uppers", "lowers", "plan_rows", "plan_sides", "weights", "orders")


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """Proof that a deviator gets at least `lower` and at most `upper` points.

    Positions and orders are those of `agents.toy_boards.kernels` and `evaluation.exact.graph_kernels`, with the
    powers' numbers on the board.

    Attributes:
        map_name, years, deviator: the game; welfare rules without press.
        path: everybody's orders until somebody deviates: phase -> orders, for phases with any orders.
        path_value: the deviator's points on the path.
        lower, upper: bounds on its points if it deviates optimally (or stays), times `UNIT`.
        rows: int64 [positions, 1 + 2 provinces + 2 cores]: phase, owners, units, dislodged units, and their possible
            retreats as bits. Each stands for all its renamings of the other powers.
        years_left: int64 [positions], including the current year.
        uppers, lowers: int64 [positions], bounds on the points from here on, times `UNIT`; -1 in `uppers` and 0 in
            `lowers` claim nothing.
        plan_rows, plan_sides: int64 [plans], the position and the side of each plan.
        weights: int64 [plans], probabilities times `UNIT`.
        orders: int64 [plans, provinces], the side's joint orders.
    """

    map_name: str
    years: int
    deviator: str
    path: OrdersByPhase
    path_value: int
    lower: int
    upper: int
    rows: np.ndarray
    years_left: np.ndarray
    uppers: np.ndarray
    lowers: np.ndarray
    plan_rows: np.ndarray
    plan_sides: np.ndarray
    weights: np.ndarray
    orders: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def save(self, path: Path) -> None:
        """Write the certificate to a file (.npz)."""
        save_all(path, [self])


def save_all(path: Path, certificates: Sequence[Certificate]) -> None:
    """Write several certificates to a file (.npz)."""
    told = [{name: value for name, value in vars(each).items() if name not in ARRAYS} for each in certificates]
    arrays = {f"{name}_{i}": getattr(each, name) for i, each in enumerate(certificates) for name in ARRAYS}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, told=json.dumps(told), **arrays)


def load_all(path: Path) -> list[Certificate]:
    """Read a file that `save_all` wrote, without checking its certificates."""
    with np.load(path, allow_pickle=False) as file:
        told = json.loads(str(file["told"]))
        found = []
        for i, each in enumerate(told):
            each["path"] = tuple((phase, tuple(orders)) for phase, orders in each["path"])
            found.append(Certificate(**each, **{name: file[f"{name}_{i}"] for name in ARRAYS}))
    return found
