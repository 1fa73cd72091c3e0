"""Comparisons of policies and results: what is paired and refused, paired contrasts, and what the command prints."""

import csv
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evaluation
from evaluation import EvaluationError, SelfPlayResult
from evaluation.experiments.compare import Comparison, contrasts, differences, is_clear, pairs_of
from evaluation.measures.intervals import mean_estimate
from evaluation.tables.comparison_tables import caption, contrast_cells
from research.validation.contrasts import DRAWS, shares
from tests.evaluation.conftest import call
from welfare_env import Rules

RULES = Rules(years=2, press=None)
SMALL: dict[str, Any] = {"rules": RULES, "map_name": "clique:3"}
STANDARD: dict[str, Any] = {"rules": Rules(variant="standard", years=1, press=None), "map_name": "clique:3"}


def played(policy: Any, games: int = 6, seed: int = 0, **options: Any) -> SelfPlayResult:
    return evaluation.self_play(policy, games, seed=seed, **(SMALL | options))


@pytest.fixture(scope="module")
def results() -> list[SelfPlayResult]:
    return [played(policy) for policy in ("hold", "prosocial", "random")]


# What is compared


def test_the_difference_is_second_minus_first(results: list[SelfPlayResult]) -> None:
    found = evaluation.compare(*results)
    assert [(each.first, each.second) for each in found.contrasts] == [("hold", "prosocial"), ("hold", "random")]
    for each, result in zip(found.contrasts, results[1:], strict=True):
        assert each.second_value == result.root_nash_welfare
        assert each.difference.value == pytest.approx(result.root_nash_welfare.value)  # that of hold is 0
        assert each.difference.per_game == result.root_nash_welfare.per_game
    assert (found.seed, found.games, found.baseline, found.measures) == (0, 6, "hold", ("root_nash_welfare",))
    assert found.shared["years"] == 2


def test_policies_are_played_with_the_same_seeds(results: list[SelfPlayResult]) -> None:
    named = evaluation.compare("hold", "prosocial", "random", games=6, **SMALL)
    assert str(named.to_dict()) == str(evaluation.compare(*results).to_dict())


def test_rules_are_compared_by_results() -> None:
    found = evaluation.compare(played("dove"), played("dove", rules=Rules(years=3, press=None)))
    (contrast,) = found.contrasts
    assert (contrast.first, contrast.second) == ("dove, years=2", "dove, years=3")
    assert found.varied == ("years",)
    assert "years" not in found.shared


def test_gains_of_attacks_may_be_negative() -> None:
    attacked = [evaluation.exploitability(each, 5, coalitions=["PLAYERA"], **SMALL) for each in ("dove", "prosocial")]
    (contrast,) = evaluation.compare(*attacked).contrasts
    gains = [np.array(result.value.per_game) for result in attacked]
    assert contrast.measure == "exploitability"
    assert contrast.difference.value == pytest.approx((gains[1] - gains[0]).mean())
    assert (contrast.first_value.value, contrast.second_value.value) == pytest.approx([gain.mean() for gain in gains])
    (price,) = evaluation.compare(*attacked, measure="price").contrasts
    assert price.second_value.per_game == attacked[1].costs.price.per_game


# Measures


def test_a_measure_of_every_power_and_policy(results: list[SelfPlayResult]) -> None:
    powers = evaluation.compare(*results[:2], measure="welfare_per_year")
    assert powers.measures == tuple(f"welfare_per_year:PLAYER{letter}" for letter in "ABC")
    assert {each.difference.value for each in powers.contrasts} == {2}
    first, second = played("2*random + 1*hold"), played("2*random + 1*prosocial")
    (mine,) = evaluation.compare(first, second, measure=["welfare_by_policy:random"]).contrasts
    assert mine.second_value == second.welfare_by_policy["random"]
    (year,) = evaluation.compare(first, second, measure="units_by_year:1901").contrasts
    assert year.first_value == first.units_by_year[1901]
    both = evaluation.compare(first, second, measure=["conflicts", "welfare_by_policy", "conflicts"])
    names = ("conflicts", "welfare_by_policy:random", "welfare_by_policy:own")
    assert both.measures == names  # those that both have, and those in which they differ
    assert both.contrasts[-1].first_value == first.welfare_by_policy["hold"]
    assert both.contrasts[-1].second_value == second.welfare_by_policy["prosocial"]


