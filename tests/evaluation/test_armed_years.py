"""Certificates that leaving the paper's path in an armed year never pays, however long the game."""

from dataclasses import replace

import numpy as np
import pytest

from agents.toy_boards.shape import clique_of
from evaluation import EvaluationError
from evaluation.exact import CertificateError, certify_armed_years, check_armed_years, check_certificate
from evaluation.exact.clique_proofs import path_of
from welfare_env import load_board


@pytest.fixture(scope="module")
def certificate():
    return certify_armed_years("clique:4", "PLAYERB")


@pytest.mark.parametrize("size", [2, 3, 5, 6, 7])
def test_it_holds_on_every_board(size):
    found = certify_armed_years(f"clique:{size}", "PLAYERA")
    assert check_armed_years(found) == len(found) > 40


def in_years(certificate, years):
    """The certificate for a game of so many years with disarmament in the last one, as `check_certificate` takes it."""
    count, left = len(certificate), np.arange(1, years + 1, dtype=np.int16)
    path = tuple(path_of(clique_of(load_board(certificate.map_name)), -1, years, 0))
    return replace(
        certificate,
        years=years,
        path=path,
        value=years + 1,
        path_value=years + 1,
        rows=np.tile(certificate.rows, (years, 1)),
        orders=np.tile(certificate.orders, (years, 1)),
        years_left=np.repeat(left, count),
        claims=np.tile(certificate.claims, years) + np.repeat(left, count) - 1,
    )


@pytest.mark.parametrize("years", [2, 3, 6])
def test_the_other_checker_accepts_it_for_games_of_some_years(certificate, years):
    """There the gain is 0 with T = t, also from leaving the path in the last Winter."""
    assert check_certificate(in_years(certificate, years)) == years * len(certificate)


@pytest.mark.parametrize("lowered", [1, 2])
def test_lower_claims_are_refused(certificate, lowered):
    claims = np.where(certificate.claims == lowered, lowered - 1, certificate.claims).astype(np.int16)
    with pytest.raises(CertificateError, match="leads to"):
        check_armed_years(replace(certificate, claims=claims))


@pytest.mark.parametrize("kept", [slice(1, None), slice(20), slice(0, None, 2)])
def test_missing_positions_are_refused(certificate, kept):
    arrays = {name: getattr(certificate, name)[kept] for name in ("rows", "orders", "claims", "years_left")}
    with pytest.raises(CertificateError, match="not listed"):
        check_armed_years(replace(certificate, **arrays))


def test_what_leaving_the_path_is_worth_is_compared_with_the_path(certificate):
    """One more for each claim is consistent, but too much."""
    with pytest.raises(CertificateError, match="leaving the path, with"):
        check_armed_years(replace(certificate, claims=certificate.claims + np.int16(1)))


def test_punishers_who_stay_at_home_are_refused(certificate):
    with pytest.raises(CertificateError, match="leads to"):
        check_armed_years(replace(certificate, orders=np.full_like(certificate.orders, -1)))


@pytest.mark.parametrize(
    "change",
    [{"years": 3}, {"path": ()}, {"map_name": "clique:5"}, {"deviators": ("PLAYERA",)}, {"deviators": ("A", "B")}],
)
def test_certificates_of_something_else_are_refused(certificate, change):
    with pytest.raises(EvaluationError):
        check_armed_years(replace(certificate, **change))


def test_shared_boards_are_refused():
    with pytest.raises(EvaluationError, match="clique:n"):
        certify_armed_years("shared-clique:3", "PLAYERA")
