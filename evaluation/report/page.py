"""The report of an experiment: a self-contained HTML page with figures, numbers and replays (template: report.html).

All text from outside (titles, specs, paths) is escaped; the page has no scripts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import welfare_env
from evaluation.measures.intervals import FEWEST_GAMES, Estimate
from evaluation.measures.lm_usage import answering, share_of_schema, share_repaired
from evaluation.report.figures import MADE_UP, as_svg, figures_of, full_label
from evaluation.tables.game_tables import BRACKETS
from evaluation.tables.measure_names import NAMES
from evaluation.tables.rules_text import games_sentence, option_sentences, rules_sentence

ANSWERED = ["condition", "measure", "answered by", "calls", "failed", "match the schema", "repaired"]
ABOUT = (
    "Model names reported by the servers, with the number of replies; share of replies that match the schema that was "
    "sent; share of replies that were invalid JSON but could be repaired. All seats of language models, including "
    "deviators."
)
EXACT = ("exact_gain",)
OF_MODELS = ("kept_promises", "tokens_per_game", "dollars_per_game")


def report_page(study: Mapping[str, Any], command: str = "") -> str:
    """The page of an experiment.

    Args:
        study: `ExperimentResult.to_dict()`, with "replays" as added by `write_results`.
        command: the command that produced the result; "" for none.

    Raises:
        EvaluationError: the experiment has figures, and matplotlib is not installed.
    """
    from jinja2 import Environment, FileSystemLoader

    pages = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    pages.filters |= {"kinds": _kinds, "cell": _cell}
    count = study["games"]
    shown = "95% intervals" if count >= FEWEST_GAMES else "their range"
    replays = [(full_label(each), each["replays"]) for each in study["conditions"] if each.get("replays")]
    return pages.get_template("report.html").render(
        study=study,
        command=command,
        version=welfare_env.__version__,
        rules=rules_sentence(study),
        games=games_sentence(study),
        options=list(option_sentences(study)),
        caveats=list(caveats(study)),
        figures=[(title, as_svg(figure, title)) for title, figure in figures_of(study)],
        measured=f"Means over {count} games, with {shown}" if count > 1 else "One game per condition",
        numbers=table_cells(study),
        brackets=BRACKETS,
        answered=answer_rows(study),
        answers=ANSWERED,
        about=ABOUT,
        replays=replays,
    )


def _kinds(rows: Sequence[Sequence[str]]) -> list[Any]:
    """For each column, its class: text is aligned left and may break, numbers are aligned right."""
    from markupsafe import Markup

    columns = zip(*rows, strict=True)
    return [Markup(" class=words") if any(cell[:1].isalpha() for cell in column) else "" for column in columns]


def _cell(cell: str, kind: str) -> Any:
    """A cell with its interval below its value; specs may break after punctuation."""
    from markupsafe import Markup, escape

    inside = re.sub(r"^(-?[\d.,]+)\s(\[.*\]|\(.*\))$", r"\1<small>\2</small>", str(escape(cell)))
    return Markup(re.sub(r"(?<=[,:=/])(?=\S)", "<wbr>", inside) if kind else inside)  # noqa: S704 (escaped)


def caveats(study: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on what the numbers do not show."""
    known = known_measures(study)
    if study["games"] < FEWEST_GAMES and not {*known} <= {*EXACT}:
        yield (
            f"With fewer than {FEWEST_GAMES} games there is no interval: parentheses show the smallest and largest "
            "value. Play more games for an interval."
        )
    results = [cell["result"] for condition in study["conditions"] for cell in condition["cells"]]
    notes = dict.fromkeys(note for result in results for note in result.get("notes", ()))
    yield from (f"{note[:1].upper()}{note[1:]}." for note in notes)
    if any(MADE_UP in condition["profile"] for condition in study["conditions"]):
        yield "lm:scripted/ (in figures “stub”) is a stub with invented replies, for trying out the experiment."
    if {"exploitability", "red-team"} & {*study["measure"]}:
        yield "Exploitability is the gain of the best attack tried, hence a lower bound."
    if "kept_promises" in known:
        yield "Promises are found by English patterns and compared with orders."
    if {"tokens_per_game", "dollars_per_game"} & {*known}:
        yield (
            "Tokens and prices are totals over all seats of a self-play game; a dash means that no language model "
            "played, or that a price is unknown."
        )


def known_measures(study: Mapping[str, Any]) -> list[str]:
    """The measures with a value in some condition; all measures if there are none."""
    conditions = study["conditions"]
    names: list[str] = list(conditions[0]["measures"])
    return [name for name in names if any(each["measures"][name]["value"] is not None for each in conditions)] or names


def written(point: Mapping[str, Any]) -> str:
    """ "4.84 [4.80, 4.89]"; if there is none "4.84 (4.60 to 5.10, n=3)" or "4.84 [identical]"; "-" for nan."""
    if point["value"] is None or math.isnan(point["value"]):
        return "-"
    digits = ".2f" if abs(point["value"]) < 1000 else ",.0f"
    estimate = Estimate.from_dict(point)
    return f"{estimate.value:{digits}} {estimate.around(digits, in_table=True)}".strip()


def value_cell(measure: str, point: Mapping[str, Any]) -> str:
    """A value with its interval; without it for exact values and costs per game."""
    text = written(point)
    return text.partition(" ")[0] if measure in EXACT or measure.endswith("_per_game") else text


def table_cells(study: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of numbers: one row per condition; a leaderboard also shows the package's version."""
    measures = known_measures(study)
    swept = list(study["swept"])
    has_sets = any(condition["coalitions"] for condition in study["conditions"])
    head = ["profile", *(["coalitions"] if has_sets else []), *swept, *(NAMES[name] for name in measures), "games"]
    rows = []
    for condition in study["conditions"]:
        cells = [condition["profile"]] + ([condition["coalitions"]] if has_sets else [])
        cells += [str(condition["swept"][name]) for name in swept]
        cells += [value_cell(name, condition["measures"][name]) for name in measures]
        played = [each["n"] for name, each in condition["measures"].items() if name not in (*EXACT, *OF_MODELS)]
        rows.append([*cells, str(played[0]) if played else "-"] + [condition["version"]] * study["leaderboard"])
    return head + ["version"] * study["leaderboard"], rows


def answer_rows(study: Mapping[str, Any]) -> list[list[str]]:
    """One row per condition and measure in which language models played, with the columns `ANSWERED`."""
    return [
        [
            full_label(condition),
            cell["measure"],
            answering(used.get("answered_by", {})),
            f"{used['calls']:,}",
            f"{used['failed']:,}",
            share_of_schema(used.get("obeyed", 0), used.get("with_schema", 0)),
            share_repaired(used["losses"].get("repaired", 0), used["calls"] - used["failed"]),
        ]
        for condition in study["conditions"]
        for cell in condition["cells"]
        if (used := cell["result"].get("language_models"))
    ]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with escaped cells."""
    lines = [" | ".join(re.sub(r"([\\`*_<>|#~&$\[\]])", r"\\\1", cell) for cell in cells) for cells in (head, *rows)]
    return "".join(f"| {line} |\n" for line in (lines[0], " | ".join(["---"] * len(head)), *lines[1:]))
