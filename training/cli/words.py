"""``welfare-env train words``: the effect of trained players' messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from agents.runtime.command_options import with_options
from agents.runtime.results import tables_of
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from training.cli.console import errors_in_one_line


@errors_in_one_line("nothing is saved; the same command starts again")
@with_options
def command(
    folder: Annotated[Path, typer.Argument(help="The folder of a training with --press tokens.")],
    tables: TableOptions,
    games: Annotated[int, typer.Option(help="Games per message condition.")] = 200,
    way: Annotated[
        str | None,
        typer.Option(
            metavar="drawn|greedy|'greedy orders'",
            help="How words and orders are chosen: sampled (drawn) or the most probable ones (greedy).",
            show_default="as the checkpoint plays",
        ),
    ] = None,
    best: Annotated[bool, typer.Option("--best", help="Use the best iterate instead of the last.")] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same results.")] = 0,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Do words change outcomes? Plays the training's games with words as sent, shuffled among games, and removed."""
    from training.word_effects import word_effects

    tables.check()
    found = word_effects(folder, games, way, best, seed)
    tables.write(found.rows())
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, allow_nan=False))
    else:
        print_tables(*tables_of(found))
