"""The 78 strict ordinal games: two players, two moves each, every player ranks the four outcomes 1 to 4 without ties.

Games that differ only in the names of the moves or of the players count as one. Their numbers are those of Rapoport and
Guyer, A taxonomy of 2 x 2 games (General Systems 11, 1966), with the payoffs as listed by Albrecht, Christianos and
Schäfer, Multi-Agent Reinforcement Learning (2024), chapter 11.
"""

from __future__ import annotations

Cells = tuple[tuple[int, int], ...]
"""[4] the payoffs of the row and the column player at the upper left, upper right, lower left, lower right."""

_LISTED = """
1 44332211  2 44331221  3 44322311  4 44321321  5 44311322  6 44233211  7 33422411  8 33421421  9 33411422
10 23421431 11 23411432 12 22411433 13 34422311 14 34421321 15 34412312 16 34411322 17 24421331 18 24411332
19 34431221 20 34432211 21 24431231 22 44332112 23 44331122 24 44322113 25 44321123 26 44233112 27 44223113
28 44312213 29 44311223 30 44213213 31 34221341 32 34211342 33 34122341 34 34112342 35 24321341 36 24311342
37 34231241 38 34132241 39 24331241 40 34412213 41 34411223 42 33412214 43 33411224 44 24411233 45 32412314
46 32411324 47 23411234 48 22411334 49 34432112 50 34431122 51 34422113 52 34421123 53 33422114 54 33421124
55 24431132 56 24421133 57 23421134 58 44231132 59 44221133 60 44211233 61 44133122 62 44123123 63 44122133
64 34211243 65 24311243 66 33244211 67 23344211 68 22344311 69 22433411 70 34214213 71 33214214 72 32214314
73 24413213 74 24314213 75 23413214 76 23314214 77 22413314 78 22314314
"""

RAPOPORT_GUYER: dict[int, str] = dict(
    sorted((int(number), cells) for number, cells in zip(*[iter(_LISTED.split())] * 2, strict=True))
)
"""Number -> payoffs, two digits (row player, column player) each: upper left, upper right, lower left, lower right."""


def rows_of(cells: str) -> Cells:
    """The payoffs as numbers."""
    return tuple((int(cells[i]), int(cells[i + 1])) for i in range(0, len(cells), 2))
