"""Certificates: what shows that a deviator gets at most so much, for anybody to check without a search.

A certificate lists positions. Of each it says how many years are left, what the others order there, and a number that
the deviator's further points are claimed not to exceed. It holds if in every listed position every order of the
deviator leads to points and a listed position (or one where even a generous bound is small enough) whose sum is not
above the claim. `evaluation.exact.checking` checks that with the rules of the engine.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.checks import EvaluationError
from welfare_env.engine import Frozen

FORMAT = "welfare-env certificate 1"
ARRAYS = ("rows", "years_left", "claims", "orders")


class CertificateError(EvaluationError):
    """A certificate that cannot be read, or does not hold: with the position in which it fails."""


@dataclass(frozen=True, eq=False)
class Certificate(Frozen):
    """That a deviator, or a coalition, gets at most `value` points in a game against fixed players.

    Attributes:
        map_name, years: the game; welfare rules without press.
        deviators: the powers that deviate; their points are added up.
        value: what they get at most.
        path: what they order if they do not deviate: phase -> orders, in phases in which they order anything.
        path_value: what they get then.
        is_symmetric: a listed position stands for all that come from it by renaming the other powers.
        rows: int32 [positions, state size], in the engine's layout, in canonical form; the year is 0.
        years_left: int16 [positions], years still to play, the present one included.
        claims: int16 [positions], the most points still to come.
        orders: int32 [positions, most orders], order numbers of the others, then -1.
    """

    map_name: str
    years: int
    deviators: tuple[str, ...]
    value: int
    path: tuple[tuple[str, tuple[str, ...]], ...]
    path_value: int
    is_symmetric: bool
    rows: np.ndarray
    years_left: np.ndarray
    claims: np.ndarray
    orders: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def save(self, path: Path | str) -> None:
        """Write it to a file (.npz)."""
        told = {name: getattr(self, name) for name in ("map_name", "years", "deviators", "value", "path", "path_value")}
        told |= {"format": FORMAT, "is_symmetric": self.is_symmetric}
        with Path(path).open("wb") as file:
            np.savez_compressed(file, told=json.dumps(told), **{name: getattr(self, name) for name in ARRAYS})

    @classmethod
    def load(cls, path: Path | str) -> Certificate:
        """Read what `save` wrote.

        Raises:
            CertificateError: no such file, or something else in it.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                told: dict[str, Any] = json.loads(str(file["told"]))
                arrays = {name: file[name] for name in ARRAYS}
            if told.pop("format") != FORMAT:
                raise KeyError("format")
            told["path"] = tuple((phase, tuple(orders)) for phase, orders in told["path"])
            told["deviators"] = tuple(told["deviators"])
            return cls(**told, **arrays)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CertificateError(f"{str(path)!r:.200}: no certificate of this program ({error!r:.100})") from error
