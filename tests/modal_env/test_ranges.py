"""Equilibria as functions of epsilon: the post's game in full, and agreement with what is found at single epsilons."""

from fractions import Fraction as F
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.games.equilibria import equilibria, equilibria_of
from modal_env.games.game import COSTS, ProgramGame
from modal_env.games.ranges import Family, Ranges, follow, ranges
from modal_env.games.rational_functions import Root, value_of
from modal_env.logic.library import LIBRARY, POST, RandomBot

# Derived by hand from the payoffs of the post: DefectBot and CooperateBot are paid the same if f = 1/2, DefectBot and
# FairBot if f + p = c + epsilon, CooperateBot and FairBot if d + 2 p = epsilon, FairBot and PrudentBot if c = epsilon.
THE_POST = [
    "both mixtures of (FairBot), (PrudentBot); paid 2; for eps = 0",
    "both CooperateBot eps, FairBot 1 - 3*eps/2, PrudentBot eps/2; paid 2 - eps; for 0 <= eps <= 1/3",
    "both DefectBot; paid 1; for eps >= 0",
    "both DefectBot 1 - eps, FairBot eps; paid 1; for 0 <= eps <= 1/2",
    "both CooperateBot eps, DefectBot 1 - 3*eps, FairBot 1/2, PrudentBot -1/2 + 2*eps; paid 1 + 2*eps; "
    "for 1/4 <= eps <= 1/3",
    "both CooperateBot 1/2 - eps, DefectBot eps, FairBot 1/2; paid 2 - 2*eps; for 1/4 <= eps <= 1/2",
]
SHIFT = F(1, 10**9)


@pytest.mark.parametrize("symmetric_only", [False, True])
def test_all_equilibria_of_the_post_s_game(symmetric_only: bool) -> None:
    found = ranges(POST, symmetric_only=symmetric_only)
    assert str(found).splitlines() == THE_POST
    assert found.breakpoints == (0, F(1, 4), F(1, 3), F(1, 2))
    assert repr(found) == "Ranges(6 families; 4 agents: CooperateBot, DefectBot, FairBot, PrudentBot)"


def families_at(found: Ranges, epsilon: F) -> list[Family]:
    return [
        family
        for family in found.families
        if family.interval.low <= epsilon and (family.interval.high is None or epsilon <= family.interval.high)
    ]


def sets_at(found: Ranges, epsilon: F) -> set:
    """The extreme mixes of the families at an epsilon, of both players."""
    return {
        tuple(frozenset(path.at(epsilon) for path in paths) for paths in (family.rows, family.columns))
        for family in families_at(found, epsilon)
    }


def agrees(found: Ranges, epsilon: F, equal: list) -> bool:
    """Whether the families at an epsilon are the equilibria there; at a breakpoint they may be parts of these."""
    mine, others = sets_at(found, epsilon), {(frozenset(one.rows), frozenset(one.columns)) for one in equal}
    if epsilon not in found.breakpoints:
        return mine == others
    return others <= mine and all(any(a <= c and b <= d for c, d in others) for a, b in mine)


@pytest.mark.parametrize("cost", COSTS)
def test_at_every_epsilon_they_are_and_pay_what_is_found_there(cost: str, ranges_of: dict[str, Ranges]) -> None:
    found = ranges_of[cost]
    near = {
        abs(F(float(point)).limit_denominator(10**12) + shift)
        for point in found.breakpoints
        for shift in (-SHIFT, SHIFT)
    }
    exact = {point for point in found.breakpoints if isinstance(point, F)}
    for epsilon in sorted({*exact, *near, *(F(i, 60) for i in range(0, 45, 2)), F(100)}):
        assert agrees(found, epsilon, equilibria(POST, epsilon, cost)), epsilon
        game = ProgramGame(POST, epsilon, cost)
        for family in families_at(found, epsilon):
            for row, column in product(family.rows, family.columns):
                assert game.utility(row.at(epsilon), column.at(epsilon)) == value_of(column.value, epsilon)


def test_a_bound_that_is_no_fraction(ranges_of: dict[str, Ranges]) -> None:
    """With the cost "worlds" a mix without PrudentBot begins where that is paid as much: 1 - 6 eps + 7 eps^2 = 0."""
    found = ranges_of["worlds"]
    bound = found.breakpoints[1]
    assert isinstance(bound, Root)
    assert float(bound) == pytest.approx((3 - 2**0.5) / 7, rel=1e-15)
    assert {str(family.interval) for family in found.families if family.interval.low == bound} == {
        "3/7 - sqrt(2)/7 = 0.226541 <= eps <= 1/3",
        "3/7 - sqrt(2)/7 = 0.226541 <= eps <= 2/7",
    }


JUST, CIMCIC, THREE = LIBRARY["JustBot"], LIBRARY["CIMCIC"], ["CB", "DB", "FB"]


@pytest.mark.parametrize(
    ("agents", "payoffs"),
    [
        *(([*POST, *copies], "prisoners-dilemma") for copies in ([JUST], [RandomBot], [CIMCIC, JUST])),
        *((THREE, name) for name in ("stag-hunt", "battle-of-the-sexes", "matching-pennies")),
    ],
    ids=str,
)
def test_ranges_of_games_with_copies_and_of_other_games(agents: list, payoffs: str) -> None:
    found = ranges(agents, payoffs=payoffs)
    exact = {point for point in found.breakpoints if isinstance(point, F)}
    for epsilon in sorted({*exact, *map(F, ("0", "1/20", "1/7", "1/4", "3/10", "1/3", "2/5", "1/2", "3/4", "1"))}):
        assert agrees(found, epsilon, equilibria(agents, epsilon, payoffs=payoffs)), epsilon


@st.composite
def affine_games(draw: st.DrawFn) -> tuple[tuple[tuple[F, ...], ...], ...]:
    """Payoffs and costs; the costs depend on the own agent only, or on both."""
    size, top = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 4]))
    values = st.integers(0, top).map(F)
    row = st.lists(values, min_size=size, max_size=size).map(tuple)
    flat = values.map(lambda value: (value,) * size)
    matrix = st.lists(row, min_size=size, max_size=size).map(tuple)
    return draw(matrix), draw(st.one_of(matrix, st.lists(flat, min_size=size, max_size=size).map(tuple)))


@pytest.mark.slow
@settings(max_examples=40)
@given(affine_games(), st.booleans(), st.fractions(0, 3, max_denominator=50))
def test_random_games(game: tuple, symmetric_only: bool, somewhere: F) -> None:
    base, slope = game
    names = ("",) * len(base)
    found = follow(names, base, slope, symmetric_only)
    points = {somewhere}
    for point in found.breakpoints:
        points |= {point} if isinstance(point, F) else set()
        points.add(F(float(point)).limit_denominator(10**12) + SHIFT)
    for epsilon in sorted(points):
        rows = zip(base, slope, strict=True)
        utilities = [[a - epsilon * b for a, b in zip(*row, strict=True)] for row in rows]
        assert agrees(found, epsilon, equilibria_of(names, utilities, symmetric_only)), epsilon
