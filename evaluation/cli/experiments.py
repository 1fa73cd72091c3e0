"""The command ``experiment``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from agents.runtime.command_options import with_options
from agents.runtime.tables import new_table, print_tables
from evaluation.cli.console import KEPT, RESTARTS, errors_in_one_line
from evaluation.cli.options import Outputs, RunOptions, command_line
from evaluation.experiment_files.description import load_experiment, shipped_experiments
from evaluation.experiment_files.experiment import measurements, read_experiment, result_of
from evaluation.play.runner import Begun
from evaluation.report.figures import full_label
from evaluation.report.page import known_measures, value_cell
from evaluation.report.report_folder import (
    REPLAYS_WRITTEN,
    check_writable,
    read_study,
    write_figures,
    write_results,
)
from evaluation.tables.game_tables import MEANING
from evaluation.tables.measure_names import NAMES
from evaluation.tables.rules_text import games_sentence
from modal_env.console import plain_console

SHOWN = 3  # measures in the terminal
SHORT = {
    "root_nash_welfare": "root Nash welfare",
    "exploitability": "exploit-\nability",
    "proficiency": "basic\nproficiency",
    "kept_promises": "kept\npromises",
    "tokens_per_game": "tokens\na game",
    "dollars_per_game": "$ a game",
}


@with_options
def experiment(
    run: RunOptions,
    files: Outputs,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE.toml]",
            help="A shipped experiment, or a file; with --plot, the folder of an experiment.",
            show_default="list them",
        ),
    ] = None,
    profile: Annotated[
        list[str] | None, typer.Option(help="Replaces the experiment's profiles; repeat for several.")
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option(help="Adds to the experiment's profiles; repeat for several.")
    ] = None,
    games: Annotated[
        int | None, typer.Option(min=1, help="Games per condition.", show_default="the experiment's")
    ] = None,
    selection_games: Annotated[
        int | None, typer.Option(min=1, help="Selection games per attack.", show_default="the experiment's")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed gives the same results.", show_default="the experiment's")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the report, its data and replays.", show_default="runs/NAME"),
    ] = None,
    replays: Annotated[
        int, typer.Option(min=0, help="Maximum number of replay pages to write (0.7 MB each on the standard map).")
    ] = REPLAYS_WRITTEN,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="png|svg|pdf",
            help="Play nothing: redraw the figures of an experiment's folder as files of this format.",
            show_default="none",
        ),
    ] = None,
) -> None:
    """Play or resume an experiment and write its report. Without a name: list the shipped experiments."""
    with errors_in_one_line(KEPT if plot is None else RESTARTS):
        if source is None:
            _list()
            return
        if plot is not None:
            _draw(Path(source), out, plot)
            return
        chosen = read_experiment(source, profile or (), games=games, selection_games=selection_games, seed=seed)
        chosen = chosen.with_profiles((*chosen.profiles, *(add or ())))
        folder = out or Path("runs", chosen.name)
        check_writable(folder)
        files.check()
        measuring = measurements(chosen)
        begun = Begun(*measuring.values())
        with run.runner(begun) as runner:
            result = result_of(chosen, dict(zip(measuring, begun.results(runner), strict=True)))
        page = write_results(result, folder, command_line("experiment"), replays)
        if files.written(result.rows(), result.to_dict()):
            return
        print_tables(_table(result.to_dict()))
        plain_console(stderr=True).print(f"report: {page}", soft_wrap=True)


def _draw(study: Path, out: Path | None, ending: str) -> None:
    """Redraw the figures of an experiment, given its folder or its results.json."""
    folder = out or (study if study.is_dir() else study.parent)
    for path in write_figures(read_study(study), folder, f".{ending.removeprefix('.')}"):
        print(path)


def _list() -> None:
    found = ((name, load_experiment(name)) for name in shipped_experiments())
    rows = ((name, each.question, str(len(each.conditions))) for name, each in found)
    caption = "welfare-env experiment NAME; --profile SPEC replaces the profiles"
    print_tables(new_table("Experiments", caption, ("name", "question", ">conditions"), rows))


def _table(study: dict) -> Table:
    """One row per condition, with the first measures of the figures; the report has all measures."""
    known = known_measures(study)
    plotted = [name for figure in study["figures"] for name in figure["y"] if name in known]
    is_wide = study["leaderboard"]
    shown = known if is_wide else (list(dict.fromkeys(plotted)) or known)[:SHOWN]
    heads = (SHORT.get(name, NAMES[name]) if is_wide else NAMES[name] for name in shown)
    rows = []
    for condition in study["conditions"]:
        cells = [value_cell(name, condition["measures"][name]) for name in shown]
        cells = [cell.replace(" [", "\n[").replace(" (", "\n(") for cell in cells] if is_wide else cells
        rows.append((full_label(condition), *cells))
    columns = ("|condition", *(f">{head}" for head in heads))
    return new_table(study["title"], f"{games_sentence(study)} {MEANING}", columns, rows)
