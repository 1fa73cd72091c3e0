"""The commands cross-play and compare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from agents.runtime.command_options import with_options
from agents.runtime.tables import print_tables, print_text
from agents.specs import listed
from evaluation.cli.console import errors_in_one_line
from evaluation.cli.options import GameOptions, Outputs, RunOptions, Variant, print_usage
from evaluation.experiments.compare import GAMES, check_measures, compare_results
from evaluation.experiments.cross_play import MAX_TYPES, measure_cross_play
from evaluation.experiments.self_play import measure_self_play
from evaluation.play.runner import Begun
from evaluation.tables.comparison_tables import contrast_table
from evaluation.tables.cross_play_tables import cross_play_tables, mix_table


@dataclass(frozen=True)
class ComparedOptions(GameOptions):
    """`GameOptions` with enough games for intervals."""

    games: Annotated[int, typer.Option(min=1, help="Games per policy; below five there are no intervals.")] = GAMES


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
    seats: Annotated[
        str,
        typer.Option(
            metavar="balanced|rotated|fixed|drawn",
            help="Seats of a mix: balanced or rotated (the same), shifted by one in every game; in the map's order; "
            "or random.",
        ),
    ] = "balanced"


@with_options
def cross_play(
    policies: Annotated[list[str], typer.Argument(help="Two or more policies, as for self-play.")],
    play: MixedGameOptions,
    run: RunOptions,
    out: Outputs,
    types: Annotated[int, typer.Option(min=1, help="Maximum number of policies in a mix.")] = MAX_TYPES,
    background: Annotated[
        list[str] | None,
        typer.Option(help="A held-out background player for scenarios; repeat for several."),
    ] = None,
    focal_seats: Annotated[
        list[int] | None,
        typer.Option(help="Number of focal seats among background players; repeat for several.", show_default="1"),
    ] = None,
    variant: Variant = "welfare",
    with_mixes: Annotated[
        bool, typer.Option("--mixes", help="Also show the payoffs in every mix, after the summary.")
    ] = False,
) -> None:
    """Payoffs in every mix of the policies, with the gains of single invaders and symmetric equilibria."""
    with errors_in_one_line():
        seats = "rotated" if play.seats == "balanced" else play.seats
        setting = replace(play, seats=seats).setting(run.store, variant)
        out.check()
        mixes: dict[str, Any] = {"types": types, "background": background or [], "focal_seats": focal_seats or [1]}
        result = run.result(measure_cross_play(policies, play.games or None, setting, **mixes))
        if out.written(result.rows(), result.to_dict()):
            return
        print_tables(*cross_play_tables(result), *([mix_table(result)] if with_mixes else []))
        if not with_mixes:
            print_text(f"{len(result.mixes)} mixes; for the payoffs in each: --mixes, --csv or --json")
        print_usage([("cross-play", result.usage)])


@with_options
def compare(
    policies: Annotated[
        list[str], typer.Argument(help="Profiles; of a single one, its policies. The first is the baseline.")
    ],
    run: RunOptions,
    out: Outputs,
    play: ComparedOptions,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="What to compare, e.g. conflicts, or welfare_per_year:FRANCE. Without a power: every power.",
            show_default="root_nash_welfare",
        ),
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Compare all pairs, not only with the baseline.")] = False,
    variant: Variant = "welfare",
) -> None:
    """Differences between policies over games with the same seeds, with confidence intervals."""
    with errors_in_one_line():
        measures = [name for text in measure or () for name in listed(text)] or None
        out.check()
        setting = play.setting(run.store, variant)
        check_measures(policies, measures, setting)
        begun = Begun(*(measure_self_play(policy, play.games, setting) for policy in policies))
        with run.runner(begun) as runner:
            found = compare_results(begun.results(runner), measures, pairs)
        if not out.written(found.rows(), found.to_dict()):
            print_tables(contrast_table(found))
