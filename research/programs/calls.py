"""A price for each X(.) makes the post's lemma and its conjecture true: the partner with fewer calls, written out.

    python -m research.programs.calls    # some partners, and that all agents of the library have one: seconds

An agent A sees only what its opponent B does against the agents that A calls (X(me) calls A itself). Let there be r of
them. Some agent with at most r - 1 calls does to each of them, world by world, what B does, so A does the same to it as
to B. `fewer_calls` writes that agent; `proofs.md` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from modal_env import LIBRARY, Agent, DefectBot, PrudentBot, SlipBot, parse, play
from modal_env.logic.provability import Outcome
from modal_env.logic.syntax import Op, can_be_called

Bits = int
"""One bit for each of the agents that A calls."""


class Fact(NamedTuple):
    """What the agents that A calls do at a world against an agent that B calls."""

    call: int
    world: int
    bits: Bits


@dataclass
class Product:
    """A product of facts: the bits of its parent times one more fact; the root has none, and is 1.

    Attributes:
        bits: its value for each of the agents that A calls.
        fact: the last factor; None in the root.
        parts: the products made from it by one more fact.
        shown: the worlds at which it is a summand of the moves, as bits.
    """

    bits: Bits
    fact: Fact | None
    parts: list[Product] = field(default_factory=list)
    shown: int = 0


def number_of_calls(agent: Agent) -> int:
    """How many X(.) its formula has."""
    return sum(code >= Op.CALL for code in agent.program)


def fewer_calls(agent: Agent, friend: Agent) -> Agent:
    """An agent that does the same as `friend` to all that `agent` calls, with fewer X(.) than these are.

    If `agent` calls nobody, DefectBot.
    """
    seen, called = called_by(agent), called_by(friend)
    if not seen:
        return DefectBot
    moves = [play(friend, target) for target in seen]
    told = [[play(target, call) for target in seen] for call in called]
    last = max(outcome.settles for outcome in (*moves, *(one for row in told for one in row)))
    facts = [Fact(call, world, _word(row, world)) for world in range(last) for call, row in enumerate(told)]
    products = _products(facts, (1 << len(seen)) - 1)
    for world in range(last + 1):
        for product in _sum(_word(moves, world), products) or ():  # of facts before this world: there is only one sum
            product.shown |= 1 << world
    names = {f"H{number}": call.renamed(f"H{number}") for number, call in enumerate(called)}
    return parse(_moves(products[0], last), helpers=names)


def called_by(agent: Agent) -> list[Agent]:
    """All that an agent calls, itself for X(me)."""
    own = [agent if can_be_called(agent.name) else agent.renamed("Itself")] if agent.calls_itself else []
    return list(dict.fromkeys([*own, *agent.called]))


def _word(outcomes: list[Outcome], world: int) -> Bits:
    """The first players' moves at a world."""
    moves = [outcome.trace[min(world, outcome.settles)][0] for outcome in outcomes]
    return sum(bool(move) << bit for bit, move in enumerate(moves))


def _products(facts: list[Fact], ones: Bits) -> list[Product]:
    """Independent products (modulo 2) that span all functions of the facts, at each world those of the facts before it.

    While some product times some fact is outside the span, it is added; so there are never more than bits in `ones`.
    """
    found = [Product(ones, None)]
    for number in range(len(facts)):
        for product in found:  # grows
            for fact in facts[: number + 1]:
                bits = product.bits & fact.bits
                if _sum(bits, found) is None:
                    new = Product(bits, fact)
                    product.parts.append(new)
                    found.append(new)
    return found


def _sum(bits: Bits, products: list[Product]) -> list[Product] | None:
    """The products whose sum modulo 2 has these bits; None if there are none."""
    reduced: list[tuple[Bits, int]] = []  # values with different highest bits, and the products in each, as bits
    for number, product in enumerate(products):
        reduced.append(_reduce(product.bits, 1 << number, reduced))
    rest, used = _reduce(bits, 0, reduced)
    return None if rest else [product for number, product in enumerate(products) if used >> number & 1]


def _reduce(bits: Bits, used: int, reduced: list[tuple[Bits, int]]) -> tuple[Bits, int]:
    for value, made_of in reduced:
        if bits >> (value.bit_length() - 1) & 1:
            bits, used = bits ^ value, used ^ made_of
    return bits, used


def _moves(product: Product, last: int) -> str:
    """The formula of a product and all that is made from it: its box times the sum of the worlds and the parts."""
    terms = [*_worlds(product.shown, last), *(_moves(part, last) for part in product.parts if _is_used(part))]
    total = terms[0] if terms else "false"
    for term in terms[1:]:
        total = f"({total} <-> ~{term})"
    if product.fact is None:
        return total
    world = product.fact.world
    there = f"{'[]' * (world + 1)}false & ~{'[]' * world}false" if world else "[]false"
    return f"([](({there}) -> X(H{product.fact.call})) & {total})"


def _is_used(product: Product) -> bool:
    return bool(product.shown) or any(map(_is_used, product.parts))


def _worlds(shown: int, last: int) -> list[str]:
    """Formulas that hold together, modulo 2, at the worlds given; the last world stands for all later ones."""
    found = ["true"] if shown >> last & 1 else []
    for world in range(1, last + 1):
        if (shown >> world ^ shown >> (world - 1)) & 1:
            found.append(f"{'[]' * world}false")
    return found


def faults(agent: Agent, friend: Agent) -> list[str]:
    """What is wrong with the partner that replaces `friend`; empty if nothing is. Checked by playing."""
    partner, called = fewer_calls(agent, friend), called_by(agent)
    wrong = [f"it does otherwise to {one.name}" for one in called if _own(partner, one) != _own(friend, one)]
    if called and number_of_calls(partner) >= len(called):
        wrong.append(f"{number_of_calls(partner)} calls, of at most {len(called) - 1}")
    if called and _own(agent, partner)[-1] != _own(agent, friend)[-1]:
        wrong.append(f"{agent.name} does otherwise to it")
    return wrong


def _own(agent: Agent, opponent: Agent, worlds: int = 60) -> list[bool | None]:
    """The agent's moves, world by world."""
    return [own for own, _ in play(agent, opponent, worlds).trace]


def main() -> None:
    """Print some partners, and check those of all pairs of the library."""
    for agent in (PrudentBot, SlipBot):
        print(f"{agent.name}, in place of {agent.name}: {fewer_calls(agent, agent).text}")
    formulas = [agent for agent in LIBRARY.values() if not agent.is_random]
    wrong = [fault for agent in formulas for friend in formulas for fault in faults(agent, friend)]
    print(f"{len(formulas) ** 2} pairs of the library: {'; '.join(wrong) or 'no fault'}")


if __name__ == "__main__":
    main()
