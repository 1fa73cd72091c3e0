"""Populations as SVG: paths in a simplex, and shares over time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modal_env.pictures.style import PALETTE, as_text

Floats = NDArray[np.float64]

WIDTH = 480
MOST_BANDS = 8  # with more agents the smallest share one band
LABEL = 20  # characters of a name in a picture
SEEN = 0.6  # shortest step that is drawn, in units of the picture
ARROWS = 110.0  # distance between arrows, in units of the picture
# Left, right, top, and the fourth corner below: a projection of the tetrahedron that keeps the corners apart.
CORNERS = np.array([[50.0, 370.0], [430.0, 370.0], [240.0, 41.0], [240.0, 600.0]])
LEFT, RIGHT, TOP, BOTTOM = 54, 472, 12, 192  # edges of the bands
OTHERS = "all others"
SOFT, INK, ACCENT = "#5d6472", "#1f2430", "#1f5fbf"


class Mark(NamedTuple):
    """A point to mark in a simplex: its label, and [n] shares."""

    label: str
    shares: Sequence[float]


def simplex(names: Sequence[str], corners: Sequence[int], path: Floats, marks: Sequence[Mark] = ()) -> str:
    """The path of a population between three corners; all other agents on the path share a fourth below.

    A population is drawn at the mean of the corners, weighted by the shares. The path has a dot at its start, arrows
    in its direction, and a ring at its end.

    Args:
        names: [n], three at least.
        corners: the numbers of the agents left, right and on top.
        path: [T, n] shares.
        marks: points to mark.
    """
    places = CORNERS[[list(corners).index(agent) if agent in corners else 3 for agent in range(len(names))]]
    others = [agent for agent in range(len(names)) if agent not in corners and path[:, agent].any()]
    ends = [*corners, *others[:1]]
    labels = [names[agent] for agent in ends] if len(others) < 2 else [*(names[agent] for agent in corners), OTHERS]
    edges = "".join(_line(CORNERS[a], CORNERS[b]) for b in range(len(ends)) for a in range(b))
    signs = "".join(_mark(mark, np.asarray(mark.shares, np.float64) @ places) for mark in marks)
    dots = "".join(
        f'<circle cx="{x:g}" cy="{y:g}" r="7" {_color(agent, names, others)} />'
        for (x, y), agent in zip(CORNERS, ends, strict=False)
    )
    about = f"Path of a population of {', '.join(map(as_text, labels))}"
    drawn = edges + dots + "".join(map(_corner, labels, range(len(labels)))) + _path(path @ places) + signs
    return _svg(640 if others else 410, about, drawn)


def _color(agent: int, names: Sequence[str], others: Sequence[int]) -> str:
    """The fill of a corner: the agent's color, if it has one in `bands`; else gray."""
    is_own = len(names) <= MOST_BANDS and (agent not in others or len(others) == 1)
    return f'fill="{PALETTE[agent]}"' if is_own else f'class="soft" fill="{SOFT}"'


def largest(shares: Floats) -> tuple[int, int, int]:
    """The indices of the three agents with the largest peak shares, ascending: corners for `simplex`.

    Args:
        shares: [T, n], n three at least.
    """
    first, second, third = sorted(np.argsort(-shares.max(axis=0), kind="stable")[:3].tolist())
    return first, second, third


def bands(names: Sequence[str], times: Floats, shares: Floats) -> str:
    """The share of every agent over time, as stacked bands; beyond `MOST_BANDS` the smallest are one band.

    Args:
        names: [n]
        times: [T], from the lowest; values between are joined by straight lines.
        shares: [T, n]
    """
    names, shares = _gathered(names, shares)
    start, end = float(times[0]), max(float(times[-1]), float(times[0]) + 1e-9)
    seen = np.linspace(start, end, RIGHT - LEFT + 1)
    heights = np.stack([np.interp(seen, times, shares[:, agent]) for agent in range(len(names))])
    tops = np.vstack([np.zeros(len(seen)), np.cumsum(heights, axis=0)])
    x = np.linspace(LEFT, RIGHT, len(seen))
    drawn = "".join(
        f'<polygon points="{_points(x, lower, upper)}" fill="{PALETTE[agent]}" />'
        for agent, (lower, upper) in enumerate(pairwise(tops))
    )
    frame = f'<path class="edge" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="#8a909c" />'
    ticks = [_label(LEFT - 6, TOP + 5, "1", "end"), _label(LEFT - 6, BOTTOM + 3, "0", "end")]
    ticks += [_label(LEFT - 6, (TOP + BOTTOM) / 2 + 4, "share", "end")]
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        time = f"{start + part * (end - start):.4g}"
        ticks.append(_label(LEFT + part * (RIGHT - LEFT), BOTTOM + 18, f"time {time}" if part else time, anchor))
    height, key = _key(names)
    about = f"Shares over time of {', '.join(as_text(name) for name in names)}"
    return _svg(height, about, drawn + frame + "".join(ticks) + key)


def _gathered(names: Sequence[str], shares: Floats) -> tuple[list[str], Floats]:
    """At most `MOST_BANDS` agents, those with the largest shares; the rest as one."""
    if len(names) <= MOST_BANDS:
        return list(names), shares
    chosen = sorted(np.argsort(-shares.max(axis=0), kind="stable")[: MOST_BANDS - 1].tolist())
    rest = 1 - shares[:, chosen].sum(axis=1, keepdims=True)
    return [names[agent] for agent in chosen] + [OTHERS], np.hstack([shares[:, chosen], np.clip(rest, 0, 1)])


