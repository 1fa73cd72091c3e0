"""A board: a map with its order vocabulary, read once and shared by all games on it."""

from __future__ import annotations

import functools

from welfare_env.board.geography import Geography
from welfare_env.board.orders import OrderTable, build_orders
from welfare_env.checks import quoted
from welfare_env.errors import UnknownPowerError, did_you_mean


class Board(Geography):
    """A map with its names and tables (the attributes of its base class `Geography`), and its orders.

    Boards are made by `load_board`. Data that an engine derives from a board belongs to the engine.
    """

    @functools.cached_property
    def orders(self) -> OrderTable:
        """The board's order vocabulary: every order that can ever be legal on it."""
        return build_orders(self)

    def check_power(self, power: object) -> str:
        """Check a power's name and return it.

        Raises:
            UnknownPowerError: the board has no such power.
        """
        if isinstance(power, str) and power in self.power_index:
            return power
        hint = did_you_mean(power, self.powers)
        raise UnknownPowerError(
            f"unknown power {quoted(power)} on map {self.name!r}{hint}: choose one of {', '.join(self.powers)}"
        )

    def __deepcopy__(self, memo: dict) -> Board:
        return self  # frozen: copies of a game share it

    def __repr__(self) -> str:
        return f"<Board {self.name}: {len(self.powers)} powers, {len(self.provinces)} provinces>"
