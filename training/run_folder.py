"""The files of a training that need no torch to be written or read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents.runtime.files import parse_json, read_file, reason, shown
from training.errors import TrainingError
from welfare_env import writing

CONFIG, STATE, LOG = "config.json", "state.safetensors", "log.jsonl"
LARGEST_CONFIG = 1 << 20  # bytes


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A draft that replaces a file once it is written.

    Raises:
        TrainingError: it cannot be written.
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


def saved_iterations(folder: Path) -> int | None:
    """How many iterations the state in a folder has seen; None if there is no state."""
    try:
        return int(_metadata(folder)["iteration"])
    except (OSError, OverflowError, MemoryError, ValueError, KeyError, TypeError):
        return None


def saved_start(folder: Path) -> str | None:
    """What the training in a folder started from, by its content; None if there is no state, or it had no start."""
    try:
        start = parse_json(_metadata(folder)["options"])["start"]
    except (OSError, OverflowError, MemoryError, ValueError, KeyError, TypeError):
        return None
    return start if isinstance(start, str) else None


def _metadata(folder: Path) -> Mapping[str, str]:
    """Of the state in a folder, read without torch."""
    with (folder / STATE).open("rb") as file:
        header = parse_json(file.read(int.from_bytes(file.read(8), "little")))
    return header["__metadata__"]


def write_config(folder: Path, kind: str, values: Mapping[str, Any]) -> None:
    """Write the config of a training: which kind it is ("board" or "modal"), and its fields.

    Raises:
        TrainingError: it cannot be written.
    """
    with replaced(folder / CONFIG) as draft:
        draft.write_text(json.dumps({"kind": kind, **values}, indent=2) + "\n")


def read_config(folder: Path) -> tuple[str, dict[str, Any]]:
    """The kind and the fields that `write_config` wrote.

    Raises:
        TrainingError: there are none, or they cannot be read.
    """
    path = folder / CONFIG
    try:
        values = dict(parse_json(read_file(path, LARGEST_CONFIG)))
        return str(values.pop("kind")), values
    except FileNotFoundError as error:
        raise TrainingError(
            f"{shown(folder)}: no training, or one of version 0.1, which kept no {CONFIG}: give its command again, "
            "with --out and with --horizon its iterations"
        ) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TrainingError(f"{shown(path)}: not the config of a training: {reason(error)}") from error
