"""Equilibria of random games beside those of Gambit: `python -m research.validation.gambit`, half a minute.

Extreme equilibria of 500 games of 2 to 5 actions a side, a fifth of them symmetric, with whole payoffs from 0 to at
most 1, 2, 3, 20 or 100, so that many are degenerate, against `enummixed` of pygambit in exact numbers.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pygambit  # type: ignore[import-untyped]

from modal_env.games.equilibria import equilibria_of

GAMES, SEED = 500, 2026
Matrix = list[list[Fraction]]
Profiles = set[tuple[tuple[Fraction, ...], ...]]


def by_gambit(row: Matrix, column: Matrix) -> Profiles:
    """All extreme equilibria, given the payoffs of both players at the row's and the column's action."""
    game = pygambit.StrategicGame.from_arrays(np.array(row, dtype=object), np.array(column, dtype=object))
    found = pygambit.nash.enummixed_solve(game, rational=True).equilibria
    return {tuple(tuple(Fraction(str(share)) for _, share in mix[player]) for player in game.players) for mix in found}


def main() -> None:
    """Count the games in which the two differ."""
    rng = np.random.default_rng(SEED)
    differ = degenerate = profiles = 0
    for number in range(GAMES):
        size, top = int(rng.integers(2, 6)), int(rng.choice([1, 2, 3, 20, 100]))
        row, turned = (
            [[Fraction(int(paid)) for paid in line] for line in rng.integers(0, top + 1, (size, size))] for _ in "rc"
        )
        turned = row if number % 5 == 0 else turned
        sets = equilibria_of(("",) * size, row, False, turned=turned)
        ours = {pair for each in sets for pair in product(each.rows, each.columns)}
        differ += ours != by_gambit(row, [list(line) for line in zip(*turned, strict=True)])
        profiles += len(ours)
        degenerate += any(not each.is_point for each in sets) or len(sets) % 2 == 0
    print(f"{GAMES} games, {degenerate} degenerate, {profiles:,} extreme equilibria: {differ} games differ")


if __name__ == "__main__":
    main()
