"""Run an experiment file: train, play and measure. With a store and a folder, an interrupted run can be resumed."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import welfare_env
from agents.runtime.results import Printable
from agents.runtime.table_files import Row
from agents.specs import Spec, read, read_profile
from evaluation.checks import EvaluationError, check_games, check_seed, listed
from evaluation.experiment_files.loading import ExperimentError, load_experiment
from evaluation.experiment_files.measuring import GAINS, Measurement, Measuring, over_seeds
from evaluation.experiment_files.plan import BY_YEAR, Condition, Experiment
from evaluation.experiment_files.result_cache import CachedResult
from evaluation.experiment_files.trainings import Progress, names_in, train_all
from evaluation.experiments.deviators import PORTFOLIO, filled
from evaluation.experiments.evaluation_plan import EvaluationPlan
from evaluation.experiments.exploitability import resolve_coalitions
from evaluation.measures.intervals import Estimate
from evaluation.measures.rows import GamesResult, same_columns
from evaluation.options import takes_options
from evaluation.play.game_settings import GameSettings
from evaluation.play.store import GameStore
from welfare_env.checks import quoted

EXAMPLE = "['dove', '4*dove + 3*hold']"

FIXED = ("rules", "map_name", "seats", "paper_code", "simultaneous")
"""Options set by the experiment's file."""


KINDS: tuple[set[type], ...] = ({str}, {bool}, {int, float})  # types that may share a column


