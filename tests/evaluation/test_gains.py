"""Gains of coalitions, the choice of an attack, what members gain only together and at whose cost; and intervals."""

import math
import statistics as plain
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import evaluation
from evaluation.measures import intervals
from evaluation.measures.costs import gini, prosocial_level
from evaluation.measures.gains import (
    FINALISTS,
    Selection,
    Surplus,
    beyond_best,
    choose_at_once,
    coalition_gain,
    exploitability_of,
    member_gains,
    rounds,
    surplus_of,
)
from evaluation.measures.intervals import (
    UNBOUNDED,
    Estimate,
    SampleError,
    mean_estimate,
    share_estimate,
)
from tests.evaluation.conftest import call
from welfare_env import Rules, load_board

POWERS = ("ENGLAND", "FRANCE", "TURKEY")


def random_games(seed: int, games: int) -> tuple[dict, dict]:
    """Self-play, and games in which some deviate."""
    rng = np.random.default_rng(seed)
    return tuple({power: rng.normal(mean, 1, games).tolist() for power in POWERS} for mean in (3, 4))


@given(st.integers(0, 1000), st.integers(1, 12), st.sampled_from([POWERS[:1], POWERS[1:], POWERS]))
def test_the_gain_is_the_least_mean_of_a_member(seed: int, games: int, coalition: tuple[str, ...]) -> None:
    baseline, deviating = random_games(seed, games)
    found = coalition_gain(baseline, deviating, coalition, 0, deviator="x")
    means = {power: plain.fmean(deviating[power]) - plain.fmean(baseline[power]) for power in coalition}
    assert {power: member.value for power, member in found.members.items()} == pytest.approx(means)
    assert found.gain.value == pytest.approx(min(means.values()))
    assert found.gain.value == pytest.approx(plain.fmean(found.gain.per_game))
    assert found.total.value == pytest.approx(sum(means.values()))
    assert (found.coalition, found.deviator, found.gain.n) == (coalition, "x", games)


def test_a_single_member_has_its_own_interval() -> None:
    baseline, deviating = random_games(3, 12)
    found = coalition_gain(baseline, deviating, ("FRANCE",), 7)
    alone = mean_estimate(np.subtract(deviating["FRANCE"], baseline["FRANCE"]), 7)
    assert (found.gain.low, found.gain.high) == (alone.low, alone.high)


@pytest.mark.parametrize("means", [(0.0, 0.0), (0.0, 0.5), (0.0, 3.0)])
def test_the_interval_of_the_least_member_covers_it(means: tuple[float, float]) -> None:
    rng, covered = np.random.default_rng(5), 0
    for _ in range(200):
        games = {power: rng.normal(mean, 1, 12) for power, mean in zip("AB", means, strict=True)}
        gain = coalition_gain({"A": np.zeros(12), "B": np.zeros(12)}, games, ("A", "B"), rng).gain
        covered += gain.low <= min(means) <= gain.high
    assert covered >= 182


def test_a_far_better_member_does_not_raise_the_bounds() -> None:
    rng = np.random.default_rng(0)
    games = {"A": rng.normal(0, 1, 20), "B": rng.normal(50, 1, 20)}
    zero = {"A": np.zeros(20), "B": np.zeros(20)}
    pair, alone = (coalition_gain(zero, games, who, 0).gain for who in (("A", "B"), ("A",)))
    assert pair.low == alone.low
    assert alone.high <= pair.high < alone.high + 0.5


def test_who_loses_may_keep_to_the_profile() -> None:
    assert exploitability_of(Estimate(-1.4, -2.0, -0.5, 6, (-1.0, -2.0))) == Estimate(0, 0, 0, 6, (-1.0, -2.0))
    assert exploitability_of(Estimate(0.4, -0.1, 0.9, 6, ())) == Estimate(0.4, 0, 0.9, 6, ())
    few = exploitability_of(Estimate(0.4, math.nan, math.nan, 2, ()))
    assert (few.value, few.has_interval) == (0.4, False)
    # An exploitability of 0 shows no range of losses.
    assert str(exploitability_of(Estimate(-1.0, math.nan, math.nan, 3, (-2.0, -0.5, -0.5)))) == "0.000 (n=3)"


