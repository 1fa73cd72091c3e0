"""The 160 cases of the Diplomacy Adjudicator Test Cases, as the `diplomacy` package writes them, on our engine.

The package's own test class runs, with its calls answered by `Table`. The package still reads the orders, since many
cases are about orders that are malformed or not in any legal list; who goes where is decided by our kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import diplomacy
import numpy as np
from diplomacy.tests import test_datc

from welfare_env import Game, Rules
from welfare_env.board.orders import CONVOY, HOLD, MOVE, SUPPORT_HOLD, SUPPORT_MOVE, VIA
from welfare_env.engine import RESULTS, State, kernels
from welfare_env.engine import tables as t
from welfare_env.engine.fast import Scratch, rules_array
from welfare_env.engine.tables import tables_of
from welfare_env.game.position import Position

RULES = Rules("standard", press=None, adjudication="package")
ORDER = re.compile(r"(?P<verb>[HSC-])( ?(?P<other>[AF] \S+))?( ?-? ?(?P<dest>\S+?))?(?P<via> VIA)?( H)?")


def pack(game: Game, unit: str, order: str) -> int:
    """An order that the package let pass as the kernels decode one; it need not be in the vocabulary."""
    board, parts = game.board, ORDER.fullmatch(order)
    assert parts, order
    verb, other, dest = parts["verb"], parts["other"], parts["dest"]
    kind = {"H": HOLD, "C": CONVOY, "-": VIA if parts["via"] else MOVE, "S": SUPPORT_MOVE if dest else SUPPORT_HOLD}
    pieces = [board.piece_index[unit], standing(game, other) if other else 0]
    return kind[verb] | pieces[0] << 4 | pieces[1] << 13 | (board.location_index[dest] if dest else 0) << 22


def standing(game: Game, unit: str) -> int:
    """The piece meant; a fleet may be named without its coast, and a unit that is not there at all."""
    index = game.board.piece_index
    pieces = [index[piece] for units in game.units.values() for piece in units if piece.startswith(unit)]
    return pieces[0] if pieces else next(number for piece, number in index.items() if piece.startswith(unit))


def resolve(game: Game, packed: Iterable[int]) -> tuple[State, np.ndarray]:
    """The outcome of a movement phase, of orders given packed: they are appended to the table that decodes orders."""
    tables, state = tables_of(game.board), game.position.state
    codes = np.array(list(packed), np.int64).astype(np.uint32).view(np.int32)
    numbers = np.concatenate([tables.numbers, codes])
    numbers.setflags(write=False)  # as a board's: or the kernels would be compiled twice
    orders = np.arange(len(codes), dtype=np.int32) + len(tables.numbers) - tables[t.ORDER_PACKED]
    row, at = state.row.copy(), Scratch(tables)
    rules = rules_array(game.board, game.rules)
    kernels.step(numbers, tables.masks, rules, row, at.w, at.b, orders, np.zeros_like(orders), 0, len(orders), at.flags)
    return State(state.layout, row), at.flags[: len(state.units)].copy()


class Table:
    """A game with the attributes that the package's tests look at.

    Attributes:
        reader: the package's game. It reads orders in the present position and never resolves any.
        results: unit -> the words of the last phase, in the package's sequence.
        ordered: units that had an order in it. dislodged: unit -> where its attacker came from.
    """

    def __init__(self) -> None:
        self.reader = diplomacy.Game()
        self.results: dict[str, list[str]] = {}
        self.ordered: set[str] = set()
        self.dislodged: dict[str, str] = {}

    @property
    def phase_type(self) -> str:
        return self.reader.phase_type

    def process(self) -> None:
        state = self.reader.get_state()
        units = {power: [unit for unit in held if unit[0] != "*"] for power, held in state["units"].items()}
        game = Game.from_position(
            state["name"], units, state["centers"], dislodged=state["retreats"], rules=RULES, engine="fast"
        )
        {"M": self._move, "R": self._retreat, "A": self._adjust}[self.phase_type](game)

    def _move(self, game: Game) -> None:
        given = {unit: order for power in self.reader.powers.values() for unit, order in power.orders.items()}
        after, flags = resolve(game, (pack(game, unit, order) for unit, order in given.items()))
        units = [game.board.pieces[piece] for piece in game.position.state.units[:, 1]]
        words = [[word for bit, word in enumerate(RESULTS) if flag >> bit & 1] for flag in flags.tolist()]
        self.results, self.ordered = dict(zip(units, words, strict=True)), set(given)
        # Nobody but the one that got in came from anywhere.
        moves = {unit: order.split()[1][:3] for unit, order in given.items() if order[0] == "-"}
        came = {to: unit[2:5] for unit, to in moves.items() if not self.results[unit]}
        self.dislodged = {unit: came[unit[2:5]] for unit in units if "dislodged" in self.results[unit]}
        self._write(game, after)

    def _retreat(self, game: Game) -> None:
        void, _ = self._submit(game)
        words = game.history[-1].results
        self.results = {unit: ["void"] * (unit in void) + words.get(unit, []) for unit in {*words, *void}}
        self.dislodged = {}
        self._write(game, game.position.state)

    def _adjust(self, game: Game) -> None:
        void, done = self._submit(game)
        self.results = {unit: ["void"] * void.count(unit) + [""] * (unit in done) for unit in {*void, *done}}
        self._write(game, game.position.state)

    def _submit(self, game: Game) -> tuple[list[str], set[str]]:
        """Play a phase by the front door: the units of void orders, and of the others."""
        void: list[str] = []
        done: set[str] = set()
        for name, power in self.reader.powers.items():
            void += [" ".join(order.split()[1:3]) for order in power.adjust if order.startswith("VOID")]
            given = [order for order in power.adjust if not order.startswith(("VOID", "WAIVE"))]
            refused = [refusal.order for refusal in game.submit(name, given, strict=False)]
            void += [" ".join(order.split()[:2]) for order in refused]
            done |= {" ".join(order.split()[:2]) for order in given if order not in refused}
        game.advance()
        self.ordered = {*void, *done}
        return void, done

    def _write(self, game: Game, state: State) -> None:
        """Let the reader have the position after a phase."""
        after = Position(game.position.engine, state)
        units = {
            power: [*held, *(f"*{unit}" for unit in after.dislodged[power])] for power, held in after.units.items()
        }
        retreats = {power: {u: list(places) for u, places in lost.items()} for power, lost in after.dislodged.items()}
        centers = {power: list(owned) for power, owned in after.centers.items()}
        self.reader.clear_orders()
        self.reader.set_state({"name": after.phase, "units": units, "retreats": retreats, "centers": centers})


class TestOurEngine(test_datc.TestDATC):
    """Inherits the cases; only what they call is ours."""

    @staticmethod
    def create_game() -> Table:
        return Table()

    @staticmethod
    def clear_units(game: Table) -> None:
        game.reader.clear_units()

    @staticmethod
    def clear_centers(game: Table) -> None:
        game.reader.clear_centers()

    @staticmethod
    def set_units(game: Table, power_name: str, units: Any) -> None:
        game.reader.set_units(power_name, units)

    @staticmethod
    def set_centers(game: Table, power_name: str, centers: Any) -> None:
        game.reader.set_centers(power_name, centers)

    @staticmethod
    def set_orders(game: Table, power_name: str, orders: Any) -> None:
        game.reader.set_orders(power_name, orders)

    @staticmethod
    def process(game: Table) -> None:
        game.process()

    @staticmethod
    def move_to_phase(game: Table, new_phase: str) -> None:
        game.reader.set_current_phase(new_phase)

    @staticmethod
    def owner_name(game: Table, unit: str) -> str | None:
        for name, power in game.reader.powers.items():
            if any(held == unit or ("/" not in unit and held.startswith(unit)) for held in power.units):
                return str(name)
        return None

    @staticmethod
    def check_results(game: Table, unit: str, value: Any, phase: str = "M") -> bool:
        """The package's conditions, which differ from one type of phase to the next."""
        found = game.results.get(unit, [])
        if phase == "A":
            return "void" in found if str(value) == "void" else found == [str(word) for word in value]
        if str(value) == "void":
            return "void" in found or (phase == "M" and unit not in game.ordered)
        if str(value) == "":
            return unit in game.results and not found
        return str(value) in found and (phase == "M" or "disband" in found)


def test_the_package_has_160_cases() -> None:
    assert sum(name.startswith("test_6_") for name in dir(TestOurEngine)) == 160
