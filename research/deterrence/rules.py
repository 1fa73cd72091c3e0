"""The price of deterrence: welfare, gains of the best attack, and the cost of harmless neighbors, for each rule.

    python -m research.deterrence.rules                     # the usual red team: CPU-hours
    python -m research.deterrence.rules --budget quick      # fewer coalitions: five CPU-minutes per rule
    python -m research.deterrence.rules --only marshal --only sheriff:slack=2

For each rule: root Nash welfare in self-play, without and with random errors in one phase out of twenty (`noisy`); the
strongest attack found by the red team (`evaluation.red_team`); and the welfare of six players of the rule with one
harmless neighbor, in the neighbor's worst seat: hold, random, dove, or a prosocial with errors in one phase out of
five. Attacks and seats are chosen in separate games and reported from twenty fresh ones. Games have ten years and no
press. Finished games are saved; rerunning an interrupted study continues it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import numpy as np
import typer
from rich.table import Table

import evaluation
from agents.runtime.colors import LEARNED, PUBLISHED
from agents.runtime.progress import metered
from agents.runtime.tables import print_tables
from evaluation.experiments import published
from evaluation.experiments.attacks import GAMES
from evaluation.experiments.red_team import BUDGETS, plan_red_team
from evaluation.tables.game_tables import cell
from research.tables import Folder, parts, save
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
NEIGHBORS = ("hold", "random", "dove", "noisy:of=prosocial,error=0.2")
ERRORS = 0.05
CHOOSING_SEED = 1  # seed of the games in which a seat is chosen


@dataclass(frozen=True)
class Neighbor:
    """The welfare of the six others with one neighbor, in its worst seat.

    Attributes:
        welfare: root Nash welfare of the others, mean over games.
        seat: the neighbor's seat with the lowest welfare in the choosing games.
    """

    welfare: evaluation.Estimate
    seat: str


@dataclass(frozen=True)
class Line:
    """The results of a rule: welfare in self-play without and with errors, the best attack, and each neighbor."""

    rule: str
    welfare: evaluation.Estimate
    noisy_welfare: evaluation.Estimate
    gain: evaluation.Estimate
    attack: str
    coalition: tuple[str, ...]
    neighbors: dict[str, Neighbor]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, without values per game."""
        told: dict[str, Any] = {name: getattr(self, name) for name in ("rule", "attack", "coalition")}
        told |= {name: _numbers(getattr(self, name)) for name in ("welfare", "noisy_welfare", "gain")}
        neighbors = {
            name: {"seat": each.seat, "welfare": _numbers(each.welfare)} for name, each in self.neighbors.items()
        }
        return told | {"neighbors": neighbors}


def _numbers(estimate: evaluation.Estimate) -> dict[str, Any]:
    return {name: number for name, number in estimate.to_dict().items() if name != "per_game"}


class Study:
    """Plays with one store and one pool of processes."""

    def __init__(self, budget: str, store: evaluation.GameStore, workers: evaluation.Workers) -> None:
        self.budget = budget
        self.means: dict[str, Any] = {"store": store, "workers": workers, "rules": RULES}

    def total(self, rules: Iterable[str]) -> int:
        """The number of games to play."""
        setting = evaluation.Setting(rules=RULES)
        beside = len(NEIGHBORS) * (len(POWERS) + 1) * 2 * GAMES
        return sum(2 * GAMES + beside + self._attacks(rule, setting) for rule in rules)

    def _attacks(self, rule: str, setting: evaluation.Setting) -> int:
        return plan_red_team(rule, self.budget, setting).most_games

    def line(self, rule: str, report: Any) -> Line:
        """All results of one rule."""
        means = {**self.means, "report": report}
        alone = evaluation.self_play(rule, GAMES, **means).root_nash_welfare
        noisy = evaluation.self_play(f"noisy:of=({rule}),error={ERRORS}", GAMES, **means).root_nash_welfare
        team = evaluation.red_team(rule, self.budget, games=GAMES, **means)
        neighbors = {each: self.neighbor(rule, each, means) for each in NEIGHBORS}
        return Line(
            rule=rule,
            welfare=alone,
            noisy_welfare=noisy,
            gain=team.best.gain,
            attack=team.best.deviator,
            coalition=team.best.coalition,
            neighbors=neighbors,
        )

    def neighbor(self, rule: str, neighbor: str, means: dict[str, Any]) -> Neighbor:
        """Choose the neighbor's worst seat for the others, and measure their welfare there in other games."""

        def beside(seed: int, seats: Iterable[str]) -> dict[str, evaluation.Estimate]:
            return {
                seat: evaluation.exploitability(
                    rule, GAMES, deviator=neighbor, coalitions=[seat], seed=seed, **means
                ).victims_welfare[seat,]
                for seat in seats
            }

        tried = beside(CHOOSING_SEED, POWERS)
        seat = min(tried, key=lambda power: tried[power].value)
        return Neighbor(beside(0, [seat])[seat], seat)


