"""The result of `evaluation.collusion`: gains of coalitions by acting together, and a typical game."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agents.runtime.table_files import Row
from evaluation.coalitions.surplus import Collusion, collusion
from evaluation.experiments.exploitability_result import (
    Attack,
    ExploitabilityResult,
    Games,
    Witness,
    WitnessedResult,
    points,
)
from evaluation.measures.intervals import Coalition, plain
from evaluation.measures.rows import game_rows, same_columns


@dataclass(frozen=True, repr=False)
class CollusionResult(WitnessedResult):
    """Coalitions that act together, compared with their members alone; selected on separate games.

    Attributes:
        found: games and gains over self-play of the measured coalitions: the chosen coalition, its close contenders,
            and the best of each size and kind. In `found.screened`, a gain is the mean surplus of a member, the smaller
            of its two kinds (`Collusion.surplus`, `beyond_best`).
        alone: (deviator, (power,)) -> games with the same seeds in which only this power deviates, for every deviator
            and member.
        coordinated: deviators whose coalitions are played by one policy object.
    """

    found: ExploitabilityResult
    alone: dict[Attack, Games]
    coordinated: tuple[str, ...]

    @cached_property
    def coalitions(self) -> tuple[Collusion, ...]:
        """Gains of each measured coalition, and costs to the others."""
        return tuple(self._measured(each.deviator, each.coalition) for each in self.found.gains)

    @cached_property
    def best(self) -> Collusion:
        """The chosen coalition (by its surplus in the selection games)."""
        return next(each for each in self.coalitions if (each.deviator, each.coalition) == self.found.chosen)

    @property
    def best_alone(self) -> dict[str, str]:
        """Power -> the deviator with which it gains most alone; "" if no deviator gains."""
        return {power: name for each in self.coalitions for power, name in each.best_alone.items()}

    @property
    def verdict(self) -> str:
        """The verdict on the chosen coalition; see `evaluation.coalitions.surplus.Collusion.verdict`."""
        return self.best.verdict

    def by_kind(self) -> dict[tuple[int, bool], Collusion]:
        """(Size, whether coordinated) -> the best coalition in the selection games."""
        tried = {(each.deviator, each.coalition): each.gain for each in self.found.screened}
        best: dict[tuple[int, bool], Collusion] = {}
        for each in sorted(self.coalitions, key=lambda one: -tried.get((one.deviator, one.coalition), 0.0)):
            best.setdefault((len(each.coalition), each.coordinated), each)
        return best

    @property
    def witness(self) -> Witness:
        """A typical game of the chosen coalition: the gain of its worst-off member is nearest to the mean."""
        return self.found.witness

    def rows(self, by_year: bool = False) -> list[Row]:
        """One row per game and power, or per game, power and year: self-play, coalitions, then members alone.

        See `evaluation.columns` for the columns.
        """
        rows = self.found.rows(by_year)
        for (deviator, _), games in self.alone.items():
            rows += game_rows(games, self.found.profile, deviator, self.found.seed, by_year=by_year)
        return same_columns(rows)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        shared = self.found.to_dict()
        copied = ("profile", "seed", "games", "notes", "map", "rules", "witness")
        usage = {name: each for name, each in shared.items() if name.startswith("language_models")}
        return {name: shared[name] for name in copied} | {
            "verdict": self.verdict,
            "best": self.best.to_dict(),
            "coalitions": plain(self.coalitions),
            "best_alone": dict(self.best_alone),
            "screened": [
                {
                    "deviator": each.deviator,
                    "coalition": list(each.coalition),
                    "surplus": each.gain,
                    "games": each.games,
                }
                for each in self.found.screened
            ],
            **usage,
        }

    def _measured(self, deviator: str, coalition: Coalition) -> Collusion:
        found = self.found
        together = points(found.attacks[deviator][coalition])
        alone: dict[str, dict[str, list[float]]] = {}
        for (name, (power,)), games in self.alone.items():
            if power in coalition:
                alone.setdefault(name, {})[power] = points(games)[power]
        is_coordinated = deviator in self.coordinated
        return collusion(coalition, deviator, is_coordinated, points(found.baseline), together, alone, found.seed)
