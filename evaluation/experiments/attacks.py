"""The games behind an exploitability: self-play of a profile and every attack on it, with the same seeds."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from evaluation.experiments.deviators import Deviator
from evaluation.experiments.exploitability_result import Attack, ExploitabilityResult, Games, Witness
from evaluation.experiments.notes import IllegalOrders
from evaluation.measures.intervals import Coalition
from evaluation.measures.lm_usage import usage_by_part, usage_by_seat, usage_of, without_texts
from evaluation.measures.metrics import GameMeasures, measure
from evaluation.play.games import GameSpec, Record
from evaluation.play.setting import Setting

PROFILE = "profile"
"""Name of the part that keeps to the profile, in the usage of language models by part."""

ITSELF: Attack = ("", ())  # self-play: nobody deviates


@dataclass
class AttackGames:
    """Games of one attack, or of self-play.

    Records are kept compressed to a tenth of their size: a red team plays tens of thousands of games.
    """

    deviator: Deviator | None = None
    coalition: Coalition = ()
    coordinated: bool = False
    specs: list[GameSpec] = field(default_factory=list)
    measured: list[GameMeasures] = field(default_factory=list)
    packed: list[bytes] = field(default_factory=list)
    used: list[Record] = field(default_factory=list)  # what language models used

    @property
    def attack(self) -> Attack:
        """The name of the deviator, and the coalition."""
        return (self.deviator.name if self.deviator else "", self.coalition)

    def of(self, game: GameSpec) -> GameSpec:
        """The same game with the coalition's seats played by the deviator."""
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

    def add(self, spec: GameSpec, record: Record, published: bool) -> None:
        """Measure and keep a game."""
        self.specs.append(spec)
        self.measured.append(measure(record, self.coalition, published=published))
        self.packed.append(zlib.compress(json.dumps(record).encode(), 1))
        models = record.get("welfare_env", {}).get("language_models", {})
        models = {player: [without_texts(model) for model in playing] for player, playing in models.items()}
        self.used.append({"welfare_env": {"language_models": models}})

    def record(self, game: int) -> Record:
        """The record of a game, by its number."""
        record: Record = json.loads(zlib.decompress(self.packed[game]))
        return record


class Attacks:
    """Self-play and all attacks, with the same number of games each.

    Args:
        tried: the attacks; self-play is added.
    """

    def __init__(self, setting: Setting, tried: Iterable[AttackGames]) -> None:
        self.setting = setting
        self.conditions = [AttackGames(), *tried]
        self._illegal = IllegalOrders()

    def add(self, games: list[GameSpec]) -> None:
        """Play these self-play games, and each of them under every attack."""
        wanted = [condition.of(game) for condition in self.conditions for game in games]
        records = iter(self.setting.play(wanted))
        specs = iter(wanted)
        for condition in self.conditions:
            for _ in games:
                spec, record = next(specs), next(records)
                condition.add(spec, record, self.setting.published)
                self._illegal.add(spec.written, record)

    def result(self, profile: str) -> ExploitabilityResult:
        """The result of all games so far."""
        measured = {condition.attack: tuple(condition.measured) for condition in self.conditions}
        baseline = measured.pop(ITSELF)
        attacks: dict[str, dict[Coalition, Games]] = {}
        for (deviator, who), games in measured.items():
            attacks.setdefault(deviator, {})[who] = games
        unique: dict[GameSpec, tuple[Record, dict[str, str]]] = {}
        for game, played in self._played():
            unique.setdefault(game, played)  # equal games count once, for the first condition
        return ExploitabilityResult(
            profile,
            self.setting.seed,
            self.setting.played,
            self.setting.map_name,
            baseline,
            attacks,
            {tried.attack: _witness(tried, baseline, measured[tried.attack]) for tried in self.conditions[1:]},
            usage_of([record for record, _ in unique.values()]),
            usage_by_part(unique.values()),
            usage_by_seat(unique.values()),
            self._illegal.notes(),
        )

    def _played(self) -> Iterator[tuple[GameSpec, tuple[Record, dict[str, str]]]]:
        for condition in self.conditions:
            parts = condition.parts()
            for spec, record in zip(condition.specs, condition.used, strict=True):
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
    return Witness(who, deviator, chosen, condition.specs[chosen].seed, gains[chosen], condition.record(chosen))