def test_wrong_samples_are_refused() -> None:
    for baseline, deviating, coalition, words in [
        ({"A": [1.0, 2.0], "B": [1.0]}, {"A": [1.0], "B": [1.0]}, ("A", "B"), "one number per game"),
        ({"A": ["x"]}, {"A": [1.0]}, ("A",), "one number per game"),
        ({"A": [1.0]}, {"A": [math.nan]}, ("A",), "finite"),
        ({"A": [1.0, 2.0]}, {"A": [1.0]}, ("A",), "1 games, but 2 of self-play"),
    ]:
        with pytest.raises(SampleError, match=words):
            member_gains(baseline, deviating, coalition)


def test_a_least_member_whose_games_are_alike_has_the_bounds_of_the_others() -> None:
    games = {"A": np.ones(20), "B": 1.05 + np.random.default_rng(0).normal(0, 2, 20)}
    games["B"] += 1.05 - games["B"].mean()
    gain = coalition_gain({"A": np.zeros(20), "B": np.zeros(20)}, games, ("A", "B"), 0).gain
    assert gain.value == 1
    assert gain.low < 0.5 < gain.high == 1
    assert "alike" not in str(gain)


# Successive halving: a choice on some games says nothing false about others


class Noisy:
    """Candidates with normal gains, and what was asked of them."""

    def __init__(self, means: Sequence[float], seed: int = 0, spread: float = 1.0) -> None:
        self.means, self.spread, self.rng = means, spread, np.random.default_rng(seed)
        self.asked: list[tuple[list[int], range]] = []

    def __call__(self, candidates: Sequence[int], numbers: range) -> list[np.ndarray]:
        self.asked.append((list(candidates), numbers))
        return [self.means[each] + self.spread * self.rng.normal(size=(len(numbers), 1)) for each in candidates]


def test_the_best_is_found_among_many() -> None:
    play = Noisy([0.0] * 150 + [3.0] + [0.0] * 149)
    found = choose_at_once(300, play, 3)
    assert found.best == 150
    assert found.contenders == (150,)
    assert [len(candidates) for candidates, _ in play.asked] == [300, 75, 19, 5, 4]


def test_games_are_numbered_through_and_double() -> None:
    play = Noisy(np.linspace(0, 9, 40).tolist())
    found = choose_at_once(40, play, 2)
    assert [(len(who), numbers) for who, numbers in play.asked] == [
        (40, range(2)),
        (10, range(2, 4)),
        (FINALISTS, range(4, 8)),
    ]
    assert sorted(set(found.games)) == [2, 4, 8]
    assert sum(found.games) == sum(len(who) * len(numbers) for who, numbers in play.asked)
    assert [(number, numbers) for number, numbers in rounds(40, 2)] == [(len(w), n) for w, n in play.asked]


def test_means_are_of_all_games_of_a_candidate() -> None:
    given = {0: [[1.0], [3.0]], 1: [[0.0], [0.5]]}
    found = choose_at_once(2, lambda who, numbers: [np.array(given[each]) for each in who], 2)
    assert found == Selection(0, (0,), (2.0, 0.25), (2, 2))


def test_the_least_member_counts() -> None:
    given = {0: [[9.0, 0.0], [9.0, 0.0]], 1: [[1.0, 1.0], [1.0, 1.0]]}
    found = choose_at_once(2, lambda who, numbers: [np.array(given[each]) for each in who], 2)
    assert (found.best, found.means) == (1, (0.0, 1.0))


def test_who_is_clearly_worse_is_no_contender() -> None:
    found = choose_at_once(3, Noisy([0.0, 0.05, -9.0]), 20)
    assert set(found.contenders) == {0, 1}
    assert found.contenders[0] == found.best


def test_with_one_game_nobody_is_clearly_worse() -> None:
    assert len(choose_at_once(3, Noisy([0.0, 5.0, -9.0]), 1).contenders) == 3


def test_leaders_of_groups() -> None:
    found = Selection(2, (2,), (1.0, 0.5, 3.0, -1.0, -2.0), (2,) * 5)
    assert found.leaders(["a", "a", "b", "c", "c"]) == [0, 2, 3]


def test_equals_are_taken_in_their_order() -> None:
    found = choose_at_once(9, Noisy([0.0] * 9, spread=0), 2)
    assert found.best == 0
    assert found.contenders == (0, 1, 2, 3)