def _points(x: Floats, lower: Floats, upper: Floats) -> str:
    """The outline of a band, without the points in the middle of straight lines."""
    y = BOTTOM - np.clip(np.array([lower, upper]), 0, 1) * (BOTTOM - TOP)
    flat = (np.abs(np.diff(y, 2)) < 0.02).all(axis=0)
    keep = np.r_[True, ~flat, True]
    there = [f"{a:g},{b:.1f}" for a, b in zip(x[keep], y[0][keep], strict=True)]
    back = [f"{a:g},{b:.1f}" for a, b in zip(x[keep][::-1], y[1][keep][::-1], strict=True)]
    return " ".join(there + back)


def _key(names: Sequence[str]) -> tuple[int, str]:
    """Colors and names below the bands, and the height of the picture."""
    signs = []
    for agent, name in enumerate(names):
        x, y = LEFT + 210 * (agent % 2), BOTTOM + 44 + 23 * (agent // 2)
        signs.append(f'<rect x="{x}" y="{y - 12}" width="14" height="14" rx="3" fill="{PALETTE[agent]}" />')
        signs.append(_label(x + 21, y, name, "start", "ink"))
    return BOTTOM + 54 + 23 * ((len(names) - 1) // 2), "".join(signs)


def _svg(height: int, about: str, content: str) -> str:
    """A picture; `about` is already escaped."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{about}" font-family="system-ui, DejaVu Sans, sans-serif" font-size="14.5">'
        f'<rect class="paper" width="{WIDTH}" height="{height}" fill="#ffffff" />{content}</svg>'
    )


def _line(a: Floats, b: Floats) -> str:
    return f'<path class="edge" d="M{a[0]:g} {a[1]:g}L{b[0]:g} {b[1]:g}" stroke="#b9bcc4" />'


def _label(x: float, y: float, text: str, anchor: str, kind: str = "soft") -> str:
    """A text; if it is shortened, it has a tooltip."""
    whole = f"<title>{as_text(text, 1000)}</title>" if len(text) > LABEL else ""
    color = {"soft": SOFT, "ink": INK}[kind]
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} fill="{color}">{whole}{as_text(text, LABEL)}</text>'


def _corner(name: str, number: int) -> str:
    (x, y), anchor = CORNERS[number], ("start", "end", "middle", "middle")[number]
    return _with_halo(_label(x + (-44, 44, 0, 0)[number], y + (28, 28, -17, 29)[number], name, anchor, "ink"))


def _with_halo(label: str) -> str:
    """A label with a halo in the background color, to be readable on top of lines."""
    rim = 'class="halo" stroke="#ffffff" stroke-width="5" stroke-linejoin="round" paint-order="stroke"'
    return f"<g {rim}>{label}</g>"


def _path(points: Floats) -> str:
    """A line through [T, 2] points, without steps too short to be seen."""
    chosen = _apart(points)
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in chosen)
    (x, y), (u, v) = chosen[0], chosen[-1]
    route = f'class="route" fill="none" stroke="{ACCENT}"'
    return (
        f'<path {route} d="M{line}" stroke-width="1.6" stroke-linejoin="round" />{_arrows(chosen)}'
        f'<circle class="head" cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{ACCENT}" />'
        f'<circle {route} cx="{u:.1f}" cy="{v:.1f}" r="11" stroke-width="2" />'
    )


def _apart(points: Floats) -> Floats:
    """[T, 2] points, without those closer than `SEEN` to the point before."""
    chosen = [points[0].tolist()]
    for x, y in points[1:].tolist():
        if abs(x - chosen[-1][0]) + abs(y - chosen[-1][1]) >= SEEN:
            chosen.append([x, y])
    return np.array(chosen)


def _arrows(points: Floats) -> str:
    """Arrowheads at equal distances along a line, except close to earlier ones (later rounds of a cycle)."""
    along = np.append(0.0, np.cumsum(np.hypot(*np.diff(points, axis=0).T)))
    places = np.arange(ARROWS / 2, along[-1], ARROWS)
    at, ahead, behind = ([np.interp(places + d, along, axis) for axis in points.T] for d in (0.0, 1.0, -1.0))
    turns = np.degrees(np.arctan2(ahead[1] - behind[1], ahead[0] - behind[0]))
    chosen: list[tuple[float, float]] = []
    heads = []
    for x, y, turn in zip(*at, turns, strict=True):
        if all(abs(x - a) + abs(y - b) > ARROWS / 2 for a, b in chosen):
            chosen.append((x, y))
            heads.append(_head(f"translate({x:.1f} {y:.1f}) rotate({turn:.0f})"))
    return "".join(heads)


def _head(placed: str) -> str:
    return f'<path class="head" d="M7 0L-6 5.5L-3 0L-6 -5.5Z" fill="{ACCENT}" transform="{placed}" />'


def _mark(mark: Mark, place: Floats) -> str:
    """A diamond, with its label towards the middle of the picture."""
    x, y = place
    sign = f'<path class="ink" d="M0 -8L8 0L0 8L-8 0Z" fill="{INK}" transform="translate({x:.1f} {y:.1f})" />'
    is_left = x < WIDTH / 2
    label = _label(x + (14 if is_left else -14), y + 5, mark.label, "start" if is_left else "end", "ink")
    return sign + _with_halo(label)
