"""An experiment as a TOML file describes it, checked by pydantic. All errors of a file are reported at once.

A file sets the fields of `Experiment`; only title and profiles are required:

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

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from agents.runtime.files import read_file, reason
from agents.specs import SEATINGS, read_profile
from agents.specs.profiles import is_profile, written_terms
from evaluation.checks import MAX_GAMES, MAX_SEED, EvaluationError
from evaluation.experiments.attacks import SELECTION_GAMES
from evaluation.experiments.cross_play import check_balanced
from evaluation.experiments.deviators import PORTFOLIO, filled
from evaluation.experiments.published import TABLES
from evaluation.experiments.red_team import BUDGETS
from evaluation.measures import costs
from evaluation.measures.gains import COALITIONS
from evaluation.play.game_spec import Setting
from welfare_env import Rules, RulesError, WelfareEnvError
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

SHIPPED = Path(__file__).parent / "shipped"
MAX_BYTES = 1_000_000
MAX_CONDITIONS = 10_000
MAX_FAULTS = 20  # in the error message
MAX_PANELS = 12  # per figure

OF_GAMES = ("root_nash_welfare", "root_nash_welfare_smoothed", "nash_welfare", "proficiency", "stolen_centers")
MEASURES = {
    "self-play": (*OF_GAMES, "conflicts", "kept_promises", "tokens_per_game", "dollars_per_game"),
    "exploitability": ("exploitability", *costs.MEASURES),
    "red-team": ("red_team",),
    "cross-play": ("points_among_others",),
    "exact": ("exact_gain",),
}
BY_YEAR = {
    "self-play": ("units_by_year", "centers_by_year", "welfare_by_year"),
    "exploitability": costs.BY_YEAR,
}
WITH_COALITIONS = ("exploitability", "exact")
ONLY_FOR = {
    "coalitions": WITH_COALITIONS,
    "budget": ("red-team",),
    "leaderboard": ("self-play",),
    **dict.fromkeys(("deviators", "coordinated", "selection_games"), ("exploitability",)),
}
"""Key -> the measures that use it."""
RULES = tuple(each.name for each in fields(Rules))


class ExperimentError(EvaluationError):
    """An invalid experiment file. The message lists all errors, each with its key and the allowed values."""


def _one_of(names: Collection[str]) -> AfterValidator:
    """A text that is one of these."""

    def check(value: str) -> str:
        if value not in names:
            raise ValueError(f"{did_you_mean(value, names)}: choose one of {', '.join(filter(None, names))}")
        return value

    return AfterValidator(check)


def _readable(read: Callable[[str], object]) -> AfterValidator:
    """A text that can be read so."""

    def check(value: str) -> str:
        try:
            read(value)
        except WelfareEnvError as error:
            raise ValueError(f": {error}") from error
        return value

    return AfterValidator(check)


def _plain(value: Any) -> Any:
    """A value from TOML: "none" becomes None (as in press = "none"), and lists become tuples."""
    return None if value == "none" else tuple(value) if isinstance(value, list) else value


_Text = Annotated[str, Field(strict=True)]
_Flag = Annotated[bool, Field(strict=True)]
_Games = Annotated[int, Field(strict=True, ge=1, le=MAX_GAMES)]
_Some = Field(min_length=1)
_Alone = BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
_Profile = Annotated[_Text, _readable(read_profile)]
_Deviator = Annotated[_Text, _readable(lambda text: text == PORTFOLIO or read_profile(filled(text, "hold")))]
_Set = Annotated[_Text, _one_of((*COALITIONS, "all-singles", "all-pairs"))]


@dataclass(frozen=True)
class Figure:
    """A figure of an experiment.

    Attributes:
        kind: "points" (a category on x), "lines" (numbers on x), "years" (curves over the game) or "scatter" (two
            measures against each other).
        y: the measures, one panel each.
        x: "profile", "coalitions", a swept name, or, for a scatter plot, a measure.
        published: the authors' data to plot as well; "" for none.
        title: title of the figure.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    y: Annotated[tuple[_Text, ...], Field(min_length=1, max_length=MAX_PANELS), _Alone]
    kind: Annotated[_Text, _one_of(("points", "lines", "years", "scatter"))] = "points"
    x: _Text = "profile"
    published: Annotated[_Text, _one_of(("", *TABLES))] = ""
    title: _Text = ""


@dataclass(frozen=True)
class Condition:
    """One point of an experiment.

    Attributes:
        profile: the profile as given.
        played: the profile after applying the template.
        swept: name -> swept value.
        setting: the setting of its games.
        coalitions: name of the set of coalitions, for exploitability and exact gains; otherwise "".
    """

    profile: str
    played: str
    swept: Mapping[str, Any]
    setting: Setting
    coalitions: str = ""


