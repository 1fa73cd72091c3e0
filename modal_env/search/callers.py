"""Direct agents against shallower agents that call others: which of them cooperate with none of these.

A direct agent that is an equilibrium among direct agents (`modal_env.search.words`) may cooperate with a shallower
agent that calls others. What an agent does after histories that do not occur against itself can be chosen freely, to
prevent this. `fates` finds such choices, or shows that there are none: it takes a caller that has the agent's
cooperation, tries the other move at each type of history that this caller makes use of, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from modal_env.checks import whole
from modal_env.logic.finite_machines import Machine, machine
from modal_env.logic.notation import Agent
from modal_env.progress import Report, no_report
from modal_env.search.best_replies import Types, agent_of
from modal_env.search.findings import CALLS

MAX_DEPTH = 4

Moves = dict[int, bool]


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


def fates(depth: int, calls: Sequence[Agent] = CALLS, report: Report = no_report) -> list[Fate]:
    """The direct agents of a depth that cooperate with themselves and that nobody exploits, against shallower callers.

    Args:
        depth: 1 to `MAX_DEPTH`; depth 4 takes half a minute.
        calls: agents that shallower agents may call, which call nobody themselves and are at least as shallow.

        report: see `modal_env.progress`.

    Raises:
        GameError: the depth is out of bounds.
    """
    types = Types(whole("depth", depth, 1, MAX_DEPTH)).completed()
    search = _Search(types, [call for call in calls if call.depth < depth])
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
