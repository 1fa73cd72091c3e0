"""An experiment as described by its file (`evaluation.experiment_files.loading`), and its conditions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from agents.specs import SEATINGS, read_profile
from evaluation.checks import MAX_GAMES, MAX_SEED, EvaluationError
from evaluation.experiment_files.templates import filled_template
from evaluation.experiments.attacks import SELECTION_GAMES
from evaluation.experiments.deviators import PORTFOLIO, filled
from evaluation.experiments.published import TABLES
from evaluation.experiments.red_team import BUDGETS
from evaluation.measures import costs
from evaluation.measures.gains import COALITIONS
from welfare_env import Rules, WelfareEnvError
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

MEASURES = {
    "self-play": (
        "root_nash_welfare",
        "root_nash_welfare_smoothed",
        "nash_welfare",
        "proficiency",
        "stolen_centers",
        "conflicts",
        "kept_promises",
        "tokens_per_game",
        "dollars_per_game",
    ),
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
IN_WELFARE = ("exploitability", "red-team", "exact")
RULES = tuple(each.name for each in fields(Rules))
SETS = (*COALITIONS, "all-singles", "all-pairs")
MAX_PANELS = 12  # per figure


# The types of the fields, for files: what pydantic checks in each.


def one_of(names: Collection[str]) -> AfterValidator:
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


def _deviator(text: str) -> None:
    if text != PORTFOLIO:
        read_profile(filled(text, "hold"))


def _alone(value: object) -> object:
    return [value] if isinstance(value, str) else value


def plain(value: Any) -> Any:
    """A value from TOML: "none" becomes None (as in press = "none"), and lists become tuples."""
    return None if value == "none" else tuple(value) if isinstance(value, list) else value


Text = Annotated[str, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Games = Annotated[int, Field(strict=True, ge=1, le=MAX_GAMES)]
Some = Field(min_length=1)
Measures = Annotated[tuple[Annotated[Text, one_of(MEASURES)], ...], Some, BeforeValidator(_alone)]
Profiles = Annotated[tuple[Annotated[Text, _readable(read_profile)], ...], Some]
GivenRules = Mapping[Annotated[Text, one_of(RULES)], Annotated[Any, BeforeValidator(plain)]]


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

    y: Annotated[tuple[Text, ...], Field(min_length=1, max_length=MAX_PANELS), BeforeValidator(_alone)]
    kind: Annotated[Text, one_of(("points", "lines", "years", "scatter"))] = "points"
    x: Text = "profile"
    published: Annotated[Text, one_of(("", *TABLES))] = ""
    title: Text = ""


@dataclass(frozen=True)
class Condition:
    """One point of an experiment.

    Attributes:
        profile: the profile as given.
        played: the profile after applying the template.
        swept: name -> swept value.
        rules, map_name, seats: as for `evaluation.Setting`.
        coalitions: name of the set of coalitions, for exploitability and exact gains; otherwise "".
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
    """An experiment; the docstring of `evaluation.experiment_files.loading` explains the fields.

    Attributes:
        measure: the measures, in the order of the file.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    title: Text
    profiles: Profiles
    question: Text = ""
    measure: Measures = ("self-play",)
    template: Text = "{profile}"
    games: Games = 5
    seed: Annotated[int, Field(strict=True, ge=0, le=MAX_SEED)] = 0
    map_name: Text = "standard"
    seats: Annotated[Text, one_of(SEATINGS)] = "rotated"
    paper_code: Flag = False
    simultaneous: Flag = False
    coordinated: Flag = False
    selection_games: Games | None = None
    budget: Annotated[Text, one_of(BUDGETS)] = "usual"
    coalitions: Annotated[tuple[Annotated[Text, one_of(SETS)], ...], Some] = ("singles",)
    deviators: tuple[Annotated[Text, _readable(_deviator)], ...] = ()
    leaderboard: Flag = False
    rules: GivenRules = field(default_factory=dict)
    sweep: Mapping[Text, Annotated[tuple[Any, ...], Some]] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        """Check the measures.

        Raises:
            EvaluationError: not a tuple, no measure, or an unknown measure.
        """
        if not isinstance(self.measure, tuple | list) or not self.measure or not all(map(_is_measure, self.measure)):
            raise EvaluationError(f"measure={quoted(self.measure)}: give a tuple of {', '.join(MEASURES)}")

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every profile with every combination of swept values.

        Raises:
            RulesError: contradictory rules.
        """
        return tuple(self._conditions())

    def _conditions(self) -> Iterator[Condition]:
        sets = self.coalitions if {*self.measure} & {*WITH_COALITIONS} else ("",)
        for values in product(*self.sweep.values()):
            swept = dict(zip(self.sweep, values, strict=True))
            rules = self.rules_with({name: plain(value) for name, value in swept.items() if name in RULES})
            map_name, seats = str(swept.get("map_name", self.map_name)), str(swept.get("seats", self.seats))
            for profile, coalitions in product(self.profiles, sets):
                played = filled_template(self.template, profile, {name: str(value) for name, value in swept.items()})
                yield Condition(profile, played, swept, rules, map_name, seats, coalitions)

    @property
    def games_for_selection(self) -> int:
        """Selection games per attack; by default at most as many as the games of a measured attack."""
        return min(SELECTION_GAMES, self.games) if self.selection_games is None else self.selection_games

    def rules_with(self, swept: Mapping[str, Any]) -> Rules:
        """The rules of a condition; `paper_code` applies only to Welfare Diplomacy, not to standard games.

        Raises:
            RulesError: contradictory rules.
        """
        chosen = {**self.rules, **swept}
        is_theirs = self.paper_code and chosen.get("variant", "welfare") == "welfare"
        return Rules.published(**chosen) if is_theirs else Rules(**chosen)

    def conditions_beside(self, condition: Condition) -> list[Condition]:
        """The conditions with the same swept values and set of coalitions, one for each profile."""
        same = condition.swept, condition.coalitions
        return [each for each in self.conditions if (each.swept, each.coalitions) == same]

    def with_profiles(self, profiles: tuple[str, ...]) -> Experiment:
        """The same experiment with other profiles; unchanged if `profiles` is empty."""
        return replace(self, profiles=profiles) if profiles else self


def _is_measure(name: object) -> bool:
    return isinstance(name, str) and name in MEASURES
