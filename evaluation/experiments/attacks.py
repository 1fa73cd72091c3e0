"""The games of an exploitability: attacks are selected on one set of games, and measured on fresh games."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

import numpy as np

from agents.specs import Profile
from evaluation.checks import MAX_GAMES, EvaluationError, check_whole
from evaluation.experiments.deviators import Deviator
from evaluation.experiments.exploitability_result import (
    Attack,
    ExploitabilityResult,
    Screened,
    Witness,
    by_power,
    points,
)
from evaluation.experiments.notes import Orders, illegal_order_notes, orders_of
from evaluation.measures.gains import FINALISTS, choose, member_gains, rounds
from evaluation.measures.intervals import CONFIDENCE, Coalition, Floats, mean_estimates, nearest_to_mean
from evaluation.measures.lm_usage import usage_by_part, usage_by_seat, usage_of, without_texts
from evaluation.measures.metrics import GameMeasures, measure, welfare_per_year
from evaluation.play.game_spec import GameSpec, Setting
from evaluation.play.playing import Record
from evaluation.play.runner import Evaluation, Wanted

Read = TypeVar("Read")

PROFILE = "profile"
"""Name for the seats that keep to the profile, in the usage of language models by part."""

GAMES = 20
"""Default number of games in which the selected attacks are measured."""
SELECTION_GAMES = 5
"""Default number of games per attack in the first selection round."""
CONFIRMED = 10
"""Up to this number of attacks, all are measured; otherwise the selected ones (`measure_attacks`)."""


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


class AttackGames:
    """Asks for games of attacks, and keeps what is needed of all of them.

    Attributes:
        orders: for each game, the orders of its policies.
        used: for each game, the usage of its language models, and player -> part.
    """

    def __init__(self) -> None:
        self.orders: dict[GameSpec, Orders] = {}
        self.used: dict[GameSpec, tuple[Record, dict[str, str]]] = {}

    def play(
        self,
        deviations: Sequence[Deviation],
        games: Sequence[GameSpec],
        read: Callable[[Record, Deviation], Read],
        most: int,
    ) -> Evaluation[list[list[Read]]]:
        """[deviations, games] what `read` makes of the records of these games under every deviation."""
        playing: dict[GameSpec, list[Deviation]] = {}
        for each in deviations:
            for game in games:
                playing.setdefault(each.of(game), []).append(each)

        def keep(spec: GameSpec, record: Record) -> dict[Attack, Read]:
            self.orders[spec] = orders_of(record)
            self.used[spec] = without_texts(record), playing[spec][0].parts(spec)
            return {each.attack: read(record, each) for each in playing[spec]}

        found = iter((yield Wanted([each.of(game) for each in deviations for game in games], keep, most)))
        return [[kept[each.attack] for kept in islice(found, len(games))] for each in deviations]


def measure_attacks(
    setting: Setting,
    profile: Profile,
    name: str,
    tried: Sequence[Deviation],
    *,
    games: int,
    selection_games: int,
    notes: tuple[str, ...] = (),
) -> Evaluation[ExploitabilityResult]:
    """Select among attacks on a profile, and measure the selected attacks on fresh games.

    A single attack needs no selection. Of more than ten, the best, its close contenders and the best of each group are
    measured; otherwise all are.

    Args:
        name: name of the profile.
        games, selection_games: as for `evaluation.exploitability`.
        notes: caveats known before the games.

    Raises:
        EvaluationError: a number of games is out of range, or an attack is listed twice.
    """
    check_whole("selection_games", selection_games, 1, MAX_GAMES)
    specs = setting.games(profile, games)
    if len({each.attack for each in tried}) < len(tried):
        raise EvaluationError("an attack is listed twice: give each deviator with each coalition only once")
    most = count_games(len(tried), games, selection_games, len({each.group for each in tried}))
    played = AttackGames()
    records: dict[tuple[Attack, int], bytes] = {}  # compressed to a tenth

    def measured(record: Record, each: Deviation) -> GameMeasures:
        if each.deviator:
            records[each.attack, record["welfare_env"]["seed"]] = zlib.compress(json.dumps(record).encode(), 1)
        return measure(record, each.coalition, paper_code=setting.paper_code)

    def gains(candidates: Sequence[int], numbers: range) -> Evaluation[list[Floats]]:
        """For each attack, the members' gains in these selection games; nothing else is measured in them."""
        deviations = [ITSELF, *(tried[candidate] for candidate in candidates)]
        selection = [setting.selection_game(profile, number) for number in numbers]
        paid = yield from played.play(deviations, selection, lambda record, _: welfare_per_year(record), most)
        base, *others = map(by_power, paid)
        return [member_gains(base, paid, each.coalition) for each, paid in zip(deviations[1:], others, strict=True)]

    choice = (yield from choose(len(tried), gains, selection_games)) if len(tried) > 1 else None
    confirmed = list(range(len(tried)))
    if choice and len(tried) > CONFIRMED:
        confirmed = sorted({*choice.contenders, *choice.leaders([each.group for each in tried])})
    deviations = [tried[number] for number in confirmed]
    base, *found = map(tuple, (yield from played.play([ITSELF, *deviations], specs, measured, most)))

    attacks: dict[str, dict[Coalition, tuple[GameMeasures, ...]]] = {}
    witnesses: dict[Attack, Witness] = {}
    for each, own in zip(deviations, found, strict=True):
        deviator, who = each.attack
        attacks.setdefault(deviator, {})[who] = own
        number, gain = _typical(base, own, who)
        record = json.loads(zlib.decompress(records[each.attack, specs[number].seed]))
        witnesses[each.attack] = Witness(who, deviator, number, specs[number].seed, gain, record)
    tries = zip(tried, choice.means, choice.games, strict=True) if choice else ()
    used = list(played.used.values())
    result = ExploitabilityResult(
        *(name, setting.seed, setting.played, setting.map_name),
        baseline=base,
        attacks=attacks,
        chosen=tried[choice.best if choice else 0].attack,
        screened=tuple(Screened(*each.attack, mean, count) for each, mean, count in tries),
        witnesses=witnesses,
        usage=usage_of([record for record, _ in used]),
        usage_by_part=usage_by_part(used),
        usage_by_seat=usage_by_seat(used),
    )
    illegal = illegal_order_notes(played.orders.values())
    return replace(result, notes=notes + stronger_notes(result) + illegal)


def _typical(base: Sequence[GameMeasures], games: Sequence[GameMeasures], who: Coalition) -> tuple[int, float]:
    """The number of the game in which the least gain of a member is nearest to its mean, and this gain."""
    gains = member_gains(points(base), points(games), who).min(axis=1).tolist()
    chosen = nearest_to_mean(gains)
    return chosen, gains[chosen]


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
    """The maximum number of games that `measure_attacks` plays.

    Args:
        attacks: number of attacks.
        games: games per measured attack.
        selection_games: games per attack in the first selection round.
        groups: number of groups of attacks.
    """
    if attacks == 1:
        return 2 * games
    tried = sum((1 + number) * len(numbers) for number, numbers in rounds(attacks, selection_games))
    confirmed = attacks if attacks <= CONFIRMED else min(attacks, FINALISTS + groups - 1)
    return tried + (1 + confirmed) * games
