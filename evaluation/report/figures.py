"""Figures of an experiment, drawn from the plain values of `ExperimentResult.to_dict()`.

A profile has the same color in all figures of an experiment (`agents.runtime.colors`). Markers and dashes show other
differences between conditions. The authors' published runs are hollow gray marks, one per run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from io import BytesIO
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

from agents.runtime.colors import BLACK, PUBLISHED, SERIES, policy_colors
from evaluation.checks import EvaluationError
from evaluation.experiments.published import TABLES
from evaluation.tables.measure_names import NAMES
from welfare_env.extras import install_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
ABREAST = 3  # panels in a row
MADE_UP = "lm:scripted/"
BESIDE = 0.3  # offset of published runs from our own marks, in columns

Point = Mapping[str, Any]  # an estimate: value, low, high, n


def draw(study: Mapping[str, Any], number: int) -> Figure:
    """Draw figure `number` from an experiment's values.

    Raises:
        EvaluationError: matplotlib is not installed, or `number` is out of range.
    """
    if not 0 <= number < len(study["figures"]):
        raise EvaluationError(f"figure {number}: {study['experiment']} has only {len(study['figures'])} figures")
    wished = study["figures"][number]
    kinds = {"points": _points, "lines": _lines, "years": _years, "scatter": _scatter}
    panels = wished["y"]
    columns = len(panels) if len(panels) <= ABREAST else 2
    rows = -(-len(panels) // columns)
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EvaluationError(f"figures need {install_extra('plot')}") from error
    figure = Figure(figsize=(max(7.2, 4.6 * columns), 4.6 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[len(panels) :]:
        unused.set_axis_off()
    for axis, measure in zip(axes, panels, strict=False):
        kinds[wished["kind"]](axis, study, wished, measure)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        _from_zero(axis, both=wished["kind"] == "scatter")
    handles, labels = axes[0].get_legend_handles_labels()
    if len(labels) > 1 or wished["published"] or len(study["conditions"]) == 1:
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


def as_svg(figure: Figure, title: str) -> str:
    """A figure as an SVG element with transparent background, with text and axes in the page's text color."""
    figure.set_facecolor("none")
    for axis in figure.axes:
        axis.set_facecolor("none")
    whole = drawn(figure, "svg").decode().replace("#000000", "currentColor")
    about = f'<svg role="img" aria-label="{escape(title, quote=True)}" fill="currentColor"'
    return whole[whole.index("<svg") :].replace("<svg", about, 1)


def label(study: Mapping[str, Any], condition: Mapping[str, Any], axes: Sequence[str] = ()) -> str:
    """The label of a condition in a figure: its profile and swept values, except those shown on an axis."""
    parts = [] if "profile" in axes else [_short(profile_label(condition["profile"]), 40)]
    text = ", ".join(parts + _differing(study, condition, axes))
    return text.replace("$", r"\$")  # matplotlib would parse it as mathematics


def full_label(condition: Mapping[str, Any]) -> str:
    """The label of a condition in text: its profile's full spec, and swept values."""
    return ", ".join([condition["profile"], *_varied(condition)])


def _differing(study: Mapping[str, Any], condition: Mapping[str, Any], axes: Sequence[str] = ()) -> list[str]:
    """What distinguishes a condition from others with its profile; coalitions only if there are several sets."""
    sets = {each["coalitions"] for each in study["conditions"]}
    return _varied(condition, axes if len(sets) > 1 else (*axes, "coalitions"))


def _varied(condition: Mapping[str, Any], axes: Sequence[str] = ()) -> list[str]:
    """Coalitions and swept values of a condition, except those shown on an axis: "message rounds=3"."""
    parts = [condition["coalitions"]] if condition["coalitions"] and "coalitions" not in axes else []
    swept = [(name.replace("_", " "), value) for name, value in condition["swept"].items() if name not in axes]
    return parts + [f"{name}={value}" for name, value in swept]


def profile_label(profile: str) -> str:
    """The name of a profile in a figure; "stub" or "stub:CHARACTER" for the stub models, whose replies are invented.

    Only a spec at the beginning is shortened, not specs within another policy.
    """
    return re.sub(f"^{MADE_UP}", "stub:", re.sub(rf"^{MADE_UP}stub(?=$|[,\s])", "stub", profile))


