"""Parses an experiment's file: checks every key, and collects all errors with their lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from agents.specs import SEATINGS, read_profile
from agents.specs.profiles import is_profile
from evaluation.checks import MAX_GAMES, MAX_SEED
from evaluation.experiment_files.plan import (
    BY_YEAR,
    IN_WELFARE,
    MEASURES,
    RULES,
    WITH_COALITIONS,
    Condition,
    Experiment,
    Figure,
    plain,
)
from evaluation.experiment_files.templates import PROFILE, stray_braces, words_of
from evaluation.experiment_files.trainings import LONGEST_NAME, Training, names_in, readable, training_step
from evaluation.experiments.deviators import PORTFOLIO, filled
from evaluation.experiments.mixes import check_balanced
from evaluation.experiments.published import TABLES
from evaluation.experiments.red_team import BUDGETS
from evaluation.experiments.stopping import first_games
from evaluation.measures.coalitions import COALITIONS
from evaluation.play.game_settings import GameSettings
from welfare_env import Rules, WelfareEnvError, load_board
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

MAX_CONDITIONS = 10_000
MAX_FAULTS = 20  # in the error message
MAX_PANELS = 12  # per figure
MAX_TRAININGS = 100
BASIS = ("variant", "years", "press", "message_rounds")  # rules that other rules depend on
KINDS = ("points", "lines", "years", "scatter")
SETS = (*COALITIONS, "all-singles", "all-pairs")
ONLY_FOR = {
    "coalitions": WITH_COALITIONS,
    "budget": ("red-team",),
    **dict.fromkeys(("deviators", "coordinated", "precision", "max_games", "selection_games"), ("exploitability",)),
}
"""Key -> the measures that use it."""
NO_FILE = ("name", "train_seeds", "trained")  # fields of `Experiment` that are not keys of a file


class Lines:
    """The lines of a file, and the errors found in it."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.faults: list[str] = []
        self.unlisted = 0

    def fault(self, message: str, key: str, table: str = "", number: int = 0) -> None:
        """Record an error at a key of a table; `number` counts tables of the same name."""
        if len(self.faults) == MAX_FAULTS:  # finding the line is slow
            self.unlisted += 1
            return
        self.faults.append(f"line {self._line(key, table, number)}: {message}")

    def near(self, word: object, known: Iterable[object]) -> str:
        """`did_you_mean`, skipped for faults that will not be listed, since it is slow."""
        return did_you_mean(word, known) if len(self.faults) < MAX_FAULTS else ""

    def tried(self, key: str, what: Callable[..., object], *given: Any, table: str = "", **named: Any) -> bool:
        """Call a function and record any error at a key; return whether it succeeded."""
        try:
            what(*given, **named)
        except WelfareEnvError as error:
            self.fault(str(error), key, table)
            return False
        return True

    def _line(self, key: str, table: str, number: int) -> int:
        inside, seen, header = not table, -1, 1
        for place, line in enumerate(self.lines, 1):
            if match := re.match(r"\s*\[+\s*([\w.-]+)\s*\]+", line):
                if not table and match[1] == key:
                    return place
                seen += match[1] == table
                inside = match[1] == table and seen == number
                header = place if inside else header
            elif inside and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line):
                return place
        return header


