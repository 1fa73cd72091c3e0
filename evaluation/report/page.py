"""The report of an experiment: a self-contained HTML page with a summary, tables and figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import welfare_env
from evaluation.measures.intervals import FEWEST_GAMES, Estimate
from evaluation.report.figures import MADE_UP, as_svg, figures_of, full_label, panel_grid, swept_words
from evaluation.report.markup import framed, html_table, origin, paragraph, scrolling, whole_page
from evaluation.report.provenance import ABOUT, HEAD, provenance_rows
from evaluation.tables.comparison_tables import study_cells
from evaluation.tables.game_tables import BRACKETS
from evaluation.tables.measure_names import NAMES
from evaluation.tables.rules_text import games_sentence, option_sentences, rules_sentence

MADE = (
    f"welfare-env {welfare_env.__version__}; the same command gives the same numbers. Intervals are 95% "
    '(see the page "Measures" of the documentation).'
)
MAX_ATTACKS = 12  # in a table; results.json has all
EXACT = ("exact_gain",)
HEADS = {
    "exploitability": "Deviating from",
    "red-team": "Red team against",
    "exact": "Exact best responses to",
    "cross-play": "Cross-play",
}
PROMISES = "kept_promises"
OF_MODELS = (PROMISES, "tokens_per_game", "dollars_per_game")


def report_page(study: Mapping[str, Any], command: str = "") -> str:
    """The page of an experiment.

    Args:
        study: `ExperimentResult.to_dict()`, with "replays" as added by `write_results`.
        command: the command that produced the result; "" for none.

    Raises:
        EvaluationError: the experiment has figures, and matplotlib is not installed.
    """
    differences = study_cells(study)
    parts = [
        f"<h1>{escape(study['title'])}</h1>",
        paragraph(study["question"]) if study["question"] else "",
        paragraph(f"{rules_sentence(study)} {games_sentence(study)}", note=True),
        "<h2>Summary</h2>",
        *map(paragraph, summary(study)),
        *_figures(study),
        "<h2>Numbers</h2>",
        _table(study),
        _by_training_seed(study),
        _provenance(study),
        "" if differences is None else "<h3>Differences from the first condition</h3>" + html_table(*differences),
        *(details(condition, cell) for condition in study["conditions"] for cell in condition["cells"]),
        _published(study),
        _replays(study),
        *origin(command, (" ".join([rules_sentence(study), games_sentence(study), *option_sentences(study)]), MADE)),
    ]
    return whole_page(study["title"], parts)


def summary(study: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on the main measure: its highest and lowest value, and whether their intervals overlap."""
    names = known_measures(study)
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
    fewest = min((point["n"] for condition, point in ranked if not is_trained(condition)), default=FEWEST_GAMES)
    if fewest < FEWEST_GAMES and main not in EXACT:
        yield (
            f"With fewer than {FEWEST_GAMES} games there is no interval: parentheses show the smallest and largest "
            "value. Play more games for an interval."
        )
    cells = [cell["result"] for condition, _ in found for cell in condition["cells"]]
    notes = dict.fromkeys(note for result in cells for note in result.get("notes", ()))
    yield from (f"{_upper(note)}." for note in notes)
    if any(MADE_UP in condition["profile"] for condition, _ in found):
        yield ("lm:scripted/ (in figures “stub”) is a stub with invented replies, for trying out the experiment.")
    if {"exploitability", "red-team"} & {*study["measure"]}:
        yield "Exploitability is the gain of the best attack tried, hence a lower bound."
    yield from _about_models(study)


