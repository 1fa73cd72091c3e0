"""Scores of games, and metrics over games, with the measures and intervals of `evaluation`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from evaluation import Estimate, measure
from evaluation.experiments.self_play import within_range
from evaluation.measures.gains import CoalitionGain, coalition_gain, exploitability_of
from evaluation.measures.intervals import Coalition, mean_estimate

Attack = tuple[str, Coalition]
ITSELF: Attack = ("", ())  # self-play
Welfare = Mapping[int, Mapping[str, float]]  # number of a game -> power -> welfare points a year


@scorer(metrics=[])
def measures() -> Scorer:
    """The main measures of a game, as in `evaluation.GameMeasures`, and each power's welfare points a year."""

    async def score(state: TaskState, target: Target) -> Score:
        record = state.store.get("record")
        if record is None:
            phases = (state.store.get("unfinished") or {}).get("phases", ())
            where = phases[-1]["name"] if phases else "its first phase"
            ended = f"the game was stopped in {where}, before its last year"
            return Score.unscored(reason="unfinished", explanation=ended)
        found = measure(record, tuple(state.metadata["coalition"]))
        value: dict[str, Any] = {
            "root_nash_welfare": found.root_nash_welfare,
            "proficiency": found.proficiency.score,
            "stolen_centers": found.stolen_centers.per_year,
            "conflicts": found.conflicts.per_movement_phase,
        }
        attack = [state.metadata["deviator"], state.metadata["coalition"]]
        about = {"number": state.store.get("number"), "attack": attack}
        return Score(value=value | found.welfare_per_year, metadata=about)

    return score


@metric(scores="unreduced")
def means(seed: int = 0) -> Metric:
    """Every measure's mean over the games of all epochs, and its 95% interval within the measure's range, as in
    `evaluation.self_play`.

    The ends of an interval are nan for fewer than five games, or if all games are equal.
    """

    def compute(scores: list[SampleScore]) -> Value:
        games = [each.score.as_dict() for each in sorted(scores, key=_number)]
        found: dict[str, float] = {}
        for name in games[0] if games else ():
            mean = mean_estimate([float(game[name]) for game in games], seed)
            found |= _metrics_of(name, within_range(name, mean))
        return dict(found)

    return compute


@metric(scores="unreduced")
def gains(seed: int = 0) -> Metric:
    """The exploitability and the gain of each attack, over the game numbers finished in all conditions.

    The best attack is selected on games with even numbers, and the exploitability is its gain on games with odd
    numbers; nan for a single game.
    """

    def compute(scores: list[SampleScore]) -> Value:
        games: dict[Attack, dict[int, Mapping[str, float]]] = {}
        for each in scores:
            deviator, coalition = (each.score.metadata or {})["attack"]
            welfare = {name: float(value) for name, value in each.score.as_dict().items() if name.isupper()}
            games.setdefault((deviator, tuple(coalition)), {})[_number(each)] = welfare
        return dict(_gain_metrics(games, seed))

    return compute


def _gain_metrics(games: Mapping[Attack, Welfare], seed: int) -> dict[str, float]:
    """The exploitability and each attack's gain; nan if no game number is finished in all conditions."""
    numbers = sorted(set.intersection(*map(set, games.values()))) if games else []
    attacks = sorted(games.keys() - {ITSELF})
    if ITSELF not in games or not attacks or not numbers:
        return _metrics_of("exploitability", None)
    even, odd = ([number for number in numbers if number % 2 == rest] for rest in (0, 1))
    found = None
    if len(attacks) == 1:
        found = _gain(games, attacks[0], numbers, seed)
    elif even and odd:
        best = max(attacks, key=lambda attack: _gain(games, attack, even, seed).gain.value)
        found = _gain(games, best, odd, seed)
    metrics = _metrics_of("exploitability", exploitability_of(found.gain) if found else None)
    for attack in attacks:
        gain = _gain(games, attack, numbers, seed)
        metrics |= _metrics_of(f"gain of {' and '.join(gain.coalition)} by {gain.deviator}", gain.gain)
    return metrics


def _gain(games: Mapping[Attack, Welfare], attack: Attack, numbers: Sequence[int], seed: int) -> CoalitionGain:
    """The gain of an attack in the games of these numbers."""
    usual, attacked = (
        {power: [games[condition][number][power] for number in numbers] for power in attack[1]}
        for condition in (ITSELF, attack)
    )
    return coalition_gain(usual, attacked, attack[1], seed, deviator=attack[0])


def _number(score: SampleScore) -> int:
    """The number of the game in the evaluation."""
    return int((score.score.metadata or {})["number"])


def _metrics_of(name: str, found: Estimate | None) -> dict[str, float]:
    """An estimate as inspect metrics; nan for None."""
    numbers = (math.nan,) * 3 if found is None else (found.value, found.low, found.high)
    return dict(zip((name, f"{name} low", f"{name} high"), numbers, strict=True))
