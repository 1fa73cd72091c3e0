"""Agents given by a word: direct agents of depth n that cooperate with themselves and with no shallower agent.

A *word* is an agent's sequence of moves against itself, world by world, such as CCCDDC; the last move stays. The agent
of a word and a depth follows the word as long as its opponent does, as far as agents of this depth can tell (by the
types of histories, `modal_env.search.best_replies`), and defects otherwise. No agent exploits it. If also no agent
of a smaller depth gets its cooperation, then it is, against itself, a pure equilibrium among direct agents (with X(me)
as the only letter) at all prices up to 1 / depth, and the post's lemma fails for it.

C^n D^(n-1) C is such a word for every depth n from 2 on; docs/modal-search.md has the proof.

Such an agent may cooperate with a shallower agent that calls others. What it does after histories that do not occur
against itself can be chosen freely, to prevent this. `fates` finds such choices, or shows that there are none: it takes
a caller that has the agent's cooperation, tries the other move at each type of history that this caller makes use of,
and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from modal_env.checks import brief, whole
from modal_env.errors import GameError
from modal_env.logic.finite_machines import Machine, machine
from modal_env.logic.notation import Agent
from modal_env.progress import Report, no_report
from modal_env.search.best_replies import Types, agent_of, check_called
from modal_env.search.findings import CALLS

MAX_DEPTH = 8
MAX_LENGTH = 28
MAX_SEARCHED = 14  # letters of the words that are searched: 2^14 words
MAX_WRITTEN = 3  # depth of an agent whose formula is written
MAX_AGAINST_CALLERS = 4

Moves = dict[int, bool]
"""Moves at types of histories."""


@dataclass(frozen=True)
class WordAgent:
    """The agent of a word, and what direct agents can reach against it.

    Attributes:
        word: its moves against itself, world by world; the last move stays.
        depth: of the agent.
        below: outcomes of agents of smaller depth, their move first, such as "DD".
        alike: outcomes of agents of its own depth, their move first.
    """

    word: str
    depth: int
    below: frozenset[str]
    alike: frozenset[str]

    @property
    def is_equilibrium(self) -> bool:
        """Whether it is a pure equilibrium against itself among direct agents, at all prices from 0 to 1 / depth."""
        return "CC" not in self.below and "DC" not in self.below | self.alike

    @property
    def agent(self) -> Agent:
        """Its formula.

        Raises:
            GameError: the depth is above `MAX_WRITTEN`; no agent of this depth plays the word against itself.
        """
        whole("depth", self.depth, 1, MAX_WRITTEN)
        types = Types(self.depth)
        decided = _path(self.word, types)
        if decided is None:
            raise GameError(f"word={brief(self.word)}: no agent of depth {self.depth} plays it against itself")
        found = types.completed().words
        return agent_of(types, {kind: decided.get(kind, False) for kind in range(len(found))})


def word_agent(word: str, depth: int) -> WordAgent | None:
    """The agent of a word; None if no agent of this depth plays the word against itself.

    Raises:
        GameError: not a word of C and D, of at most `MAX_LENGTH` letters; a depth that is not from 1 to `MAX_DEPTH`.
    """
    depth = whole("depth", depth, 1, MAX_DEPTH)
    if not isinstance(word, str) or not word or set(word) - set("CD") or len(word) > MAX_LENGTH:
        raise GameError(f"word={brief(word)}: give letters C and D, {MAX_LENGTH} at most")
    types = Types(depth)
    decided = _path(word, types)
    if decided is None:
        return None
    below, alike = (frozenset(_outcomes(decided, types, lower)) for lower in (depth - 1, depth))
    return WordAgent(word, depth, below, alike)


def words(depth: int, length: int) -> Iterator[WordAgent]:
    """The agents of words that are pure equilibria against themselves among direct agents, the shortest first.

    Args:
        depth: of the agents, 1 to 4.
        length: longest word, at most `MAX_SEARCHED`.

    Raises:
        GameError: a number is out of bounds.
    """
    depth, length = whole("depth", depth, 1, 4), whole("length", length, 1, MAX_SEARCHED)
    for letters in range(1, length + 1):
        for moves in product("CD", repeat=letters):
            word = "".join(moves)
            if word == "C" or word.endswith("DC"):  # other words repeat their last move, or end in defection
                found = word_agent(word, depth)
                if found is not None and found.is_equilibrium:
                    yield found


def _path(word: str, types: Types) -> dict[int, bool] | None:
    """The moves at the types that occur in self-play; None if the word has two moves at one type."""
    decided: dict[int, bool] = {}
    kind, world = 0, 0
    while True:
        move = word[min(world, len(word) - 1)] == "C"
        if decided.setdefault(kind, move) != move:
            return None
        after = types.after(kind, int(move))
        if world >= len(word) and after == kind:
            return decided
        kind, world = after, world + 1


def _outcomes(decided: dict[int, bool], types: Types, lower: int) -> set[str]:
    """All outcomes of direct agents of a depth against the agent of a word, their move first."""
    theirs, found = Types(lower), set()
    todo: list[tuple[int, int, dict[int, bool]]] = [(0, 0, {})]
    while todo:
        kind, other, moves = todo.pop()
        if other not in moves:
            todo += [(kind, other, {**moves, other: move}) for move in (False, True)]
            continue
        own = decided.get(kind, False)
        after = types.after(kind, int(moves[other])), theirs.after(other, int(own))
        if after == (kind, other):
            found.add("DC"[moves[other]] + "DC"[own])
        else:
            todo.append((*after, moves))
    return found


@dataclass(frozen=True)
class Fate:
    """All direct agents of a depth that make the same moves against themselves.

    Attributes:
        word: these moves, world by world; the last one stays.
        depth: of the agents.
        survivor: one that cooperates with no shallower agent; None if all do.
        refuted: sets of agents that make the same moves where a caller meets them, each with a caller that has the
            cooperation of all agents in the set.
    """

    word: str
    depth: int
    survivor: Agent | None
    refuted: tuple[tuple[Moves, Agent], ...]


def fates(depth: int, calls: Sequence[Agent | str] = CALLS, report: Report = no_report) -> list[Fate]:
    """The direct agents of a depth that cooperate with themselves and that nobody exploits, against shallower callers.

    Args:
        depth: 1 to `MAX_AGAINST_CALLERS`; depth 4 takes half a minute.
        calls: agents that shallower agents may call; they call nobody themselves, and have at most this depth. Those of
            this depth are left out, as no shallower agent can call them.
        report: see `modal_env.progress`.

    Raises:
        GameError: the depth is out of bounds; calls as of `modal_env.search.replies`; a call that calls others.
        FormulaError: a call that is neither name nor formula.
    """
    depth = whole("depth", depth, 1, MAX_AGAINST_CALLERS)
    called = check_called(calls, depth)
    if calling := [call.name for call in called if call.called]:
        raise GameError(f"calls: {calling[0]!r:.80} calls others: give agents that call nobody")
    types = Types(depth).completed()
    search = _Search(types, [call for call in called if call.depth < depth])
    plays, found = sorted(self_plays(types), key=lambda play: (len(play[0]), play[0])), []
    for number, (word, path) in enumerate(plays):
        report(number / len(plays))
        found.append(search.fate(word, path))
    return [fate for fate in found if fate is not None]


def self_plays(types: Types) -> Iterator[tuple[str, Moves]]:
    """All words that agents of the types' depth play against themselves and that end in C, with the moves at types."""
    todo: list[tuple[str, int, Moves]] = [("", 0, {})]
    while todo:
        word, kind, path = todo.pop()
        for move in (False, True):
            if path.get(kind, move) != move:
                continue
            after, longer = types.after(kind, int(move)), {**path, kind: move}
            if after != kind:
                todo.append((word + "DC"[move], after, longer))
            elif move:
                yield _shortened(word + "C"), longer


