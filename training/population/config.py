"""How to train a population: `PopulationConfig`. Importing this loads neither torch nor Ray."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from agents.specs import read
from agents.specs.text_span import Part
from training.board.config import TrainConfig
from training.config import MOST, Config, Games, Range, file_name, folder_name
from training.errors import TrainingError
from welfare_env import checks
from welfare_env.board.loading import load_board

SOLVERS = ("nash", "pure", "uniform")
ORACLES = ("train", "exact")


@dataclass(frozen=True, kw_only=True)
class PopulationConfig(Config):
    """A population in Welfare Diplomacy without press: policy-space response oracles (Lanctot et al. 2017).

    Attributes:
        iterations, games, epochs, entropy, clip, lr, width, layers: of each best response, as in `TrainConfig`.
        steps: best responses to learn, one after the other; a finished population can be extended by giving more.
        map_name, years: the games.
        begin: the first policies. On a toy board they must be such that `evaluation.exact.exploitability` takes them; a
            mix that it does not take, as one with a punisher who remembers, is a step without an exact gap.
        solver: what the next best response is trained against: "nash", a symmetric equilibrium of the empirical game;
            "pure", the one policy that the population gains least by leaving, if all play it; or "uniform", all alike
            (fictitious play).
        oracle: where a best response comes from: "train" learns it from nothing; "exact", on toy boards, first imitates
            the exact best response in every seat (where it takes no more than `most_positions`), and then trains.
        most_positions: of an exact best response; where it takes more, the exact exploitability is not known.
        portfolio_games: where it is not known, the deviators that come with the package attack the mix, in so many
            games each in each seat.

    Raises:
        TrainingError: fields that are out of bounds.
    """

    free: ClassVar[frozenset[str]] = frozenset({"steps", "save_every", "portfolio_games", "folder"})

    steps: Annotated[int, typer.Option(help="Best responses; a larger number extends a population."), Range(0, 50)] = 8
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or a toy board (clique:4).")] = "clique:4"
    years: Annotated[int, typer.Option(help="Length of a game."), Range(1, 100)] = 5
    begin: Annotated[str, typer.Option(metavar="SPEC+SPEC", help="The first policies, joined by +.")] = "hold"
    solver: Annotated[str, typer.Option(metavar="nash|pure|uniform", help="What the next one is trained against.")] = (
        "nash"
    )
    oracle: Annotated[
        str, typer.Option(metavar="train|exact", help="exact: begin by imitating the exact best response (toy boards).")
    ] = "train"
    iterations: Annotated[int, typer.Option(help="Training iterations per best response."), Range(1, MOST)] = 100
    games: Games = 64
    lr: Annotated[float, typer.Option(help="Adam's step size at the beginning."), Range(1e-9, 1)] = 2e-3
    width: Annotated[int, typer.Option(help="Length of a province's vector in the network."), Range(1, 1024)] = 32
    layers: Annotated[int, typer.Option(help="Rounds of message passing."), Range(1, 16)] = 2
    most_positions: Annotated[
        int, typer.Option(help="Positions of an exact best response, at most."), Range(1, MOST)
    ] = field(default=100_000)
    portfolio_games: Annotated[
        int, typer.Option(help="Games of each deviator in each seat, where there are no exact values."), Range(2, MOST)
    ] = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.choice("solver", self.solver, SOLVERS, TrainingError)
        checks.choice("oracle", self.oracle, ORACLES, TrainingError)
        if not all(self.first) or len(set(self.first)) < len(self.first):
            raise TrainingError(f"begin={self.begin!r:.80}: give different policies, joined by +")
        if any(read(text).parts for text in self.first):
            raise TrainingError(f"begin={self.begin!r:.80}: give policies without mixes")

    @cached_property
    def first(self) -> tuple[str, ...]:
        """The first policies."""
        return tuple(part.text for part in Part.whole(self.begin).split("+"))

    @property
    def place(self) -> Path:
        """Where the population is kept: `folder`, or one under runs/ that is named after the map."""
        return self.folder or Path("runs", folder_name(["psro", file_name(self.map_name)]))

    @property
    def is_toy(self) -> bool:
        """Whether exact values are possible: no army can be convoyed."""
        return not load_board(self.map_name).convoys

    def response_folder(self, step: int) -> Path:
        """Where a best response is trained; `step` is its number, from 1."""
        return self.place / f"response-{step}"

    def response(self, step: int, against: str, start: Path | None) -> TrainConfig:
        """The training of a best response.

        Args:
            step: its number, from 1. against: the mix. start: a checkpoint to start from.
        """
        return TrainConfig(
            against=(against,),
            map_name=self.map_name,
            years=self.years,
            iterations=self.iterations,
            horizon=self.iterations,
            games=self.games,
            epochs=self.epochs,
            entropy=self.entropy,
            clip=self.clip,
            lr=self.lr,
            width=self.width,
            layers=self.layers,
            sees="position",
            seed=(self.seed * 1000 + step) % 2**32,
            save_every=self.save_every,
            held_out_every=min(10, self.iterations),
            start=start,
            folder=self.response_folder(step),
        )