def _points(axis: Axes, study: Mapping[str, Any], wished: Mapping[str, Any], measure: str) -> None:
    """Categories on x, with the published runs next to them."""
    x, conditions = wished["x"], study["conditions"]
    places = list(dict.fromkeys(_category(condition, x) for condition in conditions))
    series = list(dict.fromkeys(label(study, condition, (x,)) for condition in conditions))
    for condition in conditions:
        name = label(study, condition, (x,))
        at = places.index(_category(condition, x)) + 0.6 * ((series.index(name) + 0.5) / len(series) - 0.5)
        axis.errorbar([at], **_bar(condition["measures"][measure]), **_style(study, condition, (x,)))
    _legend(axis, study, (x,))
    ours, published = len(places), []
    for name, runs in TABLES.get(wished["published"], {}).items():
        if measure not in runs:
            continue
        if name not in places:
            places.append(name)
        at = places.index(name) + (BESIDE if places.index(name) < ours else 0)
        published += [(at, value) for value in runs[measure]]
    _mark_published(axis, published)
    axis.set_xticks(range(len(places)), [_short(place) for place in places], rotation=38, ha="right", fontsize=8)
    if x != "profile":  # names of profiles need no axis label
        axis.set_xlabel(x.replace("_", " "))
    axis.set_ylabel(fill(NAMES[measure], 34))
    axis.set_xlim(-0.6, len(places) - 0.4)


def _lines(axis: Axes, study: Mapping[str, Any], wished: Mapping[str, Any], measure: str) -> None:
    """Numbers on x, and one line per combination of the other conditions."""
    from matplotlib.ticker import MaxNLocator

    x, conditions = wished["x"], study["conditions"]
    for name in dict.fromkeys(label(study, condition, (x,)) for condition in conditions):
        mine = [condition for condition in conditions if label(study, condition, (x,)) == name]
        mine.sort(key=lambda condition: condition["swept"][x])
        points = [condition["measures"][measure] for condition in mine]
        style = _style(study, mine[0], (x,)) | {"ls": _dashes(study, mine[0], (x,)), "lw": 1.4}
        at = [condition["swept"][x] for condition in mine]
        axis.errorbar(at, _numbers(points, "value"), yerr=_bars(points), label=name, **style)
    published = TABLES.get(wished["published"], {})
    _mark_published(axis, [(float(name), value) for name, runs in published.items() for value in runs.get(measure, ())])
    if all(isinstance(condition["swept"][x], int) for condition in conditions):
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel(x.replace("_", " "))
    axis.set_ylabel(fill(NAMES[measure], 34))


def _years(axis: Axes, study: Mapping[str, Any], wished: Mapping[str, Any], measure: str) -> None:
    """One curve per condition, with its interval as a band."""
    from matplotlib.ticker import MaxNLocator

    for condition in study["conditions"]:
        curve = condition["by_year"][measure]
        years = [int(year) for year in curve]
        values, low, high = (_numbers(curve.values(), part) for part in ("value", "low", "high"))
        color, marker = _mark(study, condition)
        look: dict[str, Any] = {"color": color, "marker": marker, "ls": _dashes(study, condition), "ms": 4, "lw": 1.5}
        axis.plot(years, values, label=label(study, condition), **look)
        axis.fill_between(years, low, high, color=color, alpha=0.18, lw=0)
    axis.set_xlabel("after the Winter of")
    axis.set_ylabel(fill(NAMES[measure], 34))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def _scatter(axis: Axes, study: Mapping[str, Any], wished: Mapping[str, Any], measure: str) -> None:
    """A scatter plot of two measures, each with its interval."""
    x = wished["x"]
    for condition in study["conditions"]:
        across, up = condition["measures"][x], condition["measures"][measure]
        at = _numbers([across], "value")
        axis.errorbar(at, **_bar(up), xerr=_bars([across]), **_style(study, condition), label=label(study, condition))
    published = [runs for runs in TABLES.get(wished["published"], {}).values() if x in runs and measure in runs]
    _mark_published(axis, [pair for runs in published for pair in zip(runs[x], runs[measure], strict=True)])
    axis.set_xlabel(NAMES[x])
    axis.set_ylabel(fill(NAMES[measure], 34))


def _mark_published(axis: Axes, points: Sequence[tuple[float, float]]) -> None:
    """Hollow marks in gray, with one entry in the legend."""
    if points:
        label = "published runs (one mark each)"
        look: dict[str, Any] = {"mfc": "none", "color": PUBLISHED, "alpha": 0.7, "ms": 4, "zorder": 1, "label": label}
        axis.plot(*zip(*points, strict=True), "o", **look)


