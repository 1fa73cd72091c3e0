"""Formulas as tokens in prefix form, and the rule for which token may come next.

An operator comes before its parts: PrudentBot, ``[](X(me) & (X(DefectBot) -> []false))``, is

    ``[] & X(me) -> X(DefectBot) [] false``

The vocabulary, by number:

    0        nothing: padding after a formula's end, never part of one
    1 .. 9   ``true false ~ [] <> & | -> <->``
    10, 11   ``me`` (what I do) and ``X(me)`` (what the opponent does against me)
    12 ..    ``X(Name)`` of every agent that formulas may call the opponent on

The grammar: a formula begins with one open place; a token fills one and opens as many as its operator has parts. A
token is allowed if the places that are open after it can be filled within the budget, one token each; ``me`` and
``X(.)`` only under a ``[]`` or ``<>``. So ``true`` and ``false`` fit every place, some token is allowed until the
formula ends, and every complete formula is an agent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from modal_env.errors import FormulaError, GameError
from modal_env.logic.syntax import ASCII, PARTS, Agent, Formula, Op

NOTHING = 0
OPERATORS = (Op.TRUE, Op.FALSE, Op.NOT, Op.BOX, Op.DIAMOND, Op.AND, Op.OR, Op.IMPLIES, Op.IFF)
MODAL = (Op.BOX, Op.DIAMOND)
TALKING = (Op.ME, Op.CALL)  # tokens that need a box above them


class Vocabulary:
    """The tokens of formulas that may call the opponent on some agents.

    Args:
        agents: the agents that formulas may call the opponent on.

    Attributes:
        texts: [tokens] the text of every token.

    Raises:
        GameError: two agents have the same name.
        FormulaError: a name that cannot stand in X(.).
    """

    def __init__(self, agents: Sequence[Agent]) -> None:
        names = [agent.name for agent in agents]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise GameError(f"agents: two are called {twice[0]!r}; rename one")
        leaves = [Formula(Op.ME), Formula(Op.CALL), *(Formula(Op.CALL, agent=agent) for agent in agents)]
        self._leaves = dict(enumerate(leaves, start=1 + len(OPERATORS)))
        self._ops = dict(enumerate((*OPERATORS, *(leaf.op for leaf in leaves)), start=1))
        self._numbers = {op: number for number, op in enumerate(OPERATORS, start=1)}
        self._calls = {leaf: number for number, leaf in reversed(self._leaves.items())}
        self._parts = [0, *(PARTS.get(op, 0) for op in self._ops.values())]
        self._talks = np.array([False, *(op in TALKING for op in self._ops.values())])
        self.texts = ("", *(ASCII[op] for op in OPERATORS), *(leaf.text() for leaf in leaves))

    def __len__(self) -> int:
        return len(self.texts)

    def text(self, written: Sequence[int]) -> str:
        """The texts of tokens, joined by spaces."""
        return " ".join(self.texts[number] for number in written)

    def places(self, written: Sequence[int]) -> list[bool]:
        """For each open place, the next one last, whether it is under a box. Empty once the formula has ended.

        Raises:
            FormulaError: a number is not a token of a formula, or a token follows the formula's end.
        """
        places = [False]
        for count, number in enumerate(written, start=1):
            if not NOTHING < number < len(self):
                raise FormulaError(f"token {count} is number {number}: tokens are 1 to {len(self) - 1}")
            if not places:
                raise FormulaError(f"token {count} of {self.text(written)!r}: the formula has ended before it")
            boxed = places.pop() or self._ops[number] in MODAL
            places += [boxed] * self._parts[number]
        return places

    def open(self, written: Sequence[int], budget: int) -> NDArray[np.int8]:
        """The tokens that may come next: int8 [tokens]; only `NOTHING` once the formula has ended.

        Args:
            written: the formula so far, which must be legal.
            budget: maximal number of tokens of a whole formula.
        """
        places = self.places(written)
        mask = np.zeros(len(self), np.int8)
        if not places:
            mask[NOTHING] = 1
            return mask
        spare = budget - len(written) - len(places)  # tokens left if each open place takes one
        mask[1:] = np.array(self._parts[1:]) <= spare
        if not places[-1]:
            mask[self._talks] = 0
        return mask

    def add(self, written: Sequence[int], number: int, budget: int) -> tuple[int, ...]:
        """The formula with one more token.

        Raises:
            FormulaError: the token is not allowed here.
        """
        after = (*written, number)
        if not self.open(written, budget)[number]:
            text = self.text(after)
            raise FormulaError(
                f"token {len(after)}, {self.texts[number]!r} (number {number}), in {text!r}: not allowed here "
                "(see the action mask): X(.) and me stand under a [] or <>, and a formula ends within the budget",
                text,
                len(text) - len(self.texts[number]),
            )
        return after

    def agent(self, written: Sequence[int]) -> Agent:
        """The agent of a formula in tokens, named by its text.

        Raises:
            FormulaError: it is not a formula, or an X(.) or me is outside all boxes.
        """
        if self.places(written):
            raise FormulaError(f"{self.text(written)!r}: the formula does not end here")
        nodes: list[Formula] = []
        for number in reversed(written):
            parts = tuple(nodes.pop() for _ in range(self._parts[number]))
            nodes.append(self._leaves.get(number) or Formula(self._ops[number], parts))
        formula = nodes.pop()
        return Agent(formula.text(), formula)

    def encode(self, agent: Agent) -> tuple[int, ...]:
        """The tokens of an agent's formula.

        Raises:
            FormulaError: it calls the opponent on an agent that is not in the vocabulary, or is a coin.
        """
        written = []
        todo = [agent.formula]
        while todo:
            node = todo.pop()
            number = self._numbers.get(node.op, self._calls.get(node))
            if number is None:
                raise FormulaError(f"agent {agent.name!r}: {node.text()!r} is not in the vocabulary {self.texts[1:]}")
            written.append(number)
            todo.extend(reversed(node.parts))
        return tuple(written)
