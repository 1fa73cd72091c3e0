"""Command line: ``python -m modal_env play | tournament | equilibria | evolve | search | reading | page``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import numpy as np
import typer
from rich.console import Console, Group

from modal_env.cli import plots
from modal_env.cli.arguments import all_different, read_agents, read_numbers, read_shares, read_whole
from modal_env.cli.page import library_page
from modal_env.cli.tables import (
    NARROW,
    agents_table,
    basins_table,
    equilibria_table,
    growth_table,
    moves_table,
    payoffs_table,
    ranges_table,
    readings_table,
    replies_table,
    stays_table,
    terms,
    trace_table,
    worlds_table,
)
from modal_env.console import errors_printed, print_error, watched
from modal_env.dynamics.basins import basins, power_law
from modal_env.dynamics.populations import payoffs_of
from modal_env.dynamics.replicator import growth, replicator
from modal_env.errors import GameError, ModalError, install_extra
from modal_env.games.costs import COSTS, UNITS
from modal_env.games.equilibria import equilibria as find_equilibria
from modal_env.games.game import PAYOFFS, Game, Mix
from modal_env.games.payoffs import NAMED, PayoffTable, as_table, read_payoffs
from modal_env.games.ranges import ranges as find_ranges
from modal_env.logic.library import LIBRARY, SHORT
from modal_env.logic.provability import play as play_pair
from modal_env.logic.syntax import Agent
from modal_env.logic.tournaments import tournament as play_all
from modal_env.progress import part
from modal_env.text_tables import WIDE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 5001  # of a trajectory: enough for a smooth plot
MEMBERS = 10  # of each agent at the start of growth
MAX_WORLDS = 10_000
ENDINGS = (".png", ".svg", ".pdf")
INTERRUPTED = "interrupted: nothing is kept, the same command starts again"

AGENTS = (
    "An agent is a name, a formula, or NAME=FORMULA, which the others may then call X on. Quote formulas: "
    "'[](X(me) & (X(DefectBot) -> []false))'. A name defined once can be used again: play 'Wary=[]X(PB)' Wary."
)
NAMES = f"Names: {', '.join(LIBRARY)}; in short {', '.join(SHORT)}."

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Open-source games between agents that are formulas of provability logic.\n\n" + AGENTS + " " + NAMES,
)


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
CORNERS = 3  # of a simplex that stand for one agent each

Agents = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads it)
    typer.Argument(help=AGENTS, show_default="the four of the post", metavar="AGENT"),
]
Epsilon = Annotated[str, typer.Option(metavar="NUMBER", help="Price of one unit of cost: 1/10 or 0.1.")]
Cost = Annotated[
    str,
    typer.Option(
        help=f"What modeling costs: {', '.join(COSTS)}; or prices, as depth=1,box=1/2 (units: {', '.join(UNITS)})."
    ),
]
GameName = Annotated[
    str, typer.Option("--game", metavar="NAME", help=f"What the programs play: {NAMED}.", show_default=True)
]
PayoffFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--payoffs",
        metavar="FILE",
        help="A game of your own, in TOML: CC = 2, CD = 0, DC = 3, DD = 1, own move first; or CC = [2, 1] and so on, "
        "row player first.",
    ),
]
Plot = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(metavar="FILE", help="Draw a picture: .png, .svg or .pdf. Needs the extra plot."),
]
Formulas = Annotated[bool, typer.Option("--formulas", help="List the agents' formulas even if all are in the library.")]


@app.command()
def play(
    first: Annotated[str, typer.Argument(help=AGENTS, metavar="AGENT")],
    second: Annotated[str, typer.Argument(help="Its opponent.", metavar="AGENT")],
    worlds: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, max=MAX_WORLDS, help="How many worlds to show.", show_default="until nothing changes"),
    ] = None,
) -> None:
    """Play two agents against each other, and show every world."""
    with _errors_printed():
        a, b = read_agents([first, second])
        outcome = play_pair(a, b, worlds)
        shown = [a] if (a.name, a) == (b.name, b) else [a, b]
        _show(agents_table(shown), trace_table(a, b, outcome))


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
    with _errors_printed():
        table = _payoffs(context, game, payoffs)
        if epsilon is None:
            _refuse(context, ["cost", "game", "payoffs"], "goes with --epsilon, such as --epsilon 1/10")
        library = read_agents(agents)
        with watched("playing everybody against everybody") as report:
            result = play_all(library, report)
        paid = [] if epsilon is None else [payoffs_table(Game(result.agents, epsilon, cost, table))]
        settled = [worlds_table(result)] if worlds else []
        _show(*_who(result.agents, formulas), moves_table(result), *paid, *settled)


@app.command()
def equilibria(
    context: typer.Context,
    agents: Agents = None,
    epsilon: Epsilon = "1/10",
    cost: Cost = "depth",
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    symmetric: Annotated[bool, typer.Option("--symmetric", help="Only if both players use the same mix.")] = False,
    ranges: Annotated[bool, typer.Option("--ranges", help="For all epsilon, as formulas with exact ranges.")] = False,
    formulas: Formulas = False,
) -> None:
    """Find all Nash equilibria of the game of choosing a program, exactly."""
    with _errors_printed():
        library, table = all_different(read_agents(agents)), _payoffs(context, game, payoffs)
        if ranges:
            _refuse(context, ["epsilon"], "is one price, --ranges is about all of them: leave one of the two out")
            with watched("looking for equilibria at every epsilon") as report:
                found = find_ranges(library, cost, payoffs=table, symmetric_only=symmetric, report=report)
            _show(*_who(library, formulas), ranges_table(found, Game(library, 0, cost, table)))
            return
        played = Game(library, epsilon, cost, table)
        _show(*_who(library, formulas), payoffs_table(played))
        with watched("looking for equilibria") as report:
            equal = find_equilibria(library, epsilon, cost, payoffs=table, symmetric_only=symmetric, report=report)
        _show(equilibria_table(played, equal))


@app.command()
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
    with _errors_printed():
        library, prices = read_agents(agents), epsilon or ["1/10"]
        for other in Model:
            if other is not model:
                _refuse(context, OPTIONS[other], f"goes with --model {other.value}, not with {model.value}")
        if model is Model.basins:
            _refuse(context, ["start"], "goes with --model replicator or growth: starts are drawn at random here")
        elif len(prices) > 1:
            raise GameError(f"--epsilon is given {len(prices)} times: --model {model.value} takes one")
        if plot:
            _check_picture(plot)
        else:
            _refuse(context, ["view"], "goes with --plot, such as --plot picture.png")
        if plot and view is View.simplex and len(library) < CORNERS:
            raise GameError(f"--view simplex has three corners: give three agents at least, not {len(library)}")
        table = _payoffs(context, game, payoffs)
        games, who = [Game(library, price, cost, table) for price in prices], _who(library, formulas)
        if model is Model.basins:
            _basins(games, who, starts, seed, plot)
        elif model is Model.growth:
            _growth(games[0], who, read_numbers(games[0], start), steps, plot)
        else:
            _replicator(games[0], who, read_shares(games[0], start), time, plot, view)


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
    with _errors_printed():
        played = Game(all_different(read_agents(agents)), epsilon, cost, _payoffs(context, game, payoffs))
        _check_file("--out", out)
        if out.is_file() and not out.open("rb").read(15).lower().startswith(b"<!doctype html"):
            raise GameError(f"--out {out}: the file exists and is no HTML page: give another name, such as modal.html")
        with watched("drawing the page") as report:
            drawn = library_page(played, time, report)
        _write(out, drawn)
    print(out)


@app.command()
def search(
    context: typer.Context,
    opponents: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(help=AGENTS, show_default="none: the post's questions", metavar="AGENT"),
    ] = None,
    depth: Annotated[int, typer.Option(min=0, max=3, help="Maximum depth of the agents.")] = 2,
    call: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="AGENT", help="Agents that they may call X on, besides themselves.", show_default="DefectBot"
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
    literals: Annotated[
        int, typer.Option(min=1, max=2, help="Without opponents: size of the class of two boxes; 1 is small and quick.")
    ] = 2,
    formulas: Formulas = False,
) -> None:
    """List all that agents up to a depth can do against opponents; without any, answer the post's questions.

    The search covers agents without `me` ("what I do"), as in the post; with `me` more is possible. Against opponents
    it is complete: every such agent up to the depth that calls X on itself and on those given with --call does one of
    the things listed. Of agents that do the same, one of least depth is shown. Without opponents, three classes of
    agents are searched for pure equilibria and for agents that beat the post's mix; this takes half a minute.
    """
    with _errors_printed():
        from modal_env.search.findings import findings, least_replies  # which loads numba

        if not opponents:
            _refuse(
                context,
                ["depth", "call", "mix", "epsilon", "game", "payoffs", "formulas"],
                "goes with opponents, such as: search FairBot",
            )
            with watched("searching three classes of agents") as report:
                found = findings(literals, report)
            print(*found.lines(), sep="\n")
            return
        _refuse(context, ["literals"], "goes without opponents")
        agents = read_agents([*opponents, *(call or ["DefectBot"])])
        others, calls = agents[: len(opponents)], agents[len(opponents) :]
        played = Game(others, epsilon, payoffs=_payoffs(context, game, payoffs))
        shares = read_shares(played, mix)
        with watched("searching all that agents can do") as report:
            replies = least_replies(others, calls, depth, report)
        _show(*_who(others, formulas), replies_table(played, shares, replies))


@app.command()
def reading(
    context: typer.Context,
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    price: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NUMBER", help="What agents of depth 1, and of depth 2, pay.", show_default="1 and 2"),
    ] = None,
) -> None:
    """What reading adds to a game: outcomes that are equilibria only of programs that read each other.

    The search is over all agents of depth up to 2 that say X(me) only. For the 78 strict ordinal games, rg-1 to rg-78,
    docs/periodic-table.md has the answers.
    """
    with _errors_printed():
        from modal_env.search.periodic_table import DEPTHS, readings  # which loads numba

        table = _payoffs(context, game, payoffs)
        found = readings(table, [0, *price] if price else DEPTHS)
        _show(readings_table(table, found))


def _replicator(game: Game, who: Sequence[Group], start: Mix, time: float, plot: Path | None, view: View) -> None:
    times = np.linspace(0, time, POINTS).tolist() if 0 < time < inf else None
    with watched("following the population") as report:
        trajectory = replicator(game, start, time, times=times, report=report)
    _show(*who, stays_table(game, trajectory))
    title = f"Replicator dynamics, {terms(game)}"
    if plot and view is View.simplex:
        first, second, third = sorted(trajectory.names, key="DefectBot".__eq__)[:CORNERS]
        _save(plots.simplex([trajectory], (first, second, third), title=title), plot)
    elif plot:
        _save(plots.shares_over_time(trajectory, log_shares=view is View.logs, title=title), plot)


def _growth(game: Game, who: Sequence[Group], start: Mapping[str, str] | None, steps: int, plot: Path | None) -> None:
    counts = (
        {name: read_whole(name, number) for name, number in start.items()} if start else [MEMBERS] * len(game.agents)
    )
    with watched("adding best replies") as report:
        grown = growth(game, counts, steps, report=report)
    _show(*who, growth_table(game, grown))
    if plot:
        _save(plots.growth_shares(grown, title=f"Best-reply growth, {terms(game)}"), plot)


def _basins(games: Sequence[Game], who: Sequence[Group], starts: int, seed: int, plot: Path | None) -> None:
    drawn = _drawn(games) if plot else ""
    with watched("following random starts") as report:
        parts = [part(report, n / len(games), (n + 1) / len(games)) for n in range(len(games))]
        found = [basins(game, starts, seed, report=each) for game, each in zip(games, parts, strict=True)]
    _show(*who, basins_table(games, found))
    if plot:
        prices, shares = [game.epsilon for game in games], [one.share(drawn) for one in found]
        law = power_law(prices, [one.ends[drawn] for one in found], [one.starts for one in found])
        title = f"Replicator dynamics: starts that end at {drawn}, cost: {games[0].cost}"
        _save(plots.basin_over_epsilon(prices, shares, law, title=title), plot)


def _drawn(games: Sequence[Game]) -> str:
    """The agent whose basin is plotted: the first that is a strict pure equilibrium at every epsilon.

    Raises:
        GameError: there is none, or only one epsilon is given.
    """
    if len({game.epsilon for game in games}) < 2:
        raise GameError("--plot draws shares over epsilon: give --epsilon twice at least")
    payoffs = [payoffs_of(game) for game in games]
    ends = [[one.names[agent] for agent in one.strict_pure] for one in payoffs]
    for agent in ends[0]:
        if all(agent in others for others in ends):
            return agent
    raise GameError("--plot: no agent is the only best reply to itself at every epsilon given, so none can be drawn")


def _refuse(context: typer.Context, options: Sequence[str], reason: str) -> None:
    """Check that none of these options was given.

    Raises:
        GameError: one was; the message gives the reason.
    """
    for option in options:
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise GameError(f"--{option} {reason}")


def _payoffs(context: typer.Context, name: str, path: Path | None) -> PayoffTable:
    """The game that --game names or --payoffs holds.

    Raises:
        GameError: both are given; no such game; not a file of payoffs.
    """
    if path is None:
        return as_table(name)
    _refuse(context, ["game"], "names a game, and --payoffs gives another: leave one of the two out")
    return read_payoffs(path)


def _check_picture(path: Path) -> None:
    """Check that a plot can be written, before anything is computed.

    Raises:
        GameError: unknown file ending, missing folder, or a file that cannot be written.
        ModuleNotFoundError: matplotlib is not installed.
    """
    if path.suffix.lower() not in ENDINGS:
        raise GameError(f"--plot {path}: end the name in {', '.join(ENDINGS)}")
    _check_file("--plot", path)
    import_module("matplotlib.figure")


def _check_file(option: str, path: Path) -> None:
    """Check that a file can be written.

    Raises:
        GameError: missing folder, or a file that cannot be written.
    """
    if not path.parent.is_dir():
        raise GameError(f"{option} {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise GameError(f"{option} {path}: it is a folder, not a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise GameError(f"{option} {path}: no file can be written there")


def _save(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path)
    except OSError as error:
        raise GameError(f"--plot {path}: the file could not be written") from error
    print(f"drawn: {path}", file=sys.stderr)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise GameError(f"--out {path}: the file could not be written") from error


def _who(agents: Sequence[Agent], formulas: bool) -> list[Group]:
    """The table of the agents' formulas; empty if all are in the library, unless it is asked for."""
    known = all(LIBRARY.get(agent.name) == agent for agent in agents)
    return [] if known and not formulas else [agents_table(agents)]


def _show(*tables: Group) -> None:
    """Print tables; to a file or pipe they are wide, or as wide as COLUMNS says."""
    fitted = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    Console(width=max(Console().width, NARROW) if fitted else WIDE).print(*tables, sep="\n")


@contextmanager
def _errors_printed() -> Iterator[None]:
    """Print our own errors in one line, also that matplotlib is missing."""
    with errors_printed(INTERRUPTED, (ModalError, OSError), _text_of):
        try:
            yield
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("matplotlib"):
                raise
            print_error(f"--plot needs {install_extra('plot')}")
            raise typer.Exit(2) from error


def _text_of(error: Exception) -> str:
    return f"{error.filename or 'output'}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
