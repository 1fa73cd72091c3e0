"""The commands for finite populations, and for large populations with noise."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from modal_env.cli import plots
from modal_env.cli.arguments import read_programs
from modal_env.cli.shared import (
    Agents,
    Cost,
    Epsilon,
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
from modal_env.cli.tables import noisy_table, shares_table
from modal_env.console import watched
from modal_env.errors import GameError
from modal_env.games.game import PAYOFFS, Game
from modal_env.logic.readers import Program
from modal_env.progress import Report, parts

if TYPE_CHECKING:
    from modal_env.dynamics.finite import Shares


class Process(StrEnum):
    """How members are replaced."""

    moran = "moran"
    imitation = "imitation"
    logit = "logit"
    best_reply = "best-reply"


class Rule(StrEnum):
    """How members of a large population revise."""

    logit = "logit"
    best_response = "best-response"


Shallow = Annotated[
    bool,
    typer.Option(
        "--shallow", help="All 16 direct agents of depth up to 1, and PrudentBot, SlipBot, MirrorBot, OneBot."
    ),
]


def populations(
    context: typer.Context,
    agents: Agents = None,
    shallow: Shallow = False,
    size: Annotated[
        Optional[list[int]],  # noqa: UP045
        typer.Option(min=2, help="Number of members; several are compared.", show_default="20, 50, 100, 200"),
    ] = None,
    process: Annotated[
        Process,
        typer.Option(
            help="moran: birth and death; imitation: pairs compare payoffs; logit, best-reply: members revise."
        ),
    ] = Process.moran,
    mutation: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Rate of switching to a random agent.", show_default="the limit of rare mutations"),
    ] = None,
    intensity: Annotated[float, typer.Option(help="Of selection: weights are exp(intensity * payoff).")] = 1.0,
    steps: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Simulate ten runs of this many steps, instead of solving.", show_default="solved"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    epsilon: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NUMBER", help="Price of one unit of cost; several are compared.", show_default="1/10"),
    ] = None,
    cost: Cost = "depth",
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    plot: Plot = None,
    formulas: Formulas = False,
) -> None:
    """Share of time that a finite population spends with each agent, and in mutual cooperation.

    Without --mutation: exact, in the limit of rare mutations (moran and imitation only). With --mutation: exact for at
    most 30,000 states; for more, simulate with --steps.
    """
    with all_errors_printed():
        if plot:
            check_picture(plot)
        table = chosen_game(context, game, payoffs)
        library = _library(agents, shallow)
        if mutation is None:
            refuse(context, ["steps", "seed"], "goes with --mutation, such as --mutation 0.01")
            if process in (Process.logit, Process.best_reply):
                raise GameError(f"--process {process.value} needs --mutation, such as --mutation 0.01")
        elif steps is None:
            refuse(context, ["seed"], "goes with --steps, such as --steps 1000000")
        games = one_per_price(Game(library, price, cost, table) for price in epsilon or ["1/10"])
        cells = [(played, members) for played in games for members in size or [20, 50, 100, 200]]

        # these load scipy and numba
        from modal_env.dynamics.finite import rare_mutations, solved_shares
        from modal_env.dynamics.simulated import simulated_shares

        def shares_of(played: Game, members: int, report: Report) -> Shares:
            if mutation is None:
                return rare_mutations(played, members, process.value, intensity=intensity)
            if steps is None:
                return solved_shares(played, members, mutation, process.value, intensity=intensity)
            return simulated_shares(
                played, members, mutation, process.value, intensity=intensity, steps=steps, seed=seed, report=report
            )

        with watched("following populations") as report:
            found = [shares_of(*cell, each) for cell, each in zip(cells, parts(report, len(cells)), strict=True)]
        show(*who(library, formulas), shares_table([played for played, _ in cells], found))
        if plot:
            save_picture(plots.cooperation_over_epsilon([played.epsilon for played, _ in cells], found), plot)


def noise(
    context: typer.Context,
    agents: Agents = None,
    shallow: Shallow = False,
    rule: Annotated[
        Rule, typer.Option(help="logit: better agents more often; best-response: the best agent, with mistakes.")
    ] = Rule.logit,
    size_of_noise: Annotated[
        float, typer.Option("--noise", help="logit: payoffs are divided by it; best-response: fraction of mistakes.")
    ] = 0.1,
    starts: Annotated[int, typer.Option(help="Number of random starts.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts.")] = 0,
    time: Annotated[float, typer.Option(help="Duration; members revise once per unit of time.")] = 200.0,
    epsilon: Epsilon = "1/10",
    cost: Cost = "depth",
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    formulas: Formulas = False,
) -> None:
    """Where random starts of a large population come to rest under logit or best response with noise."""
    from modal_env.dynamics.noisy import noisy_basins  # loads scipy

    with all_errors_printed():
        library = _library(agents, shallow)
        played = Game(library, epsilon, cost, chosen_game(context, game, payoffs))
        with watched("following random starts") as report:
            found = noisy_basins(played, rule.value, size_of_noise, starts=starts, seed=seed, time=time, report=report)
        show(*who(library, formulas), noisy_table(played, found, f"{rule.value}, noise {size_of_noise:g}"))


def _library(agents: list[str] | None, shallow: bool) -> list[Program]:
    """The programs: those of the command line, or the shallow ones.

    Raises:
        GameError: both are given.
    """
    if not shallow:
        return read_programs(agents)
    if agents:
        raise GameError("--shallow chooses the agents: leave it out, or give no agents")
    from modal_env.search.direct_agents import shallow_agents  # loads numba

    return [*shallow_agents()]
