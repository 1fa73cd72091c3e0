"""The games of an exploitability: attacks are selected on one set of games, and measured on fresh games."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from agents.specs import Profile
from evaluation.checks import MAX_GAMES, EvaluationError, check_games, check_whole
from evaluation.experiments.deviators import Deviator
from evaluation.experiments.exploitability_result import (
    Attack,
    ExploitabilityResult,
    Games,
    Screened,
    Witness,
    by_power,
    points,
)
from evaluation.experiments.notes import IllegalOrders
from evaluation.experiments.stopping import further_games
from evaluation.measures.gains import FINALISTS, Selection, choose, coalition_gain, member_gains, rounds
from evaluation.measures.intervals import CONFIDENCE, Coalition, Floats, mean_estimates
from evaluation.measures.lm_usage import usage_by_part, usage_by_seat, usage_of, without_texts
from evaluation.measures.metrics import GameMeasures, measure, welfare_per_year
from evaluation.play.game_spec import GameSpec
from evaluation.play.playing import Record
from evaluation.play.runner import Runner
from evaluation.play.setting import Setting

Read = TypeVar("Read")

PROFILE = "profile"
"""Name for the seats that keep to the profile, in the usage of language models by part."""

GAMES = 20
"""Default number of games in which the selected attacks are measured."""
SELECTION_GAMES = 5
"""Default number of games per attack in the first selection round."""
CONFIRMED = 10
"""Up to this number of attacks, all are measured; otherwise only the selected attacks (`Attacks.choose`)."""


@dataclass(frozen=True)
class Deviation:
    """An attack: a deviator and the coalition that plays it. By default nobody deviates.

    Attributes:
        deviator: the deviator; None for self-play.
        coalition: the powers that deviate.
        coordinated: whether one policy object plays all members.
        group: the best attack of each group is also measured in the reported games.
    """

    deviator: Deviator | None = None
    coalition: Coalition = ()
    coordinated: bool = False
    group: Hashable = ""

    @property
    def attack(self) -> Attack:
        """The deviator's name and the coalition."""
        return (self.deviator.name if self.deviator else "", self.coalition)

    def of(self, game: GameSpec) -> GameSpec:
        """The same game with the coalition's seats played by the deviator."""
        if self.deviator is None:
            return game
        attackers = self.deviator.attackers
        seats = tuple((power, attackers[spec] if power in self.coalition else spec) for power, spec in game.players)
        return replace(game, players=seats, coalition=self.coalition if self.coordinated else ())

    def parts(self, game: GameSpec) -> dict[str, str]:
        """Player -> the deviator's name or "profile"."""
        return {power: self.attack[0] if power in self.coalition else PROFILE for power, _ in game.players}


ITSELF = Deviation()
"""Self-play: nobody deviates."""


class AttackGame:
    """A played game: its compressed record (a tenth of the size), and counts.

    Args:
        parts: player -> part, for the usage of language models.
        keeps_record: whether to keep the record.
    """

    def __init__(self, spec: GameSpec, record: Record, parts: dict[str, str], keeps_record: bool) -> None:
        self._packed = zlib.compress(json.dumps(record).encode(), 1) if keeps_record else b""
        self.parts = parts
        self.illegal = IllegalOrders.of(spec.written, record)
        self.used: Record = without_texts(record)

    @property
    def record(self) -> Record:
        """The whole record."""
        record: Record = json.loads(zlib.decompress(self._packed))
        return record


