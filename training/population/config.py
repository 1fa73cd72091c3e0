"""The options of a population: `PopulationConfig`. Importing this loads neither torch nor Ray."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from agents.specs import listed, read
from training.board.config import TrainConfig
from training.config import MAX, Config, Games, Range, file_name, folder_name
from training.errors import TrainingError


@dataclass(frozen=True, kw_only=True)
class PopulationConfig(Config):
    """Policy-space response oracles (Lanctot et al. 2017) in Welfare Diplomacy without press.

    Each policy is a best response, trained from scratch, to a symmetric equilibrium of the empirical game of the
    earlier ones.

    Attributes:
        iterations, games, epochs, lr: for each best response, as in `TrainConfig`.
        steps: number of best responses; a larger number extends a finished population.
        map_name, years: of the games.
        begin: the initial policies, joined by "+".
        max_positions: limit of the exact search on toy boards.
        portfolio_games: where the exact exploitability is unknown, `evaluation.exploitability` attacks the mix with the
            package's portfolio, with this many games.

    Raises:
        TrainingError: fields that are out of bounds.
    """

    free: ClassVar[frozenset[str]] = frozenset({"steps", "save_every", "portfolio_games", "out"})

    steps: Annotated[int, typer.Option(help="Best responses; a larger number extends a population."), Range(0, 50)] = 8
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or a toy board (clique:4).")] = "clique:4"
    years: Annotated[int, typer.Option(help="Length of a game."), Range(1, 100)] = 5
    begin: Annotated[str, typer.Option(metavar="SPEC+SPEC", help="The initial policies, joined by +.")] = "hold"
    iterations: Annotated[int, typer.Option(help="Training iterations per best response."), Range(1, MAX)] = 100
    games: Games = 64
    lr: Annotated[float, typer.Option(help="Adam's initial step size."), Range(1e-9, 1)] = 2e-3
    max_positions: Annotated[
        int, typer.Option(help="Maximum number of positions of an exact best response."), Range(1, MAX)
    ] = 100_000
    portfolio_games: Annotated[int, typer.Option(help="Games per attack, without exact values."), Range(2, MAX)] = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.first or len(set(self.first)) < len(self.first) or any(read(text).parts for text in self.first):
            raise TrainingError(f"begin={self.begin!r:.80}: give distinct policies that are not mixes, joined by +")

    @cached_property
    def first(self) -> tuple[str, ...]:
        """The initial policies."""
        return tuple(listed(self.begin, "+"))

    @property
    def folder(self) -> Path:
        """The population's folder: `out`, or one under runs/ named after the map."""
        return self.out or Path("runs", folder_name(["psro", file_name(self.map_name)]))

    def policies(self, step: int) -> tuple[str, ...]:
        """The initial policies and `step` best responses: each the best iterate by held-out reports."""
        responses = [f"rl:({self.folder / f'response-{number}' / 'best'}),greedy=yes" for number in range(1, step + 1)]
        return (*self.first, *responses)

    def response(self, step: int, against: str) -> TrainConfig:
        """The training of best response `step`, from 1, to a mix."""
        return TrainConfig(
            against=(against,), map_name=self.map_name, years=self.years, iterations=self.iterations,
            horizon=self.iterations, games=self.games, epochs=self.epochs, entropy=self.entropy, clip=self.clip,
            lr=self.lr, sees="position", seed=(self.seed * 1000 + step) % 2**32, save_every=self.save_every,
            held_out_every=min(10, self.iterations), out=self.folder / f"response-{step}",
        )  # fmt: skip