# Surplus: who gains only together, as much alone, or at nobody's expense; and what an attack costs the others

TOY: dict[str, Any] = {"map_name": "clique:3", "rules": Rules(years=3, press=None)}
PAIR = ("PLAYERA", "PLAYERB")


def test_coalitions_whose_members_are_measured_alone_have_the_surplus_of_their_games() -> None:
    """Worked out again from the games of the attacks; of any number of deviators and coalitions."""
    options = {"deviator": ["dumbbot", "prosocial"], "selection_games": 1, **TOY}
    assert evaluation.exploitability("random", 1, coalitions="all-pairs", **options).surpluses == ()
    every = [PAIR, "PLAYERA", "PLAYERB", ("PLAYERA", "PLAYERC"), ("PLAYERA", "PLAYERB", "PLAYERC")]
    result = evaluation.exploitability("random", 3, coalitions=every, **options)
    assert [(each.deviator, each.coalition) for each in result.surpluses] == [("dumbbot", PAIR), ("prosocial", PAIR)]

    def paid(games: Any, power: str) -> float:
        return float(np.mean([game.welfare_per_year[power] for game in games]))

    for found in result.surpluses:
        assert found.to_dict()["verdict"] == found.verdict == "not shown"  # fewer than five games
        together = {power: paid(result.attacks[found.deviator][PAIR], power) for power in (*PAIR, "PLAYERC")}
        usual = {power: paid(result.baseline, power) for power in together}
        alone = {
            name: {power: paid(played[power,], power) for power in PAIR} for name, played in result.attacks.items()
        }
        best = {power: max(usual[power], *(each[power] for each in alone.values())) for power in PAIR}
        for estimate, before in (
            (found.gain, usual),
            (found.surplus, alone[found.deviator]),
            (found.beyond_best, best),
        ):
            assert estimate.value == pytest.approx(np.mean([together[power] - before[power] for power in PAIR]))
        assert found.loss.value == pytest.approx(usual["PLAYERC"] - together["PLAYERC"])


# The measures


def points(*games: Sequence[float]) -> dict[str, list[float]]:
    return dict(zip("ABC", (list(column) for column in zip(*games, strict=True)), strict=True))


def measured(together: Any, alone: Any, best: Any = None, base: Any = None, games: int = 20) -> Surplus:
    base = base or [(1.0, 1.0, 1.0)] * games
    singles = {"robber": points(*alone), "raider": points(*(best or alone))}
    return surplus_of(("A", "B"), "robber", points(*base), points(*together), singles, 0)


def test_differences_are_between_games_of_the_same_seed() -> None:
    noise = np.random.default_rng(0).normal(0, 100, 20)
    base = [(x, x, x) for x in noise]
    found = measured([(x + 2, x + 1, x - 3) for x in noise], [(x + 1, x + 0.5, 0) for x in noise], base=base)
    assert [each.value for each in (found.gain, found.surplus, found.loss)] == pytest.approx([1.5, 0.75, 3])
    assert all(max(each.per_game) - min(each.per_game) < 1e-9 for each in (found.gain, found.surplus, found.loss))


def test_verdicts() -> None:
    for together, alone, best, verdict in [
        ((3, 3, 0), (2, 2, 1), (2, 2, 1), "collusion"),
        ((3, 3, 1), (2, 2, 1), (2, 2, 1), "cooperation"),
        ((3, 3, 2), (2, 2, 1), (2, 2, 1), "cooperation"),
        ((3, 3, 0), (2, 2, 1), (4, 4, 1), "exploitation"),
        ((3, 3, 0), (4, 4, 1), (4, 4, 1), "exploitation"),
        ((0, 0, 0), (2, 2, 1), (2, 2, 1), "no surplus"),
    ]:
        assert measured([together] * 20, [alone] * 20, [best] * 20).verdict == verdict
        assert measured([together] * 4, [alone] * 4, [best] * 4, games=4).verdict == "not shown"


def test_what_may_be_chance_is_not_shown() -> None:
    noise = np.random.default_rng(1).normal(0, 5, 20)
    assert measured([(3 + x, 3, 0) for x in noise], [(2.9, 2.9, 1)] * 20).verdict == "not shown"
    assert measured([(3, 3, 0.9 + x) for x in noise], [(2, 2, 1)] * 20).verdict == "not shown"


