"""``welfare-env train words``: whether the words of trained players change what happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table

from agents.tables import print_tables
from training.cli.console import errors_told


@errors_told("nothing is kept, the same command starts again")
def command(
    folder: Annotated[Path, typer.Argument(help="The folder of a training with --press tokens.")],
    games: Annotated[int, typer.Option(help="Games for each kind of hearing.")] = 200,
    way: Annotated[
        Optional[str],  # noqa: UP045 (typer reads it)
        typer.Option(
            metavar="drawn|greedy|'greedy orders'",
            help="How words and orders are chosen; greedy: the most probable ones.",
            show_default="as the checkpoint plays",
        ),
    ] = None,
    best: Annotated[bool, typer.Option("--best", help="The best iterate, not the last.")] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same results.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:  # fmt: skip
    """Do words change what happens? The games of a training, with words as said, shuffled among games, and removed."""
    from evaluation.messages.word_effects import word_effects

    found = word_effects(folder, games, way, best, seed)
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, allow_nan=False))
    else:
        print_tables(effects_table(found, folder))


def effects_table(found: Any, folder: Path) -> Table:
    """`evaluation.messages.word_effects.WordEffects` as a table."""
    table = Table(
        title=f"{folder}: what words do ({found.way})",
        caption=f"means over games [95% interval]; orders tell {found.bits:.2f} bits of the words that were heard",
    )
    for name in ("words of others", "return of a learning seat", "less than as said"):
        table.add_column(name, justify="left" if name == "words of others" else "right")
    for heard, value in found.returns.items():
        table.add_row(heard, f"{value:.2f}", f"{found.lost[heard]:.2f}" if heard in found.lost else "")
    return table
