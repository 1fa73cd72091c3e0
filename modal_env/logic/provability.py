"""What agents do: fixed points in the provability logic GL, evaluated on the chain of worlds 0, 1, 2, ...

[]p holds at world n iff p holds at every world m < n (Boolos, The Logic of Provability, chapters 4 and 8; Barasz et
al. 2014, section 4). In a formula all moves are under boxes, so the values at world n follow from those before it: the
fixed point exists and is unique. Each box goes from true to false at most once, and the boxes at n + 1 are a function
of those at n. The first world at which no box changes is final: with M boxes that is world M at the latest. An agent's
actual move is its final value.

Here the values of a formula over the first W worlds are the bits of an integer, world 0 the lowest. []p is then
p ^ (p + 1): the true worlds before the first false one, and the false one itself. W is enlarged until the last world is
final.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Protocol

from modal_env.checks import whole
from modal_env.errors import GameError
from modal_env.logic.notation import Agent, Formula, Op, as_agent

WORLDS = 28  # of the first attempt: with one more bit it fits into one digit of Python's integers
MAX_COINS = 12
MAX_PLAYS = 200_000  # that one play may depend on; takes some ten seconds
MAX_TRACE = 10_000  # most worlds of a trace
# Plain integers, which compare faster than members of an enumeration.
ME, NOT, BOX, DIAMOND = int(Op.ME), int(Op.NOT), int(Op.BOX), int(Op.DIAMOND)
AND, OR, IMPLIES, CALL = int(Op.AND), int(Op.OR), int(Op.IMPLIES), int(Op.CALL)
HALF = Fraction(1, 2)


class Player(Protocol):
    """What a play needs of an agent; see `Agent` for each."""

    @property
    def name(self) -> str: ...
    @property
    def program(self) -> tuple[int, ...]: ...
    @property
    def called(self) -> tuple[Player, ...]: ...
    @property
    def calls_itself(self) -> bool: ...
    @property
    def is_random(self) -> bool: ...
    @property
    def digest(self) -> bytes: ...


Pair = tuple[Player, Player]
Trace = tuple[tuple[bool | None, bool | None], ...]


class Equation(NamedTuple):
    """A formula to be evaluated: `Agent.program` or the like.

    Attributes:
        program: codes; CALL + k is the k-th reference.
        own: the number of this equation's own value, for ME.
        references: numbers of the values that it refers to, -1 if the program does not use it.
        coins: whether each reference is a coin instead of a value.
    """

    program: tuple[int, ...]
    own: int
    references: tuple[int, ...]
    coins: bool = False


@dataclass(frozen=True)
class Solution:
    """The fixed point of a system of equations.

    Attributes:
        words: for each equation, its values over the worlds as bits.
        settles: first world from which no box of any equation changes.
    """

    words: tuple[int, ...]
    settles: int

    def value(self, number: int, world: int) -> bool:
        """Whether an equation's formula holds at a world; all worlds from `settles` are alike."""
        return bool(self.words[number] >> min(world, self.settles) & 1)


def solve(equations: Sequence[Equation]) -> Solution:
    """Compute the fixed point, over as many worlds as it takes to settle."""
    worlds = WORLDS
    while True:
        words, falls = _fixed_point(equations, (1 << worlds) - 1)
        settles = max(falls, default=0)
        if settles <= worlds - 2:  # the last two worlds have the same boxes
            return Solution(tuple(words), settles)
        worlds *= 4


def _fixed_point(equations: Sequence[Equation], full: int) -> tuple[list[int], list[int]]:
    """The values over the worlds in the mask `full`, and when each equation's boxes settle.

    An equation is evaluated again when a value in it has changed. Every round makes at least one more world right, as
    each value at a world follows from the worlds before it; after a round without a change the fixed point is found.
    """
    words, falls = [full] * len(equations), [0] * len(equations)
    users: list[list[int]] = [[] for _ in equations]
    for equation in equations:
        for number in () if equation.coins else equation.references:
            if number >= 0:
                users[number].append(equation.own)
        if ME in equation.program:
            users[equation.own].append(equation.own)
    waiting = [True] * len(equations)
    while any(waiting):
        for number in range(len(equations) - 1, -1, -1):  # what is referred to tends to come later
            if waiting[number]:
                waiting[number] = False
                value, falls[number] = _evaluate(equations[number], words, full)
                if value != words[number]:
                    words[number] = value
                    for user in users[number]:
                        waiting[user] = True
    return words, falls


