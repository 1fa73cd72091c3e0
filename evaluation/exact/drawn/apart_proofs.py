"""Certificates for punishers that randomize independently: each mix of the others is a product of their mixes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import prod

import numpy as np

from agents.scripted.punisher import excluded
from agents.toy_boards.shape import clique_of
from evaluation.checks import board_of
from evaluation.exact.certificates import CertificateError, OrdersByPhase
from evaluation.exact.clique_proofs import path_of
from evaluation.exact.drawn.apart import ApartSearch, Mixes
from evaluation.exact.drawn.certificates import UNIT, DrawnCertificate
from evaluation.exact.drawn.checking import DrawnChecker, check_drawn
from evaluation.exact.drawn.proofs import OVER, Claims, PathThreats, Plans, parts_of
from evaluation.exact.drawn.threats import CLOSE, ThreatSearch

UNITS: tuple[tuple[int, ...], ...] = (
    (),
    (UNIT,),
    (5940, 6188),
    (330, 312, 357),
    (60, 78, 77, 102),
    (30, 33, 34, 28, 39),
)
"""By number of randomizing punishers: the denominators of their probabilities, whose product is `UNIT`."""


def product_of(mixes: Mixes) -> Plans:
    """A product of mixes as joint orders with integer weights, assigning denominators for the least rounding."""
    drawn = [who for who, (orders, _) in enumerate(mixes) if len(orders) > 1]
    best = min(
        permutations(UNITS[len(drawn)]),
        key=lambda units: sum(_error(mixes[who][1], unit) for who, unit in zip(drawn, units, strict=True)),
    )
    units = dict(zip(drawn, best, strict=True))
    parts = [parts_of(weights, units.get(who, 1)) for who, (_, weights) in enumerate(mixes)]
    numbers = list(product(*(range(len(each)) for each in parts)))
    weights = [prod(int(mine[n]) for mine, n in zip(parts, each, strict=True)) for each in numbers]
    orders = [np.max([own[n] for (own, _), n in zip(mixes, each, strict=True)], axis=0) for each in numbers]
    scale = UNIT // sum(weights)
    kept = np.array(weights) > 0
    return np.array(orders, np.int16)[kept], scale * np.array(weights, np.int64)[kept]


def _error(weights: np.ndarray, unit: int) -> float:
    return float(np.abs(parts_of(weights, unit) / unit - weights).sum())


class ApartClaims(Claims):
    """The upper bounds that a search's products guarantee."""

    def __init__(self, apart: ApartSearch) -> None:
        super().__init__(apart.threats)
        self._apart = apart

    def _mix(self, node: int, years: int) -> Plans | None:
        mixes = self._apart.mixes.get((node, years))
        return None if mixes is None else product_of(mixes)

    def _search_pure(self, node: int, years: int) -> None:
        self._apart.pure(node, years)

    def _upper_bound(self, node: int, years: int) -> float:
        known = self._apart.known.get((node, years))
        return float(self._apart.pure(node, years)) if known is None else known[1]


class ApartThreats(PathThreats):
    """One power's value of leaving a path if the others randomize independently from then on.

    Args:
        apart: a search of its kind of deviator. power, years, path: see `PathThreats`.

    Attributes:
        low: lower bound against any punishers. high: upper bound against the products found here. least: lower bound
            against any independently randomizing punishers (searched). pure: its value against the best deterministic
            punishers.
    """

    def __init__(self, apart: ApartSearch, power: int, years: int, path: OrdersByPhase) -> None:
        super().__init__(apart.threats, power, years, path)
        self.apart = apart
        self.least = self.pure = float(self.path_value)

    def solve(self, most: float = np.inf) -> tuple[float, float]:
        """Bound the values, most promising deviations first. Returns `least` and `high`."""
        super().solve(most)
        self.least = self.high = self.pure = float(self.path_value)
        after = [(node, left, points) for node, left, points in self.deviations if node != OVER]
        ends = [points for node, _, points in self.deviations if node == OVER]
        tops = [(points + self.apart.pure(node, left), points, node, left) for node, left, points in after]
        for top, points, node, left in sorted(tops, reverse=True):
            if top > self.least + CLOSE:
                low, high = self.apart.solve(node, left)
                self.least, self.high = max(self.least, points + low), max(self.high, points + high)
        self.least, self.high = max(self.least, *ends, 0), max(self.high, *ends, 0)
        self.pure = float(max(self.path_value, *ends, *(top for top, *_ in tops)))
        return self.least, self.high

    def claims(self) -> Claims:
        return ApartClaims(self.apart)


@dataclass(frozen=True)
class ApartValue:
    """A deviator's points of the whole game against the paper's path, by how the punishers randomize.

    Attributes:
        path_value: if it does not deviate.
        agreed: lower bound if they randomize jointly (certified; holds for all punishers).
        at_least, at_most: bounds if they randomize independently. The first is searched, the second certified.
        pure: if they are deterministic (searched).
        certificate: proof of `agreed` and `at_most`, for `check_apart`.
    """

    path_value: int
    agreed: Fraction
    at_least: float
    at_most: Fraction
    pure: int
    certificate: DrawnCertificate


def certify_apart(map_name: str, deviator: str, years: int, apart: ApartSearch | None = None) -> ApartValue:
    """A deviator's points against the paper's pi_1. On shared boards the first sharer gets the shared core.

    Args:
        map_name: clique:n or shared-clique:n. deviator: a power. years: length of the game.
        apart: a search of this board and kind of deviator to continue; None: a new one.
    """
    board = board_of(map_name)
    clique, number = clique_of(board), board.power_index[board.check_power(deviator)]
    path = tuple(path_of(clique, excluded(clique, None), years, years - 1))
    found = ApartThreats(apart or ApartSearch(ThreatSearch(clique, number)), number, years, path)
    found.solve()
    certificate = found.certificate()
    agreed, at_most = certificate.bounds
    return ApartValue(
        path_value=found.path_value,
        agreed=agreed,
        at_least=found.least,
        at_most=at_most,
        pure=int(found.pure),
        certificate=certificate,
    )


def check_apart(certificate: DrawnCertificate) -> int:
    """Check that a certificate holds, and that all its mixes of the others are products.

    Returns:
        the number of positions checked.

    Raises:
        CertificateError: the certificate does not hold, or a mix is not a product.
    """
    checked = check_drawn(certificate)
    for number, mix in DrawnChecker(certificate.map_name, certificate.deviator).mixes(certificate):
        powers = sorted({power for plan, _ in mix for power in plan})
        joint: Counter[tuple[tuple[int, ...], ...]] = Counter()
        alone: list[Counter[tuple[int, ...]]] = [Counter() for _ in powers]
        for plan, weight in mix:
            each = tuple(plan.get(power, ()) for power in powers)
            joint[each] += weight
            for own, orders in zip(alone, each, strict=True):
                own[orders] += weight
        for each in product(*alone):
            parts = [own[orders] for own, orders in zip(alone, each, strict=True)]
            if joint[each] * UNIT ** max(len(parts) - 1, 0) != prod(parts) and parts:
                raise CertificateError(f"position {number}: the others' mix is not a product of independent mixes")
    return checked