class Attacks:
    """Selects attacks on a profile, and measures the selected attacks on fresh games.

    Args:
        tried: the attacks, at least one.

    Attributes:
        choice: result of the selection; None before it, or if there is only one attack.
        chosen: the best attack in the selection games.
        confirmed: the attacks to measure, in the order of `tried`.
        played: number of games so far.
    """

    def __init__(self, setting: Setting, runner: Runner, profile: Profile, tried: Sequence[Deviation]) -> None:
        self.setting, self.runner, self.profile, self.tried = setting, runner, profile, tried
        self.choice: Selection | None = None
        self.chosen = tried[0]
        self.confirmed: list[Deviation] = list(tried)
        self._specs: dict[Attack, list[GameSpec]] = {}
        self._measures: dict[Attack, list[GameMeasures]] = {}
        self._games: dict[GameSpec, AttackGame] = {}
        self.played = 0

    def choose(self, games: int) -> None:
        """Select the attacks to measure, on separate games; a single attack needs no selection.

        Args:
            games: games per attack in the first round.
        """
        if len(self.tried) == 1:
            return
        self.choice = choose(len(self.tried), self.gains, games)
        groups = [each.group for each in self.tried]
        wanted = [*self.choice.contenders, *self.choice.leaders(groups)]
        if len(self.tried) <= CONFIRMED:
            wanted += range(len(self.tried))
        self.chosen = self.tried[self.choice.best]
        self.confirmed = [self.tried[number] for number in sorted(set(wanted))]

    def confirm(self, games: int, precision: float | None, most: int) -> None:
        """Measure the selected attacks on fresh games, together with self-play.

        Args:
            games: games of each; with a precision, before the first check.
            precision: None, or play until the interval of the chosen attack's gain is at most this wide.
            most: with a precision, maximum number of games of each.
        """
        self._add(range(games))
        while precision is not None:
            played = len(self._specs[ITSELF.attack])
            base, away = (points(self._measures[each.attack]) for each in (ITSELF, self.chosen))
            gain = coalition_gain(base, away, self.chosen.coalition, self.setting.seed).gain
            more = further_games(gain, precision, most)
            if not more:
                break
            self._add(range(played, played + more))

    def result(self, name: str) -> ExploitabilityResult:
        """The result of all games so far.

        Args:
            name: name of the profile.
        """
        attacks: dict[str, dict[Coalition, Games]] = {}
        for each in self.confirmed:
            deviator, coalition = each.attack
            attacks.setdefault(deviator, {})[coalition] = tuple(self._measures[each.attack])
        used = [(game.used, game.parts) for game in self._games.values()]
        numbers = zip(self.tried, self.choice.means, self.choice.games, strict=True) if self.choice else ()
        screened = tuple(Screened(*each.attack, mean, games) for each, mean, games in numbers)
        return ExploitabilityResult(
            name,
            self.setting.seed,
            self.setting.played,
            self.setting.map_name,
            tuple(self._measures[ITSELF.attack]),
            attacks,
            self.chosen.attack,
            screened,
            {each.attack: self._witness(each) for each in self.confirmed},
            usage_of([record for record, _ in used]),
            usage_by_part(used),
            usage_by_seat(used),
            IllegalOrders.sum(game.illegal for game in self._games.values()).notes(),
        )

    def _add(self, numbers: range) -> None:
        """Play these games of self-play and of every confirmed attack."""
        deviations = [ITSELF, *self.confirmed]
        games = [self.setting.game(self.profile, number) for number in numbers]
        for attack, measured in self._play(deviations, games, self._measured, keeps_records=True).items():
            self._measures.setdefault(attack, []).extend(measured)
        for each in deviations:
            self._specs.setdefault(each.attack, []).extend(map(each.of, games))

    def gains(self, candidates: Sequence[int], numbers: range) -> list[Floats]:
        """For each attack, the members' gains in these selection games, [games, members]."""
        deviations = [ITSELF, *(self.tried[candidate] for candidate in candidates)]
        found = self.points_for_selection(deviations, numbers)
        base = found[ITSELF.attack]
        return [member_gains(base, found[each.attack], each.coalition) for each in deviations[1:]]

    def points_for_selection(
        self, deviations: Sequence[Deviation], numbers: range
    ) -> dict[Attack, dict[str, list[float]]]:
        """Deviation -> power -> [games] points a year in these selection games; nothing else is measured."""
        games = [self.setting.selection_game(self.profile, number) for number in numbers]
        played = self._play(deviations, games, lambda record, _: welfare_per_year(record), keeps_records=False)
        return {attack: by_power(paid) for attack, paid in played.items()}

    def _measured(self, record: Record, deviation: Deviation) -> GameMeasures:
        return measure(record, deviation.coalition, paper_code=self.setting.paper_code)

    def _play(
        self,
        deviations: Sequence[Deviation],
        games: Sequence[GameSpec],
        read: Callable[[Record, Deviation], Read],
        keeps_records: bool,
    ) -> dict[Attack, list[Read]]:
        """Play these self-play games under every deviation, and apply `read` to each record."""
        played_in: dict[GameSpec, list[Deviation]] = {}
        for each in deviations:
            for game in games:
                played_in.setdefault(each.of(game), []).append(each)
        found: dict[tuple[Attack, GameSpec], Read] = {}
        wanted = [each.of(game) for each in deviations for game in games]
        self.played += len(wanted)

        def keep(spec: GameSpec, record: Record) -> None:
            for each in played_in[spec]:
                found[each.attack, spec] = read(record, each)
            self._games[spec] = AttackGame(spec, record, played_in[spec][0].parts(spec), keeps_records)

        self.runner.play(wanted, keep)
        return {each.attack: [found[each.attack, each.of(game)] for game in games] for each in deviations}

    def _witness(self, attack: Deviation) -> Witness:
        """The game with the gain nearest to the mean."""
        deviator, who = attack.attack
        games = zip(self._measures[attack.attack], self._measures[ITSELF.attack], strict=True)
        gains = [
            min(game.welfare_per_year[power] - base.welfare_per_year[power] for power in who) for game, base in games
        ]
        mean = sum(gains) / len(gains)
        chosen = min(range(len(gains)), key=lambda game: abs(gains[game] - mean))
        spec = self._specs[attack.attack][chosen]
        return Witness(who, deviator, chosen, spec.seed, gains[chosen], self._games[spec].record)


