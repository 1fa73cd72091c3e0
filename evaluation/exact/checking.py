"""Checks certificates: reads positions, plays every order of the deviator with the engine, and compares numbers.

Nothing here searches, and nothing of the search's own code is used: rules, orders and retreats are the engine's, and
positions that differ only in names are found by trying all renamings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product

import numpy as np

from evaluation.checks import board_of
from evaluation.exact.certificates import Certificate, CertificateError
from evaluation.exact.planner import NO_ORDER, Stepper
from welfare_env import Board, Rules
from welfare_env.board.orders import BUILD, DISBAND, HOLD, MOVE, SUPPORT_HOLD, SUPPORT_MOVE
from welfare_env.engine import ADJUSTMENTS, MOVEMENT, WINTER, YEAR, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

Key = bytes


def check_certificate(certificate: Certificate) -> int:
    """Check that a certificate holds: nobody of those it is about gets more than it says.

    Returns:
        how many positions were checked.

    Raises:
        CertificateError: it does not hold; the message names the position, the order and the numbers.
    """
    return Checker(certificate.map_name, certificate.deviators, certificate.is_symmetric).check(certificate)


class Checker:
    """Checks certificates of one board and one deviator or coalition.

    What a position and its orders lead to is kept, so that certificates which share positions are checked faster.
    """

    def __init__(self, map_name: str, deviators: tuple[str, ...], is_symmetric: bool) -> None:
        self.board = board_of(map_name)
        self.engine = make_engine("fast", self.board, Rules(press=None, years=1))
        self.numbers = [self.board.power_index[self.board.check_power(power)] for power in deviators]
        self._names = _Renamings(self.board, self.numbers, is_symmetric)
        self._stepper = Stepper(self.board, Rules(press=None, years=2))
        self._layout = layout_of(self.board)
        self._expanded: dict[tuple[bytes, bytes], tuple[np.ndarray, np.ndarray, list[Key]]] = {}

    def check(self, certificate: Certificate) -> int:
        """As `check_certificate`; the certificate is about this board and these deviators."""
        self._check_arrays(certificate)
        claims = self._claims(certificate)
        most = relaxed_bounds(len(self.board.provinces), certificate.years, len(self.numbers))
        start = self.engine.initial().row.copy()
        first = claims.get((self._names.key(start), certificate.years))
        if first is None or first > certificate.value:
            raise CertificateError(f"the opening position is claimed to be worth {first}, not {certificate.value}")
        for number in range(len(certificate)):
            self._check_position(certificate, number, claims, most)
        return len(certificate)

    def _check_arrays(self, certificate: Certificate) -> None:
        shape = (len(certificate.rows), self._layout.size)
        counts = {len(certificate.rows), *map(len, (certificate.years_left, certificate.claims, certificate.orders))}
        if certificate.rows.shape != shape or len(counts) != 1:
            raise CertificateError(f"its arrays do not fit together, or not to map {certificate.map_name}")

    def _claims(self, certificate: Certificate) -> dict[tuple[Key, int], int]:
        """(position under any names, years left) -> the claim; the lowest if there are several, as each is checked."""
        found: dict[tuple[Key, int], int] = {}
        rows = zip(certificate.rows, certificate.years_left.tolist(), certificate.claims.tolist(), strict=True)
        for row, years, claim in rows:
            key = (self._names.key(row), years)
            found[key] = min(claim, found.get(key, claim))
        return found

    def _check_position(
        self, certificate: Certificate, number: int, claims: Mapping[tuple[Key, int], int], most: np.ndarray
    ) -> None:
        row = certificate.rows[number]
        years, claim = int(certificate.years_left[number]), int(certificate.claims[number])
        rows, gains, keys = self._successors(certificate, number)
        for to, gain, key in zip(rows, gains.tolist(), keys, strict=True):
            left = years - int(to[YEAR])
            worth = 0 if left == 0 else claims.get((key, left))
            if worth is None or gain + worth > claim:
                limit = int(most[(left, *holdings(State(self._layout, to), self.numbers))])
                if gain + limit > claim:
                    told = f"worth at most {limit}" if worth is None else f"claimed to be worth at most {worth}"
                    raise CertificateError(
                        f"position {number}, {self._named(row)}, {years} years left, claimed to be worth at most "
                        f"{claim}: an order leads to {gain} points and {self._named(to)}, {told}"
                    )

    def _successors(self, certificate: Certificate, number: int) -> tuple[np.ndarray, np.ndarray, list[Key]]:
        """What the deviators can bring about: positions (the year is 1 if one has passed), points, and keys."""
        row, given = certificate.rows[number], certificate.orders[number]
        known = (row.tobytes(), given[given >= 0].tobytes())
        if known not in self._expanded:
            orders, slots, powers = self._options(row, given[given >= 0], number)
            rows, points = self._stepper.step(row, orders, slots, powers)
            gains = points[:, self.numbers].sum(axis=1)
            rows, first = np.unique(rows, axis=0, return_index=True)
            self._expanded[known] = rows, gains[first], list(map(self._names.key, rows))
        return self._expanded[known]

    def _options(self, row: np.ndarray, given: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Orders of all, int32 [n, k], a row for each plan of the deviators; slots and powers of the columns."""
        position = Position(self.engine, State(self._layout, row))
        own = [(slot, power) for power in self.numbers for slot in position.slots(power)]
        others: dict[int, tuple[int, int]] = {}
        for order in given.tolist():
            slot, power = self._slot(position, order)
            if power < 0 or slot in others:
                text = self.board.orders.texts[order] if order < len(self.board.orders) else order
                raise CertificateError(f"position {number}, {self._named(row)}: order {text!r} cannot be given there")
            others[slot] = (power, order)
        fixed = [order for _, order in others.values()]
        plans = list(_plans(self.board, position, self.numbers, fixed))
        orders = np.array([(*plan, *fixed) for plan in plans], np.int32).reshape(len(plans), -1)
        columns = own + [(slot, power) for slot, (power, _) in others.items()]
        slots, powers = np.array(columns, np.int32).reshape(-1, 2).T
        return orders, slots.copy(), powers.copy()

    def _slot(self, position: Position, order: int) -> tuple[int, int]:
        """The slot of another power's order, and the power; -1 twice if nobody can give it."""
        for power in range(len(self.board.powers)):
            slot = position.slot_of(power, order) if power not in self.numbers else None
            if slot is not None:
                return slot, power
        return -1, -1

    def _named(self, row: np.ndarray) -> str:
        position = Position(self.engine, State(self._layout, row.astype(np.int32)))
        if position.state.done:
            return "the end"
        held = [
            f"{power} {' '.join((*units, '/', *position.centers[power]))}" for power, units in position.units.items()
        ]
        return f"{position.phase[0]}{position.phase[-1]} ({'; '.join(held)})"


