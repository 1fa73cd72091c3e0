"""Cross-play: games of every mix of several policies, and the empirical game of choosing a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Any, Unpack

import numpy as np

from agents.runtime.results import Printable
from agents.runtime.table_files import Row
from agents.specs import PolicyLike, Profile, Spec, as_given, read
from evaluation.checks import EvaluationError, check_games, check_whole
from evaluation.experiments.notes import illegal_order_notes, orders_of
from evaluation.measures.intervals import Estimate, Floats, mean_estimate, mean_estimates, plain
from evaluation.measures.lm_usage import LMUsage, usage_of
from evaluation.measures.metrics import GameMeasures, measure
from evaluation.measures.rows import PlayedResult, game_rows, same_columns
from evaluation.measures.symmetric_game import Counts, Equilibrium, SymmetricGame, compositions
from evaluation.options import takes_options
from evaluation.play.game_spec import GameSpec, Setting
from evaluation.play.runner import Evaluation, PlayOptions, Runner, Wanted, read_options
from welfare_env import Rules
from welfare_env.checks import quoted

MAX_POLICIES = 10
MAX_TYPES = 4
"""Default maximum number of policies in a mix."""
LEAST_ROTATIONS = 5
"""From this number of seat rotations on, rotations are the samples of the empirical game; below, single games are."""


@dataclass(frozen=True, repr=False)
class MixedGames(Printable):
    """The games of one mix. Points are welfare points a year; in the standard variant, the score.

    Attributes:
        counts: policy -> number of seats, for policies with at least one seat.
        seats: for each game, power -> policy.
        measures: measures of each game.
        seed: seed of the evaluation.
    """

    counts: dict[str, int]
    seats: tuple[dict[str, str], ...]
    measures: tuple[GameMeasures, ...]
    seed: int

    @cached_property
    def payoffs(self) -> dict[str, Estimate]:
        """Policy -> mean points of its seats (per-capita return)."""
        paid: dict[str, list[float]] = {policy: [] for policy in self.counts}
        for game, seats in zip(self.measures, self.seats, strict=True):
            points = game.welfare_per_year if game.facts.rules["variant"] == "welfare" else game.scores
            for policy, mine in paid.items():
                mine.append(float(np.mean([points[power] for power, who in seats.items() if who == policy])))
        return mean_estimates(paid, self.seed)

    @cached_property
    def root_nash_welfare(self) -> Estimate:
        """Root Nash welfare of all seats (nan in the standard variant)."""
        return mean_estimate([game.root_nash_welfare for game in self.measures], self.seed).within(0)

    @property
    def profile(self) -> str:
        """The mix as a profile: "4*dove + 3*hold"."""
        named = {policy: f"({policy})" if ":" in policy else policy for policy in self.counts}
        return " + ".join(f"{count}*{named[policy]}" for policy, count in self.counts.items())

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        payoffs, welfare = plain(self.payoffs), self.root_nash_welfare.to_dict()
        return {"seats": self.counts, "payoffs": payoffs, "root_nash_welfare": welfare}


@dataclass(frozen=True, repr=False)
class Scenario(Printable):
    """A policy in some seats among held-out background players (as in Melting Pot: Leibo et al., ICML 2021).

    Attributes:
        focal: the tested policy; `games.payoffs[focal]` is its focal per-capita return.
        background: the policy in the other seats.
        games: the games of this mix.
    """

    focal: str
    background: str
    games: MixedGames

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "focal": self.focal,
            "background": self.background,
            "focal_seats": self.games.counts[self.focal],
            "focal_return": self.games.payoffs[self.focal].to_dict(),
            "background_return": self.games.payoffs[self.background].to_dict(),
            "root_nash_welfare": self.games.root_nash_welfare.to_dict(),
        }


@dataclass(frozen=True, repr=False)
class CrossPlayResult(PlayedResult):
    """Games of mixes of policies.

    Attributes:
        policies: names of the policies, as given.
        seed, rules, map_name: as in self-play.
        games: number of games per mix. Game i has the same seed in every mix.
        mixes: seats per policy, in the order of `policies` -> the games of this mix.
        scenarios: the games with background players.
        usage: calls, tokens and cost of language models; None without language models.
        notes: caveats, such as illegal orders.
        rotation: number of games in a full rotation of the seats; 1 if seats do not rotate.
    """

    policies: tuple[str, ...]
    seed: int
    rules: Rules
    map_name: str
    games: int
    mixes: dict[Counts, MixedGames]
    scenarios: tuple[Scenario, ...]
    usage: LMUsage | None = None
    notes: tuple[str, ...] = ()
    rotation: int = 1

    def rows(self, by_year: bool = False) -> list[Row]:
        """One row per game and power, or per game, power and year: first the mixes, then the scenarios.

        See docs/results.md for the columns; the profile is the mix, "4*dove + 3*hold".
        """
        return same_columns(
            row
            for mix in (*self.mixes.values(), *(scenario.games for scenario in self.scenarios))
            for row in game_rows(mix.measures, mix.profile, evaluation_seed=self.seed, by_year=by_year)
        )

    @property
    def games_a_sample(self) -> int:
        """Games per sample of `empirical_game`: a rotation of the seats if there are five or more rotations, else 1.

        With rotations as samples, differences between seats do not widen the intervals.
        """
        return self.rotation if self.games >= LEAST_ROTATIONS * self.rotation else 1

    @cached_property
    def empirical_game(self) -> SymmetricGame:
        """The symmetric game in which each player chooses a policy, with the payoffs of each sample.

        Payoffs of mixes that were not played are fitted (`SymmetricGame.of`).
        """
        size = self.games_a_sample
        samples = [
            {counts: self._row(mix, slice(start, start + size)) for counts, mix in self.mixes.items()}
            for start in range(0, self.games, size)
        ]
        return SymmetricGame.of(self.policies, samples, self.seed)

    @property
    def equilibria(self) -> tuple[Equilibrium, ...]:
        """Symmetric Nash equilibria of the empirical game."""
        return self.empirical_game.equilibria

    @property
    def gains(self) -> tuple[dict[str, Estimate], ...]:
        """For each equilibrium: policy -> gain of one player who deviates to it, with its interval."""
        return tuple(equilibrium.gains for equilibrium in self.equilibria)

    @property
    def invasion(self) -> dict[tuple[str, str], Estimate]:
        """(resident, mutant) -> payoff of a single mutant among residents minus that of a resident."""
        return self.empirical_game.invasion

    @cached_property
    def self_play_welfare(self) -> dict[str, Estimate]:
        """Policy -> root Nash welfare of its self-play."""
        pure = {next(iter(mix.counts)): mix for mix in self.mixes.values() if len(mix.counts) == 1}
        return {policy: pure[policy].root_nash_welfare for policy in self.policies}

    @cached_property
    def mixed_payoffs(self) -> dict[str, Estimate]:
        """Policy -> mean points of its seats over the played mixes with other policies, all mixes weighted equally."""
        return {policy: mean_estimate(self._among_others(policy), self.seed) for policy in self.policies}

    def _among_others(self, policy: str) -> Floats:
        """[games] mean points of the policy's seats."""
        mine = [mix.payoffs[policy].per_game for mix in self.mixes.values() if {policy} < mix.counts.keys()]
        return np.mean(mine, axis=0) if mine else np.array([np.nan])

    def _row(self, mix: MixedGames, games: slice) -> list[float]:
        """Mean payoff of each policy in some games of a mix; nan for policies without a seat."""
        payoffs = {policy: float(np.mean(each.per_game[games])) for policy, each in mix.payoffs.items()}
        return [payoffs.get(policy, np.nan) for policy in self.policies]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "policies": list(self.policies),
            **self.played(self.games),
            "mixes": plain(tuple(self.mixes.values())),
            "is_fitted": bool(self.empirical_game.fitted.any()),
            "games_a_sample": self.games_a_sample,
            "equilibria": plain(self.equilibria),
            "neutral_faces": plain(self.empirical_game.neutral_faces),
            "invasion": [
                {"residents": residents, "mutant": mutant, "gain": gain.to_dict()}
                for (residents, mutant), gain in self.invasion.items()
            ],
            "self_play_welfare": plain(self.self_play_welfare),
            "mixed_payoffs": plain(self.mixed_payoffs),
            "scenarios": plain(self.scenarios),
            **({} if self.usage is None else {"language_models": asdict(self.usage)}),
        }


