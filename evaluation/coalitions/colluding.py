"""Collusion: coalitions that deviate from a profile, compared with each member deviating alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from agents.specs import PolicyLike, Profile, ProfileLike, profile_as_given, read_profile
from evaluation.checks import MOST_GAMES, EvaluationError, check_games, check_whole, listed
from evaluation.coalitions.result import CollusionResult
from evaluation.coalitions.surplus import surpluses
from evaluation.experiments.attacks import CONFIRMED, GAMES, ITSELF, Attacks, Deviation
from evaluation.experiments.deviators import TEMPLATE, Deviator, Deviators, can_coordinate, read_deviators
from evaluation.experiments.evaluation_plan import EvaluationPlan
from evaluation.experiments.exploitability import resolve_coalitions
from evaluation.experiments.exploitability_result import Attack, Games
from evaluation.experiments.notes import portfolio_notes
from evaluation.experiments.red_team import RAID, pacts, starts
from evaluation.measures.choice import FINALISTS, choose, rounds
from evaluation.measures.gains import Points
from evaluation.measures.intervals import Coalition, Floats
from evaluation.play.game_settings import GameSettings, Options
from welfare_env import Board, RulesError
from welfare_env.checks import quoted
from welfare_env.options import takes_options

SIZES = (2, 3)
CHOOSING = 3
"""Default number of games per coalition in the first selection round."""


@takes_options(GameSettings)
def collusion(
    policy: ProfileLike,
    games: int = GAMES,
    *,
    sizes: Sequence[int] = SIZES,
    coalitions: str | Iterable[Sequence[str]] | None = None,
    attackers: Deviators | None = None,
    choosing: int = CHOOSING,
    **options: Unpack[Options],
) -> CollusionResult:
    """Measure how much more powers gain by deviating together than each alone, and what the others lose.

    Every attacker is tried with every coalition, and with every power alone. The coalition with the largest surplus is
    selected on separate games, by successive halving (`evaluation.measures.choice`). Then `games` fresh games each are
    played: self-play, the chosen coalition, its contenders, the best coalition of each size and kind, and each of
    their members alone with every attacker. Game i has the same seed in all of these.

    Args:
        policy: one policy for all seats, or a profile.
        games: games of self-play and of each measured coalition and member.
        sizes: sizes of the coalitions to try: 2, 3 or more, but fewer than all powers.
        coalitions: instead of `sizes`: "pairs" (the paper's), "all-pairs", or a list of coalitions.
        attackers: one or more policies for the members, as `deviator` of `evaluation.exploitability`. Coalition
            policies (`agents.CoalitionPolicy`) play all members with one object; otherwise each member has its own. By
            default the paper's exploiter, raids and pacts (`default_attackers`).
        choosing: games per coalition in the first selection round.
        options: the fields of `evaluation.Setting`.

    Raises:
        UnknownAgentError, ProfileError, UnknownMapError, UnknownPowerError, RulesError: an invalid policy, profile,
            map, power or rules.
        EvaluationError: no coalitions, coalitions of one or of all powers, or a number out of range.
    """
    own: dict[str, Any] = {"sizes": sizes, "coalitions": coalitions, "attackers": attackers, "choosing": choosing}
    plan = plan_collusion(policy, games, GameSettings(**options), **own)
    return plan.run(plan.settings)


def plan_collusion(
    policy: ProfileLike,
    games: int,
    settings: GameSettings,
    *,
    sizes: Sequence[int] = SIZES,
    coalitions: str | Iterable[Sequence[str]] | None = None,
    attackers: Deviators | None = None,
    choosing: int = CHOOSING,
) -> EvaluationPlan[CollusionResult]:
    """Check the arguments of `collusion` and plan its games; raises the same errors."""
    if not settings.played.is_welfare:
        raise RulesError("collusion is measured in welfare points: use variant='welfare'")
    check_games(games)
    check_whole("choosing", choosing, 1, MOST_GAMES)
    profile, name = read_profile(policy), profile_as_given(policy)
    settings.execution.check_policies(profile.policies)
    deviators = read_attackers(attackers, profile, name, settings)
    settings.execution.check_policies(spec for each in deviators for spec in each.policies)
    chosen = check_coalitions(settings.board, sizes, coalitions)
    settings.games(profile, games)
    most_games = count_collusion_games(settings.board, deviators, chosen, games, choosing)

    def run(settings: GameSettings) -> CollusionResult:
        with settings.pooled() as pooled:
            attacks = CoalitionAttacks(pooled, profile, deviators, chosen)
            attacks.choose(choosing)
            attacks.confirm(games, None, games)
            pooled.execution.report(most_games - attacks.played)  # games that turned out not to be needed
            result = attacks.collusion(name)
        notes = portfolio_notes(settings, attackers) if attackers is not None else ()
        return replace(result, found=replace(result.found, notes=notes + result.found.notes))

    return EvaluationPlan(settings, most_games, run)


def read_attackers(
    attackers: Deviators | None, profile: Profile, name: str, setting: GameSettings
) -> tuple[Deviator, ...]:
    """Parse the attackers, by default `default_attackers`; errors as `read_deviators`."""
    given = default_attackers(setting.played.years) if attackers is None else attackers
    return read_deviators(given, profile, name, setting)


def default_attackers(years: int) -> list[PolicyLike]:
    """The paper's exploiter and raids (each member on its own), and pacts (one policy for all members).

    Raids and pacts begin early, midway or late.

    Args:
        years: length of the game.
    """
    return [TEMPLATE, *(f"{RAID},years={year}" for year in starts(years)), *pacts(years)]


def check_coalitions(
    board: Board, sizes: Sequence[int], coalitions: str | Iterable[Sequence[str]] | None
) -> list[Coalition]:
    """The coalitions to try.

    Raises:
        EvaluationError, UnknownPowerError: as `collusion`.
    """
    powers = board.powers
    if coalitions is not None:
        chosen = resolve_coalitions(board, coalitions)
    else:
        given = list(dict.fromkeys(listed("sizes", sizes, "(2, 3)")))
        for size in given:
            check_whole("sizes", size, 2, len(powers))
        chosen = [each for size in given if size < len(powers) for each in combinations(powers, size)]
    wrong = [each for each in chosen if not 2 <= len(each) < len(powers)]
    if wrong or not chosen:
        what = "+".join(wrong[0]) if wrong else f"sizes={quoted(sizes)}"
        raise EvaluationError(
            f"{what}: a coalition needs at least two powers, and fewer than all; the map {board.name!r} "
            f"has {len(powers)}: {', '.join(powers)}"
        )
    return chosen


class CoalitionAttacks(Attacks):
    """Selects coalitions by their surplus over the members' gains alone, and measures them on fresh games.

    Attributes:
        best_alone: power -> the best attack alone, or `ITSELF` if none pays. Estimated from few games, so used only
            for the selection.
    """

    def __init__(
        self, setting: GameSettings, profile: Profile, deviators: Sequence[Deviator], coalitions: Sequence[Coalition]
    ) -> None:
        self._deviators = deviators
        self._coordinated = tuple(each.name for each in deviators if can_coordinate(each, setting.execution))
        tried = [self._deviation(each, coalition) for each in deviators for coalition in coalitions]
        super().__init__(setting, profile, tried)
        self._powers = [power for power in setting.board.powers if any(power in each for each in coalitions)]
        self._known: dict[tuple[Attack, range], Points] = {}
        self.best_alone: dict[str, Deviation] = {}

    def choose(self, games: int) -> None:
        """Select the best attack of each power alone, then the coalitions to measure and their members' attacks alone.

        Args:
            games: games per attack in the first round.
        """
        for power in self._powers:
            self.best_alone[power] = self._best_alone(power, games)
        super().choose(games)
        members = {power: None for each in self.confirmed for power in each.coalition}
        self.confirmed += [self._deviation(each, (power,)) for power in members for each in self._deviators]

    def collusion(self, name: str) -> CollusionResult:
        """The result of all games so far; `name` is the name of the profile."""
        found = self.result(name)
        alone: dict[Attack, Games] = {}
        together: dict[str, dict[Coalition, Games]] = {}
        for each in self.confirmed:
            deviator, coalition = each.attack
            games = found.attacks[deviator][coalition]
            if len(coalition) > 1:
                together.setdefault(deviator, {})[coalition] = games
            else:
                alone[each.attack] = games
        witnesses = {attack: game for attack, game in found.witnesses.items() if len(attack[1]) > 1}
        return CollusionResult(replace(found, attacks=together, witnesses=witnesses), alone, self._coordinated)

    def _deviation(self, deviator: Deviator, coalition: Coalition) -> Deviation:
        is_coordinated = deviator.name in self._coordinated
        return Deviation(deviator, coalition, is_coordinated, group=(len(coalition), is_coordinated))

    def _best_alone(self, power: str, games: int) -> Deviation:
        """The best of a power's options alone: to follow the profile, or an attack."""
        singles = [ITSELF, *(self._deviation(each, (power,)) for each in self._deviators)]

        def play(candidates: Sequence[int], numbers: range) -> list[Floats]:
            played = [singles[candidate] for candidate in candidates]
            found = self._points(played, numbers)
            return [np.asarray(found[each.attack][power], dtype=np.float64)[:, None] for each in played]

        return singles[choose(len(singles), play, games).best]

    def gains(self, candidates: Sequence[int], numbers: range) -> list[Floats]:
        """For each coalition, its two surpluses in these selection games, [games, 2]."""
        played = [self.tried[candidate] for candidate in candidates]
        seats = [(each, power) for each in played for power in each.coalition]
        singles = [one for each, power in seats for one in (replace(each, coalition=(power,)), self.best_alone[power])]
        found = self._points([*played, *singles], numbers)
        return [self._surpluses(each, found) for each in played]

    def _surpluses(self, attack: Deviation, found: dict[Attack, Points]) -> Floats:
        same = {power: found[attack.attack[0], (power,)][power] for power in attack.coalition}
        best = {power: found[self.best_alone[power].attack][power] for power in attack.coalition}
        return surpluses(attack.coalition, found[attack.attack], same, best)

    def _points(self, wanted: Sequence[Deviation], numbers: range) -> dict[Attack, Points]:
        """Points in these selection games, cached from earlier calls."""
        new = {each.attack: each for each in wanted if (each.attack, numbers) not in self._known}
        if new:
            found = self.points_for_choosing(list(new.values()), numbers)
            self._known |= {(attack, numbers): paid for attack, paid in found.items()}
        return {each.attack: self._known[each.attack, numbers] for each in wanted}


def count_collusion_games(
    board: Board, deviators: Sequence[Deviator], coalitions: Sequence[Coalition], games: int, choosing: int
) -> int:
    """The maximum number of games that `collusion` plays."""
    attacks, powers = len(deviators) * len(coalitions), len(board.powers)
    singles = len(deviators) * powers  # and self-play below
    groups = 2 * len({len(each) for each in coalitions})
    confirmed = attacks if attacks <= CONFIRMED else min(attacks, FINALISTS + groups)
    members = min(singles, len(deviators) * confirmed * max(map(len, coalitions)))
    tried = rounds(attacks, choosing) if attacks > 1 else ()
    chosen = sum((number + singles + 1) * len(numbers) for number, numbers in tried)
    alone = sum(number * powers * len(numbers) for number, numbers in rounds(1 + len(deviators), choosing))
    return chosen + alone + (1 + confirmed + members) * games
