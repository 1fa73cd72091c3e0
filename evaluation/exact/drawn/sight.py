"""A power's points from deviating from a path if the others notice late, or only from adjacent provinces.

Until they notice, they give the path's orders, as far as these are still legal. From then on all know the deviator, and
minimize its points by jointly randomized threats. An attack that dislodges a unit is noticed at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from evaluation.exact.certificates import Certificate, CertificateError
from evaluation.exact.checking import PathStep, plans_of
from evaluation.exact.drawn.certificates import UNIT, DrawnCertificate
from evaluation.exact.drawn.checking import DrawnChecker, check_with
from evaluation.exact.drawn.proofs import OVER, Path, PathThreats, by_power
from evaluation.exact.drawn.threats import ThreatSearch
from evaluation.exact.planner import Expander, Given, Stepper
from welfare_env import Board, Rules
from welfare_env.engine import ADJUSTMENTS, YEAR, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

ON_PATH = -1  # instead of an age: the power has not deviated
NEXT = -1  # sight: a deviation is noticed only from adjacent provinces; 0 or more: delay in phases


def is_seen(sight: int, board: Board, power: int, now: State, path: State, age: int) -> bool:
    """Whether the others notice that a power has deviated.

    Args:
        now, path: the game's position, and the path's. age: phases since the deviation.
    """
    if now.phase != path.phase:
        return True
    return age >= sight if sight != NEXT else not _near(board, power, now, path).isdisjoint(_unlike(board, now, path))


def _places(board: Board, state: State) -> dict[str, tuple[int, int]]:
    """The powers of each province's unit and center, -1 for none."""
    found = dict.fromkeys(board.provinces, (-1, -1))
    for who, piece in state.units.tolist():
        found[board.pieces[piece][2:]] = (who, -1)
    for name, owner in zip(board.centers, state.owners.tolist(), strict=True):
        found[name] = (found[name][0], owner)
    return found


def _unlike(board: Board, now: State, path: State) -> set[str]:
    """The provinces where a position differs from the path's."""
    there = _places(board, path)
    return {name for name, held in _places(board, now).items() if held != there[name]}


def _near(board: Board, power: int, now: State, path: State) -> set[str]:
    """The provinces that the others see: those they occupy or own, now or on the path, and their neighbors."""
    own = set[str]()
    for state in (now, path):
        own |= {name for name, held in _places(board, state).items() if any(who not in (-1, power) for who in held)}
    return own | {place for name in own for place in board.moves[f"A {name}"]}


def still_given(position: Position, texts: tuple[str, ...], but: int) -> Given:
    """The orders that are legal in a position, of all powers except `but`, by power and slot."""
    found: Given = {}
    for text in texts:
        order = position.board.orders.index[text]
        for who in range(len(position.board.powers)):
            before = list(found.get(who, {}).values())
            slot = position.slot_of(who, order)
            can = slot is not None and slot not in found.get(who, {})
            if position.state.phase_type == ADJUSTMENTS:
                can &= order in position.winter_orders(who, before)
            if can and slot is not None and who != but:
                found.setdefault(who, {})[slot] = order
                break
    return found


class SightThreats(PathThreats):
    """One power's value of deviating from a path with delayed or local sight.

    Args:
        sight: delay in phases, or NEXT. threats, power, years, path: see `PathThreats`.
    """

    def __init__(self, threats: ThreatSearch, power: int, years: int, path: Path, sight: int) -> None:
        self.sight = sight
        super().__init__(threats, power, years, path)

    def _walk(self) -> Iterator[tuple[int, int, int]]:
        rules, orders = Rules(press=None, years=self.years), dict(self.path)
        engine, stepper = make_engine("fast", self.board, rules), Stepper(self.board, rules)
        expander, state = Expander(self.board, (self.power,), stepper), engine.initial()
        hidden: dict[tuple[int, bytes], int] = {}  # unnoticed deviations: age and position -> most points
        while not state.done:
            texts = orders.get(Position(engine, state).phase, ())
            given = still_given(Position(engine, state), texts, but=OVER)
            after, _ = engine.step(state, by_power(given, len(self.board.powers)))
            ends: dict[tuple[int, bytes], int] = {}
            starts = [(ON_PATH, state.row, int(state.welfare[self.power]))] + [
                (age, np.frombuffer(key, np.int32), points) for (age, key), points in hidden.items()
            ]
            for age, row, points in starts:
                position = Position(engine, State(layout_of(self.board), row))
                found = expander.expand(position, [still_given(position, texts, self.power)])
                for to, gained in zip(found.rows[:, 0], found.points[:, 0, self.power].tolist(), strict=True):
                    end = age + 1, to.tobytes()
                    ends[end] = max(ends.get(end, 0), points + gained)
            on_path = after.row[None].copy()
            stepper.make_canonical(on_path)
            hidden = {}
            for (age, key), points in ends.items():
                if age == 0 and key == on_path.tobytes():
                    continue
                now = State(layout_of(self.board), np.frombuffer(key, np.int32))
                if after.done:
                    yield OVER, 0, points
                elif is_seen(self.sight, self.board, self.power, now, after, age):
                    yield self.naming.find(now)[0], self.years - now.year, points
                else:
                    hidden[age, key] = points
            state = after
        self.path_value = int(state.welfare[self.power])


