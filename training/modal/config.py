"""The options of a training in modal_env: `ModalConfig`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

import modal_env
from modal_env.envs.setting import make_setting
from modal_env.games.game import COSTS
from training.config import MAX, Config, Entropy, Epochs, Games, Iterations, Range, file_name
from training.errors import TrainingError
from welfare_env import checks

SELF = "self"
ACTIONS = ("library", "tokens")
RATES = {"library": 0.05, "tokens": 0.003}  # default of Adam's step size


@dataclass(frozen=True)
class ModalConfig(Config):
    """The options of a training in modal_env: opponent, action mode and hyperparameters.

    Attributes:
        against: a spec ("program:...", "mix:...", "best-reply:..."), or "self".
        actions: "library" or "tokens", see `modal_env.make`; also for `epsilon`, `agents` (names or formulas), `cost`
            and `budget` (tokens of a formula).
        lr: Adam's step size; None: 0.05 for a library, 0.003 for tokens.

    Raises:
        TrainingError: fields that are out of bounds, or unsupported actions.
    """

    against: Annotated[str, typer.Option(metavar="SPEC", help="program:FairBot, mix:PROGRAM=SHARE,..., or self.")] = (
        SELF
    )
    actions: Annotated[
        str, typer.Option(metavar="library|tokens", help="library: choose a program. tokens: write a formula.")
    ] = "library"
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="Price per unit of cost: 1/10 or 0.1.")] = "1/10"
    agents: tuple[str, ...] = tuple(agent.name for agent in modal_env.POST)
    cost: Annotated[str, typer.Option(metavar="|".join(COSTS), help="The cost measure.")] = "depth"
    budget: Annotated[
        Optional[int],  # noqa: UP045 (typer reads it)
        typer.Option(help="Maximum length of a formula, in tokens.", show_default="16"),
        Range(1, MAX),
    ] = None
    lr: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Adam's step size.", show_default="0.05; 0.003 for tokens"),
        Range(1e-9, 1),
    ] = None
    iterations: Iterations = field(default=60, kw_only=True)
    games: Games = field(default=256, kw_only=True)
    epochs: Epochs = field(default=4, kw_only=True)
    entropy: Entropy = field(default=0.01, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.choice("actions", self.actions, ACTIONS, TrainingError)

    def identity(self) -> dict[str, Any]:
        """As `Config.identity`."""
        return {**super().identity(), "lr": self.rate}

    @property
    def rate(self) -> float:
        """Adam's step size."""
        return RATES[self.actions] if self.lr is None else self.lr

    @property
    def folder(self) -> Path:
        """The training's folder: `out`, or one under runs/ named after the opponent and `identity`."""
        digest = hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()[:8]
        return self.out or Path("runs", f"modal-{file_name(self.against)}-{digest}")

    def setting(self) -> modal_env.Setting:
        """The game's setting.

        Raises:
            GameError, FormulaError: as `modal_env.make`.
        """
        return make_setting(
            self.epsilon, actions=self.actions, agents=self.agents, cost=self.cost, budget=self.budget, strict=True
        )
