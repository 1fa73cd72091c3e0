"""Populations in which each policy is a best response to a mix of earlier ones; and the paper's profiles."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import training
from agents.runtime.progress import metered
from evaluation.checks import EvaluationError
from evaluation.exact import exploitability
from research.learning.trainings import Options, cost, measured
from training.population.psro import name_of

SETTINGS: dict[str, Any] = {"years": 5, "iterations": 80, "games": 48, "epochs": 3}
PUNISHER = "punisher:t=4,remembers=yes"
BOARDS = ("clique:4", "shared-clique:3")
SEEDS = 3
GAINS = ("mix", "gap", "mean gap", "welfare", "the portfolio gains")


def from_nothing(out: Path) -> training.PopulationConfig:
    """A population that begins with hold and prosocial."""
    return training.PopulationConfig(
        map_name="clique:4", begin="hold+prosocial", steps=4, most_positions=5_000, folder=out / "psro", **SETTINGS
    )


def with_punisher(out: Path, board: str, seed: int) -> training.PopulationConfig:
    """A population that begins with the paper's strategy, too."""
    folder, begin = out / f"psro-{board.replace(':', '-')}-{seed}", f"hold+prosocial+({PUNISHER})"
    return training.PopulationConfig(
        map_name=board, begin=begin, steps=3, most_positions=20_000, seed=seed, folder=folder, **SETTINGS
    )


def populations(given: Options) -> None:
    """Train and print; the picture is of the last step of the first population."""
    first = from_nothing(given.out)
    if found := steps(first, given):
        rows = [[str(step["step"]), _mix(step["mix"]), *gains(step)] for step in found]
        given.show("population", ("responses", *GAINS), rows)
        shutil.copy(first.place / f"payoffs-{found[-1]['step']}.png", given.pictures / "learning-payoffs.png")
    configs = [with_punisher(given.out, board, seed) for board in BOARDS for seed in range(SEEDS)]
    rows = [
        [config.map_name, str(config.seed), str(step["step"]), _mix(step["mix"]), *gains(step)]
        for config in configs
        for step in steps(config, given)
    ]
    if rows:
        given.show("population-punisher", ("board", "seed", "responses", *GAINS), rows)
    print(cost([config.place for config in (first, *configs)]))


def steps(config: training.PopulationConfig, given: Options) -> list[dict[str, Any]]:
    """The steps of a population, which is trained if necessary; none if training is off."""
    folder = config.place
    if not given.train and not (folder / f"payoffs-{config.steps}.png").exists():
        return []
    folder.mkdir(parents=True, exist_ok=True)

    def train() -> list[dict[str, Any]]:
        with metered(f"training {folder.name}", config.steps * config.iterations, "iterations") as meter:
            return [asdict(step) for step in training.train(config, lambda progress: meter.advance(1))]

    return list(measured(folder, f"population of {config.steps} steps", train))


def gains(step: Mapping[str, Any]) -> list[str]:
    """The exact values of a mix; or the gain of the portfolio's best deviator, chosen on separate games."""
    cells = ["-" if step[name] is None else f"{step[name]:.3f}" for name in ("gap", "mean_gap", "welfare")]
    attack = step["attack"]
    if attack is None:
        return [*cells, ""]
    return [*cells, f"{attack['gain']:.2f} [{attack['low']:.2f}, {attack['high']:.2f}] by {attack['deviator']}"]


def _mix(mix: Mapping[str, float]) -> str:
    return ", ".join(f"{name_of(policy)} {share:.2f}" for policy, share in mix.items())


def profiles(given: Options) -> None:
    """The exact gain of a best response to the paper's profiles."""
    rows = []
    for policy in ("prosocial", *(f"punisher:t={t}" for t in range(1, 6))):
        guesses = _exact(policy)
        knows = _exact(f"{policy},remembers=yes") if policy != "prosocial" else guesses
        rows.append([f"`{policy}`", *knows, guesses[1]])
    head = ("everybody plays", "welfare", "gap, if they remember who deviated", "gap, if they guess it from the board")
    given.show("profiles", head, rows)


def _exact(policy: str) -> tuple[str, str]:
    """Welfare and gap of a profile; "-" if the search is refused."""
    try:
        found = exploitability("clique:4", policy, 5)
    except EvaluationError as error:
        print(f"{policy}: {error}", file=sys.stderr)
        return "-", "-"
    return f"{found.welfare:.1f}", f"{found.gap:.1f}"
