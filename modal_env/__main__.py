"""Command line: ``python -m modal_env play | tournament | equilibria | evolve | search``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import numpy as np
import typer
from rich.console import Console, Group

from modal_env import plots
from modal_env.basins import basins, power_law
from modal_env.equilibria import equilibria as find_equilibria
from modal_env.errors import FormulaError, GameError, ModalError
from modal_env.evolution import growth, replicator
from modal_env.formula import parse_agents
from modal_env.game import COSTS, Game, Mix
from modal_env.library import LIBRARY, POST, SHORT
from modal_env.modes import find
from modal_env.provability import play as play_pair
from modal_env.provability import tournament as play_all
from modal_env.ranges import ranges as find_ranges
from modal_env.syntax import Agent
from modal_env.tables import (
    WIDE,
    agents_table,
    basins_table,
    equilibria_table,
    growth_table,
    moves_table,
    payoffs_table,
    ranges_table,
    replies_table,
    stays_table,
    trace_table,
    worlds_table,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 5001  # of a trajectory: enough for a smooth picture
MEMBERS = 10  # of each agent, where growth begins

AGENTS = (
    "An agent is a name, a formula, or NAME=FORMULA, which the others may then call X on. Quote formulas: "
    "'[](X(me) & (X(DefectBot) -> []false))'."
)
NAMES = f"Names: {', '.join(LIBRARY)}; in short {', '.join(SHORT)}."
NAMED = re.compile(r"\s*([^\W\d]\w*)\s*=(?!>)(.*)", re.DOTALL)

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
    """What a picture of the replicator dynamics shows."""

    shares = "shares"
    logs = "logs"
    simplex = "simplex"


Agents = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads it)
    typer.Argument(help=AGENTS, show_default="the four of the post", metavar="AGENT"),
]
Epsilon = Annotated[str, typer.Option(metavar="NUMBER", help="What a unit of cost takes: 1/10 or 0.1.")]
Cost = Annotated[str, typer.Option(help=f"What is paid for: {', '.join(COSTS)}.")]
Plot = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(metavar="FILE", help="Draw a picture: .png, .svg or .pdf. Needs welfare-env\\[plot]."),
]


@app.command()
def play(
    first: Annotated[str, typer.Argument(help=AGENTS, metavar="AGENT")],
    second: Annotated[str, typer.Argument(help="Its opponent.", metavar="AGENT")],
    worlds: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="How many worlds to show.", show_default="until nothing changes any more"),
    ] = None,
) -> None:
    """What two agents do against each other, world by world."""
    with _errors_told():
        a, b = read_agents([first, second])
        outcome = play_pair(a, b, worlds)
        _show(agents_table([a, b]), trace_table(a, b, outcome))


@app.command()
def tournament(
    agents: Agents = None,
    worlds: Annotated[bool, typer.Option("--worlds", help="Also when each play has settled.")] = False,
    epsilon: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NUMBER", help="Also what everybody is paid, at this price of a unit of cost."),
    ] = None,
    cost: Cost = "depth",
) -> None:
    """What everybody does against everybody."""
    with _errors_told():
        result = play_all(read_agents(agents))
        paid = [] if epsilon is None else [payoffs_table(Game(result.agents, epsilon, cost))]
        _show(agents_table(result.agents), moves_table(result), *paid, *([worlds_table(result)] if worlds else []))


@app.command()
def equilibria(
    agents: Agents = None,
    epsilon: Epsilon = "1/10",
    cost: Cost = "depth",
    symmetric: Annotated[bool, typer.Option("--symmetric", help="Only where both players do the same.")] = False,
    ranges: Annotated[bool, typer.Option("--ranges", help="At every epsilon, as formulas and exact ranges.")] = False,
) -> None:
    """All Nash equilibria of the game of choosing a program, exactly."""
    with _errors_told():
        library = read_agents(agents)
        if ranges:
            found = find_ranges(library, cost, symmetric_only=symmetric)
            _show(agents_table(library), ranges_table(found, cost))
            return
        game = Game(library, epsilon, cost)
        _show(agents_table(library), payoffs_table(game))
        _show(equilibria_table(game, find_equilibria(library, epsilon, cost, symmetric_only=symmetric)))


@app.command()
def evolve(
    agents: Agents = None,
    model: Annotated[
        Model,
        typer.Option(
            help="replicator: shares grow with what is paid; growth: a best reply is added at each step; basins: where "
            "random starts of the replicator dynamics end."
        ),
    ] = Model.replicator,
    epsilon: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NUMBER", help="What a unit of cost takes: 1/10 or 0.1; basins take several.", show_default="1/10"
        ),
    ] = None,
    cost: Cost = "depth",
    start: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME=NUMBER,...",
            help="Shares, or numbers of members (growth): FB=0.5,CB=1/4,PB=1/4.",
            show_default="the same of all; 10 each",
        ),
    ] = None,
    time: Annotated[float, typer.Option(help="How long (replicator).")] = 1000.0,
    steps: Annotated[int, typer.Option(help="How many to add (growth).")] = 10_000,
    starts: Annotated[int, typer.Option(help="How many random starts (basins).")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the random starts.")] = 0,
    plot: Plot = None,
    view: Annotated[View, typer.Option(help="Of --plot, --model replicator.")] = View.shares,
) -> None:
    """How a population of agents changes that play each other."""
    with _errors_told():
        library, prices = read_agents(agents), epsilon or ["1/10"]
        if model is Model.basins:
            _basins(library, prices, cost, starts, seed, plot)
            return
        if len(prices) > 1:
            raise GameError(f"--epsilon is given {len(prices)} times: --model {model.value} takes one")
        game = Game(library, prices[0], cost)
        if model is Model.growth:
            _growth(game, _numbers(game, start), steps, plot)
        else:
            _replicator(game, _shares(game, start), time, plot, view)


@app.command()
def search(
    opponents: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(help=AGENTS, show_default="none: the post's questions", metavar="AGENT"),
    ] = None,
    depth: Annotated[int, typer.Option(min=0, max=3, help="Of the agents searched.")] = 2,
    call: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="AGENT", help="Whom they may call X on, besides themselves.", show_default="DefectBot"),
    ] = None,
    mix: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME=NUMBER,...",
            help="How often each opponent is met: FB=17/20,CB=1/10,PB=1/20.",
            show_default="the same of all",
        ),
    ] = None,
    epsilon: Epsilon = "1/10",
    literals: Annotated[
        int, typer.Option(min=1, max=2, help="Without opponents: size of the class of two boxes; 1 is small and quick.")
    ] = 2,
) -> None:
    """All that agents of a depth can do against some opponents; without any, the post's questions about all agents.

    Against opponents the search is complete: every agent up to the depth that calls X on itself and on those given with
    --call does one of the things listed. Of those that do the same, one of least depth is shown. Without opponents,
    three classes of agents are searched for pure equilibria and for what beats the post's mix; half a minute.
    """
    from modal_env.search import findings, least_replies

    with _errors_told():
        if not opponents:
            print(*findings(literals).lines(), sep="\n")
            return
        met = read_agents(opponents)
        game = Game(met, epsilon)
        found = least_replies(met, read_agents(call or ["DefectBot"]), depth)
        _show(agents_table(met), replies_table(game, _shares(game, mix), found))


def _replicator(game: Game, start: Mix, time: float, plot: Path | None, view: View) -> None:
    trajectory = replicator(game, start, time, times=np.linspace(0, max(time, 0), POINTS).tolist())
    _show(agents_table(game.agents), stays_table(trajectory))
    if plot and view is View.simplex:
        first, second, third, *_ = *(name for name in game.names if name != "DefectBot"), "", "", ""
        _save(plots.simplex([trajectory], (first, second, third)), plot)
    elif plot:
        _save(plots.shares_over_time(trajectory, log_shares=view is View.logs), plot)


def _growth(game: Game, start: Mapping[str, str] | None, steps: int, plot: Path | None) -> None:
    counts = {name: _whole(name, number) for name, number in start.items()} if start else [MEMBERS] * len(game.agents)
    grown = growth(game, counts, steps)
    _show(agents_table(game.agents), growth_table(grown))
    if plot:
        _save(plots.growth_shares(grown), plot)


def _basins(
    agents: Sequence[Agent], epsilons: Sequence[str], cost: str, starts: int, seed: int, plot: Path | None
) -> None:
    if plot and len(set(epsilons)) < 2:
        raise GameError("--plot draws shares over epsilon: give --epsilon twice at least")
    games = [Game(agents, epsilon, cost) for epsilon in epsilons]
    found = [basins(game, starts, seed) for game in games]
    _show(agents_table(agents), basins_table(games, found))
    if plot:
        agent = next(iter(found[0].ends))
        prices, shares = [game.epsilon for game in games], [one.share(agent) for one in found]
        law = power_law(prices, [one.ends[agent] for one in found], [one.starts for one in found])
        _save(plots.basin_over_epsilon(prices, shares, law, title=f"Starts that end at {agent}"), plot)


def read_agents(texts: Sequence[str] | None) -> list[Agent]:
    """The agents of a command line: names, formulas and NAME=FORMULA; none are the four of the post.

    Raises:
        FormulaError: a name twice, or as `modal_env.parse`.
    """
    if not texts:
        return list(POST)
    split = [NAMED.fullmatch(text) for text in texts]
    names = [match[1] for match in split if match]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FormulaError(f"two agents are called {twice[0]!r}: name them differently")
    helpers = parse_agents({match[1]: match[2] for match in split if match}, {**LIBRARY, **SHORT})
    return [helpers[match[1]] if match else find(text, helpers) for text, match in zip(texts, split, strict=True)]


def _shares(game: Game, text: str | None) -> Mix:
    """The shares that a text gives; the same of all, where there is none.

    Raises:
        GameError: no shares that add up to 1.
    """
    return game.mix(_numbers(game, text) or [Fraction(1, len(game.agents))] * len(game.agents))


def _numbers(game: Game, text: str | None) -> dict[str, str] | None:
    """NAME=NUMBER,... as a mapping of the game's names.

    Raises:
        GameError: something else.
    """
    if text is None:
        return None
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, number = (piece.strip() for piece in part.rpartition("="))
        if not equals or _full(game, name) in found:
            raise GameError(f"{part!r} in {text!r}: give NAME=NUMBER, each name once, with commas between them")
        found[_full(game, name)] = number
    return found


def _full(game: Game, name: str) -> str:
    """FairBot of FB."""
    return SHORT[name.upper()].name if name not in game.names and name.upper() in SHORT else name


def _whole(name: str, number: str) -> int:
    if not number.isdecimal():
        raise GameError(f"{name}={number}: give a whole number of members")
    return int(number)


def _save(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise GameError(f"--plot {path}: {error}") from error
    print(f"drawn: {path}", file=sys.stderr)


def _show(*tables: Group) -> None:
    """On the terminal; a file or a pipe gets wide tables."""
    Console(width=None if sys.stdout.isatty() else WIDE).print(*tables, sep="\n")


@contextmanager
def _errors_told() -> Iterator[None]:
    """Our own errors on stderr, and exit code 2."""
    try:
        yield
    except ModalError as error:
        _complain(str(error))
        raise typer.Exit(2) from error
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("matplotlib"):
            raise
        _complain("--plot needs matplotlib: pip install 'welfare-env[plot]'")
        raise typer.Exit(2) from error
    except KeyboardInterrupt as interruption:
        raise typer.Exit(130) from interruption


def _complain(message: str) -> None:
    Console(stderr=True).print(f"error: {message}", style="red", markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    app(prog_name="python -m modal_env")
