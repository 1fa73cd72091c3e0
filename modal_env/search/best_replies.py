"""A complete search for the outcomes that agents up to a depth can reach against given opponents.

There are far too many agents to list: with two others to call, 2**193 truth functions at depth 1 alone. But an agent of
depth d that calls the opponent on given agents is a function of the histories that it can distinguish, the *types* of
histories. At depth 0 there is one type. The type of depth d of a history is the set of pairs (type of depth d - 1,
symbol) of its worlds so far, where a symbol is the values of all letters at a world: boxes of depth d are statements
about that set, and every set is characterized by a formula of depth d. So an agent is any function from types to moves.
The search plays world by world against all opponents at once, and branches on the move for a type when it first
occurs. Every agent agrees with one of the branches on all types that it meets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

from modal_env.checks import brief, items, whole
from modal_env.errors import GameError
from modal_env.logic.finite_machines import MAX_CALLS, Machine, check_machines, check_names, machine
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import Outcome, play
from modal_env.logic.readers import as_formula, as_formulas
from modal_env.logic.syntax import closure
from modal_env.progress import Report, no_report

MAX_DEPTH = 3
SEARCHED = 0.1  # fraction of the time spent on finding replies; the rest is for writing an agent for each

Word = tuple[int, ...]
Moves = tuple[tuple[str, str], ...]
Seats = tuple[tuple[int, int], ...]  # for each opponent: its machine's state, and the type of its history


@dataclass(frozen=True)
class Reply:
    """Outcomes against the opponents that an agent of the class can reach.

    Attributes:
        moves: for each opponent, the moves "C" or "D" of the agent and of the opponent.
        agent: an agent of the class that reaches them.
    """

    moves: Moves
    agent: Agent


def replies(
    opponents: Iterable[Agent | str], calls: Iterable[Agent | str] = (), *, depth: int = 2, report: Report = no_report
) -> list[Reply]:
    """All outcomes of agents up to a depth against the opponents, each with an agent that reaches it.

    The class is complete: all agents of at most this depth that call X only on themselves and on `calls`.

    Args:
        opponents: agents, names or formulas; the same agent plays against all of them.
        calls: agents that may be called, besides the agents themselves.
        depth: of the agents, 0 to 3. Time and memory grow fast from 3 on.
        report: see `modal_env.progress`. First the fraction of the search tree, in which each branching halves the
            weight, then the fraction of the agents written, which takes most of the time.

    Raises:
        GameError: no opponents; RandomBot among the opponents or calls, or called by them; a depth out of bounds; more
            than MAX_CALLS calls, of too great a depth, or with the same name.
        FormulaError: a text that is neither name nor formula.
    """
    depth = whole("depth", depth, 0, MAX_DEPTH)
    met, called = as_formulas(opponents, "opponents"), check_called(calls, depth)
    check_machines("opponents", met)
    return _Search(met, called, depth, report).replies()


def check_called(calls: Iterable[Agent | str], depth: int) -> tuple[Agent, ...]:
    """Check `calls`: the agents that agents of this depth may call.

    Raises:
        GameError, FormulaError: as `replies`.
    """
    given = items(calls, MAX_CALLS + 1)
    if given is None or len(given) > MAX_CALLS:
        raise GameError(f"calls={brief(calls)}: give a list of at most {MAX_CALLS} agents")
    called = tuple(map(as_formula, given))
    check_machines("calls", called)
    if deep := [call for call in called if call.depth > depth]:
        raise GameError(f"calls: an agent that calls {deep[0].name!r:.80} has depth {deep[0].depth}, not {depth}")
    check_names(called)
    return called


class Types:
    """Types of histories (see the module), numbered in order of discovery; 0 is the type of the empty history.

    Attributes:
        words: for each type, a history of this type (symbols, world by world).
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.words: list[Word] = [()]
        self._levels: list[tuple[frozenset[tuple[int, int]], ...]] = [(frozenset(),) * depth]
        self._numbers = {self._levels[0]: 0}
        self._sets: dict[frozenset[tuple[int, int]], int] = {frozenset(): 0}
        self._next: dict[tuple[int, int], int] = {}

    def after(self, number: int, symbol: int) -> int:
        """The type one world later."""
        key = number, symbol
        if key not in self._next:
            self._next[key] = self._number(self._grown(number, symbol), (*self.words[number], symbol))
        return self._next[key]

    def completed(self) -> Types:
        """Find all types of the depth, for histories of symbols 0 and 1; return self."""
        number = 0
        while number < len(self.words):  # grows
            for symbol in (0, 1):
                self.after(number, symbol)
            number += 1
        return self

    def _grown(self, number: int, symbol: int) -> tuple[frozenset[tuple[int, int]], ...]:
        levels = self._levels[number]
        lower = (0, *(self._sets[level] for level in levels))
        return tuple(level | {(below, symbol)} for level, below in zip(levels, lower, strict=False))

    def _number(self, levels: tuple[frozenset[tuple[int, int]], ...], word: Word) -> int:
        if levels not in self._numbers:
            self._numbers[levels] = len(self.words)
            self._levels.append(levels)
            self.words.append(word)
            for level in levels:
                self._sets.setdefault(level, len(self._sets))
        return self._numbers[levels]

    def may_follow(self, number: int, later: int) -> bool:
        """False if a history of the first type never becomes one of the other."""
        return all(a <= b for a, b in zip(self._levels[number], self._levels[later], strict=True))

    def difference(self, one: int, other: int) -> tuple[Word, int]:
        """A history, as a type one depth lower, and a symbol that followed it in only one of the two types."""
        top, else_top = self._levels[one][-1], self._levels[other][-1]
        below, symbol = min(top ^ else_top)
        return next(self._places(self.words[one if (below, symbol) in top else other], below, symbol)), symbol

    def _places(self, word: Word, below: int, symbol: int) -> Iterator[Word]:
        number = 0
        for world, read in enumerate(word):
            lower = self._sets[self._levels[number][-2]] if self.depth > 1 else 0
            if (lower, read) == (below, symbol):
                yield word[:world]
            number = self.after(number, read)