def test_the_policies_of_one_profile_are_compared_in_the_same_games() -> None:
    result = played("1*random + 1*dove + 1*hold")
    found = evaluation.compare(result)
    assert found.measures == ("welfare_by_policy",)
    assert [(each.first, each.second) for each in found.contrasts] == [("random", "dove"), ("random", "hold")]
    first, second = (result.welfare_by_policy[name].per_game for name in ("random", "dove"))
    assert found.contrasts[0].difference.per_game == tuple(np.array(second) - np.array(first))
    assert evaluation.compare("1*random + 1*dove + 1*hold", games=6, **SMALL).to_dict() == found.to_dict()
    with pytest.raises(EvaluationError, match="choose from welfare_by_policy, scores_by_policy"):
        evaluation.compare("1*random + 2*dove", measure="conflicts", **SMALL)


def test_standard_games_have_scores() -> None:
    first, second = played("hold", **STANDARD), played("random", **STANDARD)
    assert evaluation.compare(first, second).measures == ("best_score",)
    with pytest.raises(EvaluationError, match="standard game has no welfare: compare best_score"):
        evaluation.compare(first, second, measure="root_nash_welfare")
    other = played("random", **STANDARD | {"rules": replace(STANDARD["rules"], scoring="draw-size")})
    with pytest.raises(EvaluationError, match="sum-of-squares and draw-size"):
        evaluation.compare(first, other)
    assert evaluation.compare(first, other, measure="conflicts").varied == ("scoring",)


# What is refused


def test_what_cannot_be_paired_is_named(results: list[SelfPlayResult]) -> None:
    first, second, _ = results
    for compared, options, fault in (
        ((), {}, "nothing to compare"),
        (("hold",), {}, "nothing to compare"),
        ((first, "hold"), {}, "'hold' is not a result"),
        ((first, second), {"games": 5}, "games: only for policies"),
        ((first, second), {"pairs": 1}, "pairs=1: give True or False"),
        ((first, second), {"measure": "welfare_per_year:PLAYER"}, "or 'welfare_per_year:PLAYERA'"),
        ((first, second), {"measure": "units_by_year:1999"}, r"choose from root_nash_welfare.*units_by_year:YEAR"),
        ((first, played("dove", seed=1)), {}, "seed is 0 for 'hold' but 1 for 'dove'"),
        ((first, played("dove", 5)), {}, "games is 6 for 'hold' but 5 for 'dove'"),
    ):
        with pytest.raises(EvaluationError, match=fault):
            evaluation.compare(*compared, **options)


# The command


def test_the_command(tmp_path: Path) -> None:
    options = ("--workers", "1", "--games", "5", "--years", "1", "--map", "clique:3", "--message-rounds", "0")
    options += ("--store", str(tmp_path / "games.sqlite"))
    arguments = ("compare", "hold", "prosocial", "random", *options, "--measure", "conflicts,welfare_per_year:PLAYERA")
    shown = call(*arguments, "--csv", tmp_path / "rows.csv")
    assert "difference from hold" in shown
    assert "PLAYERA: points a year" in shown
    rows = list(csv.DictReader((tmp_path / "rows.csv").open()))
    expected = list(itertools.product(("conflicts", "welfare_per_year:PLAYERA"), ("prosocial", "random")))
    assert [(row["measure"], row["second"]) for row in rows] == expected
    told = json.loads(call(*arguments, "--json"))
    assert [each["difference"]["value"] for each in told["contrasts"]] == [float(row["difference"]) for row in rows]
    assert "second - first" in call("compare", "hold", "prosocial", "random", "--pairs", *options)


