"""Results of exact computations: best responses and exploitability."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from agents.runtime.results import Result, tables_of
from agents.runtime.table_files import Row
from evaluation.checks import EvaluationError
from welfare_env import Rules

OrdersByPhase = tuple[tuple[str, tuple[str, ...]], ...]
"""Pairs of a phase's short name and orders."""
Plan = tuple[tuple[np.ndarray, tuple[int, ...], float], ...]


class ExactResult(Result):
    """A result with a row per deviating coalition."""


@tables_of.register
def exact_table(result: ExactResult) -> list[Table]:
    """One row per coalition."""
    title = "Welfare points of the whole game; those of a coalition are added up"
    table = Table("map", "years", "coalition", title=Text(title, "table.title"), title_justify="left")
    for name in ("with the profile", "best response", "gain", "gain a year", "positions"):
        table.add_column(name, justify="right")
    for row in result.rows():
        values = (f"{row[name]:.6g}" for name in ("profile_value", "value", "gain"))
        names = (str(row[name]) for name in ("map", "years", "coalition"))
        table.add_row(*map(Text, (*names, *values, f"{row['gain_per_year']:.2f}", f"{row['positions']:,}")))
    return [table]


@dataclass(frozen=True, repr=False)
class BestResponse(ExactResult):
    """The best response of a power or a coalition to a profile, in points of the whole game.

    Attributes:
        map_name, rules: the game.
        coalition: the powers that deviate; their points are added up.
        value: their highest expected points.
        profile_value: their expected points with their own policies of the profile; None if it has none for them.
        positions: number of positions searched; what is known about the other players counts as part of a position.
        orders: an optimal line of play: (short phase name, the coalition's orders) for every phase. None if the others
            draw their policies.
        plan: the best response at every position that it can reach: position int32 [state size] in canonical form, the
            coalition's order numbers, and its expected points from there on.
    """

    map_name: str
    rules: Rules
    coalition: tuple[str, ...]
    value: float
    profile_value: float | None
    positions: int
    orders: OrdersByPhase | None
    plan: Plan = field(default=(), repr=False, compare=False)

    @property
    def gain(self) -> float:
        """`value` minus `profile_value`; NaN if the profile has no policy for the coalition."""
        return math.nan if self.profile_value is None else self.value - self.profile_value

    @property
    def gain_per_year(self) -> float:
        """The gain in points a year."""
        return self.gain / self.rules.years

    def facts(self) -> dict[str, Any]:
        """For JSON: the coalition, its points, and its line of play."""
        names = ("coalition", "profile_value", "value", "gain", "gain_per_year", "positions")
        return {name: getattr(self, name) for name in names} | {"line": self.orders}

    def row(self, profile: str = "") -> Row:
        """A row of the table "exact" of docs/results.md."""
        return {
            "map": self.map_name,
            "years": self.rules.years,
            "profile": profile,
            "coalition": "+".join(self.coalition),
            "profile_value": math.nan if self.profile_value is None else self.profile_value,
            "value": self.value,
            "gain": self.gain,
            "gain_per_year": self.gain_per_year,
            "positions": self.positions,
        }

    def rows(self) -> list[Row]:
        """One row."""
        return [self.row()]


@dataclass(frozen=True, repr=False)
class Exploitability(ExactResult):
    """Exact exploitability of a profile.

    Attributes:
        map_name, rules: the game.
        responses: power -> its best response.
        points: power -> its expected points of the whole game if all play the profile.
    """

    map_name: str
    rules: Rules
    responses: dict[str, BestResponse]
    points: dict[str, float]

    @property
    def gap(self) -> float:
        """The largest gain in `responses`, in points a year. If all powers are in it, 0 means a Nash equilibrium.

        Raises:
            EvaluationError: no power deviated.
        """
        if not self.responses:
            raise EvaluationError("gap: no power deviated (powers is empty): name one, or leave powers for all")
        return max(response.gain_per_year for response in self.responses.values())

    @property
    def welfare(self) -> float:
        """Mean points per power and year."""
        return sum(self.points.values()) / len(self.points) / self.rules.years

    def rows(self) -> list[Row]:
        """One row per power that deviates."""
        return [response.row() for response in self.responses.values()]
