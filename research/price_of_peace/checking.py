"""Checks certificates with the engine and integer arithmetic: no search, no floats.

The checker plays every joint order of either side against the other side's mix, in each listed position and along the
path. It shares with the searches the engine, and with those for policies the lists of joint orders (`Expander`); the
search for punishers has its own rules (`agents.toy_boards.kernels`) and its own names for equal positions.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from agents.toy_boards.shape import NOBODY, Clique, clique_of
from evaluation.exact.graph_kernels import BUILD_HERE, DISBAND_HERE
from evaluation.exact.phases import Expander, Given, Stepper
from evaluation.exact.punisher_search import first_bounds
from research.price_of_peace.certificates import MINE, OTHERS, UNIT, Certificate
from welfare_env import Rules, load_board
from welfare_env.engine import ADJUSTMENTS, MOVEMENT, PHASE_TYPES, RETREATS, WINTER, YEAR, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

MAX_POINTS = 2_000  # MAX_POINTS * UNIT**2 fits into int64


class CertificateError(ValueError):
    """The certificate does not hold. The message says where it fails."""


class Outcomes(NamedTuple):
    """The outcomes of a mix against every order of the other side, or of the deviator's orders on the path.

    Attributes:
        numbers, gains: int64 [n, plans of the mix], numbers of the next positions, and the deviator's points.
        passed: 1 if the phase ends the year, else 0.
        weights: int64 [plans of the mix].
    """

    numbers: np.ndarray
    gains: np.ndarray
    passed: int
    weights: np.ndarray


def check(certificate: Certificate) -> int:
    """Check that a certificate holds.

    Returns:
        the number of positions checked.

    Raises:
        CertificateError: it does not hold; the message says where.
    """
    return Checker(certificate.map_name, certificate.deviator).check(certificate)


class Checker:
    """Checks certificates of one board and deviator; what positions lead to is remembered between them."""

    def __init__(self, map_name: str, deviator: str) -> None:
        self.board = load_board(map_name)
        self.clique, self.deviator = clique_of(self.board), self.board.power_index[deviator]
        self.others = tuple(who for who in range(len(self.board.powers)) if who != self.deviator)
        self.engine, self.stepper = self._engine(1), Stepper(self.board, Rules(press=None, years=2))
        self._replies = {
            OTHERS: Expander(self.board, (self.deviator,), self.stepper),
            MINE: Expander(self.board, self.others, self.stepper),
        }
        self._names = Renamings(self.clique, self.deviator)
        self._numbers: dict[bytes, int] = {}
        self._keys: dict[bytes, int] = {}  # canonical row of the engine -> number
        self._loose: list[np.ndarray] = []  # of each number, by years left
        self._evident: list[int] = []
        self._bounds = first_bounds(len(self.board.provinces))
        self._known: dict[bytes, Outcomes] = {}

    def check(self, certificate: Certificate) -> int:
        """As `check`; the certificate must be for this board and deviator."""
        self._check_arrays(certificate)
        path = self._played_path(certificate)
        numbers = np.array([self._number(row) for row in certificate.rows], np.int64)
        found = {}
        for number in range(len(certificate)):
            for side, claims in ((OTHERS, certificate.uppers[number] >= 0), (MINE, certificate.lowers[number] > 0)):
                if claims:
                    found[number, side] = self._outcomes(certificate, number, side)
        upper, lower = self._worth_of_all(certificate, numbers)
        for (number, side), outcomes in found.items():
            self._check_claim(certificate, number, side, outcomes, lower if side == MINE else upper)
        self._check_both_ends(certificate, path, upper, lower)
        return len(certificate)

    def outcomes(self, row: np.ndarray, plans: np.ndarray, weights: np.ndarray, side: int, where: str) -> Outcomes:
        """The outcomes of a mix at a position; cached."""
        key = b"".join(each.astype(np.int64).tobytes() for each in (row, plans, weights)) + bytes([side])
        if key not in self._known:
            position = Position(self.engine, self._state(row, where))
            givers = self.others if side == OTHERS else (self.deviator,)
            try:
                ways = [self._given(position, plan, givers, where) for plan in plans]
            except IndexError as error:
                raise CertificateError(f"{where}: an order to a place that does not exist") from error
            self._known[key] = self._played(position, ways, weights, side)
        return self._known[key]

    def _outcomes(self, certificate: Certificate, number: int, side: int) -> Outcomes:
        chosen = np.flatnonzero((certificate.plan_rows == number) & (certificate.plan_sides == side))
        if certificate.weights[chosen].sum() != UNIT:
            raise CertificateError(f"position {number}: the weights of a mix do not add up to {UNIT}")
        given = certificate.orders[chosen], certificate.weights[chosen]
        return self.outcomes(certificate.rows[number], *given, side, f"position {number}")

    def _played(self, position: Position, ways: list[Given], weights: np.ndarray, side: int) -> Outcomes:
        found = self._replies[side].expand(position, ways)
        gains, passed = found.points[..., self.deviator].astype(np.int64), int(found.rows[0, 0, YEAR])
        found.rows[..., YEAR] = 0
        rows = found.rows.reshape(-1, found.rows.shape[-1])
        _, first, back = np.unique(
            rows.view(f"V{rows.dtype.itemsize * rows.shape[1]}")[:, 0], return_index=True, return_inverse=True
        )
        numbers = np.array([self.number_of(State(layout_of(self.board), rows[each])) for each in first], np.int64)
        codes = np.unique(np.stack([numbers[back.reshape(gains.shape)], gains], 1), axis=0)
        return Outcomes(codes[:, 0], codes[:, 1], passed, weights.astype(np.int64))

    def number_of(self, state: State) -> int:
        """The number of a position of the engine."""
        key = state.row.tobytes()
        if key not in self._keys:
            owner, unit = self.clique.rows(state)
            lost, options = self.clique.lost_rows(state)
            self._keys[key] = self._number(np.concatenate([[state.phase], owner, unit, lost, options]).astype(np.int64))
        return self._keys[key]

    def _number(self, row: np.ndarray) -> int:
        """The number of a position; the same for all its renamings."""
        key = self._names.key(row)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            phase, owner, unit, lost, _ = split(self.clique, row)
            centers, units = ((owner == self.deviator).sum(), (unit == self.deviator).sum())
            self._loose.append(self._bounds[:, phase, centers, units + (lost == self.deviator).sum()].astype(np.int64))
            # In Winter a point per center; before, one per unit in a leaf, where nobody can dislodge it.
            in_leaves = (unit[self.clique.cores :] == self.deviator).sum()
            self._evident.append(int(centers if phase == WINTER else in_leaves))
        return self._numbers[key]

    def _worth_of_all(self, certificate: Certificate, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Upper and lower bounds on each position's value, times `UNIT`: int64 [years + 1, numbers] twice.

        The tighter of claim and loose bound; 0 with no years left.
        """
        upper = np.array(self._loose).T[: certificate.years + 1] * UNIT
        told = np.where(certificate.uppers < 0, MAX_POINTS * UNIT, certificate.uppers)
        np.minimum.at(upper, (certificate.years_left, numbers), told)
        lower = np.tile(np.array(self._evident, np.int64) * UNIT, (certificate.years + 1, 1))
        np.maximum.at(lower, (certificate.years_left, numbers), certificate.lowers)
        lower[0] = 0
        return upper, lower

    def _check_claim(
        self, certificate: Certificate, number: int, side: int, found: Outcomes, worth: np.ndarray
    ) -> None:
        """Check that a mix guarantees its claim."""
        years = int(certificate.years_left[number])
        told = (found.gains * UNIT + worth[years - found.passed, found.numbers]) @ found.weights
        claim = int((certificate.lowers if side == MINE else certificate.uppers)[number]) * UNIT
        if told.min() < claim if side == MINE else told.max() > claim:
            reached = (told.min() if side == MINE else told.max()) / UNIT**2
            raise CertificateError(
                f"position {number}, {years} years left, claimed to be worth at {'least' if side == MINE else 'most'} "
                f"{claim / UNIT**2:.6f}: a reply makes it {reached:.6f}"
            )

    def _played_path(self, certificate: Certificate) -> list[tuple[Outcomes, np.ndarray, int]]:
        """Per phase: what the deviator can reach, which of it is the path, and the years left after the phase."""
        engine, orders, found = self._engine(certificate.years), dict(certificate.path), []
        state = engine.initial()
        while not state.done:
            position = Position(engine, state)
            given = self._given_texts(position, orders.pop(position.phase, ()))
            others = {who: slots for who, slots in given.items() if who != self.deviator}
            start = Position(self.engine, self._canonical(state))
            outcomes = self._played(start, [others], np.array([UNIT]), OTHERS)
            played = [np.array(list(given.get(who, {}).values()), np.int32) for who in range(len(self.board.powers))]
            state, _ = engine.step(state, played)
            stays = outcomes.numbers[:, 0] == (-1 if state.done else self.number_of(self._canonical(state)))
            found.append((outcomes, stays, certificate.years - state.year if not state.done else 0))
        if orders or state.welfare[self.deviator] != certificate.path_value:
            raise CertificateError(f"the path pays {state.welfare[self.deviator]}, or has other phases: {[*orders]}")
        return found

    def _check_both_ends(
        self,
        certificate: Certificate,
        path: list[tuple[Outcomes, np.ndarray, int]],
        upper: np.ndarray,
        lower: np.ndarray,
    ) -> None:
        """Check the bounds on the deviator's points if it stays or leaves the path in any phase."""
        least = most = 0
        for outcomes, stays, left in reversed(path):
            numbers, gains = outcomes.numbers[:, 0], outcomes.gains[:, 0] * UNIT
            most = int((gains + np.where(stays, most, upper[left, numbers])).max())
            least = int((gains + np.where(stays, least, lower[left, numbers])).max())
        if most > certificate.upper or least < certificate.lower:
            raise CertificateError(
                f"by this certificate the opening is worth {least / UNIT:.6f} to {most / UNIT:.6f}, "
                f"not {certificate.lower / UNIT:.6f} to {certificate.upper / UNIT:.6f}"
            )

    # Translation to the engine

    def _engine(self, years: int):  # type: ignore[no-untyped-def]
        return make_engine("fast", self.board, Rules(press=None, years=years))

    def _canonical(self, state: State) -> State:
        rows = state.row[None].copy()
        self.stepper.make_canonical(rows)
        rows[0, YEAR] = 0
        return State(layout_of(self.board), rows[0])

    def _state(self, row: np.ndarray, where: str) -> State:
        """A position of a certificate, in the engine's form, so that whatever it lists is canonical."""
        clique, board = self.clique, self.board
        phase, owner, unit, lost, options = split(clique, row)
        pieces = [board.piece_index[piece] for piece in clique.piece]
        units = sorted((int(unit[p]), pieces[p]) for p in range(len(unit)) if unit[p] >= 0)
        gone = sorted((int(lost[c]), pieces[c], int(options[c])) for c in range(len(lost)) if lost[c] >= 0)
        retreats = np.full((len(gone), len(unit)), -1)
        for line, (_, piece, bits) in zip(retreats, gone, strict=True):
            near = board.moves[board.pieces[piece]]
            open_to = sorted(board.location_index[clique.piece[p][2:]] for p in range(len(unit)) if bits >> p & 1)
            if not {board.locations[place] for place in open_to} <= set(near):
                raise CertificateError(f"{where}: it lists a retreat to a place that is not adjacent")
            line[: len(open_to)] = open_to
        if bool(gone) != (PHASE_TYPES[phase] == RETREATS):
            raise CertificateError(f"{where}: {len(gone)} dislodged units in phase {phase}")
        owners = np.full(len(board.centers), NOBODY)
        owners[board.province_center[clique.province]] = owner
        nothing = np.zeros(clique.powers, np.int32), np.zeros(len(board.provinces), np.int32)
        return State.pack(
            layout_of(board),
            phase,
            0,
            np.array(units, np.int32).reshape(-1, 2),
            np.array([each[:2] for each in gone], np.int32).reshape(-1, 2),
            retreats,
            owners,
            *nothing,
        )

    def _given(self, position: Position, plan: np.ndarray, givers: tuple[int, ...], where: str) -> Given:
        """The orders of a plan by power and slot."""
        clique, state, texts = self.clique, position.state, []
        (_, unit), words = clique.rows(state), {DISBAND_HERE: "D", BUILD_HERE: "B"}
        for p, order in enumerate(plan.tolist()):
            piece = clique.piece[p]
            if state.phase_type == ADJUSTMENTS:
                texts += [f"{piece} {words[order]}"] if order in words else []
            elif state.phase_type == MOVEMENT:
                texts += [clique.order_text(p, order)] if unit[p] in givers and order >= 0 else []
            elif p < clique.cores and clique.lost_rows(state)[0][p] in givers:
                texts.append(f"{piece} D" if order < 0 else f"{piece} R {clique.piece[order][2:]}")
        found = self._given_texts(position, tuple(texts))
        if not set(found) <= set(givers):
            raise CertificateError(f"{where}: orders of another side")
        return found

    def _given_texts(self, position: Position, texts: tuple[str, ...]) -> Given:
        """Orders by power and slot. Raises CertificateError if one cannot be given, or not with the rest."""
        found: Given = {}
        for text in texts:
            order = self.board.orders.index.get(text, -1)
            for who in range(len(self.board.powers)):
                given = found.get(who, {})
                slot = position.slot_of(who, order)
                if position.state.phase_type == ADJUSTMENTS and order not in position.winter_orders(
                    who, list(given.values())
                ):
                    continue
                if slot is not None and slot not in given:
                    found.setdefault(who, {})[slot] = order
                    break
            else:
                raise CertificateError(f"{text!r:.60} cannot be given in {position.phase}")
        return found

    def _check_arrays(self, certificate: Certificate) -> None:
        """Check that numbers are in range, since compiled code is given them."""
        clique, positions, plans = self.clique, len(certificate.rows), len(certificate.orders)
        places = clique.cores + clique.powers
        if certificate.deviator != self.board.powers[self.deviator] or certificate.map_name != self.board.name:
            raise CertificateError(f"this checker is for {self.board.powers[self.deviator]} on {self.board.name}")
        _, owner, unit, lost, options = split(clique, certificate.rows)
        for name, array, length, low, high in (
            ("phases", certificate.rows[:, 0], positions, 0, WINTER),
            ("owners and units", np.hstack([owner, unit, lost]), positions, NOBODY, clique.powers - 1),
            ("retreats", options, positions, 0, (1 << places) - 1),
            ("years_left", certificate.years_left, positions, 1, certificate.years),
            ("uppers", certificate.uppers, positions, -1, MAX_POINTS * UNIT),
            ("lowers", certificate.lowers, positions, 0, MAX_POINTS * UNIT),
            ("plan_rows", certificate.plan_rows, plans, 0, positions - 1),
            ("plan_sides", certificate.plan_sides, plans, OTHERS, MINE),
            ("weights", certificate.weights, plans, 1, UNIT),
            ("orders", certificate.orders, plans, NOBODY, 255),
        ):
            if len(array) != length or (array.size and not low <= array.min() <= array.max() <= high):
                raise CertificateError(f"{name}: give {length} from {low} to {high}")


