"""Which agents are evolutionarily stable under mutation to all agents of their depth, and what invades the others.

A mutant M invades a population of R if it is paid more against R than R is, or the same against R and more against M
than R is (Maynard Smith and Price 1973). R is *stable* if every mutant that behaves differently is paid less in this
sense, and *neutrally stable* if none is paid more.

Replies against R are complete for agents without `me` that call given ones (`modal_env.search.best_replies`); of those
with the same outcome one of the least depth stands for all. So "invaded" is proven by the mutant, and "stable" relies
on the search; among mutants that are paid the same as R against R, only those listed are compared against themselves.
docs/modal-search.md has the proofs about all mutants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from modal_env.checks import Number
from modal_env.games.game import check_epsilon, meet
from modal_env.logic.finite_machines import behave_alike
from modal_env.logic.library import LIBRARY, CooperateBot, DefectBot, FairBot
from modal_env.logic.notation import Agent
from modal_env.logic.readers import as_formulas
from modal_env.progress import Report, no_report
from modal_env.search.findings import least_replies

CALLED_BY_MUTANTS = (CooperateBot, DefectBot, FairBot)
SEARCHED_DEPTH = 2
NOTHING = Fraction(0), Fraction(0)


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
    listed = [other for other in LIBRARY.values() if other.depth <= agent.depth and not other.is_random]
    return [*(reply.agent for reply in least_replies([agent], able, depth)), *listed]


def _verdict(agent: Agent, price: Fraction, mutants: Sequence[Agent]) -> Verdict:
    own = meet(agent, agent).paid(price)
    best: tuple[Fraction, Fraction, Agent] | None = None
    for mutant in mutants:
        gain = meet(mutant, agent).paid(price) - own
        then = meet(mutant, mutant).paid(price) - meet(agent, mutant).paid(price) if gain == 0 else Fraction(0)
        if (gain, then) == NOTHING and behave_alike(mutant, agent):
            continue
        if best is None or (gain, then) > best[:2]:
            best = gain, then, mutant
    if best is None or best[:2] < NOTHING:  # less against the resident, or as much and then less against itself
        return Verdict(agent, "stable", None, Fraction(0))
    kind = "neutrally stable" if best[0] == best[1] == 0 else "invaded"
    return Verdict(agent, kind, best[2], best[0])
