"""The files of a training except its state (`training.state`); reading them needs no torch.

``config.json``: the config, for `training.resume`. ``log.jsonl``: logged metrics, a line per iteration.
``tensorboard/``: the log for TensorBoard. In modal_env also ``policy.json``: the learned mix of programs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents.runtime.files import parse_json, read_file, reason, shown
from agents.runtime.table_files import Row
from training.errors import TrainingError
from welfare_env import writing

CONFIG, STATE, LOG, POLICY, BOARD = "config.json", "state.safetensors", "log.jsonl", "policy.json", "tensorboard"
LARGEST_CONFIG = 1 << 20  # bytes
OTHERWISE = "Give the same options (those left out have their defaults), or another folder (--out)"
Line = Mapping[str, Any]  # of the log


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A draft that replaces a file once it is written.

    Raises:
        TrainingError: the file cannot be written.
    """
    try:
        with writing.replaced(path) as draft:
            yield draft
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: Exception) -> TrainingError:
    """The error for a file or a folder that cannot be written."""
    return TrainingError(
        f"{shown(path)} cannot be written ({reason(error)}): check the disk, or give another folder; the training "
        "resumes from its last save"
    )


def difference(name: str, there: object, here: object) -> str:
    """An option in which the training of a folder differs from this one. This one's may be a default."""
    return f"it has {name}={there!r}, this one {here!r}"


def saved_iterations(folder: Path) -> int | None:
    """Number of iterations of the state in a folder; None if there is no state."""
    try:
        return int(_metadata(folder)["iteration"])
    except (OSError, OverflowError, MemoryError, ValueError, KeyError, TypeError):
        return None


def saved_start(folder: Path) -> str | None:
    """Content id of the `start` checkpoint of the training in a folder; None without a state or start."""
    try:
        start = parse_json(_metadata(folder)["options"])["start"]
    except (OSError, OverflowError, MemoryError, ValueError, KeyError, TypeError):
        return None
    return start if isinstance(start, str) else None


def _metadata(folder: Path) -> Mapping[str, str]:
    """The metadata of the state in a folder, read without torch."""
    with (folder / STATE).open("rb") as file:
        header = parse_json(file.read(int.from_bytes(file.read(8), "little")))
    return header["__metadata__"]


def write_config(folder: Path, kind: str, values: Mapping[str, Any]) -> None:
    """Write the config of a training: its kind ("board", "modal" or "population") and its fields.

    Raises:
        TrainingError: the file cannot be written.
    """
    with replaced(folder / CONFIG) as draft:
        draft.write_text(json.dumps({"kind": kind, **values}, indent=2) + "\n")


def read_config(folder: Path) -> tuple[str, dict[str, Any]]:
    """The kind and the fields from the file of `write_config`.

    Raises:
        TrainingError: the file is missing or damaged.
    """
    path = folder / CONFIG
    try:
        values = dict(parse_json(read_file(path, LARGEST_CONFIG)))
        return str(values.pop("kind")), values
    except FileNotFoundError as error:
        raise TrainingError(f"{shown(folder)}: no training: it has no {CONFIG}") from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TrainingError(f"{shown(path)} is damaged or not the config of a training: {reason(error)}") from error


def write_policy(folder: Path, policy: Mapping[str, Any]) -> None:
    """Write the policy learned in modal_env, for people and for `agents.make`.

    Raises:
        TrainingError: the file cannot be written.
    """
    with replaced(folder / POLICY) as draft:
        draft.write_text(json.dumps(policy, indent=2) + "\n")


# The log.


def read_log(folder: Path, done: int) -> list[dict[str, Any]]:
    """The log up to iteration `done`; later lines are removed from the file.

    Raises:
        TrainingError: lines are missing or damaged.
    """
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
    try:
        board, file = SummaryWriter(str(folder / BOARD), purge_step=done + 1), path.open("a")
    except OSError as error:
        raise unwritable(folder, error) from error
    with board, file:

        def log(line: Line) -> None:
            try:
                file.write(json.dumps(line) + "\n")
                file.flush()
            except OSError as error:
                raise unwritable(path, error) from error
            for name, value in line.items():
                if isinstance(value, float):
                    board.add_scalar(name, value, line["iteration"])

        yield log


# The log as a table.


def log_rows(folders: Sequence[str | Path]) -> list[Row]:
    """One row per iteration of each training: folder, seed, iteration and logged metrics (docs/results.md).

    Raises:
        TrainingError: a folder without a training, or with a damaged log.
    """
    logs = [(folder, log_lines(Path(folder)), read_config(Path(folder))[1]) for folder in folders]
    metrics = metrics_of(line for _, lines, _ in logs for line in lines)
    return [
        row
        for folder, lines, config in logs
        for row in metric_rows(str(folder), float(config.get("seed", math.nan)), lines, metrics)
    ]


def metric_rows(folder: str, seed: float, lines: Iterable[Line], metrics: Sequence[str]) -> list[Row]:
    """The rows of one training; nan for metrics not logged in an iteration."""
    return [
        {"folder": folder, "seed": seed, "iteration": line.get("iteration", number)}
        | {metric: number_of(line.get(metric)) for metric in metrics}
        for number, line in enumerate(lines, 1)
    ]


def metrics_of(lines: Iterable[Line]) -> list[str]:
    """The names of all logged numbers, in order of first occurrence."""
    names = (name for line in lines for name, value in line.items() if isinstance(value, int | float))
    return [name for name in dict.fromkeys(names) if name != "iteration"]


def log_lines(folder: Path) -> list[dict[str, Any]]:
    """The log of a training.

    Raises:
        TrainingError: there is no log.
    """
    try:
        return [dict(parse_json(line)) for line in read_file(folder / LOG).decode().splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise TrainingError(f"{shown(folder)}: no training log here: {reason(error)}") from error


def number_of(value: object) -> float:
    """A logged value; nan if it is not a number."""
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan
