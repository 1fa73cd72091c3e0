"""The command `direct`: populations of all direct agents of depth up to 2."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from modal_env.cli import plots
from modal_env.cli.shared import (
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
)
from modal_env.cli.tables import courses_table, growth_table, noisy_table, shares_table
from modal_env.console import watched
from modal_env.errors import GameError
from modal_env.games.game import PAYOFFS, Game
from modal_env.logic.library import POST
from modal_env.progress import parts
from modal_env.search.direct.equal import Equal


class Model(StrEnum):
    """How the population changes."""

    replicator = "replicator"
    logit = "logit"
    best_response = "best-response"
    growth = "growth"
    finite = "finite"


LARGE = (Model.replicator, Model.logit, Model.best_response)
OPTIONS = {
    "equal": (*LARGE, Model.finite),
    "time": LARGE,
    "starts": LARGE,
    "seed": LARGE,
    "noise": LARGE[1:],
    "steps": (Model.growth,),
    "size": (Model.finite,),
}
SIZES = [20, 50, 100, 200]


def direct(
    context: typer.Context,
    model: Annotated[
        Model,
        typer.Option(
            help="replicator, logit, best-response: a large population; growth: a best reply is added at each step; "
            "finite: share of time in the limit of rare mutations (moran or imitation)."
        ),
    ] = Model.replicator,
    epsilon: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NUMBER", help="Price of a level of depth; several are compared.", show_default="1/10"),
    ] = None,
    equal: Annotated[
        Equal,
        typer.Option(
            help="At the start (finite: among mutants). agents: equal shares; depths: each depth gets the same share, "
            "split equally among its agents."
        ),
    ] = Equal.agents,
    time: Annotated[float, typer.Option(help="Duration.")] = 1000.0,
    noise: Annotated[float, typer.Option(help="Noise of logit or best response; at most 1 for best response.")] = 0.1,
    starts: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Number of random starts.", show_default="the start with equal shares"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts.")] = 0,
    steps: Annotated[int, typer.Option(help="Number of steps (growth).")] = 10**9,
    size: Annotated[
        Optional[list[int]],  # noqa: UP045
        typer.Option(min=2, help="Number of members (finite).", show_default="20, 50, 100, 200"),
    ] = None,
    game: GameName = PAYOFFS.name,
    payoffs: PayoffFile = None,
    plot: Plot = None,
) -> None:
    """All 2,097,152 direct agents of depth up to 2: large populations, growth, or rare mutations."""
    with all_errors_printed():
        for option, models in OPTIONS.items():
            if model not in models:
                refuse(context, [option], f"goes with --model {', '.join(models)}, not with {model}")
        if starts is None:
            refuse(context, ["seed"], "goes with --starts, such as --starts 100")
        if plot:
            check_picture(plot)
            if starts or model is Model.growth:
                raise GameError("--plot: not with --starts or --model growth")
        table = chosen_game(context, game, payoffs)
        games = one_per_price(Game(POST, price, payoffs=table) for price in epsilon or ["1/10"])
        if model is Model.growth:
            _growth(games, steps)
        elif model is Model.finite:
            _finite(games, size or SIZES, equal.value, plot)
        elif starts is None:
            _courses(games, model.value, equal.value, time, noise, plot)
        else:
            _ends(games, model.value, equal.value, time, noise, starts, seed)


def _courses(games: Sequence[Game], rule: str, equal: str, time: float, noise: float, plot: Path | None) -> None:
    from modal_env.search.direct.dynamics import direct_course  # loads numba

    with watched("following the population") as report:
        found = [
            direct_course(
                played.epsilon, rule, noise=noise, start=equal, time=time, payoffs=played.payoffs, report=each
            )
            for played, each in zip(games, parts(report, len(games)), strict=True)
        ]
    show(courses_table(games, found))
    if plot:
        save_picture(plots.course(found[0]) if len(found) == 1 else plots.cooperation_over_time(found), plot)


def _ends(games: Sequence[Game], rule: str, equal: str, time: float, noise: float, starts: int, seed: int) -> None:
    from modal_env.search.direct.basins import direct_basins

    drawn = {"starts": starts, "seed": seed}
    with watched("following random starts") as report:
        found = [
            direct_basins(
                played.epsilon, rule, noise=noise, start=equal, time=time, payoffs=played.payoffs, report=each, **drawn
            )
            for played, each in zip(games, parts(report, len(games)), strict=True)
        ]
    how = rule if rule == Model.replicator else f"{rule}, noise {noise:g}"
    show(*(noisy_table(played, one, how) for played, one in zip(games, found, strict=True)))


def _growth(games: Sequence[Game], steps: int) -> None:
    from modal_env.search.direct.growth import direct_growth

    with watched("adding best replies") as report:
        found = [
            direct_growth(played.epsilon, steps, payoffs=played.payoffs, report=each)
            for played, each in zip(games, parts(report, len(games)), strict=True)
        ]
    show(*(growth_table(played, grown) for played, grown in zip(games, found, strict=True)))


def _finite(games: Sequence[Game], sizes: Sequence[int], equal: str, plot: Path | None) -> None:
    from modal_env.search.direct.shares import direct_shares

    cells = [(played, members) for played in games for members in sizes]
    with watched("following populations") as report:
        found = []
        for (played, members), each in zip(cells, parts(report, len(cells)), strict=True):
            found.append(direct_shares(played.epsilon, members, payoffs=played.payoffs, mutants=equal))
            each(1)
    show(shares_table([played for played, _ in cells], found))
    if plot:
        save_picture(plots.cooperation_over_epsilon([played.epsilon for played, _ in cells], found), plot)
