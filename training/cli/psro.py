"""``welfare-env train psro``: trains a population with a progress bar, and prints a table of its steps."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rich.table import Table

from agents.runtime.command_options import with_options
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from training.cli.console import errors_in_one_line, training_progress
from training.population.config import PopulationConfig

if TYPE_CHECKING:
    from training.population.psro import Step

DEFAULTS = PopulationConfig()
KEPT = "finished parts are saved; the same command resumes"


@errors_in_one_line(KEPT)
@with_options
def command(tables: TableOptions, config: PopulationConfig = DEFAULTS, as_json: Json = False) -> None:
    """A population: each policy is a best response to a mix of the earlier ones, whose exploitability is measured.

    Rerunning the command resumes it; more --steps extend it.
    """
    tables.check()
    steps = train_with_progress(config)
    tables.write([step.row() for step in steps])
    if as_json:
        print(json.dumps([asdict(step) for step in steps], indent=2))
    else:
        print_tables(step_table(steps))


def train_with_progress(config: PopulationConfig) -> list[Step]:
    """Train with a progress bar."""
    total = max(1, config.steps * config.iterations)
    with training_progress(total, lambda finished: finished.line, config.folder, KEPT) as show:

        def progressed(step: int, progress: Any) -> None:
            done = (step - 1) * config.iterations + progress.iteration
            line = f"response {step}: return {progress.logged['play/return']:6.2f}"
            show.iteration(SimpleNamespace(iteration=done, line=line))

        steps: list[Step] = import_module("training.population.psro").train_population(config, progressed)
    return steps


def step_table(steps: list[Step]) -> Table:
    """The steps as a table."""
    name_of = import_module("training.population.psro").name_of
    table = Table(title="Mixes of the population; points a year")
    for name in ("responses", "mix", "exact gap", "mean gap", "welfare", "the portfolio gains"):
        table.add_column(name, justify="left" if name == "mix" else "right")
    for step in steps:
        mix = ", ".join(f"{share:g} {name_of(policy)}" for policy, share in step.mix.items())
        exact = ["-" if value is None else f"{value:.3f}" for value in (step.gap, step.mean_gap, step.welfare)]
        interval = "" if step.low is None else f" [{step.low:.2f}, {step.high:.2f}]"
        table.add_row(str(step.step), mix, *exact, "-" if step.gain is None else f"{step.gain:.2f}{interval}")
    table.caption = "- in place of exact values: the mix has none; the portfolio's best attack, on fresh games, instead"
    return table