def run_attacks(
    setting: Setting,
    runner: Runner,
    profile: Profile,
    name: str,
    tried: Sequence[Deviation],
    *,
    games: int,
    selection_games: int,
    precision: float | None = None,
    most: int = 0,
    notes: tuple[str, ...] = (),
) -> ExploitabilityResult:
    """Select among attacks on a profile, and measure the selected attacks on fresh games.

    Args:
        name: name of the profile.
        games, selection_games, precision, most: as for `evaluation.exploitability`.
        notes: caveats known before the games.

    Raises:
        EvaluationError: a number of games is out of range, or an attack is listed twice.
    """
    check_games(games)
    check_whole("selection_games", selection_games, 1, MAX_GAMES)
    setting.games(profile, 1)
    if len({each.attack for each in tried}) < len(tried):
        raise EvaluationError("an attack is listed twice: give each deviator with each coalition only once")
    groups = len({each.group for each in tried})
    max_games = count_games(len(tried), games if precision is None else most, selection_games, groups)
    runner.begin(max_games)
    attacks = Attacks(setting, runner, profile, tried)
    with runner.open():
        attacks.choose(selection_games)
        attacks.confirm(games, precision, most)
    runner.report(max_games - attacks.played)  # games that turned out not to be needed
    result = attacks.result(name)
    return replace(result, notes=notes + stronger_notes(result) + result.notes)


def stronger_notes(result: ExploitabilityResult) -> tuple[str, ...]:
    """A note for each attack that gained significantly more than the chosen attack in the reported games.

    Uses paired differences, with intervals corrected for the number of comparisons (Bonferroni).
    """
    chosen, others = result.best_gain, [each for each in result.gains if each is not result.best_gain]
    if not others:
        return ()
    more = {number: np.subtract(other.gain.per_game, chosen.gain.per_game) for number, other in enumerate(others)}
    confidence = 1 - (1 - CONFIDENCE) / len(others)
    found = mean_estimates(more, result.seed, confidence=confidence)
    return tuple(
        f"{' + '.join(others[number].coalition)} with {others[number].deviator} gained {each.value:.2f} a year more "
        "than the attack selected before these games: use more selection games, or measure it with another seed"
        for number, each in found.items()
        if each.low > 0 or (each.is_alike and each.value > 0)
    )


def count_games(attacks: int, games: int, selection_games: int, groups: int = 1) -> int:
    """The maximum number of games that `Attacks` plays.

    Args:
        attacks: number of attacks.
        games: (maximum) games per measured attack.
        selection_games: games per attack in the first selection round.
        groups: number of groups of attacks.
    """
    if attacks == 1:
        return 2 * games
    tried = sum((1 + number) * len(numbers) for number, numbers in rounds(attacks, selection_games))
    confirmed = attacks if attacks <= CONFIRMED else min(attacks, FINALISTS + groups - 1)
    return tried + (1 + confirmed) * games
