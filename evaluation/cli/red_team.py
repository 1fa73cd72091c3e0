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
from evaluation.cli.options import AttackGameOptions, Json, RunOptions, Witness
from evaluation.experiments.attacks import Deviation, count_games
from evaluation.experiments.red_team import BUDGETS, plan
from evaluation.measures.lm_usage import usage_table
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
        setting, profile = play.setting(), read_profile(policy)
        tables.check()
        if witness is not None:
            check_file(witness)
        tried, _ = plan(profile, profile_as_given(policy), evaluation.Setting(**setting), budget, trained or ())
        playing: list[ProfileLike] = [profile]
        playing += {spec: None for each in tried if each.deviator for spec in each.deviator.policies}
        total = count_games(len(tried), play.games, BUDGETS[budget].choosing, len({each.group for each in tried}))
        with run.playing(playing, total) as means:
            result = evaluation.red_team(policy, budget, games=play.games, trained=trained or (), **setting, **means)
        tables.write(result.rows())
        if witness is not None:
            result.save_witness(witness)
        if as_json:
            print_json(result.to_dict())
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
