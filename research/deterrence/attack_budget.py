"""The gain of a planner by its search budget, compared with random search with the same budget.

    python -m research.deterrence.attack_budget                                        # twenty CPU-minutes
    python -m research.deterrence.attack_budget --against sheriff --max-budget 100

One power plans (`agents` "plan") against six others, with 1, 3, 10, ... simulated games per phase. For comparison, the
same player samples every plan independently: without initial plans, and without improving earlier ones. Games have ten
years and no press; all budgets play the same games, so comparisons are paired.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import evaluation
from agents import PlannerPolicy
from agents.runtime.colors import SERIES
from agents.scripted.planner.search import PlanSearch
from research.games import ALL_CORES, Out, Workers, playing, track
from research.tables import Folder, show
from welfare_env import Rules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from agents.scripted.planner.drawing import PlanDrawer
    from agents.scripted.planner.plans import Plan
    from agents.scripted.planner.search import Kind
    from welfare_env import View

AGAINST = ("prosocial", "sheriff", "marshal")
BUDGETS = (1, 3, 10, 30, 100, 300, 1000, 3000)
SEARCHES = {
    "search": "plan:budget={}",
    "random plans": "import:research.deterrence.attack_budget.RandomPlanner,budget={}",
}
SEED = 4242

Gains = dict[tuple[str, str, int], evaluation.Estimate]  # attacked policy, search, budget


class RandomSearch(PlanSearch):
    """Random search: every plan is sampled independently."""

    def _proposal(self, view: View, best: dict[Kind, tuple[float, Plan]]) -> Plan:
        return self.drawer.draw(view)


class RandomPlanner(PlannerPolicy):
    """The `plan:` policy with `RandomSearch`."""

    def make_search(self, drawer: PlanDrawer, known: list[Plan]) -> PlanSearch:
        """The search without initial plans."""
        return RandomSearch(drawer, drawer.rng)


def picture(found: Gains) -> Figure:
    """One panel per attacked policy."""
    from matplotlib.figure import Figure

    attacked = list(dict.fromkeys(against for against, _, _ in found))
    figure = Figure(figsize=(3.4 * len(attacked), 3.2), layout="constrained")
    for axes, against in zip(figure.subplots(1, len(attacked), squeeze=False)[0], attacked, strict=True):
        for color, search in zip(SERIES, SEARCHES, strict=False):
            gains = {budget: gain for (who, by, budget), gain in found.items() if (who, by) == (against, search)}
            axes.plot(list(gains), [gain.value for gain in gains.values()], marker="o", color=color, label=search)
            for budget, gain in gains.items():
                axes.plot([budget] * len(gain.per_game), gain.per_game, ".", color=color, markersize=3, alpha=0.5)
        axes.set_xscale("log")
        axes.set_title(against, fontsize=10)
        axes.set_xlabel("simulated games in a phase")
        axes.grid(alpha=0.25)
    figure.axes[0].set_ylabel("gain, points a year")
    figure.axes[0].legend(fontsize=8, frameon=False)
    return figure


def main(
    against: Annotated[list[str] | None, typer.Option(help="Repeatable.", show_default=", ".join(AGAINST))] = None,
    power: Annotated[str, typer.Option(help="The planning power.")] = "GERMANY",
    max_budget: Annotated[int, typer.Option(help="The largest budget.")] = 300,
    games: Annotated[int, typer.Option(min=2, help="Games per budget.")] = 4,
    out: Out = Path("runs/attack-budget"),
    workers: Workers = ALL_CORES,
    to: Folder = None,
) -> None:
    """Play all games, print the table, and draw attack-budget.png."""
    budgets = [budget for budget in BUDGETS if budget <= max_budget]
    cells = [(who, search, budget) for who in against or AGAINST for budget in budgets for search in SEARCHES]
    found: Gains = {}
    with playing(out, workers) as means:
        for who, search, budget in track(cells, "planning"):
            result = evaluation.exploitability(
                who,
                games,
                deviator=SEARCHES[search].format(budget),
                coalitions=[power],
                rules=Rules(press=None),
                seed=SEED,
                **means,
            )
            found[who, search, budget] = result.best_gain.gain
    picture(found).savefig(out / "attack-budget.png", dpi=150)
    rows = [
        [who, str(budget), *(f"{found[who, search, budget].value:.2f}" for search in SEARCHES)]
        for who in against or AGAINST
        for budget in budgets
    ]
    show(to, "planner-gains", ("against", "budget", *SEARCHES), rows)


if __name__ == "__main__":
    typer.run(main)
