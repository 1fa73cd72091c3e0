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
    read_coalitions,
    read_numbers,
)
from evaluation.experiments.collusion import (
    CHOOSING,
    SIZES,
    check_coalitions,
    count_collusion_games,
    read_attackers,
)
from evaluation.measures.lm_usage import usage_table
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
        setting, profile = play.setting(), read_profile(policy)
        board = load_board(play.map_name)
        given = None if coalitions is None else read_coalitions(coalitions, board.powers)
        chosen = check_coalitions(board, sizes, given)
        tables.check()
        if witness is not None:
            check_file(witness)
        deviators = read_attackers(attacker or None, profile, policy, evaluation.Setting(**setting))
        total = count_collusion_games(board, deviators, chosen, play.games, choosing)
        playing: list[ProfileLike] = [profile, *(spec for each in deviators for spec in each.policies)]
        with run.playing(playing, total) as means:
            result = evaluation.collusion(
                policy,
                play.games,
                sizes=sizes,
                coalitions=given,
                attackers=attacker or None,
                choosing=choosing,
                **setting,
                **means,
            )
        tables.write(result.rows())
        if witness is not None:
            result.save_witness(witness)
        if as_json:
            print_json(result.to_dict())
            return
        print_tables(collusion_table(result), surplus_table(result.best))
        if result.found.usage is not None:
            print_tables(usage_table([("collusion", result.found.usage)]))
