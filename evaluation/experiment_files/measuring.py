"""The cells of an experiment: one per condition and measure, and per training seed if a trained policy plays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.specs import read_profile
from evaluation.experiment_files.plan import BY_YEAR, WITH_COALITIONS, Condition, Experiment
from evaluation.experiment_files.result_cache import CachedResult, cached_result, code_behind
from evaluation.experiments.cross_play import CrossPlayResult, plan_cross_play
from evaluation.experiments.evaluation_plan import EvaluationPlan
from evaluation.experiments.exploitability import plan_exploitability, resolve_coalitions
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.red_team import attackers_of, plan_red_team
from evaluation.experiments.self_play import SelfPlayResult, plan_self_play
from evaluation.measures import costs
from evaluation.measures.gains import exploitability_of
from evaluation.measures.intervals import Estimate, mean_estimate
from evaluation.measures.lm_usage import usage_of
from evaluation.measures.promise_keeping import kept_promises
from evaluation.messages.analysis import analyze_messages
from evaluation.play.game_settings import GameSettings
from evaluation.play.games import Record

Result = SelfPlayResult | ExploitabilityResult | CrossPlayResult | CachedResult
Plan = EvaluationPlan[Result]
Key = tuple[Any, ...]  # of a cell
GAINS = ("exploitability", "red_team")
"""Measures whose values are at least 0, although the gains in `per_game` may be negative."""
OF_GAMES = ("root_nash_welfare", "root_nash_welfare_smoothed", "nash_welfare", "proficiency", "stolen_centers")


@dataclass(frozen=True)
class Measurement:
    """One measurement of a condition.

    Attributes:
        measure: "self-play" or another measure of an experiment.
        training_seed: training seed of the trained policies; None if none plays.
        result: the result of the evaluation.
        estimates: measure -> estimate.
        by_year: measure -> year -> estimate.
        witness: the record of a typical game; None if there is none.
    """

    measure: str
    training_seed: int | None
    result: Result
    estimates: Mapping[str, Estimate]
    by_year: Mapping[str, Mapping[int, Estimate]]
    witness: Record | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "measure": self.measure,
            "training_seed": self.training_seed,
            "measures": {name: estimate.to_dict() for name, estimate in self.estimates.items()},
            "result": self.result.to_dict(),
        }


class Measuring:
    """Plans and measures the cells of an experiment; cells shared by several conditions are measured once.

    Args:
        settings: settings not set by the file.

    Attributes:
        max_games: maximum number of games of all cells.
    """

    def __init__(self, chosen: Experiment, settings: GameSettings) -> None:
        self._chosen, self._settings = chosen, settings
        self._plans: dict[Key, Plan] = {}
        self._results: dict[Key, Result] = {}
        for condition in chosen.conditions:
            for measure, seed, key in self._keys(condition):
                if key not in self._plans:
                    self._plans[key] = PLANS[measure](chosen, condition, seed, self._of(condition))
        self.max_games = sum(plan.max_games for plan in self._plans.values())

    def cells(self, condition: Condition, settings: GameSettings) -> tuple[Measurement, ...]:
        """All cells of a condition."""
        return tuple(
            _cell(measure, seed, self._result(key, settings), self._chosen.text_with(condition.played, seed))
            for measure, seed, key in self._keys(condition)
        )

    def _keys(self, condition: Condition) -> Iterator[tuple[str, int | None, Key]]:
        """The measure, training seed and key of each cell of a condition."""
        for measure in self._chosen.measure:
            played = "" if measure == "cross-play" else condition.played
            coalitions = condition.coalitions if measure in WITH_COALITIONS else ""
            for seed in self._chosen.training_seeds(condition, measure):
                yield measure, seed, (measure, seed, played, coalitions, tuple(condition.swept.items()))

    def _result(self, key: Key, settings: GameSettings) -> Result:
        if key not in self._results:
            plan = self._plans[key]
            self._results[key] = plan.run(plan.settings.run_like(settings))
        return self._results[key]

    def _of(self, condition: Condition) -> GameSettings:
        """The settings of a condition."""
        return replace(
            self._settings,
            seed=self._chosen.seed,
            rules=condition.rules,
            map_name=condition.map_name,
            seats=condition.seats,
            paper_code=self._chosen.paper_code,
            simultaneous=self._chosen.simultaneous,
        )


def _cell(measure: str, seed: int | None, result: Result, played: str) -> Measurement:
    if isinstance(result, SelfPlayResult):
        curves = {name: getattr(result, name) for name in BY_YEAR["self-play"]}
        return Measurement(measure, seed, result, _of_games(result), curves, _typical(result))
    if isinstance(result, ExploitabilityResult):
        estimates = {name: getattr(result.costs, name) for name in costs.MEASURES}
        curves = {name: getattr(result.costs, name) for name in BY_YEAR["exploitability"]}
        witness = result.witness.marked_record
        return Measurement(measure, seed, result, {"exploitability": result.value} | estimates, curves, witness)
    if isinstance(result, CrossPlayResult):
        return Measurement(measure, seed, result, {"points_among_others": result.mixed_payoffs[played]}, {}, None)
    return Measurement(measure, seed, result, result.estimates, {}, result.witness)


def _of_games(result: SelfPlayResult) -> dict[str, Estimate]:
    """All measures of self-play; nan for measures without data."""
    used = [usage for record in result.records if (usage := usage_of([record])) is not None]
    found = [analyze_messages(record, result.map_name) for record in result.records]
    prices = [math.nan if each.dollars is None else each.dollars for each in used]
    return {
        **{name: getattr(result, name) for name in (*OF_GAMES, "conflicts")},
        "kept_promises": kept_promises(found, result.seed),
        "tokens_per_game": _mean([each.input_tokens + each.output_tokens for each in used], result.seed),
        "dollars_per_game": _mean(prices, result.seed),
    }


def _typical(result: SelfPlayResult) -> Record:
    """The record of the game with welfare (in standard games, best score) nearest to the mean."""
    values = (result.root_nash_welfare if result.rules.is_welfare else result.best_score).per_game
    mean = sum(values) / len(values)
    return result.records[min(range(len(values)), key=lambda place: abs(values[place] - mean))]


def over_seeds(estimates: Sequence[Estimate], seed: int, is_gain: bool = False) -> Estimate:
    """The mean over training seeds, with an interval over seeds, not games; a single estimate is returned unchanged.

    Args:
        is_gain: the estimates are gains floored at 0: average the gains themselves, then floor the mean at 0.
    """
    if len(estimates) == 1:
        return estimates[0]
    if is_gain:
        return exploitability_of(_mean([math.fsum(each.per_game) / each.n for each in estimates], seed))
    return _mean([each.value for each in estimates], seed)


def _mean(values: Iterable[float], seed: int) -> Estimate:
    listed = list(values)
    return mean_estimate(listed, seed) if listed else Estimate(math.nan, math.nan, math.nan, 0, ())


# The measures.


def _self_play(chosen: Experiment, condition: Condition, seed: int | None, settings: GameSettings) -> Plan:
    return plan_self_play(chosen.text_with(condition.played, seed), chosen.games, settings)


def _exploitability(chosen: Experiment, condition: Condition, seed: int | None, settings: GameSettings) -> Plan:
    deviators = [chosen.text_with(text, seed) for text in chosen.deviators]
    return plan_exploitability(
        chosen.text_with(condition.played, seed),
        chosen.games,
        settings,
        deviator=deviators or None,
        coalitions=condition.coalitions,
        coordinated=chosen.coordinated,
        precision=chosen.precision,
        max_games=chosen.max_games,
        selection_games=chosen.games_for_selection,
    )


def _red_team(chosen: Experiment, condition: Condition, seed: int | None, settings: GameSettings) -> Plan:
    played = chosen.text_with(condition.played, seed)
    plan = plan_red_team(played, chosen.budget, settings, games=chosen.games)
    options = {"games": chosen.games, "budget": chosen.budget, "seats": condition.seats, "seed": chosen.seed}

    def run(settings: GameSettings) -> CachedResult:
        first = settings.games(read_profile(played), 1)[0].to_dict(settings.shared_models)
        attackers = code_behind(attackers_of(plan.tried), settings)

        def measure() -> CachedResult:
            result = plan.run(settings)
            return CachedResult({"red_team": result.value}, result.to_dict(), result.witness.marked_record)

        specification = {"measure": "red-team", "game": first, "attackers": attackers, **options}
        return cached_result(settings.store, specification, measure)

    return EvaluationPlan(settings, plan.max_games, run)


def _cross_play(chosen: Experiment, condition: Condition, seed: int | None, settings: GameSettings) -> Plan:
    policies = [chosen.text_with(each.played, seed) for each in chosen.conditions_beside(condition)]
    return plan_cross_play(policies, chosen.games, settings)


def _exact(chosen: Experiment, condition: Condition, seed: int | None, settings: GameSettings) -> Plan:
    played = chosen.text_with(condition.played, seed)
    first = settings.games(read_profile(played), 1)[0].to_dict()
    coalitions = resolve_coalitions(settings.board, condition.coalitions)

    def measure() -> CachedResult:
        from evaluation.exact import best_response  # lazily: numba

        gains = [best_response(condition.map_name, played, each, condition.rules.years) for each in coalitions]
        best = max(gains, key=lambda each: each.gain)
        facts = {"profile": played, "map": condition.map_name, "best": list(best.coalition)}
        value = Estimate(best.gain_per_year, best.gain_per_year, best.gain_per_year, 1, (best.gain_per_year,))
        return CachedResult({"exact_gain": value}, facts | {"coalitions": [each.facts() for each in gains]})

    def run(settings: GameSettings) -> CachedResult:
        key = {"measure": "exact", "game": first, "coalitions": [list(each) for each in coalitions]}
        return cached_result(settings.store, key, measure)

    return EvaluationPlan(settings, 0, run)


PLANS: dict[str, Callable[[Experiment, Condition, int | None, GameSettings], Plan]] = {
    "self-play": _self_play,
    "exploitability": _exploitability,
    "red-team": _red_team,
    "cross-play": _cross_play,
    "exact": _exact,
}
