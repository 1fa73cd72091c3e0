"""Attacks on the frontier of docs/theorems.md: `python -m research.price_of_peace.frontier --docs docs`.

Each point of the frontier is computed (minutes; saved in the folder) and played by its policies. Gains from deviating
are measured by exact best responses, and on fresh games those of a red team and of a network trained against the point
(saved in the folder, too). Points are totals of the whole game. `--docs` rewrites the table theorems-attacks in the
folder's `tables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

import evaluation
import training
from agents.runtime.progress import metered
from evaluation import Estimate
from evaluation.exact import FrontierPoint, exploitability, frontier
from evaluation.exact.drawn.points import file_name
from research.learning.trainings import trained
from research.tables import Docs, markdown, save
from welfare_env import Rules

HALF = Fraction(1, 2)
GAMES: dict[tuple[str, int], tuple[Fraction | int, ...]] = {
    ("clique:3", 3): (0, HALF, 1),
    ("clique:3", 4): (0, 1, 2, 3),
    ("shared-clique:3", 3): (0, 1, 2),
    ("clique:4", 3): (0, 1),
}
"""Board and years -> epsilons."""
SEED, ATTACKED = 30, 20  # seed of the attacks, and games per reported attack
LEARNED = 75  # iterations of a learner


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


def learned(folder: Path, point: FrontierPoint, spec: str, store: evaluation.GameStore) -> tuple[str, Estimate]:
    """A network trained against the point in every seat, in the seat that was best in the selection games."""
    config = training.TrainConfig(
        against=(spec,),
        map_name=point.map_name,
        years=point.years,
        iterations=LEARNED,
        horizon=LEARNED,
        games=96,
        held_out_every=10,
        folder=folder / f"learner-{Path(point.file_name).stem}",
    )
    found = evaluation.exploitability(
        spec,
        ATTACKED,
        deviator=f"rl:{trained(config) / 'best'}",
        coalitions="all-singles",
        seed=SEED,
        rules=Rules(press=None, years=point.years),
        map_name=point.map_name,
        store=store,
    )
    return found.best[0], found.best_gain.gain


def attack_rows(folder: Path, points: Sequence[FrontierPoint], store: evaluation.GameStore) -> Iterator[list[str]]:
    """One row per distinct path, at the smallest epsilon for which it is optimal."""
    for point in [point for number, point in enumerate(points) if point.path not in [x.path for x in points[:number]]]:
        spec = f"frontier:point={folder / point.file_name}"
        exact = exploitability(point.map_name, spec, point.years)
        most = max(exact.responses.values(), key=lambda each: each.gain)
        name, gain = attacked(point, spec, store)
        seat, learner_gain = learned(folder, point, spec, store)
        yield [
            f"{point.map_name}, {point.years}",
            str(point.epsilon),
            f"{sum(exact.points.values()):g}",
            str(point.gain),
            f"{most.gain:.3f}",
            f"{most.positions:,}",
            interval(gain, point.years),
            name,
            interval(learner_gain, point.years),
            seat,
        ]


def interval(gain: Estimate, years: int) -> str:
    """Convert a gain per year to the whole game, with its 95% interval."""
    if gain.low != gain.low:  # NaN: all games are equal, so there is no interval
        return f"{gain.value * years:.2f} [all {gain.n} alike]"
    return f"{gain.value * years:.2f} [{gain.low * years:.2f}, {gain.high * years:.2f}]"


def main(
    folder: Annotated[Path, typer.Option(help="Folder for points and games.")] = Path("runs/frontier"),
    docs: Docs = None,
) -> None:
    """Find, play and attack the points, and print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    with evaluation.GameStore(folder / "games.sqlite") as store, metered("solving", len(GAMES), "games") as meter:
        for board, years in GAMES:
            rows += list(attack_rows(folder, found_points(folder, board, years), store))
            meter.advance(1)
    heads = (
        *("board, years", "epsilon", "sum", "certified gain", "exact gain"),
        *("positions", "best single attack of the red team", "which", "learner", "in seat"),
    )
    print(markdown(heads, rows))
    if docs is not None:
        save(docs / "tables", "theorems-attacks", heads, rows)


if __name__ == "__main__":
    typer.run(main)
