"""All equilibria at one epsilon, against pygambit, against a search by bases, and against what the post derives."""

from fractions import Fraction as F
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from modal_env.games.equilibria import Equilibrium, equilibria, equilibria_of, exploitability, spanned
from modal_env.games.game import ProgramGame
from modal_env.games.vertices import bicliques, classes, cliques, vertices
from modal_env.logic.library import LIBRARY, POST, CooperateBot, DefectBot, FairBot, RandomBot
from tests.modal_env.gambit import Matrix, Mix, by_gambit, extremes


@st.composite
def matrices(draw: st.DrawFn, largest: int = 4) -> Matrix:
    """Payoffs of symmetric games. With few different numbers most are degenerate."""
    size, top = draw(st.integers(1, largest)), draw(st.sampled_from([1, 2, 3, 20]))
    values = st.builds(F, st.integers(-top, top), st.sampled_from([1, 1, 3]))
    row = st.lists(values, min_size=size, max_size=size)
    return draw(st.lists(row, min_size=size, max_size=size))


@settings(max_examples=25)
@given(matrices(largest=5))
def test_vertices_that_are_equilibria_with_themselves_are_found_without_the_others(utilities: Matrix) -> None:
    everything = vertices(utilities)
    expected = [vertex for vertex in everything if vertex.labels.played & ~vertex.labels.replies == 0]
    assert vertices(utilities, symmetric_only=True) == expected


@pytest.mark.slow
@settings(max_examples=60)
@given(matrices())
def test_random_games_have_the_extreme_equilibria_that_gambit_finds(utilities: Matrix) -> None:
    assert extremes(equilibria_of(("",) * len(utilities), utilities, False)) == by_gambit(utilities)


@pytest.mark.parametrize("epsilon", ["0", "3/10"])
def test_a_larger_library_has_the_extreme_equilibria_that_gambit_finds(epsilon: str) -> None:
    agents = [*POST, LIBRARY["JustBot"], LIBRARY["NiceBot"], RandomBot]
    utilities = [list(row) for row in ProgramGame(agents, epsilon).utilities]
    assert extremes(equilibria(agents, epsilon)) == by_gambit(utilities)


def test_without_a_cost_all_mixes_of_fair_and_prudent_bots_are_equilibria() -> None:
    defect, good = equilibria(POST, 0)
    assert good.rows == good.columns == ((0, 0, 1, 0), (0, 0, 0, 1))
    assert (good.payoffs, good.is_point, good.is_pure) == (((2, 2), (2, 2)), False, False)
    assert (defect.row, defect.column, defect.is_pure) == ((0, 1, 0, 0), (0, 1, 0, 0), True)
    assert defect.component != good.component
    assert str(defect) == "both DefectBot; paid 1"


def test_sets_that_meet_are_one_component() -> None:
    """Two agents that are alike, and a third one that does as well against the second: faces that share a vertex."""
    utilities = [[F(v) for v in row] for row in ([1, 1, 0], [1, 1, 1], [0, 1, 1])]
    found = equilibria_of(("a", "b", "c"), utilities, False)
    assert len(found) > 1
    assert {each.component for each in found} == {0}


@settings(max_examples=60)
@given(matrices())
def test_all_that_are_equilibria_with_one_mix_are_in_a_set_with_it(utilities: Matrix) -> None:
    """A mixture of best replies is one."""
    found = equilibria_of(("",) * len(utilities), utilities, False)
    for column in {column for each in found for column in each.columns}:
        rows = {row for each in found if column in each.columns for row in each.rows}
        assert any(column in each.columns and rows <= {*each.rows} for each in found)


def test_payoffs_of_a_set_are_from_the_least_to_the_most_of_each_player() -> None:
    """A hawk against any mixture of two doves, of which one yields less."""
    utilities = [[F(v) for v in row] for row in ([0, 3, 2], [1, 0, 0], [1, 0, 0])]
    found = {each.rows: each.payoffs for each in equilibria_of(("hawk", "dove", "wary"), utilities, False)}
    assert found[((1, 0, 0),)] == ((2, 3), (1, 1))


