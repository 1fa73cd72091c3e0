"""Answers to the post's questions about all modal agents, found by complete searches, each with a certificate.

Garrabrant, "Prisoners' Dilemma with Costs to Modeling" (2018), says that the mix of CooperateBot, FairBot and
PrudentBot is an equilibrium among all modal agents. It conjectures that DefectBot against itself is the only pure one,
because an agent of depth n that cooperates with one of depth n also cooperates with one of depth n - 1 (the post's
lemma). `findings` looks at three classes of agents:

* direct: depth up to 2, with X(me) as the only letter (`modal_env.search.direct_agents`): all against all;
* two boxes: `modal_env.search.behaviors.two_boxes`: all against all;
* with calls: depth up to 2, calling any of `CALLS` (`modal_env.search.best_replies`): all against given opponents.

As in the post, none of these classes has agents with `me` ("what I do"): with `me`, SlipBot against itself is not an
equilibrium, but MirrorBot against itself is.

The page docs/modal-search.md has the results, and the proofs for all modal agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from modal_env.checks import whole
from modal_env.errors import GameError
from modal_env.logic.library import CooperateBot, DefectBot, FairBot, PrudentBot, SlipBot, UnfairBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.readers import as_formulas
from modal_env.progress import Report, no_report, part
from modal_env.search import direct_agents as direct
from modal_env.search.behaviors import Behaviors, two_boxes
from modal_env.search.best_replies import MAX_DEPTH, Reply, check_called, replies
from modal_env.search.certificates import WHOLE, Certificate, played
from modal_env.search.lines import Line, line_text, nonnegative, range_text, total

CALLS = (CooperateBot, DefectBot, FairBot, parse("[]false", name="FalseBot"), parse("~[]false", name="TrueBot"))
"""Agents that may be called in the complete searches."""

HARDER = 30.0  # the search takes this many times longer with each level of depth
ONE, ZERO = Fraction(1), Fraction(0)
GOOD_MIX: dict[Agent, Line] = {
    CooperateBot: (ZERO, ONE),
    FairBot: (ONE, Fraction(-3, 2)),
    PrudentBot: (ZERO, Fraction(1, 2)),
}
"""The post's mixed equilibrium: eps CooperateBot, 1 - 3/2 eps FairBot, eps/2 PrudentBot."""


@dataclass(frozen=True)
class PureEquilibrium:
    """Two agents that are best replies to each other within a class, for low <= epsilon <= high (None: infinity)."""

    first: Agent
    second: Agent
    low: Fraction
    high: Fraction | None


def certify(
    title: str,
    mix: Mapping[Agent, Line],
    support: Sequence[Agent],
    calls: Sequence[Agent] = (),
    depth: int = 2,
) -> Certificate:
    """The range of epsilon for which agents are best replies to a mix, among all agents up to a depth without `me` and
    RandomBot that call only `calls`.

    Args:
        mix: opponent -> share as a line in epsilon.
        support: agents, all with the same payoff.
        calls, depth: see `replies`.

    Raises:
        GameError: the shares do not sum to 1, or the agents have different payoffs, or are best replies at no epsilon.
    """
    opponents, support = as_formulas(mix, "mix"), as_formulas(support, "support")
    if (added := total(mix.values())) != WHOLE:
        raise GameError(f"mix: the shares sum to {line_text(added)}: they must sum to 1")
    listed = least_replies(opponents, calls, depth)
    draft = Certificate(title, opponents, tuple(mix.values()), support, tuple(listed), ZERO, None)
    paid = {draft.paid(played(agent, opponents)) for agent in support}
    if len(paid) != 1:
        payments = ", ".join(map(line_text, sorted(paid)))
        raise GameError(f"support: the agents are paid {payments}: give some paid the same")
    best = paid.pop()
    margins = [(best[0] - a, best[1] - b) for a, b in map(draft.paid, listed)]
    bounds = nonnegative([*mix.values(), *margins])
    if bounds is None:
        raise GameError(f"{title}: these are best replies at no epsilon")
    return Certificate(title, opponents, draft.shares, draft.support, draft.replies, *bounds)


