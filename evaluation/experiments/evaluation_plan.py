"""An evaluation with checked arguments, ready to play."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from evaluation.play.execution import Report
from evaluation.play.game_settings import GameSettings

Result = TypeVar("Result", covariant=True)


@dataclass(frozen=True)
class EvaluationPlan(Generic[Result]):
    """A planned call of `evaluation.self_play` or another evaluation, with its number of games (for progress bars).

    Attributes:
        settings: settings of the games.
        max_games: maximum number of games, including stored games.
        run: plays and measures the games.
    """

    settings: GameSettings
    max_games: int
    run: Callable[[GameSettings], Result]

    def play(self, report: Report) -> Result:
        """Play the games and return the result; `report` is called with the number of games since its last call."""
        return self.run(replace(self.settings, report=report))
