"""Certificates of threat values: both sides' mixes at every position, and what each guarantees, as exact fractions.

Weights of mixes and claims are whole numbers of parts of one, `UNIT` parts in all. In every listed position the others'
mix keeps the deviator to `uppers` whatever it orders, and its own mix gets it `lowers` whatever they order, if what is
claimed of later positions is true; where none is listed a loose bound has to do (`evaluation.exact.drawn.checking`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from evaluation.exact.certificates import read_certificate, write_certificate
from welfare_env.engine import Frozen

FORMAT = "welfare-env drawn certificate 1"
UNIT = 36_756_720  # divisible by 1 to 18: most mixes and values are whole numbers of parts
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
    """Proof that a deviator gets at least `lower` and at most `upper`, if the others agree in secret and may draw.

    Attributes:
        map_name, years: the game; welfare rules without press.
        deviator: a power.
        path: what everybody orders until somebody deviates: phase -> orders, in phases in which anything is ordered.
        path_value: what the deviator gets then.
        lower, upper: what it gets if it leaves the path (or not) as is best, in parts (`UNIT` to a point).
        rows: int32 [positions, state size], canonical, as in `Certificate`; each stands for all that come from it by
            renaming the other powers.
        years_left: int16 [positions], the present one included.
        lowers, uppers: int64 [positions], parts still to come; `uppers` is -1 where nothing is claimed.
        plan_rows: int32 [plans], the position of each plan. plan_sides: int8 [plans], OTHERS or MINE.
        weights: int64 [plans], parts; those of a side at a position add up to `UNIT`, if it has any.
        orders: int32 [plans, most orders], order numbers, then -1.
    """

    map_name: str
    years: int
    deviator: str
    path: tuple[tuple[str, tuple[str, ...]], ...]
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
        """Write it to a file (.npz).

        Raises:
            CertificateError: it cannot be written.
        """
        write_certificate(self, path, FORMAT, ARRAYS)

    @classmethod
    def load(cls, path: Path | str) -> DrawnCertificate:
        """Read what `save` wrote.

        Raises:
            CertificateError: no such file, or something else in it.
        """
        return read_certificate(cls, path, FORMAT, ARRAYS, lambda fields: cls(**fields))
