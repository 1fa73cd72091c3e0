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
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from agents.runtime.files import read_file, reason
from agents.specs import SEATINGS, read_profile
from agents.specs.profiles import is_profile
from evaluation.checks import MAX_GAMES, MAX_SEED, EvaluationError
from evaluation.experiment_files.plan import (
    BY_YEAR,
    IN_WELFARE,
    MEASURES,
    RULES,
    WITH_COALITIONS,
    Experiment,
    Figure,
    plain,
)
from evaluation.experiment_files.templates import PROFILE, stray_braces, words_of
from evaluation.experiments.deviators import PORTFOLIO, filled
from evaluation.experiments.mixes import check_balanced
from evaluation.experiments.published import TABLES
from evaluation.experiments.red_team import BUDGETS
from evaluation.experiments.stopping import first_games
from evaluation.measures.coalitions import COALITIONS
from evaluation.play.setting import Setting
from welfare_env import Rules, WelfareEnvError
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

SHIPPED = Path(__file__).parent / "shipped"
MAX_BYTES = 1_000_000
MAX_CONDITIONS = 10_000
MAX_FAULTS = 20  # in the error message
MAX_PANELS = 12  # per figure
SETS = (*COALITIONS, "all-singles", "all-pairs")
ONLY_FOR = {
    "coalitions": WITH_COALITIONS,
    "budget": ("red-team",),
    **dict.fromkeys(("deviators", "coordinated", "precision", "max_games", "selection_games"), ("exploitability",)),
}
"""Key -> the measures that use it."""
WHOLE = {"games": (1, MAX_GAMES), "seed": (0, MAX_SEED), "max_games": (1, MAX_GAMES), "selection_games": (1, MAX_GAMES)}
LISTS = ("measure", "profiles", "coalitions", "deviators")
FLAGS = ("paper_code", "simultaneous", "coordinated", "leaderboard")
CHOICES = {"seats": SEATINGS, "budget": tuple(BUDGETS)}


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
    reader = FileReader(given)
    experiment = reader.read(name)
    if faults := reader.faults:
        count = f"{len(faults)} fault{'s' * (len(faults) > 1)}"
        shown = [*faults[:MAX_FAULTS], *([f"and {len(faults) - MAX_FAULTS:,} more"] if faults[MAX_FAULTS:] else [])]
        raise ExperimentError(f"experiment {name}: {count}" + "".join(f"\n  {fault}" for fault in shown))
    return experiment


