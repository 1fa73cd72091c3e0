"""Points of the frontier: a path, its welfare, and certificates that bound each power's gain from deviating."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from agents.runtime.files import parse_json, read_file
from agents.runtime.table_files import Row
from agents.toy_boards.archives import DAMAGE
from agents.toy_boards.drawn_orders import FORMAT
from evaluation.checks import board_of
from evaluation.exact.certificates import CertificateError, OrdersByPhase, check_path, write_arrays
from evaluation.exact.drawn.certificates import ARRAYS, UNIT, DrawnCertificate

OF_EACH = ("deviator", "path_value", "lower", "upper")  # fields that differ between the certificates of a file
Vector = tuple[int, ...]  # points of each power


@dataclass(frozen=True, repr=False)
class FrontierPoint:
    """A path from which no power gains more than epsilon by deviating.

    Attributes:
        map_name, years, epsilon: the game, and the largest allowed gain.
        points: each power's points in the whole game.
        path: everybody's orders: phase -> orders.
        certificates: for each power, proof that it gets at most its points plus epsilon.
        pairs: the same for each pair, if the frontier is that of coalitions of two.
    """

    map_name: str
    years: int
    epsilon: Fraction
    points: Vector
    path: OrdersByPhase
    certificates: tuple[DrawnCertificate, ...]
    pairs: tuple[DrawnCertificate, ...] = ()

    @property
    def welfare(self) -> int:
        """The sum of points."""
        return sum(self.points)

    @property
    def root_nash(self) -> float:
        """The geometric mean of points."""
        return float(prod(self.points) ** (1 / len(self.points)))

    @property
    def gain(self) -> Fraction:
        """The certified largest gain of any power (or pair) from deviating; 0 if nobody gains."""
        gains = [Fraction(found.upper, UNIT) - found.path_value for found in (*self.certificates, *self.pairs)]
        return max(gains)

    def save(self, path: Path | str) -> None:
        """Write the point and its certificates to a file (.npz) for the policy "frontier:point=FILE".

        That policy refuses files with certificates of pairs.

        Raises:
            CertificateError: the file cannot be written.
        """
        certificates = (*self.certificates, *self.pairs)
        told = {
            "format": FORMAT,
            "map_name": self.map_name,
            "years": self.years,
            "epsilon": str(self.epsilon),
            "points": self.points,
            "path": self.path,
            "sight": self.certificates[0].sight,
            "certificates": [{name: getattr(each, name) for name in OF_EACH} for each in certificates],
        }
        arrays = {f"{name}_{i}": getattr(each, name) for i, each in enumerate(certificates) for name in ARRAYS}
        write_arrays(path, told, arrays)

    @classmethod
    def load(cls, path: Path | str) -> FrontierPoint:
        """Read a file that `save` wrote, without verifying its certificates; `check_drawn` does.

        Raises:
            CertificateError: no such file, or not a point of the frontier.
        """
        check_path(path)
        try:
            with np.load(io.BytesIO(read_file(path)), allow_pickle=False) as file:
                told = dict(parse_json(str(file["told"])))
                if told["format"] != FORMAT:
                    raise ValueError(f"of format {told['format']!r:.60}, not {FORMAT!r}")
                return cls._made(told, file)
        except DAMAGE as error:
            raise CertificateError(
                f"{str(path)!r:.200}: no point of the frontier of this program ({error!r:.100})"
            ) from error

    @classmethod
    def _made(cls, told: dict[str, Any], file: Mapping[str, Any]) -> FrontierPoint:
        path = tuple((phase, tuple(orders)) for phase, orders in told["path"])
        certificates = tuple(
            DrawnCertificate(
                map_name=told["map_name"],
                years=told["years"],
                path=path,
                sight=told.get("sight", 0),  # older files are of sight 0
                deviator=each["deviator"],
                path_value=each["path_value"],
                lower=each["lower"],
                upper=each["upper"],
                **{name: file[f"{name}_{number}"] for name in ARRAYS},
            )
            for number, each in enumerate(told["certificates"])
        )
        powers = board_of(told["map_name"]).powers
        alone, pairs = certificates[: len(powers)], certificates[len(powers) :]
        points = tuple(each.path_value for each in alone)
        if list(points) != told["points"] or tuple(each.deviator for each in alone) != powers:
            raise ValueError("points or powers are not those of the certificates")
        return cls(
            map_name=told["map_name"],
            years=told["years"],
            epsilon=Fraction(told["epsilon"]),
            points=points,
            path=path,
            certificates=alone,
            pairs=pairs,
        )

    def __repr__(self) -> str:
        return (
            f"<FrontierPoint: {self.map_name}, {self.years} years, epsilon {self.epsilon}: {self.points}, "
            f"sum {self.welfare}>"
        )

    @property
    def file_name(self) -> str:
        """The file name that `welfare-env frontier --save` uses: "clique-3-years-4-epsilon-1-2.npz" at epsilon 1/2.

        With certificates of pairs, "clique-3-years-4-epsilon-1-2-pairs.npz".
        """
        name = file_name(self.map_name, self.years, self.epsilon)
        return name.replace(".npz", "-pairs.npz") if self.pairs else name

    def row(self) -> Row:
        """A row of the table "frontier" of `evaluation.columns`."""
        return {
            "map": self.map_name,
            "years": self.years,
            "epsilon": float(self.epsilon),
            "welfare": self.welfare,
            "root_nash": self.root_nash,
            "points": " ".join(map(str, self.points)),
            "gain": float(self.gain),
        }


def file_name(map_name: str, years: int, epsilon: Fraction | int) -> str:
    """`FrontierPoint.file_name`, for points not computed yet."""
    return f"{map_name}-years-{years}-epsilon-{epsilon}.npz".replace(":", "-").replace("/", "-")