def least_replies(
    opponents: Iterable[Agent | str], calls: Iterable[Agent | str] = (), depth: int = 2, report: Report = no_report
) -> list[Reply]:
    """As `replies`, but each outcome has an agent of the least possible depth.

    Raises:
        GameError, FormulaError: as `replies`.
    """
    depth = whole("depth", depth, 0, MAX_DEPTH)
    others, called = as_formulas(opponents, "opponents"), check_called(calls, depth)
    found: dict[tuple[tuple[str, str], ...], Reply] = {}
    for d in range(depth + 1):
        done = [HARDER ** (below - depth) for below in (d - 1, d)]  # progress before and after this depth
        report_depth = part(report, done[0] if d else 0.0, done[1])
        for reply in replies(others, [call for call in called if call.depth <= d], depth=d, report=report_depth):
            found.setdefault(reply.moves, reply)
    return list(found.values())


def pure_equilibria(behaviors: Behaviors, report: Report = no_report) -> list[PureEquilibrium]:
    """All pure equilibria in which both players choose from a list, at any epsilon > 0; each pair once.

    Args:
        report: see `modal_env.progress`.
    """
    moves, depths = behaviors.cooperates, behaviors.depths
    theirs = np.ascontiguousarray(moves.T)
    table = np.array(direct.PAYOFFS, np.int8)
    # [depth, n]: the best payoff of agents up to a depth against the column's agent
    best = np.full((int(depths.max()) + 1, len(behaviors)), -1, np.int8)
    for row, depth in _each_agent(depths, part(report, 0, 0.5)):
        best[depth:] = np.maximum(best[depth:], table[moves[row].astype(np.int8), theirs[row].astype(np.int8)])
    # Agents with the best payoff at their depth, above that of all smaller depths; else no epsilon > 0 works.
    fits = np.zeros_like(moves)
    for row, depth in _each_agent(depths, part(report, 0.5, 1)):
        payoffs = table[moves[row].astype(np.int8), theirs[row].astype(np.int8)]
        fits[row] = (payoffs == best[depth]) & (payoffs > best[:depth]).all(axis=0)
    pairs = [(row, column) for row, column in np.argwhere(fits & fits.T).tolist() if row <= column]
    found = []
    for a, b in pairs:
        bounds = nonnegative(
            [
                *_margins(_payoff(moves, a, b), depths[a], best[:, b]),
                *_margins(_payoff(moves, b, a), depths[b], best[:, a]),
            ]
        )
        if bounds is not None and bounds.high != 0:
            found.append(PureEquilibrium(behaviors.agent(a), behaviors.agent(b), *bounds))
    return found


def _each_agent(depths: NDArray[np.int64], report: Report) -> Iterator[tuple[int, int]]:
    """Row and depth of each agent; reports every hundredth."""
    for row, depth in enumerate(depths.tolist()):
        if row % 100 == 0:
            report(row / len(depths))
        yield row, depth


def _payoff(moves: NDArray[np.bool_], a: int, b: int) -> int:
    return direct.PAYOFFS[int(moves[a, b])][int(moves[b, a])]


def _margins(payoff: int, depth: int, best: NDArray[np.int8]) -> list[Line]:
    """An agent's payoff less that of the best agent of each depth."""
    return [(Fraction(payoff - int(points)), Fraction(other - int(depth))) for other, points in enumerate(best)]


def direct_equilibria(depth: int = 2) -> list[PureEquilibrium]:
    """All pure equilibria in the class of direct agents except DefectBot against itself, for epsilon > 0.

    In all others both cooperate: DefectBot is paid at least 1 against anybody, but an agent whose opponent defects is
    paid at most 1, less its cost. And cooperating with an agent of depth 0 is never a best reply.
    """
    seen = direct.survey(depth)
    agents = {code: direct.agent_with(code, depth) for code in np.unique(direct.partners(depth)).tolist()}
    found = []
    for pair in direct.partners(depth).tolist():
        sides = (pair, pair[::-1])
        bounds = nonnegative([m for a, b in sides for m in _margins(2, int(seen.least[a]), seen.best[b])])
        if bounds is not None and bounds.high != 0:
            found.append(PureEquilibrium(agents[pair[0]], agents[pair[1]], *bounds))
    return found


