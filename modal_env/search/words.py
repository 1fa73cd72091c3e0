"""Agents given by a word: direct agents of depth n that cooperate with themselves and with no shallower agent.

A *word* is an agent's sequence of moves against itself, world by world, such as CCCDDC; the last move stays. The agent
of a word and a depth follows the word as long as its opponent does, as far as agents of this depth can tell (by the
types of histories, `modal_env.search.best_replies`), and defects otherwise. No agent exploits it. If also no agent
of a smaller depth gets its cooperation, then it is, against itself, a pure equilibrium among direct agents (with X(me)
as the only letter) at all prices up to 1 / depth, and the post's lemma fails for it.

C^n D^(n-1) C is such a word for every depth n from 2 on; docs/modal-search.md has the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from modal_env.checks import brief, whole
from modal_env.errors import GameError
from modal_env.logic.notation import Agent
from modal_env.search.best_replies import Types, agent_of

MAX_DEPTH = 8
MAX_LENGTH = 28
MAX_SEARCHED = 14  # letters of the words that are searched: 2^14 words
MAX_WRITTEN = 3  # depth of an agent whose formula is written


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