def _about_models(study: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on those measures of language models that the table has."""
    known = known_measures(study)
    costs = [name for name in OF_MODELS if name in known and name != PROMISES]
    if PROMISES in known:
        yield (
            'Promises are found by English patterns and compared with orders (see the page "Measures" of the '
            "documentation)."
        )
    has_dash = any(condition["measures"][name]["value"] is None for condition in study["conditions"] for name in costs)
    if costs:
        dash = "; a dash means that no language model played, or that a price is unknown" * has_dash
        yield f"Tokens and prices are totals over all seats of a self-play game{dash}."


def known_measures(study: Mapping[str, Any]) -> list[str]:
    """The measures with a value in some condition; all measures if there are none."""
    conditions = study["conditions"]
    names: list[str] = list(conditions[0]["measures"])
    return [name for name in names if any(each["measures"][name]["value"] is not None for each in conditions)] or names


def _extremes(main: str, ranked: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], count: int) -> Iterator[str]:
    """The highest and the lowest value, and ties."""
    (best, high), (worst, low) = ranked[0], ranked[-1]

    def also(value: float) -> str:
        others = sum(point["value"] == value for _, point in ranked) - 1
        return f" (tied with {others} other{'s' * (others > 1)})" if others else ""

    name = _upper(NAMES[main])
    yield f"{name}: {full_label(best)}{also(high['value'])} has the highest, {written(high)}, of {count} conditions."
    yield f"{full_label(worst)}{also(low['value'])} has the lowest, {written(low)}. {_parted(high, low)}".rstrip()


def _parted(high: Mapping[str, Any], low: Mapping[str, Any]) -> str:
    if None in (high["low"], low["high"]):
        return ""
    if high["low"] > low["high"]:
        return "Their intervals do not overlap."
    return "Their intervals overlap: these games do not show which is higher."


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def written(point: Mapping[str, Any]) -> str:
    """ "4.84 [4.80, 4.89]"; without an interval "4.84 (4.60 to 5.10, n=3)" or "4.84 [all 20 alike]"; "-" for nan."""
    if point["value"] is None or math.isnan(point["value"]):
        return "-"
    digits = ".2f" if abs(point["value"]) < 1000 else ",.0f"
    estimate = Estimate.from_dict(point)
    return f"{estimate.value:{digits}} {estimate.around(digits, mark='')}".strip()


def _figures(study: Mapping[str, Any]) -> Iterator[str]:
    count = study["games"]
    shown = "95% intervals" if count >= FEWEST_GAMES else "their range"
    measured = f"Means over {count} games, with {shown}" if count > 1 else "One game per condition"
    if study["train_seeds"]:
        shown = "95% intervals" if len(study["train_seeds"]) >= FEWEST_GAMES else "their range"
        measured += f"; for trained policies, means over training seeds, with {shown}"
    for (title, figure), wished in zip(figures_of(study), study["figures"], strict=True):
        rows, _ = panel_grid(len(wished["y"]))
        yield framed(as_svg(figure, title), title, f"{title}. {measured}.", rows)


def _table(study: Mapping[str, Any]) -> str:
    head, rows = table_cells(study)
    return html_table(head, rows, f"Means {BRACKETS}.")


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
        rows.append([*cells, _count(study, condition), *([condition["version"]] if study["leaderboard"] else [])])
    return head + (["version"] if study["leaderboard"] else []), rows


def is_trained(condition: Mapping[str, Any]) -> bool:
    """Whether a trained policy plays or attacks in this condition (not only as another policy in cross-play)."""
    return any(cell["training_seed"] is not None for cell in condition["cells"] if cell["measure"] != "cross-play")


def _count(study: Mapping[str, Any], condition: Mapping[str, Any]) -> str:
    """The number of games behind a value; for trained policies, also the number of training seeds."""
    if is_trained(condition):
        return f"{study['games']} on each of {len(condition['training_seeds'])} training seeds"
    counted = [point["n"] for name, point in condition["measures"].items() if name not in (*EXACT, *OF_MODELS)]
    return str(counted[0]) if counted else "-"


def value_cell(measure: str, point: Mapping[str, Any]) -> str:
    """A value with its interval; without it for exact values and costs per game."""
    text = written(point)
    return text.partition(" ")[0] if measure in EXACT or measure.endswith("_per_game") else text


def _by_training_seed(study: Mapping[str, Any]) -> str:
    """A table with the values of each training seed, over games."""
    measures = known_measures(study)
    rows = []
    for condition in filter(is_trained, study["conditions"]):
        for seed in condition["training_seeds"]:
            own = {
                name: point
                for cell in condition["cells"]
                if cell["training_seed"] == seed
                for name, point in cell["measures"].items()
            }
            values = (value_cell(name, own[name]) if name in own else "-" for name in measures)
            rows.append([full_label(condition), str(seed), *values])
    if not rows:
        return ""
    head = ["condition", "training seed", *(NAMES[name] for name in measures)]
    return "<h3>By training seed</h3>" + html_table(head, rows, f"Means over games of one trained policy, {BRACKETS}.")


def _provenance(study: Mapping[str, Any]) -> str:
    rows = provenance_rows(study)
    return "<h3>Language models</h3>" + html_table(HEAD, rows, ABOUT) if rows else ""


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with escaped cells."""
    lines = [" | ".join(re.sub(r"([\\`*_<>|#~&$\[\]])", r"\\\1", cell) for cell in cells) for cells in (head, *rows)]
    return "".join(f"| {line} |\n" for line in (lines[0], " | ".join(["---"] * len(head)), *lines[1:]))


def details(condition: Mapping[str, Any], cell: Mapping[str, Any]) -> str:
    """The detailed table of a cell; "" for self-play, and if another condition has the same table."""
    result, measure = cell["result"], cell["measure"]
    if not result or measure not in HEADS:
        return ""
    about = [full_label(condition)] if measure != "cross-play" else swept_words(condition)
    about += [] if cell["training_seed"] is None else [f"training seed {cell['training_seed']}"]
    table = {"exact": _exact, "cross-play": _mixes}.get(measure, _attacks)(result)
    return f"<h3>{HEADS[measure]} {escape(', '.join(about))}</h3>{table}"


def _exact(result: Mapping[str, Any]) -> str:
    """The exact maximum gain of each coalition."""
    gains = sorted(result["coalitions"], key=lambda each: -each["gain"])
    rows = [
        [
            " + ".join(each["coalition"]),
            *(f"{each[name]:.6g}" for name in ("profile_value", "value", "gain")),
            f"{each['gain_per_year']:.2f}",
            f"{each['positions']:,}",
        ]
        for each in gains
    ]
    head = [
        "coalition",
        "with the profile, points",
        "best response, points",
        "gain, points",
        "gain, points a year",
        "positions",
    ]
    return html_table(head, rows, "Points of the whole game, summed over a coalition.")


def _mixes(result: Mapping[str, Any]) -> str:
    """The payoffs in each mix."""
    policies = result["policies"]
    rows = []
    for mix in result["mixes"]:
        seats = " + ".join(f"{count} {policy}" for policy, count in mix["seats"].items() if count)
        paid = [written(mix["payoffs"][policy]) if policy in mix["payoffs"] else "" for policy in policies]
        rows.append([seats, *paid, written(mix["root_nash_welfare"])])
    return html_table(
        ["seats", *policies, "root Nash welfare"], rows, f"Points a year of a policy's seats, {BRACKETS}."
    )


def _attacks(result: Mapping[str, Any]) -> str:
    """The gains of deviating from one profile."""
    attacks = sorted(result["coalitions"], key=_least_gain, reverse=True)
    has_teams = any(len(each["coalition"]) > 1 for each in attacks)
    least = (
        ["smallest gain of a member, points a year", "gain of each member"] if has_teams else ["gain, points a year"]
    )
    rows = []
    for each in attacks[:MAX_ATTACKS]:
        gains = [written(each["gain"])]
        if has_teams:
            gains.append(", ".join(f"{power} {written(gain)}" for power, gain in each["members"].items()))
        others = written(each["victims_root_nash_welfare"])
        rows.append([" + ".join(each["coalition"]), each["deviator"], *gains, others])
    head = ["coalition", "deviator", *least, "root Nash welfare of the others, points a year"]
    left = len(attacks) - len(rows)
    more = f" The {len(rows)} largest of {len(attacks)}." if left else ""
    return html_table(head, rows, f"Gain of each coalition and deviator, largest first, {BRACKETS}.{more}")


def _least_gain(attack: Mapping[str, Any]) -> float:
    gain = attack["gain"]["value"]
    return -math.inf if gain is None else float(gain)


LIKE_FOR_LIKE = "Our games use the rules and measures of the authors' program"
UNLIKE = (
    "Our games use the paper's rules; the authors' program also scores points after retreats, executes builds and "
    "disbands together, and counts conflicts and proficiency differently"
)


def _published(study: Mapping[str, Any]) -> str:
    if not any(figure["published"] for figure in study["figures"]):
        return ""
    return paragraph(
        "Published runs: github.com/mukobi/welfare-diplomacy, experiments/results (2023), behind "
        "arXiv 2310.08901: ten years, three message rounds (except in the figure on message rounds), models of 2023. "
        f"{LIKE_FOR_LIKE if study.get('paper_code') else UNLIKE} (see the page on differences from other programs in "
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
