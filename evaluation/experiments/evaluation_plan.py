"""An evaluation whose arguments are read and checked, before its first game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from evaluation.play.execution import Report
from evaluation.play.game_settings import GameSettings

Result = TypeVar("Result", covariant=True)


@dataclass(frozen=True)
class EvaluationPlan(Generic[Result]):
    """What `evaluation.self_play` and the like will do; commands plan several and know the total of all.

    Attributes:
        settings: of the games.
        most_games: how many games there are at most, including stored ones.
        run: plays and measures them.
    """

    settings: GameSettings
    most_games: int
    run: Callable[[GameSettings], Result]

    def play(self, report: Report) -> Result:
        """The result; `report` is called with the number of games finished since its last call."""
        return self.run(self.settings.executed(replace(self.settings.execution, report=report)))