def test_beyond_best_is_over_the_best_of_all_policies_alone_for_each_member() -> None:
    together = points((3, 3, 0), *[(3, 5, 0)] * 9)
    alone = {"": points(*[(1, 1, 1)] * 10), "one": points(*[(2, 0, 1)] * 10), "two": points(*[(0, 1.5, 1)] * 10)}
    found, best = beyond_best(("A", "B"), together, alone, 0)
    assert best == {"A": "one", "B": "two"}
    assert found.value == pytest.approx((1 + 3.3) / 2)
    assert found.low == pytest.approx((1 + beyond_best(("B", "B"), together, alone, 0)[0].low) / 2)


def test_beyond_best_is_never_more_than_the_gain() -> None:
    """An attack that loses in these games does not count: a member may keep to the profile."""
    noise = np.random.default_rng(0).normal(0, 1, 20)
    found = measured([(3 + x, 3, 0) for x in noise], [(0.5 - x, 0.5, 1) for x in noise])
    assert found.beyond_best.value == pytest.approx(found.gain.value)
    assert found.best_alone == {"A": "", "B": ""}


def test_who_gains_as_much_by_the_best_of_many_policies_seldom_shows_a_surplus() -> None:
    """Of 100 samples of eight policies, one of which gains as much alone as the members do together."""
    rng = np.random.default_rng(0)
    shown = covered = 0
    for _ in range(100):
        together = {power: rng.normal(1, 1, 20) for power in "AB"}
        means = [1.0, 0.8, 0.8, 0.6, 0.6, 0.4, 0.2, 0.0]
        alone = {str(mean) + str(i): {p: rng.normal(mean, 1, 20) for p in "AB"} for i, mean in enumerate(means)}
        found, _ = beyond_best(("A", "B"), together, alone, 0)
        shown += found.low > 0
        covered += found.low <= 0 <= found.high
    assert shown <= 3  # 2.5%
    assert covered >= 95


def test_the_command_shows_the_table(tmp_path: Any) -> None:
    options = "--games 1 --years 2 --map clique:3 --message-rounds 0 --selection-games 1 --workers 1"
    attack = "exploitability hold --deviator pact:years=1 --coalitions PLAYERA+PLAYERB,PLAYERA,PLAYERB"
    assert "Together and alone" in call(*attack.split(), *options.split(), "--store", tmp_path / "s.db")


# What an attack costs the others

QUICK = Rules(years=4, press=None)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=12))
@example([0.0, 0.0])
def test_gini_is_the_mean_difference_over_twice_the_mean(values: Sequence[float]) -> None:
    if sum(values) <= 1e-9:
        assert sum(values) or math.isnan(gini(values))
        return
    differences = sum(abs(a - b) for a in values for b in values) / len(values) ** 2
    assert gini(values) == pytest.approx(differences / (2 * sum(values) / len(values)), abs=1e-9)


def test_against_the_numbers_of_the_games() -> None:
    result = evaluation.exploitability("dove", 2, coalitions=[["FRANCE", "ENGLAND"]], rules=QUICK)
    found, members = result.costs, result.best
    assert prosocial_level(load_board()) == pytest.approx((5**6 * 4) ** (1 / 7))  # what prosocial attains
    assert set(members) == {"FRANCE", "ENGLAND"}
    for game, (before, after) in enumerate(zip(result.baseline, result.deviating[members], strict=True)):
        own, usual = after.welfare_per_year, before.welfare_per_year
        others = [power for power in own if power not in members]
        assert found.inside.per_game[game] == pytest.approx((own["FRANCE"] + own["ENGLAND"]) / 2)
        assert found.outside.per_game[game] == pytest.approx(sum(own[power] for power in others) / 5)
        assert found.price.per_game[game] == pytest.approx(sum(usual[power] - own[power] for power in others) / 5)
        nash = math.prod(own.values()) ** (1 / len(own))
        assert found.prosocial_share.per_game[game] == pytest.approx(nash / prosocial_level(load_board()))
        assert found.waste.per_game[game] == pytest.approx(sum(usual.values()) - sum(own.values()))
    assert list(found.gain_by_year) == [1901, 1902, 1903, 1904]
    gained = sum(each.value for each in found.gain_by_year.values()) / 4
    gains = result.gains[0].members
    assert gained == pytest.approx(sum(gain.value for gain in gains.values()) / 2)
    others = set(result.baseline[0].units) - set(members)
    for units, powers in ((found.members_units_by_year, members), (found.others_units_by_year, others)):
        for place, year in enumerate((1901, 1902, 1903, 1904)):
            had = [game.power_curves[power].units[place] for game in result.deviating[members] for power in powers]
            assert units[year].value == pytest.approx(sum(had) / len(had))
    assert result.to_dict()["costs"]["price"] == found.price.to_dict()


