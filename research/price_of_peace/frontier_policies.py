"""Policies beside the frontier of docs/theorems.md, and its picture.

    python -m research.price_of_peace.frontier_policies --docs docs

Scripted policies, self-play by reward, and populations (PSRO), each with its exact gain from deviating; trainings are
saved in the folder. The frontier is read from the page's table theorems-frontier. Points are totals of the whole game.
`--docs` rewrites the picture, and the table theorems-beside in the folder's `tables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import training
from agents.runtime.colors import LEARNED, LEVEL, reward_color
from evaluation.exact import exploitability
from research.learning.populations import SETTINGS, steps
from research.learning.rewards import REWARDS
from research.learning.trainings import Group
from research.tables import DOCS, Docs, markdown, read, save
from welfare_env import load_board

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCRIPTED = ("prosocial", "tit-for-tat", "sheriff:fight=punish", "hold")
SEEDS, ITERATIONS, RESPONSES = 3, 150, 3
MARKS = {"": "D", "own": "^", "social": "s", "inequity": "v", "PSRO": "P"}  # kind of policy -> marker


@dataclass(frozen=True)
class Step:
    """A point of the frontier.

    Attributes:
        epsilon, last: the smallest and largest epsilon at which it is known to be best.
        welfare: sum of points.
        gain: certified gain from deviating.
    """

    epsilon: Fraction
    last: Fraction
    welfare: int
    gain: Fraction


@dataclass(frozen=True)
class Beside:
    """A policy for comparison: the sum of all powers' points, and the largest exact gain of a deviating power.

    Attributes:
        policy: its name.
        welfare, gain: points of the whole game; NaN if the exact search was refused.
        kind: "" for scripted policies, else how it learned.
    """

    policy: str
    welfare: float
    gain: float
    kind: str = ""


def scripted(board: str, years: int) -> Iterator[Beside]:
    """Scripted policies, including the paper's."""
    for policy in (*SCRIPTED, *(f"punisher:t={t},remembers=yes" for t in range(1, years + 1))):
        yield measured(board, years, policy, policy)


def learned(folder: Path, board: str, years: int) -> Iterator[Beside]:
    """Last iterates of self-play, each reward with several seeds, with their most probable orders; and a population."""
    settings = {"map_name": board, "years": years, "sees": "position"}
    game = f"{board.replace(':', '-')}-{years}"
    for reward in REWARDS:
        kind = reward.partition(":")[0]
        group = Group(f"{game}-{kind}", {**settings, "reward": reward}, SEEDS, ITERATIONS, max_iterations=ITERATIONS)
        policies = [f"rl:{place / 'checkpoint'},greedy=yes" for place in group.folders(folder)]
        yield from by_result([measured(board, years, policy, "", kind) for policy in policies])
    config = training.PopulationConfig(
        map_name=board,
        begin="hold+prosocial",
        steps=RESPONSES,
        folder=folder / f"{game}-psro",
        **SETTINGS | {"years": years, "iterations": 40},
    )
    *_, last = steps(config)
    size = years * len(load_board(board).powers)
    found = [float("nan") if last[name] is None else float(last[name]) for name in ("welfare", "gap")]
    yield Beside(f"PSRO, {RESPONSES} responses", found[0] * size, found[1] * years, "PSRO")


def by_result(seeds: Sequence[Beside]) -> Iterator[Beside]:
    """Trainings of one reward by seed; those with equal welfare and gain are merged."""
    alike: dict[tuple[float, float], list[str]] = {}
    for seed, each in enumerate(seeds):
        alike.setdefault((each.welfare, each.gain), []).append(str(seed))
    kind = seeds[0].kind
    for (welfare, gain), numbers in alike.items():
        plural = "s" if len(numbers) > 1 else ""
        yield Beside(f"{kind} reward, seed{plural} {', '.join(numbers)}", welfare, gain, kind)


def measured(board: str, years: int, policy: str, name: str, kind: str = "") -> Beside:
    """A policy with its exact gain."""
    found = exploitability(board, policy, years)
    return Beside(name, sum(found.points.values()), found.gap * years, kind)


def short_of(points: Sequence[Step], found: Beside) -> str:
    """How much more welfare is possible at a policy's gain: a number, or two if the frontier is not known there.

    Args:
        points: the frontier, by increasing epsilon.
    """
    if isnan(found.gain):
        return "-"
    under = [point.welfare for point in points if point.gain <= found.gain + 1e-9]
    over = [point.welfare for point in points if point.last >= found.gain - 1e-9]
    least, most = max(under, default=0) - found.welfare, (over[0] if over else points[-1].welfare) - found.welfare
    return f"{least:g}" if least >= most else f"{least:g} to {most:g}"


