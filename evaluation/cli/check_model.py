"""The command ``check-model``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

import agents
from agents.lm.checking import QUESTIONS, Finding, check_model
from agents.lm.player.policy import language_models
from agents.runtime.progress import metered
from agents.runtime.table_options import Json
from agents.runtime.tables import print_tables
from evaluation.checks import EvaluationError
from evaluation.cli.console import errors_in_one_line, print_json


def check(
    spec: Annotated[
        str, typer.Argument(metavar="SPEC", help="A language model, such as lm:openai/MODEL,base_url=URL.")
    ],
    as_json: Json = False,
) -> None:
    """Test a language model with the questions of every kind of phase: schemas, and the form of replies.

    Exits with status 1 if a setting should be changed.
    """
    with errors_in_one_line(""), metered("asking", QUESTIONS, "questions") as meter:
        players = list(language_models(agents.make(spec)))
        if len(players) != 1:
            raise EvaluationError(f"{spec!r:.200}: give one language model, such as lm:openai/MODEL,base_url=URL")
        findings = check_model(players[0], lambda: meter.advance(1))
    if as_json:
        print_json([vars(each) for each in findings])
    else:
        print_tables(table(spec, findings))
    if not all(each.is_good for each in findings):
        raise typer.Exit(1)


def table(spec: str, findings: list[Finding]) -> Table:
    """One row per finding: ✓ good, ✗ to change, - not tested."""
    caption = None if all(each.is_good for each in findings) else "✗: change this setting"
    shown = Table(title=f"Check of {spec}", caption=caption)
    for name in ("", "check", "result", "recommended setting"):
        shown.add_column(name, overflow="fold")
    for each in findings:
        mark = "✗" if not each.is_good else "✓" if each.is_tested else "-"
        shown.add_row(mark, each.name, each.result, each.advice)
    return shown
