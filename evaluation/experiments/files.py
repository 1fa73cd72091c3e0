"""Experiments as TOML files: profiles, rules, swept values, measures and figures.

    title = "Message rounds"
    question = "Does talking more raise welfare?"
    measure = "self-play"                   # or "exploitability", or "both"
    profiles = ["dove", "4*dove + 3*random"]
    games = 5

    [rules]                                 # for all games: any field of welfare_env.Rules
    years = 10

    [sweep]                                 # a condition per combination and profile
    message_rounds = [0, 1, 3]              # a rule, map_name, seats, or a word of the template

    [[figures]]
    kind = "lines"                          # points, lines, years or scatter
    x = "message_rounds"
    y = "root_nash_welfare"
    published = "message_rounds"            # the authors' data (evaluation.experiments.published)

Also: ``template = "{profile},ablate={ablate}"`` makes the policy of a condition from its profile and swept words;
``published = true`` plays and counts as the program behind the paper's figures, standard games excepted;
``coalitions`` (a list of names of sets) and ``deviators`` are for exploitability; in a deviator ``{policy}`` stands for
the policy that it replaces.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from agents.files import read_file, reason
from agents.specs import SEATINGS, read_profile
from evaluation.checks import MOST_GAMES, EvaluationError
from evaluation.experiments.deviators import PORTFOLIO, filled
from evaluation.experiments.published import TABLES
from evaluation.measures import costs
from evaluation.measures.coalitions import COALITIONS
from welfare_env import Rules, WelfareEnvError, load_board
from welfare_env.checks import shown
from welfare_env.errors import did_you_mean

SHIPPED = Path(__file__).parent / "shipped"
MOST_CONDITIONS = 10_000
MOST_BYTES = 1_000_000
MOST_FAULTS = 20  # listed
MOST_PANELS = 12  # per figure
BASIS = ("variant", "years", "press", "message_rounds")  # rules on which others depend

MEASURES = {
    "self-play": (
        "root_nash_welfare",
        "root_nash_welfare_smoothed",
        "nash_welfare",
        "proficiency",
        "stolen_centers",
        "conflicts",
    ),
    "exploitability": ("exploitability", *costs.MEASURES),
    "both": (
        "root_nash_welfare",
        "exploitability",
        "proficiency",
        "kept_promises",
        "tokens_per_game",
        "dollars_per_game",
    ),
}
BY_YEAR = {
    "self-play": ("units_by_year", "centers_by_year", "welfare_by_year"),
    "exploitability": costs.BY_YEAR,
    "both": (),
}
KINDS = ("points", "lines", "years", "scatter")
RULES = tuple(each.name for each in fields(Rules))
WORD = r"\{(\w+)\}"


class ExperimentError(EvaluationError):
    """An invalid experiment file. The message lists all errors, each with its line and what is allowed there."""


@dataclass(frozen=True)
class Figure:
    """A figure of an experiment.

    Attributes:
        kind: "points" (a category on x), "lines" (numbers on x), "years" (curves over the game) or "scatter" (two
            measures against each other).
        y: the measures, one panel each.
        x: "profile", "coalitions", a swept name, or, for a scatter plot, a measure.
        published: the authors' data to draw beside ours; "" for none.
        title: of the figure.
    """

    kind: str
    y: tuple[str, ...]
    x: str = "profile"
    published: str = ""
    title: str = ""


@dataclass(frozen=True)
class Condition:
    """One point of an experiment.

    Attributes:
        profile: as given. played: after the template was applied.
        swept: the swept values.
        rules, map_name, seats: as for `evaluation.Setting`.
        coalitions: name of the set, for exploitability; else "".
    """

    profile: str
    played: str
    swept: Mapping[str, Any]
    rules: Rules
    map_name: str
    seats: str
    coalitions: str = ""


@dataclass(frozen=True)
class Experiment:
    """An experiment; the module's docstring explains the fields."""

    name: str
    title: str
    profiles: tuple[str, ...]
    question: str = ""
    measure: str = "self-play"
    template: str = "{profile}"
    games: int = 5
    coalitions: tuple[str, ...] = ("singles",)
    deviators: tuple[str, ...] = ()
    published: bool = False
    rules: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every profile with every combination of swept values.

        Raises:
            RulesError: values that contradict each other.
        """
        return tuple(self._conditions())

    def _conditions(self) -> Iterator[Condition]:
        sets = self.coalitions if self.measure != "self-play" else ("",)
        for values in product(*self.sweep.values()):
            swept = dict(zip(self.sweep, values, strict=True))
            chosen = {name: _plain(value) for name, value in swept.items() if name in RULES}
            rules = self._rules({**self.rules, **chosen})
            for profile, coalitions in product(self.profiles, sets):
                words = {name: str(value) for name, value in swept.items()} | {"profile": profile}
                played = re.sub(WORD, lambda match, words=words: words[match[1]], self.template)  # type: ignore[misc]
                map_name, seats = str(swept.get("map_name", "standard")), str(swept.get("seats", "rotated"))
                yield Condition(profile, played, swept, rules, map_name, seats, coalitions)

    def _rules(self, chosen: dict[str, Any]) -> Rules:
        is_published = self.published and chosen.get("variant", "welfare") == "welfare"
        return Rules.published(**chosen) if is_published else Rules(**chosen)

    def with_profiles(self, profiles: tuple[str, ...]) -> Experiment:
        """The same experiment with other profiles; unchanged if there are none."""
        return replace(self, profiles=profiles) if profiles else self


def shipped_experiments() -> tuple[str, ...]:
    """The names of the experiments that come with the package."""
    return tuple(sorted(file.stem for file in SHIPPED.glob("*.toml")))


def load_experiment(source: str | Path) -> Experiment:
    """Read the experiment of a file, or a shipped one by name.

    Raises:
        ExperimentError: no such file or name, invalid TOML, or errors in it, all at once.
    """
    if not isinstance(source, str | Path):
        raise ExperimentError(f"experiment {shown(source)}: give a name or the path of a .toml file")
    path = SHIPPED / f"{source}.toml" if str(source) in shipped_experiments() else Path(source)
    try:
        text = read_file(path, MOST_BYTES).decode()
    except (OSError, ValueError) as error:
        names = shipped_experiments()
        near = did_you_mean(str(source), names)
        known = f"shipped are {', '.join(names)}"
        why = f"no such name or file{near}" if isinstance(error, FileNotFoundError) else reason(error)
        raise ExperimentError(f"experiment {str(source)!r:.200}: {why}; {known}") from error
    return read_experiment(text, path.stem)


def read_experiment(text: str, name: str = "experiment") -> Experiment:
    """Read an experiment from TOML text.

    Raises:
        ExperimentError: invalid TOML, or errors in it, all at once.
    """
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for numbers with thousands of digits
        raise ExperimentError(f"experiment {name}: not valid TOML: {error}") from error
    reader = _Reader(text, given)
    experiment = reader.read(name)
    if reader.faults:
        listed = "".join(f"\n  {fault}" for fault in sorted(reader.faults, key=_line_of))
        listed += f"\n  and {reader.unlisted:,} more" if reader.unlisted else ""
        raise ExperimentError(
            f"experiment {name}: {len(reader.faults) + reader.unlisted} faults{listed}".replace(" 1 faults", " 1 fault")
        )
    return experiment


class _Reader:
    """Reads one file and collects its errors."""

    def __init__(self, text: str, given: Mapping[str, Any]) -> None:
        self.lines, self.given = text.splitlines(), given
        self.faults: list[str] = []
        self.unlisted = 0

    def fault(self, message: str, key: str, table: str = "", number: int = 0) -> None:
        """Record an error at a key of a table; `number` counts tables of the same name."""
        if len(self.faults) == MOST_FAULTS:  # finding a line takes time
            self.unlisted += 1
            return
        self.faults.append(f"line {self._line(key, table, number)}: {message}")

    def _near(self, word: object, known: Iterable[object]) -> str:
        """As `did_you_mean`, for faults that are listed: the search takes time."""
        return did_you_mean(word, known) if len(self.faults) < MOST_FAULTS else ""

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

    def read(self, name: str) -> Experiment:
        """The experiment; valid only if `faults` is empty."""
        known = {each.name for each in fields(Experiment)} - {"name"}
        for key in self.given:
            if key not in known:
                near = self._near(key, known)
                self.fault(f"no key {key!r:.80}{near}: known are {', '.join(sorted(known))}", key)
        measure = self._choice("measure", "self-play", tuple(MEASURES))
        experiment = Experiment(
            name=name,
            title=self._text("title", None),
            question=self._text("question", ""),
            measure=measure,
            profiles=self._texts("profiles", None),
            template=self._text("template", "{profile}"),
            games=self._games(),
            coalitions=self._texts("coalitions", ["singles"]),
            deviators=self._texts("deviators", []),
            published=self._flag("published"),
            rules=self._table("rules"),
            sweep=self._sweep(),
        )
        figures = tuple(self._figures(experiment))
        experiment = replace(experiment, figures=figures)
        self._check(experiment)
        return experiment

    def _text(self, key: str, default: str | None) -> str:
        value = self.given.get(key, default)
        if not isinstance(value, str):
            self.fault(f"{key} is missing: give a text" if value is None else f"{key}={shown(value)}: give a text", key)
            return default or ""
        return value

    def _choice(self, key: str, default: str, choices: tuple[str, ...]) -> str:
        value = self._text(key, default)
        if value not in choices:
            near = self._near(value, choices)
            self.fault(f"{key}={shown(value)}{near}: choose one of {', '.join(choices)}", key)
            return default
        return value

    def _texts(self, key: str, default: list[str] | None) -> tuple[str, ...]:
        value = self.given.get(key, default)
        if value is None:
            self.fault(f'{key} is missing: give a list of texts, such as ["dove"]', key)
            return ()
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if not is_list or (not value and default != []):
            self.fault(f'{key}={shown(value)}: give a list of texts, such as ["dove"]', key)
            return tuple(default or ())
        return tuple(value)

    def _games(self) -> int:
        value = self.given.get("games", 5)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_GAMES:
            self.fault(f"games={shown(value)}: give a whole number from 1 to {MOST_GAMES:,}", "games")
            return 1
        return value

    def _flag(self, key: str) -> bool:
        value = self.given.get(key, False)
        if not isinstance(value, bool):
            self.fault(f"{key}={shown(value)}: give true or false", key)
        return value is True

    def _table(self, key: str) -> dict[str, Any]:
        value = self.given.get(key, {})
        if not isinstance(value, dict):
            self.fault(f"{key}: give a table [{key}]", key)
            return {}
        chosen = {}
        for name, each in value.items():
            if name not in RULES:
                near = self._near(name, RULES)
                self.fault(f"no rule {name!r:.80}{near}: known are {', '.join(RULES)}", name, key)
                continue
            chosen[name] = _plain(each)
        for name, value in chosen.items():
            self._try_rules({**{other: chosen[other] for other in BASIS if other in chosen}, name: value}, name, key)
        return chosen

    def _try_rules(self, rules: Mapping[str, Any], name: str, table: str) -> None:
        """Record an error of a rule, given the rules that it depends on."""
        try:
            Rules(**rules)
        except WelfareEnvError as error:
            if name in str(error) or table == "rules":
                self.fault(str(error), name, table)

    def _sweep(self) -> dict[str, tuple[Any, ...]]:
        value = self.given.get("sweep", {})
        words = set(re.findall(WORD, str(self.given.get("template", "")))) - {"profile"}
        if not isinstance(value, dict):
            self.fault("sweep: give a table [sweep]", "sweep")
            return {}
        known = (*RULES, "map_name", "seats", *sorted(words))
        chosen = {}
        for name, values in value.items():
            if name not in known:
                near = self._near(name, known)
                self.fault(f"cannot sweep {name!r:.80}{near}: known are {', '.join(known)}", name, "sweep")
            elif not isinstance(values, list) or not values:
                self.fault(f"{name}={shown(values)}: give a list of values", name, "sweep")
            else:
                chosen[name] = tuple(values)
                self._try_values(name, values)
        for word in sorted(words - chosen.keys()):
            self.fault(f"template: {word!r} is not swept: add it to [sweep]", "template")
        return chosen

    def _try_values(self, name: str, values: list[Any]) -> None:
        """Record swept values that are invalid in every combination."""
        swept = self.given["sweep"]
        fixed = {key: _plain(each) for key, each in self._given_table("rules").items() if key in BASIS}
        variants = swept.get("variant") if name != "variant" and isinstance(swept.get("variant"), list) else [None]
        for each in values if name in RULES and not (name == "progressive" and "years" in swept) else ():
            errors = []
            for variant in variants:
                rules = {**fixed, **({} if variant is None else {"variant": variant}), name: _plain(each)}
                try:
                    Rules(**rules)
                except WelfareEnvError as error:
                    errors.append(str(error))
            if len(errors) == len(variants):
                self.fault(errors[0], name, "sweep")

    def _given_table(self, key: str) -> dict[str, Any]:
        value = self.given.get(key, {})
        return value if isinstance(value, dict) else {}

    def _figures(self, experiment: Experiment) -> Iterator[Figure]:
        given = self.given.get("figures", [])
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            self.fault("figures: give tables [[figures]]", "figures")
            return
        measures = MEASURES[experiment.measure]
        for number, each in enumerate(given):

            def choose(key: str, value: object, choices: tuple[str, ...], number: int = number) -> None:
                if value not in choices:
                    near = self._near(str(value), choices)
                    message = f"{key}={shown(value)}{near}: choose one of {', '.join(choices)}"
                    self.fault(message, key, "figures", number)

            for key in each:
                choose(key, key, tuple(one.name for one in fields(Figure)))
            kind, y, x = each.get("kind", "points"), each.get("y"), each.get("x", "profile")
            panels = tuple(y) if isinstance(y, list) and 0 < len(y) <= MOST_PANELS else (y,)
            choose("kind", kind, KINDS)
            for panel in panels:
                choose("y", panel, BY_YEAR[experiment.measure] if kind == "years" else measures)
            choose("x", x, measures if kind == "scatter" else ("profile", "coalitions", *experiment.sweep))
            if kind == "lines" and not all(_is_number(value) for value in experiment.sweep.get(str(x), ("",))):
                self.fault(f"x={shown(x)}: lines need a swept name with numbers; use points", "x", "figures", number)
            published = each.get("published", "")
            choose("published", published, ("", *TABLES))
            if kind == "lines" and not all(name.isdecimal() for name in TABLES.get(str(published), {})):
                self.fault(
                    f"published={published!r}: its x values are not numbers; use points", "published", "figures", number
                )
            title = each.get("title", "")
            yield Figure(str(kind), tuple(map(str, panels)), str(x), str(each.get("published", "")), str(title))

    def _check(self, experiment: Experiment) -> None:
        """Check what depends on several keys: policies, seats, and rules that contradict each other."""
        for profile in experiment.profiles:
            if "{profile}" in experiment.template:
                self._try(lambda profile=profile: self._check_profile(profile, experiment), "profiles")
        for deviator in (each for each in experiment.deviators if each != PORTFOLIO):
            self._try(lambda deviator=deviator: read_profile(filled(deviator, "hold")), "deviators")
        for each in experiment.coalitions:
            if each not in (*COALITIONS, "all-singles", "all-pairs"):
                known = ", ".join((*COALITIONS, "all-singles", "all-pairs"))
                self.fault(f"coalitions {shown(each)}: choose from {known}", "coalitions")
        for seats in experiment.sweep.get("seats", ()):
            if seats not in SEATINGS:
                self.fault(f"seats={shown(seats)}: choose from {', '.join(SEATINGS)}", "seats", "sweep")
        if self.faults:
            return
        count = len(experiment.profiles) * len(experiment.coalitions)
        for values in experiment.sweep.values():
            count *= len(values)
        if count > MOST_CONDITIONS:
            self.fault(f"{count:,} conditions: give {MOST_CONDITIONS:,} at most", "sweep")
            return
        self._try(lambda: experiment.conditions, "sweep")
        if self.faults or experiment.measure == "self-play":
            return
        if not all(condition.rules.is_welfare for condition in experiment.conditions):
            self.fault("exploitability is measured in welfare points: use variant = 'welfare'", "measure")

    def _check_profile(self, text: str, experiment: Experiment) -> None:
        """Read a profile, and seat it if all conditions have the same map.

        Raises:
            WelfareEnvError: it cannot be read, or has too many or too few seats.
        """
        profile = read_profile(text)
        if experiment.template == "{profile}" and "map_name" not in experiment.sweep:
            profile.seats(load_board().powers)

    def _try(self, what: Any, key: str) -> None:
        try:
            what()
        except WelfareEnvError as error:
            self.fault(str(error), key)


def _line_of(fault: str) -> int:
    return int(fault.removeprefix("line ").partition(":")[0])


def _plain(value: Any) -> Any:
    """TOML has no null: "none" stands for None, as in press = "none"."""
    return None if value == "none" else tuple(value) if isinstance(value, list) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