@pytest.mark.parametrize(("count", "fewest"), [(1, 6), (4, 8)])
def test_the_caption_says_how_many_equal_differences_get_the_mark(count: int, fewest: int) -> None:
    told = f"all of at least {fewest} games have the same difference, not 0"
    for games in (fewest - 1, fewest):
        samples = [(str(each), {"m": mean_estimate([2.0 * (each > 0)] * games, 0)}) for each in range(count + 1)]
        found = Comparison(contrasts(samples, pairs_of(count + 1, False), 0), 0, games, {})
        assert (told in caption(found)) == (games == fewest)
        first, *others = (row[-1] for row in contrast_cells(found)[1])
        assert {row.endswith(" *") for row in others} == {games == fewest}
        assert not first.endswith(" *")
        assert all(row.startswith("+2.000") for row in others)


# Paired contrasts: signs, intervals that hold simultaneously, and how often equal policies seem to differ

games = st.lists(st.tuples(*[st.floats(-10, 10, width=16)] * 3), min_size=5, max_size=12)


def conditions(*columns: object) -> list:
    return [(f"policy {n}", {"m": mean_estimate(np.array(column, float), 0)}) for n, column in enumerate(columns)]


@settings(max_examples=30)
@given(games)
def test_the_difference_turns_with_the_order(rows: list[tuple[float, ...]]) -> None:
    first, second, third = np.array(rows).T
    there = differences({1: first, 2: first}, {1: second, 2: third}, 0, 2)
    back = differences({1: second, 2: third}, {1: first, 2: first}, 0, 2)
    for key, each in there.items():
        turned = [-back[key].value, -back[key].high, -back[key].low]
        assert [each.value, each.low, each.high] == pytest.approx(turned, nan_ok=True)
        assert each.value == pytest.approx(np.mean(second - first if key == 1 else third - first), abs=1e-9)


@settings(max_examples=30)
@given(games)
def test_several_intervals_are_wider_than_one(rows: list[tuple[float, ...]]) -> None:
    first, second, third = np.array(rows).T
    (alone,) = differences({0: first}, {0: second}, 0, 1).values()
    both = differences({0: first, 1: first}, {0: second, 1: third}, 0, 2)[0]
    assert str(alone) == str(mean_estimate(second - first, 0))
    assert not alone.has_interval or (both.low <= alone.low <= alone.value <= alone.high <= both.high)


def test_equal_conditions_have_no_difference() -> None:
    values = np.random.default_rng(0).normal(size=20)
    (contrast,) = contrasts(conditions(values, values * (1 + 1e-15)), [(0, 1)], 0)
    assert set(contrast.difference.per_game) == {0}
    assert not contrast.is_clear


@pytest.mark.parametrize("draw", DRAWS, ids=str)
def test_equal_policies_rarely_seem_to_differ(draw: str) -> None:
    repetitions = 60
    together, alone = shares(DRAWS[draw], 10, False, repetitions)
    assert together <= 0.05 + 2 * (0.05 * 0.95 / repetitions) ** 0.5
    assert together <= alone
    assert alone > 0.1 or "10%" in draw  # what the intervals guard against


@pytest.mark.parametrize(
    ("values", "comparisons", "clear"),
    [
        ([1.0] * 5, 1, False), ([1.0] * 6, 1, True), ([-1.0] * 6, 1, True), ([1.0] * 6, 2, False),
        ([0.0] * 20, 1, False), ([1.0, 2, 3], 1, False), ([-1.0, -1.1, -1.2, -1.0, -1.3], 1, True),
        ([-1.0, 1, 0, 0, 1], 1, False),
    ],
)  # fmt: skip
def test_what_is_clear(values: list[float], comparisons: int, clear: bool) -> None:
    assert is_clear(mean_estimate(values, 0), comparisons) == clear


def test_which_pairs() -> None:
    assert pairs_of(4, False) == [(0, 1), (0, 2), (0, 3)]
    assert pairs_of(3, True) == [(0, 1), (0, 2), (1, 2)]
