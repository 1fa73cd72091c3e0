"""What the checker of certificates refuses: false ones, and what is none."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import welfare_env
from evaluation.checks import EvaluationError
from evaluation.exact import CertificateError, certify, certify_punishers, check_certificate
from evaluation.exact.certificates import Certificate
from evaluation.exact.checking import Checker
from evaluation.exact.planner import Expander, Stepper
from welfare_env import Rules
from welfare_env.engine import DISLODGED, DONE, PHASE, UNITS, WINNER, YEAR, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

A = "PLAYERA"
GAMES = {"clique:3": (A, 1, 3), "shared-clique:3": ("PLAYERD", 1, 3), "clique:4": (A, 1, 3)}


@lru_cache(maxsize=8)
def made(board: str, punishers: str = "stated") -> Certificate:
    deviator, t, years = GAMES[board]
    return certify_punishers(board, t, deviator, years, punishers=punishers).certificate


@lru_cache(maxsize=8)
def checker_of(board: str) -> Checker:
    return Checker(board, (GAMES[board][0],), is_symmetric=True)


def with_cell(certificate: Certificate, name: str, place: tuple[int, ...], value: int) -> Certificate:
    array = getattr(certificate, name).copy()
    array[place] = value
    return replace(certificate, **{name: array})


class TestYearsInRows:
    def test_an_opening_that_ends_the_game_at_once(self, tmp_path):
        """One row with YEAR = T, claim 0 and value 0, where 7 is true: also from a file."""
        board, years = "clique:3", 3
        row = make_engine("fast", welfare_env.load_board(board), Rules(press=None)).initial().row.copy()
        row[YEAR] = years
        arrays = (row[None], np.int16([years]), np.int16([0]), np.full((1, 1), -1, np.int32))
        false = Certificate(board, years, (A,), 0, (), 0, True, *arrays)
        false.save(tmp_path / "false.npz")
        for certificate in (false, Certificate.load(tmp_path / "false.npz")):
            with pytest.raises(CertificateError, match=r"pays|YEAR"):
                check_certificate(certificate)

    @pytest.mark.parametrize(
        ("place", "name", "value"),
        [(YEAR, "YEAR", 1), (YEAR, "YEAR", -1), (YEAR, "YEAR", 3), (DONE, "DONE", 1), (WINNER, "WINNER", 0)],
    )
    def test_year_end_and_winner(self, place, name, value):
        with pytest.raises(CertificateError, match=f"position 2 is not canonical: {name} is {value}"):
            check_certificate(with_cell(made("clique:3"), "rows", (2, place), value))


class TestRowsThatAreNotCanonical:
    @pytest.mark.parametrize("place", [PHASE, UNITS, DISLODGED])
    @pytest.mark.parametrize("value", [-1, 99, np.iinfo(np.int32).max])
    def test_counts(self, place, value):
        with pytest.raises(CertificateError, match="position 1 is not canonical"):
            check_certificate(with_cell(made("clique:3"), "rows", (1, place), value))

    @pytest.mark.parametrize("part", ["power", "piece", "owner", "welfare", "influence", "lost_power", "lost_option"])
    @pytest.mark.parametrize("value", [-2, 70, np.iinfo(np.int32).min])
    def test_numbers_that_stand_for_nothing(self, part, value):
        place = getattr(layout_of(welfare_env.load_board("clique:3")), part)
        with pytest.raises(CertificateError, match="position 1 is not canonical"):
            check_certificate(with_cell(made("clique:3"), "rows", (1, place), value))

    def test_units_out_of_sequence(self):
        certificate, at = made("clique:3"), layout_of(welfare_env.load_board("clique:3"))
        number = int(np.flatnonzero(certificate.rows[:, UNITS] > 1)[0])
        rows = certificate.rows.copy()
        for start in (at.power, at.piece):
            rows[number, [start, start + 1]] = rows[number, [start + 1, start]]
        with pytest.raises(CertificateError, match="not sorted"):
            check_certificate(replace(certificate, rows=rows))


class TestPath:
    def test_a_gain_is_certified_by_the_path(self):
        for change in (-1, 1):
            certificate = replace(made("clique:3"), path_value=made("clique:3").path_value + change)
            with pytest.raises(CertificateError, match="the path pays 6, not"):
                check_certificate(certificate)

    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ((("S1901M", ("A HAX - CBX",)),), "cannot be given"),
            ((("S1901M", ("A HAX H", "A HAX - CAX")),), "cannot be given"),
            ((("S1909M", ("A HAX H",)),), "the game has no phase 'S1909M'"),
            ((("S1901M", ("A HAX H",)), ("S1901M", ("A HAX H",))), "a phase occurs twice"),
            ((("S1901M", ("nonsense",)),), "cannot be given"),
            ((("S1901M", "A HAX H"),), "give a tuple of pairs"),
            ("S1901M", "give a tuple of pairs"),
            ((), "the path pays"),
        ],
    )
    def test_other_paths(self, path, message):
        with pytest.raises(CertificateError, match=message):
            check_certificate(replace(made("clique:3"), path=path))

    def test_leaving_the_path_late_counts(self):
        """The others stay armed for one year more: then the deviator, who disbands alone, loses what the path pays."""
        certificate = made("clique:3")
        first = (certificate.path[0], ("W1902A", certificate.path[1][1]))
        with pytest.raises(CertificateError, match="the path pays 5, not 6"):
            check_certificate(replace(certificate, path=first))

    def test_policies_have_a_path_as_well(self):
        found = certify("clique:3", "prosocial", ("PLAYERB", "PLAYERC"), 2)
        assert check_certificate(found.certificate) == found.states
        with pytest.raises(CertificateError, match="the path pays"):
            check_certificate(replace(found.certificate, path_value=found.path_value + 1))


class TestWhatIsNoCertificate:
    @pytest.mark.parametrize(
        "changes",
        [
            {"deviators": ()},
            {"deviators": (A, A)},
            {"deviators": A},
            {"deviators": [A]},
            {"years": 0},
            {"years": 3.0},
            {"years": True},
            {"years": 10**9},
            {"value": 7.5},
            {"value": -1},
            {"value": float("nan")},
            {"path_value": None},
            {"is_symmetric": 1},
            {"claims": [1, 2]},
            {"rows": np.zeros((0, 3), np.int32)},
            {"rows": np.zeros(3, np.int32)},
        ],
        ids=str,
    )
    def test_header(self, changes):
        with pytest.raises(CertificateError):
            check_certificate(replace(made("clique:3"), **changes))

    @pytest.mark.parametrize("name", ["rows", "years_left", "claims", "orders"])
    @pytest.mark.parametrize("make", [lambda a: a.astype(float), lambda a: a.astype(float) * np.nan,
                                      lambda a: a[None], lambda a: a.astype(bool), lambda a: a.tolist()])  # fmt: skip
    def test_arrays(self, name, make):
        certificate = made("clique:3")
        with pytest.raises(CertificateError, match=name):
            check_certificate(replace(certificate, **{name: make(getattr(certificate, name))}))

    @pytest.mark.parametrize(("name", "value"), [("years_left", 0), ("years_left", -1), ("years_left", 4),
                                                 ("claims", -1), ("orders", -2), ("orders", 30_000)])  # fmt: skip
    def test_cells_out_of_range(self, name, value):
        place = (1,) if name != "orders" else (1, 0)
        with pytest.raises(CertificateError, match=f"position 1: {name} has {value}"):
            check_certificate(with_cell(made("clique:3"), name, place, value))

    def test_others(self):
        with pytest.raises(CertificateError, match="give a Certificate"):
            check_certificate({"rows": 1})  # type: ignore[arg-type]
        for share in (-1, 2, float("nan"), "all", True, None, 10**5000):
            with pytest.raises(EvaluationError, match="reference_share"):
                check_certificate(made("clique:3"), reference_share=share)  # type: ignore[arg-type]
        for changes in ({"deviators": ("FRANCE",)}, {"deviators": (A, 3)}, {"map_name": "nowhere"}, {"map_name": None}):
            with pytest.raises(CertificateError, match=next(iter(changes))):
                check_certificate(replace(made("clique:3"), **changes))
        for is_symmetric, told in ((True, "map_name"), (False, "convoys")):
            standard = {"map_name": "standard", "deviators": ("FRANCE",), "is_symmetric": is_symmetric}
            with pytest.raises(CertificateError, match=told):
                check_certificate(replace(made("clique:3"), **standard))

    def test_a_checker_of_another_deviator(self):
        with pytest.raises(CertificateError, match="this checker is for"):
            Checker("clique:3", ("PLAYERB",), is_symmetric=True).check(made("clique:3"))

    def test_others_may_not_build_more_than_they_may(self):
        """Two builds of one center, and a build beside a disband."""
        certificate, board = made("clique:3"), welfare_env.load_board("clique:3")
        game = welfare_env.Game.from_position("W1901A", {"PLAYERB": ["A CBX"]}, {"PLAYERB": ["HBX", "CBX"]},
                                              rules=Rules(press=None, years=3), map_name="clique:3")  # fmt: skip
        row = checker_of("clique:3").canonical(game.position.state)
        orders = np.full((1, certificate.orders.shape[1]), -1, np.int32)
        orders[0, :2] = [board.orders.index[text] for text in ("A HBX B", "A CBX D")]
        longer = {
            "rows": np.concatenate([certificate.rows, row[None]]),
            "years_left": np.append(certificate.years_left, np.int16(1)),
            "claims": np.append(certificate.claims, np.int16(6)),
            "orders": np.concatenate([certificate.orders, orders]),
        }
        with pytest.raises(CertificateError, match="cannot be given"):
            check_certificate(replace(certificate, **longer))


class TestReference:
    def test_the_package_adjudicates_a_share(self):
        certificate = made("clique:3")
        checkers = [Checker("clique:3", (A,), True, 0.05, seed) for seed in (0, 0, 1)]
        for checker in checkers:
            assert checker.check(certificate) == len(certificate)
        counts = [checker.compared for checker in checkers]
        assert counts[0] == counts[1] > 20
        assert counts[2] > 20

    def test_it_notices_another_adjudication(self, monkeypatch):
        step = Stepper.step

        def wrong(self: Stepper, *arguments: Any) -> tuple[np.ndarray, np.ndarray]:
            rows, points = step(self, *arguments)
            return rows, points + (points > 2)

        monkeypatch.setattr(Stepper, "step", wrong)
        with pytest.raises(CertificateError, match="the reference engine has another result"):
            check_certificate(replace(made("clique:3"), value=30_000, path_value=6), reference_share=1.0)


# Corrupted certificates


class Judge:
    """The most that the deviator gets if the others follow the path, and then order what a certificate lists.

    By plain recursion over games from the opening, with the search's way of listing plans and names of positions by
    trying all renamings as text; nothing of the checker is used. Where nothing is listed the others order nothing.
    """

    def __init__(self, board: str, deviator: str) -> None:
        self.board = welfare_env.load_board(board)
        self.layout, self.me = layout_of(self.board), self.board.power_index[deviator]
        self.outcomes: dict[tuple[bytes, tuple[int, ...], int], list[tuple[int, bytes]]] = {}
        self.names: dict[bytes, str] = {}
        powers, fixed = self.board.powers, {deviator}
        if self.board.name.startswith("shared"):
            fixed |= {powers[0], powers[-1]} if deviator in (powers[0], powers[-1]) else set()
        self.maps = [dict(zip(powers, names, strict=True)) for names in permutations(powers)
                     if all(dict(zip(powers, names, strict=True))[each] == each for each in fixed)]  # fmt: skip

    def value(self, certificate: Certificate) -> int:
        self.years = certificate.years
        rules = Rules(press=None, years=self.years)
        self.engine = make_engine("fast", self.board, rules)
        self.expander = Expander(self.board, (self.me,), Stepper(self.board, rules))
        self.listed: dict[tuple[str, int], tuple[int, int]] = {}
        for number, row in enumerate(certificate.rows):
            key = self.name(row), int(certificate.years_left[number])
            self.listed[key] = min((int(certificate.claims[number]), number), self.listed.get(key, (10**6, 0)))
        self.certificate, self.worth = certificate, {}
        state, self.path = self.engine.initial(), {}
        given = dict(certificate.path)
        index = self.board.orders.index
        while not state.done:
            position = Position(self.engine, state)
            orders = [index[text] for text in given.get(position.phase, ())]
            self.path[canonical(self.layout, state)] = tuple(orders)
            sets = [
                [o for o in orders if position.slot_of(power, o) is not None] for power in range(len(self.board.powers))
            ]
            state, _ = self.engine.step(state, [np.array(each, np.int32) for each in sets])
        self.paid = int(state.welfare[self.me])
        return self.best(canonical(self.layout, self.engine.initial()), True)

    def name(self, row: np.ndarray) -> str:
        key = row[1 + YEAR :].tobytes() + bytes([row[PHASE]])
        if key not in self.names:
            state = State(self.layout, row.astype(np.int32))
            position = Position(self.engine, state.replaced(year=0))
            self.names[key] = min(self.text(position, names) for names in self.maps)
        return self.names[key]

    def text(self, position: Position, names: dict[str, str]) -> str:
        places = {self.board.homes[who][0]: self.board.homes[new][0] for who, new in names.items()}
        for who, new in names.items():
            core = self.board.moves[f"A {self.board.homes[who][0]}"][0]
            places.setdefault(core, self.board.moves[f"A {self.board.homes[new][0]}"][0])
        here = [(names[who], "unit", places[unit[2:]]) for who, units in position.units.items() for unit in units]
        here += [(names[who], "owns", places[center]) for who, owned in position.centers.items() for center in owned]
        for who, gone in position.dislodged.items():
            here += [(names[who], f"lost {sorted(places[place] for place in options)}", places[unit[2:]])
                     for unit, options in gone.items()]  # fmt: skip
        return f"{position.phase} {sorted(here)}"

    def best(self, text: bytes, on_path: bool) -> int:
        if (text, on_path) not in self.worth:
            row = np.frombuffer(text, np.int32)
            follows = on_path and text in self.path
            if follows:
                orders = self.path[text]
            else:
                _, number = self.listed.get((self.name(row), self.years - int(row[YEAR])), (0, -1))
                orders = self.renamed(row, number) if number >= 0 else ()
            found = [gain + (self.best(to, follows) if to else 0) for gain, to in self.results(text, orders)]
            self.worth[text, on_path] = max(found)
        return self.worth[text, on_path]

    def renamed(self, row: np.ndarray, number: int) -> tuple[int, ...]:
        """The orders listed for a position, in the names of one that differs in names."""
        listed = Position(self.engine, State(self.layout, self.certificate.rows[number].astype(np.int32)))
        here = self.text(
            Position(self.engine, State(self.layout, row).replaced(year=0)), {p: p for p in self.board.powers}
        )
        names = next(each for each in self.maps if self.text(listed, each) == here)
        places = {self.board.homes[who][0]: self.board.homes[new][0] for who, new in names.items()}
        for who, new in names.items():
            core = self.board.moves[f"A {self.board.homes[who][0]}"][0]
            places.setdefault(core, self.board.moves[f"A {self.board.homes[new][0]}"][0])
        texts = self.board.orders.texts
        given = [order for order in self.certificate.orders[number].tolist() if order >= 0]
        return tuple(
            self.board.orders.index[" ".join(places.get(w, w) for w in texts[order].split())] for order in given
        )

    def results(self, text: bytes, orders: Sequence[int]) -> list[tuple[int, bytes]]:
        key = (text, tuple(orders), self.years)
        if key not in self.outcomes:
            row = np.frombuffer(text, np.int32)
            position, given = Position(self.engine, State(self.layout, row)), {}
            for order in orders:
                for power in range(len(self.board.powers)):
                    slot = position.slot_of(power, order) if power != self.me else None
                    if slot is not None:
                        given.setdefault(power, {})[slot] = order
            found = self.expander.expand(position, [given])
            self.outcomes[key] = list({
                (int(points[self.me]), b"" if to[DONE] else to.tobytes())
                for points, to in zip(found.points[:, 0], found.rows[:, 0], strict=True)
            })  # fmt: skip
        return self.outcomes[key]


def canonical(layout: Any, state: State) -> bytes:
    row = state.row.copy()
    row[layout.welfare :] = 0
    units = sorted(map(tuple, state.units.tolist()))
    for number, (power, piece) in enumerate(units):
        row[layout.power + number], row[layout.piece + number] = power, piece
    return bytes(row.tobytes())


def corrupted(certificate: Certificate, rng: np.random.Generator) -> Certificate:
    """One to three cells changed: by a little, at random, to extremes, or to those of another position."""
    for _ in range(rng.integers(1, 4)):
        name = rng.choice(["rows", "rows", "years_left", "claims", "orders", "header", "path"])
        if name == "header":
            field = rng.choice(["value", "path_value", "years", "is_symmetric", "deviators"])
            old = getattr(certificate, field)
            new = (
                (not old)
                if field == "is_symmetric"
                else old + int(rng.integers(-2, 3))
                if type(old) is int
                else ("PLAYERB",)
            )
            certificate = replace(certificate, **{field: new})
        elif name == "path":
            path = [[phase, list(orders)] for phase, orders in certificate.path]
            orders = path[rng.integers(len(path))][1]
            if orders:
                orders.pop(int(rng.integers(len(orders))))
            certificate = replace(certificate, path=tuple((phase, tuple(orders)) for phase, orders in path))
        else:
            array = getattr(certificate, name).copy()
            place = tuple(int(rng.integers(size)) for size in array.shape)
            span = np.iinfo(array.dtype)
            other = array[(int(rng.integers(len(array))), *place[1:])]
            array[place] = rng.choice(
                [
                    array[place] + 1,
                    array[place] - 1,
                    array[place] - 2,
                    other,
                    other,
                    rng.integers(-1, 40),
                    span.max,
                    span.min,
                ]
            )
            certificate = replace(certificate, **{name: array})
    return certificate


def accepted(board: str, number: int, seed: int) -> Iterator[Certificate]:
    """Corrupted certificates that the checker accepts."""
    rng, whole, checkers = np.random.default_rng(seed), made(board), {}
    for _ in range(number):
        certificate = corrupted(whole, rng)
        mine = (board, certificate.deviators, certificate.is_symmetric)
        checker = checkers.setdefault(mine, Checker(*mine))
        try:
            checker.check(certificate)
        except CertificateError:
            continue
        yield certificate


@pytest.mark.parametrize(
    ("board", "number"),
    [
        ("clique:3", 150),
        *(pytest.param(board, 1_000, marks=pytest.mark.slow) for board in GAMES),
    ],
)
def test_corrupted_certificates_are_refused_or_still_true(board, number):
    count = 0
    judges = {who: Judge(board, who) for who in (GAMES[board][0], "PLAYERB")}
    for certificate in accepted(board, number, 7):
        judge = judges[certificate.deviators[0]]
        assert judge.value(certificate) <= certificate.value
        assert judge.paid == certificate.path_value
        count += 1
    assert 0.02 * number < count < 0.7 * number


def test_the_judge_knows_what_is_true():
    for board in ("clique:3", "shared-clique:3"):
        judge = Judge(board, GAMES[board][0])
        assert judge.value(made(board)) == made(board).value
        assert judge.paid == made(board).path_value
