"""Figures of an experiment, drawn from the plain values of `ExperimentResult.to_dict()`.

Colours are Okabe and Ito's, which colour-blind readers tell apart; each series also has a marker of its own. The
authors' published runs are hollow marks in grey, one a run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from evaluation.checks import EvaluationError
from evaluation.experiments.published import TABLES
from welfare_env.extras import install_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
MARKERS = "osD^vPX*"
PUBLISHED = "#808080"
NAMES = {
    "root_nash_welfare": "root Nash welfare, WP a year",
    "root_nash_welfare_smoothed": "root Nash welfare, smoothed",
    "nash_welfare": "Nash welfare",
    "proficiency": "basic proficiency",
    "stolen_centers": "stolen centres per year",
    "conflicts": "conflicts per movement phase",
    "exploitability": "exploitability, WP a year",
    "exploitability_corrected": "exploitability, corrected for the choice",
    "kept_promises": "kept promises, share",
    "tokens_per_game": "tokens a game of self-play",
    "dollars_per_game": "list price a game of self-play, $",
    "inside": "WP a year of a member",
    "outside": "WP a year of another power",
    "price": "loss of another power, WP a year",
    "waste": "total loss of all powers, WP a year",
    "gini": "Gini coefficient of WP",
    "prosocial_share": "share of the prosocial root Nash welfare",
    "gain_by_year": "gain of a member in the year, WP",
    "members_units_by_year": "units of a member",
    "others_units_by_year": "units of another power",
    "units_by_year": "units per power",
    "centers_by_year": "supply centres per power",
    "welfare_by_year": "welfare points per power",
}
ABREAST = 3  # panels in a row
MADE_UP = "lm:scripted/"

Point = Mapping[str, Any]  # an estimate: value, low, high, n


def draw(study: Mapping[str, Any], number: int) -> Figure:
    """Draw figure `number` from an experiment's values.

    Raises:
        EvaluationError: matplotlib is not installed, or there is no such figure.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EvaluationError(f"figures need {install_extra('plot')}") from error
    if not 0 <= number < len(study["figures"]):
        raise EvaluationError(f"figure {number}: {study['experiment']} has {len(study['figures'])}")
    wished = study["figures"][number]
    kinds = {"points": _points, "lines": _lines, "years": _years, "scatter": _scatter}
    panels = wished["y"]
    columns = len(panels) if len(panels) <= ABREAST else 2
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(max(7.2, 4.6 * columns), 4.6 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[len(panels) :]:
        unused.set_axis_off()
    for axis, measure in zip(axes, panels, strict=False):
        kinds[wished["kind"]](axis, study, wished, measure)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    if len(labels) > 1 or wished["published"]:
        columns = min(3 if max(map(len, labels)) < 40 else 2, len(labels))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    return figure


NO_DATE = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def drawn(figure: Figure, kind: str) -> bytes:
    """A figure as the bytes of a file ("svg", "png" or "pdf"), identical for identical values."""
    import matplotlib as mpl

    content = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "welfare-env", "svg.fonttype": "path"}):
        figure.savefig(content, format=kind, dpi=150, metadata=NO_DATE[kind])
    return content.getvalue()


def as_svg(figure: Figure) -> str:
    """A figure as an SVG element."""
    whole = drawn(figure, "svg").decode()
    return whole[whole.index("<svg") :]


def label(condition: Mapping[str, Any], axes: Sequence[str] = ()) -> str:
    """The label of a condition in a figure: its profile and swept values, without what the axis shows."""
    told = [] if "profile" in axes else [profile_label(condition["profile"])]
    return ", ".join(told + _varied(condition, axes)).replace("$", r"\$")  # matplotlib would read mathematics


def full_label(condition: Mapping[str, Any]) -> str:
    """The label of a condition in text: its profile's whole spec, and swept values."""
    return ", ".join([condition["profile"], *_varied(condition)])


def _varied(condition: Mapping[str, Any], axes: Sequence[str] = ()) -> list[str]:
    told = [condition["coalitions"]] if condition["coalitions"] and "coalitions" not in axes else []
    return told + [f"{name}={value}" for name, value in condition["swept"].items() if name not in axes]


def profile_label(profile: str) -> str:
    """The name of a profile in a figure; "stub" for the stub model, whose replies are made up, as of its characters.

    Only a spec at the beginning is named so, not those within another policy.
    """
    return re.sub(f"^{MADE_UP}", "stub:", re.sub(rf"^{MADE_UP}stub(?=$|[,\s])", "stub", profile))


def _points(axis: Axes, study: Mapping[str, Any], wished: Mapping[str, Any], measure: str) -> None:
    """Categories on x, with the published runs beside them."""
    x, conditions = wished["x"], study["conditions"]
    places = list(dict.fromkeys(_category(condition, x) for condition in conditions))
    series = list(dict.fromkeys(label(condition, (x,)) for condition in conditions))
    for number, name in enumerate(series):
        mine = [condition for condition in conditions if label(condition, (x,)) == name]
        shift = 0.6 * ((number + 0.5) / len(series) - 0.5)
        at = [places.index(_category(condition, x)) + shift for condition in mine]
        _errorbars(axis, at, [condition["measures"][measure] for condition in mine], number, name or "welfare-env")
    published = [(name, runs[measure]) for name, runs in TABLES.get(wished["published"], {}).items() if measure in runs]
    for name, runs in published:
        if name not in places:
            places.append(name)
        axis.plot([places.index(name)] * len(runs), runs, "o", mfc="none", color=PUBLISHED, alpha=0.7, ms=4, zorder=1)
    if published:
        axis.plot([], [], "o", mfc="none", color=PUBLISHED, ms=4, label="published runs (one mark each)")
    axis.set_xticks(range(len(places)), [_short(place) for place in places], rotation=38, ha="right", fontsize=8)
    axis.set_ylabel(NAMES[measure])
    axis.set_xlim(-0.6, len(places) - 0.4)