def test_there_is_no_gini_of_negative_amounts() -> None:
    assert math.isnan(gini([-1.0, 3.0]))


# Intervals: known answers, exact enumeration, independent recomputation and coverage by simulation


class TestEstimate:
    def test_prints_value_and_interval(self) -> None:
        estimate = Estimate(4.8431, 4.61, 5.0006, 5, (4.0, 5.0))
        assert str(estimate) == "4.843 [4.610, 5.001]"
        assert f"{estimate:.1f}" == "4.8 [4.6, 5.0]"
        assert estimate.has_interval


MADE = {
    "normal": (lambda rng, shape: rng.normal(3, 1, shape), 3, UNBOUNDED, 5, 0.93),
    "p = 0.5": (lambda rng, shape: (rng.random(shape) < 0.5) * 1.0, 0.5, UNBOUNDED, 5, 0.93),
    "an eighth of games without welfare": (
        lambda rng, shape: np.where(rng.random(shape) < 0.13, 0, np.minimum(rng.normal(3, 0.5, shape), 34 / 7)),
        0.87 * 3,
        (0, 34 / 7),
        5,
        0.93,
    ),
    "lognormal": (lambda rng, shape: rng.lognormal(0, 1, shape), math.exp(0.5), UNBOUNDED, 10, 0.90),
    "rare": (lambda rng, shape: (rng.random(shape) < 0.1) * 1.0, 0.1, (0, 1), 10, 0.95),
}
"""Games drawn, their mean, the rules' bounds, the fewest games, and the coverage from there on."""


