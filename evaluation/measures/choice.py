"""Choose the best of many noisy candidates: successive halving.

The largest of several noisy means is biased upward (the "winner's curse"). So these games only select a candidate;
callers report its gain on fresh games.

Successive halving (Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013): all
candidates play a few games; the best quarter plays as many again, and so on, until few are left. So most games are
spent on the candidates that may be the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Play = Callable[[Sequence[int], range], Sequence[Floats]]
"""Candidates and numbers of games -> for each candidate, its members' gains, [games, members]."""

SURVIVING = 0.25
"""Fraction of the candidates that survives each round."""
FINALISTS = 4
"""Number of candidates at which halving stops."""
CLEARLY = 2.0
"""A finalist this many standard errors worse than the best is not a contender."""


@dataclass(frozen=True)
class Selection:
    """The result of a selection.

    Attributes:
        best: number of the chosen candidate.
        contenders: the chosen candidate, then the finalists that are not clearly worse.
        means: for each candidate, the mean gain of the member who gains least.
        games: for each candidate, the number of games it played.
    """

    best: int
    contenders: tuple[int, ...]
    means: tuple[float, ...]
    games: tuple[int, ...]

    def best_of(self, candidates: Sequence[int]) -> int:
        """The best of some candidates; the first in case of ties."""
        return max(candidates, key=lambda candidate: self.means[candidate])

    def leaders(self, groups: Sequence[Hashable]) -> list[int]:
        """The best candidate of each group, given the group of each candidate."""
        members: dict[Hashable, list[int]] = {}
        for candidate, group in enumerate(groups):
            members.setdefault(group, []).append(candidate)
        return [self.best_of(each) for each in members.values()]


def choose(candidates: int, play: Play, games: int) -> Selection:
    """Choose the candidate with the largest gain of its worst-off member.

    Args:
        candidates: number of candidates, at least one.
        play: called with the surviving candidates, in ascending order, and the numbers of their next games.
        games: games per candidate in the first round; every further round doubles the total.
    """
    gains: list[list[Floats]] = [[] for _ in range(candidates)]
    alive = list(range(candidates))
    for number, numbers in rounds(candidates, games):
        alive = sorted(_ranked(alive, gains)[:number])
        for candidate, played in zip(alive, play(alive, numbers), strict=True):
            gains[candidate].append(played)
    best, *others = _ranked(alive, gains)
    return Selection(
        best,
        (best, *_not_clearly_worse(best, others, gains)),
        tuple(_score(played) for played in gains),
        tuple(sum(map(len, played)) for played in gains),
    )


def rounds(candidates: int, games: int) -> Iterator[tuple[int, range]]:
    """For each round, the number of candidates and the numbers of their games."""
    yield candidates, range(games)
    while candidates > FINALISTS:
        candidates = max(FINALISTS, math.ceil(SURVIVING * candidates))
        yield candidates, range(games, 2 * games)
        games *= 2


def _ranked(candidates: Sequence[int], gains: Sequence[Sequence[Floats]]) -> list[int]:
    """Best first; ties keep their order."""
    return sorted(candidates, key=lambda candidate: -_score(gains[candidate]) if gains[candidate] else 0.0)


def _score(played: Sequence[Floats]) -> float:
    return float(np.concatenate(played).mean(axis=0).min())


def _not_clearly_worse(best: int, others: Sequence[int], gains: Sequence[Sequence[Floats]]) -> list[int]:
    """Finalists not clearly worse than the best, by paired differences with pooled variance."""
    behind = [_least(gains[best]) - _least(gains[other]) for other in others]
    if not behind or len(behind[0]) < 2:
        return list(others)
    error = math.sqrt(float(np.mean([each.var(ddof=1) for each in behind])) / len(behind[0]))
    return [other for other, each in zip(others, behind, strict=True) if each.mean() <= CLEARLY * error]


def _least(played: Sequence[Floats]) -> Floats:
    """[games] the gain of the member with the lowest mean."""
    games = np.concatenate(played)
    least: Floats = games[:, games.mean(axis=0).argmin()]
    return least
