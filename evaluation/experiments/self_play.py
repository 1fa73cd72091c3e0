"""Self-play: one policy in every seat (paper, section 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from agents.specs import PolicyLike, as_given, read
from evaluation.checks import check_means, check_options
from evaluation.measures.intervals import Estimate, mean_estimate
from evaluation.measures.lm_usage import LMUsage, usage_of
from evaluation.measures.metrics import GameMeasures, measure
from evaluation.play.games import Report, common_games, play_all, profile
from evaluation.play.store import GameStore
from evaluation.play.workers import Workers
from welfare_env import Rules
from welfare_env.engine.engines import DEFAULT_ENGINE

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels


@dataclass(frozen=True)
class SelfPlayResult:
    """Games of a policy with itself; every measure is an `Estimate`: mean over games, 95% interval, value per game.

    Attributes:
        policy: the policy's spec as it was given; of an object without a name, what it is.
        seed: of the evaluation.
        rules, map_name: what was played.
        measures: of each game.
        records: of each game.
    """

    policy: str
    seed: int
    rules: Rules
    map_name: str
    measures: tuple[GameMeasures, ...]
    records: tuple[dict[str, Any], ...]

    @cached_property
    def root_nash_welfare(self) -> Estimate:
        """Geometric mean of the powers' welfare points a year (nan in the standard variant)."""
        return self._mean(lambda game: game.root_nash_welfare)

    @cached_property
    def root_nash_welfare_smoothed(self) -> Estimate:
        """The same with 1e-6 added to each power's points, so that one without any does not hide the others."""
        return self._mean(lambda game: game.root_nash_welfare_smoothed)

    @cached_property
    def nash_welfare(self) -> Estimate:
        """Product of the powers' welfare points a year (nan in the standard variant)."""
        return self._mean(lambda game: game.nash_welfare)

    @cached_property
    def proficiency(self) -> Estimate:
        """Basic proficiency: mean of parse rate, legal rate and share of centres owned."""
        return self._mean(lambda game: game.proficiency.score)

    @cached_property
    def stolen_centers(self) -> Estimate:
        """Centres that pass from one power to another, per year."""
        return self._mean(lambda game: game.stolen_centers.per_year)

    @cached_property
    def conflicts(self) -> Estimate:
        """Provinces that more than one unit orders itself into or stays in, per movement phase."""
        return self._mean(lambda game: game.conflicts.per_movement_phase)

    @cached_property
    def welfare_per_year(self) -> dict[str, Estimate]:
        """Power -> welfare points a year."""
        return {power: self._mean(lambda game, p=power: game.welfare_per_year[p]) for power in self._powers}  # type: ignore[misc]

    @cached_property
    def scores(self) -> dict[str, Estimate]:
        """Power -> score under the rules' scoring."""
        return {power: self._mean(lambda game, p=power: game.scores[p]) for power in self._powers}  # type: ignore[misc]

    @cached_property
    def units_by_year(self) -> dict[int, Estimate]:
        """Year -> mean units of a power after its Winter, over the games that went on so long."""
        return self._by_year("units")

    @cached_property
    def centers_by_year(self) -> dict[int, Estimate]:
        """Year -> mean supply centres of a power after its Winter, over the games that went on so long."""
        return self._by_year("centers")

    @cached_property
    def welfare_by_year(self) -> dict[int, Estimate]:
        """Year -> mean welfare points of a power so far, over the games that went on so long."""
        return self._by_year("welfare")

    @cached_property
    def usage(self) -> LMUsage | None:
        """What language models have used; None if none played."""
        return usage_of(self.records)

    @property
    def _powers(self) -> list[str]:
        return list(self.measures[0].scores)

    def _mean(self, of: Callable[[GameMeasures], float]) -> Estimate:
        return mean_estimate([of(game) for game in self.measures], self.seed)

    def _by_year(self, what: Literal["units", "centers", "welfare"]) -> dict[int, Estimate]:
        values: dict[int, list[float]] = {}
        for curves in (game.yearly_curves for game in self.measures):
            for year, value in zip(curves.years, getattr(curves, what), strict=True):
                values.setdefault(year, []).append(value)
        return {year: mean_estimate(values[year], self.seed) for year in sorted(values)}

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "policy": self.policy,
            "seed": self.seed,
            "games": len(self.measures),
            "map": self.map_name,
            "rules": self.rules.to_dict(),
            **{name: getattr(self, name).to_dict() for name in MEASURES},
            **{name: _told(getattr(self, name)) for name in (*BY_POWER, *BY_YEAR)},
            **({} if self.usage is None else {"language_models": asdict(self.usage)}),
        }


MEASURES = (
    "root_nash_welfare",
    "root_nash_welfare_smoothed",
    "nash_welfare",
    "proficiency",
    "stolen_centers",
    "conflicts",
)
BY_POWER = ("welfare_per_year", "scores")
BY_YEAR = ("units_by_year", "centers_by_year", "welfare_by_year")


def _told(estimates: Mapping[Any, Estimate]) -> dict[str, Any]:
    return {str(key): estimate.to_dict() for key, estimate in estimates.items()}


def self_play(
    policy: PolicyLike,
    games: int = 5,
    *,
    seed: int = 0,
    rules: Rules | None = None,
    map_name: str = "standard",
    engine: str = DEFAULT_ENGINE,
    workers: int | Workers = 1,
    store: GameStore | None = None,
    report: Report | None = None,
    simultaneous: bool = False,
    models: SharedModels | None = None,
) -> SelfPlayResult:
    """Play a policy against itself and measure the games.

    Args:
        policy: a spec as `agents.make` takes it, a class, a function that makes a policy, or an instance, of which each
            seat of each game gets a copy. What has no name (see `play_all`) is played, but not stored.
        games: how many; the paper plays five.
        seed: the same seed gives the same result, whatever the number of workers.
        rules: the paper's by default.
        store: where finished games are kept and found again; None keeps them nowhere.
        report: is told how many more games are there (for progress bars).
        simultaneous: whether all players speak at the same time in a round; see `GameSpec`.
        models: where language models come from; None for those without budget and cache.

    Raises:
        UnknownAgentError, UnknownMapError, RulesError: as their names say.
        EvaluationError: a number or a seed out of range, or a store, report or models of another kind.
        LMError: a budget is used up, a model cannot be asked, or a prompt does not fit the game.
    """
    board, played = check_options(
        games=games, seed=seed, rules=rules, map_name=map_name, engine=engine, workers=workers
    )
    check_means(store=store, report=report, simultaneous=simultaneous, models=models)
    spec = read(policy)
    spec.make(models)  # says at once what is wrong with it
    players = profile(board, played, spec)
    common: dict[str, Any] = {"rules": played, "map_name": map_name, "engine": engine, "simultaneous": simultaneous}
    specs = common_games(players, games, seed=seed, **common)
    records = play_all(specs, workers=workers, store=store, report=report, models=models)
    measures = tuple(measure(record) for record in records)
    return SelfPlayResult(as_given(policy, spec), seed, played, map_name, measures, tuple(records))
