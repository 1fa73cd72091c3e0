"""What peace costs that can be defended: welfare, what robbers gain, and what harmless neighbours cost.

    python -m benchmarks.deterrence                  # twenty games of each: CPU-hours
    python -m benchmarks.deterrence --quick          # two games of each: half an hour
    python -m benchmarks.deterrence --only marshal --only sheriff:slack=2

For each rule: root Nash welfare in self-play, alone and with players who err in one phase out of twenty (`noisy`); the
strongest attack of the red team (`evaluation.red_team`), corrected for the choice; and the welfare of the six others
beside one neighbour who means no harm, in the seat where that is least: hold, random, dove, and a prosocial who errs in
one phase out of five. Games have ten years and no press. Finished games are kept, and an interrupted study goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import evaluation
from agents.colors import LEARNED, PUBLISHED
from agents.progress import metered
from agents.specs import read_profile
from evaluation.experiments import published
from evaluation.experiments.red_team import BUDGETS, plan
from welfare_env import Rules, load_board

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RULES = Rules(press=None)
POWERS = load_board("standard").powers
NAMED = ("prosocial", "grim", "police", "sheriff", "marshal")
SWEEP = (
    *NAMED,
    "sheriff:slack=0",
    "sheriff:slack=2",
    "sheriff:fight=posse",
    "marshal:slack=1",
    "marshal:forgive=2",
    "marshal:fighters=concerned",
    "marshal:fight=(posse:force=1,more=1)",
    "marshal:fight=(posse:force=4,more=1)",
    "marshal:fight=dumbbot",
)
NEIGHBOURS = ("hold", "random", "dove", "noisy:of=prosocial,error=0.2")
ERRORS = 0.05


@dataclass(frozen=True)
class Neighbour:
    """What one neighbour costs the six others, in its worst seat.

    Attributes:
        welfare: root Nash welfare of the others, mean over games, and its 95% interval.
        seat: where it is least.
    """

    welfare: float
    low: float
    high: float
    seat: str


@dataclass(frozen=True)
class Line:
    """A rule: welfare alone and with errors, the best attack, and each neighbour."""

    rule: str
    games: int
    welfare: float
    noisy_welfare: tuple[float, float, float]
    gain: tuple[float, float, float]
    naive_gain: float
    attack: str
    coalition: tuple[str, ...]
    neighbours: dict[str, Neighbour]


class Study:
    """Plays with one store and one pool of processes."""

    def __init__(self, games: int, budget: str, store: evaluation.GameStore, workers: evaluation.Workers) -> None:
        self.games, self.budget = games, budget
        self.means: dict[str, Any] = {"store": store, "workers": workers, "rules": RULES}

    def total(self, rules: Iterable[str]) -> int:
        """How many games there are to play."""
        setting = evaluation.Setting(rules=RULES)
        attacks = (len(plan(read_profile(rule), rule, setting, self.budget, ())[0]) + 1 for rule in rules)
        return sum(self.games * (count + 2 + len(NEIGHBOURS) * (len(POWERS) + 1)) for count in attacks)

    def line(self, rule: str, report: Any) -> Line:
        """All of one rule."""
        means = {**self.means, "report": report}
        alone = evaluation.self_play(rule, self.games, **means).root_nash_welfare
        noisy = evaluation.self_play(f"noisy:of=({rule}),error={ERRORS}", self.games, **means).root_nash_welfare
        team = evaluation.red_team(rule, self.budget, games=self.games, **means)
        return Line(
            rule,
            self.games,
            alone.value,
            (noisy.value, noisy.low, noisy.high),
            (team.corrected.value, team.corrected.low, team.corrected.high),
            team.value.value,
            team.best.deviator,
            team.best.coalition,
            {neighbour: self.neighbour(rule, neighbour, means) for neighbour in NEIGHBOURS},
        )

    def neighbour(self, rule: str, neighbour: str, means: dict[str, Any]) -> Neighbour:
        """The seat in which a neighbour costs the others most."""
        seats = [(power,) for power in POWERS]
        played = evaluation.exploitability(rule, self.games, deviator=neighbour, coalitions=seats, **means)
        beside = [
            Neighbour(others.value, others.low, others.high, seat) for (seat,), others in played.victims_welfare.items()
        ]
        return min(beside, key=lambda each: each.welfare)


def table(lines: Iterable[Line]) -> Table:
    """A row a rule."""
    found = Table(title="Peace that can be defended", caption="welfare: root Nash, points a year; gain: corrected")
    for name in ("rule", "alone", "with errors", "best attack gains", "by", *NEIGHBOURS):
        found.add_column(name, overflow="fold")
    for line in lines:
        beside = [f"{each.welfare:.2f} {each.seat[:3]}" for each in line.neighbours.values()]
        gain = "{:.2f} [{:.2f}, {:.2f}]".format(*line.gain)
        by = f"{line.attack} ({', '.join(power[:3] for power in line.coalition)})"
        found.add_row(line.rule, f"{line.welfare:.3f}", f"{line.noisy_welfare[0]:.2f}", gain, by, *beside)
    return found


def frontier(lines: Sequence[Line]) -> Figure:
    """What the best attack gains, against the welfare in self-play and against what the worst neighbour leaves.

    The left panel also has the paper's language models: their mean welfare, and what their exploiters gained at most.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.7), layout="constrained")
    alone, beside = figure.subplots(1, 2, sharey=True)
    gains = [line.gain[0] for line in lines]
    names = [line.rule for line in lines]
    look: dict[str, Any] = {"marker": "o", "color": LEARNED, "label": "our policies"}
    theirs: dict[str, Any] = {
        "marker": "D",
        "color": PUBLISHED,
        "label": "language models, as published by the paper's authors",
    }
    _points(alone, gains, [line.welfare for line in lines], names, look)
    models = list(dict.fromkeys(name.partition(",")[0] for name in published.EXPLOITABILITY))
    welfare = [float(np.mean(published.SELF_PLAY[model]["root_nash_welfare"])) for model in models]
    most = [
        max(max(published.EXPLOITABILITY[f"{model}, {size}"]["exploitability"]) for size in ("singles", "pairs"))
        for model in models
    ]
    _points(alone, most, welfare, [model.removesuffix("-0613") for model in models], theirs)
    _points(beside, gains, [min(n.welfare for n in line.neighbours.values()) for line in lines], names, look)
    alone.set_title("welfare in self-play", fontsize=10)
    beside.set_title("welfare of the six others beside the worst harmless neighbor", fontsize=10)
    alone.set_ylabel("root Nash welfare, points a year")
    for axes in (alone, beside):
        axes.set_xlabel("gain of the best attack, points a year")
        axes.set_xlim(-0.5, 1.25 * max(gains + most))
        axes.set_ylim(-0.4, 5.3)
        axes.grid(alpha=0.25)
    figure.legend(*alone.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def _points(axes: Axes, x: Sequence[float], y: Sequence[float], names: Sequence[str], look: Mapping[str, Any]) -> None:
    """Named points; names of points that coincide stand in one label."""
    axes.plot(x, y, linestyle="none", **look)
    places: dict[tuple[float, float], list[str]] = {}
    for across, up, name in zip(x, y, names, strict=True):
        near = next((p for p in places if abs(p[0] - across) < 0.5 and abs(p[1] - up) < 0.2), (across, up))
        places.setdefault(near, []).append(name)
    for number, (place, here) in enumerate(sorted(places.items())):  # up and down in turn, so that they do not overlap
        away = (6, -11 if number % 2 else 5)
        axes.annotate(", ".join(here), place, xytext=away, textcoords="offset points", fontsize=7.5)


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Two games of each, and few coalitions.")] = False,
    only: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads it)
        typer.Option(help="A rule; may be given several times.", show_default="all"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the games, the figures and the picture.")] = Path(
        "runs/deterrence"
    ),
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
) -> None:
    """Play all, print the table, and write deterrence.json and frontier.png."""
    budget = "quick" if quick else "full"
    rules = only or SWEEP
    out.mkdir(parents=True, exist_ok=True)
    with evaluation.GameStore(out / "games.sqlite") as store, evaluation.Workers(workers) as pool:
        study = Study(BUDGETS[budget].games, budget, store, pool)
        with metered("playing", study.total(rules), "games") as meter:
            lines = [study.line(rule, meter.advance) for rule in rules]
    (out / "deterrence.json").write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")
    frontier(lines).savefig(out / "frontier.png", dpi=150)
    Console().print(table(lines))


if __name__ == "__main__":
    typer.run(main)
