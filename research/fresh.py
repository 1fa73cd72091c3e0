"""Recomputes printed figures on one fresh seed, and lists those outside their printed interval.

    python -m research.fresh                                          # all of research/figures.toml: 15 CPU-minutes
    python -m research.fresh --page docs/measures.md --seed 4100      # a part

A 95% interval of n games does not contain the mean of n other games in about one case of six, since both have sampling
error; so the difference is compared with both intervals (half widths added in squares). At most 5% should be outside.
"""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

import evaluation
from evaluation import Estimate
from research.games import ALL_CORES, Out, Workers, playing, track
from research.tables import show
from welfare_env import Rules

FIGURES = Path(__file__).with_name("figures.toml")
ROUNDING = 0.0051


def figures() -> list[dict[str, Any]]:
    """The list."""
    return tomllib.loads(FIGURES.read_text(encoding="utf-8"))["figure"]


def recomputed(figure: dict[str, Any], games: int, seed: int, means: dict[str, Any]) -> Estimate:
    """A figure on fresh games."""
    kind, policy, deviator = figure["kind"], figure["policy"], figure.get("deviator", "")
    given: dict[str, Any] = {"rules": Rules(press=None, years=figure.get("years", 10)), "seed": seed, **means}
    if kind == "welfare":
        return evaluation.self_play(policy, games, **given).root_nash_welfare
    if kind == "share":
        (equilibrium,) = evaluation.cross_play([policy, "dove", deviator], games=35, **given).equilibria
        return equilibrium.shares[policy]
    who = tuple(figure["who"])
    coalitions = [who, *((each,) for each in who)] if kind == "surplus" else [who]
    found = evaluation.exploitability(
        policy, games, deviator=deviator, coalitions=coalitions, coordinated=len(who) > 1, **given
    )
    if kind == "others":
        return found.others_welfare((found.deviator, who))
    if kind == "surplus":
        return found.surpluses[0].surplus
    gain = found.best_gain
    return gain.total if kind == "together" else gain.gain


def is_outside(printed: str, fresh: Estimate) -> bool:
    """Whether a fresh mean differs by more than chance from a printed one, such as "4.55 [4.44, 4.64]"."""
    value, *bounds = (float(number) for number in re.findall(r"-?\d+\.\d+", printed))
    above = fresh.value > value
    ours = abs((bounds[1] if above else bounds[0]) - value) if bounds else 0.0
    theirs = abs(fresh.value - (fresh.low if above else fresh.high)) if fresh.has_interval else 0.0
    return abs(fresh.value - value) > math.hypot(ours, theirs) + ROUNDING


def main(
    page: Annotated[list[str] | None, typer.Option(help="Only figures of this page; repeatable.")] = None,
    games: Annotated[int, typer.Option(min=5, help="Games per figure.")] = 20,
    seed: Annotated[int, typer.Option(help="A seed that no page uses.")] = 4100,
    out: Out = Path("runs/fresh"),
    workers: Workers = ALL_CORES,
) -> None:
    """Play, print a row a figure, and the number of those outside."""
    rows, outside = [], 0
    chosen = [figure for figure in figures() if not page or figure["page"] in page]
    with playing(out, workers) as means:
        for figure in track(chosen, "recomputing"):
            fresh = recomputed(figure, games, seed, means)
            wrong = is_outside(figure["printed"], fresh)
            outside += wrong
            what = " ".join([figure["kind"], figure["policy"], figure.get("deviator", "")])
            now = f"{fresh.value:.2f} {fresh.around('.2f')}"
            rows.append([figure["page"], what, figure["printed"], now, "outside" if wrong else ""])
    show(None, "", ("page", "figure", "printed", "fresh", ""), rows)
    print(f"{outside} of {len(rows)} outside")


if __name__ == "__main__":
    typer.run(main)
