"""Leaving the paper's path in an armed year never pays, in a game of any length: certificates, and the search for them.

With t and T - t given, how many armed years come first does not matter then: what a deviator gains in a game of T years
it gains in every longer game with the same T - t. `evaluation.exact.armed_years_checking` has the proof.

The others' orders here depend on the position alone, not on the years left. A position has a claim: the deviator's
points if one year is left; with each further year it may get one more, as it does on the armed path. The search raises
the claims, which start low, until each position has orders that keep its claim (energy progress measures, Brim et al.
2011).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from agents.toy_boards.shape import NOBODY
from evaluation.checks import EvaluationError
from evaluation.exact import graph_kernels as g
from evaluation.exact.certificates import Certificate, orders_array
from evaluation.exact.certify import punishers_search
from evaluation.exact.clique_proofs import Naming, path_of
from evaluation.exact.clique_search import CliqueSearch
from welfare_env.engine import layout_of

YEARS = 2  # of the certificate's game, with disarmament in the last year: it has every position of armed years
PATH = (g.OPENING, g.ENTERED + g.TO_PATH, *range(g.OPENING + 1, g.OPENING + 4))  # nodes, see `CliqueSearch`
MOST_CLAIM = 8  # positions with higher claims count as lost


def certify_armed_years(map_name: str, deviator: str) -> Certificate:
    """A certificate that nobody gains by leaving pi_t in an armed year, for all t and lengths of game.

    Args:
        map_name: clique:n, n from 2 to 7.
        deviator: a power.

    Returns:
        a certificate for `check_armed_years`. Its claims are for one year left; each further year adds one point.

    Raises:
        EvaluationError: there are no such orders among the 300 best-scored ones of each position, or it is a shared
            board. UnknownMapError, UnknownPowerError: invalid input of this kind.
    """
    search = punishers_search(map_name, deviator, None, "ranked")
    if search.clique.is_shared:
        raise EvaluationError(f"map {map_name!r:.80}: give clique:n")
    claims = Claims(search)
    left = [to for node in PATH for to in search.edges(node, search.first_plan(node))]
    roots = [to for to in left if to >= g.OPENING]  # without the positions of the path
    claims.solve(roots)
    nodes, naming = list(claims.reached(roots)), Naming(search)
    _, places = naming.names()
    back, paid = np.argsort(places), YEARS + 1
    orders = [naming.numbers(node, search.table.orders[claims.plan[node]], places, back) for node in nodes]
    rows = np.array([naming.state(node).row for node in nodes], np.int32)
    return Certificate(
        map_name=search.clique.board.name,
        years=YEARS,
        deviators=(deviator,),
        value=paid,
        path=tuple(path_of(search.clique, NOBODY, YEARS, 0)),
        path_value=paid,
        is_symmetric=True,
        rows=rows.reshape(-1, layout_of(naming.board).size),
        years_left=np.ones(len(nodes), np.int16),
        claims=np.array([claims.claim[node] for node in nodes], np.int16),
        orders=orders_array(orders),
    )


class Claims:
    """Claims, and a plan that keeps each.

    Attributes:
        claim, plan: node -> its claim, its plan.
    """

    def __init__(self, search: CliqueSearch) -> None:
        self.search = search
        self.claim: dict[int, int] = {}
        self.plan: dict[int, int] = {}
        self._before: dict[int, set[int]] = {}
        self._waiting: list[int] = []

    def solve(self, roots: Iterable[int]) -> None:
        """Find claims and plans for all positions that the deviator can reach from the roots.

        Raises:
            EvaluationError: a position on the way has no claim up to MOST_CLAIM.
        """
        for node in roots:
            self._meet(node)
        while self._waiting:
            self._raise(self._waiting.pop())
        if any(self.claim[node] > MOST_CLAIM for node in self.reached(roots)):
            raise EvaluationError(f"map {self.search.clique.board.name}: no orders found that hold for all years")

    def reached(self, roots: Iterable[int]) -> Iterator[int]:
        """The positions that the deviator can reach against the plans."""
        waiting, seen = list(roots), set()
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                yield node
                waiting += self.search.edges(node, self.plan[node])

    def _meet(self, node: int) -> None:
        if node not in self.claim:
            self.claim[node] = self._first(node)
            self._waiting.append(node)

    def _first(self, node: int) -> int:
        """The claim to begin with: a point in Spring, since lower ones would take long to raise."""
        return int(g.PHASE_OF[self.search.table.keys[node, 0] & 15] == g.SPRING)

    def _raise(self, node: int) -> None:
        """Give a node a plan that keeps its claim, or raise the claim as little as possible."""
        if self.claim[node] > MOST_CLAIM:
            return
        worth, plan = self._best(node)
        if plan != self.plan.get(node):
            self.plan[node] = plan
            for to in self.search.edges(node, plan):
                self._meet(to)
                self._before.setdefault(to, set()).add(node)
        if worth > self.claim[node]:
            self.claim[node] = worth
            self._waiting += self._before.get(node, ())

    def _best(self, node: int) -> tuple[int, int]:
        """What a node is worth, and by which plan: the first that keeps its claim, or the best."""
        found = []
        for plan in self.search.plans(node):
            found.append((self._worth(node, plan), plan))
            if found[-1][0] <= self.claim[node]:
                return found[-1]
        return min(found)

    def _worth(self, node: int, plan: int) -> int:
        """The deviator's points with one year left, from the claims of the positions that follow."""
        following, table = self.search.edges(node, plan), self.search.table
        claims = [self.claim.get(to, self._first(to)) for to in following]
        if g.PHASE_OF[table.keys[node, 0] & 15] != g.WINTER:
            return max(claims)
        gains = (table.centers[following].astype(int) - table.units[following]).tolist()
        return max(gain + max(0, claim - 1) for gain, claim in zip(gains, claims, strict=True))
