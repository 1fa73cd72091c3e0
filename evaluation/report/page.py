"""The report of an experiment: one self-contained HTML page with findings in words, tables and figures.

Everything that comes from outside (titles, specs, paths) is escaped; the page has no script.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import welfare_env
from evaluation.measures.intervals import FEWEST_GAMES, Estimate
from evaluation.report.figures import MADE_UP, NAMES, as_svg, figures_of, full_label
from evaluation.report.rules_text import rules_text
from evaluation.report.tables import BRACKETS

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1a1a1a; --faint: #595959; --line: #8886; --soft: #8882; }
@media (prefers-color-scheme: dark) { :root { --page: #121212; --ink: #e6e6e6; --faint: #b0b0b0; } }
a { color: LinkText; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem;
  background: var(--page); color: var(--ink); }
h1, h2, h3, p { overflow-wrap: anywhere; } h1 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; font-size: .9rem; } figcaption, .note, small { color: var(--faint); }
figcaption, .note { font-size: .9rem; } small { display: block; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
tbody th { font-weight: inherit; } td { white-space: nowrap; }
.words { text-align: left; white-space: normal; overflow-wrap: break-word; max-width: 24rem; }
thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; min-width: 4.5rem; }
thead th.words { min-width: 8rem; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--page);
  max-width: 40vw; overflow-wrap: break-word; white-space: normal; }
.wide { overflow-x: auto; margin: .4rem 0 .8rem; scrollbar-color: #888 var(--soft);
  background: linear-gradient(to left, var(--page) 40%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to left, #888a, transparent) right / 1.2rem 100% no-repeat scroll; }
.wide:focus-visible { outline: 2px solid; outline-offset: 2px; }
@media print { .wide { overflow: visible; } }
figure { margin: 1rem 0; } figure svg { display: block; max-width: 100%; min-width: 30rem; height: auto; }
@media (max-width: 700px) { figure svg { max-width: none; min-width: 0; width: auto; height: 22rem; } }
code, pre { background: var(--soft); padding: .1rem .3rem; }
pre { padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; }
"""


def report_page(study: Mapping[str, Any], command: str = "", games: Mapping[int, Sequence[str]] | None = None) -> str:
    """The page of an experiment's values (`ExperimentResult.to_dict()`).

    Args:
        command: that made it; "" for none.
        games: condition -> links to its games, relative to the page.

    Raises:
        EvaluationError: it has figures, and matplotlib is not installed.
    """
    parts = [
        f"<h1>{escape(study['title'])}</h1>",
        f"<p>{escape(study['question'])}</p>" if study["question"] else "",
        "<h2>What was found</h2>",
        *(f"<p>{escape(sentence)}</p>" for sentence in summary(study)),
        *_figures(study),
        "<h2>Numbers</h2>",
        _table(study),
        *(_coalitions(condition) for condition in study["conditions"] if "coalitions" in condition["result"]),
        _published(study),
        _played(study, games or {}),
        "<h2>How it was made</h2>",
        f"<pre>{escape(command)}</pre>" if command else "",
        f"<p>{escape(_setting(study))}</p>",
        f"<p class=note>welfare-env {escape(welfare_env.__version__)}, seed {study['seed']}, {study['games']} games a "
        "condition; the same command gives the same numbers. Intervals are 95% (docs/measures.md).</p>",
    ]
    return whole_page(study["title"], parts)


def _setting(study: Mapping[str, Any]) -> str:
    """The rules and maps of all games."""
    maps = dict.fromkeys(str(condition["result"]["map"]) for condition in study["conditions"])
    plural = "s" if len(maps) > 1 else ""
    rules, counted = study["rules"], ""
    if study.get("published"):
        rules = {"retreat_welfare": True, "build_and_disband": True} | rules
        counted = " Conflicts and proficiency are counted as by the program behind the paper's figures."
    return f"Rules: {rules_text(rules, study['swept'])}. Map{plural}: {', '.join(maps)}.{counted}"


