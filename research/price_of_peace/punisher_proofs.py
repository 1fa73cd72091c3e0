"""Certificates of deterministic punishers, from the search of the theorems.

>>> from research.price_of_peace.checking import check
>>> from research.price_of_peace.punisher_proofs import search_of, proven
>>> found = proven(search_of("clique:3", "player", "best"), years=3, t=1)
>>> found.upper / UNIT - found.path_value, check(found) == len(found)
(1.0, True)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from agents.scripted.punisher import excluded
from agents.toy_boards.shape import clique_of
from evaluation.exact import graph_kernels as g
from evaluation.exact.punisher_search import PunisherSearch
from evaluation.exact.theorems import PUNISHERS, roles
from research.price_of_peace.certificates import OTHERS, UNIT, Certificate
from research.price_of_peace.naming import Naming, path_of
from welfare_env import load_board


def search_of(map_name: str, role: str, punishers: str) -> PunisherSearch:
    """The search of one kind of deviator, for all lengths of game."""
    board = load_board(map_name)
    clique = clique_of(board)
    number = board.power_index[roles(map_name)[role]]
    return PunisherSearch(clique, number, excluded(clique, None), PUNISHERS[punishers])


def proven(search: PunisherSearch, years: int, t: int) -> Certificate:
    """The certificate that a deviator gets at most the search's value in a game of T years with disarmament in t."""
    value, disarmed, table = search.value(years, years - t), years - t, search.table
    nodes = list(needed(search, years, disarmed))
    naming = Naming(search, search.deviator)
    plans = [int(table.proof[node, g.column(left, disarmed)]) for node, left in nodes]
    claims = [int(table.high[node, g.column(left, disarmed)]) for node, left in nodes]
    width = 1 + 2 * search.provinces + 2 * search.clique.cores
    return Certificate(
        map_name=search.clique.board.name,
        years=years,
        deviator=search.clique.board.powers[search.deviator],
        path=path_of(search.clique, search.excluded, years, t),
        path_value=search.path_value(years, disarmed),
        lower=0,
        upper=value * UNIT,
        rows=np.array([naming.row(node) for node, _ in nodes], np.int64).reshape(-1, width),
        years_left=np.array([left for _, left in nodes], np.int64),
        uppers=np.array(claims, np.int64) * UNIT,
        lowers=np.zeros(len(nodes), np.int64),
        plan_rows=np.arange(len(nodes)),
        plan_sides=np.full(len(nodes), OTHERS),
        weights=np.full(len(nodes), UNIT),
        orders=np.array(
            [naming.orders(node, table.orders[plan]) for (node, _), plan in zip(nodes, plans, strict=True)], np.int64
        ).reshape(-1, search.provinces),
    )


def needed(search: PunisherSearch, years: int, disarmed: int) -> Iterator[tuple[int, int]]:
    """Nodes with years left that the proof needs: those in which a loose bound does not suffice.

    With the best punishers, which remember who left the path, the positions of the path are left out.
    """
    table = search.table
    waiting, seen = [(g.OPENING, years)], set()
    while waiting:
        node, left = waiting.pop()
        plan = int(table.proof[node, g.column(left, disarmed)])
        if (node, left) in seen or plan < 0:
            continue
        seen.add((node, left))
        if search.breadth != g.BEST or not g.is_on_path(node):
            yield node, left
        after = left - int(g.PHASE_OF[table.keys[node, 0] & 15] == g.WINTER)
        if after:
            first = table.first[plan]
            following = table.to[first : first + table.many[plan]].tolist()
            waiting += [(int(g.following(table, node, to, after, disarmed)), after) for to in following]
