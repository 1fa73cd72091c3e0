"""The 78 strict ordinal games: two players, two moves each, every player ranks the four outcomes 1 to 4 without ties.

Games that differ only in the names of the moves or of the players count as one. Their numbers are those of Rapoport and
Guyer, A taxonomy of 2 x 2 games (General Systems 11, 1966), with the payoffs as listed by Albrecht, Christianos and
Schäfer, Multi-Agent Reinforcement Learning (2024), chapter 11. `place` computes their place in the periodic table of
Robinson and Goforth, The Topology of the 2 x 2 Games (2005).
"""

from __future__ import annotations

from itertools import product

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

COMMON_NAMES = {12: "prisoner's dilemma", 66: "chicken", 61: "stag hunt", 68: "leader", 69: "hero", 9: "deadlock"}
"""Names in common use. Leader and hero are both called battle of the sexes."""


def rows_of(cells: str) -> Cells:
    """The payoffs as numbers."""
    return tuple((int(cells[i]), int(cells[i + 1])) for i in range(0, len(cells), 2))


def variants(cells: Cells) -> set[Cells]:
    """A game with rows, columns or players exchanged in all ways: up to eight games."""
    found = set()
    for rows, columns, players in product((False, True), repeat=3):
        grid = [[cells[2 * (i ^ rows) + (j ^ columns)] for j in (0, 1)] for i in (0, 1)]
        if players:
            grid = [[grid[j][i][::-1] for j in (0, 1)] for i in (0, 1)]
        found.add(tuple(cell for row in grid for cell in row))
    return found


def number_of(cells: Cells) -> int:
    """Rapoport and Guyer's number of a strict ordinal game."""
    alike = variants(cells)
    return next(number for number, listed in RAPOPORT_GUYER.items() if rows_of(listed) in alike)


# A player's ranks at the upper left, upper right, lower left and lower right, seen as the row player, numbered from 1:
# each follows from the one before by exchanging 1 and 2, then 2 and 3, then 1 and 2 ... The first begins at the
# prisoner's dilemma and goes to chicken, the second at no conflict and goes to the stag hunt.
_LOWER = ("1324", "2314", "3214", "3124", "2134", "1234")
_UPPER = ("2413", "1423", "1432", "2431", "3421", "3412")


def place(cells: Cells) -> str:
    """Robinson and Goforth's place of a game: layer, and the places of both players' ranks, as "111" or "322".

    In their orientation the row player's 4 is in the right column and the column player's in the upper row. The layer
    says where these lie: 1 diagonally opposite, 3 in the same cell, 2 and 4 in the same row and column. Within a layer,
    each player's other ranks follow a cycle of exchanges of 1 with 2 and of 2 with 3. The prisoner's dilemma is 111,
    chicken 122, the stag hunt 322. A game and its mirror image count as one of the 78, but mostly have two places;
    this gives the smaller.
    """
    found = []
    for one in variants(cells):
        mine = [cell[0] for cell in one]
        theirs = [one[i][1] for i in (3, 1, 2, 0)]  # mirrored at the diagonal through the upper right
        if 4 in (mine[1], mine[3]) and 4 in (theirs[1], theirs[3]):
            layer = {(3, 3): 1, (1, 3): 2, (1, 1): 3, (3, 1): 4}[mine.index(4), theirs.index(4)]
            found.append(f"{layer}{_rank(mine)}{_rank(theirs)}")
    return min(found)


def _rank(ranks: list[int]) -> int:
    """The place of a player's ranks in its cycle."""
    return 1 + (_UPPER if ranks[1] == 4 else _LOWER).index("".join(map(str, ranks)))
