"""Smaller games have the same equilibria."""

from fractions import Fraction as F

import numpy as np
import pytest

from modal_env.games.equilibria import Equilibrium, equilibria_of, spanned
from modal_env.games.game import ProgramGame
from modal_env.games.vertices import bicliques, classes, cliques, spread, vertices
from modal_env.logic.library import LIBRARY, POST, RandomBot


def whole(utilities: list[list[F]], symmetric_only: bool) -> list[Equilibrium]:
    """The equilibria, of the game as it is."""
    found = vertices(utilities)
    labels = [vertex.labels for vertex in found]
    sets = (cliques if symmetric_only else bicliques)(labels, labels)
    alone = [(number,) for number in range(len(utilities))]
    return spanned(names_of(utilities), (found, found), (alone, alone), sets)


def names_of(utilities: list[list[F]]) -> tuple[str, ...]:
    return tuple(map(str, range(len(utilities))))


@pytest.mark.parametrize("symmetric_only", [False, True])
def test_games_with_copies_and_dominated_agents(symmetric_only: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        size = int(rng.integers(1, 5))
        small = [[F(int(value)) for value in row] for row in rng.integers(0, 4, (size, size))]
        places = rng.permutation(np.repeat(np.arange(size), rng.integers(1, 3, size))).tolist()
        copied = [[small[i][j] for j in places] for i in places]
        assert equilibria_of(names_of(copied), copied, symmetric_only) == whole(copied, symmetric_only), copied


def test_classes() -> None:
    game = ProgramGame([*POST, LIBRARY["JustBot"], LIBRARY["CIMCIC"], RandomBot], 0)
    found, _ = classes(game.affine, game.affine)
    assert [tuple(game.names[i] for i in members) for members in found] == [
        ("CooperateBot",),
        ("DefectBot",),
        ("FairBot", "JustBot", "CIMCIC"),
        ("PrudentBot",),
    ]
    assert list(spread([F(1), F(0)], [(0, 2), (1,)], 3, F(0))) == [(1, 0, 0), (0, 0, 1)]