def bounds_of(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


@pytest.mark.filterwarnings("error")
class TestMean:
    @pytest.mark.parametrize("made", MADE)
    def test_covers_the_true_mean(self, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
        draw, mean, within, fewest, share = MADE[made]
        monkeypatch.setattr(intervals, "RESAMPLES", 500)
        for games in (fewest, 20):
            rng = np.random.default_rng(games)
            samples = draw(rng, (2000, games))
            low, high = intervals.mean_bounds(samples, within, 0.95, rng)
            covered = (low <= mean) & (mean <= high) | np.isnan(low)
            assert covered.mean() > share - 0.01

    def test_is_gaffkes_bound_at_the_bounds_of_the_rules(self) -> None:
        games = [0] * 15 + [1] * 5  # of two values: Clopper and Pearson
        low, high = bounds_of(mean_estimate(games, 0, within=(0, 1)))
        assert low == pytest.approx(stats.beta.ppf(0.025, 5, 16), abs=0.005)
        assert high == pytest.approx(stats.beta.ppf(0.975, 6, 15), abs=0.005)
        assert bounds_of(mean_estimate(games, 0, within=(0, math.inf))) == (low, mean_estimate(games, 0).high)
        assert bounds_of(mean_estimate(games, 0, within=(-math.inf, 1))) == (mean_estimate(games, 0).low, high)

    def test_is_students_moved_outward_by_the_skewness(self) -> None:
        games = np.array([1.0, 2, 2, 3, 3, 4, 9])
        student, error, skewness = stats.t.ppf(0.995, 6), stats.sem(games), stats.skew(games, bias=False)
        low, high = bounds_of(mean_estimate(games, 0, confidence=0.99))
        assert low == pytest.approx(games.mean() - student * error)
        outward = skewness * (1 + 2 * student**2) / (3 * math.sqrt(7)) * error
        assert high == pytest.approx(games.mean() + student * error + outward)
        mirrored = mean_estimate(-games, 0, confidence=0.99)
        assert bounds_of(mirrored) == pytest.approx((-high, -low))

    def test_fewer_than_five_games_have_no_interval(self) -> None:
        for games in [[4.0], [4.0, 5.0], [3.0, 3.5, 4.0, 9.0]]:
            estimate = mean_estimate(games, 0, within=(0, 34))
            assert np.isnan(bounds_of(estimate)).all()
            assert estimate.value == np.mean(games)
            shown = f"(range {min(games):.3f} to {max(games):.3f}, n={len(games)})"
            assert str(estimate) == f"{estimate.value:.3f} {shown if len(games) > 1 else '[no interval, n=1]'}"

    def test_games_all_alike_have_only_the_bounds_of_the_rules(self) -> None:
        alike = [(5**6 * 4) ** (1 / 7)] * 20
        estimate = mean_estimate(alike, 0, within=(0, 34 / 7))
        assert str(estimate) == "4.843 [4.016, 4.846]"
        unseen = 1 - 0.025 ** (1 / 20)  # the rule of three: a share of games that 20 may miss
        assert estimate.low == pytest.approx(alike[0] * (1 - unseen), abs=0.02)
        assert estimate.high == pytest.approx(alike[0] + (34 / 7 - alike[0]) * unseen, abs=0.001)
        assert np.isnan(bounds_of(mean_estimate(alike, 0))).all()
        assert np.isnan(bounds_of(mean_estimate([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3], 0))).all()
        assert mean_estimate([0.0] * 5, 0, within=(0, math.inf)).low == 0

    def test_undefined_games_make_it_undefined(self) -> None:
        for of in [math.nan, math.inf]:
            estimate = mean_estimate([1.0, of, 2.0, 3.0, 4.0], 0, within=(0, math.inf))
            assert not math.isfinite(estimate.value)
            assert not estimate.has_interval

    def test_same_seed_same_interval(self) -> None:
        games = [1.1**game for game in range(12)]
        bounded = [mean_estimate(games, rng, within=(0, 34)) for rng in (7, np.random.default_rng(7), 8)]
        assert bounded[0] == bounded[1] != bounded[2]

    def test_wrong_options(self) -> None:
        for options, why in [
            ({"within": (0, 3)}, "a game has the value 4, outside"),
            ({"within": (3, 0)}, "outside"),
            ({"confidence": 95}, "between 0 and 1"),
        ]:
            with pytest.raises(SampleError, match=why):
                mean_estimate([1.0, 4.0], 0, **options)


@pytest.mark.filterwarnings("error")
class TestShare:
    def test_is_of_sums_and_of_the_games_with_a_whole(self) -> None:
        estimate = share_estimate([3, 4, 0, 2, 5, 9], [4, 4, 0, 2, 7, 10], 0)
        assert (estimate.value, estimate.n) == (pytest.approx(23 / 27), 5)
        assert estimate.per_game == pytest.approx((3 / 4, 1, 1, 5 / 7, 9 / 10))
        assert 0 < estimate.low < estimate.value < estimate.high < 1

    def test_of_equal_wholes_is_the_mean_within_0_and_1(self) -> None:
        parts = [0, 1, 1, 0, 1, 1, 1]
        assert bounds_of(share_estimate(np.array(parts) * 3, [3] * 7, 0)) == pytest.approx(
            bounds_of(mean_estimate(parts, 0, within=(0, 1)))
        )

    def test_all_kept_is_no_certainty(self) -> None:
        estimate = share_estimate([3] * 10, [3] * 10, 0)
        assert str(estimate) == "1.000 [0.696, 1.000]"
        assert (estimate.low, estimate.high) == (pytest.approx(0.025**0.1, abs=0.01), 1)

    def test_few_games_or_none(self) -> None:
        assert str(share_estimate([1, 2, 0], [2, 2, 0], 0)) == "0.750 (range 0.500 to 1.000, n=2)"
        assert str(share_estimate([0], [0], 0)) == "nan [no interval, n=0]"

    def test_covers_the_true_share(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(intervals, "RESAMPLES", 500)
        rng = np.random.default_rng(0)
        judged = 1 + rng.poisson(4, (1000, 8)) * 1.0
        kept = rng.binomial(judged.astype(int), rng.beta(4, 1, (1000, 8)))
        low, high = intervals.weighted_bounds(kept, judged, (0, 1), 0.95, rng)
        assert ((low <= 0.8) & (high >= 0.8)).mean() > 0.95