def _evaluate(equation: Equation, words: Sequence[int], full: int) -> tuple[int, int]:
    """The value of a formula, and the first world from which its boxes do not change."""
    if equation.coins:
        calls, shifts, spread = _tosses(equation.references, full)
    else:
        calls, shifts, spread = [words[number] for number in equation.references], (), 1
    own, everything = words[equation.own] * spread, full * spread
    stack: list[int] = []
    push, pop = stack.append, stack.pop
    falls = 0
    for code in equation.program:
        if code >= CALL:
            push(calls[code - CALL])
        elif code in (BOX, DIAMOND):
            inner = pop() if code == BOX else pop() ^ everything
            for shift in shifts:
                inner &= inner >> shift  # true for all outcomes of the coins
            box = ((inner & full) ^ ((inner & full) + 1)) & full
            if box != full:
                falls = max(falls, box.bit_length())
            push(box * spread if code == BOX else box * spread ^ everything)
        elif code == NOT:
            push(pop() ^ everything)
        elif code <= ME:
            push((0, everything, own)[code])
        else:
            right = pop()
            push(join(code, pop(), right, everything))
    return stack[0] & full, falls


def join(code: int, left: int, right: int, everything: int) -> int:
    """Apply a connective to two words, of which `everything` has all bits."""
    if code == AND:
        return left & right
    if code == OR:
        return left | right
    if code == IMPLIES:
        return left ^ everything | right
    return left ^ right ^ everything


def _tosses(references: Sequence[int], full: int) -> tuple[list[int], tuple[int, ...], int]:
    """Coins for references: each combination of outcomes has its own lane, side by side in one integer.

    Returns:
        The words of the coins; the shifts by which a word is laid over itself so that its lowest lane is the
        conjunction of all lanes; and the factor that spreads one lane to all.
    """
    width = full.bit_length()
    shifts = tuple(width << number for number in range(len(references)))
    calls: list[int] = []
    spread = 1
    for shift in shifts:
        calls = [word | word << shift for word in calls] + [full * spread << shift]
        spread |= spread << shift
    return calls, shifts, spread


class Plays:
    """The equations of the pairs that some plays depend on: only those reached from the roots."""

    def __init__(self, roots: Iterable[Pair]) -> None:
        self.pairs: list[Pair] = []
        self.numbers: dict[tuple[bytes, bytes], int] = {}
        for agent, opponent in roots:
            self.number(agent, opponent)
        self.equations: list[Equation] = []
        while len(self.equations) < len(self.pairs):
            if len(self.pairs) > MAX_PLAYS:
                raise GameError(f"the play depends on more than {MAX_PLAYS:,} others: give shorter chains of agents")
            self.equations.append(self._equation(*self.pairs[len(self.equations)]))

    def number(self, agent: Player, opponent: Player) -> int:
        """The number of an agent's move against an opponent; -1 for a coin, which has no equation."""
        if agent.is_random:
            return -1
        key = agent.digest, opponent.digest
        if key not in self.numbers:
            self.numbers[key] = len(self.pairs)
            self.pairs.append((agent, opponent))
        return self.numbers[key]

    def _equation(self, agent: Player, opponent: Player) -> Equation:
        own = self.number(agent, opponent)
        if opponent.is_random:
            if len(agent.called) >= MAX_COINS:
                raise GameError(
                    f"{agent.name[:60]!r} calls RandomBot on {len(agent.called)} agents, each with a coin of its own; "
                    f"against it at most {MAX_COINS - 1} are possible"
                )
            return Equation(agent.program, own, tuple(range(len(agent.called) + 1)), coins=True)
        itself = self.number(opponent, agent) if agent.calls_itself else -1
        return Equation(agent.program, own, (itself, *(self.number(opponent, called) for called in agent.called)))


