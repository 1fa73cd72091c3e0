"""Threat values: punishers that draw their orders, against brute force, other solvers and false certificates."""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pygambit
import pytest

from agents.toy_boards.punishing_kernels import DEVIATORS, PUNISHERS
from agents.toy_boards.shape import clique_of
from evaluation.checks import EvaluationError, board_of
from evaluation.exact import CertificateError, DrawnCertificate, certify_punishers, certify_threats, check_drawn
from evaluation.exact import graph_kernels as g
from evaluation.exact.cells.theorems import roles
from evaluation.exact.drawn.certificates import ARRAYS, UNIT
from evaluation.exact.drawn.proofs import Claims, parts_of
from evaluation.exact.drawn.sampling import random_springs
from evaluation.exact.drawn.threats import ThreatSearch, solve_game
from evaluation.exact.drawn.values import fill_threats, read_threats

A = "PLAYERA"


@lru_cache(maxsize=4)
def search_of(board: str, deviator: int = 0) -> ThreatSearch:
    return ThreatSearch(clique_of(board_of(board)), deviator)


@lru_cache(maxsize=8)
def made(board: str, years: int, deviator: str = A) -> DrawnCertificate:
    number = board_of(board).power_index[deviator]
    return certify_threats(board, 1, deviator, years, threats=search_of(board, number)).certificate


def rational_value(payoffs: np.ndarray) -> float:
    """The value of a matrix game by Gambit's linear program, on exact fractions of the entries."""
    entries = np.vectorize(lambda x: pygambit.Rational(round(x * UNIT), UNIT))(payoffs)
    game = pygambit.StrategicGame.from_arrays(entries, -entries)
    found = pygambit.nash.lp_solve(game, rational=True, use_strategic=True).equilibrium
    mine, theirs = ([float(share) for _, share in found[player]] for player in game.players)
    return float(np.array(mine) @ payoffs @ theirs)


