"""Attacks on the frontier of docs/theorems.md, and its picture: `python -m studies.frontier --docs docs`.

Each point of the frontier is computed (minutes; saved in the folder) and played by its policies. Gains from deviating
are measured by exact best responses, and by a red team on fresh games. Other policies, scripted and learned, are listed
with their exact gains for comparison; the trainings are saved in the folder. Points are totals of the whole game.
`--docs` rewrites the picture, and the tables theorems-attacks and theorems-beside in the folder's `tables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import evaluation
from agents.runtime.colors import LEARNED, LEVEL, reward_color
from agents.runtime.progress import metered
from evaluation import Estimate
from evaluation.exact import FrontierPoint, exploitability, frontier
from evaluation.exact.drawn.points import file_name
from studies.frontier_policies import Beside, learned, scripted, short_of
from studies.tables import Docs, markdown, save
from welfare_env import Rules

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HALF = Fraction(1, 2)
GAMES: dict[tuple[str, int], tuple[Fraction | int, ...]] = {
    ("clique:3", 3): (0, HALF, 1),
    ("clique:3", 4): (0, 1, 2, 3),
    ("shared-clique:3", 3): (0, 1, 2),
    ("clique:4", 3): (0, 1),
}
"""Board and years -> epsilons."""
MARKS = {"": "D", "own": "^", "social": "s", "inequity": "v", "PSRO": "P"}  # kind of policy -> marker
SEED, ATTACKED = 30, 20  # seed of the red team, and its games per reported attack


def found_points(folder: Path, board: str, years: int) -> list[FrontierPoint]:
    """The frontier of a game; saved points are loaded from the folder."""
    points = []
    for epsilon in GAMES[board, years]:
        file = folder / file_name(board, years, epsilon)
        if not file.exists():
            (point,) = frontier(board, years, [epsilon])
            point.save(file)
        points.append(FrontierPoint.load(file))
    return points


def attacked(point: FrontierPoint, spec: str, store: evaluation.GameStore) -> tuple[str, Estimate]:
    """The best single-power attack of the selection games, with its gain in fresh games."""
    rules = Rules(press=None, years=point.years)
    team = evaluation.red_team(
        spec, "quick", games=ATTACKED, seed=SEED, rules=rules, map_name=point.map_name, seats="fixed", store=store
    )
    screened = {(each.deviator, each.coalition): each.gain for each in team.found.screened}
    alone = [each for each in team.found.gains if len(each.coalition) == 1]
    best = max(alone, key=lambda each: screened[each.deviator, each.coalition])
    return f"{team.kinds[best.deviator]}, {best.coalition[0]}", best.gain


def attack_rows(folder: Path, points: Sequence[FrontierPoint], store: evaluation.GameStore) -> Iterator[list[str]]:
    """One row per distinct path, at the smallest epsilon for which it is optimal."""
    for point in [point for number, point in enumerate(points) if point.path not in [x.path for x in points[:number]]]:
        spec = f"frontier:point={folder / point.file_name}"
        exact = exploitability(point.map_name, spec, point.years)
        most = max(exact.responses.values(), key=lambda each: each.gain)
        name, gain = attacked(point, spec, store)
        yield [
            f"{point.map_name}, {point.years}",
            str(point.epsilon),
            f"{sum(exact.points.values()):g}",
            str(point.gain),
            f"{most.gain:.3f}",
            f"{most.positions:,}",
            interval(gain, point.years),
            name,
        ]


def beside_row(board: str, years: int, points: Sequence[FrontierPoint], each: Beside) -> list[str]:
    """A policy with the points that it pays, and what the frontier would pay."""
    known = each.gain == each.gain  # not NaN
    cells = [f"{each.welfare:.4g}", f"{each.gain:.4g}"] if known else ["-", "-"]
    return [f"{board}, {years}", each.policy, *cells, short_of(points, each), str(points[0].welfare)]


def interval(gain: Estimate, years: int) -> str:
    """Convert a gain per year to the whole game, with its 95% interval."""
    if gain.low != gain.low:  # NaN: all games are equal, so there is no interval
        return f"{gain.value * years:.2f} [all {gain.n} alike]"
    return f"{gain.value * years:.2f} [{gain.low * years:.2f}, {gain.high * years:.2f}]"


def picture(games: Sequence[tuple[list[FrontierPoint], list[Beside]]]) -> Figure:
    """Welfare against the gain of deviating, one panel per game.

    The line is certified; the search shows that nothing is above the shaded steps.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.9 * -(-len(games) // 2)), layout="constrained")
    rows, columns = -(-len(games) // 2), min(2, len(games))
    for axes, (points, others) in zip(figure.subplots(rows, columns, squeeze=False).flat, games, strict=True):
        panel(axes, points, others)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def panel(axes: Axes, points: Sequence[FrontierPoint], others: Sequence[Beside]) -> None:
    """The frontier of one game, with other policies for comparison."""
    shown = [each for each in others if each.welfare > 0]
    last = max(each.gain for each in shown) + 0.5
    gains, sums = [float(each.gain) for each in points], [each.welfare for each in points]
    axes.step([*gains, last], [*sums, sums[-1]], where="post", color=LEARNED, label="reached (certified)")
    axes.plot(gains, sums, "o", color=LEARNED)
    limits = [0.0, *(float(each.epsilon) for each in points[1:]), last]
    for (low, high), least, most in zip(pairwise(limits), sums, [*sums[1:], sums[-1]], strict=True):
        axes.fill_between([low, high], least, most, color=LEARNED, alpha=0.12, linewidth=0)
    axes.plot([], [], color=LEARNED, alpha=0.25, linewidth=6, label="not known; nothing above (searched)")
    for kind, mark in MARKS.items():
        of_kind = [each for each in shown if each.kind == kind]
        color, label = (reward_color(kind), f"learned: {kind}") if kind else (LEVEL, "scripted")
        axes.plot([x.gain for x in of_kind], [x.welfare for x in of_kind], mark, color=color, alpha=0.7, label=label)
    name_policies(axes, [each for each in shown if not each.kind], last)
    axes.set_title(f"{points[0].map_name}, {points[0].years} years", fontsize=10)
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


def main(
    folder: Annotated[Path, typer.Option(help="Folder for points and games.")] = Path("runs/frontier"),
    docs: Docs = None,
) -> None:
    """Find, play and attack the points, print the tables, and draw the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    games, rows, others = [], [], []
    with evaluation.GameStore(folder / "games.sqlite") as store, metered("solving", len(GAMES), "games") as meter:
        for board, years in GAMES:
            points = found_points(folder, board, years)
            policies = [*scripted(board, years), *learned(folder, board, years)]
            games.append((points, policies))
            rows += list(attack_rows(folder, points, store))
            others += [beside_row(board, years, points, each) for each in policies]
            meter.advance(1)
    heads = (
        *("board, years", "epsilon", "sum", "certified gain", "exact gain"),
        *("positions", "best single attack of the red team", "which"),
    )
    named = ("board, years", "policy", "sum", "exact gain", "more possible at this gain", "possible at a gain of 0")
    print(f"{markdown(heads, rows)}\n\n{markdown(named, others)}")
    figure = picture(games)
    figure.savefig(folder / "frontier.png", dpi=150)
    if docs is not None:
        save(docs / "tables", "theorems-attacks", heads, rows)
        save(docs / "tables", "theorems-beside", named, others)
        figure.savefig(docs / "pictures" / "frontier.png", dpi=110)


if __name__ == "__main__":
    typer.run(main)
