"""Checks of arguments shared by all evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import welfare_env
from welfare_env import checks
from welfare_env.checks import quoted
from welfare_env.errors import RecordError, WelfareEnvError

MAX_GAMES = 1_000_000
MAX_SEED = 2**63 - 1
MAX_LISTED = 10_000


ESTIMATE = "estimate it with evaluation.exploitability (the command: welfare-env exploitability)"
PROGRAMS = (
    "writes programs of modal_env, not orders of Diplomacy. Programs play in `welfare-env modal play` and `modal "
    "tournament`; in Python modal_env.play and modal_env.exploitability"
)


class EvaluationError(welfare_env.WelfareEnvError, ValueError):
    """Invalid arguments of an evaluation: games, seed, workers, coalitions or players."""


check_whole = partial(checks.check_whole, error=EvaluationError)


def check_games(games: int) -> None:
    """Check a number of games; EvaluationError if it is not a whole number, or out of range."""
    check_whole("games", games, 1, MAX_GAMES)


def check_seed(seed: int) -> None:
    """Check the seed of an evaluation; EvaluationError if it is not a whole number, or out of range."""
    check_whole("seed", seed, 0, MAX_SEED)


@contextmanager
def reading_record() -> Iterator[None]:
    """In this block, errors that damaged records cause become a RecordError."""
    try:
        yield
    except WelfareEnvError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise RecordError(
            f"the record is damaged, or not a saved game: {type(error).__name__}: {error!s:.200}"
        ) from error


def listed(name: str, values: object, example: str) -> list[Any]:
    """The elements of a list or another iterable, except text and mappings.

    Raises:
        EvaluationError: another type, or more than `MAX_LISTED` elements; the message shows `example`.
    """
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
        try:
            found = list(islice(values, MAX_LISTED + 1))
        except TypeError:  # an array without dimensions
            found = None
        if found is not None and len(found) <= MAX_LISTED:
            return found
    raise EvaluationError(f"{name}={quoted(values)}: give a list, such as {example}")