def is_mixture(mix: Mix, corners: tuple[Mix, ...]) -> bool:
    matrix = np.array([*np.array(corners, dtype=float).T, np.ones(len(corners))])
    return linprog(np.zeros(len(corners)), A_eq=matrix, b_eq=[*map(float, mix), 1.0]).status == 0


@pytest.mark.slow
@settings(max_examples=25)
@given(matrices(largest=3))
def test_a_symmetric_profile_is_an_equilibrium_where_the_sets_say_so(utilities: Matrix) -> None:
    size = len(utilities)
    everything, symmetric = (equilibria_of(("",) * size, utilities, only) for only in (False, True))
    for weights in product(range(4), repeat=size):
        if sum(weights) == 3:
            mix = tuple(F(weight, 3) for weight in weights)
            paid = [sum(a * x for a, x in zip(row, mix, strict=True)) for row in utilities]
            is_equilibrium = all(share == 0 or points == max(paid) for share, points in zip(mix, paid, strict=True))
            assert any(is_mixture(mix, each.rows) for each in symmetric) == is_equilibrium
            both = (is_mixture(mix, each.rows) and is_mixture(mix, each.columns) for each in everything)
            assert any(both) == is_equilibrium


def test_exploitability() -> None:
    game = ProgramGame(POST, "1/10")
    assert exploitability(game, FairBot) == F(1, 10)  # CooperateBot does as well, for nothing
    assert exploitability(game, {"CooperateBot": 1}) == 1
    assert exploitability(game, [F(1, 10), 0, F(17, 20), F(1, 20)]) == 0
    assert exploitability(game, CooperateBot, DefectBot) == 1
    assert exploitability(game, DefectBot, CooperateBot) == 1


# Games are made smaller, which changes no equilibrium.


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


def solved(rows: Matrix) -> list[F] | None:
    """Linear equations by Gauss and Jordan; None of a singular matrix."""
    rows = [list(map(F, row)) for row in rows]
    for i in range(len(rows)):
        pivot = next((place for place in range(i, len(rows)) if rows[place][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for place in set(range(len(rows))) - {i}:
            rows[place] = [a - rows[place][i] * b for a, b in zip(rows[place], rows[i], strict=True)]
    return [row[-1] for row in rows]


def vertices_by_bases(utilities: Matrix) -> set[Mix]:
    """The vertices by every choice of agents played and of as many best replies."""
    size, found = len(utilities), set()
    for number in range(1, size + 1):
        for played, replies in product(combinations(range(size), number), repeat=2):
            equal = [[*(utilities[i][j] for j in played), F(-1), F(0)] for i in replies]
            solution = solved([*equal, [*[F(1)] * number, F(0), F(1)]])
            if solution is None or min(solution[:-1]) < 0:
                continue
            shares = dict(zip(played, solution, strict=False))
            mix = tuple(shares.get(j, F(0)) for j in range(size))
            if max(sum(a * x for a, x in zip(row, mix, strict=True)) for row in utilities) <= solution[-1]:
                found.add(mix)
    return found


@pytest.mark.slow
@settings(max_examples=60)
@given(matrices())
def test_vertices_are_those_that_a_search_by_bases_finds(utilities: Matrix) -> None:
    found = vertices(utilities)
    assert [vertex.mix for vertex in found] == sorted(vertices_by_bases(utilities), reverse=True)
    for vertex in found:
        paid = [sum(a * x for a, x in zip(row, vertex.mix, strict=True)) for row in utilities]
        assert vertex.value == max(paid)
        assert [bool(vertex.labels.replies >> i & 1) for i in range(len(paid))] == [x == max(paid) for x in paid]
        assert [bool(vertex.labels.played >> i & 1) for i in range(len(paid))] == [x > 0 for x in vertex.mix]


def test_agents_that_are_alike_are_one_class_and_dominated_ones_are_in_none() -> None:
    """Which saves the time of all that is done with vertices."""
    game = ProgramGame([*POST, LIBRARY["JustBot"], LIBRARY["CIMCIC"], RandomBot], 0)
    found, _ = classes(game.affine, game.affine)
    assert found == [(0,), (1,), (2, 4, 5), (3,)]
