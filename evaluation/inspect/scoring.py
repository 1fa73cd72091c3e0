"""Scores of games, and metrics over games, with the measures and intervals of `evaluation`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from evaluation.measures.gains import CoalitionGain, Points, coalition_gain, exploitability_of, member_gains
from evaluation.measures.intervals import Coalition, Estimate, mean_estimate
from evaluation.measures.metrics import measure

Attack = tuple[str, Coalition]
ITSELF: Attack = ("", ())  # self-play
Welfare = Mapping[int, Mapping[str, float]]  # number of a game -> power -> welfare points a year


@scorer(metrics=[])
def measures() -> Scorer:
    """The main measures of a game, as in `evaluation.GameMeasures`, and each power's welfare points a year."""

    async def score(state: TaskState, target: Target) -> Score:
        record = state.store.get("record")
        if record is None:
            return Score.unscored(reason="unfinished", explanation=_ended(state))
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


def _ended(state: TaskState) -> str:
    """The phase in which an unfinished game stopped, in words."""
    phases = (state.store.get("unfinished") or {}).get("phases", ())
    return f"the game was stopped in {phases[-1]['name'] if phases else 'its first phase'}, before its last year"


@metric(name="mean", scores="unreduced")
def mean(seed: int = 0) -> Metric:
    """The mean over the games of all epochs, as in `evaluation.self_play`."""
    return _of_estimate("value", seed)


@metric(name="low", scores="unreduced")
def low(seed: int = 0) -> Metric:
    """The lower end of the mean's 95% interval; nan for fewer than five games, or if all games are equal."""
    return _of_estimate("low", seed)


@metric(name="high", scores="unreduced")
def high(seed: int = 0) -> Metric:
    """The upper end of the mean's 95% interval."""
    return _of_estimate("high", seed)


def _of_estimate(part: str, seed: int) -> Metric:
    def compute(scores: list[SampleScore]) -> Value:
        values = [score.score.as_float() for score in sorted(scores, key=_number)]
        return float(getattr(mean_estimate(values, seed), part)) if values else math.nan

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
            games.setdefault((deviator, tuple(coalition)), {})[_number(each)] = _welfare(each.score)
        return dict(_gain_metrics(games, seed))

    return compute


def _gain_metrics(games: Mapping[Attack, Welfare], seed: int) -> dict[str, float]:
    """The exploitability and each attack's gain; nan if no game number is finished in all conditions."""
    numbers = sorted(set.intersection(*map(set, games.values()))) if games else []
    if ITSELF not in games or len(games) == 1 or not numbers:
        return _metrics_of("exploitability", None)
    attacks = sorted(attack for attack in games if attack != ITSELF)
    chosen = _chosen(games, attacks, [number for number in numbers if number % 2 == 0])
    others = [number for number in numbers if number % 2] if len(attacks) > 1 else numbers
    found = exploitability_of(_gain(games, chosen, others, seed).gain) if chosen and others else None
    metrics = _metrics_of("exploitability", found)
    for attack in attacks:
        gain = _gain(games, attack, numbers, seed)
        metrics |= _metrics_of(f"gain of {' and '.join(gain.coalition)} by {gain.deviator}", gain.gain)
    return metrics


def _chosen(games: Mapping[Attack, Welfare], attacks: Sequence[Attack], numbers: Sequence[int]) -> Attack | None:
    """The attack that gains most in these games; None if there is nothing to choose from."""
    if len(attacks) == 1 or not numbers:
        return attacks[0] if len(attacks) == 1 else None
    gains = {attack: member_gains(*_points(games, attack, numbers), attack[1]) for attack in attacks}
    return max(attacks, key=lambda attack: gains[attack].mean(axis=0).min())


def _gain(games: Mapping[Attack, Welfare], attack: Attack, numbers: Sequence[int], seed: int) -> CoalitionGain:
    return coalition_gain(*_points(games, attack, numbers), attack[1], seed, deviator=attack[0])


def _points(games: Mapping[Attack, Welfare], attack: Attack, numbers: Sequence[int]) -> tuple[Points, Points]:
    """Power -> [games] points a year in these games, in self-play and under an attack."""

    def points(played: Welfare) -> dict[str, list[float]]:
        return {power: [played[number][power] for number in numbers] for power in attack[1]}

    return points(games[ITSELF]), points(games[attack])


def _number(score: SampleScore) -> int:
    """The number of the game in the evaluation."""
    return int((score.score.metadata or {})["number"])


def _welfare(score: Score) -> dict[str, float]:
    """Power -> points a year, from the values of a score."""
    return {name: float(value) for name, value in score.as_dict().items() if name.isupper()}


def _metrics_of(name: str, found: Estimate | None) -> dict[str, float]:
    """An estimate as inspect metrics; nan for None."""
    numbers = (math.nan,) * 3 if found is None else (found.value, found.low, found.high)
    return dict(zip((name, f"{name} low", f"{name} high"), numbers, strict=True))
