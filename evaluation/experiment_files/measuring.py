"""The measurements of an experiment: one per condition and measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from evaluation.experiment_files.plan import BY_YEAR, WITH_COALITIONS, Condition, Experiment
from evaluation.experiments.cross_play import CrossPlayResult, run_cross_play
from evaluation.experiments.exploitability import resolve_coalitions, run_exploitability
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult, run_red_team
from evaluation.experiments.self_play import SelfPlayResult, run_self_play
from evaluation.measures import costs
from evaluation.measures.intervals import Estimate, mean_estimate
from evaluation.measures.lm_usage import usage_of
from evaluation.measures.promise_keeping import kept_promises
from evaluation.messages.analysis import analyze_messages
from evaluation.play.playing import Record
from evaluation.play.runner import Runner
from evaluation.play.setting import Setting


@dataclass(frozen=True)
class ExactGains:
    """Exact gains of coalitions against a profile, as plain JSON types.

    Attributes:
        best: the largest gain of a coalition, in points a year.
        facts: the profile, the map, and the gain of every coalition.
    """

    best: float
    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dict(self.facts)


Result = SelfPlayResult | ExploitabilityResult | RedTeamResult | CrossPlayResult | ExactGains
Key = tuple[Any, ...]  # of a measurement
OF_GAMES = ("root_nash_welfare", "root_nash_welfare_smoothed", "nash_welfare", "proficiency", "stolen_centers")


@dataclass(frozen=True)
class Measurement:
    """One measurement of a condition.

    Attributes:
        measure: "self-play" or another measure of an experiment.
        result: the result of the evaluation.
        estimates: measure -> estimate.
        by_year: measure -> year -> estimate.
        witness: the record of a typical game; None if there is none.
    """

    measure: str
    result: Result
    estimates: Mapping[str, Estimate]
    by_year: Mapping[str, Mapping[int, Estimate]]
    witness: Record | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        measures = {name: estimate.to_dict() for name, estimate in self.estimates.items()}
        return {"measure": self.measure, "measures": measures, "result": self.result.to_dict()}


class Measuring:
    """Takes the measurements of an experiment; those shared by several conditions are taken once.

    Args:
        setting: what the file does not set of the games: the engine.
    """

    def __init__(self, chosen: Experiment, setting: Setting) -> None:
        self._chosen, self._setting = chosen, setting
        self._results: dict[Key, Result] = {}
        self._taken: dict[Key, Callable[[Runner], Result]] = {}
        for condition in chosen.conditions:
            for measure, key in self._keys(condition):
                self._taken.setdefault(key, partial(TAKEN[measure], chosen, condition, self._of(condition)))

    def count(self, runner: Runner) -> int:
        """The maximum number of games of all measurements, after all checks."""
        return sum(map(runner.count, self._taken.values()))

    def cells(self, condition: Condition, runner: Runner) -> tuple[Measurement, ...]:
        """All measurements of a condition."""
        return tuple(
            _measurement(measure, self._result(key, runner), condition) for measure, key in self._keys(condition)
        )

    def _keys(self, condition: Condition) -> Iterator[tuple[str, Key]]:
        """The measure and key of each measurement of a condition."""
        for measure in self._chosen.measure:
            played = "" if measure == "cross-play" else condition.played
            coalitions = condition.coalitions if measure in WITH_COALITIONS else ""
            yield measure, (measure, played, coalitions, tuple(condition.swept.items()))

    def _result(self, key: Key, runner: Runner) -> Result:
        if key not in self._results:
            self._results[key] = self._taken[key](runner)
        return self._results[key]

    def _of(self, condition: Condition) -> Setting:
        """The setting of a condition."""
        return replace(
            self._setting,
            seed=self._chosen.seed,
            rules=condition.rules,
            map_name=condition.map_name,
            seats=condition.seats,
            paper_code=self._chosen.paper_code,
            simultaneous=self._chosen.simultaneous,
        )


def _measurement(measure: str, result: Result, condition: Condition) -> Measurement:
    match result:
        case SelfPlayResult():
            curves = {name: getattr(result, name) for name in BY_YEAR[measure]}
            return Measurement(measure, result, _of_games(result), curves, _typical(result))
        case ExploitabilityResult():
            estimates = {name: getattr(result.costs, name) for name in costs.MEASURES}
            curves = {name: getattr(result.costs, name) for name in BY_YEAR[measure]}
            witness = result.witness.marked_record
            return Measurement(measure, result, {"exploitability": result.value} | estimates, curves, witness)
        case RedTeamResult():
            return Measurement(measure, result, {"red_team": result.value}, {}, result.witness.marked_record)
        case CrossPlayResult():
            paid = {"points_among_others": result.mixed_payoffs[condition.played]}
            return Measurement(measure, result, paid, {}, None)
    exact = Estimate(result.best, result.best, result.best, 1, (result.best,))
    return Measurement(measure, result, {"exact_gain": exact}, {}, None)


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


def _mean(values: Iterable[float], seed: int) -> Estimate:
    listed = list(values)
    return mean_estimate(listed, seed) if listed else Estimate(math.nan, math.nan, math.nan, 0, ())


# The measures.


def _self_play(chosen: Experiment, condition: Condition, setting: Setting, runner: Runner) -> Result:
    return run_self_play(condition.played, chosen.games, setting, runner)


def _exploitability(chosen: Experiment, condition: Condition, setting: Setting, runner: Runner) -> Result:
    return run_exploitability(
        condition.played,
        chosen.games,
        setting,
        runner,
        deviator=list(chosen.deviators) or None,
        coalitions=condition.coalitions,
        coordinated=chosen.coordinated,
        selection_games=chosen.games_for_selection,
    )


def _red_team(chosen: Experiment, condition: Condition, setting: Setting, runner: Runner) -> Result:
    return run_red_team(condition.played, chosen.budget, setting, runner, games=chosen.games)


def _cross_play(chosen: Experiment, condition: Condition, setting: Setting, runner: Runner) -> Result:
    policies = [each.played for each in chosen.conditions_beside(condition)]
    return run_cross_play(policies, chosen.games, setting, runner)


def _exact(chosen: Experiment, condition: Condition, setting: Setting, runner: Runner) -> Result:
    played, map_name = condition.played, condition.map_name
    coalitions = resolve_coalitions(setting.board, condition.coalitions)
    runner.begin(0)
    from evaluation.exact import best_response  # lazily: numba

    gains = [best_response(map_name, played, each, condition.rules.years) for each in coalitions]
    best = max(gains, key=lambda each: each.gain)
    facts = {"profile": played, "map": map_name, "best": list(best.coalition)}
    return ExactGains(best.gain_per_year, facts | {"coalitions": [each.facts() for each in gains]})


TAKEN: dict[str, Callable[[Experiment, Condition, Setting, Runner], Result]] = {
    "self-play": _self_play,
    "exploitability": _exploitability,
    "red-team": _red_team,
    "cross-play": _cross_play,
    "exact": _exact,
}
