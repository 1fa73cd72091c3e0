"""The report of an experiment: a self-contained HTML page with figures, numbers and replays."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import welfare_env
from evaluation.measures.intervals import FEWEST_GAMES, Estimate
from evaluation.measures.lm_usage import answering, share_of_schema, share_repaired
from evaluation.report.figures import MADE_UP, as_svg, figures_of, full_label
from evaluation.report.markup import framed, html_table, paragraph, scrolling, whole_page
from evaluation.tables.game_tables import BRACKETS
from evaluation.tables.measure_names import NAMES
from evaluation.tables.rules_text import games_sentence, option_sentences, rules_sentence

MADE = (
    f"welfare-env {welfare_env.__version__}; the same command gives the same numbers. Intervals are 95% (see the page "
    '"Measures" of the documentation). results.json has the full results, such as the gain of every attack.'
)
ANSWERED = ["condition", "measure", "answered by", "requests", "failed", "match the schema", "repaired"]
ABOUT = (
    "Model names reported by the servers, with the number of replies; share of replies that match the schema that was "
    "sent; share of replies that were invalid JSON but could be repaired. All seats of language models, including "
    "deviators."
)
EXACT = ("exact_gain",)
OF_MODELS = ("kept_promises", "tokens_per_game", "dollars_per_game")
LIKE_FOR_LIKE = "Our games use the rules and measures of the authors' program"
UNLIKE = (
    "Our games use the paper's rules; the authors' program also scores points after retreats, executes builds and "
    "disbands together, and counts conflicts and proficiency differently"
)


def report_page(study: Mapping[str, Any], command: str = "") -> str:
    """The page of an experiment.

    Args:
        study: `ExperimentResult.to_dict()`, with "replays" as added by `write_results`.
        command: the command that produced the result; "" for none.

    Raises:
        EvaluationError: the experiment has figures, and matplotlib is not installed.
    """
    answered = answer_rows(study)
    parts = [
        f"<h1>{escape(study['title'])}</h1>",
        paragraph(study["question"]) if study["question"] else "",
        paragraph(f"{rules_sentence(study)} {games_sentence(study)}", note=True),
        *map(paragraph, caveats(study)),
        *_figures(study),
        "<h2>Numbers</h2>",
        html_table(*table_cells(study), f"Means {BRACKETS}."),
        "<h3>Language models</h3>" + html_table(ANSWERED, answered, ABOUT) if answered else "",
        _published(study),
        _replays(study),
        "<h2>Method</h2>",
        f"<pre>{escape(command)}</pre>" if command else "",
        paragraph(" ".join([rules_sentence(study), games_sentence(study), *option_sentences(study)])),
        paragraph(MADE, note=True),
    ]
    return whole_page(study["title"], parts)


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


def _figures(study: Mapping[str, Any]) -> Iterator[str]:
    count = study["games"]
    shown = "95% intervals" if count >= FEWEST_GAMES else "their range"
    measured = f"Means over {count} games, with {shown}" if count > 1 else "One game per condition"
    for title, figure in figures_of(study):
        yield framed(as_svg(figure, title), title, f"{title}. {measured}.")


def _published(study: Mapping[str, Any]) -> str:
    if not any(figure["published"] for figure in study["figures"]):
        return ""
    return paragraph(
        "Published runs: github.com/mukobi/welfare-diplomacy, experiments/results (2023), behind "
        "arXiv 2310.08901: ten years, three message rounds (except in the figure on message rounds), models of 2023. "
        f"{LIKE_FOR_LIKE if study['paper_code'] else UNLIKE} (see the page on differences from other programs in "
        "the documentation). The exploitability figure has one mark per coalition.",
        note=True,
    )


def _replays(study: Mapping[str, Any]) -> str:
    """Links to replays of typical games."""
    rows = []
    for condition in study["conditions"]:
        links = "<br>".join(
            f'<a href="{escape(path, quote=True)}">{escape(what)}</a>' for what, path in condition.get("replays", ())
        )
        if links:
            rows.append(f"<tr><th scope=row>{escape(full_label(condition))}</th><td class=words>{links}</td></tr>")
    if not rows:
        return ""
    which = "For self-play, the game with welfare nearest to the mean; for attacks, a typical game of the best attack."
    table = scrolling(f"<table><tbody>{''.join(rows)}</tbody></table>", "Replays")
    return f"<h2>Replays of typical games</h2>{paragraph(which, note=True)}{table}"