class Keys(Lines):
    """Parses the keys of a file individually."""

    def __init__(self, text: str, given: Mapping[str, Any]) -> None:
        super().__init__(text)
        self.given = given

    def text(self, key: str, default: str | None) -> str:
        value = self.given.get(key, default)
        if not isinstance(value, str):
            self.fault(
                f"{key} is missing: give a string" if value is None else f"{key}={quoted(value)}: give a string", key
            )
            return default or ""
        return value

    def choice(self, key: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.text(key, default)
        if value not in choices:
            near = self.near(value, choices)
            self.fault(f"{key}={quoted(value)}{near}: choose one of {', '.join(choices)}", key)
            return default
        return value

    def texts(self, key: str, default: list[str] | None) -> tuple[str, ...]:
        value = self.given.get(key, default)
        if value is None:
            self.fault(f'{key} is missing: give a list of strings, such as ["dove"]', key)
            return ()
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if not is_list or (not value and default != []):
            self.fault(f'{key}={quoted(value)}: give a list of strings, such as ["dove"]', key)
            return tuple(default or ())
        return tuple(value)

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        value = self.given.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fault(f"{key}={quoted(value)}: give a whole number from {low} to {high:,}", key)
            return default
        return value

    def flag(self, key: str) -> bool:
        value = self.given.get(key, False)
        if not isinstance(value, bool):
            self.fault(f"{key}={quoted(value)}: give true or false", key)
            return False
        return value

    def table(self, key: str) -> dict[str, Any]:
        value = self.given.get(key, {})
        if not isinstance(value, dict):
            self.fault(f"{key}: give a table [{key}]", key)
            return {}
        return value

    def measures(self) -> tuple[str, ...]:
        value = self.given.get("measure", "self-play")
        listed = value if isinstance(value, list) else [value]
        if not listed or len({*map(str, listed)}) < len(listed):
            self.fault(f"measure={quoted(value)}: give one of {', '.join(MEASURES)}, or several, each once", "measure")
            return ("self-play",)
        for each in listed:
            if each == "both":
                advice = 'measure = ["self-play", "exploitability"], and leaderboard = true for its sorted table'
                self.fault(f"measure='both' is no longer supported: write {advice}", "measure")
            elif not isinstance(each, str) or each not in MEASURES:
                near = self.near(str(each), MEASURES)
                self.fault(f"measure={quoted(each)}{near}: choose one of {', '.join(MEASURES)}", "measure")
        return tuple(each for each in listed if isinstance(each, str) and each in MEASURES) or ("self-play",)


class ExperimentParser(Keys):
    """Parses one file and collects its errors."""

    def read(self, name: str) -> Experiment:
        """The experiment; valid only if `faults` is empty."""
        known = {each.name for each in fields(Experiment)} - {*NO_FILE}
        for key in self.given:
            if key not in known:
                near = self.near(key, known)
                self.fault(f"unknown key {key!r:.80}{near}: choose from {', '.join(sorted(known))}", key)
        experiment = Experiment(
            name=name,
            title=self.text("title", None),
            question=self.text("question", ""),
            measure=self.measures(),
            profiles=self.texts("profiles", None),
            template=self.text("template", f"{{{PROFILE}}}"),
            games=self.whole("games", 5, 1, MAX_GAMES),
            seed=self.whole("seed", 0, 0, MAX_SEED),
            map_name=self.text("map_name", "standard"),
            seats=self.choice("seats", "rotated", SEATINGS),
            coalitions=self.texts("coalitions", ["singles"]),
            deviators=self.texts("deviators", []),
            budget=self.choice("budget", "usual", tuple(BUDGETS)),
            max_games=self.whole("max_games", 200, 1, MAX_GAMES),
            selection_games=self.whole("selection_games", 1, 1, MAX_GAMES) if "selection_games" in self.given else None,
            rules=self._rules(),
            sweep=self._sweep(),
            train=self._trainings(),
            train_seeds=self._train_seeds(),
            paper_code=self.flag("paper_code"),
            simultaneous=self.flag("simultaneous"),
            coordinated=self.flag("coordinated"),
            leaderboard=self.flag("leaderboard"),
        )
        experiment = replace(
            experiment, precision=self._precision(experiment), figures=tuple(self._figures(experiment))
        )
        self._check(experiment)
        return experiment

    def _precision(self, experiment: Experiment) -> float | None:
        value = self.given.get("precision")
        if value is not None:
            self.tried("precision", first_games, experiment.games, value, experiment.max_games)
        elif "max_games" in self.given:
            self.fault("max_games is the maximum number of games with precision: add precision", "max_games")
        return value

    # Rules and swept values.

    def _rules(self) -> dict[str, Any]:
        chosen = {}
        for name, each in self.table("rules").items():
            if name not in RULES:
                near = self.near(name, RULES)
                self.fault(f"unknown rule {name!r:.80}{near}: choose from {', '.join(RULES)}", name, "rules")
                continue
            chosen[name] = plain(each)
        for name, value in chosen.items():
            basis = {other: chosen[other] for other in BASIS if other in chosen}
            self.tried(name, Rules, table="rules", **{**basis, name: value})
        return chosen

    def _sweep(self) -> dict[str, tuple[Any, ...]]:
        words = words_of(str(self.given.get("template", "")))
        known = (*RULES, "map_name", "seats", *sorted(words))
        chosen = {}
        for name, values in self.table("sweep").items():
            if name not in known:
                near = self.near(name, known)
                self.fault(f"cannot sweep {name!r:.80}{near}: choose from {', '.join(known)}", name, "sweep")
            elif not isinstance(values, list) or not values:
                self.fault(f"{name}={quoted(values)}: give a list of values", name, "sweep")
            else:
                chosen[name] = tuple(values)
                self._try_values(name, values)
                if name in self.given:
                    self.fault(f"{name} is also in [sweep]: remove one of the two", name)
        for word in sorted({*words} - chosen.keys()):
            near = self.near(word, (PROFILE, *chosen))
            self.fault(f"template: {word!r} is not swept{near}: add it to [sweep]", "template")
        return chosen

    def _try_values(self, name: str, values: list[Any]) -> None:
        """Record swept values that are invalid in every combination."""
        swept = self.given["sweep"]
        given = self.given.get("rules", {})
        fixed = {key: plain(each) for key, each in given.items() if key in BASIS} if isinstance(given, dict) else {}
        variants = swept.get("variant") if name != "variant" and isinstance(swept.get("variant"), list) else [None]
        for each in values if name in RULES and not (name == "progressive" and "years" in swept) else ():
            errors = []
            for variant in variants:
                rules = {**fixed, **({} if variant is None else {"variant": variant}), name: plain(each)}
                try:
                    Rules(**rules)
                except WelfareEnvError as error:
                    errors.append(str(error))
            if len(errors) == len(variants):
                self.fault(errors[0], name, "sweep")

    # Trainings.

    def _train_seeds(self) -> tuple[int, ...]:
        if "train" not in self.given:
            return ()
        seeds = self.table("train").get("seeds", [0, 1, 2])
        is_whole = isinstance(seeds, list) and all(
            isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds
        )
        if not is_whole or not seeds or len({*seeds}) < len(seeds) or not all(0 <= seed < 2**32 for seed in seeds):
            self.fault(f"seeds={quoted(seeds)}: give a list of different whole numbers from 0", "seeds", "train")
            return (0,)
        return tuple(seeds)

    def _trainings(self) -> dict[str, Training]:
        tables = {name: value for name, value in self.table("train").items() if name != "seeds"}
        if "train" in self.given and not 1 <= len(tables) <= MAX_TRAININGS:
            self.fault(f"train: give 1 to {MAX_TRAININGS} tables [train.NAME], one for each policy", "train")
            return {}
        trainings = {}
        for name, given in tables.items():
            if not isinstance(given, dict) or not re.fullmatch(r"[\w-]+", name) or len(name) > LONGEST_NAME:
                advice = "a table [train.NAME], with a short name of letters, digits, - and _"
                self.fault(f"train.{name:.80}: give {advice}", name, "train")
            elif self.tried("train", training_step):
                trainings[name] = Training(name, given)
                self._try_training(name, given)
        return trainings

    def _try_training(self, name: str, given: Mapping[str, Any]) -> None:
        try:
            training_step().check(given)
        except WelfareEnvError as error:
            key = next((each for each in given if each in str(error)), "")
            self.fault(str(error), key, f"train.{name}")

    def _check_trained(self, experiment: Experiment) -> None:
        """Check that every trained policy has a training, and that every trained policy is used."""
        used = set()
        for key, texts in (("profiles", experiment.profiles), ("deviators", experiment.deviators)):
            for name in (name for text in texts for name in names_in(text)):
                used.add(name)
                if name not in experiment.train:
                    near = self.near(name, experiment.train)
                    known = ", ".join(experiment.train) or "none"
                    self.fault(
                        f"trained:{name:.80}{near}: add a table [train.{name:.80}]; the file trains: {known}", key
                    )
        in_template = names_in(" ".join([experiment.template, *map(str, experiment.sweep.values())]))
        for name in experiment.train.keys() - used - {*in_template}:
            self.fault(f"trained:{name} is not used: add it to profiles, or remove its table", f"train.{name}")

    # Figures.

    def _figures(self, experiment: Experiment) -> Iterator[Figure]:
        given = self.given.get("figures", [])
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            self.fault("figures: give tables [[figures]]", "figures")
            return
        for number, each in enumerate(given):
            yield self._figure(each, number, experiment)

    def _figure(self, each: Mapping[str, Any], number: int, experiment: Experiment) -> Figure:
        measures = tuple(name for measure in experiment.measure for name in MEASURES[measure])
        by_year = tuple(name for measure in experiment.measure for name in BY_YEAR.get(measure, ()))

        def choose(key: str, value: object, choices: tuple[str, ...]) -> None:
            if value not in choices:
                near = self.near(str(value), choices)
                message = f"{key}={quoted(value)}{near}: choose one of {', '.join(choices)}"
                self.fault(message, key, "figures", number)

        for key in each:
            choose(key, key, tuple(one.name for one in fields(Figure)))
        kind, y, x = each.get("kind", "points"), each.get("y"), each.get("x", "profile")
        panels = tuple(y) if isinstance(y, list) and 0 < len(y) <= MAX_PANELS else (y,)
        choose("kind", kind, KINDS)
        for panel in panels:
            choose("y", panel, by_year if kind == "years" else measures)
        choose("x", x, measures if kind == "scatter" else ("profile", "coalitions", *experiment.sweep))
        if kind == "lines" and not all(_is_number(value) for value in experiment.sweep.get(str(x), ("",))):
            self.fault(f"x={quoted(x)}: lines need a swept name with numbers; use points", "x", "figures", number)
        published = each.get("published", "")
        choose("published", published, ("", *TABLES))
        if kind == "lines" and not all(name.isdecimal() for name in TABLES.get(str(published), {})):
            fault = f"published={published!r}: its x values are not numbers; use points"
            self.fault(fault, "published", "figures", number)
        return Figure(str(kind), tuple(map(str, panels)), str(x), str(published), str(each.get("title", "")))

    # Checks of several keys together.

    def _check(self, experiment: Experiment) -> None:
        """Check policies, seats, requirements of the measures, and contradictory rules."""
        for key, measures in ONLY_FOR.items():
            if key in self.given and not {*measures} & {*experiment.measure}:
                self.fault(f"{key} is only for {' and '.join(measures)}, which this file does not measure", key)
        if experiment.leaderboard and "self-play" not in experiment.measure:
            self.fault("leaderboard: sorted by welfare in self-play, which this file does not measure", "leaderboard")
        for each in experiment.coalitions:
            if each not in SETS:
                self.fault(f"coalitions {quoted(each)}: choose from {', '.join(SETS)}", "coalitions")
        for seats in experiment.sweep.get("seats", ()):
            if seats not in SEATINGS:
                self.fault(f"seats={quoted(seats)}: choose from {', '.join(SEATINGS)}", "seats", "sweep")
        self._check_template(experiment)
        self._check_trained(experiment)
        if self.tried("map_name", load_board, experiment.map_name):
            for profile in experiment.profiles:
                self.tried("profiles", self._check_profile, profile, experiment)
        for text in (each for each in experiment.deviators if each != PORTFOLIO):
            self.tried("deviators", read_profile, readable(filled(text, "hold")))
        if not self.faults:
            self._check_conditions(experiment)

    def _check_template(self, experiment: Experiment) -> None:
        for stray in stray_braces(experiment.template):
            self.fault(f"template: {stray!r:.80} is not a placeholder: write {{profile}} or {{word}}", "template")
        if f"{{{PROFILE}}}" not in experiment.template:
            self.fault("template: add {profile}; without it, all profiles are the same", "template")

    def _check_profile(self, text: str, experiment: Experiment) -> None:
        """Read a profile, and seat it if all conditions have the same map.

        Raises:
            WelfareEnvError: the profile cannot be parsed, or has too many or too few seats.
        """
        profile = read_profile(readable(text))
        if experiment.template == f"{{{PROFILE}}}" and "map_name" not in experiment.sweep:
            profile.seats(load_board(experiment.map_name).powers)

    def _check_conditions(self, experiment: Experiment) -> None:
        count = len(experiment.profiles) * len(experiment.coalitions)
        for values in experiment.sweep.values():
            count *= len(values)
        if count > MAX_CONDITIONS:
            self.fault(f"{count:,} conditions: the maximum is {MAX_CONDITIONS:,}", "sweep")
            return
        if not self.tried("sweep", lambda: experiment.conditions):
            return
        conditions = experiment.conditions
        for played in dict.fromkeys(readable(condition.played) for condition in conditions):
            if "template" in self.given:  # the policies filled in from the template are not in the file
                self.tried("template", _made, played)
            else:
                self.tried("profiles", read_profile, played)
        for measure in (each for each in IN_WELFARE if each in experiment.measure):
            if not all(condition.rules.is_welfare for condition in conditions):
                self.fault(f"{measure} is measured in welfare points: use variant = 'welfare'", "measure")
        if "cross-play" in experiment.measure:
            self._check_cross_play(experiment, conditions)
        if "exact" in experiment.measure and not all(_is_exact(condition.rules) for condition in conditions):
            fault = (
                'exact gains need the paper\'s rules without messages: in [rules], set only press = "none" and years'
            )
            self.fault(fault, "measure")

    def _check_cross_play(self, experiment: Experiment, conditions: tuple[Condition, ...]) -> None:
        if len(experiment.profiles) < 2 or any(map(is_profile, experiment.profiles)):
            self.fault("profiles: for cross-play, give two or more profiles of one policy each", "profiles")
        for each in {(condition.map_name, condition.seats): condition for condition in conditions}.values():
            setting = GameSettings(map_name=each.map_name, seats=each.seats)
            self.tried("games", check_balanced, setting, experiment.games)


def _is_exact(rules: Rules) -> bool:
    """Whether exact gains can be computed for these rules."""
    usual = Rules(years=rules.years, press=rules.press, message_rounds=rules.message_rounds)
    return not rules.has_press and rules == usual


def _made(played: str) -> None:
    """Make the policies of a profile to check their options, except policies with files or language models.

    Raises:
        WelfareEnvError: the profile cannot be parsed, or an option is invalid.
    """
    for spec in read_profile(played).policies:
        if not (spec.models or spec.checkpoints or spec.sources):
            spec.make()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
