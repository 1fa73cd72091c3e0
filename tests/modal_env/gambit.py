"""All extreme equilibria of a game, as Gambit finds them with exact arithmetic."""

from fractions import Fraction as F
from itertools import product

import numpy as np
import pygambit

from modal_env.games.equilibria import Equilibrium

Mix = tuple[F, ...]
Matrix = list[list[F]]


def by_gambit(row: Matrix, column: Matrix | None = None) -> set[tuple[Mix, Mix]]:
    """All extreme equilibria; `column` has the row player's agent first, and is left out in a symmetric game."""
    mine = np.array(row, dtype=object)
    game = pygambit.StrategicGame.from_arrays(mine, mine.T if column is None else np.array(column, dtype=object))
    found = pygambit.nash.enummixed_solve(game, rational=True).equilibria
    return {tuple(tuple(F(str(share)) for _, share in mix[player]) for player in game.players) for mix in found}


def extremes(found: list[Equilibrium]) -> set[tuple[Mix, Mix]]:
    """The pairs of extreme mixes of all sets."""
    return {pair for each in found for pair in product(each.rows, each.columns)}
