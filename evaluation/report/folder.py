"""The folder of an experiment's results: the report, its data, and its games."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agents.files import parse_json, read_file, reason, shown
from evaluation.checks import EvaluationError
from evaluation.experiments.experiment import ExperimentResult
from evaluation.experiments.self_play import SelfPlayResult
from evaluation.measures.lm_usage import without_transcripts
from evaluation.report.figures import drawn, figures_of
from evaluation.report.page import report_page
from welfare_env.game.record import save_record
from welfare_env.writing import replaced

PAGE, NUMBERS, GAMES = "report.html", "results.json", "games"
ENDINGS = (".svg", ".png", ".pdf")


def write_results(result: ExperimentResult, folder: Path, command: str = "") -> Path:
    """Write report.html, results.json and, for self-play, every game; each file atomically.

    Of language models the games have no prompts and no raw replies.

    Returns:
        The path of the report.

    Raises:
        EvaluationError: a file cannot be written, or matplotlib is missing.
        RecordError: a game cannot be written.
    """
    study = result.to_dict()
    links: dict[int, list[str]] = {}
    check_writable(folder)
    for stale in (folder / GAMES).glob("*.json"):
        stale.unlink()
    for number, each in enumerate(result.conditions):
        records = each.result.records if isinstance(each.result, SelfPlayResult) else ()
        for place, record in enumerate(records):
            name = f"{number:03}-{place:03}.json"
            save_record(without_transcripts(record), folder / GAMES / name)
            links.setdefault(number, []).append(f"{GAMES}/{name}")
    _write(folder / NUMBERS, (json.dumps(study, indent=1, allow_nan=False) + "\n").encode())
    _write(folder / PAGE, report_page(study, command, links).encode("utf-8", "replace"))
    return folder / PAGE


def read_study(path: Path) -> dict[str, Any]:
    """Read the results of an experiment from its folder, or from a results.json.

    Raises:
        EvaluationError: no such file, or it holds something else.
    """
    file = path / NUMBERS if path.is_dir() else path
    try:
        study = dict(parse_json(read_file(file)))
    except (OSError, ValueError, TypeError) as error:
        raise EvaluationError(f"{shown(file)}: not results of an experiment: {reason(error)}") from error
    if not {"experiment", "title", "figures", "conditions", "swept", "seed", "games"} <= study.keys():
        raise EvaluationError(f"{shown(file)}: not results of an experiment: give what `experiment` wrote")
    return study


def write_figures(study: Mapping[str, Any], folder: Path, ending: str = ".png") -> list[Path]:
    """Draw every figure into its own file: figure-1.png ...

    Raises:
        EvaluationError: an unknown kind of file, one that cannot be written, or matplotlib is missing.
    """
    if ending not in ENDINGS:
        raise EvaluationError(f"pictures end in {', '.join(ENDINGS)}, not in {ending!r:.40}")
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
        EvaluationError: the folder cannot be made or written, or matplotlib is missing.
    """
    if find_spec("matplotlib") is None:
        raise EvaluationError("reports have figures, which need the extra plot: in the clone, pip install -e '.[plot]'")
    try:
        (folder / GAMES).mkdir(parents=True, exist_ok=True)
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
