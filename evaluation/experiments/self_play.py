"""Self-play: one policy in every seat (paper, section 5.1), or a profile of several policies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, Unpack

from agents.runtime.table_files import Row
from agents.specs import ProfileLike, as_given, read_profile
from evaluation.experiments.notes import illegal_order_notes, orders_of, seat_notes
from evaluation.measures.intervals import Estimate, mean_estimate, mean_estimates, plain
from evaluation.measures.lm_usage import LMUsage, usage_by_part, usage_by_seat, usage_of
from evaluation.measures.metrics import GameMeasures, measure
from evaluation.measures.rows import PlayedResult, game_rows
from evaluation.options import takes_options
from evaluation.play.game_spec import Setting
from evaluation.play.playing import Record
from evaluation.play.runner import Evaluation, PlayOptions, Runner, Wanted, read_options
from welfare_env import Rules

Key = TypeVar("Key", str, int)


RANGES = {
    "root_nash_welfare": (0.0, math.inf),
    "root_nash_welfare_smoothed": (0.0, math.inf),
    "nash_welfare": (0.0, math.inf),
    "proficiency": (0.0, 1.0),
    "stolen_centers": (0.0, math.inf),
    "conflicts": (0.0, math.inf),
}
"""Measure -> the values that it can have in a game, if not all."""


def within_range(measure: str, mean: Estimate) -> Estimate:
    """A measure's mean, with an interval within the values that games can have."""
    return mean.within(*RANGES.get(measure, (-math.inf, math.inf)))


def _mean(name: str, of: Callable[[GameMeasures], float]) -> cached_property[Estimate]:
    """A measure: its mean over games."""

    def found(result: SelfPlayResult) -> Estimate:
        return within_range(name, mean_estimate([of(game) for game in result.measures], result.seed))

    return cached_property(found)


def _means(of: Callable[[GameMeasures], Iterable[tuple[Key, float]]]) -> cached_property[dict[Key, Estimate]]:
    """A measure with several values a game: for each key, the mean over the games that have it."""

    def found(result: SelfPlayResult) -> dict[Key, Estimate]:
        values: dict[Key, list[float]] = {}
        for game in result.measures:
            for key, value in of(game):
                values.setdefault(key, []).append(value)
        return mean_estimates(values, result.seed)

    return cached_property(found)


def _by_policy(game: GameMeasures, name: str) -> Iterable[tuple[str, float]]:
    """Each policy of a game, with the mean of its seats."""
    paid: dict[str, list[float]] = {}
    for power, points in getattr(game, name).items():
        paid.setdefault(game.facts.players[power], []).append(points)
    return ((policy, sum(mine) / len(mine)) for policy, mine in paid.items())


def _by_year(game: GameMeasures, name: str) -> Iterable[tuple[int, float]]:
    curves = game.yearly_curves
    return zip(curves.years, getattr(curves, name), strict=True)


