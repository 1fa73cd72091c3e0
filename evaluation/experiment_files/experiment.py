"""Run an experiment file: play and measure every condition. With a store, an interrupted run can be resumed."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import welfare_env
from agents.runtime.results import Printable
from agents.runtime.table_files import Row
from agents.specs import read_profile
from evaluation.checks import EvaluationError, check_games, check_seed, listed
from evaluation.experiment_files.description import (
    BY_YEAR,
    OF_GAMES,
    WITH_COALITIONS,
    Condition,
    Experiment,
    ExperimentError,
    load_experiment,
)
from evaluation.experiments.cross_play import CrossPlayResult, measure_cross_play
from evaluation.experiments.exploitability import measure_exploitability, resolve_coalitions
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult, measure_red_team
from evaluation.experiments.self_play import SelfPlayResult, measure_self_play
from evaluation.measures import costs
from evaluation.measures.intervals import Estimate, mean_estimate, nearest_to_mean
from evaluation.measures.lm_usage import usage_of
from evaluation.measures.promise_keeping import kept_promises
from evaluation.measures.rows import GamesResult, same_columns
from evaluation.messages.analysis import analyze_messages
from evaluation.options import takes_options
from evaluation.play.game_spec import Setting
from evaluation.play.playing import Record
from evaluation.play.runner import Begun, Evaluation, Runner, Wanted, read_options
from evaluation.play.store import GameStore
from welfare_env.checks import quoted
from welfare_env.engine.engines import DEFAULT_ENGINE

EXAMPLE = "['dove', '4*dove + 3*hold']"

FIXED = ("rules", "map_name", "seats", "paper_code", "simultaneous", "start")
"""Options set by the experiment's file."""

KINDS: tuple[set[type], ...] = ({str}, {bool}, {int, float})  # types that may share a column


@dataclass(frozen=True)
class ExactGains:
    """Exact gains of coalitions against a profile: the largest, in points a year, and plain facts of all of them."""

    best: float
    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dict(self.facts)


Result = SelfPlayResult | ExploitabilityResult | RedTeamResult | CrossPlayResult | ExactGains


