"""Large populations of all direct agents, docs/modal-evolution.md.

    python -m research.programs.direct_populations --tables docs/tables    # ten minutes on one core

Without --tables it draws the pictures only, in a minute.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from modal_env import direct_basins, direct_course, direct_growth
from modal_env.cli import plots
from modal_env.dynamics.courses import Course
from modal_env.search.direct.basins import DirectBasins
from research.tables import Folder, save

PRICES = ("1/100", "1/20", "1/10", "1/4", "2/5", "1/2", "3/5")  # epsilon
COURSE_PRICES = ("1/100", "1/80", "1/60", *PRICES[1:])  # DefectBot does not take over at all of them
FEW_PRICES = ("1/100", "1/10", "1/4", "1/2")
STARTS = {"agents": "every agent", "depths": "every depth"}
LONG = 1e6  # duration
TIMES = (10, 100, 1e3, 1e4, 1e5)
DRAWN = 100  # random starts of replicator dynamics
DRAWN_OF_NOISE = 30
NOISES = (("logit", (0.01, 0.03, 0.1, 0.3)), ("best-response", (0.01, 0.05, 0.2)))
MEMBERS = 10**12  # added in growth


def main(
    to: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("docs/pictures"), tables: Folder = None
) -> None:
    """Draw the pictures, and write the tables."""
    courses = {
        (start, price): direct_course(price, start=start, time=LONG) for start in STARTS for price in COURSE_PRICES
    }
    pictures = {
        "modal-direct-course": plots.course(courses["agents", "1/10"]),
        "modal-direct-cooperation": plots.cooperation_over_time([courses["agents", price] for price in COURSE_PRICES]),
    }
    for name, picture in pictures.items():
        picture.savefig(to / f"{name}.png")
    if tables is None:
        return
    _save_courses(tables, courses)
    _save_growth(tables)
    _save_noise(tables)
    _save_basins(tables)


def _save_courses(tables: Path, courses: dict[tuple[str, str], Course]) -> None:
    head = ("equally often", "ε", "lowest before, at time", "above 1/2", "in the end", "largest in turn, from time")
    rows = [(STARTS[start], price, *row_of(course)) for (start, price), course in courses.items()]
    save(tables, "modal-evolution-direct-course", head, rows)


def row_of(course: Course) -> tuple[str, str, str, str]:
    """Cooperation: lowest before it first exceeds 1/2, and when; while it does; at the end. And the largest groups."""
    high = course.cooperation > 0.5
    first = int(high.argmax()) if high.any() else len(high)
    lowest = int(course.cooperation[:first].argmin())
    edges = np.flatnonzero(np.diff(np.concatenate([[False], high, [False]]).astype(int)))
    spans = ", ".join(f"{_time(course.times[a])} to {_time(course.times[b - 1])}" for a, b in edges.reshape(-1, 2))
    turns = " → ".join(f"{course.names[group]} {_time(course.times[at])}" for at, group in course.turns)
    low = f"{course.cooperation[lowest]:.3f}, {_time(course.times[lowest])}" if high.any() else ""
    return low, spans or "never", f"{course.cooperation[-1]:.3f}", turns


def _time(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 10 else f"{value:.2g}"


def _save_growth(tables: Path) -> None:
    rows = [(price, grown_of(price)) for price in PRICES]
    save(tables, "modal-evolution-direct-growth", ("ε", "added in turn, how often"), rows)


def grown_of(price: str) -> str:
    """What growth from one of each adds."""
    runs = direct_growth(price, MEMBERS).runs
    return " → ".join(f"{run.agent} {'for ever' if run.is_endless else f'{run.steps:,}'}" for run in runs)


def _save_noise(tables: Path) -> None:
    rows = []
    for rule, noises in NOISES:
        for noise in noises:
            ends = [direct_basins(price, rule, noise=noise, starts=DRAWN_OF_NOISE, time=200) for price in FEW_PRICES]
            rows.append((rule, f"{noise:g}", *map(ends_of, ends)))
    save(tables, "modal-evolution-direct-noise", ("rule", "noise", *(f"ε = {price}" for price in FEW_PRICES)), rows)


def ends_of(basins: DirectBasins) -> str:
    """Cooperation in the end, lowest and highest, and where the starts come to rest."""
    low, high = basins.cooperation.min(), basins.cooperation.max()
    both = f"{low:.3f}" if high - low < 0.0005 else f"{low:.3f} to {high:.3f}"
    ends = [f"{name} {count}" for name, count in {**basins.ends, "moving": basins.moving}.items() if count]
    return f"{both}: {', '.join(ends)}"


def _save_basins(tables: Path) -> None:
    head = ("equally often", "ε", *(f"{_time(time)}" for time in TIMES), "DefectBot", "other rests", "moving")
    rows = [(name, price, *basin_of(start, price)) for start, name in STARTS.items() for price in PRICES]
    save(tables, "modal-evolution-direct-basins", head, rows)


def basin_of(start: str, price: str) -> list[str]:
    """The share of random starts in which most pairs cooperate, over time, and where they are at the last time."""
    basins = [direct_basins(price, start=start, starts=DRAWN, time=time) for time in TIMES]
    high, last = [f"{(one.cooperation > 0.5).mean():.2f}" for one in basins], basins[-1]
    others = ", ".join(f"{other} {n}" for other, n in last.ends.items() if n and other != "DefectBot") or "none"
    return [*high, f"{last.share('DefectBot'):.3f}", others, str(last.moving)]


if __name__ == "__main__":
    typer.run(main)
