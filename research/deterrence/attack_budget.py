"""The gain of a planner by its search budget, compared with random search with the same budget.

    python -m research.deterrence.attack_budget                                   # twenty CPU-minutes
    python -m research.deterrence.attack_budget --against sheriff --most 100

One power plans (`agents` "plan") against six others, with 3, 10, 30, ... simulated games per phase. For comparison, the
same player samples every plan independently: without initial plans, and without improving earlier ones. Games have ten
years and no press; all budgets play the same games, so comparisons are paired. Finished games are saved; rerunning an
interrupted study continues it.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

import evaluation
from agents import PlannerPolicy
from agents.runtime.colors import SERIES
from agents.runtime.progress import metered
from agents.runtime.tables import print_tables
from agents.scripted.planner.search import Search
from evaluation.experiments.exploitability import plan_exploitability
from research.tables import Folder, parts, save
from welfare_env import Rules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from agents.scripted.planner.plans import Plan, PlanDrawer
    from agents.scripted.planner.search import Kind
    from welfare_env import View

RULES = Rules(press=None)
BUDGETS = (1, 3, 10, 30, 100, 300, 1000, 3000)
SEARCHES = {
    "search": "plan:budget={}",
    "random plans": "import:research.deterrence.attack_budget.RandomPlanner,budget={}",
}
SEED = 4242

Curves = dict[str, dict[int, evaluation.Estimate]]  # name of a search -> budget -> gain


class RandomSearch(Search):
    """Random search: every plan is sampled independently."""

    def _proposal(self, view: View, best: dict[Kind, tuple[float, Plan]]) -> tuple[Plan, bool]:
        return self.drawer.draw(view), False


class RandomPlanner(PlannerPolicy):
    """The `plan:` policy with `RandomSearch`."""

    def make_search(self, drawer: PlanDrawer, known: list[Plan]) -> Search:
        """The search without initial plans."""
        return RandomSearch(drawer, drawer.rng)


def curves(against: str, power: str, most: int, games: int, workers: int, store: evaluation.GameStore) -> Curves:
    """The gains of all searches with all budgets."""
    found: Curves = {name: {} for name in SEARCHES}
    setting = evaluation.Setting(rules=RULES, seed=SEED, store=store)
    plans = {
        (budget, name): plan_exploitability(against, games, setting, deviator=spec.format(budget), coalitions=[power])
        for budget in BUDGETS
        if budget <= most
        for name, spec in SEARCHES.items()
    }
    total = sum(plan.most_games for plan in plans.values())
    with evaluation.Workers(workers) as pool, metered(f"attacking {against}", total, "games") as meter:
        for (budget, name), plan in plans.items():
            result = plan.run(replace(setting, workers=pool, report=meter.advance))
            found[name][budget] = result.best_gain.gain
    return found


def table(against: str, power: str, found: Curves) -> Table:
    """One row per budget."""
    shown = Table(title=f"Gain of {power} from {against}, points a year", caption="simulated games per phase")
    shown.add_column("budget", justify="right")
    for name in found:
        shown.add_column(name, justify="right")
    for budget in next(iter(found.values())):
        shown.add_row(str(budget), *(f"{found[name][budget]:.2f}" for name in found))
    return shown


def picture(found: dict[str, Curves]) -> Figure:
    """One panel per attacked policy."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(found), 3.2), layout="constrained")
    for axes, (against, kinds) in zip(figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        for color, (name, gains) in zip(SERIES, kinds.items(), strict=False):
            means = [gain.value for gain in gains.values()]
            axes.plot(list(gains), means, marker="o", color=color, label=name)
            for budget, gain in gains.items():
                axes.plot([budget] * len(gain.per_game), gain.per_game, ".", color=color, markersize=3, alpha=0.5)
        axes.set_xscale("log")
        axes.set_title(against, fontsize=10)
        axes.set_xlabel("simulated games in a phase")
        axes.grid(alpha=0.25)
    figure.axes[0].set_ylabel("gain, points a year")
    figure.axes[0].legend(fontsize=8, frameon=False)
    return figure


def _games(gains: dict[int, evaluation.Estimate]) -> dict[str, list[float]]:
    """The gain in every game, by budget."""
    return {str(budget): list(gain.per_game) for budget, gain in gains.items()}


def main(
    against: Annotated[list[str], typer.Option(help="Attacked policy; repeat for several.")] = [  # noqa: B006
        "prosocial",
        "sheriff",
        "marshal",
    ],
    power: Annotated[str, typer.Option(help="The planning power.")] = "GERMANY",
    most: Annotated[int, typer.Option(help="The largest budget.")] = 300,
    games: Annotated[int, typer.Option(min=2, help="Games per budget.")] = 4,
    out: Annotated[Path, typer.Option(help="Folder for games, numbers and the picture.")] = Path("runs/attack-budget"),
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    tables: Folder = None,
) -> None:
    """Play all games, print the tables, and write attack-budget.json and attack-budget.png."""
    out.mkdir(parents=True, exist_ok=True)
    with evaluation.GameStore(out / "games.sqlite") as store:
        found = {each: curves(each, power, most, games, workers, store) for each in against}
    figures = {each: {name: _games(gains) for name, gains in kinds.items()} for each, kinds in found.items()}
    (out / "attack-budget.json").write_text(json.dumps(figures, indent=1) + "\n")
    picture(found).savefig(out / "attack-budget.png", dpi=150)
    shown = {each: table(each, power, kinds) for each, kinds in found.items()}
    head = ["against", *parts(next(iter(shown.values())))[0]]
    save(tables, "planner-gains", head, [[who, *row] for who, each in shown.items() for row in parts(each)[1]])
    print_tables(*shown.values())


if __name__ == "__main__":
    typer.run(main)
