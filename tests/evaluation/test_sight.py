"""The frontier if the others see late that somebody left: certificates, and the players' own answers."""

import json
from dataclasses import replace

import numpy as np
import pytest

from agents.toy_boards.drawn_orders import drawn_orders
from agents.toy_boards.shape import clique_of
from evaluation.checks import EvaluationError, board_of
from evaluation.exact import CertificateError, DrawnCertificate, FrontierPoint, check_drawn, frontier
from evaluation.exact.clique_proofs import path_of
from evaluation.exact.drawn.proofs import PathThreats
from evaluation.exact.drawn.sight import ADJACENT
from evaluation.exact.drawn.threats import ThreatSearch

SIGHTS = (0, 1, 2, ADJACENT)


def threats_of(board: str, power: int) -> ThreatSearch:
    return ThreatSearch(clique_of(board_of(board)), power)


def certificate_of(threats: ThreatSearch, power: int, excluded: int, years: int, sight: int | str) -> DrawnCertificate:
    """Of pi_years, the path on which all stay armed."""
    found = PathThreats(threats, power, years, tuple(path_of(threats.search.clique, excluded, years, 0)), sight=sight)
    found.solve()
    return found.certificate()


def test_a_certificate_says_when_the_others_notice(tmp_path):
    threats = threats_of("shared-clique:2", 2)
    for sight in SIGHTS:
        certificate = certificate_of(threats, 2, 2, 2, sight)
        assert certificate.sight == sight
        assert check_drawn(certificate) == len(certificate)
        certificate.save(tmp_path / "drawn.npz")
        assert DrawnCertificate.load(tmp_path / "drawn.npz").sight == sight


def test_what_holds_if_seen_at_once_does_not_if_seen_late():
    """On shared-clique:2 with three years, all armed, the player without a core gains if it is seen a phase late."""
    threats = threats_of("shared-clique:2", 2)
    at_once, late = (certificate_of(threats, 2, 2, 3, sight) for sight in (0, 1))
    assert at_once.upper < late.upper
    assert check_drawn(late) == len(late)
    with pytest.raises(CertificateError, match="by this certificate the opening is worth"):
        check_drawn(replace(at_once, sight=1))


def test_certificates_of_older_versions_are_of_sight_0(tmp_path):
    certificate = certificate_of(threats_of("clique:2", 0), 0, -1, 1, 0)
    certificate.save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as file:
        arrays = dict(file)
    told = json.loads(str(arrays["told"]))
    assert told.pop("sight") == 0
    np.savez(tmp_path / "old.npz", **arrays | {"told": json.dumps(told)})
    assert DrawnCertificate.load(tmp_path / "old.npz").sight == 0


@pytest.mark.parametrize("sight", [-1, True, 1.0, float("nan"), 10**30, "next", None, [0]])
def test_other_sights(sight):
    with pytest.raises(EvaluationError, match="sight="):
        frontier("clique:2", 1, [0], sight=sight)
    certificate = certificate_of(threats_of("clique:2", 0), 0, -1, 1, 0)
    with pytest.raises(CertificateError, match="sight="):
        check_drawn(replace(certificate, sight=sight))


def test_pairs_are_not_searched_with_late_sight():
    with pytest.raises(EvaluationError, match="coalitions=2, sight=1: pairs"):
        frontier("clique:2", 1, [0], coalitions=2, sight=1)


def test_a_point_with_late_sight_has_no_policy(tmp_path):
    """The players of `frontier:point=FILE` notice at once; the file can be read and checked."""
    (point,) = frontier("clique:2", 1, [0], sight=1)
    point.save(tmp_path / "point.npz")
    loaded = FrontierPoint.load(tmp_path / "point.npz")
    assert [certificate.sight for certificate in loaded.certificates] == [1, 1]
    for certificate in loaded.certificates:
        check_drawn(certificate)
    with pytest.raises(ValueError, match="notice a deviation late"):
        drawn_orders(tmp_path / "point.npz")


@pytest.mark.slow
def test_who_has_no_core_gains_by_being_seen_late():
    """On shared-clique:3 with three years, all armed: a point if it is seen late."""
    threats = threats_of("shared-clique:3", 3)
    path = tuple(path_of(threats.search.clique, 3, 3, 0))
    certificates = {}
    for sight, gain in ((0, 0), (1, 1), (ADJACENT, 0)):
        found = PathThreats(threats, 3, 3, path, sight=sight)
        found.solve()
        certificate = certificates[sight] = found.certificate()
        assert check_drawn(certificate) == len(certificate)
        assert certificate.bounds == (found.path_value + gain,) * 2
    with pytest.raises(CertificateError, match="by this certificate"):
        check_drawn(replace(certificates[0], sight=1))
    late = certificates[1]
    with pytest.raises(CertificateError, match="by this certificate"):
        check_drawn(replace(late, upper=late.upper - 1, lower=late.lower - 1))


@pytest.mark.slow
@pytest.mark.parametrize("t", [1, 3])
def test_seen_later_is_never_worth_less(t):
    """With delays of two or more, deviations of several ages are unnoticed at once, also in the same position."""
    threats = threats_of("clique:3", 0)
    path = tuple(path_of(threats.search.clique, -1, 3, 3 - t))
    values = [0.0]
    for delay in range(4):
        found = PathThreats(threats, 0, 3, path, sight=delay)
        values.append(found.solve()[0])
        certificate = found.certificate()
        assert check_drawn(certificate) == len(certificate)
    assert (np.diff(values) >= -1e-9).all()


@pytest.mark.slow
def test_the_search_finds_a_path_that_holds_if_seen_late():
    (point,) = frontier("clique:2", 2, [0], 4, sight=1)
    assert point.gain == 0
    for certificate in point.certificates:
        check_drawn(certificate)
    (plain,) = frontier("clique:2", 2, [0], 4)
    assert point.welfare <= plain.welfare