class _Search:
    """The search; attributes have the opponents, all agents that they call, and what is fixed for all replies."""

    def __init__(
        self, opponents: tuple[Agent, ...], calls: tuple[Agent, ...], depth: int, report: Report = no_report
    ) -> None:
        self.opponents, self.calls, self.depth, self.report = opponents, calls, depth, report
        self.met = closure(opponents)
        self.machines: list[Machine] = [machine(agent) for agent in self.met]
        self.called = [[self.met.index(call) for call in agent.called] for agent in self.met]
        self.types = Types(depth)
        plays = [[play(agent, call) for call in calls] for agent in self.met]
        self.horizon = max((outcome.settles for row in plays for outcome in row), default=0) + 1
        # The moves of each opponent against the calls, as a symbol without bit 0, X(me).
        self.fixed = [[self._fixed(row, world) for world in range(self.horizon + 1)] for row in plays]

    def _fixed(self, outcomes: Sequence[Outcome], world: int) -> int:
        moves = [outcome.trace[min(world, outcome.settles)][0] for outcome in outcomes]
        return sum(bool(move) << bit for bit, move in enumerate(moves, start=1))

    def replies(self) -> list[Reply]:
        found: dict[Moves, dict[int, bool]] = {}
        seen: set[object] = set()
        start: Seats = ((0, 0),) * len(self.met)
        todo: list[tuple[int, Seats, dict[int, bool], float]] = [(0, start, {}, 1.0)]
        done = 0.0
        while todo:
            world, seats, decided, share = todo.pop()
            if open_types := sorted({kind for _, kind in seats if kind not in decided}):
                todo.extend((world, seats, {**decided, open_types[0]: move}, share / 2) for move in (True, False))
                continue
            following = self._step(world, seats, decided)
            if world >= self.horizon and following == seats:
                found.setdefault(self._moves(seats, decided), decided)
                done += share
                continue
            world = min(world + 1, self.horizon)
            if (key := (world, following, self._needed(following, decided))) in seen:
                done += share
                self.report(SEARCHED * done)
                continue
            seen.add(key)
            todo.append((world, following, decided, share))
        written: list[Reply] = []
        for moves in sorted(found):
            self.report(SEARCHED + (1 - SEARCHED) * len(written) / len(found))
            written.append(Reply(moves, self._agent(found[moves])))
        return written

    def _step(self, world: int, seats: Seats, decided: dict[int, bool]) -> Seats:
        own = [decided[kind] for _, kind in seats]
        following = []
        for place, (state, kind) in enumerate(seats):
            theirs = int(self.machines[place].outputs[state])
            read = own[place] + sum(own[call] << bit for bit, call in enumerate(self.called[place], start=1))
            symbol = self.fixed[place][world] + theirs
            following.append((int(self.machines[place].moves[state, read]), self.types.after(kind, symbol)))
        return tuple(following)

    def _needed(self, seats: Seats, decided: dict[int, bool]) -> frozenset[tuple[int, bool]]:
        """The decisions that may still matter: branches that agree on these have the same outcomes."""
        now = {kind for _, kind in seats}
        return frozenset(
            (kind, move) for kind, move in decided.items() if any(self.types.may_follow(t, kind) for t in now)
        )

    def _moves(self, seats: Seats, decided: dict[int, bool]) -> Moves:
        places = [self.met.index(agent) for agent in self.opponents]
        own = ["DC"[decided[seats[place][1]]] for place in places]
        theirs = ["DC"[int(self.machines[place].outputs[seats[place][0]])] for place in places]
        return tuple(zip(own, theirs, strict=True))

    def _agent(self, decided: dict[int, bool]) -> Agent:
        return agent_of(self.types, decided, self.calls)


