"""Cross-play: games of every mix of several policies, and the game of choosing one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from agents.specs import PolicyLike, Spec, as_given, read
from evaluation.checks import EvaluationError, check_whole
from evaluation.experiments.mixes import MOST_POLICIES, all_mixes, check_balanced, drawn_mixes, mixed_games
from evaluation.experiments.self_play import make_all
from evaluation.measures.evolution import RestPoint, alpha_rank, rest_points
from evaluation.measures.intervals import Estimate, mean_estimate, mean_estimates
from evaluation.measures.lm_usage import LMUsage, usage_of
from evaluation.measures.metrics import GameMeasures, measure
from evaluation.measures.ratings import ratings, won
from evaluation.measures.rows import Row, frame, game_rows, same_columns, year_rows
from evaluation.measures.symmetric_game import Counts, Equilibrium, SymmetricGame
from evaluation.play.games import GameSpec, Record
from evaluation.play.setting import Options, Setting
from welfare_env import Rules
from welfare_env.options import takes_options

if TYPE_CHECKING:
    import pandas as pd

MOST_TYPES = 4
"""Policies in one mix at most, by default."""


@dataclass(frozen=True)
class MixedGames:
    """Games of one mix.

    Attributes:
        counts: policy -> its seats, of those that have any.
        seats: of each game: power -> policy.
        measures: of each game.
        paid: of each game: power -> its points a year, in the standard variant its score.
        seed: of the evaluation.
    """

    counts: dict[str, int]
    seats: tuple[dict[str, str], ...]
    measures: tuple[GameMeasures, ...]
    paid: tuple[Mapping[str, float], ...]
    seed: int

    @cached_property
    def payoffs(self) -> dict[str, Estimate]:
        """Policy -> mean points of its seats (per capita)."""
        return mean_estimates({policy: self._mean_of(policy) for policy in self.counts}, self.seed)

    @cached_property
    def root_nash_welfare(self) -> Estimate:
        """Of all seats (nan in the standard variant)."""
        return mean_estimate([game.root_nash_welfare for game in self.measures], self.seed)

    @property
    def profile(self) -> str:
        """The mix as a profile: "4*dove + 3*hold"."""
        return " + ".join(
            f"{count}*({policy})" if ":" in policy else f"{count}*{policy}" for policy, count in self.counts.items()
        )

    def _mean_of(self, policy: str) -> list[float]:
        return [
            float(np.mean([paid[power] for power, who in seats.items() if who == policy]))
            for paid, seats in zip(self.paid, self.seats, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "seats": self.counts,
            "payoffs": {policy: estimate.to_dict() for policy, estimate in self.payoffs.items()},
            "root_nash_welfare": self.root_nash_welfare.to_dict(),
        }


@dataclass(frozen=True)
class Scenario:
    """A policy in some seats among held-out background players (as in Melting Pot: Leibo et al., ICML 2021).

    Attributes:
        focal: the policy under test. background: who has the other seats.
        games: of this mix.
    """

    focal: str
    background: str
    games: MixedGames

    @property
    def focal_return(self) -> Estimate:
        """Mean points of the focal seats: the focal per-capita return."""
        return self.games.payoffs[self.focal]

    @property
    def background_return(self) -> Estimate:
        """Mean points of the background seats."""
        return self.games.payoffs[self.background]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "focal": self.focal,
            "background": self.background,
            "focal_seats": self.games.counts[self.focal],
            "focal_return": self.focal_return.to_dict(),
            "background_return": self.background_return.to_dict(),
            "root_nash_welfare": self.games.root_nash_welfare.to_dict(),
        }


@dataclass(frozen=True)
class CrossPlayResult:
    """Games of mixes of policies.

    Attributes:
        policies: as they were given.
        seed, rules, map_name: as in self-play.
        games: of each mix. Game i has the same seed in all of them.
        mixes: seats per policy, in the sequence of `policies` -> the games of this mix.
        mixes_in_all: how many there are without a share; fewer were played where one was drawn.
        scenarios: with background players.
        usage: what language models have used; None if none played.
    """

    policies: tuple[str, ...]
    seed: int
    rules: Rules
    map_name: str
    games: int
    mixes: dict[Counts, MixedGames]
    mixes_in_all: int
    scenarios: tuple[Scenario, ...]
    usage: LMUsage | None = None

    def rows(self, by_year: bool = False) -> list[Row]:
        """A row a game and power, or a game, power and year: of every mix, then of every scenario.

        See `evaluation.measures.rows` for the columns; the profile is the mix, "4*dove + 3*hold".
        """
        rows = year_rows if by_year else game_rows
        found = [row for mix in self._played for row in rows(mix.measures, mix.profile)]
        return found if by_year else same_columns(found)

    def to_frame(self, by_year: bool = False) -> pd.DataFrame:
        """The rows as a table of pandas.

        Raises:
            TableError: pandas is not installed.
        """
        return frame(self.rows(by_year))

    @property
    def _played(self) -> tuple[MixedGames, ...]:
        return (*self.mixes.values(), *(scenario.games for scenario in self.scenarios))

    @property
    def older_games(self) -> int:
        """How many of the games were found in the store, played by code that has changed since."""
        return sum(game.facts.is_older for mix in self._played for game in mix.measures)

    @cached_property
    def empirical_game(self) -> SymmetricGame:
        """The symmetric game of choosing a policy, in which a seat's payoff is the mean that was measured.

        Payoffs of mixes that were not played are fitted (`SymmetricGame.of`).
        """
        return self._game_of({counts: self._row(mix, None) for counts, mix in self.mixes.items()})

    @cached_property
    def is_fitted(self) -> bool:
        """Whether some payoffs of the empirical game were not played, but fitted."""
        seats = len(self.mixes[next(iter(self.mixes))].seats[0])
        return len(self.mixes) < len(all_mixes(len(self.policies), seats, seats))

    @property
    def equilibria(self) -> tuple[Equilibrium, ...]:
        """Symmetric Nash equilibria of the empirical game."""
        return self.empirical_game.equilibria

    @cached_property
    def gains(self) -> tuple[dict[str, Estimate], ...]:
        """Of each equilibrium: policy -> what one player gains by playing it alone, with its interval over games."""
        games = [
            self._game_of({counts: self._row(mix, game) for counts, mix in self.mixes.items()})
            for game in range(self.games)
        ]
        told = []
        for equilibrium in self.equilibria:
            mix = np.array(list(equilibrium.mix.values()))
            by_game = np.array([game.gains(mix) for game in games])
            told.append(mean_estimates(dict(zip(self.policies, by_game.T, strict=True)), self.seed))
        return tuple(told)

    @cached_property
    def rest_points(self) -> tuple[RestPoint, ...]:
        """Where the replicator dynamics of the empirical game come to."""
        return rest_points(self.empirical_game)

    @cached_property
    def alpha_rank(self) -> dict[str, float]:
        """Policy -> its share by alpha-rank."""
        return alpha_rank(self.empirical_game)

    @cached_property
    def ratings(self) -> dict[str, Estimate]:
        """Policy -> its rating by who has more points than whom at one table: a side figure."""
        wins = [
            sum(won(mix.paid[game], mix.seats[game], self.policies) for mix in self.mixes.values())
            for game in range(self.games)
        ]
        return ratings(np.array(wins), self.policies, self.seed)

    @cached_property
    def self_play_welfare(self) -> dict[str, Estimate]:
        """Policy -> root Nash welfare when all seats play it."""
        pure = {next(iter(mix.counts)): mix for mix in self.mixes.values() if len(mix.counts) == 1}
        return {policy: pure[policy].root_nash_welfare for policy in self.policies}

    @cached_property
    def mixed_payoffs(self) -> dict[str, Estimate]:
        """Policy -> mean points of its seats over the mixes with others that were played, each mix counted once."""
        told = {}
        for policy in self.policies:
            mine = [mix.payoffs[policy].per_game for mix in self.mixes.values() if {policy} < mix.counts.keys()]
            told[policy] = mean_estimate(np.mean(mine, axis=0) if mine else [np.nan], self.seed)
        return told

    def _row(self, mix: MixedGames, game: int | None) -> list[float]:
        """Payoff of each policy in a mix, in one game or on average; nan for those without a seat."""
        found = {
            policy: estimate.value if game is None else estimate.per_game[game]
            for policy, estimate in mix.payoffs.items()
        }
        return [found.get(policy, np.nan) for policy in self.policies]

    def _game_of(self, payoffs: Mapping[Counts, Sequence[float]]) -> SymmetricGame:
        return SymmetricGame.of(self.policies, payoffs)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "policies": list(self.policies),
            "seed": self.seed,
            "games": self.games,
            "older_games": self.older_games,
            "map": self.map_name,
            "rules": self.rules.to_dict(),
            "mixes_in_all": self.mixes_in_all,
            "mixes": [mix.to_dict() for mix in self.mixes.values()],
            "is_fitted": self.is_fitted,
            "equilibria": [
                equilibrium.to_dict() | {"gains": {policy: gain.to_dict() for policy, gain in gains.items()}}
                for equilibrium, gains in zip(self.equilibria, self.gains, strict=True)
            ],
            "rest_points": [point.to_dict() for point in self.rest_points],
            "alpha_rank": self.alpha_rank,
            **{name: _told(getattr(self, name)) for name in ("self_play_welfare", "mixed_payoffs", "ratings")},
            "scenarios": [scenario.to_dict() for scenario in self.scenarios],
            **({} if self.usage is None else {"language_models": asdict(self.usage)}),
        }


def _told(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    return {policy: estimate.to_dict() for policy, estimate in estimates.items()}


@takes_options(Setting)
def cross_play(
    policies: Sequence[PolicyLike],
    games: int = 7,
    *,
    share: float = 1.0,
    types: int = MOST_TYPES,
    background: Sequence[PolicyLike] = (),
    focal_seats: Sequence[int] = (1,),
    **options: Unpack[Options],
) -> CrossPlayResult:
    """Play mixes of policies (so many seats of one, so many of another), and measure what each is paid in each mix.

    Args:
        policies: two to ten, each as for `agents.make`.
        games: of each mix. With seats that go round a multiple of the number of powers, so that every policy sits in
            every seat equally often.
        share: of the mixes of several policies, drawn at random. Those of one policy are always played.
        types: how many policies a mix has at most.
        background: held-out players: every policy is also played in `focal_seats` seats with the others played by each
            of these.
        focal_seats: how many seats the policies have among background players; each number is one scenario.
        options: what is played and with what: the fields of `evaluation.Setting`.

    Raises:
        UnknownAgentError, UnknownMapError, RulesError: as their names say.
        EvaluationError: a number out of range, a policy twice, a background player that is one of the policies, or
            games in which seats are not balanced.
        LMError: a budget is used up, a model cannot be asked, or a prompt does not fit the game.
    """
    setting = Setting(**options)
    check_balanced(setting, games)
    known = _named(policies, "policies", 2, {})
    others = _named(background, "background", 0, known)
    seats = len(setting.board.powers)
    mixes = planned_mixes(len(known), seats, share, types, setting.seed)
    scenarios = [(focal, other, count) for other in others for count in _focal(focal_seats, seats) for focal in known]
    make_all([*known.values(), *others.values()], setting.models)
    specs = list(known.values())
    wished = [list(zip(mix, specs, strict=True)) for mix in mixes]
    wished += [[(count, known[focal]), (seats - count, others[other])] for focal, other, count in scenarios]
    played, records = _played(setting, wished, games, {spec: name for name, spec in (known | others).items()})
    told = tuple(
        Scenario(focal, other, mix) for (focal, other, _), mix in zip(scenarios, played[len(mixes) :], strict=True)
    )
    return CrossPlayResult(
        tuple(known),
        setting.seed,
        setting.played,
        setting.map_name,
        games,
        dict(zip(mixes, played[: len(mixes)], strict=True)),
        len(all_mixes(len(known), seats, types)),
        told,
        usage_of(records),
    )


def planned_mixes(policies: int, seats: int, share: float, types: int, seed: int) -> list[Counts]:
    """Seats per policy of the mixes that `cross_play` plays.

    Raises:
        EvaluationError: a number out of range.
    """
    check_whole("types", types, 1, MOST_POLICIES)
    return drawn_mixes(policies, seats, types, share, seed)


def _named(policies: Sequence[PolicyLike], what: str, least: int, taken: Mapping[str, Spec]) -> dict[str, Spec]:
    """Name -> spec. Objects without a name that look alike are numbered.

    Args:
        taken: those that are there already.

    Raises:
        EvaluationError: no list, too few or too many, or one of them twice.
    """
    if not isinstance(policies, list | tuple) or not least <= len(policies) <= MOST_POLICIES:
        raise EvaluationError(f"{what}={policies!r:.80}: give a list of {least} to {MOST_POLICIES} policies")
    found: dict[str, Spec] = {}
    for policy in policies:
        spec = read(policy)
        if spec in taken.values():
            raise EvaluationError(f"{what}: {spec.text} is one of the policies: a background player is held out")
        if spec in found.values():
            raise EvaluationError(f"{what}: {spec.text} is there twice")
        name = as_given(policy, spec)
        is_new = name not in found and name not in taken
        found[name if is_new else f"{name} ({len(found) + len(taken) + 1})"] = spec
    return found


def _focal(focal_seats: Sequence[int], seats: int) -> list[int]:
    if not isinstance(focal_seats, list | tuple) or not focal_seats:
        raise EvaluationError(f"focal_seats={focal_seats!r:.80}: give a list of numbers of seats")
    for count in focal_seats:
        check_whole("focal_seats", count, 1, seats - 1)
    return list(dict.fromkeys(focal_seats))


def _played(
    setting: Setting, mixes: Sequence[Sequence[tuple[int, Spec]]], games: int, names: Mapping[Spec, str]
) -> tuple[list[MixedGames], list[Record]]:
    """The games of each mix, and the records of all, each once."""
    specs = [game for mix in mixes for game in mixed_games(setting, mix, games)]
    records = setting.play(specs)
    played = []
    for place, mix in enumerate(mixes):
        own = slice(place * games, (place + 1) * games)
        counts = {names[spec]: count for count, spec in mix if count}
        played.append(_measured(setting, counts, specs[own], records[own], names))
    return played, list(dict(zip(specs, records, strict=True)).values())


def _measured(
    setting: Setting,
    counts: dict[str, int],
    specs: Sequence[GameSpec],
    records: Sequence[Record],
    names: Mapping[Spec, str],
) -> MixedGames:
    powers = setting.board.powers  # a mediator has no part in the mix
    measures = tuple(measure(record, published=setting.published) for record in records)
    seats = tuple({power: names[policy] for power, policy in spec.players if power in powers} for spec in specs)
    points = [game.welfare_per_year if setting.played.is_welfare else game.scores for game in measures]
    paid = tuple({power: each[power] for power in powers} for each in points)
    return MixedGames(counts, seats, measures, paid, setting.seed)
