"""Run an experiment: play and measure every condition of a file; with a store it can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

from agents.specs import read, read_profile
from evaluation.checks import EvaluationError, check_games
from evaluation.experiments.deviators import PORTFOLIO, read_deviators
from evaluation.experiments.exploitability import exploitability, resolve_coalitions
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.files import BY_YEAR, MEASURES, Condition, Experiment, ExperimentError, load_experiment
from evaluation.experiments.self_play import SelfPlayResult, make_all, self_play
from evaluation.measures import collusion
from evaluation.measures.intervals import Estimate
from evaluation.play.setting import Options, Setting
from evaluation.play.workers import Workers
from welfare_env.checks import shown
from welfare_env.options import takes_options

Result = SelfPlayResult | ExploitabilityResult


FIXED = ("rules", "map_name", "seats")
"""Options that an experiment's file sets."""


@dataclass(frozen=True)
class ConditionResult:
    """A condition and its result."""

    condition: Condition
    result: Result

    @property
    def measures(self) -> dict[str, Estimate]:
        """Measure -> its estimate."""
        if isinstance(self.result, ExploitabilityResult):
            estimates = {"exploitability": self.result.value, "exploitability_corrected": self.result.corrected}
            return estimates | {name: getattr(self.result.collusion, name) for name in collusion.MEASURES}
        return {name: getattr(self.result, name) for name in MEASURES["self-play"]}

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types: the condition, every measure, and the whole result."""
        condition = self.condition
        told: dict[str, Any] = {
            "profile": condition.profile,
            "played": condition.played,
            "coalitions": condition.coalitions,
            "swept": {name: _plain(value) for name, value in condition.swept.items()},
            "measures": {name: estimate.to_dict() for name, estimate in self.measures.items()},
        }
        alone = self.result if isinstance(self.result, SelfPlayResult) else None
        curves = alone or self.result.collusion  # type: ignore[union-attr]
        told["by_year"] = {
            name: {str(year): estimate.to_dict() for year, estimate in getattr(curves, name).items()}
            for name in BY_YEAR["self-play" if alone else "exploitability"]
        }
        return told | {"result": self.result.to_dict()}


@dataclass(frozen=True)
class ExperimentResult:
    """The results of all conditions of an experiment.

    Attributes:
        seed: of the evaluation; the games have the same seeds in every condition.
        conditions: in the order of the file; swept values are the outer loop, profiles the inner one.
    """

    experiment: Experiment
    seed: int
    conditions: tuple[ConditionResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types: the input of the report and the figures."""
        experiment = self.experiment
        return {
            "experiment": experiment.name,
            "title": experiment.title,
            "question": experiment.question,
            "measure": experiment.measure,
            "games": experiment.games,
            "seed": self.seed,
            "swept": {name: [_plain(value) for value in values] for name, values in experiment.sweep.items()},
            "figures": [asdict(figure) | {"y": list(figure.y)} for figure in experiment.figures],
            "conditions": [each.to_dict() for each in self.conditions],
        }


@takes_options(Setting, refused=FIXED)
def experiment(
    source: str | Path | Experiment,
    *,
    profiles: Sequence[str] = (),
    games: int | None = None,
    **options: Unpack[Options],
) -> ExperimentResult:
    """Play and measure every condition of an experiment.

    Args:
        source: the name of a shipped experiment, the path of a TOML file (`evaluation.experiments.files`), or an
            `Experiment`.
        profiles: replace those of the file.
        games: per condition; replaces the file's.
        options: as for `self_play`, except rules, map_name and seats, which the experiment sets.

    Raises:
        ExperimentError: no such experiment, or errors in the file.
        UnknownAgentError, ProfileError, UnknownMapError, LMError: as `self_play`; raised before the first game, since
            the policies of all conditions are made first.
    """
    if fixed := sorted(options.keys() & set(FIXED)):
        raise EvaluationError(f"{', '.join(fixed)}: the experiment's file sets them; change them there")
    if isinstance(profiles, str) or not all(isinstance(profile, str) for profile in profiles):
        raise ExperimentError(f"profiles={shown(profiles)}: give a list of texts, such as ['dove', '4*dove + 3*hold']")
    chosen = source if isinstance(source, Experiment) else load_experiment(source)
    chosen = chosen.with_profiles(tuple(profiles))
    if games is not None:
        check_games(games)
        chosen = Experiment(**{**vars(chosen), "games": games})
    setting = Setting(**options)
    conditions = chosen.conditions
    _check_all(chosen, conditions, setting)
    with nullcontext(setting.workers) if isinstance(setting.workers, Workers) else Workers(setting.workers) as workers:
        shared: Options = {**options, "workers": workers}
        results = tuple(ConditionResult(each, _measured(chosen, each, shared)) for each in conditions)
    return ExperimentResult(chosen, setting.seed, results)


def count_games(chosen: Experiment) -> int:
    """How many games an experiment plays.

    Raises:
        UnknownMapError, EvaluationError: as `experiment`.
    """
    if chosen.measure == "self-play":
        return chosen.games * len(chosen.conditions)
    return chosen.games * sum(1 + _attacks(chosen, each) for each in chosen.conditions)


def _attacks(chosen: Experiment, condition: Condition) -> int:
    """Number of pairs of a deviator and a coalition."""
    setting = Setting(map_name=condition.map_name, rules=condition.rules)
    profile = read_profile(condition.played)
    deviators = read_deviators(_deviators(chosen), profile, condition.played, setting)
    return len(deviators) * len(resolve_coalitions(setting.board, condition.coalitions))


def _deviators(chosen: Experiment) -> list[str] | None:
    return list(chosen.deviators) or None


def _check_all(chosen: Experiment, conditions: Sequence[Condition], setting: Setting) -> None:
    """Make every policy and seat every profile of all conditions, so that errors come before the first game."""
    policies = [read(deviator) for deviator in chosen.deviators if deviator != PORTFOLIO]
    for each in conditions:
        own = Setting(seed=setting.seed, rules=each.rules, map_name=each.map_name, seats=each.seats)
        profile = read_profile(each.played)
        own.games(profile, 1)
        if each.coalitions:
            resolve_coalitions(own.board, each.coalitions)
        policies += profile.policies
    make_all(dict.fromkeys(policies), setting.shared_models)


def _measured(chosen: Experiment, condition: Condition, options: Options) -> Result:
    common: dict[str, Any] = {
        **options,
        "rules": condition.rules,
        "map_name": condition.map_name,
        "seats": condition.seats,
    }
    if chosen.measure == "self-play":
        return self_play(condition.played, chosen.games, **common)
    deviators = _deviators(chosen)
    return exploitability(condition.played, chosen.games, deviator=deviators, coalitions=condition.coalitions, **common)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
