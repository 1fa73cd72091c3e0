"""Do reported gains hold on other seeds? Red teams against many policies, with each attack replayed in fresh games.

    python -m research.validation.fresh             # 30 policies with "short", 5 with "usual": hours
    python -m research.validation.fresh --only dove --only sheriff

For every policy, `evaluation.red_team` reports the gain of the attack that it chose, over 20 games, with an interval.
Here the same attack plays 100 games with seeds that the red team has not used. The reported interval should contain
their mean in about 94% of the cases (less than 95%, since the mean of 100 games has sampling error, too), and reported
values should be unbiased. Each red team has its own seed, so that their errors are independent. Games have three years,
on the standard map, without press.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from scipy.stats import binomtest

import evaluation
from evaluation.tables.game_tables import cell
from research.games import ALL_CORES, Out, Workers, playing, track
from research.tables import show
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


class Line(NamedTuple):
    """A red team's report, and the same attack in fresh games; gains in points per year.

    Attributes:
        promised: mean of the attack in the games used to choose it.
        reported: gain of the chosen attack. fresh: in the fresh games.
    """

    policy: str
    budget: str
    coalition: tuple[str, ...]
    promised: float
    reported: evaluation.Estimate
    fresh: evaluation.Estimate

    @property
    def is_inside(self) -> bool:
        """Whether the interval contains the fresh mean; without an interval, whether reported and fresh are equal."""
        if not self.reported.has_interval:
            return abs(self.fresh.value - self.reported.value) < 1e-9
        return self.reported.low <= self.fresh.value <= self.reported.high


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
    screened = {(each.deviator, each.coalition): each.gain for each in team.found.screened}
    promised = screened[best.deviator, best.coalition]
    return Line(policy, budget, best.coalition, promised, best.gain, again.best_gain.gain)


def row(line: Line) -> list[str]:
    """A red team."""
    games = np.array(line.fresh.per_game)
    fresh = f"{line.fresh.value:.2f} ± {games.std(ddof=1) / np.sqrt(len(games)):.2f}"
    inside = "yes" if line.is_inside else "no"
    return [
        line.policy, line.budget, " + ".join(line.coalition), f"{line.promised:.2f}", cell(line.reported), fresh, inside
    ]  # fmt: skip


def summary(lines: Sequence[Line]) -> list[str]:
    """The red teams of one budget."""
    hits = sum(each.is_inside for each in lines)
    share = binomtest(hits, len(lines)).proportion_ci(method="wilson")
    errors = (
        np.mean([each.reported.value - each.fresh.value for each in lines]),
        np.mean([each.promised - each.fresh.value for each in lines]),
    )
    told = [f"{hits} of {len(lines)}", f"{share.low:.0%} to {share.high:.0%}", *(f"{error:+.3f}" for error in errors)]
    return [f"{lines[0].budget}, {len(lines)} policies", *told]


def main(
    only: Annotated[list[str] | None, typer.Option(help="A policy; repeatable.", show_default="all")] = None,
    out: Out = Path("runs/fresh-seeds"),
    workers: Workers = ALL_CORES,
) -> None:
    """Attack all policies, replay the chosen attacks, and print a row per red team and a summary."""
    policies = only or POLICIES
    cells = [(policy, "short") for policy in policies]
    cells += [(policy, "usual") for policy in policies if policy in USUAL]
    with playing(out, workers) as means:
        lines = [line(*each, seed, means) for seed, each in enumerate(track(cells, "attacking"))]
    show(
        None,
        "",
        ("policy", "budget", "by", "when chosen", "reported", "fresh", "inside"),
        [row(each) for each in lines],
    )
    by_budget = [[each for each in lines if each.budget == budget] for budget in ("short", "usual")]
    head = ("budget", "inside", "95% interval of the share", "mean error reported", "mean error when chosen")
    show(None, "", head, [summary(some) for some in by_budget if some])


if __name__ == "__main__":
    typer.run(main)
