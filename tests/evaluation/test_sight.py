"""The frontier if the others see late that somebody left: certificates, and the players' own answers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from agents.cliques.shape import clique_of
from evaluation.checks import board_of
from evaluation.exact import CertificateError, check_drawn
from evaluation.exact.clique_proofs import path_of
from evaluation.exact.drawn.frontier import FrontierSearch
from evaluation.exact.drawn.proofs import PathThreats
from evaluation.exact.drawn.sight import NEXT, SightThreats, check_sight
from evaluation.exact.drawn.threats import ThreatSearch


def threats_of(board: str, power: int) -> ThreatSearch:
    return ThreatSearch(clique_of(board_of(board)), power)


def test_at_once_is_what_other_certificates_say():
    threats = threats_of("clique:2", 0)
    path = tuple(path_of(threats.search.clique, -1, 2, 1))
    plain, found = PathThreats(threats, 0, 2, path), SightThreats(threats, 0, 2, path, 0)
    assert [each for each in plain.deviations if each[0] >= 0] == [each for each in found.deviations if each[0] >= 0]
    assert plain.solve() == found.solve()
    certificate = found.certificate()
    assert check_drawn(certificate) == check_sight(certificate, 0) == len(certificate)


@pytest.mark.slow
def test_who_has_no_core_gains_by_being_seen_late():
    """On shared-clique:3 with three years, all armed: a point if it is seen late."""
    threats = threats_of("shared-clique:3", 3)
    path = tuple(path_of(threats.search.clique, 3, 3, 0))
    certificates = {}
    for sight, gain in ((0, 0), (1, 1), (NEXT, 0)):
        found = SightThreats(threats, 3, 3, path, sight)
        found.solve()
        certificate = certificates[sight] = found.certificate()
        assert check_sight(certificate, sight) == len(certificate)
        assert certificate.bounds == (found.path_value + gain,) * 2
    with pytest.raises(CertificateError, match="by this certificate"):
        check_sight(certificates[0], 1)
    late = certificates[1]
    with pytest.raises(CertificateError, match="by this certificate"):
        check_sight(replace(late, upper=late.upper - 1, lower=late.lower - 1), 1)


@pytest.mark.slow
@pytest.mark.parametrize("t", [1, 3])
def test_seen_later_is_never_worth_less(t):
    """With delays of two or more, deviations of several ages are unnoticed at once, also in the same position."""
    threats = threats_of("clique:3", 0)
    path = tuple(path_of(threats.search.clique, -1, 3, 3 - t))
    values = [0.0]
    for delay in range(4):
        found = SightThreats(threats, 0, 3, path, delay)
        values.append(found.solve()[0])
        certificate = found.certificate()
        assert check_sight(certificate, delay) == len(certificate)
    assert (np.diff(values) >= -1e-9).all()


@pytest.mark.slow
def test_the_search_finds_a_path_that_holds_if_seen_late():
    search = FrontierSearch("clique:2", 2, 1)
    point = search.solve(Fraction(0), 4)
    assert point is not None
    assert point.gain == 0
    for certificate in point.certificates:
        check_sight(certificate, 1)
    plain = FrontierSearch("clique:2", 2).solve(Fraction(0), 4)
    assert plain is not None
    assert point.welfare <= plain.welfare
