"""The command ``red-team``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

import typer

import evaluation
from agents.command_options import with_options
from agents.specs import ProfileLike, profile_as_given, read_profile
from evaluation.cli.console import errors_told, print_json, table_console
from evaluation.cli.options import GameOptions, Json, RunOptions, TableOptions, Witness
from evaluation.experiments.red_team import BUDGETS, plan
from evaluation.measures.lm_usage import usage_table
from evaluation.report.table_files import check_file
from evaluation.report.tables import red_team_table


@dataclass(frozen=True)
class AttackedGameOptions(GameOptions):
    """As `GameOptions`; by default the budget sets the number of games."""

    games: Annotated[
        Optional[int],  # noqa: UP045 (typer reads it)
        typer.Option(min=1, help="Games an attack.", show_default="as the budget says"),
    ] = None  # type: ignore[assignment]


@with_options
def red_team(
    policy: Annotated[str, typer.Argument(help="The policy or profile to attack.")],
    play: AttackedGameOptions,
    run: RunOptions,
    tables: TableOptions,
    budget: Annotated[
        str,
        typer.Option(metavar="|".join(BUDGETS), help="Size of the search: games per attack, and number of coalitions."),
    ] = "usual",
    trained: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads it)
        typer.Option(
            help="An additional attacker, such as rl:runs/best-response/checkpoint; may be given several times."
        ),
    ] = None,
    witness: Witness = None,
    as_json: Json = False,
) -> None:
    """Try many attacks on a policy, by single powers, coalitions and pacts, and report the strongest."""
    with errors_told():
        setting, profile = play.setting(), read_profile(policy)
        tables.check()
        if witness is not None:
            check_file(witness)
        tried, _ = plan(profile, profile_as_given(policy), evaluation.Setting(**setting), budget, trained or ())
        playing: list[ProfileLike] = [profile]
        playing += {spec: None for each in tried if each.deviator for spec in each.deviator.policies}
        games = BUDGETS[budget].games if play.games is None else play.games
        with run.playing(playing, games * (1 + len(tried))) as means:
            result = evaluation.red_team(policy, budget, games=games, trained=trained or (), **setting, **means)
        tables.write(result.rows())
        if witness is not None:
            result.save_witness(witness)
        if as_json:
            print_json(result.to_dict())
            return
        console = table_console()
        console.print(red_team_table(result))
        if result.found.usage is not None:
            console.print(usage_table([("red team", result.found.usage)]))
