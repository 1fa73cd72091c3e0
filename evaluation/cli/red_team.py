"""The command ``red-team``."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from agents.runtime.command_options import as_arguments, with_options
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_line, print_tables
from evaluation.cli.console import errors_in_one_line
from evaluation.cli.options import AttackGameOptions, RunOptions, Witness, check_files, policies_of, written
from evaluation.experiments.attacks import Deviation
from evaluation.experiments.red_team import BUDGETS, RedTeamPlan, plan_red_team
from evaluation.measures.lm_usage import usage_table
from evaluation.play.game_settings import GameSettings
from evaluation.tables.game_tables import red_team_table
from evaluation.tables.sweep_tables import red_team_sweep


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
            help="Size of the search: selection games per attack, and number of coalitions.",
        ),
    ] = "usual",
    trained: Annotated[
        list[str] | None,
        typer.Option(help="An additional attacker, such as rl:FOLDER/checkpoint; repeat for several."),
    ] = None,
    witness: Witness = None,
    as_json: Json = False,
) -> None:
    """Try many attacks on a policy, by single powers, coalitions and pacts, and report the strongest."""
    with errors_in_one_line():
        settings = play.settings()
        check_files(settings, tables, witness)
        plans: list[RedTeamPlan] = []

        def plan(each: GameSettings) -> list[RedTeamPlan]:
            plans.append(plan_red_team(policy, budget, each, games=play.games, trained=trained or ()))
            return plans[-1:]

        results = run.play(policies_of([policy], trained or ()), settings, plan)
        if written(results, tables, as_json, witness):
            return
        if len(results) > 1:
            print_tables(red_team_sweep(results))
            return
        result, tried = results[0], plans[0].tried
        print_tables(red_team_table(result))
        best = next(each for each in tried if each.attack == (result.best.deviator, result.best.coalition))
        if result.best.gain.value > 0:
            print("to reproduce the best attack (then view a game of it with welfare-env replay worst.json):")
        else:
            print(f"none of {len(result.found.screened):,} attacks gained; to reproduce the best of them:")
        print_line(command_of(best, policy, play))
        if result.found.usage is not None:
            print_tables(usage_table([("red team", result.found.usage)]))


def command_of(attack: Deviation, policy: str, play: AttackGameOptions) -> str:
    """The shell command that replays an attack with the same seeds, hence the same gain, and saves a game."""
    command = ["welfare-env", "exploitability", policy, "--coalitions", "+".join(attack.coalition)]
    command += ["--deviator", attack.deviator.given] if attack.deviator else []
    command += ["--coordinated"] if attack.coordinated else []
    return shlex.join([*command, *as_arguments(play), "--witness", "worst.json"])
