"""The options of a population: `PopulationConfig`. Importing this loads neither torch nor Ray."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from agents.specs import listed, read
from training.board.config import TrainConfig
from training.config import MAX, Config, Games, Range, file_name, folder_name
from training.errors import TrainingError
from welfare_env import checks
from welfare_env.board.loading import load_board

SOLVERS = ("nash", "pure", "uniform")
ORACLES = ("train", "exact")


@dataclass(frozen=True, kw_only=True)
class PopulationConfig(Config):
    """A population in Welfare Diplomacy without press: policy-space response oracles (Lanctot et al. 2017).

    Attributes:
        iterations, games, epochs, entropy, clip, lr, width, layers: for each best response, as in `TrainConfig`.
        steps: number of best responses; a larger number extends a finished population.
        map_name, years: of the games.
        begin: the initial policies. On a toy board `evaluation.exact.exploitability` must support them for exact gaps;
            a mix that it does not support, such as one with a punisher with memory, is a step without an exact gap.
        solver: the mix that the next best response is trained against: "nash", a symmetric equilibrium of the empirical
            game; "pure", the policy with the smallest gain of deviating when all play it; or "uniform", equal shares
            (fictitious play).
        oracle: "train" learns a best response from scratch; "exact", on toy boards, first imitates the exact best
            response in every seat (if it takes at most `max_positions`), and then trains.
        max_positions: limit of the exact search; if it is exceeded, the exact exploitability is unknown.
        portfolio_games: if the exact exploitability is unknown, the package's deviators attack the mix, with this many
            games per deviator and seat.

    Raises:
        TrainingError: fields that are out of bounds.
    """

    free: ClassVar[frozenset[str]] = frozenset({"steps", "save_every", "portfolio_games", "out"})

    steps: Annotated[int, typer.Option(help="Best responses; a larger number extends a population."), Range(0, 50)] = 8
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or a toy board (clique:4).")] = "clique:4"
    years: Annotated[int, typer.Option(help="Length of a game."), Range(1, 100)] = 5
    begin: Annotated[str, typer.Option(metavar="SPEC+SPEC", help="The initial policies, joined by +.")] = "hold"
    solver: Annotated[str, typer.Option(metavar="nash|pure|uniform", help="Mix to train the next one against.")] = (
        "nash"
    )
    oracle: Annotated[
        str, typer.Option(metavar="train|exact", help="exact: first imitate the exact best response (toy boards).")
    ] = "train"
    iterations: Annotated[int, typer.Option(help="Training iterations per best response."), Range(1, MAX)] = 100
    games: Games = 64
    lr: Annotated[float, typer.Option(help="Adam's initial step size."), Range(1e-9, 1)] = 2e-3
    width: Annotated[int, typer.Option(help="Size of a province's vector in the network."), Range(1, 1024)] = 32
    layers: Annotated[int, typer.Option(help="Rounds of message passing."), Range(1, 16)] = 2
    max_positions: Annotated[
        int, typer.Option(help="Maximum number of positions of an exact best response."), Range(1, MAX)
    ] = field(default=100_000)
    portfolio_games: Annotated[
        int, typer.Option(help="Games per deviator and seat, without exact values."), Range(2, MAX)
    ] = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.choice("solver", self.solver, SOLVERS, TrainingError)
        checks.choice("oracle", self.oracle, ORACLES, TrainingError)
        if not self.first or len(set(self.first)) < len(self.first):
            raise TrainingError(f"begin={self.begin!r:.80}: give distinct policies, joined by +")
        if any(read(text).parts for text in self.first):
            raise TrainingError(f"begin={self.begin!r:.80}: give policies that are not mixes")

    @cached_property
    def first(self) -> tuple[str, ...]:
        """The initial policies."""
        return tuple(listed(self.begin, "+"))

    @property
    def folder(self) -> Path:
        """The population's folder: `out`, or one under runs/ named after the map."""
        return self.out or Path("runs", folder_name(["psro", file_name(self.map_name)]))

    @property
    def is_toy(self) -> bool:
        """Whether exact values are possible, because no army can be convoyed."""
        return not load_board(self.map_name).convoys

    def response_folder(self, step: int) -> Path:
        """The training folder of best response `step`, from 1."""
        return self.folder / f"response-{step}"

    def response(self, step: int, against: str, start: Path | None) -> TrainConfig:
        """The training config of a best response.

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
            out=self.response_folder(step),
        )
