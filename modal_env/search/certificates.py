"""Claims about best replies that can be checked by playing, without a search.

A certificate says that some agents are best replies to a mix of opponents for a range of epsilon, and lists all other
replies, each with an agent that makes it. `faults` plays every agent in it against every opponent and does the sums.
Completeness of the list, for agents without `me`, is the claim of `modal_env.search.best_replies`; it is not checked
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from modal_env.games.game import PAYOFFS, dot
from modal_env.logic.notation import Agent
from modal_env.logic.provability import play
from modal_env.search.best_replies import Reply
from modal_env.search.lines import Line, line_text, range_text, total

WHOLE: Line = (Fraction(1), Fraction(0))


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
    replies: tuple[Reply, ...]
    low: Fraction
    high: Fraction | None

    def paid(self, reply: Reply) -> Line:
        """The payoff of a reply, cost deducted."""
        points = [PAYOFFS[own + other] for own, other in reply.moves]
        constant, slope = (dot(points, [share[part] for share in self.shares]) for part in (0, 1))
        return constant, slope - reply.agent.depth

    def lines(self) -> Iterator[str]:
        """As text, with one line per reply."""
        yield f"{self.title}: best replies for {range_text(self.low, self.high)}"
        for agent, share in zip(self.opponents, self.shares, strict=True):
            yield f"  met: {agent.name} = {agent.unicode}, share {line_text(share)}"
        for agent in self.support:
            yield f"  best: {agent.name}, paid {line_text(self.paid(played(agent, self.opponents)))}"
        names = ", ".join(agent.name for agent in self.opponents)
        yield f"  all that agents without `me` can do (moves against {names}; own move first):"
        for reply in sorted(self.replies, key=lambda reply: (reply.agent.depth, reply.moves)):
            moves = " ".join(own + other for own, other in reply.moves)
            yield f"    {moves}  depth {reply.agent.depth}, paid {line_text(self.paid(reply))}: {reply.agent.unicode}"


def faults(certificate: Certificate) -> list[str]:
    """The errors in a certificate; empty if it holds."""
    if len(certificate.shares) != len(certificate.opponents):
        return [f"there are {len(certificate.shares)} shares for {len(certificate.opponents)} opponents"]
    replies = [played(reply.agent, certificate.opponents) for reply in certificate.replies]
    found = [
        f"{made.agent.text} makes the moves {made.moves}, not {claimed.moves}"
        for made, claimed in zip(replies, certificate.replies, strict=True)
        if made != claimed
    ]
    if (added := total(certificate.shares)) != WHOLE:
        found.append(f"the shares sum to {line_text(added)}, not 1")
    paid = {certificate.paid(played(agent, certificate.opponents)) for agent in certificate.support}
    if len(paid) != 1:
        return [*found, f"the best replies are paid differently: {sorted(paid)}"]
    best = paid.pop()
    # These must be nonnegative throughout the range: the shares, and the disadvantages of all replies.
    margins = list(certificate.shares)
    margins += [(best[0] - a, best[1] - b) for a, b in map(certificate.paid, replies)]
    found += [f"{line_text(margin)} is negative in the range" for margin in margins if not _holds(certificate, margin)]
    if certificate.low > 0 and not any(_ends(margin, certificate.low, 1) for margin in margins):
        found.append(f"it also holds below {certificate.low}")
    if certificate.high is not None and not any(_ends(margin, certificate.high, -1) for margin in margins):
        found.append(f"it also holds above {certificate.high}")
    return found


def played(agent: Agent, opponents: Sequence[Agent]) -> Reply:
    """The reply that an agent makes to the opponents."""
    return Reply(tuple(play(agent, opponent).moves for opponent in opponents), agent)


def _holds(certificate: Certificate, margin: Line) -> bool:
    """Whether a + b * epsilon is never negative in the range; checking the ends is enough."""
    constant, slope = margin
    at_high = slope >= 0 if certificate.high is None else constant + slope * certificate.high >= 0
    return constant + slope * certificate.low >= 0 and at_high


def _ends(margin: Line, epsilon: Fraction, sign: int) -> bool:
    """Whether the margin becomes negative on the other side of epsilon."""
    constant, slope = margin
    return constant + slope * epsilon == 0 and slope * sign > 0