class Way(NamedTuple):
    """An order's result: points, and the next phase of the walk; or, once noticed, a position number and years left."""

    points: int
    phase: tuple[int, bytes, int] | None
    number: int
    left: int


class SightChecker(DrawnChecker):
    """Checks certificates of threats that begin when a deviation is noticed (`check_sight`)."""

    def __init__(self, map_name: str, deviator: str, sight: int) -> None:
        super().__init__(map_name, deviator)
        self._sight = sight
        self._walked: dict[tuple[int, bytes, int], list[Way]] = {}  # phase, position, age -> ways

    def _played_path(self, certificate: Certificate) -> list[PathStep]:
        found = super()._played_path(certificate)
        engine = make_engine("fast", self.board, Rules(press=None, years=certificate.years))
        texts, states = dict(certificate.path), [engine.initial(), *(step.state for step in found)]
        waiting = [(0, self.canonical(states[0]).tobytes(), ON_PATH)]
        while waiting:
            phase = waiting.pop()
            if phase not in self._walked:
                orders = texts.get(Position(engine, states[phase[0]]).phase, ())
                self._walked[phase] = list(self._ways(phase, orders, states[phase[0] + 1], certificate.years))
                waiting += [way.phase for way in self._walked[phase] if way.phase is not None]
        return found

    def _ways(self, phase: tuple[int, bytes, int], texts: tuple[str, ...], path: State, years: int) -> Iterator[Way]:
        """All results of the deviator's orders in a phase in which the others follow the path."""
        number, row, age = phase
        position = Position(self.engine, State(self._layout, np.frombuffer(row, np.int32)))
        given = still_given(position, texts, self.numbers[0])
        fixed = [(slot, who, order) for who, orders in given.items() for slot, order in orders.items()]
        plans = list(plans_of(self.board, position, self.numbers, [order for *_, order in fixed]))
        own = [(slot, self.numbers[0]) for slot in position.slots(self.numbers[0])]
        orders = np.array([(*plan, *(order for *_, order in fixed)) for plan in plans], np.int32)
        slots, powers = np.array(own + [each[:2] for each in fixed], np.int32).reshape(-1, 2).T
        rows, points = self._stepper.step(
            position.state.row, orders.reshape(len(plans), -1), slots.copy(), powers.copy()
        )
        rows[:, YEAR] = 0
        following, left = self.canonical(path).tobytes(), years - path.year
        for to, gained in {(to.tobytes(), int(each[self.numbers[0]])) for to, each in zip(rows, points, strict=True)}:
            now = State(self._layout, np.frombuffer(to, np.int32))
            if path.done:
                yield Way(gained, None, OVER, 0)
            elif age == ON_PATH and to == following:
                yield Way(gained, (number + 1, to, ON_PATH), OVER, 0)
            elif is_seen(self._sight, self.board, self.numbers[0], now, path, age + 1):
                yield Way(gained, None, self._number(now.row), left)
            else:
                yield Way(gained, (number + 1, to, age + 1), OVER, 0)

    def _check_both_ends(
        self, certificate: DrawnCertificate, path: list[PathStep], upper: np.ndarray, lower: np.ndarray
    ) -> None:
        worth: dict[tuple[int, bytes, int], tuple[int, int]] = {}
        for phase in sorted(self._walked, reverse=True):
            told = []
            for way in self._walked[phase]:
                gain = way.points * UNIT
                least, most = (0, 0) if way.phase is None else worth[way.phase]
                if way.number != OVER:
                    least, most = int(lower[way.left, way.number]), int(upper[way.left, way.number])
                told.append((gain + least, gain + most))
            worth[phase] = max(least for least, _ in told), max(most for _, most in told)
        least, most = worth[min(self._walked)]
        if most > certificate.upper or least < certificate.lower:
            raise CertificateError(
                f"by this certificate the opening is worth {least / UNIT:.6f} to {most / UNIT:.6f}, "
                f"not {certificate.lower / UNIT:.6f} to {certificate.upper / UNIT:.6f}"
            )


def check_sight(certificate: DrawnCertificate, sight: int) -> int:
    """Check a certificate for players who notice a deviation according to `sight`; see `check_drawn`."""
    return check_with(lambda board, deviator: SightChecker(board, deviator, sight), certificate)
