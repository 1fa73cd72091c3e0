"""Formulas as tokens in prefix form, and the rule for which token may come next.

An operator comes before its parts: PrudentBot, ``[](X(me) & (X(DefectBot) -> []false))``, is

    ``[] & X(me) -> X(DefectBot) [] false``

The vocabulary, by number:

    0        nothing: padding after a formula's end, never part of one
    1 .. 9   ``true false ~ [] <> & | -> <->``
    10       ``X(`` on the agent whose formula comes next, as in ``[] X( [] X(me)``, which is ``[]X([]X(me))``
    11       ``X(me)`` (what the opponent does against me)
    12 ..    ``X(Name)`` of every agent that formulas may call the opponent on
    last     ``me`` (what I do), if it is allowed

The grammar: a formula begins with one open place; a token fills one and opens as many as its operator has parts. A
token is allowed if the places that are open after it can be filled within the budget, one token each; ``me`` and
``X(.)`` only under a ``[]`` or ``<>`` of the same agent. So ``true`` and ``false`` fit every place, some token is
allowed until the formula ends, and every complete formula is an agent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modal_env.errors import FormulaError, GameError
from modal_env.logic.syntax import ASCII, PARTS, Agent, Formula, Op

NOTHING = 0
OPERATORS = (Op.TRUE, Op.FALSE, Op.NOT, Op.BOX, Op.DIAMOND, Op.AND, Op.OR, Op.IMPLIES, Op.IFF)
MODAL = (Op.BOX, Op.DIAMOND)
INLINE = 1 + len(OPERATORS)
Places = tuple[bool, ...]
"""For each open place of a formula, the next one last, whether it is under a box; empty once the formula has ended."""
START: Places = (False,)


class Written(NamedTuple):
    """A formula for playing alone, see `modal_env.logic.provability.Player`."""

    program: tuple[int, ...]
    called: tuple[Agent | Written, ...]
    calls_itself: bool
    depth: int
    digest: bytes
    name: str = "formula"
    is_random: bool = False


Codes = tuple[tuple[Op | Agent | Written, ...], int]
"""The codes of a formula in postfix form, and the nesting of its boxes."""


class Vocabulary:
    """The tokens of formulas that may call the opponent on some agents.

    Args:
        calls: the agents that formulas may call the opponent on by name.
        me: whether formulas may say `me`.

    Attributes:
        texts: [tokens] the text of every token.
        parts: [tokens] the number of places that it opens.
        boxes: [tokens] whether the places that it opens are under a box: 1 yes, 0 no, -1 as its own place.
        masks: int8 [4, 2, tokens] the tokens that may come next: with 0, 1, 2 or more tokens to spare if each open
            place takes one, or (3) after the formula's end; at a place outside or under a box.

    Raises:
        GameError: two agents have the same name.
        FormulaError: a name that cannot stand in X(.).
    """

    def __init__(self, calls: Sequence[Agent], me: bool = False) -> None:
        names = [agent.name for agent in calls]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise GameError(f"calls: two agents are called {twice[0]!r}; rename one")
        leaves = [Formula(Op.CALL), *(Formula(Op.CALL, agent=agent) for agent in calls), *[Formula(Op.ME)] * me]
        self._leaves = dict(enumerate(leaves, start=1 + INLINE))
        self._numbers = {op: number for number, op in enumerate(OPERATORS, start=1)}
        self._calls = {leaf: number for number, leaf in reversed(self._leaves.items())}
        self.texts = ("", *(ASCII[op] for op in OPERATORS), "X(", *(leaf.text() for leaf in leaves))
        self.parts = np.array([0, *(PARTS.get(op, 0) for op in OPERATORS), 1, *(0 for _ in leaves)])
        self.boxes = np.full(len(self.texts), -1)
        self.boxes[[self._numbers[op] for op in MODAL]] = 1
        self.boxes[INLINE] = 0
        self._parts, self._boxes = self.parts.tolist(), self.boxes.tolist()
        numbers = np.arange(len(self.texts))
        fits = self.parts <= np.arange(3)[:, None, None]
        self.masks = np.zeros((4, 2, len(self.texts)), np.int8)
        self.masks[:3] = (numbers != NOTHING) & fits & (np.array([[False], [True]]) | (numbers < INLINE))
        self.masks[3] = numbers == NOTHING

    def __len__(self) -> int:
        return len(self.texts)

    def text(self, written: Sequence[int]) -> str:
        """The texts of tokens, joined by spaces."""
        return " ".join(self.texts[number] for number in written)

    def after(self, places: Places, number: int) -> Places:
        """The open places once a token has filled the next one."""
        inside = places[-1] if self._boxes[number] < 0 else bool(self._boxes[number])
        return places[:-1] + (inside,) * self._parts[number]

    def mask(self, places: Places, left: int) -> NDArray[np.int8]:
        """int8 [tokens] those that may come next, if so many tokens are left of the budget."""
        return self.masks[min(left - len(places), 2) if places else 3, int(places[-1:] == (True,))].copy()

    def refusal(self, written: Sequence[int], number: int) -> FormulaError:
        """The error of a token that may not come next."""
        text = self.text((*written, number))
        return FormulaError(
            f"token {len(written) + 1}, {self.texts[number]!r} (number {number}), in {text!r}: not allowed here "
            "(see the action mask): X(.) and me stand under a [] or <>, and a formula ends within the budget",
            text,
            len(text) - len(self.texts[number]),
        )

    def agent(self, written: Sequence[int]) -> Agent:
        """The agent of a formula in tokens, named by its text.

        Raises:
            FormulaError: it is not a formula, or an X(.) or me is outside all boxes.
        """
        self._check(written)
        return _named_by_text(_folded(written, self._parts, self._formula))

    def _formula(self, number: int, parts: list[Formula]) -> Formula:
        if number == INLINE:
            return Formula(Op.CALL, agent=_named_by_text(parts[0]))
        return self._leaves.get(number) or Formula(OPERATORS[number - 1], tuple(parts))

    def compiled(self, written: Sequence[int]) -> Written:
        """A complete and allowed formula for playing alone; several times as fast as `agent`."""
        return _finished(*_folded(written, self._parts, self._codes))

    def _codes(self, number: int, parts: list[Codes]) -> Codes:
        if number == INLINE:
            return (_finished(*parts[0]),), 0
        if number > INLINE:
            return (self._leaves[number].agent or self._leaves[number].op,), 0
        op, codes = OPERATORS[number - 1], sum((own for own, _ in parts), ())
        return (*codes, op), max((nesting for _, nesting in parts), default=0) + (op in MODAL)

    def _check(self, written: Sequence[int]) -> None:
        """Check that tokens are exactly one formula.

        Raises:
            FormulaError: they are not.
        """
        places = START
        for count, number in enumerate(written, start=1):
            if not NOTHING < number < len(self):
                raise FormulaError(f"token {count} is number {number}: tokens are 1 to {len(self) - 1}")
            if not places:
                raise FormulaError(f"token {count} of {self.text(written)!r}: the formula has ended before it")
            places = self.after(places, number)
        if places:
            raise FormulaError(f"{self.text(written)!r}: the formula does not end here")

    def encode(self, agent: Agent) -> tuple[int, ...]:
        """The tokens of an agent's formula; agents that it calls are written in their place if they have no token.

        Raises:
            FormulaError: it is a coin or calls one, or says `me`, and the vocabulary does not.
        """
        written = []
        todo = [agent.formula]
        while todo:
            node = todo.pop()
            number = self._numbers.get(node.op, self._calls.get(node))
            if number is None and node.agent is None:
                raise FormulaError(f"agent {agent.name!r}: {node.text()!r} is not in the vocabulary {self.texts[1:]}")
            written.append(INLINE if number is None else number)
            todo.extend((node.agent.formula,) if number is None and node.agent else reversed(node.parts))
        return tuple(written)


def _folded(written: Sequence[int], parts: Sequence[int], join: Callable[[int, list[Any]], Any]) -> Any:
    """A formula in prefix form, from the values of its parts upwards; `parts` has the number of each token's parts."""
    stack: list[Any] = []
    for number in reversed(written):
        stack.append(join(number, [stack.pop() for _ in range(parts[number])]))
    return stack[0]


def _finished(codes: Sequence[Op | Agent | Written], nesting: int) -> Written:
    """A formula from its codes in postfix form, and the nesting of its boxes."""
    called = {code.digest: code for code in codes if not isinstance(code, Op)}
    places = {digest: Op.CALL + place for place, digest in enumerate(called, start=1)}
    program = tuple(int(code) if isinstance(code, Op) else places[code.digest] for code in codes)
    depth = max([nesting, *(agent.depth for agent in called.values())])
    return Written(program, tuple(called.values()), Op.CALL in program, depth, bytes(program) + b"".join(called))


def _named_by_text(formula: Formula) -> Agent:
    return Agent(formula.text(), formula)
