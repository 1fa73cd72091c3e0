"""The 160 cases of the Diplomacy Adjudicator Test Cases through the public `Game`, from orders as strings.

The package's own test class runs; its calls are answered by `Table`, which knows nothing of the package but what the
cases ask. They run twice: with the strings of the cases, and with the same orders in words.
"""

from __future__ import annotations

import re
from typing import Any

from diplomacy.tests import test_datc

from welfare_env import Game, Rules, load_board

RULES = Rules("standard", press=None)
VERBS = {"-": "moves to", "S": "supports", "C": "convoys", "H": "holds", "R": "retreats to", "D": "disbands"}
COASTS = {"NC": "north coast", "SC": "south coast", "EC": "east coast"}


class Table:
    """A game with what the package's cases do to one.

    Attributes:
        results: unit -> the words of the last phase. ordered: units whose order was taken in it.
        refused: orders that were refused in it. dislodged: unit -> where its attacker came from.
    """

    def __init__(self) -> None:
        self.phase = "S1901M"
        start = Game()
        self.units = {power: list(units) for power, units in start.units.items()}
        self.centers = {power: list(centers) for power, centers in start.centers.items()}
        self.retreats: dict[str, dict[str, tuple[str, ...]]] = {}
        self.dislodged: dict[str, str] = {}
        self.orders: dict[str, list[str]] = {}
        self.written: dict[str, str] = {}  # order in words -> the string of the case
        self.results: dict[str, list[str]] = {}
        self.ordered: set[str] = set()
        self.refused: list[str] = []

    @property
    def phase_type(self) -> str:
        return self.phase[-1]

    def process(self) -> None:
        game = Game.from_position(self.phase, self.units, self.centers, self.retreats, rules=RULES)
        self.refused = []
        for power, orders in self.orders.items():
            self.refused += [void.order for void in game.submit(power, orders, strict=False)]
        self.ordered = {" ".join(order.split()[:2]) for power in game.powers for order in game.orders(power)}
        game.advance()
        self.results = game.history[-1].results
        self.dislodged = self._dislodgers(game)
        self.units = {power: list(units) for power, units in game.units.items()}
        self.retreats = game.dislodged if not game.is_done else {}
        self.centers = {power: list(centers) for power, centers in game.centers.items()}
        self.phase = "W1901A" if game.is_done else game.phase
        self.orders = {}

    def _dislodgers(self, game: Game) -> dict[str, str]:
        """Dislodged unit -> the province of the unit that got in."""
        played = game.history[-1].orders
        moves = [order.split() for orders in played.values() for order in orders if order.split()[2] == "-"]
        came = {words[3][:3]: words[1][:3] for words in moves if not self.results[" ".join(words[:2])]}
        return {unit: came[unit[2:5]] for unit, words in self.results.items() if "dislodged" in words}

    def refused_units(self) -> list[str]:
        return [" ".join(self.written.get(order, order).split()[:2]) for order in self.refused]


class TestStrings(test_datc.TestDATC):
    """Inherits the cases; what they call is ours."""

    def create_game(self) -> Table:  # the package's is a static method
        return Table()

    @staticmethod
    def clear_units(game: Table) -> None:
        game.units = {}

    @staticmethod
    def clear_centers(game: Table) -> None:
        game.centers = {}

    @staticmethod
    def set_units(game: Table, power_name: str, units: Any) -> None:
        names = load_board().names  # a case places an army in LIV
        placed = ((unit[:2], unit[2:]) for unit in ([units] if isinstance(units, str) else units))
        game.units[power_name] = [kind + names.get(place, place) for kind, place in placed]

    @staticmethod
    def set_centers(game: Table, power_name: str, centers: Any) -> None:
        game.centers[power_name] = [centers] if isinstance(centers, str) else list(centers)

    @staticmethod
    def set_orders(game: Table, power_name: str, orders: Any) -> None:
        game.orders[power_name] = [orders] if isinstance(orders, str) else list(orders)

    @staticmethod
    def process(game: Table) -> None:
        game.process()

    @staticmethod
    def move_to_phase(game: Table, new_phase: str) -> None:
        game.phase = new_phase

    @staticmethod
    def owner_name(game: Table, unit: str) -> str | None:
        for power, units in game.units.items():
            if any(held == unit or ("/" not in unit and held.startswith(unit)) for held in units):
                return str(power)
        return None

    @staticmethod
    def check_results(game: Table, unit: str, value: Any, phase: str = "M") -> bool:
        """The package's conditions, which differ from one type of phase to the next."""
        found = game.results.get(unit, [])
        if str(value) == "void":
            return "void" in found or unit in game.refused_units() or (phase == "M" and unit not in game.ordered)
        if phase == "A":
            words = ["void" for refused in game.refused_units() if refused == unit]
            done = [""] * (unit in game.ordered)
            return words + done == [str(word) for word in value]
        if str(value) == "":
            return unit in game.results and not found
        return str(value) in found and (phase == "M" or "disband" in found)


def in_words(order: str) -> str:
    """ "A MAR S A PAR - BUR" as "Army Marseilles supports Army Paris moves to Burgundy"."""
    if re.fullmatch(r"\S+ \S+ B", order):
        return f"Build {in_words(order[:-2])}"
    names = load_board().long_names
    words = []
    for word in order.split():
        place, _, coast = word.partition("/")
        if place in names:
            words.append(names[place] + (f" ({COASTS[coast]})" if coast else ""))
        else:
            words.append({"A": "Army", "F": "Fleet", "VIA": "via convoy", **VERBS}.get(word, word))
    return " ".join(words)


class TestInWords(TestStrings):
    """The same cases with every order spelled out."""

    @staticmethod
    def set_orders(game: Table, power_name: str, orders: Any) -> None:
        strings = [orders] if isinstance(orders, str) else orders
        game.orders[power_name] = [in_words(order) for order in strings]
        game.written |= {in_words(order): order for order in strings}


def test_the_package_has_160_cases() -> None:
    assert sum(name.startswith("test_6_") for name in dir(TestStrings)) == 160


def test_orders_in_words() -> None:
    assert in_words("F GAS S F MAO - SPA/NC") == (
        "Fleet Gascony supports Fleet Mid-Atlantic Ocean moves to Spain (north coast)"
    )
