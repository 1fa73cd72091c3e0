"""The claims of the README, their certificates, and false certificates, which are refused."""

import doctest
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from agents.toy_boards.shape import clique_of
from evaluation.exact.phases import Expander, Stepper
from research.price_of_peace import armed_years, punisher_proofs, threat_proofs
from research.price_of_peace.certificates import UNIT, Certificate, load_all
from research.price_of_peace.checking import CertificateError, Checker, Renamings, check, split
from research.price_of_peace.frontier import FrontierSearch
from research.price_of_peace.paths import home_path, theft_path
from research.price_of_peace.punisher_proofs import proven, search_of
from research.price_of_peace.theorems import gains
from research.price_of_peace.threat_proofs import threat_certificate
from research.price_of_peace.threats import solve_game
from welfare_env import Rules, load_board, vector_env
from welfare_env.engine import State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position


@pytest.mark.parametrize("module", [armed_years, punisher_proofs, pytest.param(threat_proofs, marks=pytest.mark.slow)])
def test_examples(module) -> None:
    found = doctest.testmod(module)
    assert (found.failed, found.attempted > 0) == (0, True)


@pytest.mark.parametrize(
    ("map_name", "role", "punishers", "wanted"),
    [
        ("clique:3", "player", "stated", "0 0 1 3"),
        ("clique:3", "player", "best", "0 0 1 3 5"),
        ("clique:3", "player", "randomizing", "0 0 1"),
        pytest.param("clique:5", "player", "randomizing", "0 0 1/2", marks=pytest.mark.slow),
        ("shared-clique:3", "sharer", "stated", "0 0 2"),
        ("shared-clique:3", "excluded", "best", "0 0 1 1"),
        pytest.param("clique:6", "player", "ranked", "0 0 1", marks=pytest.mark.slow),
        pytest.param("clique:6", "player", "randomizing", "0 0 1/7", marks=pytest.mark.slow),
        pytest.param("clique:7", "player", "ranked", "0 0 0", marks=pytest.mark.slow),
        pytest.param("shared-clique:4", "other", "randomizing", "0 0 1/2", marks=pytest.mark.slow),
    ],
)
def test_gains_are_certified(map_name: str, role: str, punishers: str, wanted: str) -> None:
    assert " ".join(map(str, gains(map_name, role, punishers, len(wanted.split())))) == wanted


def test_armed_years_never_pay_on_seven_cores() -> None:
    found = armed_years.certify_armed_years("clique:7")
    assert armed_years.check_armed_years(found) == len(found) == 47
    for number in range(0, len(found), 7):
        uppers = found.uppers.copy()
        uppers[number] = max(0, uppers[number] - UNIT)
        wrong = replace(found, uppers=uppers, orders=np.where(found.orders == 101, -1, found.orders))  # nobody builds
        with pytest.raises(CertificateError):
            armed_years.check_armed_years(wrong)


@pytest.mark.slow
def test_nearly_all_welfare_is_possible_if_nobody_may_gain() -> None:
    search = FrontierSearch("clique:3", 3)
    found = search.solve(Fraction(0))
    assert (found.points, found.gain) == ((6, 5, 5), 0)
    assert all(check(each) for each in found.certificates)
    assert search.payoffs(Fraction(0), 1) == []
    all_points = search.solve(Fraction(1))
    assert (sum(all_points.points), all_points.gain) == (18, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("map_name", "years", "path", "points", "gain"),
    [
        ("clique:3", 4, home_path, (8, 7, 7), 0),
        ("clique:4", 4, home_path, (8, 8, 7, 7), 0),
        ("clique:4", 4, theft_path, (10, 8, 8, 5), Fraction(1, 2)),
    ],
)
def test_paths_by_hand(map_name: str, years: int, path, points: tuple[int, ...], gain: Fraction) -> None:
    found = FrontierSearch(map_name, years).certified(path(clique_of(load_board(map_name))))
    assert (found.points, found.gain) == (points, gain)
    assert all(check(each) for each in found.certificates)


def test_a_matrix_game_has_the_value_of_its_mixes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        payoffs = rng.integers(-4, 5, rng.integers(1, 6, 2)).astype(float)
        value, mine, theirs = solve_game(payoffs)
        assert (mine @ payoffs).min() == pytest.approx(value, abs=1e-9)
        assert (payoffs @ theirs).max() == pytest.approx(value, abs=1e-9)


# False certificates


@lru_cache
def certificates() -> tuple[Certificate, Certificate]:
    """Of deterministic and of randomizing punishers; on clique:5 they need to randomize."""
    return proven(search_of("clique:3", "player", "ranked"), 4, 1), threat_certificate("clique:5", "player", 3, 1)


@lru_cache
def checker(certificate: Certificate) -> Checker:
    return Checker(certificate.map_name, certificate.deviator)


@pytest.mark.parametrize("number", [0, 1])
def test_certificates_survive_a_file_and_hold(tmp_path, number: int) -> None:
    certificate = certificates()[number]
    certificate.save(tmp_path / "c.npz")
    (again,) = load_all(tmp_path / "c.npz")
    assert checker(certificate).check(again) == len(certificate) > 100


