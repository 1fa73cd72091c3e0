"""Do reported gains hold on other seeds? Red teams against many policies, with each attack replayed in fresh games.

    python -m research.fresh                      # 30 policies with "quick", 5 with "usual": an hour on two cores
    python -m research.fresh --only dove --only sheriff

For every policy, `evaluation.red_team` reports the gain of the attack that it chose, over 20 games, with an interval.
Here the same attack plays 100 games with seeds that the red team has not used. The reported interval should contain
their mean in about 94% of the cases (less than 95%, since the mean of 100 games has sampling error, too), and reported
values should be unbiased. Each red team has its own seed, so that their errors are independent. Games have three years,
on the standard map, without press.

Finished games are saved; rerunning an interrupted study continues it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Optional

import numpy as np
import typer
from rich.table import Table
from scipy.stats import binomtest

import evaluation
from agents.runtime.progress import metered
from agents.runtime.tables import print_tables
from research.tables import Folder, parts, save
from welfare_env import Rules

RULES = Rules(years=3, press=None)
FRESH = 100
OTHER_SEEDS = 1_000  # a red team with seed s is replayed with seed 1,000 + s

POLICIES = (
    "prosocial",
    "dove",
    "dumbbot",
    "random",
    "hold",
    "grim",
    "police",
    "sheriff",
    "marshal",
    "fortress",
    "tit-for-tat",
    "sheriff:slack=0",
    "sheriff:slack=2",
    "sheriff:fight=posse",
    "marshal:slack=1",
    "marshal:forgive=2",
    "marshal:fighters=concerned",
    "marshal:fight=dumbbot",
    "dove:share=0.5",
    "noisy:of=prosocial,error=0.2",
    "noisy:of=dove,error=0.2",
    "noisy:of=sheriff,error=0.1",
    "noisy:of=marshal,error=0.1",
    "noisy:of=random,error=0.5",
    "exploiter:nice=prosocial,attack=dumbbot",
    "exploiter:nice=dove,attack=dumbbot",
    "4*dove + 3*random",
    "4*prosocial + 3*sheriff",
    "5*marshal + 2*dumbbot",
    "3*tit-for-tat + 4*dove",
)
USUAL = ("prosocial", "dove", "random", "sheriff", "tit-for-tat")


@dataclass(frozen=True)
class Line:
    """A red team's report, and the same attack in fresh games; gains in points per year.

    Attributes:
        reported, low, high: gain of the chosen attack with its interval; None without an interval.
        fresh, error: mean over the fresh games, and its standard error.
        promised: mean of the attack in the games used to choose it.
    """

    policy: str
    budget: str
    attack: str
    coalition: tuple[str, ...]
    promised: float
    reported: float
    low: float | None
    high: float | None
    fresh: float
    error: float

    @property
    def is_inside(self) -> bool:
        """Whether the interval contains the fresh mean; without an interval, whether reported and fresh are equal."""
        if self.low is None or self.high is None:
            return abs(self.fresh - self.reported) < 1e-9
        return self.low <= self.fresh <= self.high


def line(policy: str, budget: str, seed: int, means: dict[str, Any]) -> Line:
    """Attack a policy, and replay the chosen attack."""
    team = evaluation.red_team(policy, budget, seed=seed, rules=RULES, **means)
    best = team.best
    again = evaluation.exploitability(
        policy,
        FRESH,
        deviator=best.deviator,
        coalitions=[best.coalition],
        coordinated=len(best.coalition) > 1 and best.deviator in team.coordinated,
        seed=OTHER_SEEDS + seed,
        rules=RULES,
        **means,
    )
    games = np.array(again.best_gain.gain.per_game)
    screened = {(each.deviator, each.coalition): each.gain for each in team.found.screened}
    low, high = (best.gain.low, best.gain.high) if best.gain.has_interval else (None, None)
    return Line(
        policy,
        budget,
        best.deviator,
        best.coalition,
        screened[best.deviator, best.coalition],
        best.gain.value,
        low,
        high,
        float(games.mean()),
        float(games.std(ddof=1) / np.sqrt(len(games))),
    )


def summaries(lines: Sequence[Line]) -> list[Table]:
    """One row per red team, and a summary."""
    rows = Table(title="Reported gains, and the same attacks in 100 fresh games; points a year")
    for name in ("policy", "budget", "by", "when chosen", "reported", "fresh", "inside"):
        rows.add_column(name, overflow="fold")
    for each in lines:
        interval = "[all alike]" if each.low is None else f"[{each.low:.2f}, {each.high:.2f}]"
        fresh = f"{each.fresh:.2f} ± {each.error:.2f}"
        inside = "yes" if each.is_inside else "no"
        who = " + ".join(each.coalition)
        promised, reported = f"{each.promised:.2f}", f"{each.reported:.2f} {interval}"
        rows.add_row(each.policy, each.budget, who, promised, reported, fresh, inside)
    summary = Table(title="Summary")
    for name in ("budget", "inside", "95% interval of the share", "mean error reported", "mean error when chosen"):
        summary.add_column(name)
    for budget in dict.fromkeys(each.budget for each in lines):
        chosen = [each for each in lines if each.budget == budget]
        hits = sum(each.is_inside for each in chosen)
        share = binomtest(hits, len(chosen)).proportion_ci(method="wilson")
        errors = (np.mean([getattr(each, what) - each.fresh for each in chosen]) for what in ("reported", "promised"))
        interval = f"{share.low:.0%} to {share.high:.0%}"
        summary.add_row(budget, f"{hits} of {len(chosen)}", interval, *(f"{error:+.3f}" for error in errors))
    return [rows, summary]


def main(
    only: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads it)
        typer.Option(help="A policy; repeat for several.", show_default="all"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for games and numbers.")] = Path("runs/fresh-seeds"),
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    tables: Folder = None,
) -> None:
    """Attack all policies, replay the chosen attacks, print the tables and write fresh_seeds.json."""
    out.mkdir(parents=True, exist_ok=True)
    policies = only or POLICIES
    cells = [(policy, "quick") for policy in policies]
    cells += [(policy, "usual") for policy in policies if policy in USUAL]
    lines = []
    with (
        evaluation.GameStore(out / "games.sqlite") as store,
        evaluation.Workers(workers) as pool,
        metered("attacking", len(cells), "red teams") as meter,
    ):
        for seed, (policy, budget) in enumerate(cells):
            lines.append(line(policy, budget, seed, {"store": store, "workers": pool}))
            meter.advance(1)
    (out / "fresh_seeds.json").write_text(json.dumps([asdict(each) for each in lines], indent=1) + "\n")
    shown = summaries(lines)
    save(tables, "measures-fresh-seeds", *parts(shown[-1]))
    print_tables(*shown)


if __name__ == "__main__":
    typer.run(main)