@dataclass(frozen=True, repr=False)
class ConditionResult(GamesResult):
    """A condition and its cells, one per measure and training seed."""

    condition: Condition
    seed: int
    cells: tuple[Measurement, ...]

    def __repr__(self) -> str:
        return Printable.__repr__(self)

    def rows(self, by_year: bool = False) -> list[Row]:
        """The rows of the games, with the measure they belong to; see `evaluation.columns`.

        Red teams and exact gains have no rows; see `to_dict`.
        """
        return [
            {
                "measure": cell.measure,
                "training_seed": math.nan if cell.training_seed is None else cell.training_seed,
                **row,
            }
            for cell in self.cells
            if not isinstance(cell.result, CachedResult)
            for row in cell.result.rows(by_year)
        ]

    @cached_property
    def measures(self) -> dict[str, Estimate]:
        """Measure -> estimate; with several training seeds, the mean over seeds with an interval over seeds."""
        return {
            name: over_seeds([cell.estimates[name] for cell in cells], self.seed, name in GAINS)
            for cells in self.by_measure.values()
            for name in cells[0].estimates
        }

    @property
    def by_measure(self) -> dict[str, list[Measurement]]:
        """Measure of the file, such as "self-play" -> cells, one per training seed."""
        found: dict[str, list[Measurement]] = {}
        for cell in self.cells:
            found.setdefault(cell.measure, []).append(cell)
        return found

    @property
    def training_seeds(self) -> tuple[int, ...]:
        """Training seeds of the trained policies; () if none plays."""
        return tuple(dict.fromkeys(cell.training_seed for cell in self.cells if cell.training_seed is not None))

    @property
    def by_year(self) -> dict[str, dict[int, Estimate]]:
        """Measure -> year -> estimate."""
        return {
            name: {
                year: over_seeds([cell.by_year[name][year] for cell in cells], self.seed)
                for year in cells[0].by_year[name]
                if all(year in cell.by_year[name] for cell in cells)
            }
            for measure, cells in self.by_measure.items()
            for name in BY_YEAR.get(measure, ())
        }

    def to_dict(self, left_out: Collection[int] = ()) -> dict[str, Any]:
        """As plain JSON types: the condition, every measure, and the full results.

        Args:
            left_out: ids of results to leave out, since they were written with another condition.
        """
        condition = self.condition
        return {
            "profile": condition.profile,
            "played": condition.played,
            "coalitions": condition.coalitions,
            "map": condition.map_name,
            "version": welfare_env.__version__,
            "swept": {name: _as_json(value) for name, value in condition.swept.items()},
            "training_seeds": list(self.training_seeds),
            "measures": {name: estimate.to_dict() for name, estimate in self.measures.items()},
            "by_year": {
                name: {str(year): estimate.to_dict() for year, estimate in curve.items()}
                for name, curve in self.by_year.items()
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
        """The rows of all conditions (`evaluation.columns`), with each condition's number and swept values."""
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
        """As plain JSON types: the input of the report and the figures."""
        experiment = self.experiment
        conditions, written = [], set[int]()  # a shared result, as of cross-play, is written only with the first
        for each in self.conditions:
            conditions.append(each.to_dict(written))
            written.update(id(cell.result) for cell in each.cells)
        same = ("title", "question", "games", "paper_code", "simultaneous", "coordinated", "precision", "max_games")
        return {
            "experiment": experiment.name,
            **{name: getattr(experiment, name) for name in (*same, "budget", "template", "leaderboard")},
            "selection_games": experiment.games_for_selection,
            "measure": list(experiment.measure),
            "seed": self.seed,
            "rules": {name: _as_json(value) for name, value in experiment.rules.items()},
            "deviators": list(experiment.deviators),
            "swept": {name: [_as_json(value) for value in values] for name, values in experiment.sweep.items()},
            "train": {name: dict(training.fields) for name, training in experiment.train.items()},
            "train_seeds": list(experiment.train_seeds),
            "figures": [asdict(figure) | {"y": list(figure.y)} for figure in experiment.figures],
            "conditions": conditions,
        }


@takes_options(GameSettings, refused=FIXED)
def experiment(
    source: str | Path | Experiment,
    *,
    profiles: Sequence[str] = (),
    games: int | None = None,
    seed: int | None = None,
    folder: str | Path | None = None,
    on_training: Progress = lambda what, done, total: None,
    **options: Any,
) -> ExperimentResult:
    """Train, play and measure every condition of an experiment.

    Args:
        source: the name of a shipped experiment, the path of a TOML file (`evaluation.experiment_files.loading`), or an
            `Experiment`.
        profiles: replace the file's profiles.
        games: games per condition; replaces the file's.
        seed: seed of the games; replaces the file's.
        folder: folder for trainings, by default "runs/NAME/trained"; existing trainings are resumed.
        on_training: called with a description of the training, the number of finished iterations, and their total.
        options: as for `self_play`, except those of `FIXED`, which the experiment sets.

    Raises:
        ExperimentError: no such experiment, or errors in the file.
        UnknownAgentError, ProfileError, UnknownMapError, LMError: as `self_play`; raised before the first game, since
            all policies are made first (trained policies after their training).
        EvaluationError: the experiment trains policies, but `training` is not installed.
    """
    if fixed := sorted(options.keys() & set(FIXED)):
        raise EvaluationError(f"{', '.join(fixed)}: the experiment's file sets them; change them there")
    chosen = read_experiment(source, profiles, games=games, seed=seed)
    settings = GameSettings(**options)
    if chosen.train and not chosen.trained:
        _check_all(chosen, settings)
    plan = plan_experiment(trained(chosen, folder, on_training), settings)
    return plan.run(plan.settings)


def plan_experiment(chosen: Experiment, settings: GameSettings) -> EvaluationPlan[ExperimentResult]:
    """Check a trained experiment and plan its games; errors as `experiment`."""
    _check_all(chosen, settings)
    measuring = Measuring(chosen, settings)

    def run(settings: GameSettings) -> ExperimentResult:
        with settings.pooled() as pooled, _stored(chosen, pooled) as stored:
            cells = [measuring.cells(each, stored) for each in chosen.conditions]
        results = zip(chosen.conditions, cells, strict=True)
        conditions = tuple(ConditionResult(each, chosen.seed, own) for each, own in results)
        return ExperimentResult(chosen, chosen.seed, conditions)

    return EvaluationPlan(settings, measuring.max_games, run)


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
    return replace(chosen.with_profiles(tuple(texts)), **changes)


def trained(
    chosen: Experiment, folder: str | Path | None = None, on_progress: Progress = lambda what, done, total: None
) -> Experiment:
    """The experiment with its policies trained; unchanged if there is nothing to train.

    Raises:
        EvaluationError: `training` is not installed. Other errors as `train_all`.
    """
    if not chosen.train or chosen.trained:
        return chosen
    place = Path("runs", chosen.name, "trained") if folder is None else Path(folder)
    return replace(chosen, trained=train_all(chosen.train.values(), chosen.train_seeds, place, on_progress))


@contextmanager
def _stored(chosen: Experiment, settings: GameSettings) -> Iterator[GameSettings]:
    """The settings with a store: a temporary store if there is none but several measures, which may share games."""
    if settings.store is not None or len(chosen.measure) == 1:
        yield settings
        return
    with tempfile.TemporaryDirectory() as folder, GameStore(Path(folder, "games.sqlite")) as temporary:
        yield replace(settings, store=temporary)


def policies_of(chosen: Experiment) -> list[Spec]:
    """The policies of all conditions and the deviators, except policies not yet trained."""
    texts = [(each.played, seed) for each in chosen.conditions for seed in _seeds(chosen, each.played)]
    found = [policy for text, seed in texts for policy in read_profile(chosen.text_with(text, seed)).policies]
    deviators = [filled(deviator, "hold") for deviator in chosen.deviators if deviator != PORTFOLIO]
    found += [read(chosen.text_with(text, seed)) for text in deviators for seed in _seeds(chosen, text)]
    return list(dict.fromkeys(found))


def _seeds(chosen: Experiment, text: str) -> tuple[int | None, ...]:
    if not names_in(text):
        return (None,)
    return chosen.train_seeds if chosen.trained else ()


def _check_all(chosen: Experiment, settings: GameSettings) -> None:
    """Make every policy and seat every profile of all conditions, so that errors are raised before the first game."""
    for each in chosen.conditions:
        own = GameSettings(seed=chosen.seed, rules=each.rules, map_name=each.map_name, seats=each.seats)
        for seed in _seeds(chosen, each.played):
            own.games(read_profile(chosen.text_with(each.played, seed)), 1)
        if each.coalitions:
            resolve_coalitions(own.board, each.coalitions)
    settings.check_policies(policies_of(chosen))


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
