"""The command self-play."""

from __future__ import annotations

from typing import Annotated

import typer

from agents.runtime.command_options import with_options
from agents.runtime.tables import print_tables
from evaluation.cli.console import errors_in_one_line
from evaluation.cli.options import GameOptions, Outputs, RunOptions, Variant, print_usage
from evaluation.experiments.self_play import SelfPlayResult, measure_self_play
from evaluation.measures.lm_usage import LMUsage
from evaluation.play.runner import Begun
from evaluation.tables.game_tables import paid_table, self_play_table


@with_options
def self_play(
    policies: Annotated[
        list[str], typer.Argument(help="One or more profiles: a policy for all seats, or e.g. '4*dove + 3*random'.")
    ],
    play: GameOptions,
    run: RunOptions,
    out: Outputs,
    variant: Variant = "welfare",
    scoring: Annotated[
        str | None,
        typer.Option(
            metavar="sum-of-squares|draw-size|concave",
            help="Scoring of games of variant standard.",
            show_default="sum-of-squares",
        ),
    ] = None,
) -> None:
    """Welfare, proficiency, stolen centers and conflicts in self-play, or in mixed profiles."""
    with errors_in_one_line():
        setting = play.setting(run.store, variant, scoring)
        out.check()
        begun = Begun(*(measure_self_play(policy, play.games, setting) for policy in policies))
        with run.runner(begun) as runner:
            results = begun.results(runner)
        if out.written([row for result in results for row in result.rows()], [each.to_dict() for each in results]):
            return
        print_tables(self_play_table(results), *(paid_table(result, "policy") for result in results if result.is_mixed))
        if len(results) == 1 or not results[0].rules.is_welfare:
            print_tables(*(paid_table(result, "power", len(results) == 1) for result in results))
        if len(results) > 1:
            _print_differences(results)
        print_usage([row for result in results for row in _models(result)])


def _models(result: SelfPlayResult) -> list[tuple[str, LMUsage | None]]:
    """Language model usage: one entry, or one per model if there are several."""
    if len(result.usage_by_model) < 2:
        return [(result.policy, result.usage)]
    return [(f"{result.policy}: {model}", usage) for model, usage in result.usage_by_model.items()]


def _print_differences(results: list[SelfPlayResult]) -> None:
    from evaluation.experiments.compare import compare_results
    from evaluation.tables.comparison_tables import contrast_table

    print_tables(contrast_table(compare_results(results), "Differences from the first"))