@dataclass(frozen=True, repr=False)
class SelfPlayResult(PlayedResult):
    """Games of a profile. Every measure is an `Estimate`: mean over games, 95% interval, value per game.

    Attributes:
        policy: the spec or profile as given; for an unnamed object, its description.
        seed: seed of the evaluation.
        rules, map_name: rules and map of the games.
        measures, records: one per game.
        notes: caveats, such as seats that were not balanced, or illegal orders.
        root_nash_welfare: geometric mean of the powers' welfare points a year (nan in the standard variant).
        root_nash_welfare_smoothed: with 1e-6 added to each power's points, so that a single 0 does not make it 0.
        nash_welfare: product of the powers' welfare points a year (nan in the standard variant).
        best_score: the highest score of any power under the rules' scoring: in standard games, how far the winner is
            ahead.
        proficiency: basic proficiency, the mean of parse rate, legal rate and share of centers owned.
        stolen_centers: centers taken by one power from another, per year.
        conflicts: provinces that more than one unit moves to or stays in, per movement phase.
        welfare_per_year, scores: power -> welfare points a year, and score under the rules' scoring.
        welfare_by_policy, scores_by_policy: policy -> mean of its seats, over the games in which it plays.
        units_by_year, centers_by_year, welfare_by_year: year -> mean units, centers and cumulative welfare points of a
            power after Winter, over the games that reached that year.
    """

    policy: str
    seed: int
    rules: Rules
    map_name: str
    measures: tuple[GameMeasures, ...]
    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()

    root_nash_welfare = _mean("root_nash_welfare", lambda game: game.root_nash_welfare)
    root_nash_welfare_smoothed = _mean("root_nash_welfare_smoothed", lambda game: game.root_nash_welfare_smoothed)
    nash_welfare = _mean("nash_welfare", lambda game: game.nash_welfare)
    best_score = _mean("best_score", lambda game: max(game.scores.values()))
    proficiency = _mean("proficiency", lambda game: game.proficiency.score)
    stolen_centers = _mean("stolen_centers", lambda game: game.stolen_centers.per_year)
    conflicts = _mean("conflicts", lambda game: game.conflicts.per_movement_phase)
    welfare_per_year = _means(lambda game: game.welfare_per_year.items())
    scores = _means(lambda game: game.scores.items())
    welfare_by_policy = _means(lambda game: _by_policy(game, "welfare_per_year"))
    scores_by_policy = _means(lambda game: _by_policy(game, "scores"))
    units_by_year = _means(lambda game: _by_year(game, "units"))
    centers_by_year = _means(lambda game: _by_year(game, "centers"))
    welfare_by_year = _means(lambda game: _by_year(game, "welfare"))

    @cached_property
    def usage(self) -> LMUsage | None:
        """Calls, tokens and cost of language models; None without language models."""
        return usage_of(self.records)

    @cached_property
    def usage_by_seat(self) -> dict[str, dict[str, LMUsage]]:
        """Player -> model -> usage in that seat; {} without language models."""
        return usage_by_seat((record, self._parts) for record in self.records).get("profile", {})

    @cached_property
    def usage_by_model(self) -> dict[str, LMUsage]:
        """Model -> usage in all seats; {} without language models."""
        return usage_by_part((record, self._parts) for record in self.records).get("profile", {})

    @property
    def seats(self) -> tuple[dict[str, str], ...]:
        """For each game, power -> spec of its policy."""
        return tuple(game.facts.players for game in self.measures)

    @property
    def _parts(self) -> dict[str, str]:
        return dict.fromkeys(self.seats[0], "profile")

    @property
    def is_mixed(self) -> bool:
        """Whether several policies play."""
        return len(self.welfare_by_policy) > 1

    def rows(self, by_year: bool = False) -> list[Row]:
        """One row per game and power, or per game, power and year; docs/results.md describes the columns."""
        return game_rows(self.measures, self.policy, evaluation_seed=self.seed, by_year=by_year)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        names = (*MEASURES, *BY_POWER, *BY_YEAR, *(BY_POLICY if self.is_mixed else ()))
        facts = {"policy": self.policy, **self.played(len(self.measures))}
        facts |= {name: plain(getattr(self, name)) for name in names}
        if self.usage:
            facts["language_models"] = plain(self.usage)
            facts["language_models_by_model"] = plain(self.usage_by_model)
            facts["language_models_by_seat"] = plain(self.usage_by_seat)
        return facts


MEASURES = (
    "root_nash_welfare",
    "root_nash_welfare_smoothed",
    "nash_welfare",
    "best_score",
    "proficiency",
    "stolen_centers",
    "conflicts",
)
BY_POWER = ("welfare_per_year", "scores")
BY_POLICY = ("welfare_by_policy", "scores_by_policy")
BY_YEAR = ("units_by_year", "centers_by_year", "welfare_by_year")


@takes_options(Setting, Runner)
def self_play(policy: ProfileLike, games: int = 5, **options: Unpack[PlayOptions]) -> SelfPlayResult:
    """Play a policy, or a profile of several, and measure the games.

    Args:
        policy: one policy for all seats: a spec as for `agents.make`, a class, a factory, or an instance, which is
            copied for each seat and game. Or a profile: "4*dove + 3*hold", or a mapping from powers to policies
            (`agents.specs.profiles`). Games of unnamed objects (see `evaluation.Runner`) are not stored.
        games: number of games; the paper plays five.
        options: the fields of `evaluation.Setting`, and the arguments of `evaluation.Runner`.

    Raises:
        UnknownAgentError, ProfileError, UnknownPowerError, UnknownMapError, RulesError: an invalid policy, profile,
            power, map or rules.
        EvaluationError: a number or seed out of range, or a store, report or models of the wrong type.
        LMError: a budget is exhausted, a model cannot be called, or a prompt does not fit the game.
    """
    setting, runner = read_options(options)
    return runner.run(measure_self_play(policy, games, setting))


def measure_self_play(policy: ProfileLike, games: int, setting: Setting) -> Evaluation[SelfPlayResult]:
    """`self_play` in a setting; raises the same errors."""
    profile = read_profile(policy)
    records = tuple((yield Wanted(setting.games(profile, games))))
    measures = tuple(measure(record, paper_code=setting.paper_code) for record in records)
    notes = seat_notes(setting, profile, games) + illegal_order_notes(map(orders_of, records))
    settings = setting.seed, setting.played, setting.map_name
    return SelfPlayResult(as_given(policy, profile), *settings, measures, records, notes)
