"""Claims about best replies that can be checked by playing, without a search.

A certificate says that some agents are best replies to a mix of opponents for a range of epsilon, and lists all other
replies, each with an agent that makes it. `faults` plays every agent in it against every opponent and does the sums.
Completeness of the list, for agents without `me`, is the claim of `modal_env.replies`; it is not checked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from modal_env import Agent, play, replies
from modal_env.best_replies import FoundReply
from modal_env.games.game import PAYOFFS, dot

Line = tuple[Fraction, Fraction]
"""A number that depends on epsilon: (a, b) is a + b * epsilon."""
Range = tuple[Fraction, Fraction | None]
"""The epsilons from the first number to the second; None is infinity."""


@dataclass(frozen=True)
class Certificate:
    """The claim that, at cost epsilon * depth, the agents in `support` are best replies for low <= epsilon <= high.

    Attributes:
        title: the subject.
        opponents: the agents in the mix.
        shares: their shares in the mix.
        support: agents claimed to be best replies; all are paid the same.
        replies: all replies of agents of the class (none with `me`), each by an agent of least depth.
        low, high: the exact range; None is infinity.
    """

    title: str
    opponents: tuple[Agent, ...]
    shares: tuple[Line, ...]
    support: tuple[Agent, ...]
    replies: tuple[FoundReply, ...]
    low: Fraction = Fraction(0)
    high: Fraction | None = None

    def paid(self, reply: FoundReply) -> Line:
        """What a reply is paid against the mix, cost deducted."""
        points = [PAYOFFS[own + other] for own, other in reply.moves]
        constant, slope = (dot(points, [share[part] for share in self.shares]) for part in (0, 1))
        return constant, slope - reply.agent.depth

    @property
    def supported(self) -> list[Line]:
        """What the best replies are paid."""
        return [self.paid(made(agent, self.opponents)) for agent in self.support]

    @property
    def bounds(self) -> Range | None:
        """Where the shares and the disadvantages of all replies are not negative."""
        constant, slope = self.supported[0]
        margins = [(constant - a, slope - b) for a, b in map(self.paid, self.replies)]
        return nonnegative([*self.shares, *margins])

    def lines(self) -> Iterator[str]:
        """As text, with one line per reply."""
        yield f"{self.title}: best replies for {range_text((self.low, self.high))}"
        for agent, share in zip(self.opponents, self.shares, strict=True):
            yield f"  met: {agent.name} = {agent.unicode}, share {line_text(share)}"
        for agent, paid in zip(self.support, self.supported, strict=True):
            yield f"  best: {agent.name}, paid {line_text(paid)}"
        names = ", ".join(agent.name for agent in self.opponents)
        yield f"  all that agents without `me` can do (moves against {names}; own move first):"
        for reply in sorted(self.replies, key=lambda reply: (reply.agent.depth, reply.moves)):
            moves = " ".join(own + other for own, other in reply.moves)
            yield f"    {moves}  depth {reply.agent.depth}, paid {line_text(self.paid(reply))}: {reply.agent.unicode}"


def certify(title: str, mix: Mapping[Agent, Line], support: Iterable[Agent], calls: Iterable[Agent]) -> Certificate:
    """The range of epsilon for which agents are best replies to a mix, among all agents of depth up to 2 without `me`
    and RandomBot that call only `calls`.
    """
    found = Certificate(title, tuple(mix), tuple(mix.values()), tuple(support), tuple(replies(mix, calls)))
    bounds = found.bounds
    if bounds is None:
        raise ValueError(f"{title}: these are best replies at no epsilon")
    return replace(found, low=bounds[0], high=bounds[1])


def faults(certificate: Certificate) -> list[str]:
    """The errors in a certificate; empty if it holds."""
    found = [
        f"{claimed.agent.text} makes the moves {really.moves}, not {claimed.moves}"
        for claimed in certificate.replies
        if (really := made(claimed.agent, certificate.opponents)) != claimed
    ]
    if [sum(parts) for parts in zip(*certificate.shares, strict=True)] != [1, 0]:
        found.append("the shares do not add up to 1")
    if len(set(certificate.supported)) != 1:
        found.append("the best replies are paid differently")
    if certificate.bounds != (certificate.low, certificate.high):
        found.append(f"the range is {certificate.bounds}, not {certificate.low} to {certificate.high}")
    return found


def made(agent: Agent, opponents: Sequence[Agent]) -> FoundReply:
    """The reply that an agent makes to the opponents."""
    return FoundReply(tuple(play(agent, opponent).moves for opponent in opponents), agent)


def nonnegative(lines: Iterable[Line]) -> Range | None:
    """The epsilons from 0 at which no line is below 0; None if there are none."""
    low, high = Fraction(0), None
    for constant, slope in lines:
        if slope > 0:
            low = max(low, Fraction(-constant) / slope)
        elif slope < 0:
            end = Fraction(-constant) / slope
            high = end if high is None else min(high, end)
        elif constant < 0:
            return None
    return None if high is not None and high < low else (low, high)


def range_text(bounds: Range) -> str:
    """Bounds of epsilon in words."""
    low, high = bounds
    return f"{low} <= epsilon" if high is None else f"{low} <= epsilon <= {high}"


def line_text(line: Line) -> str:
    """(1, -2) is "1 - 2 eps"."""
    constant, slope = line
    if not slope:
        return str(constant)
    times = "eps" if abs(slope) == 1 else f"{abs(slope)} eps"
    if not constant:
        return times if slope > 0 else f"-{times}"
    return f"{constant} {'+' if slope > 0 else '-'} {times}"
