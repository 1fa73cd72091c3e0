"""Finite populations in which every direct agent up to a depth may appear as a mutant: the share of time of each.

At depth 2 there are 2,097,152 agents, no two of them alike, so the chain between populations of one agent each (see
`modal_env.dynamics.finite.rare_mutations`) is too large to solve as it stands. But the agents that a resident meets in
one way are one *side* of a play (`modal_env.search.plays`), and the chance that a mutant takes over depends only on
that play's outcome and on the *kinds* of the two agents: their depth and what they do against themselves. So after
each takeover the resident is drawn uniformly from the agents of one kind on one side, and these sets are the states of
a smaller chain with the same jumps: 914 states at depth 2 instead of two million. Agents of less than the greatest
depth are states of their own. The shares are exact up to rounding: nothing is sampled, nothing is left out.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import NDArray

from modal_env.checks import Number, choice, whole
from modal_env.dynamics.basins import Estimate
from modal_env.dynamics.finite import (
    MAX_SIZE,
    PROCESSES,
    Shares,
    checked_intensity,
    stationary,
    takeover,
)
from modal_env.games.game import check_epsilon
from modal_env.games.payoffs import PAYOFFS, PayoffTable, as_table
from modal_env.search.direct.equal import EQUAL
from modal_env.search.direct_agents import MAX_DEPTH, codes_up_to, moves_against_itself, shallow_names
from modal_env.search.plays import LOW, OUTCOMES, Plays, agreeing, counts_on_sides, plays

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def direct_shares(
    epsilon: Number,
    size: int,
    *,
    depth: int = MAX_DEPTH,
    payoffs: str | PayoffTable = PAYOFFS,
    mutants: str = "agents",
    process: str = "moran",
    intensity: float = 1.0,
) -> Shares:
    """The share of time with each agent below the depth, with all others that cooperate, and with all that do not.

    Args and errors: as of `code_shares`.
    """
    choice("process", process, PROCESSES[:2])
    shares = code_shares(epsilon, size, depth=depth, payoffs=payoffs, mutants=mutants, intensity=intensity)
    lower = codes_up_to(depth - 1, depth)
    known = shallow_names()
    cooperates = moves_against_itself(depth)
    others = np.ones(len(shares), np.bool_)
    others[lower] = False
    names = [*(known[code] for code in codes_up_to(depth - 1, 1)), f"depth {depth}, CC", f"depth {depth}, DD"]
    parts = [*shares[lower], *(shares[others & (cooperates == move)].sum() for move in (True, False))]
    both = float(shares[cooperates].sum())
    each = tuple(Estimate(float(part), float(part), float(part)) for part in parts)
    return Shares(tuple(names), each, Estimate(both, both, both), size, process, 0.0, "rare mutations")


def code_shares(
    epsilon: Number,
    size: int,
    *,
    depth: int = MAX_DEPTH,
    payoffs: str | PayoffTable = PAYOFFS,
    mutants: str = "agents",
    intensity: float = 1.0,
) -> Floats:
    """[codes] the share of time with each direct agent up to a depth, in the limit of rare mutations.

    Moran process and pairwise imitation have the same shares. In an asymmetric game each member has each seat half of
    the time.

    Args:
        epsilon: price of a level of depth.
        size: number of members, from 2.
        depth: of the agents, 1 or 2.
        payoffs: a game, see `modal_env.games.payoffs.as_table`.
        mutants: "agents": every agent is equally likely; "depths": every depth is, and every agent of that depth.
        intensity: of selection, from 0.

    Raises:
        GameError: an argument out of bounds; an unknown game.
    """
    price, members = check_epsilon(epsilon), whole("size", size, 2, MAX_SIZE)
    choice("mutants", mutants, EQUAL)
    weight, table = checked_intensity(intensity), as_table(payoffs)
    met = plays(whole("depth", depth, 1, MAX_DEPTH))
    kind, depths, cooperates, singles = _kinds(met)
    decided = np.array([side.decided for side in met.sides])
    moves = np.array([side.moves for side in met.sides])
    found = counts_on_sides(decided, moves, kind, len(depths))
    chances = _chances(table, price, depths, cooperates, members, weight)
    if mutants == "depths":
        of_depth = np.bincount(met.profiles[met.profile, 0], minlength=depth + 1)
        chances = chances / of_depth[depths] * len(kind)
    # rates[side, kind]: how often a resident of this kind on this side is replaced in the plays of that side
    rates = np.zeros(found.shape)
    for play in met.plays:
        rates[play.first] += chances[:, play.outcome] @ found[play.second]
    state, kinds_of, count_of = _states(found, singles)
    waits = _waits(decided, moves, kind, state, singles, rates, len(kinds_of))
    jumps = np.zeros((len(kinds_of),) * 2)
    for play in met.plays:
        for after in np.flatnonzero(found[play.second]):
            chance = chances[kinds_of, play.outcome, after] * found[play.second, after]
            jumps[:, state[play.second, after]] += waits[:, play.first] * chance
    visits = stationary(jumps / count_of[:, None]) / count_of
    return _times(decided, moves, kind, state, singles, rates, visits)


def _kinds(met: Plays) -> tuple[Codes, Codes, NDArray[np.bool_], NDArray[np.bool_]]:
    """[codes] each agent's kind; and of each kind the depth, the move against itself, whether it is one agent."""
    least = met.profiles[met.profile, 0]
    moves = moves_against_itself(met.depth)
    lower = np.flatnonzero(least < met.depth)
    kind = len(lower) + moves.astype(np.int64)
    kind[lower] = np.arange(len(lower))
    depths = np.array([*least[lower], met.depth, met.depth])
    return kind, depths, np.array([*moves[lower], False, True]), np.arange(len(depths)) < len(lower)


