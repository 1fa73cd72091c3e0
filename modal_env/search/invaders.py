"""Which agents are evolutionarily stable under mutation to all agents of their depth, and what invades the others.

A mutant M invades a population of R if it is paid more against R than R is, or the same against R and more against M
than R is (Maynard Smith and Price 1973). R is *stable* if every mutant that behaves differently is paid less in this
sense, and *neutrally stable* if none is paid more.

Replies against R are complete for agents without `me` that call given ones (`modal_env.search.best_replies`); of those
with the same outcome one of the least depth stands for all. So "invaded" and "neutrally stable" are proven by the
mutant, and "stable" relies on the search; among mutants that are paid the same as R against R, only those listed are
compared against themselves. docs/modal-search.md has the proofs about all mutants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from modal_env.checks import Number
from modal_env.games.game import check_epsilon, meet
from modal_env.logic.library import LIBRARY, CooperateBot, DefectBot, FairBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.logic.readers import as_formulas
from modal_env.progress import Report, no_report
from modal_env.search.findings import least_replies

CALLED_BY_MUTANTS = (CooperateBot, DefectBot, FairBot)
SEARCHED_DEPTH = 2
NOTHING = Fraction(0), Fraction(0)
WITNESSES = tuple(agent for agent in LIBRARY.values() if not agent.is_random)
HISTORIES = ("[]~X(me) & ~[]false", "[]X(me) & ~[]false", "~[]X(me) & ~[]~X(me)")
"""After the first world: the opponent has always defected, always cooperated, or done both."""


@dataclass(frozen=True)
class Verdict:
    """Whether an agent resists mutants.

    Attributes:
        agent: the resident.
        kind: "stable", "neutrally stable" or "invaded".
        invader: the invading mutant with the largest gain; if neutrally stable, one that is paid the same; or None.
        gain: the invader's payoff against the resident, less the resident's own; 0 if it gains only against itself.
    """

    agent: Agent
    kind: str
    invader: Agent | None
    gain: Fraction


def verdicts(
    epsilon: Number = "1/10",
    agents: Iterable[Agent | str] = tuple(LIBRARY.values()),
    calls: Sequence[Agent] = CALLED_BY_MUTANTS,
    report: Report = no_report,
) -> list[Verdict]:
    """Whether populations of each agent resist mutants, in the prisoner's dilemma with a price of depth.

    Mutants are all agents up to the resident's depth (2 at most) that call X only on themselves and on `calls`, and the
    agents of the library that are no deeper than the resident. RandomBot is left out.

    Raises:
        GameError, FormulaError: as `Game` and `replies`.
    """
    price, found = check_epsilon(epsilon), []
    residents = [agent for agent in as_formulas(agents) if not agent.is_random]
    for number, agent in enumerate(residents):
        report(number / len(residents))
        found.append(_verdict(agent, price, _mutants(agent, calls)))
    return found


def _mutants(agent: Agent, calls: Sequence[Agent]) -> list[Agent]:
    depth = min(agent.depth, SEARCHED_DEPTH)
    able = [call for call in calls if call.depth <= depth]
    listed = [other for other in WITNESSES if other.depth <= agent.depth]
    return [*(reply.agent for reply in least_replies([agent], able, depth)), *listed, *_drifters(agent)]


def _drifters(agent: Agent) -> list[Agent]:
    """Mutants that make the other move at some histories of the opponent's moves against them.

    Where the resident, and the agents that it calls, have no such history against it, the mutant is paid the same.
    """
    if not agent.depth:
        return []
    return [parse(f"({agent.text}) <-> ~({history})", helpers=agent.helpers) for history in HISTORIES]


def _verdict(agent: Agent, price: Fraction, mutants: Sequence[Agent]) -> Verdict:
    own = meet(agent, agent).paid(price)
    best: tuple[Fraction, Fraction, Agent] | None = None
    for mutant in mutants:
        gain = meet(mutant, agent).paid(price) - own
        then = meet(mutant, mutant).paid(price) - meet(agent, mutant).paid(price) if gain == 0 else Fraction(0)
        if best is not None and (gain, then) <= best[:2]:
            continue
        if (gain, then) == NOTHING and not _behave_differently(mutant, agent):
            continue
        best = gain, then, mutant
    if best is None or best[:2] < NOTHING:  # less against the resident, or as much and then less against itself
        return Verdict(agent, "stable", None, Fraction(0))
    kind = "neutrally stable" if best[0] == best[1] == 0 else "invaded"
    return Verdict(agent, kind, best[2], best[0])


def _behave_differently(one: Agent, other: Agent) -> bool:
    """Whether two agents make different moves against an agent of the library, at some world."""
    return any(_moves(one, witness) != _moves(other, witness) for witness in WITNESSES)


def _moves(agent: Agent, opponent: Agent) -> list[object]:
    """The agent's moves, world by world, up to the last change."""
    moves: list[object] = [own for own, _ in play(agent, opponent).trace]
    while len(moves) > 1 and moves[-1] == moves[-2]:
        moves.pop()
    return moves
