"""Checks certificates: plays every order of the deviator in each listed position and compares with the claims.

There is no search here. Positions equal up to names are matched by trying renamings. The checker shares two things with
the search of `evaluation.exact.planner`: `Stepper` and the engine behind it, with its tables of legal orders. (The
search for punishers implements the rules separately, in `agents.toy_boards.kernels`.) For an independent check,
`reference_share` replays a fraction of the steps on the reference engine, the `diplomacy` package.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from agents.toy_boards.shape import clique_of
from evaluation.checks import EvaluationError, board_of, check_seed
from evaluation.exact.certificates import Certificate, CertificateError
from evaluation.exact.planner import NO_ORDER, Stepper
from evaluation.exact.rows.canonical import check_header, check_rows
from evaluation.exact.rows.renamings import Key, Renamings
from welfare_env import Board, Rules
from welfare_env.board.orders import BUILD, DISBAND, HOLD, MOVE, SUPPORT_HOLD, SUPPORT_MOVE
from welfare_env.checks import quoted
from welfare_env.engine import ADJUSTMENTS, MOVEMENT, WINTER, YEAR, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

NOTHING = -1
MISSING = np.iinfo(np.int64).max
MOST_GAIN = 1 << 12  # points of a phase


def check_certificate(certificate: Certificate, reference_share: float = 0.0, seed: int = 0) -> int:
    """Check that a certificate holds: its upper bound on the deviators' points, and its points on the path.

    Args:
        reference_share: fraction of the deviators' plans that the `diplomacy` package adjudicates, too (about 200 a
            second).
        seed: for drawing these plans.

    Returns:
        the number of positions checked.

    Raises:
        CertificateError: the certificate does not hold, or is not a `Certificate`; the message says where.
        EvaluationError: another argument is wrong.
    """
    if not isinstance(certificate, Certificate):
        raise CertificateError(f"certificate={quoted(certificate)}: give a Certificate; Certificate.load reads one")
    is_number = isinstance(reference_share, int | float) and not isinstance(reference_share, bool)
    if not is_number or not 0 <= reference_share <= 1:
        raise EvaluationError(f"reference_share={quoted(reference_share)}: give a share from 0 to 1")
    check_seed(seed)
    check_header(certificate)
    checker = Checker(certificate.map_name, certificate.deviators, certificate.is_symmetric, reference_share, seed)
    return checker.check(certificate)


class Expanded(NamedTuple):
    """The distinct outcomes that the deviators can reach from a position in one phase.

    Attributes:
        keys: int64 [n], numbers of the next positions.
        gains: int64 [n], points of the phase.
        passed: 1 if the phase ends the year, else 0.
    """

    keys: np.ndarray
    gains: np.ndarray
    passed: int


class PathStep(NamedTuple):
    """A phase of the path: the deviators' reachable outcomes, the years left, and the path's next position."""

    found: Expanded
    years: int
    to: int  # number of the next position
    state: State


class Checker:
    """Checks certificates of one board and one deviator or coalition.

    Outcomes are cached, so certificates that share positions are checked faster.

    Attributes:
        names: the keys of positions up to renamings.
        compared: number of plans that the reference engine adjudicated, too.
    """

    def __init__(
        self,
        map_name: str,
        deviators: tuple[str, ...],
        is_symmetric: bool,
        reference_share: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.board = board_of(map_name)
        if self.board.convoys:
            raise CertificateError(f"map {map_name!r:.80}: it has convoys; certificates are for boards without convoys")
        if is_symmetric:
            clique_of(self.board)  # raises on other boards; only here do homes and cores follow their players
        self.map_name, self.deviators, self.is_symmetric = self.board.name, deviators, is_symmetric
        self.engine = make_engine("fast", self.board, Rules(press=None, years=1))
        self.numbers = [self.board.power_index[self.board.check_power(power)] for power in deviators]
        self.compared = 0
        self._share, self._rng = reference_share, np.random.default_rng(seed)
        self._reference = make_engine("reference", self.board, Rules(press=None, years=2)) if reference_share else None
        self.names = Renamings(self.board, self.numbers, is_symmetric)
        self._stepper = Stepper(self.board, Rules(press=None, years=2))
        self._layout = layout_of(self.board)
        self._key_numbers: dict[Key, int] = {}
        self._holdings: list[tuple[int, int, int]] = []  # of each key, see `holdings`
        self._expanded: dict[tuple[bytes, bytes], Expanded] = {}

    def check(self, certificate: Certificate) -> int:
        """As `check_certificate`; the certificate must be for this board and these deviators."""
        check_header(certificate)
        mine = (self.map_name, self.deviators, self.is_symmetric)
        if (board_of(certificate.map_name).name, certificate.deviators, certificate.is_symmetric) != mine:
            raise CertificateError(f"{certificate!r:.200}: this checker is for {mine}")
        check_rows(certificate)
        path = self._played_path(certificate)
        found = [
            self._expand(row, given, f"position {number}")
            for number, (row, given) in enumerate(zip(certificate.rows, certificate.orders, strict=True))
        ]
        claims = self._claims(certificate)
        limits = relaxed_bounds(len(self.board.provinces), certificate.years, len(self.numbers))
        limits = limits[:, *np.array(self._holdings, np.int64).reshape(-1, 3).T]
        for number in range(len(certificate)):
            self._check_position(certificate, number, found[number], claims, limits)
        self._check_path(certificate, path, claims, limits)
        return len(certificate)

    def _claims(self, certificate: Certificate) -> np.ndarray:
        """Claims by years left and position number, MISSING if there is none: int64 [years + 1, keys].

        Of several claims, the lowest: every claim is checked.
        """
        numbers = np.array([self._number(row) for row in certificate.rows], np.int64)
        found = np.full((certificate.years + 1, len(self._key_numbers)), MISSING, np.int64)
        np.minimum.at(found, (certificate.years_left, numbers), certificate.claims)
        return found

    def _number(self, row: np.ndarray) -> int:
        """The number of a position; the same for all its renamings."""
        key = self.names.key(row)
        if key not in self._key_numbers:
            self._key_numbers[key] = len(self._key_numbers)
            self._holdings.append(holdings(State(self._layout, row), self.numbers))
        return self._key_numbers[key]

    def _check_position(
        self, certificate: Certificate, number: int, found: Expanded, claims: np.ndarray, limits: np.ndarray
    ) -> None:
        years, claim = int(certificate.years_left[number]), int(certificate.claims[number])
        told = _worth(found, years, claims, limits)
        place = int((found.gains + told).argmax())
        if found.gains[place] + told[place] > claim:
            raise CertificateError(
                f"position {number}, {self._text_of(certificate.rows[number])}, {years} years left, said to be worth "
                f"at most {claim}: an order gets {found.gains[place]} points and leads to a position worth up to "
                f"{told[place]} by this certificate"
            )

    def _played_path(self, certificate: Certificate) -> list[PathStep]:
        """Play and check the path: its orders must be legal, and it must pay `path_value`."""
        played = make_engine("fast", self.board, Rules(press=None, years=certificate.years))
        state, found = played.initial(), []
        path = dict(certificate.path)
        if len(path) < len(certificate.path):
            raise CertificateError("path: a phase occurs twice")
        while not state.done:
            position = Position(played, state)
            orders = self._path_orders(position, path.pop(position.phase, ()))
            others = [order for who, given in enumerate(orders) if who not in self.numbers for order in given]
            expanded = self._expand(self.canonical(state), np.array(others, np.int32), f"the path in {position.phase}")
            years = certificate.years - state.year
            state, _ = played.step(state, [np.array(given, np.int32) for given in orders])
            to = NOTHING if state.done else self._number(self.canonical(state))
            found.append(PathStep(expanded, years, to, state))
        if path:
            raise CertificateError(f"path: the game has no phase {next(iter(path))!r:.40}")
        if (paid := int(state.welfare[self.numbers].sum())) != certificate.path_value:
            raise CertificateError(f"the path pays {paid}, not {certificate.path_value}")
        return found

    def _path_orders(self, position: Position, texts: tuple[str, ...]) -> list[list[int]]:
        """Each power's orders in a phase of the path. Raises CertificateError if an order is illegal."""
        found: list[list[int]] = [[] for _ in self.board.powers]
        for text in texts:
            order = self.board.orders.index.get(text, NOTHING)
            givers = [power for power in range(len(found)) if self._can_give(position, power, order, found[power])]
            slots = {position.slot_of(power, each) for power in givers for each in found[power]}
            if not givers or position.slot_of(givers[0], order) in slots:
                raise CertificateError(f"path: order {text!r:.60} cannot be given in {position.phase}")
            found[givers[0]].append(order)
        return found

    def _check_path(
        self, certificate: Certificate, path: list[PathStep], claims: np.ndarray, limits: np.ndarray
    ) -> None:
        """Check that leaving the path in any phase gets the deviators at most `value`."""
        worth = 0
        for found, years, to, _ in reversed(path):
            told = _worth(found, years, claims, limits)
            worth = int((found.gains + np.where(found.keys == to, worth, told)).max())
        if worth > certificate.value:
            raise CertificateError(f"the opening is worth up to {worth} by this certificate, not {certificate.value}")

    def canonical(self, state: State) -> np.ndarray:
        """The canonical row of a position, with year 0."""
        rows = state.row[None].copy()
        self._stepper.make_canonical(rows)
        rows[0, YEAR] = 0
        return np.asarray(rows[0])

    def _expand(self, row: np.ndarray, given: np.ndarray, where: str) -> Expanded:
        """The deviators' reachable outcomes from a position. Cached regardless of the year."""
        given = given[given >= 0]
        known = (row.astype(np.int16).tobytes(), given.astype(np.int16).tobytes())
        if known not in self._expanded:
            orders, slots, powers = self._all_orders(row, given, where)
            rows, points = self._stepper.step(row.astype(np.int32), orders, slots, powers)
            if self._share:
                self._compare_with_reference(row, orders, powers, rows, points)
            first = _first_of_each(rows)
            gains = points[first][:, self.numbers].sum(axis=1, dtype=np.int64)
            passed = int(rows[0, YEAR])
            rows[:, YEAR] = 0
            keys = np.array([self._number(rows[number]) for number in first], np.int64)
            codes = np.unique(keys * MOST_GAIN + gains)
            self._expanded[known] = Expanded(codes // MOST_GAIN, codes % MOST_GAIN, passed)
        return self._expanded[known]

    def _all_orders(self, row: np.ndarray, given: np.ndarray, where: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Everybody's orders, int32 [n, k], one row per plan of the deviators; slots and powers of the columns."""
        position = Position(self.engine, State(self._layout, row.astype(np.int32)))
        own = [(slot, power) for power in self.numbers for slot in position.slots(power)]
        others: dict[int, tuple[int, int]] = {}
        ordered: dict[int, list[int]] = {power: [] for power in range(len(self.board.powers))}
        for order in given.tolist():
            slot, power = self._slot(position, order, ordered)
            if power < 0 or slot in others:
                text = self.board.orders.texts[order]
                raise CertificateError(f"{where}, {self._text_of(row)}: order {text!r} cannot be given there")
            others[slot] = (power, order)
            ordered[power].append(order)
        fixed = [order for _, order in others.values()]
        plans = list(plans_of(self.board, position, self.numbers, fixed))
        orders = np.array([(*plan, *fixed) for plan in plans], np.int32).reshape(len(plans), -1)
        columns = own + [(slot, power) for slot, (power, _) in others.items()]
        slots, powers = np.array(columns, np.int32).reshape(-1, 2).T
        return orders, slots.copy(), powers.copy()

    def _slot(self, position: Position, order: int, ordered: dict[int, list[int]]) -> tuple[int, int]:
        """The slot of an order of the others, and its power; (-1, -1) if none of them can give it."""
        for power in range(len(self.board.powers)):
            if power not in self.numbers and self._can_give(position, power, order, ordered[power]):
                return position.slot_of(power, order) or 0, power
        return -1, -1

    def _can_give(self, position: Position, power: int, order: int, before: list[int]) -> bool:
        """Whether a power may give an order in addition to those before it."""
        if position.state.phase_type == ADJUSTMENTS:
            return order in position.winter_orders(power, before)
        return position.slot_of(power, order) is not None

    def _compare_with_reference(
        self, row: np.ndarray, orders: np.ndarray, powers: np.ndarray, rows: np.ndarray, points: np.ndarray
    ) -> None:
        """Check a random fraction of the plans, and the legal orders, against the `diplomacy` package."""
        chosen = np.flatnonzero(self._rng.random(len(orders)) < self._share)
        state = State(self._layout, row.astype(np.int32))
        if self._reference is None or not len(chosen):
            return
        if not np.array_equal(self._reference.legal(state).orders, self.engine.legal(state).orders):
            raise CertificateError(f"{self._text_of(row)}: the reference engine has other legal orders")
        for number in chosen.tolist():
            given = [[] for _ in self.board.powers]  # type: list[list[int]]
            for who, order in zip(powers.tolist(), orders[number].tolist(), strict=True):
                given[who] += [order] if order != NO_ORDER else []
            to, _ = self._reference.step(state, [np.array(each, np.int32) for each in given])
            canonical = to.row[None].copy()
            self._stepper.make_canonical(canonical)
            if not np.array_equal(canonical[0], rows[number]) or not np.array_equal(to.welfare, points[number]):
                texts = [self.board.orders.texts[order] for each in given for order in each]
                raise CertificateError(f"{self._text_of(row)}: the reference engine has another result for {texts}")
            self.compared += 1

    def _text_of(self, row: np.ndarray) -> str:
        position = Position(self.engine, State(self._layout, row.astype(np.int32)))
        held = [
            f"{power} {' '.join((*units, '/', *position.centers[power]))}" for power, units in position.units.items()
        ]
        return f"{position.phase[0]}{position.phase[-1]} ({'; '.join(held)})"


def _worth(found: Expanded, years: int, claims: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Upper bound on the points after each outcome, from claims and loose bounds: int64 [n]."""
    left = years - found.passed
    return np.minimum(claims[left, found.keys], limits[left, found.keys])


def _first_of_each(rows: np.ndarray) -> list[int]:
    """The first index of each distinct row."""
    found: dict[bytes, int] = {}
    for number, text in enumerate(rows.view(f"V{rows.dtype.itemsize * rows.shape[1]}")[:, 0].tolist()):
        found.setdefault(text, number)
    return list(found.values())


def holdings(state: State, powers: list[int]) -> tuple[int, int, int]:
    """Whether it is Winter, and the powers' total centers and units, including dislodged units."""
    units = np.isin(state.units[:, 0], powers).sum() + np.isin(state.dislodged[:, 0], powers).sum()
    return int(state.phase == WINTER), int(np.isin(state.owners, powers).sum()), int(units)


def relaxed_bounds(provinces: int, years: int, homes: int) -> np.ndarray:
    """An upper bound on points that ignores positions: int64 [years left, is it Winter, centers, units].

    It assumes that every unit takes a center a year. In Winter any units may be disbanded, or one built per home while
    there are more centers than units.
    """
    size = provinces + 1
    found = np.zeros((years + 1, 2, size, size), np.int64)
    for left in range(1, years + 1):
        for centers, units in product(range(size), range(size)):
            most = min(centers, units + homes) if units < centers else centers
            found[left, 1, centers, units] = max(
                centers - kept + found[left - 1, 0, centers, kept] for kept in range(most + 1)
            )
        for centers, units in product(range(size), range(size)):
            found[left, 0, centers, units] = found[left, 1, min(centers + units, provinces), units]
    return found


def plans_of(board: Board, position: Position, powers: list[int], given: list[int]) -> Iterator[tuple[int, ...]]:
    """All joint orders of some powers: an order or NO_ORDER per slot, by power and slot.

    Supports that do not match the supported unit's order are left out, as they act as holds.
    """
    if position.state.phase_type == ADJUSTMENTS:
        choices = [list(_winter_plans(board, position, power)) for power in powers]
        yield from (sum(each, ()) for each in product(*choices))
        return
    lists = [position.slot_orders(slot).tolist() for power in powers for slot in position.slots(power)]
    if position.state.phase_type != MOVEMENT:
        yield from product(*lists)
        return
    kind, (deeds, supported) = board.orders.kind, _deeds(board)
    moves = [[order for order in orders if kind[order] in (HOLD, MOVE)] for orders in lists]
    helps = [[(supported[order], order) for order in orders if supported[order] != NOTHING] for orders in lists]
    holds = {order for orders in moves for order in orders if kind[order] == HOLD}
    fixed = {deeds[order] for order in given}
    for plan in product(*moves):
        done = fixed.union([deeds[order] for order in plan])
        yield from product(
            *(
                [order, *(other for deed, other in help if deed in done)] if order in holds else (order,)
                for order, help in zip(plan, helps, strict=True)
            )
        )


@functools.lru_cache(maxsize=32)
def _deeds(board: Board) -> tuple[list[int], list[int]]:
    """Each order's deed (its unit and destination, as a number), and the deed that it supports, or NOTHING.

    Holds and supports have no destination.
    """
    table, places = board.orders, len(board.locations) + 1
    is_move, supports_move = table.kind == MOVE, table.kind == SUPPORT_MOVE
    deeds = table.piece.astype(np.int64) * places + np.where(is_move, table.dest + 1, 0)
    helped = table.other.astype(np.int64) * places + np.where(supports_move, table.dest + 1, 0)
    return deeds.tolist(), np.where(supports_move | (table.kind == SUPPORT_HOLD), helped, NOTHING).tolist()


def _winter_plans(board: Board, position: Position, power: int) -> Iterator[tuple[int, ...]]:
    """All sets of disbands and all sets of builds of a power."""
    lists = [(NO_ORDER, *position.slot_orders(slot).tolist()) for slot in position.slots(power)]
    most = int(position.adjustments[0][power])
    for plan in product(*lists):
        kinds = [board.orders.kind[order] for order in plan if order != NO_ORDER]
        built = kinds.count(BUILD)
        if built <= most and not (built and DISBAND in kinds):
            yield plan
