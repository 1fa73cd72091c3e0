"""Samples to compare: the games of one condition, from results and from experiments' files."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agents.runtime.files import parse_json, read_file, reason
from evaluation.checks import EvaluationError
from evaluation.experiment_files.experiment import ConditionResult, ExperimentResult
from evaluation.experiment_files.measuring import GAINS
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult
from evaluation.experiments.self_play import BY_POLICY, BY_POWER, BY_YEAR, MEASURES, SelfPlayResult
from evaluation.measures import costs
from evaluation.measures.intervals import Estimate, mean_estimate
from welfare_env import Rules

RESULTS = "results.json"
KEYS = dict.fromkeys(BY_POWER, "POWER") | dict.fromkeys(BY_POLICY, "POLICY") | dict.fromkeys(BY_YEAR, "YEAR")
FAMILIES = tuple(KEYS)  # measures with a value per power, policy or year: "welfare_per_year:FRANCE"


@dataclass(frozen=True)
class Sample:
    """The measures of one condition, for comparison.

    Attributes:
        name: the profile.
        place: the condition's coalitions and swept values in its experiment.
        facts: the settings, including `place`; settings that differ between samples are added to the name.
        seed: seed of the evaluation.
        games: number of games.
        training_seeds: measure -> number of training seeds, for measures that are means over training seeds.
        singles, families: names of single measures, and of measures with a value for each power, policy or year.
        get: name -> the estimate of a single measure, or key -> estimate for a family.
        notes: caveats.
    """

    name: str
    place: Mapping[str, Any]
    facts: Mapping[str, Any]
    seed: int
    games: int
    singles: tuple[str, ...]
    families: tuple[str, ...]
    get: Callable[[str], Any]
    notes: tuple[str, ...] = ()
    training_seeds: Mapping[str, int] = field(default_factory=dict)

    def family(self, name: str) -> dict[str, Estimate]:
        """Power, policy or year -> estimate; {} if there is no such family."""
        return {str(key): each for key, each in self.get(name).items()} if name in self.families else {}

    def find(self, measure: str) -> Estimate | None:
        """The estimate of a measure; None if it is unknown."""
        if measure in self.singles:
            return self.get(measure)
        family, _, key = measure.partition(":")
        return self.family(family).get(key)

    def unit(self, measure: str) -> tuple[str, int]:
        """The unit of a measure's mean, "games" or "training seeds", and their number."""
        seeds = self.training_seeds.get(measure.partition(":")[0])
        return ("training seeds", seeds) if seeds else ("games", self.games)

    def has(self, measure: str) -> bool:
        """Whether a measure has a value in each of one or more games (or training seeds)."""
        found = self.find(measure)
        return found is not None and 0 < self.values_of(found) == self.unit(measure)[1] == len(found.per_game)

    @staticmethod
    def values_of(estimate: Estimate) -> int:
        """The number of games with a value."""
        return sum(map(math.isfinite, estimate.per_game))

    @property
    def key(self) -> str:
        """Identifies the same condition in other experiments."""
        return json.dumps([self.name, self.place], sort_keys=True)


def is_results(compared: object) -> bool:
    """Whether a text is the path of an experiment's results: "runs/self-play", "results.json"."""
    return isinstance(compared, str) and ":" not in compared and (compared.endswith(".json") or "/" in compared)


def is_played(compared: object) -> bool:
    kinds = (SelfPlayResult, ExploitabilityResult, RedTeamResult, ConditionResult, ExperimentResult, os.PathLike)
    return isinstance(compared, kinds) or is_results(compared)


def samples_of(compared: Any) -> list[Sample]:
    """The samples of a result, or of all conditions of an experiment.

    Raises:
        EvaluationError: a file is not an experiment's results.
    """
    match compared:
        case SelfPlayResult():
            return [of_self_play(compared)]
        case ExploitabilityResult():
            return [_of_condition(_as_condition(compared), {})]
        case RedTeamResult():
            return [_of_condition(_as_condition(compared.found), {})]
        case ConditionResult():
            return [_of_condition(compared.to_dict(), {})]
        case ExperimentResult():
            return of_study(compared.to_dict())
    return of_study(_read(Path(compared)), str(compared))


