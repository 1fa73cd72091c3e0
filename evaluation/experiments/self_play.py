"""Self-play: one policy in every seat (paper, section 5.1), or a profile of several policies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Unpack

from agents.runtime.table_files import Row
from agents.specs import ProfileLike, profile_as_given, read_profile
from evaluation.experiments.notes import IllegalOrders, seat_notes
from evaluation.measures.intervals import Estimate, mean_estimate, mean_estimates, plain
from evaluation.measures.lm_usage import LMUsage, usage_by_part, usage_by_seat, usage_of
from evaluation.measures.metrics import GameMeasures, measure
from evaluation.measures.rows import PlayedResult, game_rows
from evaluation.options import takes_options
from evaluation.play.runner import PlayOptions, Runner, read_options
from evaluation.play.setting import Setting
from welfare_env import Rules


@dataclass(frozen=True, repr=False)
class SelfPlayResult(PlayedResult):
    """Games of a profile. Every measure is an `Estimate`: mean over games, 95% interval, value per game.

    Attributes:
        policy: the spec or profile as given; for an unnamed object, its description.
        seed: seed of the evaluation.
        rules, map_name: rules and map of the games.
        measures, records: one per game.
        seats: for each game, power -> spec of its policy.
        notes: caveats, such as seats that were not balanced, or illegal orders.
    """

    policy: str
    seed: int
    rules: Rules
    map_name: str
    measures: tuple[GameMeasures, ...]
    records: tuple[dict[str, Any], ...]
    seats: tuple[dict[str, str], ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def root_nash_welfare(self) -> Estimate:
        """Geometric mean of the powers' welfare points a year (nan in the standard variant)."""
        return self._mean(lambda game: game.root_nash_welfare, 0)

    @cached_property
    def root_nash_welfare_smoothed(self) -> Estimate:
        """Root Nash welfare with 1e-6 added to each power's points, so that a single 0 does not make the mean 0."""
        return self._mean(lambda game: game.root_nash_welfare_smoothed, 0)

    @cached_property
    def nash_welfare(self) -> Estimate:
        """Product of the powers' welfare points a year (nan in the standard variant)."""
        return self._mean(lambda game: game.nash_welfare, 0)

    @cached_property
    def best_score(self) -> Estimate:
        """The highest score of any power under the rules' scoring: in standard games, how far the winner is ahead."""
        return self._mean(lambda game: max(game.scores.values()))

    @cached_property
    def proficiency(self) -> Estimate:
        """Basic proficiency: mean of parse rate, legal rate and share of centers owned."""
        return self._mean(lambda game: game.proficiency.score, 0, 1)

    @cached_property
    def stolen_centers(self) -> Estimate:
        """Centers taken by one power from another, per year."""
        return self._mean(lambda game: game.stolen_centers.per_year, 0)

    @cached_property
    def conflicts(self) -> Estimate:
        """Provinces that more than one unit moves to or stays in, per movement phase."""
        return self._mean(lambda game: game.conflicts.per_movement_phase, 0)

    @cached_property
    def welfare_per_year(self) -> dict[str, Estimate]:
        """Power -> welfare points a year."""
        return self._by_power(lambda game: game.welfare_per_year)

    @cached_property
    def scores(self) -> dict[str, Estimate]:
        """Power -> score under the rules' scoring."""
        return self._by_power(lambda game: game.scores)

    @cached_property
    def welfare_by_policy(self) -> dict[str, Estimate]:
        """Policy -> mean welfare points a year of its seats."""
        return self._by_policy(lambda game: game.welfare_per_year)

    @cached_property
    def scores_by_policy(self) -> dict[str, Estimate]:
        """Policy -> mean score of its seats under the rules' scoring."""
        return self._by_policy(lambda game: game.scores)

    @cached_property
    def units_by_year(self) -> dict[int, Estimate]:
        """Year -> mean units of a power after Winter, over the games that reached that year."""
        return self._by_year("units")

    @cached_property
    def centers_by_year(self) -> dict[int, Estimate]:
        """Year -> mean supply centers of a power after Winter, over the games that reached that year."""
        return self._by_year("centers")

    @cached_property
    def welfare_by_year(self) -> dict[int, Estimate]:
        """Year -> mean cumulative welfare points of a power, over the games that reached that year."""
        return self._by_year("welfare")

    @cached_property
    def usage(self) -> LMUsage | None:
        """Calls, tokens and cost of language models; None without language models."""
        return usage_of(self.records)

    @cached_property
    def usage_by_seat(self) -> dict[str, dict[str, LMUsage]]:
        """Player -> model -> usage in that seat; {} without language models."""
        parts = dict.fromkeys(self.seats[0], "profile")
        return usage_by_seat((record, parts) for record in self.records).get("profile", {})

    @cached_property
    def usage_by_model(self) -> dict[str, LMUsage]:
        """Model -> usage in all seats; {} without language models."""
        parts = dict.fromkeys(self.seats[0], "profile")
        return usage_by_part((record, parts) for record in self.records).get("profile", {})

    def rows(self, by_year: bool = False) -> list[Row]:
        """One row per game and power, or per game, power and year; docs/results.md describes the columns."""
        return game_rows(self.measures, self.policy, evaluation_seed=self.seed, by_year=by_year)

    @property
    def _powers(self) -> list[str]:
        return list(self.measures[0].scores)

    def _mean(self, of: Callable[[GameMeasures], float], least: float = -math.inf, most: float = math.inf) -> Estimate:
        """The mean over games, and an interval within the values that games can have."""
        return mean_estimate([of(game) for game in self.measures], self.seed).within(least, most)

    def _by_power(self, of: Callable[[GameMeasures], Mapping[str, float]]) -> dict[str, Estimate]:
        paid = [of(game) for game in self.measures]
        return mean_estimates({power: [game[power] for game in paid] for power in self._powers}, self.seed)

    def _by_policy(self, of: Callable[[GameMeasures], Mapping[str, float]]) -> dict[str, Estimate]:
        """Policy -> mean over its seats, over the games in which it plays."""
        values: dict[str, list[float]] = {}
        for game, seats in zip(self.measures, self.seats, strict=True):
            paid = of(game)
            for policy in dict.fromkeys(seats[power] for power in paid):
                mine = [points for power, points in paid.items() if seats[power] == policy]
                values.setdefault(policy, []).append(sum(mine) / len(mine))
        return mean_estimates(values, self.seed)

    @property
    def is_mixed(self) -> bool:
        """Whether several policies play."""
        return len(self.welfare_by_policy) > 1

    def _by_year(self, what: Literal["units", "centers", "welfare"]) -> dict[int, Estimate]:
        values: dict[int, list[float]] = {}
        for curves in (game.yearly_curves for game in self.measures):
            for year, value in zip(curves.years, getattr(curves, what), strict=True):
                values.setdefault(year, []).append(value)
        return mean_estimates({year: values[year] for year in sorted(values)}, self.seed)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "policy": self.policy,
            **self.played(len(self.measures)),
            **{name: plain(getattr(self, name)) for name in (*MEASURES, *BY_POWER, *BY_YEAR)},
            **({name: plain(getattr(self, name)) for name in BY_POLICY} if self.is_mixed else {}),
            **(plain(self._usage()) if self.usage else {}),
        }

    def _usage(self) -> dict[str, Any]:
        return {
            "language_models": self.usage,
            "language_models_by_model": self.usage_by_model,
            "language_models_by_seat": self.usage_by_seat,
        }


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
    return run_self_play(policy, games, *read_options(options))


def run_self_play(policy: ProfileLike, games: int, setting: Setting, runner: Runner) -> SelfPlayResult:
    """`self_play` in a setting; raises the same errors."""
    profile = read_profile(policy)
    specs = setting.games(profile, games)
    runner.check(profile.policies)
    runner.begin(games)
    records = runner.play(specs)
    seats = tuple(game.written for game in specs)
    illegal = IllegalOrders.sum(map(IllegalOrders.of, seats, records))
    return SelfPlayResult(
        profile_as_given(policy),
        setting.seed,
        setting.played,
        setting.map_name,
        tuple(measure(record, paper_code=setting.paper_code) for record in records),
        tuple(records),
        seats,
        seat_notes(setting, profile, games) + illegal.notes(),
    )