def agent_of(types: Types, decided: dict[int, bool], calls: tuple[Agent, ...] = ()) -> Agent:
    """An agent that cooperates at types decided True and defects at types decided False; others are arbitrary.

    It is a decision tree of questions "is this box true?", each chosen to separate the types best, shorter ones first;
    so it is short, but not always the shortest.
    """
    text = _Tree(types, calls).text(dict(sorted(decided.items())))
    return parse_calling(text, calls)


def parse_calling(text: str, calls: Iterable[Agent]) -> Agent:
    """The agent of a formula that may call X on these agents by their names."""
    return parse(text, helpers={call.name: call for call in calls})


class _Tree:
    """Makes formulas that distinguish types."""

    def __init__(self, types: Types, calls: tuple[Agent, ...]) -> None:
        self.types, self.calls = types, calls
        self.letters = ("X(me)", *(f"X({call.name})" for call in calls))
        self.questions = _questions(self.letters, calls, types.depth)

    def text(self, decided: dict[int, bool]) -> str:
        values = set(decided.values())
        if len(values) < 2:
            return "true" if True in values else "false"
        question, holds = self._best(decided)
        yes = self.text({kind: move for kind, move in decided.items() if holds[kind]})
        no = self.text({kind: move for kind, move in decided.items() if not holds[kind]})
        return _choice(question, yes, no)

    def _best(self, decided: dict[int, bool]) -> tuple[str, dict[int, bool]]:
        """The question that separates best; if no listed question separates any types, a new one for two of them."""
        answers = [
            (question, {kind: self._holds(asked, kind) for kind in decided}) for question, asked in self.questions
        ]
        useful = [answer for answer in answers if len(set(answer[1].values())) == 2]
        if not useful:
            one, other = next(pair for pair in combinations(decided, 2) if decided[pair[0]] != decided[pair[1]])
            question = self._difference(one, other)
            asked = machine(parse_calling(question, self.calls), self.calls)
            return question, {kind: self._holds(asked, kind) for kind in decided}
        return min(useful, key=lambda answer: _impurity(decided, answer[1]))

    def _holds(self, asked: Machine, kind: int) -> bool:
        word = self.types.words[kind]
        return bool(asked.outputs[asked.run(word)])

    def _difference(self, one: int, other: int) -> str:
        word, symbol = self.types.difference(one, other)
        return f"<>({self._world(word, self.types.depth - 1, symbol)})"

    def _being(self, word: Word, depth: int) -> str:
        """A formula saying that the history has the same type of this depth as the word."""
        parts = [self._world(word[:n], depth - 1, symbol) for n, symbol in enumerate(word)]
        parts = list(dict.fromkeys(parts))
        some = "".join(f" & <>({part})" for part in parts)
        return f"[]({' | '.join(f'({part})' for part in parts) or 'false'}){some}"

    def _world(self, word: Word, depth: int, symbol: int) -> str:
        """A formula saying that this symbol follows a history of the same type of this depth as the word."""
        reading = self._reading(symbol)
        return f"{reading} & {self._being(word, depth)}" if depth else reading

    def _reading(self, symbol: int) -> str:
        return " & ".join(f"{'' if symbol >> bit & 1 else '~'}{letter}" for bit, letter in enumerate(self.letters))


def _impurity(decided: dict[int, bool], holds: dict[int, bool]) -> float:
    """The impurity of the two halves of a question: Gini's index times their sizes."""
    total = 0.0
    for half in (True, False):
        moves = [move for kind, move in decided.items() if holds[kind] == half]
        total += sum(moves) * (len(moves) - sum(moves)) / len(moves)
    return total


def _choice(question: str, yes: str, no: str) -> str:
    """`yes` where the question holds, `no` elsewhere."""
    if yes in ("true", "false") and no in ("true", "false"):
        return question if yes == "true" else f"~{question}"
    if yes == "true":
        return f"{question} | {no}"
    if yes == "false":
        return f"~{question} & ({no})"
    if no == "true":
        return f"~{question} | {yes}"
    return f"{question} & ({yes})" if no == "false" else f"{question} & ({yes}) | ~{question} & ({no})"


@lru_cache(maxsize=32)
def _questions(letters: tuple[str, ...], calls: tuple[Agent, ...], depth: int) -> list[tuple[str, Machine]]:
    """Boxes up to a depth: [](a | b), where a and b are letters, boxes or their negations.

    If X(me) is the only letter, three such parts are also feasible.
    """
    if depth == 0:
        return []
    texts = [f"{'[]' * times}false" for times in range(1, depth + 1)]
    atoms = list(letters)
    if depth > 1:
        atoms += ["[]false", *(f"[]{sign}{letter}" for letter in letters for sign in ("", "~"))]
    for count in (1, 2) if calls else (1, 2, 3):
        for chosen in combinations(atoms, count):
            for signs in product(("", "~"), repeat=count):
                texts.append(f"[]({' | '.join(sign + atom for sign, atom in zip(signs, chosen, strict=True))})")
    agents = sorted(
        {parse_calling(text, calls) for text in texts},
        key=lambda agent: (agent.size, len(agent.called), agent.text),
    )
    return [(agent.text, machine(agent, calls)) for agent in agents]