def whole_page(title: str, parts: Sequence[str]) -> str:
    """An HTML page from parts; empty ones are left out."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style></head><body><main>\n{body}\n</main></body></html>\n'
    )


def summary(study: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on the main measure: its highest and lowest value, and whether their intervals overlap."""
    names: list[str] = list(study["conditions"][0]["measures"])
    drawn = [measure for figure in study["figures"] for measure in figure["y"] if measure in names]
    main = (drawn or names)[0]
    found = [(condition, condition["measures"][main]) for condition in study["conditions"]]
    ranked = sorted((pair for pair in found if pair[1]["value"] is not None), key=lambda pair: -pair[1]["value"])
    if not ranked:
        yield f"No condition has a value of {NAMES[main]}."
        return
    (best, high), (_, low) = ranked[0], ranked[-1]
    if len(found) == 1:
        yield f"{_upper(NAMES[main])}: {full_label(best)} has {written(high)}."
    elif high["value"] == low["value"]:
        yield f"{_upper(NAMES[main])}: all {len(found)} conditions have {written(high)}."
    else:
        yield from _extremes(main, ranked, len(found))
    fewest = min(point["n"] for _, point in ranked)
    if fewest == 1:
        yield "With one game per condition there are no intervals: play more games."
    elif fewest < FEWEST_GAMES:
        yield (
            f"Fewer than {FEWEST_GAMES} games have no interval: round brackets have the least and the greatest value. "
            "Play more games where it matters."
        )
    if older := sum(condition["result"].get("older_games", 0) for condition, _ in found):
        played = "1 game was" if older == 1 else f"{older} games were"
        yield f"{played} played by earlier code, whose results may differ from today's."
    notes = dict.fromkeys(note for condition, _ in found for note in condition["result"].get("notes", ()))
    yield from (f"{_upper(note)}." for note in notes)
    if any(MADE_UP in condition["profile"] for condition, _ in found):
        yield (
            "lm:scripted/ (in figures “stub”) is no language model: its replies are made up, to show how the "
            "experiment runs."
        )
    if study["measure"] == "both":
        yield (
            "Exploitability is the most that a coalition gained with any of the deviators: a lower bound. Promises are "
            "found by patterns of English and compared with orders (docs/measures.md). Tokens and prices are those of "
            "all seats in a game of self-play; a dash stands where no language model played, or no price is known."
        )


def _extremes(main: str, ranked: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], count: int) -> Iterator[str]:
    """The highest and the lowest value, and ties."""
    (best, high), (worst, low) = ranked[0], ranked[-1]

    def also(value: float) -> str:
        others = sum(point["value"] == value for _, point in ranked) - 1
        return f" (tied with {others} other{'s' * (others > 1)})" if others else ""

    name = _upper(NAMES[main])
    yield f"{name}: {full_label(best)}{also(high['value'])} has the highest, {written(high)}, of {count} conditions."
    yield f"The lowest is that of {full_label(worst)}{also(low['value'])}, {written(low)}. {_parted(high, low)}"


def _parted(high: Mapping[str, Any], low: Mapping[str, Any]) -> str:
    if None in (high["low"], low["high"]):
        return ""
    if high["low"] > low["high"]:
        return "Their intervals do not overlap."
    return "Their intervals overlap: these games do not show which is higher."


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def written(point: Mapping[str, Any]) -> str:
    """ "4.84 [4.80, 4.89]"; "4.84 (4.60 to 5.10, n=3)" or "4.84 [all 20 alike]" without an interval; "-": no value."""
    if point["value"] is None or math.isnan(point["value"]):
        return "-"
    digits = ".2f" if abs(point["value"]) < 1000 else ",.0f"
    estimate = Estimate.from_dict(point)
    return f"{estimate.value:{digits}} {estimate.around(digits, mark='')}".strip()


def _figures(study: Mapping[str, Any]) -> Iterator[str]:
    count = study["games"]
    measured = f"Means over {count} games" if count > 1 else "One game per condition"
    measured += ", with 95% intervals (none where all games are alike)" * (count >= FEWEST_GAMES)
    for title, figure in figures_of(study):
        caption = f"{escape(title)}. {measured}."
        drawing = scrolling(as_svg(figure, title), title)
        yield f"<figure>{drawing}<figcaption>{caption}</figcaption></figure>"


def _table(study: Mapping[str, Any]) -> str:
    head, rows = table_cells(study)
    return html_table(head, rows, f"Means {BRACKETS}.")


