"""Every engine against the `diplomacy` package driven directly, after every phase of random games."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.playing import ordered, package_game
from tests.welfare_env.positions import draw_orders, play_on, scatter
from welfare_env import Game, Rules, load_board, map_names
from welfare_env.engine.engines import ENGINES, make_engine

RULES = Rules(variant="standard", years=6, press=None, adjudication="package")
QUICK, LARGE = {"standard", "ancmed"}, {"world", "known_world_901"}
OTHER_MAPS = sorted({*map_names()} - QUICK - LARGE)


def assert_same_position(ours: Game, theirs: Any) -> None:
    state, phase = theirs.get_state(), ours.phase
    assert theirs.get_current_phase() == phase
    for power in ours.powers:
        units = [*ours.units[power], *(f"*{unit}" for unit in ours.dislodged[power])]
        assert units == state["units"][power], f"{phase}: units of {power}"
        assert sorted(ours.centers[power]) == sorted(state["centers"][power]), f"{phase}: centers of {power}"
        expected = {unit: sorted(places) for unit, places in state["retreats"][power].items()}
        found = {unit: sorted(places) for unit, places in ours.dislodged[power].items()}
        assert found == expected, f"{phase}: retreats of {power}"


def assert_same_legal_orders(games: list[Game], theirs: Any) -> None:
    listed = theirs.get_all_possible_orders()
    for power, places in theirs.get_orderable_locations().items():
        expected = sorted({order for place in places for order in listed[place]} - {"WAIVE"})
        for game in games:
            found = [order for orders in game.legal_orders(power).values() for order in orders]
            assert sorted(found) == expected, f"{game.phase}: legal orders of {power}"


def assert_same_results(ours: Game, results: dict[str, list[Any]]) -> None:
    """What became of the orders of the phase just played; in Winter of the units removed."""
    record = ours.history[-1]
    if record.phase.endswith("A"):
        return
    for unit, words in record.results.items():
        theirs = {str(word) for word in results.get(unit, [])} - {""}
        assert sorted(words) == sorted(theirs), f"{record.phase}: {unit} in {record.orders}"


Start = tuple[dict, dict] | None  # units and centers; None is the opening


def begin(map_name: str, rules: Rules, start: Start) -> tuple[list[Game], Any]:
    """The same game with every engine, and in the package."""
    theirs = package_game(map_name)
    if start is None:
        return [Game(map_name, rules, engine) for engine in ENGINES], theirs
    units, centers = start
    name = theirs.get_current_phase()
    theirs.clear_units()
    theirs.clear_centers()
    for power in theirs.powers:
        theirs.set_units(power, units[power])
        theirs.set_centers(power, centers[power])
    return [
        Game.from_position(name, units, centers, rules=rules, map_name=map_name, engine=engine) for engine in ENGINES
    ], theirs


def play_all(map_name: str, rules: Rules, seed: int, start: Start = None) -> Game:
    """Plays one random game with every engine and in the package, comparing everything after every phase."""
    rng = np.random.default_rng(seed)
    games, theirs = begin(map_name, rules, start)
    while not all(game.is_done for game in games):
        for game in games:
            assert_same_position(game, theirs)
        assert_same_legal_orders(games, theirs)
        orders = {power: draw_orders(games[0], power, rng) for power in games[0].powers}
        for power, given in orders.items():
            theirs.set_orders(power, given)
        results = theirs.process().results
        for game in games:
            assert_same_results(ordered(game, orders), results)
            if theirs.is_game_done:
                assert game.is_done
                assert [game.winner] == theirs.outcome[1:]
    return games[0]


@pytest.mark.parametrize("map_name", ["standard", "ancmed"])
def test_random_game_is_the_packages(map_name: str) -> None:
    assert len(play_all(map_name, RULES, 0).history) >= 12


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("map_name", ["standard", "ancmed"])
def test_crowded_game_is_the_packages(map_name: str, seed: int) -> None:
    start = scatter(load_board(map_name), np.random.default_rng(seed), 40)
    game = play_all(map_name, replace(RULES, years=3), seed, start)
    assert any(record.phase.endswith("R") for record in game.history)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
@pytest.mark.parametrize("map_name", ["standard", "ancmed"])
def test_long_random_game_is_the_packages(map_name: str, seed: int) -> None:
    start = scatter(load_board(map_name), np.random.default_rng(seed), 50)
    play_all(map_name, replace(RULES, years=25), seed, start)


@pytest.mark.slow
@pytest.mark.parametrize("map_name", OTHER_MAPS)
def test_random_game_on_other_maps_is_the_packages(map_name: str) -> None:
    board = load_board(map_name)
    start = scatter(board, np.random.default_rng(0), len(board.provinces) // 2)
    play_all(map_name, RULES, 0)
    play_all(map_name, RULES, 0, start)


@pytest.mark.parametrize(
    ("map_name", "variant"), [("standard", "welfare"), ("standard", "standard"), ("ancmed", "welfare")]
)
def test_what_an_engine_answers_depends_on_the_state_alone(engine: str, map_name: str, variant: str) -> None:
    """A game's states are played again in any sequence, and survive the way through words."""
    rules, rng, board = Rules(variant=variant, years=3, press=None), np.random.default_rng(3), load_board(map_name)
    begin = Game.from_position(
        f"S{board.first_year:04d}M", *scatter(board, rng, 40), rules=rules, map_name=map_name, engine=engine
    )
    history, index = play_on(begin, rng).history, board.orders.index
    assert any(record.phase.endswith("R") for record in history)
    other = make_engine(engine, board, begin.rules)
    for record in (history[number] for number in rng.permutation(len(history))):
        state, dislodged = record.position.state, record.position.dislodged
        numbers = [np.array([index[text] for text in record.orders[power]], np.int32) for power in board.powers]
        assert other.step(state, numbers)[0].same_as(record.after.state), record.phase
        again = other.legal(state)
        for name in ("orders", "slots", "powers"):
            assert np.array_equal(getattr(again, name), getattr(record.position.legal, name)), record.phase
        lost = {power: units for power, units in dislodged.items() if units}
        read = Game.from_position(
            record.phase, record.units, record.centers, lost, record.welfare, rules, map_name, engine
        ).position.state
        for name in ("units", "dislodged", "retreats", "owners", "welfare"):
            assert np.array_equal(getattr(state, name), getattr(read, name)), f"{record.phase}: {name}"
        assert (state.phase, state.year) == (read.phase, read.year)
