"""Trainings of the study: run, resumed, and extended until their curves are flat; measurements are saved with them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import training
from research.learning.courses import Floats, change, is_flat
from training.run_folder import saved_iterations
from welfare_env.writing import replaced

POINTS = "play/points"
STEP = 50  # iterations of an extension


@dataclass(frozen=True)
class Group:
    """Trainings that differ in their seed.

    Attributes:
        name: prefix of their folders' names.
        settings: fields of `training.TrainConfig`.
        seeds: number of seeds.
        iterations: of each training; up to `max_iterations` while the curves are not flat.
        curves: the metrics to test for flatness.
    """

    name: str
    settings: Mapping[str, Any]
    seeds: int
    iterations: int
    max_iterations: int
    curves: tuple[str, ...] = (POINTS,)

    def config(self, out: Path, seed: int, iterations: int) -> training.TrainConfig:
        fields = {**self.settings, "horizon": self.iterations, "iterations": iterations, "seed": seed}
        return training.TrainConfig(out=out / f"{self.name}-{seed}", **fields)

    def folders(self, out: Path) -> Sequence[Path]:
        """The trainings' folders; missing trainings are run, and extended until the curves are flat."""
        saved = max((saved_iterations(out / f"{self.name}-{seed}") or 0) for seed in range(self.seeds))
        iterations = self.iterations + max(0, -(-(saved - self.iterations) // STEP)) * STEP
        while True:
            folders = [trained(self.config(out, seed, iterations)) for seed in range(self.seeds)]
            if iterations >= self.max_iterations or all(is_flat(change(points(folders, one))) for one in self.curves):
                return folders
            iterations += STEP


def trained(config: training.TrainConfig) -> Path:
    """The folder of a training, which is run to its end if necessary."""
    if (saved_iterations(config.folder) or 0) < config.iterations:
        print(f"training {config.folder.name}, {config.iterations} iterations", file=sys.stderr, flush=True)
        training.train(config)
    return config.folder


def read(folder: Path, metric: str) -> Floats:
    """A logged metric: [iterations], nan where it was not logged."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return np.array([line.get(metric, np.nan) for line in lines])


def points(folders: Sequence[Path], metric: str = POINTS) -> Floats:
    """Points per year by training and iteration: [seeds, iterations], up to the shortest training."""
    curves = [read(folder, metric) / config_of(folder)["years"] for folder in folders]
    return np.array([curve[: min(map(len, curves))] for curve in curves])


def config_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "config.json").read_text()))


def measured(folder: Path, name: str, measure: Callable[[], Any]) -> Any:
    """A measurement of a training's last iterate, saved in its folder."""
    path, iterations = folder / "measures.json", saved_iterations(folder)
    key = name if iterations is None else f"{name}, {iterations} iterations"
    there = dict(json.loads(path.read_text())) if path.exists() else {}
    if key not in there:
        print(f"measuring {folder.name}: {name}", file=sys.stderr, flush=True)
        there[key] = measure()
        with replaced(path) as draft:
            draft.write_text(json.dumps(there, indent=1) + "\n")
    return there[key]
