"""Reads experiments from TOML files. All errors of a file are reported at once.

A file sets the fields of `evaluation.experiment_files.plan.Experiment`; only title and profiles are required:

    title = "Message rounds"
    measure = "self-play"      # or a list of: self-play, exploitability, red-team, cross-play, exact
    profiles = ["dove", "4*dove + 3*random"]
    games = 5

    [rules]                    # fields of welfare_env.Rules, for all games; "none" stands for None
    years = 3

    [sweep]                    # a condition for each combination of values, and each profile
    message_rounds = [0, 1, 3]

    [[figures]]
    kind = "lines"             # points, lines, years or scatter
    x = "message_rounds"
    y = ["root_nash_welfare", "conflicts"]  # one panel each
    published = "message_rounds"            # the authors' data (evaluation.experiments.published)

docs/experiments.md explains all keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agents.runtime.files import read_file, reason
from agents.specs import SEATINGS, read_profile
from agents.specs.profiles import is_profile
from evaluation.checks import EvaluationError
from evaluation.experiment_files.plan import (
    BY_YEAR,
    IN_WELFARE,
    MEASURES,
    RULES,
    WITH_COALITIONS,
    Experiment,
    Figure,
)
from evaluation.experiment_files.templates import PROFILE, stray_braces, words_of
from evaluation.experiments.cross_play import check_balanced
from evaluation.experiments.published import TABLES
from evaluation.play.setting import Setting
from welfare_env import Rules, WelfareEnvError
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

SHIPPED = Path(__file__).parent / "shipped"
MAX_BYTES = 1_000_000
MAX_CONDITIONS = 10_000
MAX_FAULTS = 20  # in the error message
ONLY_FOR = {
    "coalitions": WITH_COALITIONS,
    "budget": ("red-team",),
    **dict.fromkeys(("deviators", "coordinated", "selection_games"), ("exploitability",)),
}
"""Key -> the measures that use it."""


class ExperimentError(EvaluationError):
    """An invalid experiment file. The message lists all errors, each with its key and the allowed values."""


def shipped_experiments() -> tuple[str, ...]:
    """The names of the package's experiments."""
    return tuple(sorted(file.stem for file in SHIPPED.glob("*.toml")))


def load_experiment(source: str | Path) -> Experiment:
    """Read an experiment from a file, or a shipped experiment by name.

    Raises:
        ExperimentError: no such file or name, invalid TOML, or invalid contents (all errors at once).
    """
    if not isinstance(source, str | Path):
        raise ExperimentError(f"experiment {quoted(source)}: give a name or the path of a .toml file")
    names = shipped_experiments()
    path = SHIPPED / f"{source}.toml" if str(source) in names else Path(source)
    try:
        text = read_file(path, MAX_BYTES).decode()
    except (OSError, ValueError) as error:
        near = did_you_mean(str(source), names)
        why = f"no such name or file{near}" if isinstance(error, FileNotFoundError) else reason(error)
        known = f"shipped are {', '.join(names)}"
        raise ExperimentError(f"experiment {str(source)!r:.200}: {why}; {known}") from error
    return read_experiment(text, path.stem)


def read_experiment(text: str, name: str = "experiment") -> Experiment:
    """Read an experiment from TOML text.

    Raises:
        ExperimentError: invalid TOML, or invalid contents (all errors at once).
    """
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for numbers with thousands of digits
        raise ExperimentError(f"experiment {name}: not valid TOML: {error}") from error
    faults: list[str] = []
    try:
        experiment = TypeAdapter(Experiment).validate_python(given | {"name": name})
        faults = list(FileCheck(experiment, given).faults)
    except ValidationError as error:
        faults = [_fault(each) for each in error.errors() if each["type"] != "too_short" or not _has_parts(each, error)]
    if faults:
        count = f"{len(faults)} fault{'s' * (len(faults) > 1)}"
        shown = [*faults[:MAX_FAULTS], *([f"and {len(faults) - MAX_FAULTS:,} more"] if faults[MAX_FAULTS:] else [])]
        raise ExperimentError(f"experiment {name}: {count}" + "".join(f"\n  {fault}" for fault in shown))
    return experiment


def _has_parts(error: Any, whole: ValidationError) -> bool:
    """Whether a list is too short only because its elements are wrong, which are errors of their own."""
    return any(each["loc"][:-1] == error["loc"] for each in whole.errors())


def _fault(error: Any) -> str:
    """An error of pydantic's in a line: "games=0: input should be greater than or equal to 1"."""
    *above, key = error["loc"]
    place = ".".join(str(each) for each in error["loc"] if each != "[key]")
    if error["type"] == "unexpected_keyword_argument":
        known = [each.name for each in fields(Figure if above else Experiment) if each.name != "name"]
        return f"{place:.80}: unknown key{did_you_mean(str(key), known)}: choose one of {', '.join(known)}"
    if error["type"] == "missing":
        return f"{place} is missing"
    if error["type"] == "value_error":
        return f"{place:.80}={quoted(error['input'])}{error['ctx']['error']}"
    why = error["msg"].replace("tuple", "list").replace("Tuple", "List")
    return f"{place:.80}={quoted(error['input'])}: {why[0].lower()}{why[1:]}"


