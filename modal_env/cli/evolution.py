"""The command `evolve`: replicator dynamics, best-reply growth, and basins of attraction."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from modal_env.cli.arguments import read_agents, read_numbers, read_shares, read_whole
from modal_env.cli.shared import (
    Agents,
    Cost,
    Formulas,
    GameName,
    PayoffFile,
    all_errors_printed,
    check_file,
    chosen_game,
    refuse,
    show,
    who,
)
from modal_env.cli.tables import basins_table, growth_table, stays_table
from modal_env.console import watched
from modal_env.dynamics.basins import basins
from modal_env.dynamics.growth import growth
from modal_env.dynamics.replicator import CORNERS, replicator
from modal_env.errors import GameError
from modal_env.games.game import PAYOFFS, ProgramGame
from modal_env.pictures.curves import bands, largest, simplex
from modal_env.progress import parts
from modal_env.text_tables import TextTable

MEMBERS = 10  # default number of each agent at the start of growth


class Dynamics(StrEnum):
    """How a population evolves."""

    replicator = "replicator"
    growth = "growth"
    basins = "basins"


class Chart(StrEnum):
    """What a plot shows."""

    shares = "shares"
    simplex = "simplex"


OPTIONS = {
    Dynamics.replicator: ["time", "plot", "view"],
    Dynamics.growth: ["steps"],
    Dynamics.basins: ["starts", "seed"],
}


def evolve(
    context: typer.Context,
    agents: Agents = None,
    model: Annotated[
        Dynamics,
        typer.Option(
            help="replicator: shares grow with their payoff; growth: a best reply is added at each step; basins: where "
            "random starts of the replicator dynamics end."
        ),
    ] = Dynamics.replicator,
    epsilon: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NUMBER", help="Price of one unit of cost: 1/10 or 0.1; basins takes several.", show_default="1/10"
        ),
    ] = None,
    cost: Cost = "depth",
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    start: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME=NUMBER,...",
            help="Shares, or numbers of members (growth): FB=0.5,CB=1/4,PB=1/4.",
            show_default="equal shares; 10 each",
        ),
    ] = None,
    time: Annotated[float, typer.Option(help="Duration (replicator).")] = 1000.0,
    steps: Annotated[int, typer.Option(help="Number of steps (growth).")] = 10_000,
    starts: Annotated[int, typer.Option(help="Number of random starts (basins).")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts.")] = 0,
    plot: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Draw a picture, an .svg file (replicator)."),
    ] = None,
    view: Annotated[
        Chart, typer.Option(help="What --plot shows: shares over time, or the path between three agents.")
    ] = Chart.shares,
    formulas: Formulas = False,
) -> None:
    """Evolve a population of agents that play each other."""
    with all_errors_printed():
        library, prices = read_agents(agents), epsilon or ["1/10"]
        for other in Dynamics:
            if other is not model:
                refuse(context, OPTIONS[other], f"goes with --model {other.value}, not with {model.value}")
        if model is Dynamics.basins:
            refuse(context, ["start"], "goes with --model replicator or growth: starts are drawn at random here")
        elif len(prices) > 1:
            raise GameError(f"--epsilon is given {len(prices)} times: --model {model.value} takes one")
        if plot:
            check_file("--plot", plot, ".svg")
            if view is Chart.simplex and len(library) < CORNERS:
                raise GameError(f"--view simplex has three corners: give three agents at least, not {len(library)}")
        else:
            refuse(context, ["view"], "goes with --plot, such as --plot picture.svg")
        table = chosen_game(context, game, payoffs)
        games = list(
            {one.epsilon: one for one in (ProgramGame(library, price, cost, table) for price in prices)}.values()
        )
        shown = who(library, formulas)
        if model is Dynamics.basins:
            show(*shown, _basins(games, starts, seed))
        elif model is Dynamics.growth:
            show(*shown, _growth(games[0], start, steps))
        else:
            _replicator(games[0], shown, start, time, plot, view)


def _replicator(
    game: ProgramGame, shown: Sequence[TextTable], start: str | None, time: float, plot: Path | None, view: Chart
) -> None:
    with watched("following the population") as report:
        found = replicator(game, read_shares(game, start), time, report=report)
    show(*shown, stays_table(game, found))
    if plot:
        path = simplex(found.names, largest(found.shares), found.shares) if view is Chart.simplex else None
        plot.write_text(path or bands(found.names, found.times, found.shares), "utf-8")


def _growth(game: ProgramGame, start: str | None, steps: int) -> TextTable:
    given = read_numbers(game, start)
    counts = {name: read_whole(name, number) for name, number in given.items()} if given else None
    with watched("adding best replies") as report:
        grown = growth(game, counts or [MEMBERS] * len(game.agents), steps, report=report)
    return growth_table(game, grown)


def _basins(games: Sequence[ProgramGame], starts: int, seed: int) -> TextTable:
    with watched("following random starts") as report:
        reports = parts(report, len(games))
        found = [basins(game, starts, seed, report=each) for game, each in zip(games, reports, strict=True)]
    return basins_table(games, found)
