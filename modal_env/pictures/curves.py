"""Populations as SVG: paths in a simplex, and shares over time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from modal_env.pictures.style import PALETTE, as_text

Floats = NDArray[np.float64]

WIDTH = 480
MOST_BANDS = 8  # with more agents the smallest share one band
LABEL = 20  # characters of a name in a picture
SEEN = 0.6  # shortest step that is drawn, in units of the picture
# Left, right, top, and the fourth corner below: a projection of the tetrahedron that keeps the corners apart.
CORNERS = np.array([[50.0, 370.0], [430.0, 370.0], [240.0, 41.0], [240.0, 600.0]])
NAMED_AT = ((-44, 28, "start"), (44, 28, "end"), (0, -17, "middle"), (0, 29, "middle"))  # labels of corners
LEFT, RIGHT, TOP, BOTTOM = 54, 472, 12, 192  # edges of the bands
OTHERS = "all others"
SOFT, INK, ACCENT = "#5d6472", "#1f2430", "#1f5fbf"


def simplex(names: Sequence[str], corners: Sequence[int], path: Floats) -> str:
    """The path of a population between three corners; all other agents on the path share a fourth below.

    A population is drawn at the mean of the corners, weighted by the shares. The path has a dot at its start and a ring
    at its end.

    Args:
        names: [n], three at least.
        corners: the numbers of the agents left, right and on top.
        path: [T, n] shares.
    """
    places = CORNERS[[list(corners).index(agent) if agent in corners else 3 for agent in range(len(names))]]
    others = [agent for agent in range(len(names)) if agent not in corners and path[:, agent].any()]
    labels = [
        *(names[agent] for agent in corners),
        *([names[others[0]] if len(others) == 1 else OTHERS] * bool(others)),
    ]
    drawn = [
        f'<path class="edge" d="M{a[0]:g} {a[1]:g}L{b[0]:g} {b[1]:g}" stroke="#b9bcc4" />'
        for a, b in combinations(CORNERS[: len(labels)], 2)
    ]
    for agent, name, (x, y), (right, down, anchor) in zip(
        [*corners, *others[:1]], labels, CORNERS, NAMED_AT, strict=False
    ):
        is_own = len(names) <= MOST_BANDS and name != OTHERS
        color = f'fill="{PALETTE[agent]}"' if is_own else f'class="soft" fill="{SOFT}"'
        drawn.append(f'<circle cx="{x:g}" cy="{y:g}" r="7" {color} />')
        drawn.append(_with_halo(_label(x + right, y + down, name, anchor, "ink")))
    drawn.append(_path(path @ places))
    about = f"Path of a population of {', '.join(map(as_text, labels))}"
    return _svg(640 if others else 410, about, "".join(drawn))


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
    tops = BOTTOM - np.clip(np.vstack([np.zeros(len(seen)), np.cumsum(heights, axis=0)]), 0, 1) * (BOTTOM - TOP)
    x = np.linspace(LEFT, RIGHT, len(seen))
    drawn = [
        f'<polygon points="{_points(x, lower)} {_points(x[::-1], upper[::-1])}" fill="{PALETTE[agent]}" />'
        for agent, (lower, upper) in enumerate(pairwise(tops))
    ]
    drawn.append(f'<path class="edge" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="#8a909c" />')
    for y, text in ((TOP + 5, "1"), (BOTTOM + 3, "0"), ((TOP + BOTTOM) / 2 + 4, "share")):
        drawn.append(_label(LEFT - 6, y, text, "end"))
    drawn.append(_label(LEFT, BOTTOM + 18, f"time {start:.4g}", "start"))
    drawn.append(_label(RIGHT, BOTTOM + 18, f"{end:.4g}", "end"))
    for agent, name in enumerate(names):
        left, down = LEFT + 210 * (agent % 2), BOTTOM + 44 + 23 * (agent // 2)
        drawn.append(f'<rect x="{left}" y="{down - 12}" width="14" height="14" rx="3" fill="{PALETTE[agent]}" />')
        drawn.append(_label(left + 21, down, name, "start", "ink"))
    about = f"Shares over time of {', '.join(as_text(name) for name in names)}"
    return _svg(BOTTOM + 54 + 23 * ((len(names) - 1) // 2), about, "".join(drawn))


def _gathered(names: Sequence[str], shares: Floats) -> tuple[list[str], Floats]:
    """At most `MOST_BANDS` agents, those with the largest shares; the rest as one."""
    if len(names) <= MOST_BANDS:
        return list(names), shares
    chosen = sorted(np.argsort(-shares.max(axis=0), kind="stable")[: MOST_BANDS - 1].tolist())
    rest = 1 - shares[:, chosen].sum(axis=1, keepdims=True)
    return [names[agent] for agent in chosen] + [OTHERS], np.hstack([shares[:, chosen], np.clip(rest, 0, 1)])


def _points(x: Floats, y: Floats) -> str:
    """The points of a curve, without those in the middle of straight lines."""
    keep = np.r_[True, np.abs(np.diff(y, 2)) >= 0.02, True]
    return " ".join(f"{a:g},{b:.1f}" for a, b in zip(x[keep], y[keep], strict=True))


def _svg(height: int, about: str, content: str) -> str:
    """A picture; `about` is already escaped."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{about}" font-family="system-ui, DejaVu Sans, sans-serif" font-size="14.5">'
        f'<rect class="paper" width="{WIDTH}" height="{height}" fill="#ffffff" />{content}</svg>'
    )


def _label(x: float, y: float, text: str, anchor: str, kind: str = "soft") -> str:
    """A text; if it is shortened, it has a tooltip."""
    whole = f"<title>{as_text(text, 1000)}</title>" if len(text) > LABEL else ""
    color = {"soft": SOFT, "ink": INK}[kind]
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} fill="{color}">{whole}{as_text(text, LABEL)}</text>'


def _with_halo(label: str) -> str:
    """A label with a halo in the background color, to be readable on top of lines."""
    rim = 'class="halo" stroke="#ffffff" stroke-width="5" stroke-linejoin="round" paint-order="stroke"'
    return f"<g {rim}>{label}</g>"


def _path(points: Floats) -> str:
    """A line through [T, 2] points, without steps too short to be seen."""
    chosen = [points[0].tolist()]
    for x, y in points[1:].tolist():
        if abs(x - chosen[-1][0]) + abs(y - chosen[-1][1]) >= SEEN:
            chosen.append([x, y])
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in chosen)
    (x, y), (u, v) = chosen[0], chosen[-1]
    route = f'class="route" fill="none" stroke="{ACCENT}"'
    return (
        f'<path {route} d="M{line}" stroke-width="1.6" stroke-linejoin="round" />'
        f'<circle class="head" cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{ACCENT}" />'
        f'<circle {route} cx="{u:.1f}" cy="{v:.1f}" r="11" stroke-width="2" />'
    )