class FileCheck:
    """The checks of several keys together.

    Attributes:
        faults: the errors; the experiment is valid only if there are none.
    """

    def __init__(self, experiment: Experiment, given: dict[str, Any]) -> None:
        self.given, self.faults = given, list[str]()
        self._check(experiment)
        for figure in experiment.figures:
            self._check_figure(figure, experiment)

    def _fault(self, condition: bool, message: str) -> bool:
        """Note a fault if the condition is true."""
        if condition:
            self.faults.append(message)
        return condition

    def _chosen(self, what: str, value: object, choices: tuple[str, ...] | list[str]) -> None:
        """Note a fault if a value is not one of these."""
        near = did_you_mean(value, choices)
        self._fault(value not in choices, f"{what}={quoted(value)}{near}: choose one of {', '.join(choices)}")

    def _tried(self, key: str, what: Callable[..., object], *given: Any) -> bool:
        """Whether a call succeeds; otherwise its error is noted."""
        try:
            what(*given)
        except WelfareEnvError as error:
            return not self._fault(True, f"{key}: {error}")
        return True

    def _check(self, experiment: Experiment) -> None:
        """Check requirements of the measures, the sweep, the template and contradictory rules."""
        measured = experiment.measure
        self._fault(len({*measured}) < len(measured), "measure: give each only once")
        for key, measures in ONLY_FOR.items():
            unused = key in self.given and not {*measures} & {*measured}
            self._fault(unused, f"{key} is only for {' and '.join(measures)}, which this file does not measure")
        unsorted = experiment.leaderboard and "self-play" not in measured
        self._fault(unsorted, "leaderboard: sorted by welfare in self-play, which this file does not measure")
        for name in experiment.sweep:
            self._chosen("sweep", name, (*RULES, "map_name", "seats", *words_of(experiment.template)))
            self._fault(name in self.given, f"{name} is also in [sweep]: remove one of the two")
        for each in experiment.sweep.get("seats", ()):
            self._chosen("seats", each, SEATINGS)
        self._check_template(experiment)
        if not self.faults:
            self._check_conditions(experiment)

    def _check_figure(self, figure: Figure, experiment: Experiment) -> None:
        measures = tuple(name for measure in experiment.measure for name in MEASURES[measure])
        by_year = tuple(name for measure in experiment.measure for name in BY_YEAR.get(measure, ()))
        for panel in figure.y:
            self._chosen("figures: y", panel, by_year if figure.kind == "years" else measures)
        places = measures if figure.kind == "scatter" else ("profile", "coalitions", *experiment.sweep)
        self._chosen("figures: x", figure.x, places)
        numbers = [*experiment.sweep.get(figure.x, ("",)), *map(_number, TABLES.get(figure.published, {}))]
        are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in numbers)
        without = figure.kind == "lines" and not are_numbers
        self._fault(without, f"figures: x={quoted(figure.x)}: lines need numbers; use points")

    def _check_template(self, experiment: Experiment) -> None:
        for stray in stray_braces(experiment.template):
            self.faults.append(f"template: {stray!r:.80} is not a placeholder: write {{profile}} or {{word}}")
        for word in sorted({*words_of(experiment.template)} - experiment.sweep.keys()):
            near = did_you_mean(word, (PROFILE, *experiment.sweep))
            self.faults.append(f"template: {word!r} is not swept{near}: add it to [sweep]")
        missing = f"{{{PROFILE}}}" not in experiment.template
        self._fault(missing, "template: add {profile}; without it, all profiles are the same")

    def _check_conditions(self, experiment: Experiment) -> None:
        count = len(experiment.profiles) * len(experiment.coalitions)
        for values in experiment.sweep.values():
            count *= len(values)
        if self._fault(count > MAX_CONDITIONS, f"{count:,} conditions: the maximum is {MAX_CONDITIONS:,}"):
            return
        if not self._tried("rules", lambda: experiment.conditions):
            return
        conditions = experiment.conditions
        for played, map_name in dict.fromkeys((each.played, each.map_name) for each in conditions):
            self._tried("profiles", _seat, played, map_name)
        for measure in (each for each in IN_WELFARE if each in experiment.measure):
            is_welfare = all(condition.rules.is_welfare for condition in conditions)
            self._fault(not is_welfare, f"{measure} is measured in welfare points: use variant = 'welfare'")
        if "cross-play" in experiment.measure:
            single = len(experiment.profiles) > 1 and not any(map(is_profile, experiment.profiles))
            self._fault(not single, "profiles: for cross-play, give two or more profiles of one policy each")
            for map_name, seats in dict.fromkeys((each.map_name, each.seats) for each in conditions):
                self._tried("games", check_balanced, Setting(map_name=map_name, seats=seats), experiment.games)
        exact = all(_is_exact(condition.rules) for condition in conditions)
        wanted = 'exact gains need the paper\'s rules without messages: in [rules], set only press = "none" and years'
        self._fault("exact" in experiment.measure and not exact, wanted)


def _number(text: str) -> object:
    return int(text) if text.isdecimal() else text


def _seat(played: str, map_name: str) -> None:
    """Read a profile and seat it; errors as `Setting` and `read_profile`."""
    read_profile(played).seats(Setting(map_name=map_name).board.powers)


def _is_exact(rules: Rules) -> bool:
    """Whether exact gains can be computed for these rules."""
    usual = Rules(years=rules.years, press=rules.press, message_rounds=rules.message_rounds)
    return not rules.has_press and rules == usual