class FileReader:
    """Reads the contents of one file, and collects its errors.

    Attributes:
        faults: the errors; the experiment is valid only if there are none.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given, self.faults = given, list[str]()

    def read(self, name: str) -> Experiment:
        """The experiment."""
        known = [each.name for each in fields(Experiment) if each.name != "name"]
        values: dict[str, Any] = {"name": name, "title": "", "profiles": ()}
        read = {key: self._value(key) for key in self.given if self._chosen("key", key, known)}
        values |= {key: value for key, value in read.items() if value is not None}
        for key in ("title", "profiles"):
            if key not in self.given:
                self.faults.append(f"{key} is missing")
        experiment = Experiment(**values)
        figures = tuple(self._figure(each, experiment) for each in self._figures())
        self._check(experiment)
        return replace(experiment, figures=figures)

    def _fault(self, condition: bool, message: str) -> bool:
        """Note a fault if the condition is true."""
        if condition:
            self.faults.append(message)
        return condition

    def _chosen(self, what: str, value: object, choices: tuple[str, ...] | list[str]) -> bool:
        """Whether a value is one of these; otherwise a fault is noted."""
        is_known = isinstance(value, str) and value in choices
        near = "" if is_known or len(self.faults) > MAX_FAULTS else did_you_mean(value, choices)
        return not self._fault(not is_known, f"{what}={quoted(value)}{near}: choose one of {', '.join(choices)}")

    def _tried(self, key: str, what: Callable[..., object], *given: Any) -> bool:
        """Whether a call succeeds; otherwise its error is noted."""
        try:
            what(*given)
        except WelfareEnvError as error:
            return not self._fault(True, f"{key}: {error}")
        return True

    def _value(self, key: str) -> Any:
        """The value of a key, checked alone; None if it is wrong, or checked later."""
        value = self.given[key]
        if key in WHOLE:
            low, high = WHOLE[key]
            is_right = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
            wanted = f"a whole number from {low} to {high:,}"
        elif key in FLAGS:
            is_right, wanted = isinstance(value, bool), "true or false"
        elif key in LISTS:
            value = [value] if key == "measure" and isinstance(value, str) else value
            is_right = isinstance(value, list) and all(isinstance(each, str) for each in value)
            is_right, wanted = is_right and (bool(value) or key == "deviators"), 'a list of strings, such as ["dove"]'
            value = tuple(value) if is_right else value
            if key == "measure" and is_right:
                self._fault(len({*value}) < len(value), "measure: give each only once")
                return tuple(each for each in value if self._chosen("measure", each, tuple(MEASURES))) or None
        elif key in ("rules", "sweep"):
            is_right, wanted = isinstance(value, dict), f"a table [{key}]"
            return getattr(self, f"_{key}")(value) if not self._fault(not is_right, f"{key}: give {wanted}") else None
        elif key in CHOICES:
            return value if self._chosen(key, value, CHOICES[key]) else None
        elif key == "precision":
            return value  # checked with the number of games
        elif key == "figures":
            return None
        else:
            is_right, wanted = isinstance(value, str), "a string"
        return value if not self._fault(not is_right, f"{key}={quoted(value)}: give {wanted}") else None

    def _rules(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: plain(each) for name, each in given.items() if self._chosen("rule", name, RULES)}

    def _sweep(self, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        words = words_of(str(self.given.get("template", "")))
        chosen = {}
        for name, values in given.items():
            if not self._chosen("sweep", name, (*RULES, "map_name", "seats", *words)):
                continue
            is_list = isinstance(values, list) and len(values) > 0
            self._fault(name in self.given, f"{name} is also in [sweep]: remove one of the two")
            if not self._fault(not is_list, f"{name}={quoted(values)}: give a list of values"):
                chosen[name] = tuple(values)
        return chosen

    def _figures(self) -> list[Mapping[str, Any]]:
        given = self.given.get("figures", [])
        is_right = isinstance(given, list) and all(isinstance(each, dict) for each in given)
        return [] if self._fault(not is_right, "figures: give tables [[figures]]") else given

    def _figure(self, each: Mapping[str, Any], experiment: Experiment) -> Figure:
        measures = tuple(name for measure in experiment.measure for name in MEASURES[measure])
        by_year = tuple(name for measure in experiment.measure for name in BY_YEAR.get(measure, ()))
        for key in each:
            self._chosen("figure: key", key, [one.name for one in fields(Figure)])
        kind, y, x = each.get("kind", "points"), each.get("y"), each.get("x", "profile")
        panels = tuple(y) if isinstance(y, list) and 0 < len(y) <= MAX_PANELS else (y,)
        self._chosen("figure: kind", kind, ("points", "lines", "years", "scatter"))
        for panel in panels:
            self._chosen("figure: y", panel, by_year if kind == "years" else measures)
        self._chosen("figure: x", x, measures if kind == "scatter" else ("profile", "coalitions", *experiment.sweep))
        published = each.get("published", "")
        self._chosen("figure: published", published, ("", *TABLES))
        numbers = [*experiment.sweep.get(str(x), ("",)), *map(_number, TABLES.get(str(published), {}))]
        are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in numbers)
        self._fault(kind == "lines" and not are_numbers, f"figure: x={quoted(x)}: lines need numbers; use points")
        return Figure(str(kind), tuple(map(str, panels)), str(x), str(published), str(each.get("title", "")))

    # Checks of several keys together.

    def _check(self, experiment: Experiment) -> None:
        """Check policies, seats, requirements of the measures, and contradictory rules."""
        measured = experiment.measure
        for key, measures in ONLY_FOR.items():
            unused = key in self.given and not {*measures} & {*measured}
            self._fault(unused, f"{key} is only for {' and '.join(measures)}, which this file does not measure")
        unsorted = experiment.leaderboard and "self-play" not in measured
        self._fault(unsorted, "leaderboard: sorted by welfare in self-play, which this file does not measure")
        for each in experiment.coalitions:
            self._chosen("coalitions", each, SETS)
        for each in experiment.sweep.get("seats", ()):
            self._chosen("seats", each, SEATINGS)
        if experiment.precision is not None:
            self._tried("precision", first_games, experiment.games, experiment.precision, experiment.max_games)
        alone = experiment.precision is None and "max_games" in self.given
        self._fault(alone, "max_games is the maximum number of games with precision: add precision")
        self._check_template(experiment)
        for text in (each for each in experiment.deviators if each != PORTFOLIO):
            self._tried("deviators", read_profile, filled(text, "hold"))
        for text in experiment.profiles:
            self._tried("profiles", read_profile, text)
        if not self.faults:
            self._check_conditions(experiment)

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