def holdings(state: State, powers: list[int]) -> tuple[int, int, int]:
    """Whether it is Winter, and the centers and units of some powers, dislodged ones included."""
    units = np.isin(state.units[:, 0], powers).sum() + np.isin(state.dislodged[:, 0], powers).sum()
    return int(state.phase == WINTER), int(np.isin(state.owners, powers).sum()), int(units)


def relaxed_bounds(provinces: int, years: int, homes: int) -> np.ndarray:
    """A bound that needs no looking at the board: int64 [years left, is it Winter, centers, units].

    Every unit takes a center a year; in Winter any units may be disbanded, or one built in each home while there are
    more centers than units.
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


def _plans(board: Board, position: Position, powers: list[int], given: list[int]) -> Iterator[tuple[int, ...]]:
    """Every set of orders of some powers, an order or NO_ORDER for each slot, in sequence of powers and slots.

    Left out are supports of what is not ordered: they are holds.
    """
    if position.state.phase_type == ADJUSTMENTS:
        choices = [list(_winter(board, position, power)) for power in powers]
        yield from (sum(each, ()) for each in product(*choices))
        return
    lists = [position.slot_orders(slot).tolist() for power in powers for slot in position.slots(power)]
    if position.state.phase_type != MOVEMENT:
        yield from product(*lists)
        return
    kind = board.orders.kind
    moves = [[order for order in orders if kind[order] in (HOLD, MOVE)] for orders in lists]
    for plan in product(*moves):
        done = {_deed(board, order) for order in (*plan, *given)}
        yield from product(
            *(
                [order, *(other for other in orders if _supported(board, other) in done)]
                if kind[order] == HOLD
                else [order]
                for order, orders in zip(plan, lists, strict=True)
            )
        )


def _deed(board: Board, order: int) -> tuple[int, int]:
    """Who goes where; holding and supporting is going nowhere."""
    table = board.orders
    return int(table.piece[order]), int(table.dest[order]) if table.kind[order] == MOVE else -1


def _supported(board: Board, order: int) -> tuple[int, int] | None:
    """The deed that an order supports."""
    table = board.orders
    if table.kind[order] not in (SUPPORT_HOLD, SUPPORT_MOVE):
        return None
    return int(table.other[order]), int(table.dest[order]) if table.kind[order] == SUPPORT_MOVE else -1


def _winter(board: Board, position: Position, power: int) -> Iterator[tuple[int, ...]]:
    """Every set of disbands, and every set of builds, of a power."""
    lists = [(NO_ORDER, *position.slot_orders(slot).tolist()) for slot in position.slots(power)]
    most = int(position.adjustments[0][power])
    for plan in product(*lists):
        kinds = [board.orders.kind[order] for order in plan if order != NO_ORDER]
        built = kinds.count(BUILD)
        if built <= most and not (built and DISBAND in kinds):
            yield plan


class _Renamings:
    """Names positions so that two that differ only in the names of the other powers have the same key."""

    def __init__(self, board: Board, fixed: list[int], is_symmetric: bool) -> None:
        self._board, self._layout = board, layout_of(board)
        powers = range(len(board.powers))
        maps = list(_automorphisms(board, fixed)) if is_symmetric else [tuple(powers)]
        self._powers = np.array([(*names, -1) for names in maps])
        self._places = np.array([_places(board, names) for names in maps])  # new place of each province
        self._from = np.argsort(self._places, axis=1)
        self._known: dict[bytes, Key] = {}

    def key(self, row: np.ndarray) -> Key:
        """The key of a position, int32 [state size]; years and points do not count."""
        text = row.tobytes()
        if text not in self._known:
            self._known[text] = self._new_key(State(self._layout, row))
        return self._known[text]

    def _new_key(self, state: State) -> Key:
        board, provinces = self._board, len(self._board.provinces)
        owner, unit, lost = np.full((3, provinces), -1)
        owner[board.center_province] = state.owners
        units, gone = state.units, state.dislodged
        unit[board.piece_province[units[:, 1]]] = units[:, 0]
        lost[board.piece_province[gone[:, 1]]] = gone[:, 0]
        parts = [np.take_along_axis(self._powers[:, part], self._from, 1) for part in (owner, unit, lost)]
        if len(gone):
            open_to = np.zeros((provinces, provinces), np.int64)
            for piece, places in zip(gone[:, 1], state.retreats, strict=True):
                open_to[board.piece_province[piece], board.location_province[places[places >= 0]]] = 1
            parts.append(np.array([open_to[source][:, source].ravel() for source in self._from]))
        names = np.concatenate(parts, axis=1).astype(np.int8)
        least = names[np.lexsort(names.T[::-1])[0]]
        return bytes([int(state.phase)]) + least.tobytes()


def _automorphisms(board: Board, fixed: list[int]) -> Iterator[tuple[int, ...]]:
    """Renamings of the powers that leave some alone, and after which neighbors are neighbors."""
    powers = range(len(board.powers))
    pairs = {frozenset((piece[2:], place)) for piece, places in board.moves.items() for place in places}
    for names in permutations(powers):
        if all(names[power] == power for power in fixed):
            places = _places(board, names)
            new = {place: board.provinces[places[number]] for number, place in enumerate(board.provinces)}
            if {frozenset(new[place] for place in pair) for pair in pairs} == pairs:
                yield names


def _places(board: Board, names: tuple[int, ...]) -> list[int]:
    """Where the provinces go when the powers are renamed: homes with their owners, cores with their homes."""
    new: dict[str, str] = {}
    for power, renamed in enumerate(names):
        home, other = (board.homes[board.powers[each]][0] for each in (power, renamed))
        new[home] = other
        new.setdefault(board.moves[f"A {home}"][0], board.moves[f"A {other}"][0])
    return [board.provinces.index(new[place]) for place in board.provinces]
