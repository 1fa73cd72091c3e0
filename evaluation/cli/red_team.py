"""The command ``red-team``."""

from __future__ import annotations

import shlex
from typing import Annotated, Optional

import typer

import evaluation
from agents.command_options import as_arguments, with_options
from agents.specs import ProfileLike, profile_as_given, read_profile
from agents.table_files import check_file
from agents.table_options import TableOptions
from agents.tables import print_line, print_tables
from evaluation.cli.console import errors_told, print_json
from evaluation.cli.options import AttackGameOptions, Json, RunOptions, Witness, check_single, only
from evaluation.contrasts.sweep_tables import red_team_sweep
from evaluation.experiments.attacks import Deviation, count_games
from evaluation.experiments.red_team import BUDGETS, plan
from evaluation.measures.lm_usage import usage_table
from evaluation.measures.rows import same_columns
from evaluation.report.tables import red_team_table


@with_options
def red_team(
    policy: Annotated[str, typer.Argument(help="The policy or profile to attack.")],
    play: AttackGameOptions,
    run: RunOptions,
    tables: TableOptions,
    budget: Annotated[
        str,
        typer.Option(
            metavar="|".join(BUDGETS),
            help="Size of the search: games per attack for the choice, and number of coalitions.",
        ),
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
        settings, profile = play.settings(), read_profile(policy)
        tables.check()
        if witness is not None:
            check_single(settings, "--witness is a game")
            check_file(witness)
        plans = [
            plan(profile, profile_as_given(policy), evaluation.Setting(**setting), budget, trained or ())[0]
            for setting in settings
        ]
        playing: list[ProfileLike] = [profile]
        playing += {spec: None for tried in plans for each in tried if each.deviator for spec in each.deviator.policies}
        choosing = BUDGETS[budget].choosing
        total = sum(
            count_games(len(tried), play.games, choosing, len({each.group for each in tried})) for tried in plans
        )
        with run.playing(playing, total) as means:
            results = [
                evaluation.red_team(policy, budget, games=play.games, trained=trained or (), **setting, **means)
                for setting in settings
            ]
        tables.write(same_columns(row for each in results for row in each.rows()))
        result, tried = results[0], plans[0]
        if witness is not None:
            result.save_witness(witness)
        if as_json:
            print_json(only(each.to_dict() for each in results))
            return
        if len(results) > 1:
            print_tables(red_team_sweep(results))
            return
        print_tables(red_team_table(result))
        best = next(each for each in tried if each.attack == (result.best.deviator, result.best.coalition))
        print("the best attack again:")
        print_line(command_of(best, policy, play))
        if result.found.usage is not None:
            print_tables(usage_table([("red team", result.found.usage)]))


def command_of(attack: Deviation, policy: str, play: AttackGameOptions) -> str:
    """The command that plays one attack again, with the same seeds and so the same gain, quoted for the shell."""
    command = ["welfare-env", "exploitability", policy, "--coalitions", "+".join(attack.coalition)]
    command += ["--deviator", attack.deviator.given] if attack.deviator else []
    command += ["--coordinated"] if attack.coordinated else []
    return shlex.join(command + as_arguments(play))
