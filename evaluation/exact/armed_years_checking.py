"""Checks that leaving the paper's path in an armed year never pays, for all lengths of game: `check_armed_years`.

A certificate lists positions, the others' orders, and claims. Let c + y - 1 be the most that the deviator gets from a
position with claim c if y years are left. This holds for every y >= 1 if each of its orders leads to a listed position
with a claim c' such that

- before Winter: c' <= c;
- in Winter: points of the phase + max(0, c' - 1) <= c. (With y = 1 the game ends there; else y - 1 years are left.)

None of this depends on y. On the path of pi_t a year with k armed Winters before that of year t, and d = T - t years
after it, has y = k + d + 1 years left, which pay k + 2 (d + 1). Leaving the path there pays at most that

- in Spring and Fall: if the next position has a claim of at most 2, since 2 + k + d <= k + 2 (d + 1);
- in the Winter (k >= 1): if points of the phase + max(0, claim - 1) <= 2, since 2 + k + d - 1 + 1 is no more, either.

So nobody gains by leaving the path before the Winter of year t. From then on only d matters.
"""

from __future__ import annotations

import numpy as np

from agents.toy_boards.shape import NOBODY, clique_of
from evaluation.exact.armed_years import YEARS
from evaluation.exact.certificates import Certificate, CertificateError
from evaluation.exact.checking import Checker, Expanded
from evaluation.exact.clique_proofs import path_of
from evaluation.exact.rows.canonical import check_header, check_rows
from welfare_env.checks import quoted

MISSING = 1 << 20  # the claim of a position that is not listed
MOST = 2  # what leaving the path may be worth


def check_armed_years(certificate: Certificate) -> int:
    """Check a certificate of `certify_armed_years`.

    Returns:
        the number of positions checked.

    Raises:
        CertificateError: the certificate does not hold; the message says where.
    """
    if not isinstance(certificate, Certificate):
        raise CertificateError(f"certificate={quoted(certificate)}: give a Certificate")
    check_header(certificate)
    checker = _ArmedYears(certificate.map_name, certificate.deviators, certificate.is_symmetric)
    return checker.check(certificate)


class _ArmedYears(Checker):
    """Checks the certificates of one board and deviator."""

    def check(self, certificate: Certificate) -> int:
        """As `check_armed_years`."""
        check_rows(certificate)
        clique = clique_of(self.board)
        is_path = certificate.path == tuple(path_of(clique, NOBODY, YEARS, 0)) and certificate.years == YEARS
        if clique.is_shared or len(self.deviators) > 1 or not is_path or (certificate.years_left != 1).any():
            raise CertificateError(f"{certificate!r:.200}: not of the armed years of one deviator on clique:n")
        claims = self._lowest_claims(certificate)
        for number, (row, orders) in enumerate(zip(certificate.rows, certificate.orders, strict=True)):
            found = worth(self._expand(row, orders, f"position {number}"), claims)
            if found > certificate.claims[number]:
                raise CertificateError(
                    f"position {number}, {self._text_of(row)}, claimed to be worth at most "
                    f"{certificate.claims[number]} with one year left: an order leads {_described(found)}"
                )
        self._check_leaving(certificate, claims)
        return len(certificate)

    def _lowest_claims(self, certificate: Certificate) -> dict[int, int]:
        """Position number -> claim; of several claims the lowest, since every claim is checked."""
        claims: dict[int, int] = {}
        for row, claim in zip(certificate.rows, certificate.claims.tolist(), strict=True):
            number = self._number(row)
            claims[number] = min(claim, claims.get(number, claim))
        return claims

    def _check_leaving(self, certificate: Certificate, claims: dict[int, int]) -> None:
        """Check every order of the deviator that leaves the path before the last Winter."""
        for step in self._played_path(certificate)[:-1]:
            leaves = step.found.keys != step.to
            left = Expanded(step.found.keys[leaves], step.found.gains[leaves], step.found.passed)
            if (found := worth(left, claims)) > MOST:
                raise CertificateError(f"leaving the path, with {step.years} years left, leads {_described(found)}")


def worth(found: Expanded, claims: dict[int, int]) -> int:
    """The deviator's points with one year left, from the claims of the positions that follow."""
    after = np.array([claims.get(key, MISSING) for key in found.keys.tolist()], np.int64)
    if found.passed:
        after = found.gains + np.maximum(0, after - 1)
    return int(after.max(initial=0))


def _described(worth: int) -> str:
    return "to a position that is not listed" if worth >= MISSING - 1 else f"to {worth} points"
