"""Run an experiment file: play and measure every condition. With a store, an interrupted run can be resumed."""

from __future__ import annotations

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
from evaluation.experiment_files.measuring import Measurement, Measuring
from evaluation.experiment_files.plan import Condition, Experiment
from evaluation.experiments.deviators import PORTFOLIO, filled
from evaluation.experiments.exploitability import resolve_coalitions
from evaluation.measures.intervals import Estimate
from evaluation.measures.rows import GamesResult, same_columns
from evaluation.options import takes_options
from evaluation.play.runner import Runner, read_options
from evaluation.play.setting import Setting
from evaluation.play.store import GameStore
from welfare_env.checks import quoted

EXAMPLE = "['dove', '4*dove + 3*hold']"

FIXED = ("rules", "map_name", "seats", "paper_code", "simultaneous", "start")
"""Options set by the experiment's file."""

KINDS: tuple[set[type], ...] = ({str}, {bool}, {int, float})  # types that may share a column


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
        return [
            {"measure": cell.measure, **row}
            for cell in self.cells
            if isinstance(cell.result, GamesResult)
            for row in cell.result.rows(by_year)
        ]

    @cached_property
    def measures(self) -> dict[str, Estimate]:
        """Measure -> estimate."""
        return {name: estimate for cell in self.cells for name, estimate in cell.estimates.items()}

    @property
    def by_year(self) -> dict[str, dict[int, Estimate]]:
        """Measure -> year -> estimate."""
        return {name: dict(curve) for cell in self.cells for name, curve in cell.by_year.items()}

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
        """As plain JSON types: the input of the report and the figures."""
        conditions, written = [], set[int]()  # a shared result, as of cross-play, is written only with the first
        for each in self.conditions:
            conditions.append(each.to_dict(written))
            written.update(id(cell.result) for cell in each.cells)
        return settings_of(self.experiment) | {"conditions": conditions}


def settings_of(experiment: Experiment) -> dict[str, Any]:
    """Everything that the file sets but its profiles, as plain JSON types."""
    same = "title question games seed map_name seats paper_code simultaneous coordinated budget"
    return {
        "experiment": experiment.name,
        **{name: getattr(experiment, name) for name in (*same.split(), "template", "leaderboard")},
        "selection_games": experiment.games_for_selection,
        "measure": list(experiment.measure),
        "rules": {name: _as_json(value) for name, value in experiment.rules.items()},
        "coalitions": list(experiment.coalitions),
        "deviators": list(experiment.deviators),
        "swept": {name: [_as_json(value) for value in values] for name, values in experiment.sweep.items()},
        "figures": [asdict(figure) | {"y": list(figure.y)} for figure in experiment.figures],
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
        source: the name of a shipped experiment, the path of a TOML file (`evaluation.experiment_files.loading`), or an
            `Experiment`.
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
    return run_experiment(read_experiment(source, profiles, games=games, seed=seed), setting, runner)


def run_experiment(chosen: Experiment, setting: Setting, runner: Runner) -> ExperimentResult:
    """`experiment`, as read; raises the same errors."""
    for each in chosen.conditions:
        own = Setting(seed=chosen.seed, rules=each.rules, map_name=each.map_name, seats=each.seats)
        own.games(read_profile(each.played), 1)
        if each.coalitions:
            resolve_coalitions(own.board, each.coalitions)
    runner.check(policies_of(chosen))
    measuring = Measuring(chosen, setting)
    runner.begin(measuring.count(runner))
    with runner.open(), _store_of(chosen, runner):
        cells = [measuring.cells(each, runner) for each in chosen.conditions]
    results = zip(chosen.conditions, cells, strict=True)
    conditions = tuple(ConditionResult(each, chosen.seed, own) for each, own in results)
    return ExperimentResult(chosen, chosen.seed, conditions)


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


@contextmanager
def _store_of(chosen: Experiment, runner: Runner) -> Iterator[None]:
    """A temporary store if the runner has none but several measures are taken, which may share games."""
    if runner.store is not None or len(chosen.measure) == 1:
        yield
        return
    with tempfile.TemporaryDirectory() as folder, GameStore(Path(folder, "games.sqlite")) as runner.store:
        yield
    runner.store = None


def policies_of(chosen: Experiment) -> list[Spec]:
    """The policies of all conditions and the deviators."""
    found = [policy for each in chosen.conditions for policy in read_profile(each.played).policies]
    found += [read(filled(deviator, "hold")) for deviator in chosen.deviators if deviator != PORTFOLIO]
    return list(dict.fromkeys(found))


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
