"""The folder of an experiment's results: report, data, and replays."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agents.runtime.files import parse_json, read_file, reason, shown
from evaluation.checks import EvaluationError
from evaluation.experiment_files.experiment import ExperimentResult, Measurement
from evaluation.measures.lm_usage import without_transcripts
from evaluation.report.figures import drawn, figures_of
from evaluation.report.page import ABOUT, ANSWERED, answer_rows, markdown_table, report_page, table_cells
from evaluation.report.replays import write_replay
from evaluation.tables.game_tables import BRACKETS
from evaluation.tables.rules_text import games_sentence, rules_sentence
from welfare_env.extras import install_extra
from welfare_env.writing import replaced

PAGE, NUMBERS, REPLAYS, LEADERBOARD = "report.html", "results.json", "replays", "leaderboard.md"
REPLAYS_WRITTEN = 24  # default maximum; 0.7 MB each
ENDINGS = (".svg", ".png", ".pdf")


def write_results(
    result: ExperimentResult,
    folder: Path,
    command: str = "",
    replays: int = REPLAYS_WRITTEN,
) -> Path:
    """Write report.html, results.json and replay pages of typical games; each file atomically.

    A leaderboard is sorted by welfare, and also written as leaderboard.md.

    Args:
        command: the command line, for the page.
        replays: maximum number of replay pages.

    Returns:
        The path of the report.

    Raises:
        EvaluationError: a file cannot be written, or matplotlib is missing.
        RecordError: a game cannot be written.
    """
    study = result.to_dict()
    check_writable(folder)
    left = replays
    for condition, each in zip(study["conditions"], result.conditions, strict=True):
        shown = [cell for cell in each.cells if cell.witness is not None][:left]
        left -= len(shown)
        condition["replays"] = [_write_replay(folder, condition, cell) for cell in shown]
    _remove_stale(folder, study)
    if study["leaderboard"]:
        study["conditions"].sort(key=_welfare, reverse=True)
    _write(folder / NUMBERS, (json.dumps(study, indent=1, allow_nan=False) + "\n").encode())
    _write(folder / PAGE, report_page(study, command).encode("utf-8", "replace"))
    if study["leaderboard"]:
        _write(folder / LEADERBOARD, leaderboard(study).encode("utf-8", "replace"))
    return folder / PAGE


def _write_replay(folder: Path, condition: Mapping[str, Any], cell: Measurement) -> list[str]:
    """Write the replay page of a cell's typical game; return its description, and its path in the folder."""
    place = json.dumps([condition.get(name) for name in ("profile", "coalitions", "swept")], sort_keys=True)
    digest = hashlib.sha256(f"{place} {cell.measure}".encode()).hexdigest()[:8]
    slug = re.sub(r"[^\w]+", "-", condition["profile"])[:40].strip("-")
    path = f"{REPLAYS}/{slug}-{cell.measure}-{digest}.html"
    write_replay(without_transcripts(cell.witness or {}), folder / path)
    return [cell.measure, path]


def _remove_stale(folder: Path, study: Mapping[str, Any]) -> None:
    """Remove replays of an earlier run that this study does not link to."""
    linked = {path for condition in study["conditions"] for _, path in condition.get("replays", ())}
    for stale in (folder / REPLAYS).glob("*.html"):
        if f"{REPLAYS}/{stale.name}" not in linked:
            stale.unlink()


def _welfare(condition: Mapping[str, Any]) -> float:
    value = condition["measures"]["root_nash_welfare"]["value"]
    return -math.inf if value is None else float(value)


def leaderboard(study: Mapping[str, Any]) -> str:
    """A leaderboard as a Markdown page."""
    tried = ", ".join(f"`{deviator}`" for deviator in study["deviators"])
    deviators = f" Deviators: {tried}." if tried else ""
    asked = answer_rows(study)
    answered = f"\n## Language models\n\n{markdown_table(ANSWERED, asked)}\n{ABOUT}\n" if asked else ""
    return (
        f"# {study['title']}\n\n{study['question']}\n\n{markdown_table(*table_cells(study))}\n"
        f"Means {BRACKETS}. {games_sentence(study)} {rules_sentence(study)}{deviators} [report.html]({PAGE}) has "
        f"figures, [results.json]({NUMBERS}) all numbers.\n{answered}"
    )


def read_study(path: Path) -> dict[str, Any]:
    """Read the results of an experiment from its folder, or from a results.json.

    Raises:
        EvaluationError: no such file, or it is not an experiment's results.
    """
    file = path / NUMBERS if path.is_dir() else path
    try:
        study = dict(parse_json(read_file(file)))
    except (OSError, ValueError, TypeError) as error:
        raise EvaluationError(f"{shown(file)}: not results of an experiment: {reason(error)}") from error
    if not {"experiment", "title", "figures", "conditions", "swept", "seed", "games"} <= study.keys():
        raise EvaluationError(f"{shown(file)}: not results of an experiment: give a file written by `experiment`")
    return study


def write_figures(study: Mapping[str, Any], folder: Path, ending: str = ".png") -> list[Path]:
    """Draw every figure into its own file: figure-1.png ...

    Raises:
        EvaluationError: an unknown format, a file cannot be written, or matplotlib is missing.
    """
    if ending not in ENDINGS:
        raise EvaluationError(f"unknown format {ending!r:.40}: choose one of {', '.join(ENDINGS)}")
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, (_, figure) in enumerate(figures_of(study), 1):
            path = folder / f"figure-{number}{ending}"
            _write(path, drawn(figure, ending.removeprefix(".")))
            written.append(path)
    except OSError as error:
        raise EvaluationError(f"{shown(folder)}: cannot be written: {reason(error)}") from error
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, ZeroDivisionError) as error:
        raise EvaluationError(f"the results cannot be drawn, since a part is missing or invalid: {error}") from error
    return written


def check_writable(folder: Path) -> None:
    """Check before the first game that results can be written and drawn.

    Raises:
        EvaluationError: the folder cannot be created or written, or matplotlib is missing.
    """
    if not (find_spec("matplotlib") and find_spec("jinja2")):
        raise EvaluationError(f"reports have figures, which need {install_extra('plot')}")
    try:
        (folder / REPLAYS).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{shown(folder)}: cannot be written: {reason(error)}") from error
    if not os.access(folder, os.W_OK):
        raise EvaluationError(f"{shown(folder)}: cannot be written: no permission")


def _write(path: Path, content: bytes) -> None:
    try:
        with replaced(path) as draft:
            draft.write_bytes(content)
    except OSError as error:
        raise EvaluationError(f"{shown(path)}: cannot be written: {reason(error)}") from error
