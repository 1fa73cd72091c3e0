"""Checks certificates of threat values with the engine and integer arithmetic: no search, no floats.

It goes through the listed positions as `evaluation.exact.checking` does, with its engine, renamings and lists of
orders. Supports of moves that the other side's mix never makes act as holds, so they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from evaluation.exact.certificates import Certificate, CertificateError
from evaluation.exact.checking import MISSING, NOTHING, Checker, plans_of, relaxed_bounds
from evaluation.exact.drawn.certificates import ARRAYS, MINE, NUMBERS, OTHERS, UNIT, DrawnCertificate
from evaluation.exact.drawn.sight import ON_PATH, check_sight, is_seen, still_given
from evaluation.exact.rows.canonical import MOST_POINTS, check_header, check_rows
from welfare_env import Board, Rules
from welfare_env.checks import is_whole, quoted
from welfare_env.engine import WINTER, YEAR, State
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

MOST_CLAIM = 2_000  # points; MOST_CLAIM * UNIT**2 fits into int64

Place = tuple[int, bytes, int]  # number of the phase, canonical position, phases since the deviation (or ON_PATH)
JointMix = list[tuple[dict[int, tuple[int, ...]], int]]  # orders by power, and their weight
Slots = list[tuple[int, int]]  # slot and power of each column of orders


def check_drawn(certificate: DrawnCertificate) -> int:
    """Check that a certificate of threat values holds, for others who notice a deviation as its `sight` says.

    Returns:
        the number of positions checked.

    Raises:
        CertificateError: the certificate does not hold, or is not a `DrawnCertificate`; the message says where.
    """
    if not isinstance(certificate, DrawnCertificate):
        raise CertificateError(f"certificate={quoted(certificate)}: give a DrawnCertificate")
    plain = _plain(certificate)
    check_header(plain)
    check_rows(plain)
    _check_arrays(certificate, plain)
    check_sight(certificate.sight, CertificateError)
    return DrawnChecker(plain.map_name, certificate.deviator).check_mixes(certificate, plain)


def _plain(certificate: DrawnCertificate) -> Certificate:
    """The fields in common with a `Certificate` of fixed orders, type-checked."""
    for name, (kind, dimensions) in ARRAYS.items():
        array = getattr(certificate, name)
        if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != dimensions:
            raise CertificateError(f"{name}: give an array of {kind.__name__} with {dimensions} dimensions")
    for name in NUMBERS:
        if not is_whole(getattr(certificate, name)):
            raise CertificateError(f"{name}={quoted(getattr(certificate, name))}: give a whole number")
    if not isinstance(certificate.deviator, str) or certificate.deviator.count("+") > 1:
        raise CertificateError(f"deviator={quoted(certificate.deviator)}: give a power, or two joined by +")
    if not 0 <= certificate.lower <= certificate.upper <= MOST_POINTS * UNIT:
        raise CertificateError(
            f"lower={quoted(certificate.lower)}, upper={quoted(certificate.upper)}: give points times {UNIT}, from 0 "
            f"to {MOST_POINTS} points, and lower not above upper"
        )
    return Certificate(
        map_name=certificate.map_name,
        years=certificate.years,
        deviators=tuple(certificate.deviator.split("+")),
        value=0,
        path=certificate.path,
        path_value=certificate.path_value,
        is_symmetric=True,
        rows=certificate.rows,
        years_left=certificate.years_left,
        claims=np.zeros(len(certificate.rows), np.int16),
        orders=np.zeros((len(certificate.rows), 0), np.int32),
    )


def _check_arrays(certificate: DrawnCertificate, plain: Certificate) -> None:
    """Check that claims and plans belong to listed positions, and that each mix's weights add up to `UNIT`."""
    positions, most = len(plain), MOST_CLAIM * UNIT
    for name, length, low, high in (
        ("lowers", positions, 0, most),
        ("uppers", positions, -1, most),
        ("plan_rows", len(certificate.orders), 0, positions - 1),
        ("plan_sides", len(certificate.orders), OTHERS, MINE),
        ("weights", len(certificate.orders), 1, UNIT),
        ("orders", len(certificate.orders), -1, np.iinfo(np.int32).max),
    ):
        array = getattr(certificate, name)
        if len(array) != length or (array.size and not low <= array.min() <= array.max() <= high):
            raise CertificateError(f"{name}: give {length} numbers from {low} to {high}")
    sums = np.zeros((positions, 2), np.int64)
    np.add.at(sums, (certificate.plan_rows, certificate.plan_sides), certificate.weights)
    for side, claims in ((OTHERS, certificate.uppers >= 0), (MINE, certificate.lowers > 0)):
        wrong = np.flatnonzero(sums[:, side] != np.where(claims, UNIT, 0))
        if len(wrong):
            raise CertificateError(f"position {wrong[0]}: the weights of a mix add up to {UNIT}, and claims have mixes")


