"""Trainings of the study: run, resumed, and extended until their curves are flat; their costs are saved with them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import training
from agents.runtime.progress import metered
from research.learning.courses import Floats, change, is_flat
from research.tables import markdown, save
from training.cli.curves import read
from training.run_folder import saved_iterations
from welfare_env.writing import replaced

POINTS = "play/points"
STEP = 50  # iterations of an extension
SPENT, MEASURED = "cpu.json", "measures.json"


@dataclass(frozen=True)
class Options:
    """The command's options.

    Attributes:
        out: folder of the trainings. pictures: folder of the pictures.
        seats: deviating seats for exact gains; empty to skip these.
        train: whether to run missing trainings.
        tables: folder of the tables; None to write none.
    """

    out: Path
    pictures: Path
    seats: tuple[str, ...]
    train: bool = True
    tables: Path | None = None

    def show(self, name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table of the page, and write it."""
        save(self.tables, f"learning-{name}", head, rows)
        print(markdown(head, rows) + "\n")


@dataclass(frozen=True)
class Group:
    """Trainings that differ in their seed.

    Attributes:
        name: prefix of their folders' names.
        settings: fields of `training.TrainConfig`.
        seeds: number of seeds.
        iterations: of each training; up to `most` while the curves are not flat.
        curves: the metrics to test for flatness.
    """

    name: str
    settings: Mapping[str, Any]
    seeds: int
    iterations: int
    most: int
    curves: tuple[str, ...] = (POINTS,)

    def config(self, out: Path, seed: int, iterations: int) -> training.TrainConfig:
        fields = {**self.settings, "horizon": self.iterations, "iterations": iterations, "seed": seed}
        return training.TrainConfig(folder=out / f"{self.name}-{seed}", **fields)

    def folders(self, given: Options) -> Sequence[Path]:
        """The trainings' folders; missing trainings are run, or left out if training is off."""
        if given.train:
            return self._finish(given.out)
        folders = [given.out / f"{self.name}-{seed}" for seed in range(self.seeds)]
        return [folder for folder in folders if (saved_iterations(folder) or 0) >= self.iterations]

    def _finish(self, out: Path) -> Sequence[Path]:
        """Run missing trainings, and extend them until the curves are flat."""
        iterations = max(self.iterations, self._reached(out))
        while True:
            folders = [trained(self.config(out, seed, iterations)) for seed in range(self.seeds)]
            if iterations >= self.most or all(is_flat(change(points(folders, one))) for one in self.curves):
                return folders
            iterations += STEP

    def _reached(self, out: Path) -> int:
        """The target number of iterations of an interrupted extension."""
        saved = max((saved_iterations(out / f"{self.name}-{seed}") or 0) for seed in range(self.seeds))
        return self.iterations + max(0, -(-(saved - self.iterations) // STEP)) * STEP


def trained(config: training.TrainConfig) -> Path:
    """The folder of a training, which is run to its end if necessary."""
    folder, done = config.place, saved_iterations(config.place) or 0
    if done < config.iterations:
        before, began = seconds([folder]), time.process_time()
        with metered(f"training {folder.name}", config.iterations - done, "iterations") as meter:

            def note(progress: Any) -> None:
                (folder / SPENT).write_text(json.dumps({"seconds": before + time.process_time() - began}))
                meter.advance(1)

            training.train(config, note)
    return folder


def points(folders: Sequence[Path], metric: str = POINTS) -> Floats:
    """Points per year by training and iteration: [seeds, iterations], up to the shortest training."""
    curves = [read(folder, metric) / config_of(folder)["years"] for folder in folders]
    return np.array([curve[: min(map(len, curves))] for curve in curves])


def config_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "config.json").read_text()))


def measured(folder: Path, name: str, measure: Callable[[], Any]) -> Any:
    """A measurement of a training's last iterate, saved in its folder with the CPU-seconds taken."""
    path, iterations = folder / MEASURED, saved_iterations(folder)
    key = name if iterations is None else f"{name}, {iterations} iterations"
    there = dict(json.loads(path.read_text())) if path.exists() else {}
    if key not in there:
        print(f"measuring {folder.name}: {name}", file=sys.stderr, flush=True)
        began = time.process_time()
        value = measure()
        there[key] = {"value": value, "seconds": time.process_time() - began}
        with replaced(path) as draft:
            draft.write_text(json.dumps(there, indent=1) + "\n")
    return there[key]["value"]


def seconds(folders: Sequence[Path]) -> float:
    """CPU-seconds of trainings."""
    spent = [folder / SPENT for folder in folders]
    return float(sum(json.loads(path.read_text())["seconds"] for path in spent if path.exists()))


def cost(folders: Sequence[Path]) -> str:
    """A sentence with the CPU-minutes of trainings and their measurements."""
    files = [folder / MEASURED for folder in folders]
    kept = [one for path in files if path.exists() for one in json.loads(path.read_text()).values()]
    measuring = sum(one["seconds"] for one in kept)
    return f"CPU-minutes: {seconds(folders) / 60:.1f} of training, {measuring / 60:.1f} of measuring"