@dataclass(frozen=True)
class Experiment:
    """An experiment; docs/experiments.md explains the fields."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    title: _Text
    profiles: Annotated[tuple[_Profile, ...], _Some]
    question: _Text = ""
    measure: Annotated[tuple[Annotated[_Text, _one_of(MEASURES)], ...], _Some, _Alone] = ("self-play",)
    template: _Text = "{profile}"
    games: _Games = 5
    seed: Annotated[int, Field(strict=True, ge=0, le=MAX_SEED)] = 0
    map_name: _Text = "standard"
    seats: Annotated[_Text, _one_of(SEATINGS)] = "rotated"
    paper_code: _Flag = False
    simultaneous: _Flag = False
    coordinated: _Flag = False
    selection_games: _Games | None = None
    budget: Annotated[_Text, _one_of(BUDGETS)] = "usual"
    coalitions: Annotated[tuple[_Set, ...], _Some] = ("singles",)
    deviators: tuple[_Deviator, ...] = ()
    leaderboard: _Flag = False
    rules: Mapping[Annotated[_Text, _one_of(RULES)], Annotated[Any, BeforeValidator(_plain)]] = field(
        default_factory=dict
    )
    sweep: Mapping[_Text, Annotated[tuple[Any, ...], _Some]] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every profile with every combination of swept values, which are the outer loop.

        Raises:
            RulesError, UnknownMapError: contradictory rules, an unknown map.
        """
        return tuple(self._conditions())

    def _conditions(self) -> Iterator[Condition]:
        sets = self.coalitions if {*self.measure} & {*WITH_COALITIONS} else ("",)
        same = {name: getattr(self, name) for name in ("seed", "map_name", "seats", "paper_code", "simultaneous")}
        for values in product(*self.sweep.values()):
            swept = dict(zip(self.sweep, values, strict=True))
            chosen = {**self.rules, **{name: _plain(value) for name, value in swept.items() if name in RULES}}
            is_theirs = self.paper_code and chosen.get("variant", "welfare") == "welfare"
            rules = Rules.published(**chosen) if is_theirs else Rules(**chosen)
            own = same | {name: str(swept[name]) for name in ("map_name", "seats") if name in swept}
            setting = Setting(rules=rules, **own)
            for profile, coalitions in product(self.profiles, sets):
                words = {name: str(value) for name, value in swept.items()}
                yield Condition(profile, filled_template(self.template, profile, words), swept, setting, coalitions)

    @property
    def games_for_selection(self) -> int:
        """Selection games per attack; by default at most as many as the games of a measured attack."""
        return min(SELECTION_GAMES, self.games) if self.selection_games is None else self.selection_games

    def with_profiles(self, profiles: Sequence[str]) -> Experiment:
        """The same experiment with other profiles; unchanged if `profiles` is empty."""
        return replace(self, profiles=tuple(profiles)) if profiles else self


_FILE = TypeAdapter(Experiment)

# Templates.

WORD = re.compile(r"\{(\w+)\}")


def filled_template(template: str, profile: str, words: Mapping[str, str]) -> str:
    """Apply a template such as "{profile},ablate={ablate}" to each policy of a profile.

    At the start of a template, {profile} is extended by the options after it; elsewhere, an inserted spec gets
    parentheses.

    Raises:
        UnknownAgentError: unbalanced parentheses in the profile.
    """
    if template == "{profile}":
        return profile
    terms = [(seats, _filled(template, {**words, "profile": policy})) for seats, policy in written_terms(profile)]
    return " + ".join(f"{seats}*({policy})" if seats else policy for seats, policy in terms)


