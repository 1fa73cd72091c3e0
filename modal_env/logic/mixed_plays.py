"""The play of programs of all kinds against each other: formulas, and readers that are not provers.

A play depends on other plays: a formula's move on X(me) and X(B), a simulator's on the run that it starts. Each play is
a pair (program, opponent).

*Formulas* are evaluated on the chain of worlds (`modal_env.logic.provability`). Nothing is provable about a coin: a box
holds at a world iff at all worlds before its content holds for all moves that the coins of simulators allow, those of
different plays being independent. A simulator's run is not a proof: its possible moves at a world are its answers to
the moves possible for its opponent at the same world. So a formula's final move against a simulator does not depend on
coins.

*Simulators with coins of their own* start one run, so their chances of cooperating are the solution of linear
equations. *Simulators with shared coins* are a Markov chain whose steps are the levels of simulation, from the lowest
to the top; its state is what each simulator has seen since it stopped. The chain starts anew whenever all stop, so it
has one stationary distribution, that of the top level. Both are solved in fractions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

from modal_env.errors import GameError
from modal_env.logic.provability import AND, BOX, CALL, DIAMOND, HALF, IMPLIES, ME, NOT, OR
from modal_env.logic.readers import DILEMMA, Context, Program, Simulator, as_program, resolved
from modal_env.logic.syntax import Agent

MAX_PAIRS = 2000  # that a play may depend on
MAX_STATES = 200  # of a chain
MAX_LETTERS = 12  # of a formula whose opponents toss coins

Law = dict[str, Fraction]
Coins = tuple[bool, ...]
State = tuple[str, ...]


@dataclass(frozen=True)
class MixedOutcome:
    """The play of two programs.

    Attributes:
        law: "CC", "CD", "DC", "DD" -> probability, the first program's move first.
        settles: the first world from which nothing changes for the formulas of the play; 0 without any.
    """

    law: Law
    settles: int

    @property
    def cooperation(self) -> tuple[Fraction, Fraction]:
        """The probability with which each cooperates."""
        return self.law["CC"] + self.law["CD"], self.law["CC"] + self.law["DC"]


def play_mixed(a: Program | str, b: Program | str, context: Context | None = None) -> MixedOutcome:
    """Play two programs of any kind.

    Args:
        a, b: programs, names of the library or of `READERS`, or formulas.
        context: as the first program sees it; by default the post's prisoner's dilemma, with these two programs.

    Raises:
        FormulaError: a text that is neither name nor formula.
        GameError: unknown helpers; some simulators have shared coins and some their own, in a combination that cannot
            be solved; a play that depends on more than `MAX_PAIRS` others.
    """
    first, second = as_program(a), as_program(b)
    if context is None:
        context = Context(DILEMMA, DILEMMA, programs={program.name: program for program in (first, second)})
    plays = _Plays(first, second, context)
    possible, settles = plays.worlds()
    return MixedOutcome(plays.law(possible), settles)


def play_all_mixed(programs: Sequence[Program], context: Context) -> list[list[MixedOutcome]]:
    """[n][n] the plays of all programs against all, the row's program in the first seat.

    Raises:
        GameError: as `play_mixed`.
    """
    return [[play_mixed(a, b, context) for b in programs] for a in programs]


class _Plays:
    """All plays that one depends on, numbered: the first program's is 0, the second's 1.

    Attributes:
        acts: the formula or simulator that the program of each pair plays as.
        reads: for each play, the numbers of the plays that it looks at: for a formula X(me) (-1 without X(me)), then X
            on each of its `called`; for a simulator the run that it starts.
        simulators: number of a play -> the simulator, if the program plays as one.
    """

    def __init__(self, a: Program, b: Program, context: Context) -> None:
        self.context = context
        self.numbers: dict[tuple[str, Program, str, Program, bool], int] = {}
        self.pairs: list[tuple[Program, Program, bool]] = []
        self._number(a, b, first=True)
        self._number(b, a, first=False)
        self.acts: list[Agent | Simulator] = []
        self.reads: list[list[int]] = []
        for number, (program, opponent, first) in enumerate(self.pairs):  # grows
            if number > MAX_PAIRS:
                raise GameError(f"the play depends on more than {MAX_PAIRS:,} others: give shorter chains of helpers")
            acts = resolved(program, opponent, context if first else context.turned)
            self.acts.append(acts)
            self.reads.append(self._reads(acts, program, opponent, first))
        self.simulators = {number: acts for number, acts in enumerate(self.acts) if isinstance(acts, Simulator)}

    def _number(self, program: Program, opponent: Program, first: bool) -> int:
        """The number of a play. `first`: whether the program has the first seat; helpers have their caller's seat."""
        key = program.name, program, opponent.name, opponent, first
        if key not in self.numbers:
            self.numbers[key] = len(self.pairs)
            self.pairs.append((program, opponent, first))
        return self.numbers[key]

    def _reads(self, acts: Agent | Simulator, program: Program, opponent: Program, first: bool) -> list[int]:
        if isinstance(acts, Simulator):
            helper = self.context.find(acts.against) if acts.against else program
            return [self._number(opponent, helper, not first)]
        own = self._number(opponent, program, not first) if acts.calls_itself else -1
        return [own, *(self._number(opponent, called, not first) for called in acts.called)]

    def worlds(self) -> tuple[list[str], int]:
        """The moves possible in each play in the end: "C", "D" or "CD"; and the world from which nothing changes."""
        boxes = {n: [True] * _count(acts) for n, acts in enumerate(self.acts) if isinstance(acts, Agent)}
        world = 0
        while True:
            possible = self._possible(boxes)
            changed = {n: self._next(n, values, possible) if values else values for n, values in boxes.items()}
            if changed == boxes:
                return possible, world
            boxes, world = changed, world + 1

    def _possible(self, boxes: dict[int, list[bool]]) -> list[str]:
        """The moves possible at a world, given the boxes of formulas there."""
        found = [""] * len(self.acts)
        for n, values in boxes.items():
            acts = self.acts[n]
            found[n] = "CD" if acts.is_random else "DC"[_evaluate(acts.program, values, False, ())[0]]
        before: list[str] = []
        while found != before:
            before = list(found)
            for n, acts in self.simulators.items():
                found[n] = _answers(acts, before[self.reads[n][0]])
        return found

    def _next(self, number: int, values: list[bool], possible: list[str]) -> list[bool]:
        """The boxes of a formula at the next world."""
        acts, following = self.acts[number], list(values)
        letters = [possible[read] if read >= 0 else "D" for read in self.reads[number]]
        if sum(len(letter) > 1 for letter in letters) > MAX_LETTERS:
            raise GameError(f"{acts.name!r:.60} calls X on too many: at most {MAX_LETTERS} if opponents toss coins")
        own = possible[number] == "C"
        for moves in product(*letters):
            _, bodies = _evaluate(acts.program, values, own, [move == "C" for move in moves])
            following = [value and body for value, body in zip(following, bodies, strict=True)]
        return following

    def law(self, possible: list[str]) -> Law:
        """The joint probabilities of the moves of plays 0 and 1."""
        kinds = {acts.coins for acts in self.simulators.values()}
        if kinds == {"shared"}:
            return self._chain(possible)
        if "shared" in kinds:
            self._check_apart()
        first, second = self._chances(possible)[:2]
        return law_of(first, second)

    def _check_apart(self) -> None:
        """Check that plays 0 and 1 share no coin: only one side has shared coins, and no simulator remembers rounds.

        A run changes sides at each level. So if only one side has shared coins, one of plays 0 and 1 sees them only at
        even levels, and the other only at odd levels.
        """
        sides: set[bool] = set()
        for n, acts in self.simulators.items():
            if acts.coins == "shared":
                sides.add(self.pairs[n][2])
                if acts.memory > 1 or acts.sees_own:
                    raise GameError(f"{acts.name!r:.60} remembers rounds, so its opponents' coins must be shared, too")
        if len(sides) > 1:
            raise GameError(
                "some simulators have shared coins and some their own, on both sides: use the same coins for all"
            )

    def _chances(self, possible: list[str]) -> list[Fraction]:
        """The chance of cooperating in each play, for simulators that start one run."""
        place = {n: row for row, n in enumerate(self.simulators)}
        known = [HALF if moves == "CD" else Fraction(moves == "C") for moves in possible]
        rows = []
        for n, acts in self.simulators.items():
            read = self.reads[n][0]
            after = {move: Fraction(acts.move(move) == "C") * (1 - acts.stop) for move in "CD"}
            row = [Fraction(0)] * (len(place) + 1)
            row[place[n]] += 1
            row[-1] = acts.stop * (acts.first == "C") + after["D"]
            if read in place:
                row[place[read]] -= after["C"] - after["D"]
            else:
                row[-1] += known[read] * (after["C"] - after["D"])
            rows.append(row)
        for n, chance in zip(self.simulators, solved(rows), strict=True):
            known[n] = chance
        return known

    def _chain(self, possible: list[str]) -> Law:
        """The law of the moves at the top level, for simulators with shared coins."""
        start: State = ("",) * len(self.simulators)
        numbers, states = {start: 0}, [start]
        steps: list[list[tuple[Fraction, State, str]]] = []
        for state in states:  # grows
            steps.append(list(self._steps(state, possible)))
            for _, after, _ in steps[-1]:
                if numbers.setdefault(after, len(states)) == len(states):
                    states.append(after)
            if len(states) > MAX_STATES:
                raise GameError(f"the chain of the play has more than {MAX_STATES} states: give shorter memories")
        rows = [[Fraction(int(i == j)) for j in range(len(states))] + [Fraction(0)] for i in range(len(states))]
        for i, outgoing in enumerate(steps):
            for chance, after, _ in outgoing:
                rows[numbers[after]][i] -= chance
        rows[0] = [Fraction(1)] * (len(states) + 1)
        law = dict.fromkeys(("CC", "CD", "DC", "DD"), Fraction(0))
        for share, outgoing in zip(solved(rows), steps, strict=True):
            for chance, _, moves in outgoing:
                law[moves] += share * chance
        return law

    def _steps(self, state: State, possible: list[str]) -> Iterator[tuple[Fraction, State, str]]:
        """(probability, next state, moves of plays 0 and 1) of one level, given what each has seen below it."""
        sims = self.simulators
        ends = sorted({Fraction(0), Fraction(1), *(acts.stop for acts in sims.values())})
        coins = [n for n, acts in enumerate(self.acts) if isinstance(acts, Agent) and acts.is_random]
        for low, high in pairwise(ends):
            seen = ["" if acts.stop >= high else past for acts, past in zip(sims.values(), state, strict=True)]
            for tossed in product("CD", repeat=len(coins)):
                moves = list(possible)
                for n, move in zip(coins, tossed, strict=True):
                    moves[n] = move
                for (n, acts), past in zip(sims.items(), seen, strict=True):
                    moves[n] = acts.move(past)
                after = tuple(
                    acts.recalled(past + (moves[n] if acts.sees_own else "") + moves[self.reads[n][0]])
                    for (n, acts), past in zip(sims.items(), seen, strict=True)
                )
                yield (high - low) * HALF ** len(coins), after, moves[0] + moves[1]