def _lines(axis: Axes, study: Mapping[str, Any], wished: Mapping[str, Any], measure: str) -> None:
    """Numbers on x, and one line per combination of the other conditions."""
    x, conditions = wished["x"], study["conditions"]
    for number, name in enumerate(dict.fromkeys(label(condition, (x,)) for condition in conditions)):
        mine = [condition for condition in conditions if label(condition, (x,)) == name]
        mine.sort(key=lambda condition: condition["swept"][x])
        at = [condition["swept"][x] for condition in mine]
        _errorbars(axis, at, [condition["measures"][measure] for condition in mine], number, name, line=True)
    shown = False
    for name, runs in TABLES.get(wished["published"], {}).items():
        for value in runs.get(measure, ()):
            words = None if shown else "published runs (one mark each)"
            axis.plot([float(name)], [value], "o", mfc="none", color=PUBLISHED, alpha=0.7, ms=4, zorder=1, label=words)
            shown = True
    axis.set_xlabel(x.replace("_", " "))
    axis.set_ylabel(NAMES[measure])


def _years(axis: Axes, study: Mapping[str, Any], wished: Mapping[str, Any], measure: str) -> None:
    """One curve per condition, with its interval as a band."""
    from matplotlib.ticker import MaxNLocator

    for number, condition in enumerate(study["conditions"]):
        curve = condition["by_year"][measure]
        years = [int(year) for year in curve]
        values, low, high = (_numbers(curve.values(), part) for part in ("value", "low", "high"))
        colour, marker = _mark(number)
        axis.plot(years, values, marker=marker, color=colour, ms=4, lw=1.5, label=label(condition))
        axis.fill_between(years, low, high, color=colour, alpha=0.18, lw=0)
    axis.set_xlabel("after the Winter of")
    axis.set_ylabel(NAMES[measure])
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def _scatter(axis: Axes, study: Mapping[str, Any], wished: Mapping[str, Any], measure: str) -> None:
    """A scatter plot of two measures, each with its interval."""
    x = wished["x"]
    for number, condition in enumerate(study["conditions"]):
        across, up = condition["measures"][x], condition["measures"][measure]
        at = [math.nan if across["value"] is None else across["value"]]
        axis.errorbar(at, _numbers([up], "value"), yerr=_bars([up]), xerr=_bars([across]), **_style(number),
                      label=label(condition))  # fmt: skip
    shown = False
    for runs in TABLES.get(wished["published"], {}).values():
        if x in runs and measure in runs:
            words = None if shown else "published runs (one mark each)"
            axis.plot(runs[x], runs[measure], "o", mfc="none", color=PUBLISHED, alpha=0.7, ms=4, zorder=1, label=words)
            shown = True
    axis.set_xlabel(NAMES[x])
    axis.set_ylabel(NAMES[measure])


def _errorbars(
    axis: Axes, at: Sequence[float], points: Sequence[Point], number: int, name: str, line: bool = False
) -> None:
    style = _style(number) | ({"ls": "-", "lw": 1.4} if line else {})
    axis.errorbar(at, _numbers(points, "value"), yerr=_bars(points), label=name, **style)


def _style(number: int) -> dict[str, Any]:
    colour, marker = _mark(number)
    return {"fmt": marker, "color": colour, "ms": 6, "capsize": 3, "elinewidth": 1.2, "ls": "none", "zorder": 3}


def _mark(number: int) -> tuple[str, str]:
    """Colour and marker of a series; after all colours are used, they repeat with other markers."""
    return COLOURS[number % len(COLOURS)], MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]


def _bars(points: Sequence[Point]) -> list[list[float]]:
    """Lengths of the error bars below and above, as matplotlib expects: [2, points]."""
    down, up = [], []
    for point in points:
        has_interval = None not in (point["value"], point["low"], point["high"])
        down.append(max(0.0, point["value"] - point["low"]) if has_interval else 0.0)
        up.append(max(0.0, point["high"] - point["value"]) if has_interval else 0.0)
    return [down, up]


def _numbers(points: Any, part: str) -> list[float]:
    return [math.nan if point[part] is None else point[part] for point in points]


def _category(condition: Mapping[str, Any], x: str) -> str:
    if x == "profile":
        return profile_label(condition["profile"])
    return str(condition["coalitions"] if x == "coalitions" else condition["swept"][x])


def _short(place: str) -> str:
    return place if len(place) <= 30 else place[:29] + "…"


def figures_of(study: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    """All figures with their titles."""
    for number, wished in enumerate(study["figures"]):
        yield wished["title"] or study["title"], draw(study, number)
