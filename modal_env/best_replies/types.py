"""Types of histories: what an agent of some depth can know about what it has read.

A symbol is the values of all letters at a world, as bits. At depth 0 all histories have one type. The type of depth d
of a history is the set of pairs (type of depth d - 1, symbol) of its worlds: boxes of depth d are statements about that
set, and every set is characterized by a formula of depth d. So an agent of depth d is any function from types to moves.
"""

from __future__ import annotations

from collections.abc import Iterator

Word = tuple[int, ...]
"""A history: symbols, world by world."""
Levels = tuple[frozenset[tuple[int, int]], ...]


class Types:
    """Types of histories of a depth, numbered in order of discovery; 0 is the type of the empty history.

    Attributes:
        words: for each type, a history of this type.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.words: list[Word] = [()]
        self._levels: list[Levels] = [(frozenset(),) * depth]
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

    def _grown(self, number: int, symbol: int) -> Levels:
        levels = self._levels[number]
        lower = (0, *(self._sets[level] for level in levels))
        return tuple(level | {(below, symbol)} for level, below in zip(levels, lower, strict=False))

    def _number(self, levels: Levels, word: Word) -> int:
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
