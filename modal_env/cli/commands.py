"""Command line: ``python -m modal_env play | tournament | equilibria | evolve | replies | page``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from modal_env.best_replies import replies as find_replies
from modal_env.cli.arguments import read_agents, read_different, read_shares
from modal_env.cli.evolution import evolve
from modal_env.cli.page import library_page
from modal_env.cli.shared import (
    AGENTS,
    NAMES,
    Agents,
    Cost,
    Epsilon,
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
from modal_env.cli.tables import (
    agents_table,
    equilibria_table,
    moves_table,
    payoffs_table,
    ranges_table,
    replies_table,
    trace_table,
    worlds_table,
)
from modal_env.console import watched
from modal_env.errors import GameError
from modal_env.games.equilibria import equilibria as find_equilibria
from modal_env.games.game import PAYOFFS, ProgramGame
from modal_env.logic.provability import play as play_pair
from modal_env.logic.tournaments import tournament as play_all

MAX_WORLDS = 10_000

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
        Optional[int],  # noqa: UP045
        typer.Option(min=1, max=MAX_WORLDS, help="How many worlds to show.", show_default="until nothing changes"),
    ] = None,
) -> None:
    """Play two agents against each other, world by world."""
    with all_errors_printed():
        a, b = read_agents([first, second])
        outcome = play_pair(a, b, worlds)
        shown = [a] if (a.name, a) == (b.name, b) else [a, b]
        show(agents_table(shown), trace_table(a, b, outcome))


@app.command()
def tournament(
    context: typer.Context,
    agents: Agents = None,
    worlds: Annotated[bool, typer.Option("--worlds", help="Also show when each play settles.")] = False,
    epsilon: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NUMBER", help="Also show the payoffs, at this price of one unit of cost."),
    ] = None,
    cost: Cost = "depth",
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    formulas: Formulas = False,
) -> None:
    """Play every agent against every other."""
    with all_errors_printed():
        table = chosen_game(context, game, payoffs)
        if epsilon is None:
            refuse(context, ["cost", "game", "payoffs"], "goes with --epsilon, such as --epsilon 1/10")
        library = read_different(agents)
        with watched("playing everybody against everybody") as report:
            result = play_all(library, report)
        paid = [] if epsilon is None else [payoffs_table(ProgramGame(result.agents, epsilon, cost, table))]
        settled = [worlds_table(result)] if worlds else []
        show(*who(result.agents, formulas), moves_table(result), *paid, *settled)


@app.command()
def equilibria(
    context: typer.Context,
    agents: Agents = None,
    epsilon: Epsilon = "1/10",
    cost: Cost = "depth",
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    symmetric: Annotated[bool, typer.Option("--symmetric", help="Only those with the same mix for both.")] = False,
    ranges: Annotated[bool, typer.Option("--ranges", help="As functions of epsilon, on exact ranges.")] = False,
    formulas: Formulas = False,
) -> None:
    """Find all Nash equilibria of the game of choosing a program, exactly."""
    with all_errors_printed():
        library, table = read_different(agents), chosen_game(context, game, payoffs)
        if ranges:
            from modal_env.games.ranges import ranges as find_ranges  # loads sympy

            refuse(context, ["epsilon"], "is one price, but --ranges is for all prices: leave one out")
            with watched("looking for equilibria at every epsilon") as report:
                found = find_ranges(library, cost, payoffs=table, symmetric_only=symmetric, report=report)
            show(*who(library, formulas), ranges_table(found, ProgramGame(library, 0, cost, table)))
            return
        played = ProgramGame(library, epsilon, cost, table)
        show(*who(library, formulas), payoffs_table(played))
        with watched("looking for equilibria") as report:
            equal = find_equilibria(library, epsilon, cost, payoffs=table, symmetric_only=symmetric, report=report)
        show(equilibria_table(played, equal))


app.command()(evolve)


@app.command()
def page(
    context: typer.Context,
    agents: Agents = None,
    epsilon: Epsilon = "1/10",
    cost: Cost = "depth",
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    time: Annotated[float, typer.Option(help="Duration of the replicator dynamics.")] = 1000.0,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="HTML file to write.")] = Path("modal.html"),
) -> None:
    """Write one self-contained HTML page about a library: outcomes, equilibria, evolution, matches."""
    with all_errors_printed():
        played = ProgramGame(read_different(agents), epsilon, cost, chosen_game(context, game, payoffs))
        check_file("--out", out, ".html")
        if out.is_file() and not out.open("rb").read(15).lower().startswith(b"<!doctype html"):
            raise GameError(f"--out {out}: the file exists and is no HTML page: give another name, such as modal.html")
        with watched("drawing the page") as report:
            drawn = library_page(played, time, report)
        out.write_text(drawn, "utf-8")
    print(out)


@app.command()
def replies(
    context: typer.Context,
    opponents: Annotated[list[str], typer.Argument(help=AGENTS, metavar="AGENT")],
    depth: Annotated[int, typer.Option(min=0, max=3, help="Maximum depth of the agents.")] = 2,
    call: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="AGENT", help="Agents that these may call X on, besides themselves.", show_default="DefectBot"
        ),
    ] = None,
    mix: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME=NUMBER,...",
            help="Share of each opponent: FB=17/20,CB=1/10,PB=1/20.",
            show_default="equal shares",
        ),
    ] = None,
    epsilon: Epsilon = "1/10",
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    formulas: Formulas = False,
) -> None:
    """Best replies to given agents: all outcomes of agents up to a depth against them, the best paid first.

    The search is complete: every agent up to the depth that calls X only on itself and on the --call agents has one of
    the listed outcomes. It covers agents without `me` ("what I do"), as in the post; with `me` more is possible. Each
    outcome is shown with an agent of least depth.
    """
    with all_errors_printed():
        agents = read_agents([*opponents, *(call or ["DefectBot"])])
        others, calls = agents[: len(opponents)], agents[len(opponents) :]
        played = ProgramGame(others, epsilon, payoffs=chosen_game(context, game, payoffs))
        shares = read_shares(played, mix)
        with watched("searching all that agents can do") as report:
            found = find_replies(others, calls, depth=depth, report=report)
        show(*who(others, formulas), replies_table(played, shares, found))
