"""The command ``train psro``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rich.table import Table

from agents.runtime.command_options import with_options
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from modal_env.console import plain_console
from training.cli.console import errors_in_one_line, training_progress
from training.population.config import PopulationConfig

if TYPE_CHECKING:
    from training.population.psro import Step

DEFAULTS = PopulationConfig()
KEPT = "finished parts are saved; the same command resumes"


@errors_in_one_line(KEPT)
@with_options
def command(
    tables: TableOptions,
    config: PopulationConfig = DEFAULTS,
    as_json: Json = False,
) -> None:
    """A population: each policy is a best response to a mix of the earlier ones, whose exploitability is measured.

    Each policy extends the table of payoffs, drawn in FOLDER/payoffs-STEP.png. Rerunning the command resumes it; more
    --steps extend it.
    """
    tables.check()
    steps = train_with_progress(config)
    tables.write([step.row(config.seed) for step in steps])
    if as_json:
        print(json.dumps([asdict(step) for step in steps], indent=2))
    else:
        show_steps(steps)


def show_population(config: PopulationConfig) -> None:
    """Train, and print the steps as a table."""
    show_steps(train_with_progress(config))


def show_steps(steps: list[Step]) -> None:
    """Print the steps as a table."""
    print_tables(step_table(steps))
    plain_console(stderr=True).print(f"the last mix: {steps[-1].text}", soft_wrap=True)


def train_with_progress(config: PopulationConfig) -> list[Step]:
    """Train with a progress bar."""
    total = max(1, config.steps * config.iterations)
    with training_progress(total, lambda finished: finished.line, config.folder, KEPT) as show:

        def progressed(step: int, progress: Any) -> None:
            done = (step - 1) * config.iterations + progress.iteration
            line = f"response {step}: return {progress.logged['play/return']:6.2f}"
            show.iteration(SimpleNamespace(iteration=done, line=line))

        steps: list[Step] = import_module("training.population.psro").train_population(config, on_progress=progressed)
    return steps


def step_table(steps: list[Step]) -> Table:
    """The steps as a table."""
    table = Table(title="Mixes of the population; points a year")
    name_of = import_module("training.population.psro").name_of
    columns: dict[str, Callable[[Step], str]] = {
        "responses": lambda step: str(step.step),
        "mix": lambda step: ", ".join(
            name_of(policy) if share == 1 else f"{share:g} {name_of(policy)}" for policy, share in step.mix.items()
        ),
        "payoff": lambda step: f"{step.payoff:.3f}",
        "regret in the population": lambda step: f"{step.regret:.3f}",
    }
    if any(step.gap is not None for step in steps):
        columns["exact gap"] = lambda step: _number(step.gap)
        columns["mean gap"] = lambda step: _number(step.mean_gap)
        columns["welfare"] = lambda step: _number(step.welfare)
    if any(step.attack for step in steps):
        columns["the portfolio gains"] = _attack
    for name in columns:
        table.add_column(name, justify="left" if name == "mix" else "right")
    for step in steps:
        table.add_row(*(cell(step) for cell in columns.values()))
    notes = [f"no exact gap: {why}" for why in dict.fromkeys(step.why for step in steps if step.why)]
    if games := next((step.attack["games"] for step in steps if step.attack), None):
        notes.append(
            f"the portfolio gains: its best deviator in its best seat, chosen on other games; mean of {games} games "
            "and 95% interval; steps.jsonl says which"
        )
    table.caption = "\n".join(notes) or None
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _attack(step: Step) -> str:
    found = step.attack
    if not found:
        return "-"
    interval = "" if found["low"] is None else f" [{found['low']:.2f}, {found['high']:.2f}]"
    return f"{found['gain']:.2f}{interval}"
