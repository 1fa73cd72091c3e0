"""Claims about best replies that can be checked by playing, without a search.

A certificate says that some agents are best replies to a mix of opponents for a range of epsilon, and lists all other
replies, each with an agent that makes it. `faults` plays every agent in it against every opponent and does the sums.
Completeness of the list, for agents without `me`, is the claim of `replies`; it is not checked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from modal_env.best_replies.search import FoundReply, replies
from modal_env.checks import brief, exact, items
from modal_env.errors import GameError
from modal_env.games.game import PAYOFFS, dot
from modal_env.logic.notation import Agent, as_agent, as_agents
from modal_env.logic.provability import play

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
    low: Fraction
    high: Fraction | None

    def paid(self, agent: Agent) -> Line:
        """An agent's payoff against the mix, cost deducted."""
        return self._paid(_made(as_agent(agent), self.opponents))

    def _paid(self, reply: FoundReply) -> Line:
        points = [PAYOFFS[own + other] for own, other in reply.moves]
        constant, slope = (dot(points, [share[part] for share in self.shares]) for part in (0, 1))
        return constant, slope - reply.agent.depth

    @property
    def margins(self) -> list[Line]:
        """What must not be negative in the range: the shares, and the disadvantages of all replies."""
        constant, slope = self.paid(self.support[0])
        return [*self.shares, *((constant - a, slope - b) for a, b in map(self._paid, self.replies))]

    def lines(self) -> Iterator[str]:
        """As text, with one line per reply."""
        yield f"{self.title}: best replies for {range_text((self.low, self.high))}"
        for agent, share in zip(self.opponents, self.shares, strict=True):
            yield f"  met: {agent.name} = {agent.unicode}, share {line_text(share)}"
        for agent in self.support:
            yield f"  best: {agent.name}, paid {line_text(self.paid(agent))}"
        names = ", ".join(agent.name for agent in self.opponents)
        yield f"  all that agents without `me` can do (moves against {names}; own move first):"
        for reply in sorted(self.replies, key=lambda reply: (reply.agent.depth, reply.moves)):
            moves = " ".join(own + other for own, other in reply.moves)
            yield f"    {moves}  depth {reply.agent.depth}, paid {line_text(self._paid(reply))}: {reply.agent.unicode}"


def certify(
    title: str, mix: Mapping[Agent, Line], support: Iterable[Agent], calls: Iterable[Agent] = ()
) -> Certificate:
    """The range of epsilon for which agents are best replies to a mix, among all agents of depth up to 2 without `me`
    and RandomBot that call only `calls`.

    Args:
        mix: opponent -> share as a line in epsilon.
        support: agents, all with the same payoff.
        calls: see `replies`.

    Raises:
        GameError: the shares do not sum to 1, or the agents have different payoffs, or are best replies at no epsilon.
    """
    opponents, best = as_agents(mix, "mix"), as_agents(support, "support")
    shares = tuple(_line(share) for share in mix.values()) if isinstance(mix, Mapping) else ()
    if len(shares) != len(opponents):
        raise GameError(f"mix={brief(mix)}: give a mapping of opponents to shares (a, b), which are a + b * epsilon")
    found = Certificate(title, opponents, shares, best, tuple(replies(opponents, calls)), Fraction(0), None)
    if wrong := _wrong_sums(found):
        raise GameError(f"{title}: {wrong[0]}")
    bounds = nonnegative(found.margins)
    if bounds is None:
        raise GameError(f"{title}: these are best replies at no epsilon")
    return Certificate(title, opponents, found.shares, best, found.replies, *bounds)


def faults(certificate: Certificate) -> list[str]:
    """The errors in a certificate; empty if it holds.

    Raises:
        GameError: it is none.
    """
    if not isinstance(certificate, Certificate):
        raise GameError(f"certificate={brief(certificate)}: give one that `certify` returns")
    if len(certificate.shares) != len(certificate.opponents):
        return [f"there are {len(certificate.shares)} shares for {len(certificate.opponents)} opponents"]
    found = [
        f"{claimed.agent.text} makes the moves {made.moves}, not {claimed.moves}"
        for claimed in certificate.replies
        if (made := _made(claimed.agent, certificate.opponents)) != claimed
    ]
    found += _wrong_sums(certificate)
    bounds = nonnegative(certificate.margins)
    if bounds != (claimed_range := (certificate.low, certificate.high)):
        holds = "nowhere" if bounds is None else f"for {range_text(bounds)}"
        found.append(f"it holds {holds}, not for {range_text(claimed_range)}")
    return found


def _line(share: object) -> Line:
    """A share as a line in epsilon.

    Raises:
        GameError: not two numbers.
    """
    pair = items(share, 3)
    if pair is None or len(pair) != 2:
        raise GameError(f"mix: {brief(share)} is no share: give (a, b), which is a + b * epsilon")
    return exact(pair[0], "a share"), exact(pair[1], "a share")


def _wrong_sums(certificate: Certificate) -> list[str]:
    whole = sum((share[0] for share in certificate.shares), Fraction(0))
    slope = sum((share[1] for share in certificate.shares), Fraction(0))
    found = [] if whole == 1 and not slope else [f"the shares sum to {line_text((whole, slope))}, not 1"]
    paid = sorted({certificate.paid(agent) for agent in certificate.support})
    if len(paid) != 1:
        found.append(f"the best replies are paid differently: {', '.join(map(line_text, paid))}")
    return found


def _made(agent: Agent, opponents: Sequence[Agent]) -> FoundReply:
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
