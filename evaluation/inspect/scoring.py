"""Scores of games, and metrics over them: the numbers of `evaluation`, with its intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from evaluation.measures.intervals import Coalition, Estimate, ExploitabilityEstimate, mean_estimate, portfolio_estimate
from evaluation.measures.metrics import measure

Attack = tuple[str, Coalition]
Welfare = Mapping[int, Mapping[str, float]]  # number of a game -> power -> welfare points a year


@scorer(metrics=[])
def measures() -> Scorer:
    """The measures of a game: as of `evaluation.GameMeasures`, and each power's welfare points a year by its name."""

    async def score(state: TaskState, target: Target) -> Score:
        record = state.store.get("record")
        if record is None:
            return Score.unscored(reason="unfinished", explanation="a limit ended the game before its last year")
        found = measure(record, tuple(state.metadata["coalition"]))
        value: dict[str, str | int | float | bool | None] = {
            "root_nash_welfare": found.root_nash_welfare,
            "proficiency": found.proficiency.score,
            "stolen_centers": found.stolen_centers.per_year,
            "conflicts": found.conflicts.per_movement_phase,
        }
        about = {
            "number": state.store.get("number"),
            "attack": [state.metadata["deviator"], state.metadata["coalition"]],
        }
        return Score(value=value | found.welfare_per_year, metadata=about)

    return score


@metric(name="mean", scores="unreduced")
def mean(seed: int = 0) -> Metric:
    """The mean over the games of all epochs, as of `evaluation.self_play`."""
    return _of_estimate("value", seed)


@metric(name="low", scores="unreduced")
def low(seed: int = 0) -> Metric:
    """The lower end of its 95% interval; nan for one game."""
    return _of_estimate("low", seed)


@metric(name="high", scores="unreduced")
def high(seed: int = 0) -> Metric:
    """The upper end."""
    return _of_estimate("high", seed)


def _of_estimate(part: str, seed: int) -> Metric:
    def compute(scores: list[SampleScore]) -> Value:
        values = [score.score.as_float() for score in sorted(scores, key=_number)]
        return float(getattr(mean_estimate(values, seed), part)) if values else math.nan

    return compute


@metric(scores="unreduced")
def gains(seed: int = 0) -> Metric:
    """`evaluation.exploitability` of the games that all conditions have finished: its value, corrected, every gain."""

    def compute(scores: list[SampleScore]) -> Value:
        games: dict[Attack, dict[int, Mapping[str, float]]] = {}
        for each in scores:
            deviator, coalition = (each.score.metadata or {})["attack"]
            games.setdefault((deviator, tuple(coalition)), {})[_number(each)] = _welfare(each.score)
        found = _exploitability(games, seed)
        told = _told("exploitability", found.total if found else None)
        told |= _told("corrected", found.corrected if found else None)
        for gain in found.coalitions if found else ():
            told |= _told(f"gain of {' and '.join(gain.coalition)} by {gain.deviator}", gain.gain)
        return dict(told)

    return compute


def _exploitability(games: Mapping[Attack, Welfare], seed: int) -> ExploitabilityEstimate | None:
    """None while there is no game that self-play and an attack have both finished."""
    numbers = sorted(set.intersection(*map(set, games.values()))) if games else []
    if ("", ()) not in games or len(games) == 1 or not numbers:
        return None
    points = {
        attack: {power: [played[number][power] for number in numbers] for power in played[numbers[0]]}
        for attack, played in games.items()
    }
    baseline = points.pop(("", ()))
    attacks: dict[str, dict[Coalition, dict[str, list[float]]]] = {}
    for (deviator, coalition), gained in sorted(points.items()):
        attacks.setdefault(deviator, {})[coalition] = gained
    return portfolio_estimate(baseline, attacks, seed)


def _number(score: SampleScore) -> int:
    """Of the game, in the evaluation."""
    return int((score.score.metadata or {})["number"])


def _welfare(score: Score) -> dict[str, float]:
    """Power -> its points, of the values of a score."""
    return {name: float(value) for name, value in score.as_dict().items() if name.isupper()}


def _told(name: str, found: Estimate | None) -> dict[str, float]:
    """An estimate as inspect's metrics; nan where there is none yet."""
    numbers = (math.nan,) * 3 if found is None else (found.value, found.low, found.high)
    return dict(zip((name, f"{name} low", f"{name} high"), numbers, strict=True))