class TestMatrixGames:
    @pytest.mark.parametrize("seed", range(10))
    def test_against_gambit(self, seed):
        rng = np.random.default_rng(seed)
        payoffs = rng.integers(0, 9, rng.integers(1, 7, 2)).astype(float)
        value, mine, theirs = solve_game(payoffs)
        assert value == pytest.approx(rational_value(payoffs))
        assert (mine @ payoffs).min() == pytest.approx(value) == (payoffs @ theirs).max()

    def test_parts_make_one(self):
        assert parts_of(np.array([1 / 3, 1 / 3, 1 / 3])).tolist() == [UNIT // 3] * 3
        assert parts_of(np.array([0.123456789, 0.5, 0.376543211])).sum() == UNIT


# Brute force: every joint order against every other, every later position


class BruteForce:
    """Values by a linear program over the whole matrix of every position; transitions by the kernels."""

    def __init__(self, threats: ThreatSearch) -> None:
        self.threats = threats
        self.known: dict[tuple[int, int], float] = {}

    def value(self, node: int, years: int) -> float:
        if not years:
            return 0.0
        if (node, years) not in self.known:
            mine, theirs = (self.threats.orders(node, side) for side in (DEVIATORS, PUNISHERS))
            to = self.threats.lead(node, mine, theirs)
            to = np.unique(np.unique(to, axis=0), axis=1)
            single, back = np.unique(to, return_inverse=True)
            left, gains = years, np.zeros(len(single))
            if self.threats.phase(node) == g.WINTER:
                table, left = self.threats.search.table, years - 1
                gains = table.centers[single].astype(float) - table.units[single]
            worth = gains + [self.value(int(each), left) for each in single]
            self.known[node, years] = highs_value(worth[back].reshape(to.shape))
        return self.known[node, years]


def highs_value(payoffs: np.ndarray) -> float:
    """The value by the punishers' program and the interior-point method, the other way round than the library's."""
    from scipy.optimize import linprog

    low, high = payoffs.min(axis=1).max(), payoffs.max(axis=0).min()
    if low == high:
        return float(low)
    columns = payoffs.shape[1]
    found = linprog(
        np.append(np.zeros(columns), 1.0),
        A_ub=np.hstack([payoffs, -np.ones((len(payoffs), 1))]),
        b_ub=np.zeros(len(payoffs)),
        A_eq=np.append(np.ones(columns), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * columns + [(None, None)],
        method="highs-ipm",
    )
    return float(found.fun)


def check_against_brute_force(number: int, years: int) -> int:
    threats = search_of("clique:3")
    brute, drawn = BruteForce(threats), 0
    for node in random_springs(threats, number, 3, np.random.default_rng(0)):
        value = brute.value(node, years)
        low, high = threats.solve(node, years)
        assert low == pytest.approx(value, abs=1e-6)
        assert high == pytest.approx(value, abs=1e-6)
        claims = Claims(threats)  # a new one: what was claimed before this position was solved may be loose
        assert claims.at_least(node, years) / UNIT == pytest.approx(value, abs=1e-5)
        assert claims.at_most(node, years) / UNIT == pytest.approx(value, abs=1e-5)
        drawn += value != round(value)
    return drawn


@pytest.mark.slow
def test_against_brute_force():
    check_against_brute_force(3, 1)


@pytest.mark.slow
def test_a_hundred_positions_with_two_years_left_against_brute_force():
    assert check_against_brute_force(100, 2) > 0  # in some of them drawing helps


class TestThePapersPath:
    @pytest.mark.parametrize(("years", "gain"), [(1, 0), (2, 0), (3, 1), (4, 3)])
    def test_on_three_cores_drawing_does_not_help(self, years, gain):
        found = certify_threats("clique:3", 1, A, years, threats=search_of("clique:3"))
        assert found.at_least == found.at_most == found.path_value + gain
        assert gain == certify_punishers("clique:3", 1, A, years, punishers="best").gain

    def test_a_game_with_armed_years(self):
        found = certify_threats("clique:3", 2, A, 4, threats=search_of("clique:3"))
        assert (found.path_value, found.at_least, found.at_most) == (7, 8, 8)
        assert check_drawn(found.certificate) == len(found.certificate)

    def test_any_player_in_the_same_seat(self):
        found = certify_threats("clique:3", 1, "PLAYERC", 3, threats=search_of("clique:3"))
        assert (found.deviator, found.certificate.bounds) == ("PLAYERC", (7, 7))
        assert check_drawn(found.certificate) == len(found.certificate)

    @pytest.mark.slow
    @pytest.mark.parametrize("role", ["sharer", "other", "excluded"])
    def test_a_shared_core(self, role):
        deviator = roles("shared-clique:3")[role]
        best = certify_punishers("shared-clique:3", 1, deviator, 3, punishers="best")
        found = certify_threats("shared-clique:3", 1, deviator, 3)
        assert check_drawn(found.certificate) == len(found.certificate)
        assert best.path_value == found.path_value <= found.at_least <= found.at_most <= best.value
        if role == "excluded":  # as proved by hand
            assert found.at_least == best.path_value + 1

    @pytest.mark.slow
    def test_saved_and_loaded(self, tmp_path):
        certificate = made("clique:3", 4)
        certificate.save(tmp_path / "drawn.npz")
        loaded = DrawnCertificate.load(tmp_path / "drawn.npz")
        assert check_drawn(loaded) == len(certificate)


class TestFalseCertificates:
    @pytest.mark.parametrize("name", ["lower", "upper", "path_value"])
    @pytest.mark.parametrize("step", [-1, 1])
    def test_ends(self, name, step):
        certificate = made("clique:3", 3)
        changed = replace(certificate, **{name: getattr(certificate, name) + step})
        if (name, step) in {("lower", -1), ("upper", 1)}:
            assert check_drawn(changed) == len(certificate)  # claims less, and is true
        else:
            with pytest.raises(CertificateError):
                check_drawn(changed)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["lowers", "uppers"])
    def test_every_claim_is_held_to_its_mix(self, name):
        """A point more or less than a mix guarantees is refused, unless later claims leave room: then it is true."""
        certificate, refused = made("clique:3", 3), 0
        for number in range(len(certificate)):
            claims = getattr(certificate, name).copy()
            if claims[number] <= 0:
                continue
            claims[number] += UNIT if name == "lowers" else -UNIT
            try:
                check_drawn(replace(certificate, **{name: claims}))
            except CertificateError:
                refused += 1
        assert refused == (getattr(certificate, name) > 0).sum()

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(5))
    def test_corrupted_cells_are_refused_or_true(self, seed):
        """The ends stay what they are, so whatever is accepted is still true."""
        certificate, rng = made("clique:3", 3), np.random.default_rng(seed)
        accepted = 0
        for _ in range(40):
            name = str(rng.choice(list(ARRAYS)))
            array = getattr(certificate, name).copy()
            place = tuple(rng.integers(size) for size in array.shape)
            array[place] += int(rng.choice([-1, 1]) * rng.choice([1, 2, 100]))
            try:
                check_drawn(replace(certificate, **{name: array}))
                accepted += 1
            except CertificateError:
                pass
        assert accepted < 10

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"lower": 7.0}, "whole number"),
            ({"lower": 3, "upper": 2}, "lower not above upper"),
            ({"lower": -1}, "lower=-1"),
            ({"upper": 10**5000}, "upper="),
            ({"lower": True}, "lower=True"),
            ({"path_value": float("nan")}, "path_value=nan"),
            ({"years": 0}, "years=0"),
            ({"years": 3.0}, "years=3.0"),
            ({"years": 10**30}, "years="),
            ({"map_name": "clique:9"}, "map_name"),
            ({"map_name": "nowhere"}, "map_name"),
            ({"map_name": None}, "map_name"),
            ({"map_name": "clique:4"}, "numbers each; map clique:4 has"),
            ({"deviator": "FRANCE"}, "deviators: unknown power 'FRANCE'"),
            ({"deviator": ""}, "deviators"),
            ({"deviator": "PLAYERA+PLAYERA"}, "each once"),
            ({"deviator": "PLAYERA+PLAYERB+PLAYERC"}, "two joined"),
            ({"deviator": ("PLAYERA",)}, "two joined"),
            ({"path": [("S1901M", ())]}, "path"),
            ({"path": (("S1901M", 3),)}, "path"),
            ({"rows": np.zeros((1, 1))}, "rows"),
            ({"weights": np.zeros(0, np.int64)}, "weights"),
            ({"deviator": "PLAYERB"}, "PLAYERB|position"),
            ({"years": 4}, "pays"),
            ({"path": ()}, "pays"),
        ],
    )
    def test_other_values(self, change, told):
        with pytest.raises(CertificateError, match=told):
            check_drawn(replace(made("clique:3", 3), **change))

    def test_no_certificate(self, tmp_path):
        (tmp_path / "x.npz").write_bytes(b"no")
        with pytest.raises(CertificateError, match="no certificate"):
            DrawnCertificate.load(tmp_path / "x.npz")
        with pytest.raises(CertificateError, match="DrawnCertificate"):
            check_drawn("x")


