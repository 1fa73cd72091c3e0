"""Command line: ``python -m modal_env play | tournament | equilibria | evolve | replies``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from modal_env.best_replies import replies as find_replies
from modal_env.cli import tables
from modal_env.cli.arguments import read_agents, read_different, read_numbers, read_shares, whole_or_text
from modal_env.cli.options import AGENTS, NAMES, Agents, Cost, Epsilon, Game, all_errors_printed, refuse, show
from modal_env.console import watched
from modal_env.dynamics.basins import basins
from modal_env.dynamics.growth import growth
from modal_env.dynamics.replicator import replicator
from modal_env.errors import GameError
from modal_env.games.equilibria import equilibria as find_equilibria
from modal_env.games.game import PAYOFFS, ProgramGame
from modal_env.logic.library import LIBRARY
from modal_env.logic.provability import play as play_pair
from modal_env.logic.provability import steps as steps_of
from modal_env.logic.syntax import Agent
from modal_env.logic.tournaments import grid
from modal_env.logic.tournaments import tournament as play_all

MAX_WORLDS = 10_000
MEMBERS = 10  # default number of each agent at the start of growth
PICTURES = (".png", ".svg", ".pdf")

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Open-source games between agents that are formulas of provability logic.\n\n" + AGENTS + " " + NAMES,
)


@app.command()
def play(
    first: Annotated[str, typer.Argument(help=AGENTS, metavar="AGENT")],
    second: Annotated[str, typer.Argument(help="Its opponent.", metavar="AGENT")],
    worlds: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_WORLDS, help="How many worlds to show.", show_default="until nothing changes"),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show the fixed point: every box of every play that this one depends on.")
    ] = False,
) -> None:
    """Play two agents against each other, world by world."""
    with all_errors_printed():
        a, b = read_agents([first, second])
        outcome = play_pair(a, b, worlds)
        done = {"C": "cooperates", "D": "defects", "?": "tosses a coin"}
        moves = " and ".join(f"{name} {done[move]}" for name, move in zip(outcome.names, outcome.moves, strict=True))
        shown = [a] if (a.name, a) == (b.name, b) else [a, b]
        world_by_world = tables.steps(steps_of(a, b, len(outcome.trace))) if trace else tables.trace(outcome)
        show(tables.agents(shown), world_by_world, f"{moves}; nothing changes from world {outcome.settles} on")


@app.command()
def tournament(
    agents: Agents = None,
    worlds: Annotated[bool, typer.Option("--worlds", help="Also show when each play settles.")] = False,
) -> None:
    """Play every agent against every other: the row's move against the column's."""
    with all_errors_printed():
        library = read_different(agents)
        with watched("playing everybody against everybody") as report:
            result = play_all(library, report)
        show_unknown(library)
        show("Moves", str(result))
        if worlds:
            show("", "Worlds, the first from which nothing changes", grid(result.names, result.worlds.tolist()))


@app.command()
def equilibria(
    context: typer.Context,
    agents: Agents = None,
    epsilon: Epsilon = "1/10",
    cost: Cost = "depth",
    game: Game = PAYOFFS.name,
    symmetric: Annotated[bool, typer.Option("--symmetric", help="Only those with the same mix for both.")] = False,
    ranges: Annotated[bool, typer.Option("--ranges", help="As functions of epsilon, on exact ranges.")] = False,
) -> None:
    """Find all Nash equilibria of the game of choosing a program, exactly.

    Several mixes in a cell stand for all their mixtures; sets of one component are connected.
    """
    with all_errors_printed():
        library = read_different(agents)
        show_unknown(library)
        played = ProgramGame(library, epsilon, cost, game)
        if ranges:
            from modal_env.games.ranges import ranges as find_ranges  # loads sympy

            refuse(context, ["epsilon"], "is one price, but --ranges is for all prices: leave one out")
            with watched("looking for equilibria at every epsilon") as report:
                found = find_ranges(library, cost, payoffs=game, symmetric_only=symmetric, report=report)
            where = ", ".join(map(str, found.breakpoints))
            changes = f"the equilibria change at eps = {where}" if where else "this holds at every eps"
            show(tables.ranges(found, played), changes)
            return
        show(f"Payoffs, {played}", "")
        with watched("looking for equilibria") as report:
            equal = find_equilibria(library, epsilon, cost, payoffs=game, symmetric_only=symmetric, report=report)
        show(tables.equilibria(played, equal))


class Dynamics(StrEnum):
    """How a population evolves."""

    replicator = "replicator"
    growth = "growth"
    basins = "basins"


OPTIONS = {
    Dynamics.replicator: ["start", "time", "plot"],
    Dynamics.growth: ["start", "steps"],
    Dynamics.basins: ["starts", "seed"],
}


@app.command()
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
    epsilon: Epsilon = "1/10",
    cost: Cost = "depth",
    game: Game = PAYOFFS.name,
    start: Annotated[
        str | None,
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
        Path | None,
        typer.Option(metavar="FILE", help=f"Draw the shares over time: {', '.join(PICTURES)} (replicator)."),
    ] = None,
) -> None:
    """Evolve a population of agents that play each other."""
    with all_errors_printed():
        library = read_agents(agents)
        for option in sorted({each for options in OPTIONS.values() for each in options} - {*OPTIONS[model]}):
            fitting = " or ".join(other for other in Dynamics if option in OPTIONS[other])
            refuse(context, [option], f"goes with --model {fitting}, not with {model.value}")
        if plot and plot.is_dir():
            raise GameError(f"--plot {plot}: it is a folder, not a file")
        if plot and (plot.suffix.lower() not in PICTURES or not plot.parent.is_dir()):
            raise GameError(f"--plot {plot}: give a file in a folder that exists, ending in {', '.join(PICTURES)}")
        played = ProgramGame(library, epsilon, cost, game)
        show_unknown(library)
        if model is Dynamics.basins:
            with watched("following random starts") as report:
                show(tables.basins(played, basins(played, starts, seed, report=report)))
        elif model is Dynamics.growth:
            counts = {name: whole_or_text(number) for name, number in (read_numbers(start) or {}).items()}
            grown = growth(played, counts or [MEMBERS] * len(library), steps)
            ends = ", ".join(f"{name} {count}" for name, count in zip(grown.names, grown.counts, strict=True))
            show(tables.growth(played, grown), f"{grown.steps} added; at the end: {ends}")
        else:
            with watched("following the population") as report:
                path = replicator(played, read_shares(played, start), time, report=report)
            last = zip(path.names, path.shares[-1], strict=True)
            shares = ", ".join(f"{name} {share:.4g}" for name, share in last)
            show(tables.stays(played, path), f"{path.limit}; at time {path.times[-1]:.4g}: {shares}")
            if plot:
                from modal_env.pictures import shares_over_time  # loads matplotlib

                shares_over_time(path, title=played.terms).savefig(plot)


@app.command()
def replies(
    opponents: Annotated[list[str], typer.Argument(help=AGENTS, metavar="AGENT")],
    depth: Annotated[int, typer.Option(min=0, max=3, help="Maximum depth of the agents.")] = 2,
    call: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT", help="Agents that these may call X on, besides themselves.", show_default="DefectBot"
        ),
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=NUMBER,...",
            help="Share of each opponent: FB=17/20,CB=1/10,PB=1/20.",
            show_default="equal shares",
        ),
    ] = None,
    epsilon: Epsilon = "1/10",
    game: Game = PAYOFFS.name,
) -> None:
    """Best replies to given agents: all outcomes of agents up to a depth against them, the best paid first.

    The search is complete: every agent up to the depth that calls X only on itself and on the --call agents has one of
    the listed outcomes. It covers agents without `me` ("what I do"), as in the post; with `me` more is possible. Each
    outcome is shown with an agent of least depth.
    """
    with all_errors_printed():
        agents = read_agents([*opponents, *(call or ["DefectBot"])])
        others, calls = agents[: len(opponents)], agents[len(opponents) :]
        played = ProgramGame(others, epsilon, payoffs=game)
        shares = read_shares(played, mix)
        with watched("searching all that agents can do") as report:
            found = find_replies(others, calls, depth=depth, report=report)
        show_unknown(others)
        show(tables.replies(played, shares, found))


def show_unknown(agents: list[Agent]) -> None:
    """Print the agents' formulas, unless all are in the library."""
    if any(LIBRARY.get(agent.name) != agent for agent in agents):
        show(tables.agents(agents))
