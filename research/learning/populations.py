"""Populations in which each policy is a best response to a mix of earlier ones; and the paper's profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.checks import EvaluationError
from evaluation.exact import exploitability
from research.learning.curves import draw_payoffs
from research.tables import show
from training import PopulationConfig
from training.population.psro import Step, name_of, train_population

PUNISHER = "punisher:t=4,remembers=yes"
BOARDS = ("clique:4", "shared-clique:3")
SEEDS = 3
TRAINING: Mapping[str, Any] = {"iterations": 80, "games": 48, "epochs": 3}
GAINS = ("mix", "gap", "mean gap", "welfare", "the portfolio gains")


def from_nothing(out: Path) -> PopulationConfig:
    """A population that begins with hold and prosocial."""
    return PopulationConfig(
        out=out / "psro", map_name="clique:4", begin="hold+prosocial", steps=4, max_positions=5_000, **TRAINING
    )


def with_punisher(out: Path, board: str, seed: int) -> PopulationConfig:
    """A population that begins with the paper's strategy, too."""
    folder, begin = out / f"psro-{board.replace(':', '-')}-{seed}", f"hold+prosocial+{PUNISHER}"
    return PopulationConfig(
        out=folder, map_name=board, begin=begin, steps=3, max_positions=20_000, seed=seed, **TRAINING
    )


def populations(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """Train and print; the last step of the first population is drawn in its folder, as payoffs-4.png."""
    first = train_population(from_nothing(out))
    policies, last = from_nothing(out).policies(len(first) - 1), first[-1]
    shares = np.array([last.mix.get(policy, 0.0) for policy in policies])
    figure = draw_payoffs(np.array(last.payoffs).T, shares, [name_of(policy) for policy in policies])
    figure.savefig(out / "psro" / f"payoffs-{last.step}.png", dpi=130)
    show(None, "", ("responses", *GAINS), [row(step) for step in first])
    rows = [
        [board, str(seed), *row(step)]
        for board in BOARDS
        for seed in range(SEEDS)
        for step in train_population(with_punisher(out, board, seed))
    ]
    show(None, "", ("board", "seed", "responses", *GAINS), rows)


def row(step: Step) -> list[str]:
    """The exact values of a mix; or the gain of the portfolio's best deviator, chosen on separate games."""
    mix = ", ".join(f"{name_of(policy)} {share:.2f}" for policy, share in step.mix.items())
    cells = ["-" if value is None else f"{value:.3f}" for value in (step.gap, step.mean_gap, step.welfare)]
    found = "" if step.gain is None else f"{step.gain:.2f} [{step.low:.2f}, {step.high:.2f}] by {step.deviator}"
    return [str(step.step), mix, *cells, found]


def profiles(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """The exact gain of a best response to the paper's profiles."""
    rows = []
    for policy in ("prosocial", *(f"punisher:t={t}" for t in range(1, 6))):
        guesses = _exact(policy)
        knows = _exact(f"{policy},remembers=yes") if policy != "prosocial" else guesses
        rows.append([f"`{policy}`", *knows, guesses[1]])
    head = ("everybody plays", "welfare", "gap, if they remember who deviated", "gap, if they guess it from the board")
    show(to, "learning-profiles", head, rows)


def _exact(policy: str) -> tuple[str, str]:
    """Welfare and gap of a profile; "-" if the search is refused."""
    try:
        found = exploitability("clique:4", policy, 5)
    except EvaluationError:
        return "-", "-"
    return f"{found.welfare:.1f}", f"{found.gap:.1f}"
