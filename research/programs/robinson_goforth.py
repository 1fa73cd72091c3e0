"""The places of the 78 strict ordinal games in the periodic table of Robinson and Goforth.

The Topology of the 2 x 2 Games (2005).
"""

from __future__ import annotations

from itertools import product

from modal_env.games.ordinal_games import Cells

COMMON_NAMES = {12: "prisoner's dilemma", 66: "chicken", 61: "stag hunt", 68: "leader", 69: "hero", 9: "deadlock"}
"""Names in common use. Leader and hero are both called battle of the sexes."""


def variants(cells: Cells) -> set[Cells]:
    """A game with rows, columns or players exchanged in all ways: up to eight games."""
    found = set()
    for rows, columns, players in product((False, True), repeat=3):
        grid = [[cells[2 * (i ^ rows) + (j ^ columns)] for j in (0, 1)] for i in (0, 1)]
        if players:
            grid = [[grid[j][i][::-1] for j in (0, 1)] for i in (0, 1)]
        found.add(tuple(cell for row in grid for cell in row))
    return found


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
