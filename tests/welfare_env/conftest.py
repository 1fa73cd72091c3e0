"""Helpers of the environment's tests, as fixtures: test modules cannot import each other."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from welfare_env import Game, Rules, load_board
from welfare_env.engine import ENGINES

Drawer = Callable[[Game, str, np.random.Generator], list[str]]
Player = Callable[[Game, int], Game]
OneLine = Callable[[dict[str, Iterable[str]]], str]


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest) -> str:
    """Every engine there is: what is asserted here holds for all of them."""
    return str(request.param)


def _winter_slots(game: Game, power: str, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """The lists of orders of a random Winter: builds or disbands, not both, and not too many."""
    legal = game.legal_orders(power)
    builds, must = (int(limit[game.board.power_index[power]]) for limit in game.position.adjustments)
    disbanding = [orders for orders in legal.values() if orders[0].endswith(" D")]
    building = [orders for orders in legal.values() if orders[0].endswith(" B")]
    slots, most = building, builds
    if not building or rng.random() < 0.5:
        slots, most = disbanding, len(disbanding) if game.rules.is_welfare else must
    chosen = rng.permutation(len(slots))[: rng.integers(0, most + 1)]
    return [slots[index] for index in chosen]


@pytest.fixture(scope="session")
def draw_orders() -> Drawer:
    """``draw_orders(game, power, rng)``: random legal orders; now and then a unit gets none."""

    def draw(game: Game, power: str, rng: np.random.Generator) -> list[str]:
        if game.phase.endswith("A"):
            slots = _winter_slots(game, power, rng)
        else:
            slots = [orders for orders in game.legal_orders(power).values() if rng.random() < 0.95]
        return [slot[rng.integers(len(slot))] for slot in slots]

    return draw


@pytest.fixture(scope="session")
def play_on(draw_orders: Drawer) -> Callable[..., Game]:
    """``play_on(game, rng, phases=None)``: random legal play, to the end or for so many phases."""

    def play(game: Game, rng: np.random.Generator, phases: int | None = None) -> Game:
        while not game.is_done and phases != 0:
            for power in game.powers:
                game.submit(power, draw_orders(game, power, rng))
            game.advance()
            phases = None if phases is None else phases - 1
        return game

    return play


@pytest.fixture(scope="session")
def one_line() -> OneLine:
    """``one_line(units)``: lists by power as one short line, so that a difference reads well."""

    def line(by_power: dict[str, Iterable[str]]) -> str:
        return "; ".join(f"{power} {', '.join(values)}" for power, values in sorted(by_power.items()) if values)

    return line


@pytest.fixture
def winter(engine: str) -> Callable[..., Game]:
    """``winter(units, centers, rules=None, welfare=None)``: a Winter of 1901."""

    def make(units: dict, centers: dict, rules: Rules | None = None, **more: Any) -> Game:
        return Game.from_position("W1901A", units, centers, rules=rules, engine=engine, **more)

    return make


@pytest.fixture
def dislodging(engine: str) -> Callable[..., Game]:
    """``dislodging(phase="S1901M", rules=None)``: France has just thrown Germany out of Burgundy."""

    def make(phase: str = "S1901M", rules: Rules | None = None) -> Game:
        units = {"FRANCE": ["A PAR", "A MAR"], "GERMANY": ["A BUR"]}
        centers = {"FRANCE": ["PAR", "MAR", "BRE"], "GERMANY": ["MUN", "BER"]}
        game = Game.from_position(phase, units, centers, rules=rules, engine=engine)
        game.submit("FRANCE", ["A PAR - BUR", "A MAR S A PAR - BUR"])
        game.advance()
        return game

    return make


@pytest.fixture
def taking_spain(engine: str) -> Callable[..., Game]:
    """``taking_spain(number, rules)``: France has just taken its `number`-th centre in Fall 1905."""

    def make(number: int, rules: Rules) -> Game:
        others = [center for center in load_board().centers if center != "SPA"]
        centers = {"FRANCE": others[: number - 1], "TURKEY": others[number - 1 :]}
        game = Game.from_position("F1905M", {"FRANCE": ["A MAR"]}, centers, rules=rules, engine=engine)
        game.submit("FRANCE", ["A MAR - SPA"])
        game.advance()
        assert len(game.centers["FRANCE"]) == number
        return game

    return make
