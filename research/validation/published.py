"""Our random and prosocial players compared with the authors' runs: welfare, conflicts, stolen centers, proficiency.

    python -m research.validation.published         # 1,000 games of random under each of three rules: four minutes
    python -m research.validation.published --games 100

Ten years, no press. Prints the table of docs/differences.md: means with Student's 95% intervals over games.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from scipy.stats import t

import evaluation
from evaluation.experiments.published import RANDOM_SWEEP, TABLES
from research.games import ALL_CORES, Out, Workers, playing
from research.tables import Folder, show
from welfare_env import Rules

BATCH = 100  # games in memory
MEASURES = ("root_nash_welfare", "conflicts", "stolen_centers", "proficiency")


class Setting(NamedTuple):
    """Rules and definitions of measures."""

    name: str
    rules: Rules
    paper_code: bool


SETTINGS = (
    Setting("the paper's rules and measures", Rules(press=None), paper_code=False),
    Setting("and points after retreats, published measures", Rules(press=None, retreat_welfare=True), paper_code=True),
    Setting("`Rules.published()`, published measures", Rules.published(press=None), paper_code=True),
)
AUTHORS = {
    "the authors, random, seeds 0 to 4": TABLES["self_play"]["random"],
    "the authors, random, seeds 0 to 63": RANDOM_SWEEP,
    "the authors, optimal prosocial": TABLES["self_play"]["prosocial"],
}


def cell(values: Sequence[float]) -> str:
    """The mean of a measure, with its interval if there are several games."""
    games = np.asarray(values)
    mean = f"{games.mean():.3f}"
    if len(games) < 2 or not games.std():
        return mean
    width = t.ppf(0.975, len(games) - 1) * games.std(ddof=1) / len(games) ** 0.5
    return f"{mean} [{games.mean() - width:.3f}, {games.mean() + width:.3f}]"


def rows(games: int, seed: int, means: dict[str, Any]) -> Iterator[list[str]]:
    """The rows of the table: ours, then the authors'."""
    for setting in SETTINGS:
        yield played("random", setting, games, seed, means)
    yield played("prosocial", SETTINGS[-1], 1, seed, means)
    for name, runs in AUTHORS.items():
        number = len(runs["root_nash_welfare"])
        yield [name, str(number), *(cell(runs[measure]) if measure in runs else "" for measure in MEASURES)]


def played(policy: str, setting: Setting, games: int, seed: int, means: dict[str, Any]) -> list[str]:
    """A row of ours."""
    found: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    for batch, start in enumerate(range(0, games, BATCH)):
        number = min(BATCH, games - start)
        result = evaluation.self_play(
            policy, number, seed=seed + batch, rules=setting.rules, paper_code=setting.paper_code, **means
        )
        for measure in MEASURES:
            found[measure] += getattr(result, measure).per_game
    return [f"{policy}, {setting.name}", f"{games:,}", *(cell(found[measure]) for measure in MEASURES)]


def main(
    games: Annotated[int, typer.Option(min=2, help="Games of random per set of rules.")] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    out: Out = Path("runs/published"),
    workers: Workers = ALL_CORES,
    to: Folder = None,
) -> None:
    """Compare our random and prosocial players with the authors' runs."""
    head = ("ten years, no press", "games", *(measure.replace("_", " ") for measure in MEASURES))
    with playing(out, workers) as means:
        show(to, "differences-published", head, rows(games, seed, means))


if __name__ == "__main__":
    typer.run(main)
