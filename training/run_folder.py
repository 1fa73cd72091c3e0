"""The files of a training except its state (`training.state`); reading them needs no torch.

``config.json``: the config, for `training.resume`. ``log.jsonl``: logged metrics, a line per iteration.
``tensorboard/``: the log for TensorBoard. In modal_env also ``policy.json``: the learned mix of programs.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents.runtime.files import parse_json, read_file, reason, shown
from agents.runtime.table_files import Row
from training.errors import TrainingError
from welfare_env import writing
from welfare_env.checks import quoted

CONFIG, STATE, LOG, POLICY, BOARD = "config.json", "state.safetensors", "log.jsonl", "policy.json", "tensorboard"
LARGEST_CONFIG = 1 << 20  # bytes
Line = Mapping[str, Any]  # of the log


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A draft that replaces a file once it is written.

    Raises:
        TrainingError: the file cannot be written.
    """
    with _written(path), writing.replaced(path) as draft:
        yield draft


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TrainingError(
            f"{shown(path)} cannot be written ({reason(error)}): check the disk, or give another folder; the training "
            "resumes from its last save"
        ) from error


def saved_iterations(folder: Path) -> int | None:
    """Number of iterations of the state in a folder, read without torch; None if there is no state."""
    try:
        with (folder / STATE).open("rb") as file:
            header = parse_json(file.read(int.from_bytes(file.read(8), "little")))
        return int(header["__metadata__"]["iteration"])
    except (OSError, OverflowError, MemoryError, ValueError, KeyError, TypeError):
        return None


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file, atomically.

    Raises:
        TrainingError: the file cannot be written.
    """
    with replaced(path) as draft:
        draft.write_text(json.dumps(values, indent=2) + "\n")


LEFT = {"curriculum": ""}
"""Options of earlier configs, with the value that had no effect: with another one a training cannot be resumed."""


def without_left(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a stored config without those of `LEFT`."""
    return {name: value for name, value in values.items() if name not in LEFT or value != LEFT[name]}


def read_config(folder: Path) -> tuple[str, dict[str, Any]]:
    """The kind ("board" or "modal") and the fields of the config of a training.

    Raises:
        TrainingError: the file is missing or damaged.
    """
    path = folder / CONFIG
    try:
        values = dict(parse_json(read_file(path, LARGEST_CONFIG)))
        return str(values.pop("kind")), without_left(values)
    except FileNotFoundError as error:
        raise TrainingError(f"{shown(folder)}: no training: it has no {CONFIG}") from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TrainingError(f"{shown(path)} is damaged or not the config of a training: {reason(error)}") from error


# The log.


def read_log(folder: Path, done: int) -> list[dict[str, Any]]:
    """The log up to iteration `done`; later lines, and drafts that killed trainings left, are removed.

    Raises:
        TrainingError: lines are missing or damaged.
    """
    writing.remove_abandoned(folder)
    path = folder / LOG
    try:
        lines = read_file(path).decode().splitlines(keepends=True)[:done] if done else []
        logged = [parse_json(line) for line in lines]
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path}: cannot be read ({reason(error)}): give another folder (--out)") from error
    numbers = [line.get("iteration") if isinstance(line, dict) else None for line in logged]
    if numbers != list(range(1, done + 1)):
        raise TrainingError(f"{path} does not have the iterations 1 to {done}: give another folder (--out)")
    with replaced(path) as draft:
        draft.write_text("".join(lines))
    return logged


@contextmanager
def logging_to(folder: Path, done: int) -> Iterator[Callable[[Line], None]]:
    """Yields a function that writes an iteration's line to the log, and its numbers to TensorBoard.

    Raises:
        TrainingError: the log cannot be written.
    """
    from tensorboardX import SummaryWriter

    path = folder / LOG
    with _written(folder):
        board, file = SummaryWriter(str(folder / BOARD), purge_step=done + 1), path.open("a")
    with board, file:

        def log(line: Line) -> None:
            with _written(path):
                file.write(json.dumps(line) + "\n")
                file.flush()
            for name, value in line.items():
                if isinstance(value, float):
                    board.add_scalar(name, value, line["iteration"])

        yield log


def log_rows(folders: Sequence[str | Path]) -> list[Row]:
    """One row per iteration of each training: folder, seed, iteration and logged metrics (docs/results.md).

    Raises:
        TrainingError: a folder without a training, or with a damaged log.
    """
    rows: list[Row] = []
    if not isinstance(folders, list | tuple) or not all(isinstance(each, str | os.PathLike) for each in folders):
        raise TrainingError(f"folders={quoted(folders)}: give a list of folders")
    for folder in map(Path, folders):
        seed = read_config(folder)[1].get("seed", math.nan)
        try:
            lines = [dict(parse_json(line)) for line in read_file(folder / LOG).decode().splitlines()]
        except (OSError, ValueError, TypeError) as error:
            raise TrainingError(f"{shown(folder)}: no training log here: {reason(error)}") from error
        rows += metric_rows(str(folder), seed, lines)
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name, math.nan) for name in names} for row in rows]


def metric_rows(folder: str, seed: float, lines: Iterable[Line]) -> list[Row]:
    """The rows of one training: the numbers of its log's lines."""
    return [
        {"folder": folder, "seed": seed, "iteration": line.get("iteration", number)}
        | {name: value for name, value in line.items() if isinstance(value, int | float)}
        for number, line in enumerate(lines, 1)
    ]
