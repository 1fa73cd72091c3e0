"""The command ``cross-play``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.runtime.command_options import with_options
from agents.runtime.table_files import check_file, write_page
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables, print_text
from evaluation.cli.console import errors_in_one_line
from evaluation.cli.options import (
    GameOptions,
    RunOptions,
    SomeVariants,
    check_single,
    command_line,
    policies_of,
    written,
)
from evaluation.experiments.cross_play import MAX_TYPES, plan_cross_play
from evaluation.measures.lm_usage import usage_table
from evaluation.report.cross_play_page import cross_play_page, summary
from evaluation.tables.cross_play_tables import cross_play_tables, mix_table
from evaluation.tables.sweep_tables import cross_play_sweep


@dataclass(frozen=True)
class MixedGameOptions(GameOptions):
    """`GameOptions` with a default number of games that balances the seats."""

    games: Annotated[
        int,
        typer.Option(
            min=0,
            help="Games per mix: a multiple of the number of powers, unless --seats drawn; 0 for one per power.",
            show_default="one per power",
        ),
    ] = 0


@with_options
def cross_play(
    policies: Annotated[list[str], typer.Argument(help="Two or more policies, as for self-play.")],
    play: MixedGameOptions,
    run: RunOptions,
    tables: TableOptions,
    share: Annotated[float, typer.Option(help="Play a random sample: this fraction of the mixes.")] = 1.0,
    types: Annotated[int, typer.Option(min=1, help="Maximum number of policies in a mix.")] = MAX_TYPES,
    background: Annotated[
        list[str] | None,
        typer.Option(help="A held-out background player for scenarios; repeat for several."),
    ] = None,
    focal_seats: Annotated[
        list[int] | None,
        typer.Option(help="Number of focal seats among background players; repeat for several.", show_default="1"),
    ] = None,
    variant: SomeVariants = "welfare",
    html: Annotated[
        Path | None, typer.Option(help="Write an HTML page with all tables to this file.", show_default="none")
    ] = None,
    with_mixes: Annotated[
        bool, typer.Option("--mixes", help="Also show the payoffs in every mix, after the summary.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Payoffs in every mix of the policies, with the gains of single invaders and symmetric equilibria."""
    with errors_in_one_line():
        settings = play.settings(variant)
        held_out = background or []
        tables.check()
        if html is not None:
            check_single(settings, "--html is a page")
            check_file(html)
        mixes: dict[str, Any] = {"share": share, "types": types, "background": held_out}
        mixes["focal_seats"] = focal_seats or [1]
        results = run.play(
            policies_of([*policies, *held_out]),
            settings,
            lambda each: [plan_cross_play(policies, play.games or None, each, **mixes)],
        )
        result = results[0]
        if html is not None:
            write_page(cross_play_page(result, command_line("cross-play")), html)
        if written(results, tables, as_json):
            return
        if len(results) > 1:
            print_tables(cross_play_sweep(results), *(mix_table(each) for each in results if with_mixes))
            return
        for sentence in summary(result):
            print_text(sentence)
        print_tables(*cross_play_tables(result), *([mix_table(result)] if with_mixes else []))
        if not with_mixes:
            print_text(f"{len(result.mixes)} mixes; for the payoffs in each: --mixes, --html, --csv or --json")
        if result.usage is not None:
            print_tables(usage_table([("cross-play", result.usage)]))
