"""Is DefectBot against itself the only pure equilibrium of programs, as Garrabrant's post conjectures? It is not.

    python -m research.programs.conjecture    # certificates, and counts among all direct agents: a minute

Certificates say which agents are best replies to SlipBot, OneBot and the post's mix, among all agents of depth up to 2
that call `CALLS` and have no `me`; `proofs.md` extends this to all agents without `me`. Then all 2,097,152 direct
agents of depth up to 2 (whose only letter is X(me)) play all: the pure equilibria, and how often the post's lemma fails
(an agent of depth n that cooperates with one of depth n does with one of depth n - 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from modal_env import Agent, CooperateBot, FairBot, OneBot, PrudentBot, SlipBot, replies
from modal_env.best_replies import CALLS
from modal_env.best_replies.types import Types
from modal_env.best_replies.writing import agent_of
from research.programs.certificates import Certificate, Line, Range, certify, faults, nonnegative
from research.programs.direct_agents import OUTCOMES, agent_with, plays

ZERO, ONE = Fraction(0), Fraction(1)
GOOD_MIX: dict[Agent, Line] = {
    CooperateBot: (ZERO, ONE),
    FairBot: (ONE, Fraction(-3, 2)),
    PrudentBot: (ZERO, Fraction(1, 2)),
}
"""The post's mixed equilibrium: eps CooperateBot, 1 - 3/2 eps FairBot, eps/2 PrudentBot."""
PAID = np.array([1, 3, 0, 2])
"""What the first agent is paid, by `OUTCOMES`."""
CC = OUTCOMES.index("CC")
COOPERATES = 1 << OUTCOMES.index("DC") | 1 << CC
"""The outcomes in which the second agent cooperates, as bits."""


def certificates() -> Iterator[Certificate]:
    """The good mix; SlipBot and OneBot against themselves."""
    yield certify("The good mix", GOOD_MIX, tuple(GOOD_MIX), CALLS)
    for agent in (SlipBot, OneBot):
        yield certify(f"{agent.name} against itself", {agent: (ONE, ZERO)}, [agent], CALLS)


def direct_equilibria() -> dict[tuple[int, int], Range]:
    """The pure equilibria of direct agents up to depth 2, besides DefectBot's: codes -> the prices.

    In all of them both cooperate: DefectBot is paid at least 1 against anybody, but an agent whose opponent defects is
    paid at most 1, less its cost. And cooperating with an agent of depth 0 is never a best reply.
    """
    known = plays()
    best = _best_payoffs(known.profiles[:, 1:])
    found: dict[tuple[int, int], Range] = {}
    for one, other in known.meetings(CC):
        bounds = nonnegative(
            (Fraction(2 - int(points)), Fraction(depth - int(own)))
            for own, against in ((known.profiles[one, 0], best[other]), (known.profiles[other, 0], best[one]))
            for depth, points in enumerate(against)
        )
        if bounds and bounds[1] != 0:
            for firsts, seconds in known.pairs(one, other, CC):
                found |= {tuple(sorted(pair)): bounds for pair in product(firsts.tolist(), seconds.tolist())}
    return found


def _best_payoffs(reach: np.ndarray) -> np.ndarray:
    """The most that opponents of each depth are paid, costs not counted."""
    return np.max([np.where(reach >> outcome & 1, paid, 0) for outcome, paid in enumerate(PAID)], axis=0)


def is_befriended_by_shallow_callers(agent: Agent) -> bool:
    """Whether an agent of depth up to 1 that may call `CALLS` gets its cooperation."""
    return any(reply.moves[0][1] == "C" for reply in replies([agent], CALLS, depth=1))


def lemma(depth: int) -> tuple[int, int, int]:
    """Direct agents of depth 1 or 2; how many cooperate with one of at most this depth; and of them with none below."""
    known = plays(depth)
    own, friendly = known.least == depth, known.reach & COOPERATES > 0
    friends = own & friendly[:, depth]
    return int(own.sum()), int(friends.sum()), int((friends & ~friendly[:, depth - 1]).sum())


def word_agent(word: str, depth: int) -> Agent:
    """The direct agent that plays a word such as CCCDDC as long as its opponent does, and otherwise defects.

    As far as agents of this depth can tell; the word's last letter stays.
    """
    kinds, decided, kind = Types(depth), {}, 0
    for world in range(len(word) + depth + 1):
        decided[kind] = word[min(world, len(word) - 1)] == "C"
        kind = kinds.after(kind, int(decided[kind]))
    complete = kinds.completed()
    return agent_of(complete, {kind: decided.get(kind, False) for kind in range(len(complete.words))})


def main() -> None:
    """Print all of this."""
    for certificate in certificates():
        print(*certificate.lines(), "  checked by playing: " + ("; ".join(faults(certificate)) or "no fault"), sep="\n")
    pairs = direct_equilibria()
    codes = sorted({code for pair in pairs for code in pair})
    ranges = ", ".join(sorted({f"{low} to {high}" for low, high in pairs.values()}))
    robust = [agent for agent in map(agent_with, codes) if not is_befriended_by_shallow_callers(agent)]
    print(f"\n{len(pairs)} pure equilibria of direct agents up to depth 2 besides DefectBot's, for eps {ranges},")
    print(f"of {len(codes)} behaviors; {len(robust)} of these cooperate with no agent of depth 1 that calls others:")
    print(*(f"  {agent.unicode}" for agent in robust), sep="\n")
    for depth in (1, 2):
        agents, friendly, alone = lemma(depth)
        print(f"direct agents of depth {depth}: {agents:,}; friendly {friendly:,}; with nobody of less depth {alone:,}")
    for word, depth in (("CCDC", 2), ("CCCDDC", 3)):
        agent = word_agent(word, depth)
        found = [f"{''.join(reply.moves[0])} at depth {reply.agent.depth}" for reply in replies([agent], depth=depth)]
        print(f"the agent that plays {word} with itself, of depth {depth}; direct replies: {', '.join(found)}")


if __name__ == "__main__":
    main()
