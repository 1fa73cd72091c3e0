"""Random and hold, what the base class adds, and Winter lists as the program of the paper executes them."""

import numpy as np
import pytest

import evaluation
import welfare_env
from agents.scripted.random import executed
from tests.playing import seated


def view_of(power="FRANCE", **position):
    return welfare_env.Game.from_position(**position).view(power)


def draws(spec, view, times):
    """What the policy orders under so many seeds."""
    for seed in range(times):
        yield seated(spec, view.power, seed).orders(view)


def test_powers_draw_apart_under_one_seed():
    assert seated("random", "FRANCE").rng.random() != seated("random", "TURKEY").rng.random()


def test_random_moves_are_uniform():
    view = view_of(phase="S1901M", units={"FRANCE": ["A PAR"]}, centers={"FRANCE": ["PAR"]})
    orders = [order for (order,) in draws("random", view, 1000)]
    legal = view.legal_orders["A PAR"]
    assert set(orders) == set(legal) == {"A PAR H", "A PAR - BRE", "A PAR - BUR", "A PAR - GAS", "A PAR - PIC"}
    assert min(orders.count(order) for order in legal) > 150  # of 200 expected


def test_random_retreats_include_disbanding():
    view = view_of(
        phase="S1902R",
        units={"GERMANY": ["A PAR"]},
        centers={"FRANCE": ["PAR"]},
        dislodged={"FRANCE": {"A PAR": ["BRE", "GAS"]}},
    )
    assert {order for (order,) in draws("random", view, 50)} == {"A PAR R BRE", "A PAR R GAS", "A PAR D"}


@pytest.mark.parametrize("rules", [welfare_env.Rules(), welfare_env.Rules.published()], ids=["paper", "published"])
def test_random_does_not_build_beside_a_disband_that_comes_first(rules):
    """The authors' program voids the build in Paris after the disband in Burgundy."""
    view = view_of(phase="W1901A", units={"FRANCE": ["A BUR"]}, centers={"FRANCE": ["PAR", "SPA"]}, rules=rules)
    drawn = [tuple(orders) for orders in draws("random", view, 400)]
    shares = {orders: drawn.count(orders) / 400 for orders in set(drawn)}
    assert shares == {
        ("A BUR D",): pytest.approx(1 / 2, abs=0.1),
        ("A PAR B",): pytest.approx(1 / 4, abs=0.1),
        (): pytest.approx(1 / 4, abs=0.1),
    }


def test_random_may_build_and_disband_under_the_published_rules():
    """The build in Paris follows one that is void."""
    centers = {"FRANCE": ["PAR", "MAR", "BRE", "SPA", "POR"]}
    units = {"FRANCE": ["A BUR", "A GAS"]}
    for rules, is_mixed in ((welfare_env.Rules(), False), (welfare_env.Rules.published(), True)):
        view = view_of(phase="W1901A", units=units, centers=centers, rules=rules)
        kinds = [{order[-1] for order in orders} for orders in draws("random", view, 100)]
        assert ({"B", "D"} in kinds) == is_mixed


AUTHORS_RANDOM = {
    "root_nash_welfare": (1.715, 0.05),  # 69 runs
    "proficiency": (0.954, 0.006),  # 69 runs
    "conflicts": (1.12, 0.16),  # 5 runs
    "stolen_centers": (0.66, 0.2),  # 5 runs
}
"""Measure -> mean of the authors' published runs, and twice its standard error."""


@pytest.mark.slow
def test_random_has_its_published_measures_under_the_published_rules():
    rules = welfare_env.Rules.published(press=None)
    result = evaluation.self_play("random", games=200, rules=rules, paper_code=True)
    found = {measure: getattr(result, measure).value for measure in AUTHORS_RANDOM}
    assert found == {measure: pytest.approx(value, abs=width) for measure, (value, width) in AUTHORS_RANDOM.items()}


def test_random_disbands_half_in_a_welfare_winter():
    units = ["A BUR", "A GAS", "A MAR", "F BRE"]
    view = view_of(phase="W1901A", units={"FRANCE": units}, centers={"FRANCE": ["PAR", "MAR", "BRE", "SPA", "POR"]})
    gone = [[order for order in orders if order.endswith(" D")] for orders in draws("random", view, 400)]
    assert np.mean([len(orders) for orders in gone]) == pytest.approx(2, abs=0.2)
    for unit in units:
        assert np.mean([f"{unit} D" in orders for orders in gone]) == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize(("spec", "variant"), [("random", "welfare"), ("random", "standard"), ("hold", "welfare")])
def test_disbands_what_it_must(spec, variant):
    view = view_of(
        phase="W1901A",
        units={"FRANCE": ["A BUR", "A GAS", "A MAR"]},
        centers={"FRANCE": ["PAR"]},
        rules=welfare_env.Rules(variant=variant),
    )
    sizes = {len(orders) for orders in draws(spec, view, 30)}
    assert sizes == ({2, 3} if spec == "random" and variant == "welfare" else {2})


def test_hold_keeps_what_it_has(seat):
    game = seat("hold", years=3).finish().game
    assert game.units == game.board.start_units
    assert game.welfare == dict.fromkeys(game.powers, 0)


def test_hold_retreats_to_different_places():
    view = view_of(
        phase="S1902R",
        units={"GERMANY": ["A PAR", "A BUR"]},
        centers={"FRANCE": ["PAR"]},
        dislodged={"FRANCE": {"A PAR": ["GAS", "PIC"], "A BUR": ["GAS", "RUH"]}},
    )
    assert set(next(draws("hold", view, 1))) in ({"A BUR R GAS", "A PAR R PIC"}, {"A PAR R GAS", "A BUR R RUH"})


BURGUNDY, GASCONY = "A BUR D", "A GAS D"
BREST, MARSEILLES, PARIS = "F BRE B", "A MAR B", "A PAR B"

CASES = {
    "no room": ([BURGUNDY, "WAIVE", GASCONY], 0, 0, [BURGUNDY, GASCONY]),
    "too many units": (["WAIVE", GASCONY], -1, 0, [GASCONY]),
    "builds only": ([BREST, "WAIVE", "WAIVE", MARSEILLES, PARIS], 3, 3, [BREST, MARSEILLES, PARIS]),
    "nothing": (["WAIVE", "WAIVE", "WAIVE"], 1, 1, []),
    "after a disband the build is void": ([BURGUNDY, MARSEILLES], 1, 1, [BURGUNDY]),
    "and the order after it is passed over": ([BURGUNDY, MARSEILLES, PARIS], 1, 2, [BURGUNDY, PARIS]),
    "a disband makes room": (
        [BREST, BURGUNDY, GASCONY, MARSEILLES, PARIS],
        1,
        3,
        [BREST, GASCONY, MARSEILLES, BURGUNDY],
    ),
    "builds beyond the room cost units": ([BREST, MARSEILLES, "WAIVE", PARIS], 1, 3, [BREST, GASCONY, BURGUNDY]),
    "a waive is void where the list is short": ([BURGUNDY, "WAIVE", PARIS], 3, 3, [BURGUNDY, PARIS]),
    "spare waives are dropped": ([BURGUNDY, "WAIVE", PARIS], 1, 1, [BURGUNDY]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_executed(name: str) -> None:
    orders, room, homes, expected = CASES[name]
    assert executed(orders, room, homes, farthest=["A GAS", "A BUR"]) == expected