def _shortened(word: str) -> str:
    return word.rstrip("C") + "C"


class _Search:
    """Looks for moves after other histories at which callers fail."""

    def __init__(self, types: Types, calls: Sequence[Agent]) -> None:
        self.types, self.calls = types, tuple(calls)
        self.machines = [machine(call) for call in calls]
        self.lower = Types(types.depth - 1)
        self.following = [(types.after(kind, 0), types.after(kind, 1)) for kind in range(len(types.words))]
        single = [(number,) for number in range(len(calls))]
        self.called = [(), *single, tuple(range(len(calls)))]  # callers of one agent first: they use fewer types

    def fate(self, word: str, path: Moves) -> Fate | None:
        """The fate of the agents with this word; None if those that defect for good exploit them all."""
        stays = {kind for kind, (after, _) in enumerate(self.following) if after == kind}
        if any(path.get(kind) for kind in stays):
            return None
        refuted: list[tuple[Moves, Agent]] = []
        found = self._survivor({**dict.fromkeys(stays, False), **path}, refuted)
        agent = None if found is None else agent_of(self.types, found)
        return Fate(word, self.types.depth, agent, tuple(refuted))

    def _survivor(self, fixed: Moves, refuted: list[tuple[Moves, Agent]]) -> Moves | None:
        """All moves of an agent with some fixed moves with which no caller has its cooperation."""
        moves = {kind: fixed.get(kind, False) for kind in range(len(self.following))}
        broken = self._broken(moves)
        if broken is None:
            return moves
        used, caller = broken
        refuted.append(({kind: moves[kind] for kind in sorted(used)}, caller))
        fixed = dict(fixed)
        for kind in sorted(used - fixed.keys()):
            found = self._survivor({**fixed, kind: True}, refuted)
            if found is not None:
                return found
            fixed[kind] = False
        return None

    def _broken(self, moves: Moves) -> tuple[set[int], Agent] | None:
        """The types at which the moves matter to a caller that has the agent's cooperation, and the caller."""
        friendly = self._friendly(moves)
        for chosen in self.called:
            met = [self._against(moves, self.machines[number]) for number in chosen]
            last = max((len(made) for made, _ in met), default=1) - 1
            symbols = [
                sum(made[min(world, len(made) - 1)] << bit for bit, (made, _) in enumerate(met, start=1))
                for world in range(last + 1)
            ]
            if found := self._caller(moves, symbols, friendly):
                used, decided = found
                calls = tuple(self.calls[number] for number in chosen)
                return used.union(*(seen for _, seen in met)), agent_of(self.lower, decided, calls)
        return None

    def _friendly(self, moves: Moves) -> set[int]:
        """The types of histories after which the agent may still cooperate for good."""
        found = {kind for kind, after in enumerate(self.following) if moves[kind] and kind in after}
        size = -1
        while size < len(found):
            size = len(found)
            found |= {kind for kind, after in enumerate(self.following) if found.intersection(after)}
        return found

    def _against(self, moves: Moves, other: Machine) -> tuple[list[bool], set[int]]:
        """The agent's moves against one that calls nobody, and the types at which it makes them."""
        kind, state, made, seen = 0, 0, [], set()
        while True:
            made.append(moves[kind])
            seen.add(kind)
            after = self.following[kind][int(other.outputs[state])], int(other.moves[state, int(moves[kind])])
            if after == (kind, state):
                return made, seen
            kind, state = after

    def _caller(self, moves: Moves, symbols: list[int], friendly: set[int]) -> tuple[set[int], Moves] | None:
        """A shallower agent with which this one cooperates in the end: the types in their play, and its moves.

        Args:
            symbols: what the caller sees of the agents that it calls, by worlds; the last one stays.
        """
        last = len(symbols) - 1
        todo: list[tuple[int, int, int, Moves, frozenset[int]]] = [(0, 0, 0, {}, frozenset())]
        while todo:
            world, kind, lower, decided, used = todo.pop()
            if kind not in friendly:
                continue
            if lower not in decided:
                todo += [(world, kind, lower, {**decided, lower: move}, used) for move in (False, True)]
                continue
            after = self.following[kind][decided[lower]]
            seen = self.lower.after(lower, symbols[world] + moves[kind])
            used |= {kind}
            if (world, kind, lower) != (last, after, seen):
                todo.append((min(world + 1, last), after, seen, decided, used))
            elif moves[kind]:
                return set(used), decided
        return None
