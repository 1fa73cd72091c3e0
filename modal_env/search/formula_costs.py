"""The post's lemma, and pure equilibria, if what an agent pays depends on its formula's symbols, boxes and calls.

The lemma at a cost: if an agent of cost c cooperates with one of cost up to c, it does so with a cheaper one. Where it
holds, no agent of equal cost is a best reply, as the cheaper one is paid more, whether it cooperates or not. In a pure
equilibrium besides defection each agent is a cheapest one that the other cooperates with: we list such pairs. All of
this is among direct agents (`modal_env.search.priced_agents`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from modal_env.logic.notation import Agent
from modal_env.progress import Report, no_report
from modal_env.search.best_replies import Types
from modal_env.search.priced_agents import MAX_DEPTH, PricedAgents, all_types, priced_agents

TRIED = 100  # cheapest agents, which most agents cooperate with


@dataclass(frozen=True)
class LemmaAtCost:
    """The lemma for the agents of one cost.

    Attributes:
        cost: of the agents.
        agents: how many behaviors have this least cost.
        friendly: how many of them cooperate with some agent of at most this cost, whatever that agent's move.
        counterexamples: those of the friendly that cooperate with no cheaper agent, each with one of equal cost.
    """

    cost: int
    agents: int
    friendly: int
    counterexamples: tuple[tuple[Agent, Agent], ...]


@dataclass(frozen=True)
class LemmaSearch:
    """The lemma at a cost, and the candidates for pure equilibria.

    Attributes:
        listed: the agents.
        costs: the lemma for each cost above the least.
        pairs: mutually cooperating pairs in which neither cooperates with an agent cheaper than its partner. All pure
            equilibria besides defection are such pairs. A pair is one at small prices if nobody exploits either agent.
    """

    listed: PricedAgents
    costs: tuple[LemmaAtCost, ...]
    pairs: tuple[tuple[Agent, Agent], ...]


def lemma_at_cost(
    prices: Mapping[str, int], most: int, depth: int = MAX_DEPTH, report: Report = no_report
) -> LemmaSearch:
    """Search for counterexamples to the post's lemma, and for candidates for pure equilibria, among direct agents.

    Args and errors as `modal_env.search.priced_agents.priced_agents`.
    """
    listed = priced_agents(prices, most, depth, report)
    following = _following(all_types(depth))
    ends = np.searchsorted(listed.costs, listed.costs, side="right")
    columns = np.ascontiguousarray(listed.moves.T)
    friends = _cheapest_friends(columns, ends, following)
    costs = tuple(_lemma(listed, friends, cost) for cost in np.unique(listed.costs).tolist()[1:])
    found = _partners(columns, listed.costs, friends, ends, following)
    report(1.0)
    return LemmaSearch(listed, costs, tuple((listed.agent(a), listed.agent(b)) for a, b in found.tolist()))


def _following(types: Types) -> NDArray[np.int64]:
    """[types, 2] the type one world later."""
    return np.array([[types.after(number, symbol) for symbol in (0, 1)] for number in range(len(types.words))])


def _lemma(listed: PricedAgents, friends: NDArray[np.int64], cost: int) -> LemmaAtCost:
    own = np.flatnonzero(listed.costs == cost)
    friendly = own[friends[own] >= 0]
    fails = friendly[listed.costs[friends[friendly]] == cost]
    pairs = tuple((listed.agent(one), listed.agent(int(friends[one]))) for one in fails.tolist())
    return LemmaAtCost(cost, len(own), len(friendly), pairs)


@njit(cache=True, nogil=True)
def _cheapest_friends(columns, ends, following):  # type: ignore[no-untyped-def]
    """[n] the first agent, below each one's end, that each agent cooperates with; -1 if there is none.

    Args:
        columns: [types, n] the moves of all agents.
    """
    found = np.full(len(ends), -1)
    pool = np.empty(len(ends), np.int32)
    for agent in range(len(ends)):
        for other in range(min(TRIED, ends[agent])):
            if _play(columns, agent, other, following)[0]:
                found[agent] = other
                break
        else:
            found[agent] = _first_friend(columns[:, agent].copy(), columns, ends[agent], following, pool)
    return found


@njit(cache=True, nogil=True)
def _play(columns, one, other, following):  # type: ignore[no-untyped-def]
    """The final moves of two agents."""
    s = t = 0
    while True:
        x, y = columns[s, one], columns[t, other]
        u, v = following[s, int(y)], following[t, int(x)]
        if u == s and v == t:
            return x, y
        s, t = u, v


@njit(cache=True, nogil=True)
def _first_friend(own, columns, end, following, pool):  # type: ignore[no-untyped-def]
    """The first agent below `end` that an agent cooperates with: plays all at once, in groups that move alike."""
    waiting = np.empty((2 * len(own) + 2, 4), np.int64)
    for other in range(end):
        pool[other] = other
    waiting[0] = 0
    waiting[0, 1] = end
    count, best = 1, end
    while count:
        count -= 1
        low, high, s, t = waiting[count]
        middle = _parted(pool, low, high, columns[t])
        for y in range(2):
            first, last = (middle, high) if y else (low, middle)
            u, v = following[s, y], following[t, int(own[s])]
            if first == last:
                continue
            if u == s and v == t:
                if own[s]:
                    best = min(best, pool[first:last].min())
            else:
                waiting[count, 0], waiting[count, 1], waiting[count, 2], waiting[count, 3] = first, last, u, v
                count += 1
    return best if best < end else -1


@njit(cache=True, nogil=True)
def _parted(pool, low, high, moves):  # type: ignore[no-untyped-def]
    """Move those that defect to the front; where the others begin."""
    for place in range(low, high):
        if not moves[pool[place]]:
            pool[low], pool[place] = pool[place], pool[low]
            low += 1
    return low


def _partners(
    columns: NDArray[np.bool_],
    costs: NDArray[np.int64],
    friends: NDArray[np.int64],
    ends: NDArray[np.int64],
    following: NDArray[np.int64],
) -> NDArray[np.int64]:
    """[pairs, 2] agents that cooperate with each other, each a cheapest one that the other cooperates with.

    Those of the least cost are constants, or do the same against everybody; DefectBot exploits them.
    """
    found = []
    least = np.where(friends >= 0, costs[friends], -1)
    pool = np.empty(len(costs), np.int32)
    for one in np.flatnonzero((costs > costs[0]) & ((least < 0) | (least == costs))).tolist():
        if least[one] < 0:
            first = _first_friend(columns[:, one].copy(), columns, len(costs), following, pool)
            wanted = costs[first] if first >= 0 else -1
        else:
            wanted = costs[one]
        for other in np.flatnonzero((costs == wanted) & (least == costs[one])).tolist():
            if (other >= one or wanted > costs[one]) and all(_play(columns, one, other, following)):
                found.append((one, other))
    return np.array(found, np.int64).reshape(-1, 2)
