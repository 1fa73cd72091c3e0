"""Agents as formulas of provability logic (Barasz et al. 2014, section 4): the trees and their text.

A formula is about the opponent X: X(me) "X cooperates with me", X(Name) "X cooperates with the agent Name", the
constants true and false, ~ & | -> <->, [] "it is provable that" and <> "it is consistent that". `me` alone, "I
cooperate", is an extension (CIMCIC in Critch, Dennis and Russell 2022 needs it). An agent is a formula in which every
X(.) and every `me` is under a [] or <>; it cooperates where the formula holds. An agent may also be written in its
place, X([]X(me)); inside, X(me) is about that agent.

Trees are at most `MAX_NESTING` high and have at most `MAX_SIZE` nodes. All traversals are loops, so Python's recursion
limit does not matter, however long a chain of agents that call each other is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from hashlib import blake2b
from types import MappingProxyType

from modal_env.checks import brief
from modal_env.errors import FormulaError

MAX_NESTING = 500
MAX_SIZE = 100_000
MAX_NAME = 1000
NAME = re.compile(r"[^\W\d]\w*")


class Op(IntEnum):
    """The kinds of nodes in a formula; also the codes of `Agent.program`."""

    FALSE = 0
    TRUE = 1
    ME = 2  # what this agent does
    NOT = 3
    BOX = 4
    DIAMOND = 5
    AND = 6
    OR = 7
    IMPLIES = 8
    IFF = 9
    COIN = 10  # RandomBot; only on its own
    CALL = 12  # what the opponent does; in a program CALL + k


PARTS = {Op.NOT: 1, Op.BOX: 1, Op.DIAMOND: 1, Op.AND: 2, Op.OR: 2, Op.IMPLIES: 2, Op.IFF: 2}
"""Number of parts of a node; 0 if not listed."""

BINDING = {Op.IFF: 1, Op.IMPLIES: 2, Op.OR: 3, Op.AND: 4, Op.NOT: 5, Op.BOX: 5, Op.DIAMOND: 5}
"""How tightly an operator binds. Equal ones: & and | group to the left, -> and <-> to the right."""

RIGHT = frozenset({Op.IMPLIES, Op.IFF})

ASCII = {
    Op.FALSE: "false", Op.TRUE: "true", Op.NOT: "~", Op.BOX: "[]", Op.DIAMOND: "<>",
    Op.AND: "&", Op.OR: "|", Op.IMPLIES: "->", Op.IFF: "<->",
}  # fmt: skip
UNICODE = {
    Op.FALSE: "⊥", Op.TRUE: "⊤", Op.NOT: "¬", Op.BOX: "□", Op.DIAMOND: "◇",
    Op.AND: "∧", Op.OR: "∨", Op.IMPLIES: "→", Op.IFF: "↔",
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Formula:
    """A node with its parts. Equal formulas have equal trees and call equal agents, whatever their names.

    Attributes:
        op, parts: the kind of the node, and the nodes below it.
        agent: of a CALL, the agent that the opponent is called on; None is X(me).
        size: number of nodes; X(Name) counts as one, X(formula) also counts the nodes of the formula.
        nesting: height of the tree: nodes on the longest path down, less one.
        boxes: deepest nesting of [] and <> in this formula itself.
        called_depth: largest depth of the agents it calls, 0 if there are none.
        boxed: whether every X(.) and `me` is under a [] or <>.
        digest: 16 bytes that identify the tree: BLAKE2b of the node and the digests below. Equality and hash use it, so
            that they are fast for every formula and deterministic.

    Raises:
        FormulaError: an agent whose name cannot stand in X(.), higher than MAX_NESTING, larger than MAX_SIZE.
    """

    op: Op
    parts: tuple[Formula, ...] = ()
    agent: Agent | None = None
    size: int = field(init=False)
    nesting: int = field(init=False)
    boxes: int = field(init=False)
    called_depth: int = field(init=False)
    boxed: bool = field(init=False)
    digest: bytes = field(init=False)

    def __post_init__(self) -> None:
        parts, op = self.parts, self.op
        modal = op in (Op.BOX, Op.DIAMOND)
        put = object.__setattr__  # the dataclass is frozen
        inline = self.agent.size if self.agent is not None and self.is_inline else 0
        put(self, "size", 1 + sum(part.size for part in parts) + inline)
        put(self, "nesting", max((1 + part.nesting for part in parts), default=0))
        put(self, "boxes", max((part.boxes for part in parts), default=0) + modal)
        put(self, "called_depth", max((part.called_depth for part in parts), default=0))
        put(self, "boxed", modal or (all(part.boxed for part in parts) and op not in (Op.ME, Op.CALL)))
        content = bytes([op]) + b"".join(part.digest for part in parts)
        if self.agent is not None:
            if not can_be_called(self.agent.name) and not self.is_inline:
                raise FormulaError(
                    f"agent {self.agent.name[:60]!r}: X(.) takes a name of letters, digits and _, not 'me'"
                )
            put(self, "called_depth", self.agent.depth)
            content += self.agent.formula.digest + b"inline" * self.is_inline
        put(self, "digest", blake2b(content, digest_size=16).digest())
        if self.nesting > MAX_NESTING or self.size > MAX_SIZE:
            raise FormulaError(f"the formula is too large: at most {MAX_NESTING} levels and {MAX_SIZE:,} nodes")

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Formula) else NotImplemented

    def __hash__(self) -> int:
        return int.from_bytes(self.digest[:8], "big")

    @property
    def depth(self) -> int:
        """The larger of the nesting of boxes and the depths of the agents called (Garrabrant 2018)."""
        return max(self.boxes, self.called_depth)

    @property
    def is_inline(self) -> bool:
        """Whether this is X on an agent that is written in its place, as in X([]X(me)): one named by its formula."""
        return self.agent is not None and self.agent.name == self.agent.text

    def postfix(self) -> list[Formula]:
        """All nodes, parts before their parents, from left to right."""
        found, todo = [], [self]
        while todo:
            node = todo.pop()
            found.append(node)
            todo.extend(node.parts)
        return found[::-1]

    def text(self, signs: Mapping[Op, str] = ASCII) -> str:
        """The formula with as few parentheses as possible; `parse` reads it back unchanged."""
        done: list[tuple[str, int]] = []
        for node in self.postfix():
            parts = [done.pop() for _ in node.parts][::-1]
            done.append((_join(node, parts, signs), BINDING.get(node.op, 6)))
        return done[0][0]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Formula({self.text()!r})"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:  # flat: pickle itself is recursive
        nodes, todo = [], [self]
        while todo:
            nodes.append(todo.pop())
            todo.extend((nodes[-1].agent.formula,) if nodes[-1].agent and nodes[-1].is_inline else nodes[-1].parts)
        rows = ((int(node.op), node.is_inline or node.agent) for node in nodes[::-1])
        return _build, (tuple(rows),)


@dataclass(frozen=True, eq=False, repr=False)
class Agent:
    """A formula that plays. Agents are equal if their formulas are; names do not count.

    `parse` makes agents of text. `str(agent)` is `agent.text`.

    Attributes:
        name: the agent's name in X(name), tables and plots.
        formula: when it cooperates.
        helpers: name -> agent that the formula calls X on, in the sequence of the first calls; without X(me).
        called: the different agents among the helpers: two names of equal agents count once.
        program: the formula in postfix form, for stack machines: the codes of `Op`, left part first. CALL (12) is
            X(me), and CALL + k is X on the k-th agent of `called`, counted from 1. A constant, ME or call pushes a
            value; NOT, BOX, DIAMOND replace the topmost; AND, OR, IMPLIES, IFF pop two (the right one is topmost) and
            push one. The stack never holds more than ``MAX_NESTING + 1`` values.

    Raises:
        FormulaError: an X(.) or `me` outside all boxes, a coin inside a formula, or two different agents with
            the same name.
    """

    name: str
    formula: Formula
    helpers: Mapping[str, Agent] = field(init=False)
    called: tuple[Agent, ...] = field(init=False)
    program: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not isinstance(self.formula, Formula):
            raise FormulaError(
                f"agent {brief(self.name)} of {brief(self.formula)}: give a name and a Formula, or use parse"
            )
        nodes = self.formula.postfix()
        kinds = {node.op for node in nodes}
        if not self.formula.boxed:
            raise FormulaError(f"agent {self.formula.text()[:60]!r}: every X(.) and `me` must stand under a [] or <>")
        if len(nodes) > 1 and Op.COIN in kinds:
            raise FormulaError(f"agent {self.formula.text()[:60]!r}: a coin must be the whole formula")
        names: dict[str, Agent] = {}
        for agent in [node.agent for node in nodes if node.agent]:
            if names.setdefault(agent.name, agent) != agent:
                raise FormulaError(f"two different agents are called {agent.name!r}: rename one")
        place = {agent: number for number, agent in enumerate(dict.fromkeys(names.values()), start=1)}
        program = tuple(int(node.op) + (place[node.agent] if node.agent else 0) for node in nodes)
        put = object.__setattr__  # the dataclass is frozen
        put(self, "helpers", MappingProxyType(names))
        put(self, "called", tuple(place))
        put(self, "program", program)

    def __eq__(self, other: object) -> bool:
        return self.formula == other.formula if isinstance(other, Agent) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.formula)

    @property
    def depth(self) -> int:
        """The deepest nesting of boxes here and in the agents called; the cost of the post (Garrabrant 2018)."""
        return self.formula.depth

    @property
    def size(self) -> int:
        """Nodes of the formula; X(Name) is one node, and agents called by name do not count."""
        return self.formula.size

    @cached_property
    def text(self) -> str:
        """The formula in ASCII with as few parentheses as possible: "[](X(me) & (X(DefectBot) -> []false))"."""
        return self.formula.text()

    @cached_property
    def unicode(self) -> str:
        """The formula in the notation of the papers: "□(X(me) ∧ (X(DefectBot) → □⊥))"."""
        return self.formula.text(UNICODE)

    @cached_property
    def calls_itself(self) -> bool:
        """Whether X(me) occurs."""
        return Op.CALL in self.program

    @property
    def digest(self) -> bytes:
        """What tells it from other agents, see `Formula.digest`."""
        return self.formula.digest

    @property
    def is_random(self) -> bool:
        """Whether this is RandomBot, which tosses a fair coin."""
        return self.formula.op is Op.COIN

    def renamed(self, name: str) -> Agent:
        """The same agent with another name."""
        return self if isinstance(name, str) and name == self.name else Agent(name, self.formula)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, {self.text!r})" if self.name != self.text else f"Agent({self.text!r})"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Agent, (self.name, self.formula)


def _join(node: Formula, parts: list[tuple[str, int]], signs: Mapping[Op, str]) -> str:
    """The text of a node from those of its parts, each with how tightly it binds."""
    own = BINDING.get(node.op, 6)
    if node.agent is not None:
        is_translated = node.is_inline and signs is not ASCII
        return f"X({node.agent.formula.text(signs) if is_translated else node.agent.name})"
    if node.op is Op.CALL:
        return "X(me)"
    if not parts:
        return signs.get(node.op) or node.op.name.lower()
    tight = 0 if node.op in RIGHT else 1  # the side on which an operator of equal strength needs parentheses
    equal = [len(parts) == 2 and side == tight for side in range(len(parts))]
    inner = [f"({text})" if binding < own + same else text for (text, binding), same in zip(parts, equal, strict=True)]
    return f" {signs[node.op]} ".join(inner) if len(parts) == 2 else signs[node.op] + inner[0]


def can_be_called(name: str) -> bool:
    """Whether a name can stand in X(name)."""
    return len(name) <= MAX_NAME and NAME.fullmatch(name) is not None and name.casefold() != "me"


def closure(agents: Iterable[Agent]) -> tuple[Agent, ...]:
    """The agents and all that they call, directly or not, each once."""
    seen = dict.fromkeys(agents)
    waiting = list(seen)
    for agent in waiting:  # grows
        new = [called for called in agent.called if called not in seen]
        seen.update(dict.fromkeys(new))
        waiting += new
    return tuple(seen)


def _build(rows: Iterable[tuple[int, Agent | bool | None]]) -> Formula:
    """A formula from the op and agent (True: the formula before) of its nodes, parts before their parents."""
    stack: list[Formula] = []
    for code, agent in rows:
        op = Op(code)
        if agent is True:
            inline = stack.pop()
            agent = Agent(inline.text(), inline)
        number = PARTS.get(op, 0)
        parts = tuple(stack[len(stack) - number :])
        del stack[len(stack) - number :]
        stack.append(Formula(op, parts, agent or None))
    return stack[0]
