"""Leaving the paper's path in an armed year never pays, in a game of any length: certificates, and their checker.

With T - t given, how many armed years come first does not matter then: what a deviator gains in a game of T years it
gains in every longer game with the same T - t.

A certificate lists positions with orders of the others that do not depend on the years left, and claims c: with y years
left the deviator gets at most c + y - 1. This holds for every y >= 1 if each of its orders leads to a listed position
with a claim c' such that

- before Winter: c' <= c;
- in Winter: points of the phase + max(0, c' - 1) <= c. (With y = 1 the game ends there; else y - 1 years are left.)

On the path of pi_t a year with k armed Winters before that of year t, and d = T - t years after it, has y = k + d + 1
years left, which pay k + 2 (d + 1). Leaving the path there pays at most that

- in Spring and Fall: if the next position has a claim of at most 2, since 2 + k + d <= k + 2 (d + 1);
- in the Winter (k >= 1): if points of the phase + max(0, claim - 1) <= 2, since 2 + k + d - 1 + 1 is no more, either.

So nobody gains by leaving the path before the Winter of year t. From then on only d matters.

>>> check_armed_years(certify_armed_years("clique:3"))
53
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from evaluation.exact import graph_kernels as g
from evaluation.exact import value_kernels as v
from evaluation.exact.punisher_search import PunisherSearch
from research.price_of_peace.certificates import OTHERS, UNIT, Certificate
from research.price_of_peace.checking import CertificateError, Checker, Outcomes
from research.price_of_peace.naming import Naming, path_of
from research.price_of_peace.punisher_proofs import search_of

YEARS = 2  # of the certificate's game, with disarmament in the last year: it has every position of armed years
PATH = (g.OPENING, g.ENTERED + g.TO_PATH, *range(g.OPENING + 1, g.OPENING + 4))  # nodes, see `PunisherSearch`
MAX_CLAIM = 8  # positions with higher claims count as lost
MISSING = 1 << 20  # the claim of a position that is not listed
MOST = 2  # what leaving the path may be worth


def certify_armed_years(map_name: str) -> Certificate:
    """A certificate that nobody gains by leaving pi_t on clique:n in an armed year, for all t and lengths of game."""
    search = search_of(map_name, "player", "ranked")
    claims = Claims(search)
    left = [to for node in PATH for to in claims.edges(node, search.first_plan(node))]
    roots = [to for to in left if to >= g.OPENING]  # without the positions of the path
    claims.solve(roots)
    nodes, naming = list(claims.reached(roots)), Naming(search, search.deviator)
    return Certificate(
        map_name=map_name,
        years=YEARS,
        deviator=search.clique.board.powers[0],
        path=path_of(search.clique, -1, YEARS, YEARS),
        path_value=YEARS + 1,
        lower=0,
        upper=(YEARS + 1) * UNIT,
        rows=np.array([naming.row(node) for node in nodes], np.int64),
        years_left=np.ones(len(nodes), np.int64),
        uppers=np.array([claims.claim[node] for node in nodes], np.int64) * UNIT,
        lowers=np.zeros(len(nodes), np.int64),
        plan_rows=np.arange(len(nodes)),
        plan_sides=np.full(len(nodes), OTHERS),
        weights=np.full(len(nodes), UNIT),
        orders=np.array([naming.orders(node, search.table.orders[claims.plan[node]]) for node in nodes], np.int64),
    )


class Claims:
    """Claims, and a plan that keeps each.

    The claims start low and are raised until each position has orders that keep its claim (energy progress measures,
    Brim et al. 2011).

    Attributes:
        claim, plan: node -> its claim, its plan.
    """

    def __init__(self, search: PunisherSearch) -> None:
        self.search = search
        self.claim: dict[int, int] = {}
        self.plan: dict[int, int] = {}
        self._before: dict[int, set[int]] = {}
        self._waiting: list[int] = []

    def edges(self, node: int, plan: int) -> list[int]:
        """The nodes that the deviator can reach against a plan."""
        while self.search.table.many[plan] < 0:
            self.search.make_room()
            g.expand(self.search.table, node, plan, self.search.replies)
        table = self.search.table
        return [int(to) for to in table.to[table.first[plan] : table.first[plan] + table.many[plan]]]

    def solve(self, roots: Iterable[int]) -> None:
        """Find claims and plans for all positions that the deviator can reach from the roots."""
        for node in roots:
            self._meet(node)
        while self._waiting:
            self._raise(self._waiting.pop())
        if any(self.claim[node] > MAX_CLAIM for node in self.reached(roots)):
            raise RuntimeError("no orders found that hold for all years")

    def reached(self, roots: Iterable[int]) -> Iterator[int]:
        """The positions that the deviator can reach against the plans."""
        waiting, seen = list(roots), set()
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                yield node
                waiting += self.edges(node, self.plan[node])

    def _meet(self, node: int) -> None:
        if node not in self.claim:
            self.claim[node] = self._first(node)
            self._waiting.append(node)

    def _first(self, node: int) -> int:
        """The claim to begin with: a point in Spring, since lower ones would take long to raise."""
        return int(g.PHASE_OF[self.search.table.keys[node, 0] & 15] == g.SPRING)

    def _raise(self, node: int) -> None:
        """Give a node a plan that keeps its claim, or raise the claim as little as possible."""
        if self.claim[node] > MAX_CLAIM:
            return
        worth, plan = self._best(node)
        if plan != self.plan.get(node):
            self.plan[node] = plan
            for to in self.edges(node, plan):
                self._meet(to)
                self._before.setdefault(to, set()).add(node)
        if worth > self.claim[node]:
            self.claim[node] = worth
            self._waiting += self._before.get(node, ())

    def _best(self, node: int) -> tuple[int, int]:
        """What a node is worth, and by which plan: the first that keeps its claim, or the best."""
        found = []
        for plan in self._plans(node):
            found.append((self._worth(node, plan), plan))
            if found[-1][0] <= self.claim[node]:
                return found[-1]
        return min(found)

    def _plans(self, node: int) -> Iterator[int]:
        """A node's plans, in the order in which they are tried."""
        search, plan = self.search, self.search.first_plan(node)
        while plan >= 0:
            yield plan
            while search.table.following[plan] < 0 and not search.table.widened[node]:
                search.make_room()
                v.widen(search.table, node, search.rows, np.empty(len(search.rows), np.int64))
            plan = int(search.table.following[plan])

    def _worth(self, node: int, plan: int) -> int:
        """The deviator's points with one year left, from the claims of the positions that follow."""
        following, table = self.edges(node, plan), self.search.table
        claims = [self.claim.get(to, self._first(to)) for to in following]
        if g.PHASE_OF[table.keys[node, 0] & 15] != g.WINTER:
            return max(claims)
        gains = (table.centers[following].astype(int) - table.units[following]).tolist()
        return max(gain + max(0, claim - 1) for gain, claim in zip(gains, claims, strict=True))


