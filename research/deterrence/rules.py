"""The price of deterrence: welfare, gains of the best attack, and the cost of harmless neighbors, for each rule.

    python -m research.deterrence.rules                     # the usual red team: CPU-hours
    python -m research.deterrence.rules --budget short      # fewer coalitions: five CPU-minutes per rule
    python -m research.deterrence.rules --only marshal --only sheriff:slack=2

For each rule: root Nash welfare in self-play, without and with random errors in one phase out of twenty (`noisy`); the
strongest attack found by the red team (`evaluation.red_team`); and the welfare of six players of the rule with one
harmless neighbor, in the neighbor's worst seat: hold, random, dove, or a prosocial with errors in one phase out of
five. Attacks and seats are chosen in separate games and reported from twenty fresh ones. Games have ten years and no
press.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

import evaluation
from agents.runtime.colors import LEARNED, PUBLISHED
from evaluation.experiments import published
from evaluation.tables.game_tables import cell
from research.games import ALL_CORES, Out, Workers, playing, track
from research.tables import DOCS, Folder, read, show
from welfare_env import Rules, load_board

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RULES = Rules(press=None)
POWERS = load_board("standard").powers
SWEEP = (
    "prosocial",
    "grim",
    "police",
    "sheriff",
    "marshal",
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
GAMES = 20
SELECTION_SEED = 1  # seed of the games in which a seat is chosen


class Line(NamedTuple):
    """The results of a rule: welfare in self-play without and with errors, the best attack, and each neighbor.

    Attributes:
        neighbors: welfare of the six others beside each neighbor, and its seat.
    """

    rule: str
    welfare: evaluation.Estimate
    noisy_welfare: evaluation.Estimate
    gain: evaluation.Estimate
    attack: str
    coalition: tuple[str, ...]
    neighbors: dict[str, tuple[evaluation.Estimate, str]]


def line(rule: str, budget: str, means: dict[str, Any]) -> Line:
    """All results of one rule."""
    alone = evaluation.self_play(rule, GAMES, **means).root_nash_welfare
    noisy = evaluation.self_play(f"noisy:of=({rule}),error={ERRORS}", GAMES, **means).root_nash_welfare
    best = evaluation.red_team(rule, budget, games=GAMES, **means).best
    neighbors = {each: beside(rule, each, means) for each in NEIGHBORS}
    return Line(rule, alone, noisy, best.gain, best.deviator, best.coalition, neighbors)


def beside(rule: str, neighbor: str, means: dict[str, Any]) -> tuple[evaluation.Estimate, str]:
    """The welfare of the others in the neighbor's worst seat, which is chosen in other games."""

    def welfare(seat: str, seed: int) -> evaluation.Estimate:
        found = evaluation.exploitability(rule, GAMES, deviator=neighbor, coalitions=[seat], seed=seed, **means)
        return found.others_welfare((found.deviator, (seat,)))

    seat = min(POWERS, key=lambda power: welfare(power, SELECTION_SEED).value)
    return welfare(seat, 0), seat


def row(line: Line) -> list[str]:
    """A row of the table."""
    by = f"{line.attack} ({', '.join(power[:3] for power in line.coalition)})"
    neighbors = [f"{welfare.value:.2f} {seat.title()}" for welfare, seat in line.neighbors.values()]
    return [f"`{line.rule}`", cell(line.welfare, 3), cell(line.noisy_welfare), cell(line.gain), by, *neighbors]


def best_known(line: Line) -> float:
    """What the best known attack gains for each of its powers: by the record, or by the red team if that gains more."""
    record = read(DOCS / "tables" / "deterrence-best.csv")[1][1:]
    gains = [
        float(together.split()[0]) / int(powers)
        for rule, _, powers, _, together, *_ in record
        if rule == f"`{line.rule}`"
    ]
    return max(0.0, line.gain.value, *gains)


def frontier(lines: Sequence[Line]) -> Figure:
    """The gain of the best known attack against welfare: in self-play, and with the worst neighbor.

    The left panel also has the paper's language models: their mean welfare, and the largest gain of their exploiters.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.7), layout="constrained")
    alone, beside = figure.subplots(1, 2, sharey=True)
    models = list(dict.fromkeys(name.partition(",")[0] for name in published.TABLES["exploitability"]))
    welfare = [float(np.mean(published.TABLES["self_play"][model]["root_nash_welfare"])) for model in models]
    most = [
        max(
            max(published.TABLES["exploitability"][f"{model}, {size}"]["exploitability"])
            for size in ("singles", "pairs")
        )
        for model in models
    ]
    theirs = "language models, as published by the paper's authors"
    _points(alone, lines, [line.welfare for line in lines])
    alone.plot(most, welfare, "D", color=PUBLISHED, label=theirs)
    _name(alone, most, welfare, [model.removesuffix("-0613") for model in models])
    worst = [min((found for found, _ in line.neighbors.values()), key=lambda each: each.value) for line in lines]
    _points(beside, lines, worst)
    alone.set_title("welfare in self-play", fontsize=10)
    beside.set_title("welfare of the six others beside the worst harmless neighbor", fontsize=10)
    alone.set_ylabel("root Nash welfare, points a year")
    for axes in (alone, beside):
        axes.set_xlabel("best known gain for each robber, points a year")
        axes.set_xlim(-0.5, 1.2 * max(*most, *map(best_known, lines)))
        axes.set_ylim(-0.4, 5.3)
        axes.grid(alpha=0.25)
    figure.legend(*alone.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def _points(axes: Axes, lines: Sequence[Line], welfare: Sequence[evaluation.Estimate]) -> None:
    """Our policies, with names and 95% intervals."""
    gains = [best_known(line) for line in lines]
    axes.plot(gains, [each.value for each in welfare], "o", color=LEARNED, label="our policies")
    _name(axes, gains, [each.value for each in welfare], [line.rule for line in lines])
    for gain, each in zip(gains, welfare, strict=True):
        axes.vlines(gain, each.low, each.high, color=LEARNED, linewidth=1, alpha=0.4)


def _name(axes: Axes, x: Sequence[float], y: Sequence[float], names: Sequence[str]) -> None:
    """Names at points; points next to each other share a label, at the rightmost, with the names from left to right."""
    places: dict[tuple[float, float], list[str]] = {}
    for across, up, name in sorted(zip(x, y, names, strict=True)):
        near = next((p for p in places if across - p[0] < 1 and abs(p[1] - up) < 0.2), (across, up))
        places[across, up] = [*places.pop(near, []), name]
    for number, (place, here) in enumerate(sorted(places.items())):  # up and down in turn, so that they do not overlap
        away = (6, -11 if number % 2 else 5)
        axes.annotate(", ".join(here), place, xytext=away, textcoords="offset points", fontsize=7.5)


def main(
    budget: Annotated[str, typer.Option(metavar="quick|short|usual|full", help="Budget of the red teams.")] = "usual",
    only: Annotated[list[str] | None, typer.Option(help="A rule; repeatable.", show_default="all")] = None,
    out: Out = Path("runs/deterrence"),
    workers: Workers = ALL_CORES,
    to: Folder = None,
) -> None:
    """Play all games, print the table, and draw frontier.png."""
    with playing(out, workers) as means:
        lines = [line(rule, budget, {**means, "rules": RULES}) for rule in track(only or SWEEP, "playing")]
    frontier(lines).savefig(out / "frontier.png", dpi=150)
    head = ("rule", "alone", "with errors", "best attack gains", "by", *(f"beside {each}" for each in NEIGHBORS))
    show(to, "deterrence-rules", head, [row(line) for line in lines])


if __name__ == "__main__":
    typer.run(main)