def table_cells(study: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of numbers: one row a condition; for "both" also the version that measured it."""
    measures = list(study["conditions"][0]["measures"])
    swept = list(study["swept"])
    has_sets = any(condition["coalitions"] for condition in study["conditions"])
    has_versions = study["measure"] == "both"
    head = ["profile", *(["coalitions"] if has_sets else []), *swept, *(NAMES[name] for name in measures), "games"]
    rows = []
    for condition in study["conditions"]:
        cells = [condition["profile"]] + ([condition["coalitions"]] if has_sets else [])
        cells += [str(condition["swept"][name]) for name in swept]
        cells += [_cell(name, condition["measures"][name]) for name in measures]
        games = str(condition["measures"][measures[0]]["n"])
        rows.append([*cells, games, *([condition["version"]] if has_versions else [])])
    return head + (["version"] if has_versions else []), rows


def _cell(measure: str, point: Mapping[str, Any]) -> str:
    """A value with its interval, which what a game costs needs none of."""
    told = written(point)
    return told.partition(" ")[0] if measure.endswith("_per_game") else told


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, in which no cell is markup."""
    lines = [" | ".join(re.sub(r"([\\`*_<>|#~&$\[\]])", r"\\\1", cell) for cell in cells) for cells in (head, *rows)]
    return "".join(f"| {line} |\n" for line in (lines[0], " | ".join(["---"] * len(head)), *lines[1:]))


def _coalitions(condition: Mapping[str, Any]) -> str:
    """The gains of deviating from one profile."""
    attacks = sorted(condition["result"]["coalitions"], key=_least_gain, reverse=True)
    has_teams = any(len(each["coalition"]) > 1 for each in attacks)
    least = ["least gain of a member, WP a year", "gain of each member"] if has_teams else ["gain, WP a year"]
    rows = []
    for each in attacks:
        gains = [written(each["gain"])]
        if has_teams:
            gains.append(", ".join(f"{power} {written(gain)}" for power, gain in each["members"].items()))
        others = written(each["victims_root_nash_welfare"])
        rows.append([" + ".join(each["coalition"]), each["deviator"], *gains, others])
    head = ["coalition", "plays", *least, "root Nash welfare of the others, WP a year"]
    caption = "Gain of each coalition and deviator, largest first, with 95% intervals."
    return f"<h3>Deviating from {escape(full_label(condition))}</h3>" + html_table(head, rows, caption)


def _least_gain(attack: Mapping[str, Any]) -> float:
    gain = attack["gain"]["value"]
    return -math.inf if gain is None else float(gain)


LIKE_FOR_LIKE = "Our games are played and counted as by their program"
UNLIKE = (
    "Ours are by the paper's rules; their program also counts points after retreats, executes builds and disbands "
    "together, and counts conflicts and proficiency in its own way"
)


def _published(study: Mapping[str, Any]) -> str:
    if not any(figure["published"] for figure in study["figures"]):
        return ""
    return (
        "<p class=note>Published runs: github.com/mukobi/welfare-diplomacy, experiments/results (2023), behind "
        "arXiv 2310.08901, of ten years and, but for the figure on them, three message rounds; models of 2023. "
        f"{LIKE_FOR_LIKE if study.get('published') else UNLIKE} (docs/differences.md); the exploitability figure "
        "has one mark per coalition.</p>"
    )


def _played(study: Mapping[str, Any], games: Mapping[int, Sequence[str]]) -> str:
    """Links to the games of each condition."""
    rows = []
    for number, condition in enumerate(study["conditions"]):
        links = " ".join(
            f'<a href="{escape(link, quote=True)}">{place}</a>' for place, link in enumerate(games.get(number, ()), 1)
        )
        if links:
            rows.append(f"<tr><th scope=row>{escape(full_label(condition))}</th><td>{links}</td></tr>")
    if not rows:
        return ""
    return "<h2>Games</h2>" + scrolling(f"<table><tbody>{''.join(rows)}</tbody></table>", "Games")


def scrolling(content: str, title: str) -> str:
    """Markup in a box that scrolls sideways, by keyboard too."""
    return f'<div class=wide tabindex=0 role=group aria-label="{escape(title, quote=True)}">{content}</div>'


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """An HTML table that scrolls sideways beside its first column; text is left-aligned, numbers right-aligned."""
    kinds = [" class=words" if any(cell[:1].isalpha() for cell in column) else "" for column in zip(*rows, strict=True)]
    kinds = kinds or [""] * len(head)
    top = "".join(f"<th scope=col{kind}>{escape(name)}</th>" for name, kind in zip(head, kinds, strict=True))
    body = "".join(f"<tr>{''.join(_cells(row, kinds))}</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p class=note>{escape(caption)}</p>{scrolling(table, caption)}"


def _cells(row: Sequence[str], kinds: Sequence[str]) -> Iterator[str]:
    """The cells of a row, of which the first is its head; an interval stands below its value."""
    for place, (cell, kind) in enumerate(zip(row, kinds, strict=True)):
        inside = re.sub(r"^(-?[\d.,]+)\s(\[.*\]|\(.*\))$", r"\1<small>\2</small>", escape(cell))
        if kind:  # specs may be broken after punctuation
            inside = re.sub(r"(?<=[,:=/])(?=\S)", "<wbr>", inside)
        yield f"<td{kind}>{inside}</td>" if place else f"<th scope=row{kind}>{inside}</th>"