def _count(acts: Agent) -> int:
    """The number of boxes of a formula."""
    return sum(code in (BOX, DIAMOND) for code in acts.program)


def _answers(acts: Simulator, theirs: str) -> str:
    """The moves that a simulator may make, if its opponent may make these."""
    found = {acts.first}
    if theirs and acts.stop < 1:
        found |= {acts.move(history) for history in _histories(acts, theirs)}
    return "".join(sorted(found))


def _histories(acts: Simulator, theirs: str) -> list[str]:
    """The histories that a simulator may see, if its opponent may make these moves in any round."""
    found, seen = [""], {""}
    for history in found:  # grows
        own = acts.move(history) if acts.sees_own else ""
        for move in theirs:
            after = acts.recalled(history + own + move)
            if after not in seen:
                seen.add(after)
                found.append(after)
    return found


def _evaluate(
    program: Sequence[int], boxes: Sequence[bool], own: bool, letters: Sequence[bool]
) -> tuple[bool, list[bool]]:
    """The value of a formula, and of the content of each box (of a <>: the negation of the content)."""
    stack: list[bool] = []
    bodies: list[bool] = []
    for code in program:
        if code >= CALL:
            stack.append(letters[code - CALL] if letters else False)
        elif code in (BOX, DIAMOND):
            value = boxes[len(bodies)]
            bodies.append(stack.pop() == (code == BOX))
            stack.append(value == (code == BOX))
        elif code == NOT:
            stack.append(not stack.pop())
        elif code <= ME:
            stack.append((False, True, own)[code])
        else:
            right, left = stack.pop(), stack.pop()
            if code == AND:
                stack.append(left and right)
            elif code == OR:
                stack.append(left or right)
            else:
                stack.append(not left or right if code == IMPLIES else left == right)
    return stack[0], bodies


def law_of(first: Fraction, second: Fraction) -> Law:
    """The probabilities of the moves of two programs that cooperate independently."""
    chances = {"C": (first, second), "D": (1 - first, 1 - second)}
    return {a + b: chances[a][0] * chances[b][1] for a in "CD" for b in "CD"}


def solved(rows: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """The solution of a square system of linear equations [n][n + 1], in fractions (Gauss and Jordan)."""
    left = [list(row) for row in rows]
    for column in range(len(left)):
        pivot = next(row for row in range(column, len(left)) if left[row][column])
        left[column], left[pivot] = left[pivot], left[column]
        factor = left[column][column]
        left[column] = [value / factor for value in left[column]]
        for row, values in enumerate(left):
            if row != column and values[column]:
                left[row] = [a - values[column] * b for a, b in zip(values, left[column], strict=True)]
    return [row[-1] for row in left]