@dataclass(frozen=True)
class Outcome:
    """The outcome of two agents' play.

    Attributes:
        moves: "C" or "D" for each; "?" is an independent fair coin.
        cooperation: the probability with which each cooperates: 0, 1, or 1/2 for a coin.
        trace: world by world from 0, whether each cooperates there; None for a coin. By default up to the world after
            `settles`.
        settles: the first world from which nothing changes, counting every box of every play that this one depends on.
        names: of the two agents.
    """

    moves: tuple[str, str]
    cooperation: tuple[Fraction, Fraction] = field(repr=False)
    trace: Trace = field(repr=False)
    settles: int
    names: tuple[str, str] = field(default=("first", "second"), repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.moves[0]} against {self.moves[1]}, settled at world {self.settles}"


def play(a: Agent | str, b: Agent | str, worlds: int | None = None) -> Outcome:
    """Play two agents against each other (Barasz et al. 2014, section 4).

    A box holds against RandomBot only if its content holds for all outcomes of the coins: nothing is provable about a
    coin. RandomBot tosses separately against each agent, so X(me) and X(DefectBot) are different coins there.

    Args:
        a, b: agents, names such as "FairBot", or formulas, see `modal_env.logic.notation.find`.
        worlds: length of the trace, at most 10,000; by default it ends one world after it settles.

    Raises:
        GameError: not agents; fewer than one world or too many; against RandomBot, an agent that calls X on twelve or
            more others; a play that depends on more than `MAX_PLAYS` others.
        FormulaError: a text that is neither name nor formula.
    """
    a, b = as_agent(a), as_agent(b)
    count = None if worlds is None else whole("worlds", worlds, 1, MAX_TRACE)
    plays = Plays([(a, b), (b, a)])
    solution = solve(plays.equations)
    numbers = plays.number(a, b), plays.number(b, a)
    count = count or solution.settles + 2
    values = [[None if number < 0 else solution.value(number, world) for world in range(count)] for number in numbers]
    first, second = (HALF if number < 0 else Fraction(solution.value(number, solution.settles)) for number in numbers)
    moves = {Fraction(0): "D", HALF: "?", Fraction(1): "C"}
    trace = tuple(zip(*values, strict=True))
    return Outcome((moves[first], moves[second]), (first, second), trace, solution.settles, (a.name, b.name))


@dataclass(frozen=True)
class Step:
    """One of the plays that a play depends on.

    Attributes:
        agent, opponent: whose move against whom.
        moves: [worlds] whether the agent cooperates.
        boxes: each [] or <> of its formula -> [worlds] its values.
    """

    agent: Agent
    opponent: Agent
    moves: tuple[bool, ...]
    boxes: dict[Formula, tuple[bool, ...]]


def steps(a: Agent, b: Agent, worlds: int) -> list[Step]:
    """The fixed point of a play, for checking by hand: all plays that it depends on, with the values of their boxes.

    Raises:
        GameError: as `play`.
    """
    plays = Plays([(a, b), (b, a)])
    full = (1 << worlds) - 1
    words, _ = _fixed_point(plays.equations, full)
    found = []
    for pair, equation, word in zip(plays.pairs, plays.equations, words, strict=True):
        agent, opponent = (as_agent(one) for one in pair)
        boxes = {
            node: _bits(_evaluate(equation._replace(program=_part(equation, place, node)), words, full)[0], worlds)
            for place, node in enumerate(agent.formula.postfix())
            if node.op in (Op.BOX, Op.DIAMOND)
        }
        found.append(Step(agent, opponent, _bits(word, worlds), boxes))
    return found


def _part(equation: Equation, place: int, node: Formula) -> tuple[int, ...]:
    """The part of an equation's program that computes the node at a place of the formula's postfix form."""
    return equation.program[place + 1 - len(node.postfix()) : place + 1]


def _bits(word: int, worlds: int) -> tuple[bool, ...]:
    return tuple(bool(word >> world & 1) for world in range(worlds))