def table(lines: Iterable[Line]) -> Table:
    """One row per rule."""
    found = Table(title="Welfare and best attacks", caption="welfare: root Nash, points a year; 20 games")
    for name in ("rule", "alone", "with errors", "best attack gains", "by", *NEIGHBORS):
        found.add_column(name, overflow="fold")
    for line in lines:
        beside = [f"{each.welfare.value:.2f} {each.seat[:3]}" for each in line.neighbors.values()]
        by = f"{line.attack} ({', '.join(power[:3] for power in line.coalition)})"
        found.add_row(line.rule, cell(line.welfare, 3), cell(line.noisy_welfare), cell(line.gain), by, *beside)
    return found


def frontier(lines: Sequence[Line]) -> Figure:
    """The gain of the best attack against welfare: in self-play, and with the worst neighbor.

    The left panel also has the paper's language models: their mean welfare, and the largest gain of their exploiters.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.7), layout="constrained")
    alone, beside = figure.subplots(1, 2, sharey=True)
    gains = [max(0.0, line.gain.value) for line in lines]
    names = [line.rule for line in lines]
    look: dict[str, Any] = {"marker": "o", "color": LEARNED, "label": "our policies"}
    theirs: dict[str, Any] = {
        "marker": "D",
        "color": PUBLISHED,
        "label": "language models, as published by the paper's authors",
    }
    _points(alone, gains, [line.welfare.value for line in lines], names, look)
    _bars(alone, lines, [line.welfare for line in lines])
    models = list(dict.fromkeys(name.partition(",")[0] for name in published.TABLES["exploitability"]))
    welfare = [float(np.mean(published.TABLES["self_play"][model]["root_nash_welfare"])) for model in models]
    most = [
        max(
            max(published.TABLES["exploitability"][f"{model}, {size}"]["exploitability"])
            for size in ("singles", "pairs")
        )
        for model in models
    ]
    _points(alone, most, welfare, [model.removesuffix("-0613") for model in models], theirs)
    worst = [min((each.welfare for each in line.neighbors.values()), key=lambda found: found.value) for line in lines]
    _points(beside, gains, [each.value for each in worst], names, look)
    _bars(beside, lines, worst)
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
    """Points with names; nearly coinciding points share one label."""
    axes.plot(x, y, linestyle="none", **look)
    places: dict[tuple[float, float], list[str]] = {}
    for across, up, name in zip(x, y, names, strict=True):
        near = next((p for p in places if abs(p[0] - across) < 0.7 and abs(p[1] - up) < 0.2), (across, up))
        places.setdefault(near, []).append(name)
    for number, (place, here) in enumerate(sorted(places.items())):  # up and down in turn, so that they do not overlap
        away = (6, -11 if number % 2 else 5)
        axes.annotate(", ".join(here), place, xytext=away, textcoords="offset points", fontsize=7.5)


def _bars(axes: Axes, lines: Sequence[Line], welfare: Sequence[evaluation.Estimate]) -> None:
    """The 95% intervals of gains and welfare, at the points."""
    for line, found in zip(lines, welfare, strict=True):
        axes.hlines(found.value, max(0.0, line.gain.low), max(0.0, line.gain.high), color=LEARNED, linewidth=1)
        axes.vlines(max(0.0, line.gain.value), found.low, found.high, color=LEARNED, linewidth=1, alpha=0.4)


def main(
    budget: Annotated[str, typer.Option(metavar="|".join(BUDGETS), help="Budget of the red teams.")] = "usual",
    only: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads it)
        typer.Option(help="A rule; repeat for several.", show_default="all"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for games, numbers and the picture.")] = Path("runs/deterrence"),
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    tables: Folder = None,
) -> None:
    """Play all games, print the table, and write deterrence.json and frontier.png."""
    rules = only or SWEEP
    out.mkdir(parents=True, exist_ok=True)
    with evaluation.GameStore(out / "games.sqlite") as store, evaluation.Workers(workers) as pool:
        study = Study(budget, store, pool)
        with metered("playing", study.total(rules), "games") as meter:
            lines = [study.line(rule, meter.advance) for rule in rules]
    (out / "deterrence.json").write_text(json.dumps([line.to_dict() for line in lines], indent=1) + "\n")
    frontier(lines).savefig(out / "frontier.png", dpi=150)
    save(tables, "deterrence-rules", *parts(table(lines)))
    print_tables(table(lines))


if __name__ == "__main__":
    typer.run(main)