MIXED = [
    lambda c: {"weights": np.where(np.arange(len(c.weights)) == 0, c.weights - 1, c.weights)},
    lambda c: {"uppers": np.where(c.uppers > 0, c.uppers - UNIT, c.uppers)},
    lambda c: {"orders": np.where(c.orders >= 0, 13, c.orders)},
]
FALSE = [
    *MIXED,
    lambda c: {"upper": c.upper - 1},
    lambda c: {"lower": c.upper + 1},
    lambda c: {"path_value": c.path_value + 1},
    lambda c: {"path": c.path[:1]},
    lambda c: {"uppers": np.where(c.uppers > 0, 0, c.uppers)},
    lambda c: {"years_left": c.years_left + c.years},
    lambda c: {"rows": np.where(c.rows == 0, 9, c.rows)},
    lambda c: {"deviator": "PLAYERB"},
]


@pytest.mark.parametrize(("number", "change"), [*((0, change) for change in FALSE), *((1, change) for change in MIXED)])
def test_false_certificates_are_refused(number: int, change) -> None:
    certificate = certificates()[number]
    with pytest.raises(CertificateError):
        checker(certificate).check(replace(certificate, **change(certificate)))


@pytest.mark.parametrize("number", [0, 1])
def test_lowered_claims_are_refused_or_still_true(number: int) -> None:
    """One claim lowered by one part: refused wherever the claim was the lowest that its mix guarantees."""
    certificate = certificates()[number]
    claims = np.flatnonzero(certificate.uppers > 0)
    refused = 0
    for place in claims[:: max(1, len(claims) // 20)]:
        uppers = certificate.uppers.copy()
        uppers[place] -= 1
        try:
            checker(certificate).check(replace(certificate, uppers=uppers))
        except CertificateError as error:
            refused += "position" in str(error)
    assert refused >= 10


def test_no_corrupted_certificate_claims_less_than_the_truth() -> None:
    """In random places; on clique:3 in four years nothing below 11 points is true, whatever the punishers do."""
    certificate, rng = certificates()[0], np.random.default_rng(0)
    assert certificate.upper == 11 * UNIT
    for _ in range(40):
        name = str(rng.choice(["rows", "uppers", "orders", "years_left"]))
        array = getattr(certificate, name).copy()
        place = tuple(rng.integers(size) for size in array.shape)
        array[place] = rng.choice(array.ravel())
        with pytest.raises(CertificateError):
            checker(certificate).check(replace(certificate, upper=10 * UNIT, **{name: array}))


def test_positions_are_taken_for_one_only_if_they_differ_in_names() -> None:
    """On shared-clique:3 with PLAYERB fixed only A and D may change names."""
    clique = clique_of(load_board("shared-clique:3"))
    games, names = vector_env(40, "shared-clique:3", Rules(press=None, years=3)), Renamings(clique, 1)
    games.reset(0)
    swap, place = np.array([3, 1, 2, 0, -1]), np.array([0, 1, 2, 6, 4, 5, 3])
    keys: dict[bytes, set[bytes]] = {}
    for _ in range(10):
        for number in range(40):
            if not (state := games.state(number)).done:
                row = np.concatenate([[state.phase], *clique.rows(state), *clique.lost_rows(state)]).astype(np.int64)
                phase, owner, unit, lost, options = split(clique, row)
                bits = (options[:, None] >> np.arange(7) & 1) << place
                other = np.concatenate([[phase], swap[owner][place], swap[unit][place], swap[lost], bits.sum(axis=1)])
                assert names.key(row) == names.key(other)
                keys.setdefault(names.key(row), set()).update({row.tobytes(), other.tobytes()})
        games.step(games.sample())
    assert max(map(len, keys.values())) == 2
    assert len(keys) > 100


def test_the_checker_plays_what_the_engine_plays() -> None:
    """Each listed position, with its mix against every order of the deviator, one by one on the reference engine."""
    certificate = certificates()[0]
    checked, board = checker(certificate), load_board(certificate.map_name)
    reference = make_engine("reference", board, Rules(press=None, years=2))
    stepper = Stepper(board, Rules(press=None, years=2))
    expander = Expander(board, (checked.deviator,), stepper)
    for number in range(0, len(certificate), 40):
        state = checked._state(certificate.rows[number], "")
        position = Position(reference, state)
        given = checked._given(position, certificate.orders[number], checked.others, "")
        found = expander.expand(Position(checked.engine, state), [given])
        fixed = [np.array(list(given.get(who, {}).values()), np.int32) for who in range(len(board.powers))]
        reached = {row.tobytes() for row in found.rows[:, 0]}
        slots = position.slots(checked.deviator) if position.state.phase_type != "A" else []
        for plan in product(*(position.slot_orders(slot).tolist() for slot in slots)):
            fixed[checked.deviator] = np.array(plan, np.int32)
            to, _ = reference.step(state, fixed)
            rows = to.row[None].copy()
            stepper.make_canonical(rows)
            assert State(layout_of(board), rows[0]).row.tobytes() in reached
