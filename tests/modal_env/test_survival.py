"""Mixes against further agents: gains by hand, ranges against single epsilons, and what survives in the post's game."""

from fractions import Fraction as F

import pytest

from modal_env.games.game import COSTS, Mix, ProgramGame, dot, meet
from modal_env.games.ranges import Family, Interval, Ranges, ranges
from modal_env.games.survival import survival_range
from modal_env.logic.library import LIBRARY, POST, CooperateBot, DefectBot, FairBot, PrudentBot
from modal_env.logic.notation import Agent, parse

# Does as PrudentBot against the post's agents with five nodes in place of seven: it cooperates with those who treat
# DefectBot as []false does.
SHORT = parse("[](X(DefectBot) <-> []false)", name="ShortBot")
EVERYBODY = [*LIBRARY.values(), SHORT, parse("[](X(DefectBot) -> []false)")]


def good(found: Ranges) -> Family:
    """The family of the good mix."""
    return next(f for f in found.families if f.interval.low == 0 and all(f.rows[0].shares[i] for i in (0, 2, 3)))


def gain(mix: Mix, agents: list[Agent], epsilon: F, cost: str) -> F:
    """How much more the best deviant is paid than a mix that both play, by single plays."""
    game = ProgramGame(agents, epsilon, cost)
    paid = [dot(mix, [meet(one, agent, cost).paid(epsilon) for agent in agents]) for one in EVERYBODY]
    return max(paid) - game.utility(mix, mix)


def test_no_equilibrium_of_the_post_s_game_falls_to_any_of_the_library(ranges_of: dict[str, Ranges]) -> None:
    for family in ranges_of["depth"].families:
        assert survival_range(family, POST, EVERYBODY) == (family.interval,)


def test_with_formula_size_as_cost_the_good_mix_falls_to_a_shorter_prudent_bot(ranges_of: dict[str, Ranges]) -> None:
    """It is paid as PrudentBot, but for two nodes fewer, so it gains 2 eps everywhere but at 0."""
    family = good(ranges_of["size"])
    assert survival_range(family, POST, [SHORT], "size") == (Interval(F(0), F(0)),)
    assert gain(family.rows[0].at(F(1, 20)), [*POST], F(1, 20), "size") == 2 * F(1, 20)


def test_a_range_in_parts() -> None:
    """DefectBot alone against FairBot at another cost: FairBot against itself is paid 2 - eps, DefectBot 1."""
    family = next(f for f in ranges([FairBot]).families)
    assert family.interval == Interval(F(0), None)
    assert survival_range(family, [FairBot], [DefectBot, PrudentBot]) == (Interval(F(0), F(1)),)
    assert survival_range(family, [FairBot], [CooperateBot]) == (Interval(F(0), F(0)),)


def holds(interval: Interval, epsilon: F) -> bool:
    return interval.low <= epsilon and (interval.high is None or epsilon <= interval.high)


@pytest.mark.slow
@pytest.mark.parametrize("cost", COSTS)
def test_ranges_agree_with_single_epsilons(cost: str) -> None:
    agents = [CooperateBot, DefectBot, FairBot]
    for family in ranges(agents, cost).families:
        if not family.is_point or not family.is_symmetric:
            continue
        found = survival_range(family, agents, EVERYBODY, cost)
        for epsilon in (F(i, 20) for i in range(30)):
            if holds(family.interval, epsilon):
                survives = gain(family.rows[0].at(epsilon), agents, epsilon, cost) <= 0
                assert survives == any(holds(part, epsilon) for part in found), epsilon
