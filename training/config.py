"""The base of all training configs: checked fields, which also define command options and config.json.

A field's annotation holds its command line option and its bounds.
"""

from __future__ import annotations

import hashlib
import os
import re
import types
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Optional, Self, Union, get_args, get_origin, get_type_hints

import typer

from training.errors import TrainingError, check_number, check_whole
from welfare_env import checks
from welfare_env.errors import did_you_mean

MAX = 1_000_000
MAX_SEED = 2**32 - 1  # the maximum for numpy's global generator, which RLlib seeds
LONGEST_NAME = 40  # characters of a profile in the name of a folder
LONGEST_FOLDER = 200  # bytes of a folder's name; most file systems allow 255


@dataclass(frozen=True)
class Range:
    """Bounds of a number, both inclusive."""

    low: float
    high: float


Iterations = Annotated[int, typer.Option(help="Total; a larger number extends a finished training."), Range(1, MAX)]
Games = Annotated[int, typer.Option(help="Games per iteration."), Range(1, MAX)]
Epochs = Annotated[int, typer.Option(help="Passes over an iteration's games."), Range(1, 1000)]
Entropy = Annotated[float, typer.Option(help="Weight of the entropy bonus."), Range(0, 10)]


@dataclass(frozen=True, kw_only=True)
class Config:
    """The fields of all training configs, checked on creation.

    Attributes:
        iterations: total number; a larger one extends a finished training.
        games: games per iteration.
        epochs: passes over the games of an iteration.
        entropy: weight of the entropy bonus.
        clip: PPO's clipping range.
        seed: the same seed gives the same result, bit for bit.
        save_every: iterations between saves.
        out: the training's folder; None: a default, see `folder`.

    Raises:
        TrainingError: an unknown field, or a value of the wrong type or out of bounds; the message names the field and
            what would be right.
    """

    free: ClassVar[frozenset[str]] = frozenset({"iterations", "save_every", "out"})
    """Fields that do not affect an iteration: a training may be resumed with other values."""

    iterations: Iterations = 200
    games: Games = 32
    epochs: Epochs = 2
    entropy: Entropy = 0.02
    clip: Annotated[float, Range(0.001, 1)] = 0.2
    seed: Annotated[
        int,
        typer.Option(help="The same seed gives the same result, bit for bit."),
        Range(0, MAX_SEED),
    ] = 0
    save_every: Annotated[int, typer.Option(help="Iterations between saves."), Range(1, MAX)] = 10
    out: Annotated[
        Optional[Path],  # noqa: UP045 (typer reads it)
        typer.Option(metavar="FOLDER", help="Folder of the training.", show_default="runs/..., by name"),
    ] = None

    def __new__(cls, *args: Any, **values: Any) -> Self:
        """Refuses unknown fields by name; `__init__` takes the values."""
        names = [field.name for field in fields(cls)]
        for name in values:
            if name not in names:
                raise TrainingError(
                    f"{name!r:.80}{did_you_mean(name, names)}: not a field of {cls.__name__}: {', '.join(names)}"
                )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, annotation in _annotations(kind).items():
            object.__setattr__(self, name, _checked(name, getattr(self, name), annotation))

    @property
    def folder(self) -> Path:
        """The training's folder."""
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        """What must be unchanged for a training to resume: all but `free`."""
        return {name: value for name, value in self.to_dict().items() if name not in self.free}

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, without the folder: the content of config.json."""
        values = {name: value for name, value in asdict(self).items() if name != "out"}
        return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def file_name(text: str) -> str:
    """A text as a part of a file name; with a digest at its end if it was shortened or lost characters."""
    plain = re.sub(r"[^\w.:=]+", "-", text).strip("-.")
    if plain == text and len(text) <= LONGEST_NAME:
        return text
    return f"{plain[:LONGEST_NAME]}-{_digest(text)}"


def folder_name(parts: Iterable[str]) -> str:
    """A folder's name from parts made by `file_name`; with a digest at its end if it was too long."""
    whole = "-".join(parts)
    name = whole.encode()
    return (
        whole
        if len(name) <= LONGEST_FOLDER
        else f"{name[: LONGEST_FOLDER - 9].decode(errors='ignore')}-{_digest(whole)}"
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


# Checks.


@cache
def _annotations(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _checked(name: str, value: Any, annotation: Any) -> Any:
    """The value of a field, as its type.

    Raises:
        TrainingError: wrong type, or out of bounds.
    """
    kind, *rest = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    bounds = next((one for one in rest if isinstance(one, Range)), None)
    if get_origin(kind) in (Union, types.UnionType):  # of a type and None
        if value is None:
            return None
        kind = get_args(kind)[0]
    if bounds is not None and kind is int:
        check_whole(name, value, int(bounds.low), int(bounds.high))
        return value
    if bounds is not None:
        check_number(name, value, bounds.low, bounds.high)
        return float(value)
    if kind is Path and isinstance(value, str | os.PathLike):
        return Path(value)
    if get_origin(kind) is tuple:
        texts = (value,) if isinstance(value, str) else value
        if isinstance(texts, tuple | list) and all(isinstance(text, str) for text in texts):
            return tuple(texts)
    elif kind is str and isinstance(value, str):
        return value
    wanted = {Path: "the path of a folder", str: "a text"}.get(kind, "one text, or several")
    raise TrainingError(f"{name}={checks.quoted(value)}: give {wanted}")