def _style(study: Mapping[str, Any], condition: Mapping[str, Any], axes: Sequence[str] = ()) -> dict[str, Any]:
    color, marker = _mark(study, condition, axes)
    return {"fmt": marker, "color": color, "ms": 6, "capsize": 3, "elinewidth": 1.2, "ls": "none", "zorder": 3}


def _mark(study: Mapping[str, Any], condition: Mapping[str, Any], axes: Sequence[str] = ()) -> tuple[str, str]:
    """The color of the profile, and a marker for other differences (or for the profile if there are none)."""
    profiles = list(dict.fromkeys(each["profile"] for each in study["conditions"]))
    place, variants = _variant(study, condition, axes)
    number = profiles.index(condition["profile"])
    shift = number // len(SERIES)  # when colors repeat
    marker = MARKERS[((place if variants > 1 else number) + shift) % len(MARKERS)]
    return policy_colors(profiles)[condition["profile"]], marker


def _dashes(study: Mapping[str, Any], condition: Mapping[str, Any], axes: Sequence[str] = ()) -> str:
    return DASHES[_variant(study, condition, axes)[0] % len(DASHES)]


def _variant(study: Mapping[str, Any], condition: Mapping[str, Any], axes: Sequence[str]) -> tuple[int, int]:
    """The number of a condition's variant (everything but its profile), and the number of variants."""
    variants = list(dict.fromkeys(tuple(_differing(study, each, axes)) for each in study["conditions"]))
    return variants.index(tuple(_differing(study, condition, axes))), len(variants)


def _legend(axis: Axes, study: Mapping[str, Any], axes: Sequence[str]) -> None:
    """Legend entries of points, one per series; black if a series has points of several colors."""
    ours = "welfare-env" + (", under the rules of the published runs" if study.get("paper_code") else "")
    series: dict[str, list[tuple[str, str]]] = {}
    for condition in study["conditions"]:
        series.setdefault(label(study, condition, axes), []).append(_mark(study, condition, axes))
    for name, marks in series.items():
        color = marks[0][0] if len({color for color, _ in marks}) == 1 else BLACK
        axis.plot([], [], marks[0][1], color=color, label=name or ours)


def _from_zero(axis: Axes, both: bool) -> None:
    """Start axes just below 0, so that marks at 0 are not clipped, unless values are negative."""
    if 0 <= axis.dataLim.y0 < math.inf:
        axis.set_ylim(bottom=-0.03 * axis.get_ylim()[1])
    if both and 0 <= axis.dataLim.x0 < math.inf:
        axis.set_xlim(left=-0.03 * axis.get_xlim()[1])


def _bar(point: Point) -> dict[str, Any]:
    return {"y": _numbers([point], "value"), "yerr": _bars([point])}


def _bars(points: Sequence[Point]) -> list[list[float]]:
    """[2, points] lengths of the error bars below and above, as for matplotlib.

    Without an interval, the bar is the range over games.
    """
    down, up = [], []
    for point in points:
        low, high = _ends(point)
        down.append(0.0 if low is None else max(0.0, point["value"] - low))
        up.append(0.0 if high is None else max(0.0, high - point["value"]))
    return [down, up]


def _ends(point: Point) -> tuple[float | None, float | None]:
    """The interval of an estimate, or the smallest and largest value over games; None if there is neither."""
    if None in (point["value"], point["low"], point["high"]):
        values = [value for value in point.get("per_game", ()) if value is not None]
        return (min(values), max(values)) if point["value"] is not None and values else (None, None)
    return point["low"], point["high"]


def _numbers(points: Any, part: str) -> list[float]:
    return [math.nan if point[part] is None else point[part] for point in points]


def _category(condition: Mapping[str, Any], x: str) -> str:
    if x == "profile":
        return profile_label(condition["profile"])
    return str(condition["coalitions"] if x == "coalitions" else condition["swept"][x])


def _short(name: str, width: int = 26) -> str:
    """A name in at most two lines."""
    lines = wrap(name.replace("_", " ").replace(",", ", "), width)
    return "\n".join(lines[:2]) + ("…" if len(lines) > 2 else "")


def figures_of(study: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    """All figures with their titles."""
    for number, wished in enumerate(study["figures"]):
        yield wished["title"] or study["title"], draw(study, number)