@dataclass(frozen=True)
class Lemma:
    """The post's lemma among direct agents of one depth.

    Attributes:
        depth: n.
        agents: how many behaviors have this least depth.
        friendly: how many of these cooperate with some agent of depth up to n, whatever this agent's move.
        counterexamples: how many of the friendly ones cooperate with no agent of a smaller depth.
    """

    depth: int
    agents: int
    friendly: int
    counterexamples: int


def lemma(depth: int) -> Lemma:
    """Count the direct agents of depth 1 or 2 for which the post's lemma holds and fails.

    Raises:
        GameError: the depth is not 1 or 2.
    """
    depth = whole("depth", depth, 1, direct.MAX_DEPTH)
    seen = direct.survey(depth)
    own = seen.least == depth
    friendly = own & seen.befriends[:, depth]
    alone = friendly & ~seen.befriends[:, depth - 1]
    return Lemma(depth, int(own.sum()), int(friendly.sum()), int(alone.sum()))


def befriended(agent: Agent, calls: Sequence[Agent], depth: int) -> list[Reply]:
    """The replies of agents of at most this depth with which the agent cooperates; see `replies`."""
    return [reply for reply in replies([agent], calls, depth=depth) if reply.moves[0][1] == "C"]


def trusted_by_fairbot_and_unfairbot(calls: Sequence[Agent] = CALLS, depth: int = 2) -> list[Reply]:
    """The agents with which both FairBot and []~X(me) cooperate: there are none."""
    return [
        reply
        for reply in replies((FairBot, UnfairBot), calls, depth=depth)
        if all(theirs == "C" for _, theirs in reply.moves)
    ]


def exploits_cooperatebot_trusted_by_fairbot(calls: Sequence[Agent] = CALLS, depth: int = 1) -> list[Reply]:
    """The agents that defect on CooperateBot and get FairBot's cooperation: none of depth up to 1."""
    return [
        reply
        for reply in replies((CooperateBot, FairBot), calls, depth=depth)
        if reply.moves[0][0] == "D" and reply.moves[1][1] == "C"
    ]


