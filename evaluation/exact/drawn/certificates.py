"""Certificates of threat values: both sides' mixes at every position and their guarantees, as exact fractions.

Weights and claims are integers with denominator `UNIT`. In every listed position, the others' mix holds the deviator to
`uppers` whatever it orders, and the deviator's own mix gets it at least `lowers` whatever they order, given the claims
for later positions. For unlisted positions a loose bound is used (`evaluation.exact.drawn.checking`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from evaluation.exact.certificates import OrdersByPhase, read_certificate, write_certificate
from evaluation.exact.drawn.sight import Sight
from welfare_env.engine import Frozen

FORMAT = "welfare-env drawn certificate 1"
UNIT = 36_756_720  # denominator; divisible by 1 to 18, so most mixes and values are exact
OTHERS, MINE = 0, 1  # sides of a plan
ARRAYS = {
    "rows": (np.int32, 2),
    "years_left": (np.int16, 1),
    "lowers": (np.int64, 1),
    "uppers": (np.int64, 1),
    "plan_rows": (np.int32, 1),
    "plan_sides": (np.int8, 1),
    "weights": (np.int64, 1),
    "orders": (np.int32, 2),
}
"""Name -> type and number of dimensions."""
NUMBERS = ("years", "path_value", "lower", "upper")


@dataclass(frozen=True, eq=False, repr=False)
class DrawnCertificate(Frozen):
    """Proof that a deviator gets at least `lower` and at most `upper` if the others randomize jointly.

    Attributes:
        map_name, years: the game; welfare rules without press.
        deviator: a power, or two joined by "+", whose points are added.
        path: everybody's orders until somebody deviates: phase -> orders, for phases with any orders.
        path_value: the deviator's points on the path.
        lower, upper: bounds on its points if it deviates optimally (or stays), times `UNIT`.
        rows: int32 [positions, state size], canonical, as in `Certificate`; each stands for all its renamings of the
            other powers.
        years_left: int16 [positions], including the current year.
        lowers, uppers: int64 [positions], bounds on the points from here on, times `UNIT`; -1 in `uppers` is no claim.
        plan_rows: int32 [plans], the position of each plan. plan_sides: int8 [plans], OTHERS or MINE.
        weights: int64 [plans], probabilities times `UNIT`; those of a side at a position add up to `UNIT`, if any.
        orders: int32 [plans, most orders], order numbers, padded with -1.
        sight: when the others notice a deviation: 0 at once, n after n phases, "adjacent" only from adjacent provinces.
            Until then they follow the path as far as it is legal.
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
    lowers: np.ndarray
    uppers: np.ndarray
    plan_rows: np.ndarray
    plan_sides: np.ndarray
    weights: np.ndarray
    orders: np.ndarray
    sight: Sight = 0

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """`lower` and `upper` in points."""
        return Fraction(self.lower, UNIT), Fraction(self.upper, UNIT)

    def __repr__(self) -> str:
        low, high = map(float, self.bounds)
        return (
            f"<DrawnCertificate: {self.deviator} gets {low:.6g} to {high:.6g} in {self.years} years on "
            f"{self.map_name}, {len(self)} rows>"
        )

    def save(self, path: Path | str) -> None:
        """Write the certificate to a file (.npz).

        Raises:
            CertificateError: the file cannot be written.
        """
        write_certificate(self, path, FORMAT, ARRAYS)

    @classmethod
    def load(cls, path: Path | str) -> DrawnCertificate:
        """Read a file that `save` wrote; older files have no `sight`, and are of sight 0.

        Raises:
            CertificateError: no such file, or not a certificate of this kind.
        """
        return read_certificate(cls, path, FORMAT, ARRAYS, lambda fields: cls(**fields))
