"""``welfare-env train modal``: trains with a progress bar and prints a table of the learned mix."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated

import typer

from agents.runtime.command_options import with_options
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from training.cli.console import errors_in_one_line, training_progress
from training.modal.config import ModalConfig
from training.modal.trainer import ModalProgress, ModalResult, result_table, train_modal


@errors_in_one_line()
@with_options
def command(
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT", help="A program to choose, or to call X on; may be given several times.",
            show_default="the post's four",
        ),
    ] = None,
    *,
    tables: TableOptions,
    config: ModalConfig = ModalConfig(),  # noqa: B008 (frozen)
    as_json: Json = False,
) -> None:  # fmt: skip
    """Learn to choose or write programs in modal combat: against a fixed player, or in self-play.

    The result is a mixed strategy over programs, as a policy: agents.make("mix:..."). Rerun the command to resume.
    """
    tables.check()
    result = train_with_progress(replace(config, agents=tuple(agent or config.agents)))
    tables.write(result.rows())
    if as_json:
        print(json.dumps(result.to_dict(), indent=2))
        return
    print_tables(*result_table(result))
    print(f"policy: {result.spec}")


def train_with_progress(config: ModalConfig) -> ModalResult:
    """Train with a progress bar."""
    config.setting()  # an invalid one raises before the folder is made
    with training_progress(config.iterations, _line, config.folder) as show:
        return train_modal(config, show.iteration)


def _line(progress: ModalProgress) -> str:
    return f"paid {progress.logged['play/payoff']:.3f}  {progress.program:.30}"