def split(clique: Clique, rows: np.ndarray) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Phase, owners, units, dislodged units and their retreats of a row, or of rows (then the phase is the first's)."""
    places, cores = clique.cores + clique.powers, clique.cores
    phase, owner, unit, lost, options = np.split(rows, [1, 1 + places, 1 + 2 * places, 1 + 2 * places + cores], axis=-1)
    return int(phase.flat[0]) if phase.size else 0, owner, unit, lost, options


class Renamings:
    """Keys that are equal for positions that differ only in the names of powers other than `fixed`.

    Each key comes from a symmetry of the board, so positions with equal keys are equal up to names.
    """

    def __init__(self, clique: Clique, fixed: int) -> None:
        self._clique = clique
        sharers = {0, clique.cores} if clique.is_shared else set()
        names = [
            new
            for new in permutations(range(clique.powers))
            if new[fixed] == fixed and all((who in sharers) == (to in sharers) for who, to in enumerate(new))
        ]
        self._powers = np.array([(*new, NOBODY) for new in names])
        cores = [[0 if clique.is_shared and core == 0 else new[core] for core in range(clique.cores)] for new in names]
        places = np.hstack([np.array(cores), clique.cores + self._powers[:, :-1]])
        self._places, self._from = places, np.argsort(places, axis=1)
        self._known: dict[bytes, bytes] = {}

    def key(self, row: np.ndarray) -> bytes:
        """The key of a position, as in `Certificate.rows`."""
        text = row.astype(np.int64).tobytes()
        if text not in self._known:
            self._known[text] = self._new_key(row)
        return self._known[text]

    def _new_key(self, row: np.ndarray) -> bytes:
        phase, owner, unit, lost, options = split(self._clique, row)
        chosen = self._candidates(owner, unit, lost)
        powers, source = self._powers[chosen], self._from[chosen]
        cores = source[:, : self._clique.cores]
        parts = [np.take_along_axis(powers[:, owner], source, 1), np.take_along_axis(powers[:, unit], source, 1)]
        if (lost >= 0).any():
            bits = options[:, None] >> np.arange(len(owner)) & 1
            moved = (bits << self._places[chosen][:, None]).sum(axis=2)
            parts += [np.take_along_axis(powers[:, lost], cores, 1), np.take_along_axis(moved, cores, 1)]
        names = np.concatenate(parts, axis=1)
        return bytes([phase]) + names[np.lexsort(names.T[::-1])[0]].tobytes()

    def _candidates(self, owner: np.ndarray, unit: np.ndarray, lost: np.ndarray) -> np.ndarray:
        """The renamings that sort the players by the state of their homes, the only ones tried: bool [renamings]."""
        clique, signs = self._clique, []
        for power in range(clique.powers):
            home, core = clique.cores + power, clique.home(power)
            code = (owner == power).sum() * 16 + (unit == power).sum()
            for who in (owner[home], unit[home], owner[core], unit[core], lost[core]):
                code = 3 * code + (0 if who < 0 else 1 if who == power else 2)
            signs.append(code)
        named = np.array(signs)[np.argsort(self._powers[:, :-1], axis=1)]
        steps = np.maximum.accumulate(named, axis=1).sum(axis=1) - named.sum(axis=1)
        return np.asarray(steps == steps.min())
