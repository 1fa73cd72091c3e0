"""What the configs of all trainings have: fields that are checked, and from which commands and config.json are made.

A field's annotation holds its option on the command line, and its bounds.
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
from typing import Annotated, Any, ClassVar, Optional, Union, get_args, get_origin, get_type_hints

import typer

from training.errors import TrainingError, check_number, check_whole
from welfare_env import checks
from welfare_env.errors import did_you_mean

MOST = 1_000_000
MOST_SEED = 2**32 - 1  # numpy's own generator, which RLlib seeds, takes no more
LONGEST_NAME = 40  # characters of a profile in the name of a folder
LONGEST_FOLDER = 200  # bytes of the name of a folder; most file systems take 255


@dataclass(frozen=True)
class Range:
    """Bounds of a number, both inclusive."""

    low: float
    high: float


Iterations = Annotated[int, typer.Option(help="In all; a larger number extends a finished training."), Range(1, MOST)]
Games = Annotated[int, typer.Option(help="Games in an iteration."), Range(1, MOST)]
Epochs = Annotated[int, typer.Option(help="Passes over an iteration's games."), Range(1, 1000)]
Entropy = Annotated[float, typer.Option(help="Weight of the entropy bonus."), Range(0, 10)]


@dataclass(frozen=True, kw_only=True)
class Config:
    """The fields of all trainings, checked when it is made; the kinds are `TrainConfig` and `ModalConfig`.

    Attributes:
        iterations: in all; a finished training can be extended by giving more.
        games: played in each iteration.
        epochs: passes over the games of an iteration.
        entropy: weight of the entropy bonus.
        clip: PPO's clipping range.
        seed: one seed, one result, bit for bit.
        save_every: iterations between saves.
        folder: where the training is kept; None: `place` names one.

    Raises:
        TrainingError: a value of the wrong type, or out of bounds; the message names the field and its bounds.
    """

    free: ClassVar[frozenset[str]] = frozenset({"iterations", "save_every", "folder"})
    """Fields that change nothing in what an iteration does: another value may resume the same training."""

    iterations: Iterations = 200
    games: Games = 32
    epochs: Epochs = 2
    entropy: Entropy = 0.02
    clip: Annotated[float, typer.Option(help="PPO's clipping range."), Range(0.001, 1)] = 0.2
    seed: Annotated[
        int,
        typer.Option(help="One seed, one result, bit for bit (with the same number of workers)."),
        Range(0, MOST_SEED),
    ] = 0
    save_every: Annotated[int, typer.Option(help="Iterations between saves."), Range(1, MOST)] = 10
    folder: Annotated[
        Optional[Path],  # noqa: UP045 (typer reads it)
        typer.Option("--out", metavar="FOLDER", help="Where the training is kept.", show_default="runs/..., by name"),
    ] = None

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, hint in _hints(kind).items():
            object.__setattr__(self, name, _checked(name, getattr(self, name), hint))

    @property
    def place(self) -> Path:
        """Where the training is kept."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, without the folder: what config.json holds."""
        values = {name: value for name, value in asdict(self).items() if name != "folder"}
        return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def file_name(text: str) -> str:
    """A text as a part of a file's name; what is long or loses signs on the way ends in a digest."""
    plain = re.sub(r"[^\w.:=]+", "-", text).strip("-.")
    if plain == text and len(text) <= LONGEST_NAME:
        return text
    return f"{plain[:LONGEST_NAME]}-{_digest(text)}"


def folder_name(parts: Iterable[str]) -> str:
    """The name of a folder, from parts that `file_name` gives; what has too many bytes ends in a digest of all."""
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


@dataclass(frozen=True)
class _Hint:
    """A field's type, whether it may be None, and its bounds."""

    kind: Any
    is_optional: bool
    bounds: Range | None


@cache
def _hints(kind: Any) -> dict[str, _Hint]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: _hint(hints[field.name]) for field in fields(kind)}


def _hint(annotation: Any) -> _Hint:
    bare, *rest = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    is_optional = get_origin(bare) in (Union, types.UnionType)
    kind = next(each for each in get_args(bare) if each is not type(None)) if is_optional else bare
    return _Hint(kind, is_optional, next((one for one in rest if isinstance(one, Range)), None))


def _checked(name: str, value: Any, hint: _Hint) -> Any:
    """The value of a field, as its type.

    Raises:
        TrainingError: it has another type, or is out of bounds.
    """
    if value is None and hint.is_optional:
        return None
    if hint.bounds is not None and hint.kind is int:
        check_whole(name, value, int(hint.bounds.low), int(hint.bounds.high))
        return value
    if hint.bounds is not None:
        check_number(name, value, hint.bounds.low, hint.bounds.high)
        return float(value)
    if hint.kind is Path and isinstance(value, str | os.PathLike):
        return Path(value)
    if get_origin(hint.kind) is tuple:
        texts = (value,) if isinstance(value, str) else value
        if isinstance(texts, tuple | list) and all(isinstance(text, str) for text in texts):
            return tuple(texts)
    elif hint.kind is str and isinstance(value, str):
        return value
    wanted = {Path: "the path of a folder", str: "a text"}.get(hint.kind, "one text, or several")
    raise TrainingError(f"{name}={checks.quoted(value)}: give {wanted}")


def from_dict(kind: type[Config], values: Any, folder: Path) -> Config:
    """The config that `Config.to_dict` wrote.

    Raises:
        TrainingError: unknown fields, or values that are none of theirs.
    """
    names = [field.name for field in fields(kind) if field.name != "folder"]
    for name in values:
        if name not in names:
            raise TrainingError(f"{name!r:.80}{did_you_mean(name, names)}: no field of {kind.__name__}")
    return kind(**values, folder=folder)
