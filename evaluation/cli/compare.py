"""The command ``compare``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

import evaluation
from agents.runtime.command_options import as_arguments, with_options
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from agents.specs import listed
from evaluation.cli.console import errors_in_one_line, print_json
from evaluation.cli.options import GameOptions, RunOptions, policies_of
from evaluation.contrasts.comparing import GAMES, check_measures
from evaluation.contrasts.samples import is_results
from evaluation.experiments.self_play import plan_self_play
from evaluation.play.game_settings import GameSettings
from evaluation.tables.comparison_tables import contrast_table


@dataclass(frozen=True)
class ComparedGameOptions(GameOptions):
    """As `GameOptions`, with more games."""

    games: Annotated[int, typer.Option(min=1, help="Games per condition; below five there are no intervals.")] = GAMES


@with_options
def compare(
    conditions: Annotated[
        list[str],
        typer.Argument(
            help="Two or more policies or profiles, or one with several values of an option (--years 5,10), or "
            "experiment folders. The first is the baseline."
        ),
    ],
    play: ComparedGameOptions,
    run: RunOptions,
    tables: TableOptions,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="What to compare, e.g. conflicts, or welfare_per_year:FRANCE. Without a power: every power.",
            show_default="root_nash_welfare",
        ),
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Compare all pairs, not only with the baseline.")] = False,
    variant: Annotated[str, typer.Option(help="welfare or standard.")] = "welfare",
    as_json: Json = False,
) -> None:
    """Differences between policies, rules or experiments over games with the same seeds, with confidence intervals."""
    with errors_in_one_line():
        measures = [name for text in measure or () for name in listed(text)] or None
        tables.check()
        if any(map(is_results, conditions)):
            if wrong := as_arguments(play) + ["--variant"] * (variant != "welfare"):
                raise evaluation.EvaluationError(
                    f"{wrong[0]}: only for policies; experiment folders have results of games already played"
                )
            found = evaluation.compare(*conditions, measure=measures, pairs=pairs)
        else:
            settings = play.settings(variant)
            for setting in settings:
                check_measures(measures, setting)
            found = evaluation.compare(*_played(conditions, settings, play.games, run), measure=measures, pairs=pairs)
        tables.write(found.rows())
        if as_json:
            print_json(found.to_dict())
        else:
            print_tables(contrast_table(found))


def _played(
    policies: Sequence[str], settings: Sequence[GameSettings], games: int, run: RunOptions
) -> list[evaluation.SelfPlayResult]:
    """Self-play of every policy under all rules."""
    if len(settings) * len(policies) < 2:
        raise evaluation.EvaluationError(
            "nothing to compare: give two or more policies, an option with several values (--years 5,10), or the "
            "folder of an experiment"
        )
    return run.play(
        policies_of(policies), settings, lambda each: [plan_self_play(policy, games, each) for policy in policies]
    )