def frontiers(table: Path = DOCS / "tables" / "theorems-frontier.csv") -> dict[str, list[Step]]:
    """The points of the page's table, by board and years as in its first column ("clique:3, 3")."""
    found: dict[str, list[Step]] = {}
    for game, epsilons, total, _, gain, *_ in read(table)[1][1:]:
        known = [Fraction(each) for each in epsilons.split(", ")]
        step = Step(known[0], known[-1], int(total.split()[0]), Fraction(gain))
        found.setdefault(game, []).append(step)
    return found


def picture(games: Mapping[str, tuple[Sequence[Step], Sequence[Beside]]]) -> Figure:
    """Welfare against the gain of deviating, one panel per game.

    The line is certified; the search shows that nothing is above the shaded steps.
    """
    from matplotlib.figure import Figure

    rows, columns = ceil(len(games) / 2), min(2, len(games))
    figure = Figure(figsize=(9, 3.9 * rows), layout="constrained")
    for axes, (game, (points, others)) in zip(
        figure.subplots(rows, columns, squeeze=False).flat, games.items(), strict=True
    ):
        panel(axes, game, points, others)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def panel(axes: Axes, game: str, points: Sequence[Step], others: Sequence[Beside]) -> None:
    """The frontier of one game, with other policies for comparison."""
    shown = [each for each in others if each.welfare > 0]
    last = max(each.gain for each in shown) + 0.5
    gains, sums = [float(each.gain) for each in points], [each.welfare for each in points]
    axes.step([*gains, last], [*sums, sums[-1]], where="post", color=LEARNED, label="reached (certified)")
    axes.plot(gains, sums, "o", color=LEARNED)
    for before, after in pairwise(points):
        limits = [float(before.last), float(after.epsilon)]
        axes.fill_between(limits, before.welfare, after.welfare, color=LEARNED, alpha=0.12, linewidth=0)
    axes.plot([], [], color=LEARNED, alpha=0.25, linewidth=6, label="not known; nothing above (searched)")
    for kind, mark in MARKS.items():
        of_kind = [each for each in shown if each.kind == kind]
        color, label = (reward_color(kind), f"learned: {kind}") if kind else (LEVEL, "scripted")
        axes.plot([x.gain for x in of_kind], [x.welfare for x in of_kind], mark, color=color, alpha=0.7, label=label)
    name_policies(axes, [each for each in shown if not each.kind], last)
    axes.set_title(f"{game} years", fontsize=10)
    axes.set_xlabel("gain by leaving, points of the whole game")
    axes.set_ylabel("sum of welfare points")
    axes.set_ylim(min(each.welfare for each in shown) - 1.5, max(sums) + 0.7)
    axes.grid(alpha=0.25)


def name_policies(axes: Axes, shown: Sequence[Beside], last: float) -> None:
    """Write names below the marks; names at the same welfare are stacked."""
    places: dict[tuple[float, float], list[str]] = {}
    for each in sorted(shown, key=lambda other: other.gain):
        places.setdefault((each.gain, each.welfare), []).append(each.policy.removesuffix(",remembers=yes"))
    above: dict[float, int] = {}  # welfare -> lines written so far
    for (gain, welfare), names in places.items():
        on_right = gain > 0.7 * last
        side, where = ("right", -5) if on_right else ("left", 7)
        down = -5 - 10 * above.get(welfare, 0)
        text, at = "\n".join(names), (gain, welfare)
        axes.annotate(text, at, xytext=(where, down), textcoords="offset points", ha=side, va="top", fontsize=7)
        above[welfare] = above.get(welfare, 0) + len(names)


def beside_row(game: str, points: Sequence[Step], each: Beside) -> list[str]:
    """A policy with the points that it pays, and what the frontier would pay."""
    cells = ["-", "-"] if isnan(each.gain) else [f"{each.welfare:.4g}", f"{each.gain:.4g}"]
    return [game, each.policy, *cells, short_of(points, each), str(points[0].welfare)]


def main(
    folder: Annotated[Path, typer.Option(help="Folder for trainings.")] = Path("runs/frontier"), docs: Docs = None
) -> None:
    """Train, compute exact gains, print the table, and draw the picture."""
    games: dict[str, tuple[list[Step], list[Beside]]] = {}
    for game, points in frontiers().items():
        board, years = game.split(", ")
        others = [*scripted(board, int(years)), *learned(folder, board, int(years))]
        games[game] = (points, others)
    rows = [beside_row(game, points, each) for game, (points, others) in games.items() for each in others]
    heads = ("board, years", "policy", "sum", "exact gain", "more possible at this gain", "possible at a gain of 0")
    print(markdown(heads, rows))
    figure = picture(games)
    figure.savefig(folder / "frontier.png", dpi=150)
    if docs is not None:
        save(docs / "tables", "theorems-beside", heads, rows)
        figure.savefig(docs / "pictures" / "frontier.png", dpi=110)


if __name__ == "__main__":
    typer.run(main)