@dataclass(frozen=True)
class Findings:
    """The results of `findings`.

    Attributes:
        behaviors: the class of two boxes.
        told_apart: number of behaviors that can be distinguished by play within the class.
        listed: the pure equilibria among these behaviors.
        direct: the pure equilibria among direct agents, except DefectBot against itself.
        robust: the agents in `direct` that cooperate with no agent of depth 1, even if it calls `CALLS`.
        lemmas: the lemma's counts for depth 1 and 2.
        mix, slip: certificates that the good mix, and SlipBot against itself, are equilibria.
    """

    behaviors: Behaviors
    told_apart: int
    listed: tuple[PureEquilibrium, ...]
    direct: tuple[PureEquilibrium, ...]
    robust: tuple[Agent, ...]
    lemmas: tuple[Lemma, ...]
    mix: Certificate
    slip: Certificate

    def lines(self) -> Iterator[str]:
        """As text: the answers to the post's questions, and then the evidence."""
        yield from self._answers()
        yield ""
        yield from self._classes()
        yield ""
        yield from self.slip.lines()
        yield ""
        yield from self.mix.lines()

    def _answers(self) -> Iterator[str]:
        mix = ", ".join(f"{line_text(share)} {agent.name}" for agent, share in GOOD_MIX.items())
        slip = self.slip.support[0]
        range_ = range_text(self.slip.low, self.slip.high)
        paid = line_text(self.slip.paid(played(slip, self.slip.opponents)))
        fails = [f"{one.counterexamples:,} of {one.friendly:,} at depth {one.depth}" for one in self.lemmas]
        yield "Three questions of Garrabrant's post, about agents without `me` (what I do):"
        yield f"1. Is its mix, {mix}, an equilibrium?"
        yield f"   {'Yes' if _holds(self.mix) else 'No'}, for {range_text(self.mix.low, self.mix.high)}."
        yield "2. Is DefectBot against itself the only pure equilibrium, as it conjectures?"
        if _holds(self.slip):
            yield f"   No, the conjecture is false: {slip.name} against itself is another, for {range_}, paid {paid}."
        else:
            yield "   No other was found."
        yield "3. If an agent of depth n cooperates with one of depth n, does it with one of depth n - 1 (its lemma)?"
        yield f"   {'No' if any(one.counterexamples for one in self.lemmas) else 'Yes'}: {' and '.join(fails)} do not."
        page = 'the page "Searching all modal agents" of the documentation'
        yield f"What was searched comes below; {page} proves 1 and 2 for all agents without `me`."
        yield "With `me`, SlipBot against itself is no equilibrium, and MirrorBot against itself is one."

    def _classes(self) -> Iterator[str]:
        counts = np.bincount(self.behaviors.depths)
        by_depth = ", ".join(f"{count:,} of depth {depth}" for depth, count in enumerate(counts))
        yield f"Two boxes: {len(self.behaviors):,} behaviors ({by_depth}); {self.told_apart:,} told apart by play"
        yield "Pure equilibria among them:"
        yield from map(_pair_text, self.listed)
        agents = {agent for pair in self.direct for agent in (pair.first, pair.second)}
        ranges = dict.fromkeys(range_text(pair.low, pair.high) for pair in self.direct)
        yield f"Direct agents (X(me) only): {len(self.direct)} pure equilibria besides, for {', '.join(ranges)};"
        yield f"all are pairs of {len(agents)} behaviors. {len(self.robust)} of these cooperate with no agent of"
        yield f"depth 1 that calls only {', '.join(f'{agent.name} = {agent.unicode}' for agent in CALLS)}:"
        yield from (f"  {agent.unicode}" for agent in self.robust)
        for one in self.lemmas:
            yield f"The lemma among direct agents of depth {one.depth}: {one.agents:,} behaviors;"
            yield f"  {one.friendly:,} cooperate with an agent of depth up to {one.depth},"
            yield f"  {one.counterexamples:,} of them with none of smaller depth"


def _holds(certificate: Certificate) -> bool:
    """Whether a certificate holds for some epsilon above 0."""
    return certificate.high != 0


def _pair_text(pair: PureEquilibrium) -> str:
    return f"  {pair.first.unicode}  against  {pair.second.unicode}, for {range_text(pair.low, pair.high)}"


def findings(literals: int = 2, report: Report = no_report) -> Findings:
    """Search all three classes; with the standard `literals` about half a minute on one core.

    Args:
        literals: see `two_boxes`.
        report: see `modal_env.progress`.

    Raises:
        GameError: as `two_boxes`.
    """
    behaviors = two_boxes(literals=literals)
    behaviors.play_all(part(report, 0.07, 0.7))
    cooperates = behaviors.cooperates
    rows = np.packbits(np.concatenate([cooperates, cooperates.T], axis=1), axis=1)
    told_apart = len({row.tobytes() for row in rows})  # np.unique takes seconds
    listed = tuple(pure_equilibria(behaviors, part(report, 0.72, 0.8)))
    pairs = tuple(direct_equilibria())
    report(0.95)
    agents = dict.fromkeys(agent for pair in pairs for agent in (pair.first, pair.second))
    robust = [agent for agent in agents if not befriended(agent, CALLS, 1)]
    report(0.96)
    mix = certify("The good mix", GOOD_MIX, tuple(GOOD_MIX), CALLS)
    slip = certify("SlipBot against itself", {SlipBot: (ONE, ZERO)}, [SlipBot], CALLS)
    report(1.0)
    ordered = tuple(sorted(robust, key=lambda agent: (agent.size, agent.text)))
    return Findings(behaviors, told_apart, listed, pairs, ordered, (lemma(1), lemma(2)), mix, slip)
