"""The command ``collusion``."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

import evaluation
from agents.command_options import with_options
from agents.specs import ProfileLike, read_profile
from agents.table_files import check_file
from agents.table_options import TableOptions
from agents.tables import print_tables
from evaluation.cli.console import errors_told, print_json
from evaluation.cli.options import (
    AttackGameOptions,
    Json,
    RunOptions,
    WholeNumbers,
    Witness,
    check_single,
    only,
    read_coalitions,
    read_numbers,
)
from evaluation.contrasts.sweep_tables import collusion_sweep
from evaluation.experiments.collusion import (
    CHOOSING,
    SIZES,
    check_coalitions,
    count_collusion_games,
    read_attackers,
)
from evaluation.measures.lm_usage import usage_table
from evaluation.measures.rows import same_columns
from evaluation.report.collusion_tables import collusion_table, surplus_table
from welfare_env import load_board

PAIRS_AND_TRIPLES = WholeNumbers(SIZES)


@with_options
def collusion(
    policy: Annotated[str, typer.Argument(help="The profile: a policy for all seats, or e.g. '4*dove + 3*random'.")],
    play: AttackGameOptions,
    run: RunOptions,
    tables: TableOptions,
    sizes: Annotated[
        WholeNumbers,
        typer.Option(parser=read_numbers, metavar="N[,N...]", show_default="2,3", help="Sizes of the coalitions."),
    ] = PAIRS_AND_TRIPLES,
    coalitions: Annotated[
        Optional[str],  # noqa: UP045 (typer reads it)
        typer.Option(
            help="In place of sizes: pairs (the paper's), all-pairs, or e.g. ENGLAND+TURKEY,ITALY+RUSSIA.",
            show_default="all of these sizes",
        ),
    ] = None,
    attacker: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads it)
        typer.Option(
            help="A policy of the members; may be given several times. One that can play a coalition, such as "
            "pact:years=1, plays all members as one.",
            show_default="the paper's exploiter, raids and pacts",
        ),
    ] = None,
    choosing: Annotated[
        int,
        typer.Option(min=1, help="Games of each coalition for choosing those to measure; the best of them play more."),
    ] = CHOOSING,
    witness: Witness = None,
    as_json: Json = False,
) -> None:
    """Whether powers gain by leaving a profile together, beyond what each gains alone, and what the others lose."""
    with errors_told():
        settings, profile = play.settings(), read_profile(policy)
        board = load_board(play.map_name)
        given = None if coalitions is None else read_coalitions(coalitions, board.powers)
        chosen = check_coalitions(board, sizes, given)
        tables.check()
        if witness is not None:
            check_single(settings, "--witness is a game")
            check_file(witness)
        tried = [
            read_attackers(attacker or None, profile, policy, evaluation.Setting(**setting)) for setting in settings
        ]
        total = sum(count_collusion_games(board, each, chosen, play.games, choosing) for each in tried)
        playing: list[ProfileLike] = [profile, *(spec for some in tried for each in some for spec in each.policies)]
        with run.playing(playing, total) as means:
            results = [
                evaluation.collusion(
                    policy,
                    play.games,
                    sizes=sizes,
                    coalitions=given,
                    attackers=attacker or None,
                    choosing=choosing,
                    **setting,
                    **means,
                )
                for setting in settings
            ]
        tables.write(same_columns(row for each in results for row in each.rows()))
        result = results[0]
        if witness is not None:
            result.save_witness(witness)
        if as_json:
            print_json(only(each.to_dict() for each in results))
            return
        if len(results) > 1:
            print_tables(collusion_sweep(results))
            return
        print_tables(collusion_table(result), surplus_table(result.best))
        if result.found.usage is not None:
            print_tables(usage_table([("collusion", result.found.usage)]))