@dataclass(frozen=True)
class Measurement:
    """One measurement of a condition.

    Attributes:
        measure: "self-play" or another measure of an experiment.
        result: the result of the evaluation.
        played: the condition's profile.
    """

    measure: str
    result: Result
    played: str

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Measure -> estimate; nan for measures without data."""
        match self.result:
            case SelfPlayResult() as found:
                return {name: getattr(found, name) for name in (*OF_GAMES, "conflicts")} | _of_messages(found)
            case ExploitabilityResult() as attacked:
                values = {name: getattr(attacked.costs, name) for name in costs.MEASURES}
                return {"exploitability": attacked.value} | values
            case RedTeamResult() as red:
                return {"red_team": red.value}
            case CrossPlayResult() as mixed:
                return {"points_among_others": mixed.mixed_payoffs[self.played]}
            case ExactGains(best):
                return {"exact_gain": Estimate(best, best, best, 1, (best,))}

    @property
    def by_year(self) -> dict[str, Mapping[int, Estimate]]:
        """Measure -> year -> estimate."""
        found = self.result.costs if isinstance(self.result, ExploitabilityResult) else self.result
        return {name: getattr(found, name) for name in BY_YEAR.get(self.measure, ())}

    @property
    def witness(self) -> Record | None:
        """The record of a typical game; None if there is none."""
        if isinstance(self.result, ExploitabilityResult | RedTeamResult):
            return self.result.witness.marked_record
        return _typical(self.result) if isinstance(self.result, SelfPlayResult) else None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        measures = {name: estimate.to_dict() for name, estimate in self.estimates.items()}
        return {"measure": self.measure, "measures": measures, "result": self.result.to_dict()}


def _of_messages(result: SelfPlayResult) -> dict[str, Estimate]:
    used = [usage for record in result.records if (usage := usage_of([record])) is not None]
    found = [analyze_messages(record, result.map_name) for record in result.records]
    tokens = [float(each.input_tokens + each.output_tokens) for each in used]
    prices = [math.nan if each.dollars is None else each.dollars for each in used]
    none = Estimate(math.nan, math.nan, math.nan, 0, ())
    return {
        "kept_promises": kept_promises(found, result.seed),
        "tokens_per_game": mean_estimate(tokens, result.seed) if used else none,
        "dollars_per_game": mean_estimate(prices, result.seed) if used else none,
    }


def _typical(result: SelfPlayResult) -> Record:
    """The record of the game with welfare (in standard games, best score) nearest to the mean."""
    values = (result.root_nash_welfare if result.rules.is_welfare else result.best_score).per_game
    return result.records[nearest_to_mean(values)]


@dataclass(frozen=True, repr=False)
class ConditionResult(GamesResult):
    """A condition and its measurements, one per measure."""

    condition: Condition
    seed: int
    cells: tuple[Measurement, ...]

    def __repr__(self) -> str:
        return Printable.__repr__(self)

    def rows(self, by_year: bool = False) -> list[Row]:
        """The rows of the games, with the measure they belong to; docs/results.md describes the columns.

        Exact gains have no rows; see `to_dict`.
        """
        games = [(cell.measure, cell.result) for cell in self.cells if isinstance(cell.result, GamesResult)]
        return [{"measure": measure, **row} for measure, result in games for row in result.rows(by_year)]

    @cached_property
    def measures(self) -> dict[str, Estimate]:
        """Measure -> estimate."""
        return {name: estimate for cell in self.cells for name, estimate in cell.estimates.items()}

    def to_dict(self, left_out: Collection[int] = ()) -> dict[str, Any]:
        """As plain JSON types: the condition, every measure, and the full results.

        Args:
            left_out: ids of results to leave out, since they were written with another condition.
        """
        condition = self.condition
        curves = {name: curve for cell in self.cells for name, curve in cell.by_year.items()}
        return {
            "profile": condition.profile,
            "played": condition.played,
            "coalitions": condition.coalitions,
            "map": condition.setting.map_name,
            "version": welfare_env.__version__,
            "swept": {name: _as_json(value) for name, value in condition.swept.items()},
            "measures": {name: estimate.to_dict() for name, estimate in self.measures.items()},
            "by_year": {
                name: {str(year): estimate.to_dict() for year, estimate in curve.items()}
                for name, curve in curves.items()
            },
            "cells": [cell.to_dict() | ({"result": {}} if id(cell.result) in left_out else {}) for cell in self.cells],
        }


@dataclass(frozen=True, repr=False)
class ExperimentResult(GamesResult):
    """The results of all conditions of an experiment.

    Attributes:
        seed: seed of the evaluation; the games have the same seeds in every condition.
        conditions: the conditions in the order of the file, with swept values as the outer loop and profiles as the
            inner loop.
    """

    experiment: Experiment
    seed: int
    conditions: tuple[ConditionResult, ...]

    def rows(self, by_year: bool = False) -> list[Row]:
        """The rows of all conditions (docs/results.md), with each condition's number and swept values."""
        return same_columns(
            {"experiment": self.experiment.name, "condition": number, **self._columns(each.condition), **row}
            for number, each in enumerate(self.conditions)
            for row in each.rows(by_year)
        )

    def _columns(self, condition: Condition) -> Row:
        """The columns of a condition. Swept values of mixed types are converted to text."""
        swept = self.experiment.sweep
        texts = {name for name, values in swept.items() if not any({*map(type, values)} <= kinds for kinds in KINDS)}
        columns: Row = {"coalitions": condition.coalitions}
        for name, value in condition.swept.items():
            columns[f"swept_{name}"] = str(_as_json(value)) if name in texts else value
        return columns

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types: the input of the report and the figures; what the file sets, except its profiles."""
        chosen = self.experiment
        same = "title question games seed map_name seats paper_code simultaneous coordinated budget"
        conditions, written = [], set[int]()  # a shared result, as of cross-play, is written only with the first
        for each in self.conditions:
            conditions.append(each.to_dict(written))
            written.update(id(cell.result) for cell in each.cells)
        return {
            "experiment": chosen.name,
            **{name: getattr(chosen, name) for name in (*same.split(), "template", "leaderboard")},
            "selection_games": chosen.games_for_selection,
            "measure": list(chosen.measure),
            "rules": {name: _as_json(value) for name, value in chosen.rules.items()},
            "coalitions": list(chosen.coalitions),
            "deviators": list(chosen.deviators),
            "swept": {name: [_as_json(value) for value in values] for name, values in chosen.sweep.items()},
            "figures": [asdict(figure) | {"y": list(figure.y)} for figure in chosen.figures],
            "conditions": conditions,
        }


@takes_options(Setting, Runner, refused=FIXED)
def experiment(
    source: str | Path | Experiment,
    *,
    profiles: Sequence[str] = (),
    games: int | None = None,
    seed: int | None = None,
    **options: Any,
) -> ExperimentResult:
    """Play and measure every condition of an experiment.

    Args:
        source: the name of a shipped experiment, the path of a TOML file (docs/experiments.md), or an `Experiment`.
        profiles: replace the file's profiles.
        games: games per condition; replaces the file's.
        seed: seed of the games; replaces the file's.
        options: as for `self_play`, except those of `FIXED`, which the experiment sets.

    Raises:
        ExperimentError: no such experiment, or errors in the file.
        UnknownAgentError, ProfileError, UnknownMapError, LMError: as `self_play`; raised before the first game, since
            all policies are made first.
    """
    if fixed := sorted(options.keys() & set(FIXED)):
        raise EvaluationError(f"{', '.join(fixed)}: the experiment's file sets them; change them there")
    setting, runner = read_options(options)
    chosen = read_experiment(source, profiles, games=games, seed=seed)
    measuring = measurements(chosen, setting.engine)
    begun = Begun(*measuring.values())
    with _store_of(chosen, runner):
        return result_of(chosen, dict(zip(measuring, begun.results(runner), strict=True)))


def read_experiment(
    source: str | Path | Experiment,
    profiles: Sequence[str] = (),
    *,
    games: int | None = None,
    selection_games: int | None = None,
    seed: int | None = None,
) -> Experiment:
    """The experiment with replaced values; arguments and errors as `experiment`."""
    texts = listed("profiles", profiles, EXAMPLE)
    if not all(isinstance(profile, str) for profile in texts):
        raise ExperimentError(f"profiles={quoted(texts)}: give a list of strings, such as {EXAMPLE}")
    chosen = source if isinstance(source, Experiment) else load_experiment(source)
    if games is not None:
        check_games(games)
    if seed is not None:
        check_seed(seed)
    given = {"games": games, "selection_games": selection_games, "seed": seed}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(chosen.with_profiles(texts), **changes)


Key = tuple[Any, ...]


def measurements(chosen: Experiment, engine: str = DEFAULT_ENGINE) -> dict[Key, Evaluation[Result]]:
    """The evaluations of all conditions; those that several conditions share are in it once."""
    conditions = [replace(each, setting=replace(each.setting, engine=engine)) for each in chosen.conditions]
    found: dict[Key, Evaluation[Result]] = {}
    for each in conditions:
        for measure in chosen.measure:
            if (key := _key(measure, each)) not in found:
                found[key] = _measured(measure, chosen, each, conditions)
    return found


def result_of(chosen: Experiment, results: Mapping[Key, Result]) -> ExperimentResult:
    """The result of an experiment, from those of its `measurements`."""
    found = []
    for each in chosen.conditions:
        cells = [Measurement(measure, results[_key(measure, each)], each.played) for measure in chosen.measure]
        found.append(ConditionResult(each, chosen.seed, tuple(cells)))
    return ExperimentResult(chosen, chosen.seed, tuple(found))


def _key(measure: str, condition: Condition) -> Key:
    """What distinguishes a measurement of a condition from those of others."""
    played = "" if measure == "cross-play" else condition.played
    coalitions = condition.coalitions if measure in WITH_COALITIONS else ""
    return (measure, played, coalitions, tuple(condition.swept.items()))


def _measured(
    measure: str, chosen: Experiment, condition: Condition, conditions: Sequence[Condition]
) -> Evaluation[Any]:
    """The evaluation of a measure in a condition."""
    played, setting = condition.played, condition.setting
    if measure == "self-play":
        return measure_self_play(played, chosen.games, setting)
    if measure == "red-team":
        return measure_red_team(played, chosen.budget, setting, games=chosen.games)
    if measure == "cross-play":
        same = condition.swept, condition.coalitions
        policies = [each.played for each in conditions if (each.swept, each.coalitions) == same]
        return measure_cross_play(policies, chosen.games, setting)
    if measure == "exploitability":
        attack: dict[str, Any] = {"deviator": list(chosen.deviators) or None, "coalitions": condition.coalitions}
        attack |= {"coordinated": chosen.coordinated, "selection_games": chosen.games_for_selection}
        return measure_exploitability(played, chosen.games, setting, **attack)
    return _measure_exact(condition)


def _measure_exact(condition: Condition) -> Evaluation[ExactGains]:
    """Exact gains, for which no games are played."""
    setting, played = condition.setting, condition.played
    coalitions = resolve_coalitions(setting.board, condition.coalitions)
    Runner().check(setting.games(read_profile(played), 1))
    yield Wanted()
    from evaluation.exact import best_response  # lazily: numba

    gains = [best_response(setting.map_name, played, each, setting.played.years) for each in coalitions]
    best = max(gains, key=lambda each: each.gain)
    facts = {"profile": played, "map": setting.map_name, "best": list(best.coalition)}
    return ExactGains(best.gain_per_year, facts | {"coalitions": [each.facts() for each in gains]})


@contextmanager
def _store_of(chosen: Experiment, runner: Runner) -> Iterator[None]:
    """A temporary store if the runner has none but several measures are taken, which may share games."""
    if runner.store is not None or len(chosen.measure) == 1:
        yield
        return
    with tempfile.TemporaryDirectory() as folder, GameStore(Path(folder, "games.sqlite")) as runner.store:
        yield
    runner.store = None


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