class TestEarlierSearches:
    @pytest.mark.parametrize(
        ("board", "deviator", "other", "told"),
        [
            ("clique:2", A, ("clique:3", 0), "a search of PLAYERA on clique:3, not of PLAYERA on clique:2"),
            ("shared-clique:2", "PLAYERB", ("shared-clique:2", 0), "not of PLAYERB"),
            ("shared-clique:2", A, ("shared-clique:2", 1), "a search of PLAYERB"),
            ("clique:2", A, ("clique:2", 0, 1), "a search of PLAYERA and PLAYERB"),
        ],
    )
    def test_of_another_game_or_deviator(self, board, deviator, other, told):
        name, *who = other
        with pytest.raises(EvaluationError, match=told):
            certify_threats(board, 1, deviator, 1, threats=ThreatSearch(clique_of(board_of(name)), *who))

    @pytest.mark.parametrize("threats", ["a search", 0, False, float("nan")])
    def test_no_search(self, threats):
        with pytest.raises(EvaluationError, match=f"threats={threats!r}: give a ThreatSearch"):
            certify_threats("clique:2", 1, A, 1, threats=threats)

    def test_of_the_other_sharer(self):
        found = certify_threats("shared-clique:2", 1, "PLAYERC", 1, threats=search_of("shared-clique:2"))
        assert found.certificate.bounds == certify_threats("shared-clique:2", 1, "PLAYERC", 1).certificate.bounds


class TestCells:
    def test_a_file_is_continued(self, tmp_path):
        path = tmp_path / "cells.jsonl"
        fill_threats(path, "clique:2", 1)
        first = path.read_text()
        fill_threats(path, "clique:2", 2)
        assert path.read_text().startswith(first)
        cells = read_threats(path)
        assert [cell.years for cell in cells] == [1, 2]
        assert Fraction(cells[0].at_most) == 0

    def test_another_file(self, tmp_path):
        (tmp_path / "cells").write_text("{}")
        with pytest.raises(EvaluationError, match="line 1: no cell: map_name: missing"):
            read_threats(tmp_path / "cells")
