"""Coalitions: the paper's sets, and parsing of coalitions given by name or as a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, islice

from evaluation.checks import EvaluationError, listed
from evaluation.measures.intervals import Coalition
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

MAX = 10_000  # coalitions in a list

COALITIONS: dict[str, tuple[Coalition, ...]] = {
    "singles": tuple((power,) for power in ("ENGLAND", "FRANCE", "GERMANY", "ITALY", "TURKEY")),
    "pairs": (
        ("ENGLAND", "TURKEY"),
        ("ITALY", "RUSSIA"),
        ("AUSTRIA", "ENGLAND"),
        ("GERMANY", "TURKEY"),
        ("FRANCE", "RUSSIA"),
    ),
}
"""The paper's sets S_1 and S_2 (appendix B.3): powers that start with three centers, pairs that are not adjacent."""


def all_coalitions(players: Sequence[str]) -> dict[str, tuple[Coalition, ...]]:
    """The sets "all-singles" and "all-pairs"."""
    return {f"all-{name}": tuple(combinations(players, size)) for name, size in (("singles", 1), ("pairs", 2))}


def choose_coalitions(
    players: Sequence[str],
    coalitions: str | Iterable[str | Sequence[str]],
    sets: Mapping[str, Sequence[Coalition]],
    check: Callable[[object], object] | None = None,
) -> list[Coalition]:
    """The coalitions of a named set or a list, without repetition, members in the order of `players`.

    Args:
        players: the players of the game.
        coalitions: a key of `sets`, or a list of keys and of coalitions of one or more players.
        sets: name -> coalitions.
        check: called with every player name first, so that the caller can raise its own error for unknown players.

    Raises:
        EvaluationError: an unknown set, not a list, an empty coalition, an unknown or repeated player.
    """
    if isinstance(coalitions, str):
        if coalitions not in sets:
            hint = did_you_mean(coalitions, [*sets, *players])
            raise EvaluationError(f"coalitions={quoted(coalitions)}{hint}: choose {', '.join(sets)}, or give a list")
        return list(sets[coalitions])
    if isinstance(coalitions, (set, frozenset)):
        raise EvaluationError(f"coalitions={quoted(coalitions)}: give the name of a set, or a list of coalitions")
    given = listed("coalitions", coalitions, "['FRANCE', ['ENGLAND', 'TURKEY']]")
    chosen: list[Coalition] = []
    for each in given:
        is_set = isinstance(each, str) and each in sets
        chosen += sets[each] if is_set else [_coalition(players, each, check)]
    if not 1 <= len(chosen) <= MAX:
        raise EvaluationError(f"coalitions: give 1 to {MAX:,}")
    return list(dict.fromkeys(chosen))


def _coalition(players: Sequence[str], given: object, check: Callable[[object], object] | None) -> Coalition:
    members = [given] if isinstance(given, str) else []
    if not members and isinstance(given, Iterable):
        with suppress(TypeError):  # an array without dimensions
            members = list(islice(given, len(players) + 1))
    if check:
        for name in (member for member in members if isinstance(member, str)):
            check(name)
    if not all(isinstance(member, str) for member in members):
        raise EvaluationError(f"coalition {quoted(given)}: give names of players as text")
    known = [member for member in members if isinstance(member, str) and member in players]
    if len(known) != len(members) or len(set(known)) != len(known) or not known:
        stranger = next((member for member in members if member not in known), None)
        hint = did_you_mean(stranger, players)
        raise EvaluationError(f"coalition {quoted(given)}{hint}: name one or more of {', '.join(players)}, each once")
    return tuple(player for player in players if player in known)
