"""Gains of coalitions that deviate, relative to self-play with the same seeds (paper, section 5.1, footnote 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evaluation.measures.intervals import (
    CONFIDENCE,
    Coalition,
    Estimate,
    Floats,
    SampleError,
    Seed,
    mean_estimate,
    mean_estimates,
)

Points = Mapping[str, ArrayLike]  # power -> [games] points a year


@dataclass(frozen=True)
class CoalitionGain:
    """The gain of a coalition that deviates.

    Attributes:
        coalition: the deviating powers (members).
        deviator: the members' policy; "" if only one deviator was tried.
        gain: gain of the member who gains least, with that member's `per_game`.
        members: member -> gain. `per_game` is relative to the self-play game with the same seed.
        total: gain of all members together; relevant if they may pay each other.
    """

    coalition: Coalition
    gain: Estimate
    members: dict[str, Estimate]
    total: Estimate
    deviator: str = ""


def coalition_gain(
    baseline: Points,
    deviating: Points,
    coalition: Coalition,
    rng: Seed,
    *,
    deviator: str = "",
) -> CoalitionGain:
    """The members' gains over self-play games with the same seeds.

    The coalition's gain is the minimum of the members' means. Its lower bound is the minimum of the members' lower
    bounds, without correction, since one of them is the bound of the true minimum. Its upper bound is the minimum of
    upper bounds that hold for all members simultaneously (Bonferroni).

    Args:
        baseline: power -> [games] points a year in self-play.
        deviating: power -> [games] points a year when the coalition deviates. Other powers are ignored.
        rng: random numbers for the intervals.

    Raises:
        SampleError: no members, or their points are missing, not finite, or for different numbers of games.
    """
    gains = member_gains(baseline, deviating, coalition)
    columns = dict(zip(coalition, gains.T, strict=True))
    members = mean_estimates(columns, rng)
    least = min(members.values(), key=lambda member: member.value)
    if len(members) > 1 and any(member.has_interval for member in members.values()):
        together = mean_estimates(columns, rng, confidence=1 - (1 - CONFIDENCE) / len(members))
        low = min(bound_of(member, "low") for member in members.values())
        least = replace(least, low=low, high=min(bound_of(member, "high") for member in together.values()))
    return CoalitionGain(coalition, least, members, mean_estimate(gains.sum(axis=1), rng), deviator)


def bound_of(estimate: Estimate, side: Literal["low", "high"]) -> float:
    """A bound of an estimate; the estimate's value if it has no bound (all games alike)."""
    bound = estimate.low if side == "low" else estimate.high
    return estimate.value if np.isnan(bound) else bound


def exploitability_of(gain: Estimate) -> Estimate:
    """The exploitability implied by a gain: at least 0, since a coalition need not deviate.

    `per_game` has the gains of the attack, which may be negative.
    """
    return replace(gain, value=max(0.0, gain.value), low=_floored(gain.low), high=_floored(gain.high))


def _floored(bound: float) -> float:
    return bound if np.isnan(bound) else max(0.0, bound)


def member_gains(baseline: Points, deviating: Points, coalition: Coalition) -> Floats:
    """[games, members] gain of each member over the self-play game with the same seed.

    Raises:
        SampleError: as `coalition_gain`.
    """
    if not coalition:
        raise SampleError("a coalition needs one or more members, not ()")
    deviated = _by_game(deviating, coalition, f"the games of {coalition}")
    usual = _by_game(baseline, coalition, "self-play")
    if len(deviated) != len(usual):
        raise SampleError(f"{coalition}: {len(deviated)} games, but {len(usual)} of self-play: play the same seeds")
    return deviated - usual


def _by_game(points: Points, powers: Coalition, where: str) -> Floats:
    """[games, powers] the points of some powers as an array."""
    missing = [power for power in powers if power not in points]
    if missing:
        raise SampleError(f"{where}: no points of {missing}, only of {sorted(points)}")
    try:
        samples = [np.asarray(points[power], dtype=np.float64) for power in powers]
    except (TypeError, ValueError, OverflowError) as error:
        raise SampleError(f"{where}: points must be numbers: {error!s:.200}") from error
    shapes = {sample.shape for sample in samples}
    if len(shapes) > 1 or samples[0].ndim != 1 or not samples[0].size:
        raise SampleError(
            f"{where}: every power needs one number per game, for the same games; shapes are {sorted(shapes)}"
        )
    if not np.isfinite(samples).all():
        raise SampleError(f"{where}: points must be finite numbers (a standard game has no welfare)")
    return np.stack(samples, axis=1)