class Outcomes(NamedTuple):
    """The outcomes of a mix against every order of the other side.

    Attributes:
        keys, gains: int64 [n, plans of the mix], numbers of the next positions, and the deviator's points of the phase.
        passed: 1 if the phase ends the year, else 0. weights: int64 [plans of the mix].
    """

    keys: np.ndarray
    gains: np.ndarray
    passed: int
    weights: np.ndarray


class PhaseResult(NamedTuple):
    """A result of an order of the deviator while the others follow the path.

    Attributes:
        points: of the phase.
        place: where the game goes on unnoticed; None if it is over, or the deviation was noticed.
        number, left: of a noticed deviation, the number of the position and the years left; else NOTHING and 0.
    """

    points: int
    place: Place | None
    number: int
    left: int


class DrawnChecker(Checker):
    """Checks certificates of threat values of one board and deviator (or pair, see `DrawnCertificate`)."""

    def __init__(self, map_name: str, deviator: str) -> None:
        super().__init__(map_name, tuple(deviator.split("+")), is_symmetric=True)
        self._evident: list[int] = []  # for each key, see `evident`

    def check_mixes(self, certificate: DrawnCertificate, plain: Certificate) -> int:
        """As `check_drawn`; `plain` has the fields that `Checker` reads."""
        ways = self._walk(certificate, [step.state for step in self._played_path(plain)])
        numbers = np.array([self._number(row) for row in certificate.rows], np.int64)
        found = {
            (number, side): outcomes
            for number in range(len(plain))
            for side in (OTHERS, MINE)
            if (outcomes := self._outcomes(certificate, number, side)) is not None
        }
        upper, lower = self._worth_of_all(certificate, numbers)
        for (number, side), outcomes in found.items():
            self._check_claim(certificate, number, side, outcomes, lower if side == MINE else upper)
        self._check_both_ends(certificate, ways, upper, lower)
        return len(plain)

    def mixes(self, certificate: DrawnCertificate) -> Iterator[tuple[int, JointMix]]:
        """Each position's number and the others' mix there."""
        givers = [who for who in range(len(self.board.powers)) if who not in self.numbers]
        for number, row in enumerate(certificate.rows):
            position = Position(self.engine, State(self._layout, row.astype(np.int32)))
            mix: JointMix = []
            for plan in np.flatnonzero((certificate.plan_rows == number) & (certificate.plan_sides == OTHERS)):
                orders = [order for order in certificate.orders[plan].tolist() if order >= 0]
                given: dict[int, tuple[int, ...]] = {}
                for power, order in sorted(self._given(position, orders, givers, f"position {number}").values()):
                    given[power] = (*given.get(power, ()), order)
                mix.append((given, int(certificate.weights[plan])))
            yield number, mix

    def _worth_of_all(self, certificate: DrawnCertificate, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Upper and lower bounds on each position's value, times `UNIT`: int64 [years + 1, keys] twice.

        The tighter of claim and loose bound; 0 with no years left.
        """
        years = certificate.years
        limits = relaxed_bounds(len(self.board.provinces), years, len(self.numbers))
        upper = limits[:, *np.array(self._holdings, np.int64).reshape(-1, 3).T] * UNIT
        told = certificate.uppers.copy()
        told[told < 0] = MISSING
        np.minimum.at(upper, (certificate.years_left, numbers), told)
        lower = np.tile(np.array(self._evident, np.int64) * UNIT, (years + 1, 1))
        np.maximum.at(lower, (certificate.years_left, numbers), certificate.lowers)
        lower[0] = 0
        return upper, lower

    def _number(self, row: np.ndarray) -> int:
        number = super()._number(row)
        if number == len(self._evident):
            self._evident.append(evident(self.board, State(self._layout, row.astype(np.int32)), self.numbers))
        return number

    def _outcomes(self, certificate: DrawnCertificate, number: int, side: int) -> Outcomes | None:
        """The outcomes of a side's mix at a position; None if there is no mix."""
        chosen = np.flatnonzero((certificate.plan_rows == number) & (certificate.plan_sides == side))
        if not len(chosen):
            return None
        position = Position(self.engine, State(self._layout, certificate.rows[number].astype(np.int32)))
        others = [power for power in range(len(self.board.powers)) if power not in self.numbers]
        givers, repliers = (others, self.numbers) if side == OTHERS else (self.numbers, others)
        mix = [[order for order in plan if order >= 0] for plan in certificate.orders[chosen].tolist()]
        where = f"position {number}, {self._text_of(certificate.rows[number])}"
        givens = [self._given(position, plan, givers, where) for plan in mix]
        replies = np.array(list(plans_of(self.board, position, repliers, list(chain(*mix)))), np.int32)
        own = [(slot, power) for power in repliers for slot in position.slots(power)]
        steps = [self._step(position, replies, own, given) for given in givens]
        codes = np.unique(np.stack([np.stack([keys, gains], 1) for keys, gains, _ in steps], 1), axis=0)
        return Outcomes(codes[:, :, 0], codes[:, :, 1], steps[0][2], certificate.weights[chosen])

    def _given(self, position: Position, plan: list[int], givers: list[int], where: str) -> dict[int, tuple[int, int]]:
        """The orders of a plan: slot -> power and order.

        Raises:
            CertificateError: an order is illegal, or a slot has two orders.
        """
        found: dict[int, tuple[int, int]] = {}
        ordered: dict[int, list[int]] = {power: [] for power in givers}
        for order in plan:
            legal = order < len(self.board.orders.texts)
            power = next(
                (who for who in givers if legal and self._can_give(position, who, order, ordered[who])), NOTHING
            )
            slot = position.slot_of(power, order) if power >= 0 else None
            if slot is None or slot in found:
                raise CertificateError(f"{where}: order {order} cannot be given there")
            found[slot] = (power, order)
            ordered[power].append(order)
        return found

    def _step(
        self, position: Position, replies: np.ndarray, own: Slots, given: dict[int, tuple[int, int]]
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Numbers of the next positions and the deviator's points, int64 [replies] twice; 1 if the year ends or 0."""
        fixed = np.array([order for _, order in given.values()], np.int32)
        orders = np.concatenate([replies.reshape(len(replies), -1), np.tile(fixed, (len(replies), 1))], axis=1)
        columns = own + [(slot, power) for slot, (power, _) in given.items()]
        slots, powers = np.array(columns, np.int32).reshape(-1, 2).T
        rows, points = self._stepper.step(position.state.row, orders.astype(np.int32), slots.copy(), powers.copy())
        passed = int(rows[0, YEAR])
        rows[:, YEAR] = 0
        texts = rows.view(f"V{rows.dtype.itemsize * rows.shape[1]}")[:, 0]
        _, first, back = np.unique(texts, return_index=True, return_inverse=True)
        keys = np.array([self._number(rows[each]) for each in first], np.int64)[back.ravel()]
        return keys, points[:, self.numbers].sum(axis=1, dtype=np.int64), passed

    def _check_claim(
        self, certificate: DrawnCertificate, number: int, side: int, found: Outcomes, worth: np.ndarray
    ) -> None:
        """Check that a mix guarantees its claim."""
        years = int(certificate.years_left[number])
        told = (found.gains * UNIT + worth[years - found.passed, found.keys]) @ found.weights
        claim = int((certificate.lowers if side == MINE else certificate.uppers)[number]) * UNIT
        wrong = told.min() < claim if side == MINE else told.max() > claim
        if wrong:
            what, most = ("at least", told.min()) if side == MINE else ("at most", told.max())
            raise CertificateError(
                f"position {number}, {self._text_of(certificate.rows[number])}, {years} years left, said to be worth "
                f"{what} {claim / UNIT**2:.6f}: by this certificate the best reply makes it {most / UNIT**2:.6f}"
            )

    def _walk(self, certificate: DrawnCertificate, states: list[State]) -> dict[Place, list[PhaseResult]]:
        """All that the deviator can do before the others notice. `states` are the path's, after each phase."""
        engine = make_engine("fast", self.board, Rules(press=None, years=certificate.years))
        states, found = [engine.initial(), *states], dict[Place, list[PhaseResult]]()
        waiting = [(0, self.canonical(states[0]).tobytes(), ON_PATH)]
        while waiting:
            place = waiting.pop()
            if place not in found:
                texts = dict(certificate.path).get(Position(engine, states[place[0]]).phase, ())
                found[place] = list(self._phase_results(certificate, place, texts, states[place[0] + 1]))
                waiting += [way.place for way in found[place] if way.place is not None]
        return found

    def _phase_results(
        self, certificate: DrawnCertificate, place: Place, texts: tuple[str, ...], path: State
    ) -> Iterator[PhaseResult]:
        """The results of all orders of the deviator at a place. `path` is the path's position after the phase."""
        number, row, age = place
        following, left = self.canonical(path).tobytes(), certificate.years - path.year
        for to, gain in self._unnoticed_steps(row, texts):
            now = State(self._layout, np.frombuffer(to, np.int32))
            if path.done:
                yield PhaseResult(gain, None, NOTHING, 0)
            elif age == ON_PATH and to == following:
                yield PhaseResult(gain, (number + 1, to, ON_PATH), NOTHING, 0)
            elif is_seen(certificate.sight, self.board, self.numbers, now, path, age + 1):
                yield PhaseResult(gain, None, self._number(now.row), left)
            else:
                yield PhaseResult(gain, (number + 1, to, age + 1), NOTHING, 0)

    def _unnoticed_steps(self, row: bytes, texts: tuple[str, ...]) -> set[tuple[bytes, int]]:
        """Next positions and points, for all orders of the deviator; the others give the path's orders `texts`."""
        position = Position(self.engine, State(self._layout, np.frombuffer(row, np.int32)))
        given = still_given(position, texts, self.numbers)
        fixed = [(slot, who, order) for who, orders in given.items() for slot, order in orders.items()]
        plans = list(plans_of(self.board, position, self.numbers, [order for *_, order in fixed]))
        own = [(slot, who) for who in self.numbers for slot in position.slots(who)]
        orders = np.array([(*plan, *(order for *_, order in fixed)) for plan in plans], np.int32)
        columns = np.array(own + [each[:2] for each in fixed], np.int32).reshape(-1, 2)
        slots, powers = columns.T.copy()
        rows, points = self._stepper.step(position.state.row, orders.reshape(len(plans), -1), slots, powers)
        rows[:, YEAR] = 0
        return {(to.tobytes(), int(each[self.numbers].sum())) for to, each in zip(rows, points, strict=True)}

    def _check_both_ends(
        self, certificate: DrawnCertificate, ways: dict[Place, list[PhaseResult]], upper: np.ndarray, lower: np.ndarray
    ) -> None:
        """Check the bounds on the deviator's points with optimal deviation from the path."""
        worth: dict[Place, tuple[int, int]] = {}
        for place in sorted(ways, reverse=True):
            told = []
            for way in ways[place]:
                least, most = (0, 0) if way.place is None else worth[way.place]
                if way.number != NOTHING:
                    least, most = int(lower[way.left, way.number]), int(upper[way.left, way.number])
                told.append((way.points * UNIT + least, way.points * UNIT + most))
            worth[place] = max(least for least, _ in told), max(most for _, most in told)
        least, most = worth[min(ways)]
        if most > certificate.upper or least < certificate.lower:
            raise CertificateError(
                f"by this certificate the opening is worth {least / UNIT:.6f} to {most / UNIT:.6f}, "
                f"not {certificate.lower / UNIT:.6f} to {certificate.upper / UNIT:.6f}"
            )


def evident(board: Board, state: State, powers: list[int]) -> int:
    """Points that some powers can secure this year.

    In Winter one per center, since they may disband all units. Before Winter one per unit in a center with a single
    neighbor, where nobody can dislodge it.
    """
    if state.phase == WINTER:
        return int(np.isin(state.owners, powers).sum())
    places = [board.pieces[piece] for who, piece in state.units.tolist() if who in powers]
    centers = set(board.centers)
    return sum(len(board.moves[piece]) == 1 and piece[2:] in centers for piece in places)