@takes_options(Setting, Runner)
def cross_play(
    policies: Sequence[PolicyLike],
    games: int | None = None,
    *,
    types: int = MAX_TYPES,
    background: Sequence[PolicyLike] = (),
    focal_seats: Sequence[int] = (1,),
    **options: Unpack[PlayOptions],
) -> CrossPlayResult:
    """Play mixes of policies (4 seats of one and 3 of another, ...) and measure the payoff of each policy in each mix.

    Args:
        policies: two to ten, each as for `agents.make`.
        games: games per mix; None for one per power. With rotated seats, give a multiple of the number of powers, so
            that every policy plays every seat equally often: "balanced" is another word for these seats.
        types: maximum number of policies in a mix.
        background: held-out players: every policy also plays in `focal_seats` seats among each background player.
        focal_seats: numbers of focal seats among background players; each number is one scenario.
        options: the fields of `evaluation.Setting`, and the arguments of `evaluation.Runner`.

    Raises:
        UnknownAgentError, UnknownMapError, RulesError: an unknown policy or map, or invalid rules.
        EvaluationError: a number out of range, a policy listed twice, a background player that is one of the policies,
            or a number of games that does not balance the seats.
        LMError: a budget is exhausted, a model cannot be called, or a prompt does not fit the game.
    """
    if options.get("seats") == "balanced":
        options["seats"] = "rotated"
    mixes: dict[str, Any] = {"types": types, "background": background, "focal_seats": focal_seats}
    setting, runner = read_options(options)
    return runner.run(measure_cross_play(policies, games, setting, **mixes))


