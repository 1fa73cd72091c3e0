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

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modal_env.errors import FormulaError, GameError
from modal_env.logic.syntax import ASCII, PARTS, Agent, Formula, Op

NOTHING = 0
OPERATORS = (Op.TRUE, Op.FALSE, Op.NOT, Op.BOX, Op.DIAMOND, Op.AND, Op.OR, Op.IMPLIES, Op.IFF)
MODAL = (Op.BOX, Op.DIAMOND)
INLINE = 1 + len(OPERATORS)
MAX_SAMPLE = 100  # tokens; the number of formulas must fit into a float


class Written(NamedTuple):
    """A formula for playing alone, see `modal_env.logic.provability.Player`."""

    program: tuple[int, ...]
    called: tuple[Agent | Written, ...]
    calls_itself: bool
    depth: int
    digest: bytes
    name: str = "formula"
    is_random: bool = False


Code = Op | Agent | Written


def _finished(codes: Sequence[Code], nesting: int) -> Written:
    """A formula from its codes of `Op`, and agents called, in postfix form."""
    called: dict[bytes, Agent | Written] = {}
    for code in codes:
        if not isinstance(code, Op):
            called.setdefault(code.digest, code)
            nesting = max(nesting, code.depth)
    places = {digest: Op.CALL + place for place, digest in enumerate(called, start=1)}
    program = tuple(int(code) if isinstance(code, Op) else places[code.digest] for code in codes)
    digest = bytes(program) + b"".join(called)
    return Written(program, tuple(called.values()), Op.CALL in program, nesting, digest)


class Vocabulary:
    """The tokens of formulas that may call the opponent on some agents.

    Args:
        calls: the agents that formulas may call the opponent on by name.
        me: whether formulas may say `me`.

    Attributes:
        texts: [tokens] the text of every token.
        parts: [tokens] the number of places that it opens.
        needs_box: [tokens] whether it stands under a [] or <> only.
        boxes: [tokens] whether the places that it opens are under a box: 1 yes, 0 no, -1 as its own place.

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
        self.needs_box = np.arange(len(self.texts)) >= INLINE
        self.boxes = np.full(len(self.texts), -1)
        self.boxes[[self._numbers[op] for op in MODAL]] = 1
        self.boxes[INLINE] = 0
        self._parts, self._boxes = self.parts.tolist(), self.boxes.tolist()
        self._counts: dict[tuple[int, bool], int] = {}

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
            own = places.pop()
            places += [own if self._boxes[number] < 0 else bool(self._boxes[number])] * self._parts[number]
        return places

    def open(self, written: Sequence[int], budget: int) -> NDArray[np.int8]:
        """The tokens that may come next: int8 [tokens]; only `NOTHING` once the formula has ended.

        Args:
            written: the formula so far, which must be legal.
            budget: maximal number of tokens of a whole formula.
        """
        places = self.places(written)
        spare = budget - len(written) - len(places)  # tokens left if each open place takes one
        return self.masks(np.array([spare]), np.array([len(places)]), np.array([bool(places) and places[-1]]))[0]

    def masks(self, spare: NDArray[np.int_], places: NDArray[np.int_], boxed: NDArray[np.bool_]) -> NDArray[np.int8]:
        """The tokens that may come next in B formulas: int8 [B, tokens].

        Args:
            spare: [B] tokens left if each open place takes one.
            places: [B] number of open places.
            boxed: [B] whether the next one is under a box.
        """
        fits = (self.parts <= spare[:, None]) & (boxed[:, None] | ~self.needs_box)
        fits[:, NOTHING] = False
        return np.where(places[:, None] > 0, fits, np.arange(len(self)) == NOTHING).astype(np.int8)

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
            if number == INLINE:
                nodes.append(Formula(Op.CALL, agent=_named_by_text(nodes.pop())))
            elif number in self._leaves:
                nodes.append(self._leaves[number])
            else:
                parts = tuple(nodes.pop() for _ in range(self._parts[number]))
                nodes.append(Formula(OPERATORS[number - 1], parts))
        return _named_by_text(nodes.pop())

    def compiled(self, written: Sequence[int]) -> Written:
        """A complete and allowed formula for playing alone; several times as fast as `agent`."""
        found: list[tuple[list[Code], int]] = []  # codes in postfix form, and the nesting of boxes
        for number in reversed(written):
            if number > INLINE:
                leaf = self._leaves[number]
                found.append(([leaf.agent or leaf.op], 0))
            elif number == INLINE:
                found.append(([_finished(*found.pop())], 0))
            else:
                op = OPERATORS[number - 1]
                count = PARTS.get(op, 0)
                codes, nesting = found.pop() if count else ([], 0)
                if count == 2:
                    right, other = found.pop()
                    codes, nesting = codes + right, max(nesting, other)
                found.append(([*codes, op], nesting + (op in MODAL)))
        return _finished(*found.pop())

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

    def sample(self, size: int, rng: np.random.Generator) -> tuple[int, ...]:
        """A formula of exactly this many tokens, drawn uniformly from all of them.

        Raises:
            GameError: more than 100 tokens, of which there are too many formulas to count.
        """
        if not 1 <= size <= MAX_SAMPLE:
            raise GameError(f"size={size!r:.80}: give a number of tokens from 1 to {MAX_SAMPLE}")
        written: list[int] = []
        todo = [(size, False)]
        while todo:
            length, boxed = todo.pop()
            ways = self._ways(length, boxed)
            chances = np.array([float(count) for _, _, count in ways])
            number, lengths, _ = ways[int(rng.choice(len(ways), p=chances / chances.sum()))]
            written.append(number)
            inside = boxed if self.boxes[number] < 0 else bool(self.boxes[number])
            todo += [(each, inside) for each in reversed(lengths)]
        return tuple(written)

    def _ways(self, length: int, boxed: bool) -> list[tuple[int, tuple[int, ...], int]]:
        """(first token, lengths of its parts, how many formulas) of all formulas of a length at an open place."""
        found = []
        for number in range(1, len(self)):
            if self.needs_box[number] and not boxed:
                continue
            inside = boxed if self.boxes[number] < 0 else bool(self.boxes[number])
            for lengths in _splits(length - 1, int(self.parts[number])):
                counts = [self._count(each, inside) for each in lengths]
                found.append((number, lengths, int(np.prod(np.array(counts, object)))))
        return [way for way in found if way[2]]

    def _count(self, length: int, boxed: bool) -> int:
        key = length, boxed
        if key not in self._counts:
            self._counts[key] = sum(count for _, _, count in self._ways(length, boxed))
        return self._counts[key]


def _splits(length: int, parts: int) -> list[tuple[int, ...]]:
    """The ways to share tokens between parts of one token at least each."""
    if parts == 0:
        return [()] if length == 0 else []
    if parts == 1:
        return [(length,)] if length > 0 else []
    return [(first, length - first) for first in range(1, length)]


def _named_by_text(formula: Formula) -> Agent:
    return Agent(formula.text(), formula)
