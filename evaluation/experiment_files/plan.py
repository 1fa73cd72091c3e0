"""An experiment as described by its file (`evaluation.experiment_files.loading`), and its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

from evaluation.checks import EvaluationError
from evaluation.experiment_files.templates import filled_template
from evaluation.experiments.attacks import SELECTION_GAMES
from evaluation.measures import costs
from welfare_env import Rules
from welfare_env.checks import quoted

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

    kind: str
    y: tuple[str, ...]
    x: str = "profile"
    published: str = ""
    title: str = ""


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

    name: str
    title: str
    profiles: tuple[str, ...]
    question: str = ""
    measure: tuple[str, ...] = ("self-play",)
    template: str = "{profile}"
    games: int = 5
    seed: int = 0
    map_name: str = "standard"
    seats: str = "rotated"
    paper_code: bool = False
    simultaneous: bool = False
    coordinated: bool = False
    precision: float | None = None
    max_games: int = 200
    selection_games: int | None = None
    budget: str = "usual"
    coalitions: tuple[str, ...] = ("singles",)
    deviators: tuple[str, ...] = ()
    leaderboard: bool = False
    rules: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
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


def plain(value: Any) -> Any:
    """A value from TOML: "none" becomes None (as in press = "none"), and lists become tuples."""
    return None if value == "none" else tuple(value) if isinstance(value, list) else value