def measure_cross_play(
    policies: Sequence[PolicyLike],
    games: int | None,
    setting: Setting,
    *,
    types: int = MAX_TYPES,
    background: Sequence[PolicyLike] = (),
    focal_seats: Sequence[int] = (1,),
) -> Evaluation[CrossPlayResult]:
    """`cross_play` in a setting; raises the same errors."""
    powers = setting.board.powers  # without the mediator
    seats = len(powers)
    number = seats if games is None else games
    check_balanced(setting, number)
    known = _named(policies, "policies", 2, {})
    others = _named(background, "background", 0, known)
    check_whole("types", types, 1, MAX_POLICIES)
    mixes = all_mixes(len(known), seats, types)
    scenarios = [(focal, other, count) for other in others for count in _focal(focal_seats, seats) for focal in known]
    wished = [{name: count for name, count in zip(known, mix, strict=True) if count} for mix in mixes]
    wished += [{focal: count, other: seats - count} for focal, other, count in scenarios]
    specs = known | others
    names = {spec: name for name, spec in specs.items()}
    wanted = [_games(setting, [(count, specs[name]) for name, count in mix.items()], number) for mix in wished]
    asked = list(chain(*wanted))
    records = dict(zip(asked, (yield Wanted(asked)), strict=True))
    measures = {game: measure(record, paper_code=setting.paper_code) for game, record in records.items()}
    played = []
    for mix, own in zip(wished, wanted, strict=True):
        seated = tuple({power: names[spec] for power, spec in game.players if power in powers} for game in own)
        played.append(MixedGames(mix, seated, tuple(measures[game] for game in own), setting.seed))
    results = zip(scenarios, played[len(mixes) :], strict=True)
    return CrossPlayResult(
        *(tuple(known), setting.seed, setting.played, setting.map_name, number),
        mixes=dict(zip(mixes, played[: len(mixes)], strict=True)),
        scenarios=tuple(Scenario(focal, other, mix) for (focal, other, _), mix in results),
        usage=usage_of(list(records.values())),
        notes=illegal_order_notes(map(orders_of, records.values())),
        rotation=seats if setting.seats == "rotated" else 1,
    )


def _named(policies: Sequence[PolicyLike], what: str, least: int, taken: Mapping[str, Spec]) -> dict[str, Spec]:
    """Name -> spec. Unnamed objects with the same description are numbered.

    Args:
        taken: names and specs already in use.

    Raises:
        EvaluationError: not a list, too few or too many policies, or a policy listed twice.
    """
    if not isinstance(policies, list | tuple) or not least <= len(policies) <= MAX_POLICIES:
        raise EvaluationError(f"{what}={quoted(policies)}: give a list of {least} to {MAX_POLICIES} policies")
    named: dict[str, Spec] = {}
    for policy in policies:
        spec = read(policy)
        if spec in taken.values():
            raise EvaluationError(f"{what}: {spec.text} is also one of the policies: give other background players")
        if spec in named.values():
            raise EvaluationError(f"{what}: {spec.text} is listed twice")
        name = as_given(policy, spec)
        is_new = name not in named and name not in taken
        named[name if is_new else f"{name} ({len(named) + len(taken) + 1})"] = spec
    return named


def _focal(focal_seats: Sequence[int], seats: int) -> list[int]:
    if not isinstance(focal_seats, list | tuple) or not focal_seats:
        raise EvaluationError(f"focal_seats={quoted(focal_seats)}: give a list of numbers of seats, such as [1, 3]")
    for count in focal_seats:
        check_whole("focal_seats", count, 1, seats - 1)
    return list(dict.fromkeys(focal_seats))


def all_mixes(policies: int, seats: int, types: int) -> list[Counts]:
    """All mixes of at most `types` policies, as seats per policy: mixes of one policy first, then of two, and so on."""
    mixes: list[Counts] = []
    for number in range(1, min(types, policies, seats) + 1):
        for chosen in combinations(range(policies), number):
            for counts in compositions(seats - number, number):
                mix = dict(zip(chosen, counts, strict=True))
                mixes.append(tuple(mix[policy] + 1 if policy in mix else 0 for policy in range(policies)))
    return mixes


def check_balanced(setting: Setting, games: int) -> None:
    """Check that with rotated seats every policy plays every seat equally often.

    Raises:
        EvaluationError: `games` is not a multiple of the number of powers, or out of range.
    """
    check_games(games)
    seats = len(setting.board.powers)
    if setting.seats == "rotated" and games % seats:
        near = seats * max(1, round(games / seats))
        raise EvaluationError(
            f"games={games}: seats rotate, so give a multiple of {seats}, such as {near}; or seats='drawn'"
        )


def _games(setting: Setting, mix: Sequence[tuple[int, Spec]], games: int) -> list[GameSpec]:
    """Games of a mix. The order of the policies is drawn once per full rotation of the seats, then rotated.

    It depends only on the numbers of seats, not on the policies.
    """
    policies = [policy for count, policy in mix for _ in range(count)]
    found = []
    for game in range(games):
        if game % len(policies) == 0:
            rng = np.random.default_rng([setting.seed, game // len(policies), *(count for count, _ in mix)])
            table = Profile(tuple((1, policies[place]) for place in rng.permutation(len(policies)).tolist()))
        found.append(setting.game(table, game))
    return found