def _chances(
    table: PayoffTable,
    price: Fraction,
    depths: Codes,
    cooperates: NDArray[np.bool_],
    members: int,
    weight: float,
) -> Floats:
    """[kinds, outcomes, kinds] the chance that a mutant of the last kind takes over residents of the first."""
    paid = [float(table[moves] + table.turned[moves]) / 2 for moves in OUTCOMES]
    turned = [paid[OUTCOMES.index(moves[::-1])] for moves in OUTCOMES]
    costs = [float(price * int(depth)) for depth in depths]
    own = [paid[OUTCOMES.index("CC" if move else "DD")] - cost for move, cost in zip(cooperates, costs, strict=True)]
    found = np.empty((len(depths), len(OUTCOMES), len(depths)))
    for resident, outcome, mutant in np.ndindex(*found.shape):
        of_resident = paid[outcome] - costs[resident], own[resident]
        of_mutant = own[mutant], turned[outcome] - costs[mutant]
        found[resident, outcome, mutant] = takeover(of_mutant, of_resident, members, weight)
    return found


def _states(found: Codes, singles: NDArray[np.bool_]) -> tuple[Codes, Codes, Codes]:
    """[sides, kinds] the number of the state, or -1 without agents; and the kind and number of agents of each state."""
    state = np.full(found.shape, -1)
    state[:, singles] = np.where(found[:, singles] > 0, np.arange(singles.sum()), -1)
    kinds, counts = [*range(int(singles.sum()))], [1] * int(singles.sum())
    for side, kind in np.argwhere((found > 0) & ~singles):
        state[side, kind] = len(kinds)
        kinds.append(int(kind))
        counts.append(int(found[side, kind]))
    return state, np.array(kinds), np.array(counts)


@njit(cache=True, nogil=True)
def _waits(decided, moves, kind, state, singles, rates, states):  # type: ignore[no-untyped-def]
    """[states, sides] the mean times to the next takeover, added up over the agents of a state on a side."""
    found = np.zeros((states, len(decided)))
    step = min(1 << LOW, len(kind))
    for low in range(step):
        sides = agreeing(decided, moves, low, step - 1)
        held = np.empty(len(sides), np.int64)
        for code in range(low, len(kind), step):
            own, number, rate = kind[code], 0, 0.0
            for side in sides:
                if code & decided[side] == moves[side]:
                    held[number] = side
                    number += 1
                    rate += rates[side, own]
            for i in range(1 if singles[own] else number):
                for j in range(number):
                    found[state[held[i], own], held[j]] += 1 / rate
    return found


@njit(cache=True, nogil=True)
def _times(decided, moves, kind, state, singles, rates, visits):  # type: ignore[no-untyped-def]
    """[codes] the share of time of each agent, given how often each member of a state becomes the resident."""
    found = np.zeros(len(kind))
    step = min(1 << LOW, len(kind))
    for low in range(step):
        sides = agreeing(decided, moves, low, step - 1)
        for code in range(low, len(kind), step):
            own, rate, often, number = kind[code], 0.0, 0.0, 0
            for side in sides:
                if code & decided[side] == moves[side]:
                    rate += rates[side, own]
                    if number == 0 or not singles[own]:
                        often += visits[state[side, own]]
                    number += 1
            found[code] = often / rate
    return found / found.sum()
