"""Populations in which each policy is a best response to a mix of earlier ones; and the paper's profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.checks import EvaluationError
from evaluation.exact import exploitability
from research.learning.psro import Population, name_of, steps
from research.tables import show

PUNISHER = "punisher:t=4,remembers=yes"
BOARDS = ("clique:4", "shared-clique:3")
SEEDS = 3
GAINS = ("mix", "gap", "mean gap", "welfare", "the portfolio gains")


def from_nothing(out: Path) -> Population:
    """A population that begins with hold and prosocial."""
    return Population(out / "psro", "clique:4", ("hold", "prosocial"), steps=4, max_positions=5_000)


def with_punisher(out: Path, board: str, seed: int) -> Population:
    """A population that begins with the paper's strategy, too."""
    folder, begin = out / f"psro-{board.replace(':', '-')}-{seed}", ("hold", "prosocial", PUNISHER)
    return Population(folder, board, begin, steps=3, max_positions=20_000, seed=seed)


def populations(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """Train and print; the last step of the first population is drawn in its folder, as payoffs-4.png."""
    show(None, "", ("responses", *GAINS), [row(step) for step in steps(from_nothing(out))])
    rows = [
        [board, str(seed), *row(step)]
        for board in BOARDS
        for seed in range(SEEDS)
        for step in steps(with_punisher(out, board, seed))
    ]
    show(None, "", ("board", "seed", "responses", *GAINS), rows)


def row(step: Mapping[str, Any]) -> list[str]:
    """The exact values of a mix; or the gain of the portfolio's best deviator, chosen on separate games."""
    mix = ", ".join(f"{name_of(policy)} {share:.2f}" for policy, share in step["mix"].items())
    cells = ["-" if step[name] is None else f"{step[name]:.3f}" for name in ("gap", "mean_gap", "welfare")]
    attack = step["attack"]
    found = (
        f"{attack['gain']:.2f} [{attack['low']:.2f}, {attack['high']:.2f}] by {attack['deviator']}" if attack else ""
    )
    return [str(step["step"]), mix, *cells, found]


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