def _filled(template: str, words: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        text = words[match[1]]
        before, after = template[: match.start()].rstrip(), template[match.end() :].lstrip()
        is_wrapped = before.endswith("(") and after.startswith(")")
        return f"({text})" if before and not is_wrapped and re.search(r"[,=\s]", text) else text

    found = WORD.sub(value, template)
    if re.match(r"\s*\{profile\}\s*,", template) and re.fullmatch(r"\w+", words["profile"]):
        return found.replace(",", ":", 1)  # "dove" has no options yet, so the first follows a colon
    return found


# Files.


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
    try:
        path = SHIPPED / f"{source}.toml" if str(source) in names else Path(source)
        text = read_file(path, MAX_BYTES).decode()
    except (OSError, ValueError) as error:
        near = did_you_mean(str(source), names)
        why = f"no such name or file{near}" if isinstance(error, FileNotFoundError) else reason(error)
        known = f"shipped are {', '.join(names)}"
        raise ExperimentError(f"experiment {str(source)!r:.200}: {why}; {known}") from error
    return parse_experiment(text, path.stem)


def parse_experiment(text: str, name: str = "experiment") -> Experiment:
    """Read an experiment from TOML text.

    Raises:
        ExperimentError: invalid TOML, or invalid contents (all errors at once).
    """
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for numbers with thousands of digits
        raise ExperimentError(f"experiment {name}: not valid TOML: {error}") from error
    try:
        experiment = _FILE.validate_python(given | {"name": name})
        faults = list(_faults(experiment, given)) or list(_faults_of_conditions(experiment))
    except ValidationError as error:
        parts = [each["loc"][:-1] for each in error.errors()]  # a list of wrong elements is not too short besides
        faults = [_fault(each) for each in error.errors() if each["type"] != "too_short" or each["loc"] not in parts]
    if faults:
        more = [f"and {len(faults) - MAX_FAULTS:,} more"] if faults[MAX_FAULTS:] else []
        listed = "\n  ".join([f"{len(faults)} fault{'s' * (len(faults) > 1)}", *faults[:MAX_FAULTS], *more])
        raise ExperimentError(f"experiment {name}: {listed}")
    return experiment


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


def _unknown(what: str, value: object, choices: Sequence[str]) -> Iterator[str]:
    """A fault if a value is not one of these."""
    if value not in choices:
        yield f"{what}={quoted(value)}{did_you_mean(value, choices)}: choose one of {', '.join(choices)}"


def _faults(experiment: Experiment, given: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with several keys together: measures, sweep, template, figures."""
    measured, sweep, template = experiment.measure, experiment.sweep, experiment.template
    if len({*measured}) < len(measured):
        yield "measure: give each only once"
    for key, measures in ONLY_FOR.items():
        if key in given and not {*measures} & {*measured}:
            yield f"{key} is only for {' and '.join(measures)}, which this file does not measure"
    words = [word for word in dict.fromkeys(WORD.findall(template)) if word != "profile"]
    for name, values in sweep.items():
        yield from _unknown("sweep", name, (*RULES, "map_name", "seats", *words))
        for each in values if name == "seats" else ():
            yield from _unknown("seats", each, SEATINGS)
        if name in given:
            yield f"{name} is also in [sweep]: remove one of the two"
    for word in sorted({*words} - sweep.keys()):
        yield f"template: {word!r} is not swept{did_you_mean(word, ('profile', *sweep))}: add it to [sweep]"
    if "{profile}" not in template or re.search(r"[{}]", WORD.sub("", template)):
        yield "template: write {profile}, without which all profiles are the same, and {word} for swept values"
    for figure in experiment.figures:
        yield from _faults_of_figure(figure, experiment)


def _faults_of_figure(figure: Figure, experiment: Experiment) -> Iterator[str]:
    measures = tuple(name for measure in experiment.measure for name in MEASURES[measure])
    by_year = tuple(name for measure in experiment.measure for name in BY_YEAR.get(measure, ()))
    for panel in figure.y:
        yield from _unknown("figures: y", panel, by_year if figure.kind == "years" else measures)
    places = measures if figure.kind == "scatter" else ("profile", "coalitions", *experiment.sweep)
    yield from _unknown("figures: x", figure.x, places)
    numbers = [*experiment.sweep.get(figure.x, ("",))]
    numbers += [int(name) if name.isdecimal() else name for name in TABLES.get(figure.published, {})]
    if figure.kind == "lines" and not all(type(value) in (int, float) for value in numbers):
        yield f"figures: x={quoted(figure.x)}: lines need numbers; use points"


def _faults_of_conditions(experiment: Experiment) -> Iterator[str]:
    """What is wrong with the conditions: contradictory rules, profiles that do not fit the map or the measure."""
    count = prod(map(len, (experiment.profiles, experiment.coalitions, *experiment.sweep.values())))
    if count > MAX_CONDITIONS:
        yield f"{count:,} conditions: the maximum is {MAX_CONDITIONS:,}"
        return
    try:
        conditions = experiment.conditions
    except WelfareEnvError as error:
        yield f"{'rules' if isinstance(error, RulesError) else 'conditions'}: {error}"
        return
    boards = {each.setting.map_name: each.setting.board for each in conditions}
    for played, map_name in dict.fromkeys((each.played, each.setting.map_name) for each in conditions):
        yield from _error("profiles", lambda: read_profile(played).seats(boards[map_name].powers))  # noqa: B023
    settings = list(dict.fromkeys(each.setting for each in conditions))
    if "cross-play" in experiment.measure:
        for each in {(each.map_name, each.seats): each for each in settings}.values():
            yield from _error("games", lambda: check_balanced(each, experiment.games))  # noqa: B023
    rules = [each.played for each in settings]
    if {"exploitability", "red-team"} & {*experiment.measure} and not all(each.is_welfare for each in rules):
        yield "exploitability and red-team are measured in welfare points: use variant = 'welfare'"
    is_mixed = len(experiment.profiles) < 2 or any(map(is_profile, experiment.profiles))
    if "cross-play" in experiment.measure and is_mixed:
        yield "profiles: for cross-play, give two or more profiles of one policy each"
    if "exact" in experiment.measure and not all(map(_is_exact, rules)):
        yield 'exact gains need the paper\'s rules without messages: in [rules], set only press = "none" and years'


def _error(key: str, check: Callable[[], object]) -> Iterator[str]:
    """The error of a check, if it has one."""
    try:
        check()
    except WelfareEnvError as error:
        yield f"{key}: {error}"


def _is_exact(rules: Rules) -> bool:
    """Whether exact gains can be computed for these rules."""
    usual = Rules(years=rules.years, press=rules.press, message_rounds=rules.message_rounds)
    return not rules.has_press and rules == usual
