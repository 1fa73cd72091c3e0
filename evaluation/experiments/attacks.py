"""The games of an exploitability: a profile by itself, and each way to leave it, with the same seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from evaluation.experiments.deviators import Deviator
from evaluation.experiments.exploitability_result import Attack, ExploitabilityResult, Games, Witness
from evaluation.measures.intervals import Coalition
from evaluation.measures.lm_usage import usage_by_part, usage_of
from evaluation.measures.metrics import measure
from evaluation.play.games import GameSpec, Record
from evaluation.play.setting import Setting

PROFILE = "profile"
"""Who keeps to the profile, where language models are told apart by what they play for."""

ITSELF: Attack = ("", ())  # nobody leaves the profile


@dataclass
class AttackGames:
    """Games of one attack, or of the profile by itself."""

    deviator: Deviator | None = None
    coalition: Coalition = ()
    coordinated: bool = False
    specs: list[GameSpec] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @property
    def attack(self) -> Attack:
        """Its deviator's name, and its coalition."""
        return (self.deviator.name if self.deviator else "", self.coalition)

    def of(self, game: GameSpec) -> GameSpec:
        """A game of the profile, as the coalition plays it."""
        if self.deviator is None:
            return game
        attackers = self.deviator.attackers
        seats = tuple((power, attackers[spec] if power in self.coalition else spec) for power, spec in game.players)
        return replace(game, players=seats, coalition=self.coalition if self.coordinated else ())

    def parts(self) -> dict[str, str]:
        """Player -> the deviator's name or "profile"."""
        return {
            power: self.attack[0] if power in self.coalition else PROFILE
            for spec in self.specs[:1]
            for power, _ in spec.players
        }

    def measures(self, published: bool) -> Games:
        """Of each game."""
        return tuple(measure(record, self.coalition, published=published) for record in self.records)


class Attacks:
    """Conditions that grow together, game by game."""

    def __init__(
        self, setting: Setting, deviators: tuple[Deviator, ...], coalitions: list[Coalition], coordinated: bool
    ) -> None:
        self.setting = setting
        tried = (AttackGames(each, who, coordinated) for each in deviators for who in coalitions)
        self.conditions = [AttackGames(), *tried]

    def add(self, games: list[GameSpec]) -> None:
        """Play games of the profile, and each of them in all other conditions."""
        asked = [condition.of(game) for condition in self.conditions for game in games]
        coming = iter(self.setting.play(asked))
        specs = iter(asked)
        for condition in self.conditions:
            for _ in games:
                condition.specs.append(next(specs))
                condition.records.append(next(coming))

    def result(self, profile: str) -> ExploitabilityResult:
        """All games so far."""
        measured = {condition.attack: condition.measures(self.setting.published) for condition in self.conditions}
        baseline = measured.pop(ITSELF)
        attacks: dict[str, dict[Coalition, Games]] = {}
        for (deviator, who), games in measured.items():
            attacks.setdefault(deviator, {})[who] = games
        unique: dict[GameSpec, tuple[Record, dict[str, str]]] = {}
        for game, played in self._played():
            unique.setdefault(game, played)  # equal games are one, of the first condition
        return ExploitabilityResult(
            profile,
            self.setting.seed,
            self.setting.played,
            self.setting.map_name,
            baseline,
            attacks,
            {each.attack: _witness(each, baseline, measured[each.attack]) for each in self.conditions[1:]},
            usage_of([record for record, _ in unique.values()]),
            usage_by_part(unique.values()),
        )

    def _played(self) -> Iterator[tuple[GameSpec, tuple[Record, dict[str, str]]]]:
        for condition in self.conditions:
            parts = condition.parts()
            for spec, record in zip(condition.specs, condition.records, strict=True):
                yield spec, (record, parts)


def _witness(condition: AttackGames, baseline: Games, games: Games) -> Witness:
    """The game whose gain is nearest to the mean."""
    deviator, who = condition.attack
    gains = [
        min(game.welfare_per_year[power] - base.welfare_per_year[power] for power in who)
        for game, base in zip(games, baseline, strict=True)
    ]
    mean = sum(gains) / len(gains)
    chosen = min(range(len(gains)), key=lambda game: abs(gains[game] - mean))
    return Witness(who, deviator, chosen, condition.specs[chosen].seed, gains[chosen], condition.records[chosen])