def check_armed_years(certificate: Certificate) -> int:
    """Check a certificate of `certify_armed_years`; as `checking.check`."""
    return _ArmedYears(certificate.map_name, certificate.deviator).check(certificate)


class _ArmedYears(Checker):
    def check(self, certificate: Certificate) -> int:
        self._check_arrays(certificate)
        path = self._played_path(certificate)
        if certificate.path != path_of(self.clique, -1, YEARS, YEARS) or self.clique.is_shared:
            raise CertificateError("not of the armed years on clique:n")
        claims: dict[int, int] = {}  # of several claims the lowest, since every claim is checked
        for row, claim in zip(certificate.rows, (certificate.uppers // UNIT).tolist(), strict=True):
            number = self._number(row)
            claims[number] = min(claim, claims.get(number, claim))
        for number, claim in enumerate((certificate.uppers // UNIT).tolist()):
            if worth(self._outcomes(certificate, number, OTHERS), claims) > claim:
                raise CertificateError(f"position {number}: it is worth more than {claim} with one year left")
        for outcomes, stays, left in path[:-1]:
            leaving = Outcomes(outcomes.numbers[~stays], outcomes.gains[~stays], outcomes.passed, outcomes.weights)
            if worth(leaving, claims) > MOST:
                raise CertificateError(f"leaving the path, with {left} years left after the phase, is worth too much")
        return len(certificate)


def worth(found: Outcomes, claims: dict[int, int]) -> int:
    """The deviator's points with one year left, from the claims of the positions that follow."""
    after = np.array([claims.get(number, MISSING) for number in found.numbers.ravel().tolist()], np.int64)
    if found.passed:
        after = found.gains.ravel() + np.maximum(0, after - 1)
    return int(after.max(initial=0))