def of_self_play(result: SelfPlayResult) -> Sample:
    return Sample(
        name=result.policy,
        place={},
        facts=result.rules.to_dict() | {"map": result.map_name},
        seed=result.seed,
        games=len(result.measures),
        singles=MEASURES,
        families=FAMILIES,
        get=partial(getattr, result),
        notes=result.notes,
    )


def _as_condition(result: ExploitabilityResult) -> dict[str, Any]:
    plain = result.to_dict()
    measures = {"exploitability": plain["exploitability"]}
    measures |= {name: plain["costs"][name] for name in costs.MEASURES}
    return {"profile": result.profile, "swept": {}, "measures": measures, "result": plain}


def of_study(study: Mapping[str, Any], source: str = "") -> list[Sample]:
    """The conditions of an experiment; `source` is the path of its file, for errors and labels."""
    try:
        return [_of_condition(each, study, source) for each in study["conditions"]]
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        where = f"{source:.200}: " * bool(source)
        raise EvaluationError(
            f"{where}not an experiment's results: a part is missing or invalid: {error!r:.200}"
        ) from error


def _of_condition(condition: Mapping[str, Any], study: Mapping[str, Any], source: str = "") -> Sample:
    """A condition from results.json; with an empty study, seed and rules are from the condition's result."""
    results = [cell["result"] for cell in condition["cells"]] if "cells" in condition else [condition["result"]]
    first: Mapping[str, Any] = next(filter(None, results), {})
    place = {**condition["swept"], **({"coalitions": each} if (each := condition.get("coalitions")) else {})}
    facts = {**Rules().to_dict(), **study.get("rules", {}), **first.get("rules", {})}
    facts |= {"map": condition.get("map", first.get("map", "standard")), **place}
    facts |= {"deviators": first["deviators"]} if "deviators" in first else {}
    common = {**first, **study}
    seed = int(common["seed"])
    measures = {name: _estimate(each, seed if name in GAINS else None) for name, each in condition["measures"].items()}
    families = _families(results)
    return Sample(
        name=str(condition["profile"]),
        place=place,
        facts=facts | ({"from": source} if source else {}),
        seed=seed,
        games=int(common["games"]),
        singles=tuple(measures),
        families=tuple(families),
        get={**families, **measures}.__getitem__,
        notes=tuple(dict.fromkeys(str(note) for result in results for note in result.get("notes", ()))),
        training_seeds=_training_seeds(condition.get("cells", ()), tuple(families)),
    )


def _training_seeds(cells: Sequence[Mapping[str, Any]], families: Iterable[str]) -> dict[str, int]:
    """Measure -> number of training seeds, if several; `families` are measures of self-play."""
    counts = Counter(str(cell["measure"]) for cell in cells)
    several = [cell for cell in cells if counts[cell["measure"]] > 1]
    names = {str(cell["measure"]): [*cell["measures"]] for cell in several}
    if "self-play" in names:
        names["self-play"] += families
    return {name: counts[measure] for measure, listed in names.items() for name in listed}


def _families(results: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Estimate]]:
    """Measures per power, policy or year in the result of self-play; {} without one."""
    for result in results:
        own = result.get("self_play", result)
        if found := [name for name in FAMILIES if name in own]:
            return {name: {key: _estimate(each) for key, each in own[name].items()} for name in found}
    return {}


def _estimate(plain: Mapping[str, Any], gain: int | None = None) -> Estimate:
    """An estimate from its `to_dict`. Gains were floored at 0, so they are estimated again, with the seed `gain`."""
    per_game = tuple(map(_number, plain["per_game"]))
    if gain is not None:
        return mean_estimate(per_game, gain)
    value, low, high = (_number(plain[name]) for name in ("value", "low", "high"))
    return Estimate(value, low, high, int(plain["n"]), per_game)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        study = parse_json(read_file(path / RESULTS if path.is_dir() else path))
    except (OSError, ValueError) as error:
        raise EvaluationError(
            f"{str(path)!r:.200}: not an experiment's results: {reason(error)}; give the folder that "
            f"`welfare-env experiment` wrote, or its {RESULTS}"
        ) from error
    return study if isinstance(study, Mapping) else {}
