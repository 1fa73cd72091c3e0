"""Certificates: proofs of an upper bound on a deviator's points, which can be checked without a search.

A certificate lists positions. Each has the years left, the others' orders, and a claim: the deviator's maximum points
from there on. The certificate holds if no order of the deviator exceeds the claim: points of the phase plus the claim
of the next position (or a loose bound, if the next position is not listed). The same must hold along the path that all
follow if nobody deviates. See `evaluation.exact.checking`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from agents.runtime.files import parse_json, read_file, reason
from agents.toy_boards.archives import DAMAGE
from evaluation.checks import EvaluationError
from welfare_env.checks import quoted
from welfare_env.engine import Frozen
from welfare_env.writing import replaced

Read = TypeVar("Read", bound=Frozen)
OrdersByPhase = tuple[tuple[str, tuple[str, ...]], ...]
"""Pairs of a phase's short name and its orders, for phases with any orders."""
FORMAT = "welfare-env certificate 2"
ARRAYS = {"rows": (np.int32, 2), "years_left": (np.int16, 1), "claims": (np.int16, 1), "orders": (np.int32, 2)}
"""Name -> type and number of dimensions."""


class CertificateError(EvaluationError):
    """The certificate cannot be read or does not hold. The message says where it fails."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Frozen):
    """Proof that a deviator or a coalition gets at most `value` points in a game against fixed players.

    Attributes:
        map_name, years: the game; welfare rules without press.
        deviators: the powers that deviate; their points are added up.
        value: upper bound on the deviators' points.
        path: everybody's orders if nobody deviates: phase -> orders, for phases with any orders.
        path_value: the deviators' points on the path.
        is_symmetric: a listed position stands for all its renamings of the other powers.
        rows: int32 [positions, state size], positions in canonical form, in the engine's layout, with year 0. Their
            `orders` apply off the path; on the path the others follow `path`.
        years_left: int16 [positions], years still to play, including the current one.
        claims: int16 [positions], the deviators' maximum points from here on.
        orders: int32 [positions, most orders], order numbers of the others, padded with -1.
    """

    map_name: str
    years: int
    deviators: tuple[str, ...]
    value: int
    path: OrdersByPhase
    path_value: int
    is_symmetric: bool
    rows: np.ndarray
    years_left: np.ndarray
    claims: np.ndarray
    orders: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        who = "+".join(self.deviators)
        return (
            f"<Certificate: {who} gets at most {self.value} in {self.years} years on {self.map_name}, {len(self)} rows>"
        )

    def save(self, path: Path | str) -> None:
        """Write the certificate to a file (.npz).

        Raises:
            CertificateError: the file cannot be written.
        """
        write_certificate(self, path, FORMAT, ARRAYS)

    @classmethod
    def load(cls, path: Path | str) -> Certificate:
        """Read a file that `save` wrote.

        Raises:
            CertificateError: no such file, or not a certificate.
        """
        return read_certificate(cls, path, FORMAT, ARRAYS, _checked)


def write_certificate(certificate: Frozen, path: Path | str, form: str, names: Collection[str]) -> None:
    """Write a certificate of any kind to a file (.npz): arrays by name; format and other fields as JSON.

    Raises:
        CertificateError: the file cannot be written.
    """
    arrays = {name: getattr(certificate, name) for name in names}
    header = {name: value for name, value in vars(certificate).items() if name not in arrays} | {"format": form}
    write_arrays(path, header, arrays)


def write_arrays(path: Path | str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays and a JSON header to a file (.npz).

    Raises:
        CertificateError: the file cannot be written, or `path` is not a path.
    """
    check_path(path)
    try:
        with replaced(Path(path)) as draft, draft.open("wb") as file:
            np.savez_compressed(file, told=json.dumps(header), **arrays)
    except (OSError, ValueError, TypeError) as error:
        raise CertificateError(f"{str(path)!r:.200}: it cannot be written there: {reason(error)}") from error


def check_path(path: object) -> None:
    """Check that an argument is the path of a file.

    Raises:
        CertificateError: it is not.
    """
    if not isinstance(path, (str, Path)):
        raise CertificateError(f"path={quoted(path)}: give the path of a file")


def read_certificate(
    kind: type[Read],
    path: Path | str,
    form: str,
    names: Collection[str],
    make: Callable[[dict[str, Any]], Read],
) -> Read:
    """Read a file that `write_certificate` wrote.

    Args:
        make: makes a certificate from its attributes; raises an error of `DAMAGE` if an attribute is wrong.

    Raises:
        CertificateError: no such file, or not a certificate of this kind.
    """
    check_path(path)
    try:
        with np.load(io.BytesIO(read_file(path)), allow_pickle=False) as file:
            fields = dict(parse_json(str(file["told"])))
            if (found := fields.pop("format")) != form:
                raise ValueError(f"of format {found!r:.60}, not {form!r}")
            fields["path"] = tuple((phase, tuple(orders)) for phase, orders in fields["path"])
            return make(dict(**fields, **{name: file[name] for name in names}))  # TypeError if a name occurs twice
    except DAMAGE as error:
        raise CertificateError(f"{str(path)!r:.200}: no certificate of this program ({error!r:.100})") from error


def _checked(fields: dict[str, Any]) -> Certificate:
    """A certificate of these attributes. Raises KeyError, TypeError or ValueError if an attribute is wrong."""
    fields["deviators"] = tuple(fields["deviators"])
    texts = [fields["map_name"], *fields["deviators"]]
    texts += [word for phase, orders in fields["path"] for word in (phase, *orders)]
    numbers = [fields[name] for name in ("years", "value", "path_value")]
    if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
        raise TypeError("a text or a number is of another type")
    if type(fields["is_symmetric"]) is not bool:
        raise TypeError("is_symmetric")
    for name, (kind, dimensions) in ARRAYS.items():
        found = fields[name]
        if found.dtype != kind or found.ndim != dimensions or len(found) != len(fields["rows"]):
            raise ValueError(f"{name} has type {found.dtype} and shape {found.shape}")
    return Certificate(**fields)


def orders_array(orders: Sequence[Sequence[int]]) -> np.ndarray:
    """Lists of order numbers as a certificate's array: int32 [positions, most orders], padded with -1."""
    width = max(map(len, orders), default=0)
    return np.array([[*given, *[-1] * (width - len(given))] for given in orders], np.int32).reshape(len(orders), width)
