"""The command `evolve`: replicator dynamics, best-reply growth, and basins of attraction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated, Optional

import numpy as np
import typer
from rich.console import Group

from modal_env.cli import plots
from modal_env.cli.arguments import read_agents, read_numbers, read_shares, read_whole
from modal_env.cli.shared import (
    Agents,
    Cost,
    Formulas,
    GameName,
    PayoffFile,
    Plot,
    all_errors_printed,
    check_picture,
    chosen_game,
    one_per_price,
    refuse,
    save_picture,
    show,
    who,
)
from modal_env.cli.tables import (
    basins_table,
    growth_table,
    stays_table,
    terms,
)
from modal_env.console import watched
from modal_env.dynamics.basins import basins, power_law
from modal_env.dynamics.populations import payoffs_of
from modal_env.dynamics.replicator import growth, replicator
from modal_env.errors import GameError
from modal_env.games.game import PAYOFFS, Game, Mix
from modal_env.progress import parts

POINTS = 5001  # times of a trajectory: enough for a smooth plot
MEMBERS = 10  # default number of each agent at the start of growth


class Model(StrEnum):
    """How a population evolves."""

    replicator = "replicator"
    growth = "growth"
    basins = "basins"


class View(StrEnum):
    """What a plot of the replicator dynamics shows."""

    shares = "shares"
    logs = "logs"
    simplex = "simplex"


OPTIONS = {Model.replicator: ["time", "view"], Model.growth: ["steps"], Model.basins: ["starts", "seed"]}
CORNERS = 3  # corners of a simplex plot that show one agent each


def evolve(
    context: typer.Context,
    agents: Agents = None,
    model: Annotated[
        Model,
        typer.Option(
            help="replicator: shares grow with their payoff; growth: a best reply is added at each step; basins: where "
            "random starts of the replicator dynamics end."
        ),
    ] = Model.replicator,
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
    plot: Plot = None,
    view: Annotated[View, typer.Option(help="What --plot shows (replicator).")] = View.shares,
    formulas: Formulas = False,
) -> None:
    """Evolve a population of agents that play each other."""
    with all_errors_printed():
        library, prices = read_agents(agents), epsilon or ["1/10"]
        for other in Model:
            if other is not model:
                refuse(context, OPTIONS[other], f"goes with --model {other.value}, not with {model.value}")
        if model is Model.basins:
            refuse(context, ["start"], "goes with --model replicator or growth: starts are drawn at random here")
        elif len(prices) > 1:
            raise GameError(f"--epsilon is given {len(prices)} times: --model {model.value} takes one")
        if plot:
            check_picture(plot)
        else:
            refuse(context, ["view"], "goes with --plot, such as --plot picture.png")
        if plot and view is View.simplex and len(library) < CORNERS:
            raise GameError(f"--view simplex has three corners: give three agents at least, not {len(library)}")
        table = chosen_game(context, game, payoffs)
        games = one_per_price(Game(library, price, cost, table) for price in prices)
        shown = who(library, formulas)
        if model is Model.basins:
            _basins(games, shown, starts, seed, plot)
        elif model is Model.growth:
            _growth(games[0], shown, read_numbers(games[0], start), steps, plot)
        else:
            _replicator(games[0], shown, read_shares(games[0], start), time, plot, view)


def _replicator(game: Game, shown: Sequence[Group], start: Mix, time: float, plot: Path | None, view: View) -> None:
    times = np.linspace(0, time, POINTS).tolist() if 0 < time < inf else None
    with watched("following the population") as report:
        trajectory = replicator(game, start, time, times=times, report=report)
    show(*shown, stays_table(game, trajectory))
    title = f"Replicator dynamics, {terms(game)}"
    if plot and view is View.simplex:
        first, second, third = sorted(trajectory.names, key="DefectBot".__eq__)[:CORNERS]
        save_picture(plots.simplex([trajectory], (first, second, third), title=title), plot)
    elif plot:
        save_picture(plots.shares_over_time(trajectory, log_shares=view is View.logs, title=title), plot)


def _growth(game: Game, shown: Sequence[Group], start: Mapping[str, str] | None, steps: int, plot: Path | None) -> None:
    counts = (
        {name: read_whole(name, number) for name, number in start.items()} if start else [MEMBERS] * len(game.agents)
    )
    with watched("adding best replies") as report:
        grown = growth(game, counts, steps, report=report)
    show(*shown, growth_table(game, grown))
    if plot:
        save_picture(plots.growth_shares(grown, title=f"Best-reply growth, {terms(game)}"), plot)


def _basins(games: Sequence[Game], shown: Sequence[Group], starts: int, seed: int, plot: Path | None) -> None:
    drawn = _drawn(games) if plot else ""
    with watched("following random starts") as report:
        reports = parts(report, len(games))
        found = [basins(game, starts, seed, report=each) for game, each in zip(games, reports, strict=True)]
    show(*shown, basins_table(games, found))
    if plot:
        prices, shares = [game.epsilon for game in games], [one.share(drawn) for one in found]
        law = power_law(prices, [one.ends[drawn] for one in found], [one.starts for one in found])
        title = f"Replicator dynamics: starts that end at {drawn}, cost: {games[0].cost}"
        save_picture(plots.basin_over_epsilon(prices, shares, law, title=title), plot)


def _drawn(games: Sequence[Game]) -> str:
    """The agent whose basin is plotted: the first that is a strict pure equilibrium at every epsilon.

    Raises:
        GameError: there is none, or only one epsilon is given.
    """
    if len({game.epsilon for game in games}) < 2:
        raise GameError("--plot draws shares over epsilon: give --epsilon at least twice")
    payoffs = [payoffs_of(game) for game in games]
    ends = [[one.names[agent] for agent in one.strict_pure] for one in payoffs]
    for agent in ends[0]:
        if all(agent in others for others in ends):
            return agent
    raise GameError("--plot: no agent is the only best reply to itself at every epsilon given, so none can be drawn")
