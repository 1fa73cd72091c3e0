"""The games behind an exploitability: self-play of a profile and every attack on it, with the same seeds."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from evaluation.experiments.deviators import Deviator
from evaluation.experiments.exploitability_result import Attack, ExploitabilityResult, Games, Witness
from evaluation.experiments.notes import IllegalOrders
from evaluation.measures.intervals import Coalition
from evaluation.measures.lm_usage import usage_by_part, usage_by_seat, usage_of, without_texts
from evaluation.measures.metrics import GameMeasures, measure
from evaluation.play.games import GameSpec, Record
from evaluation.play.setting import BATCH, Setting

PROFILE = "profile"
"""Name of the part that keeps to the profile, in the usage of language models by part."""

ITSELF: Attack = ("", ())  # self-play: nobody deviates


@dataclass
class AttackGames:
    """Games of one attack, or of self-play, and their measures."""

    deviator: Deviator | None = None
    coalition: Coalition = ()
    coordinated: bool = False
    specs: list[GameSpec] = field(default_factory=list)
    measures: dict[GameSpec, GameMeasures] = field(default_factory=dict)

    @property
    def attack(self) -> Attack:
        """The name of the deviator, and the coalition."""
        return (self.deviator.name if self.deviator else "", self.coalition)

    @property
    def measured(self) -> Games:
        """The measures of all games, in their order."""
        return tuple(self.measures[spec] for spec in self.specs)

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


class PlayedGame:
    """What is kept of a game: its record, compressed to a tenth, and counts.

    A red team plays tens of thousands of games, of which a handful are looked at again.
    """

    def __init__(self, spec: GameSpec, record: Record) -> None:
        self._packed = zlib.compress(json.dumps(record).encode(), 1)
        self.illegal = IllegalOrders.of(spec.written, record)
        models = record.get("welfare_env", {}).get("language_models", {})
        used = {player: [without_texts(model) for model in playing] for player, playing in models.items()}
        self.used: Record = {"welfare_env": {"language_models": used}}

    @property
    def record(self) -> Record:
        """The whole record."""
        record: Record = json.loads(zlib.decompress(self._packed))
        return record


class Attacks:
    """Self-play and all attacks, with the same number of games each.

    Args:
        tried: the attacks; self-play is added.
    """

    def __init__(self, setting: Setting, tried: Iterable[AttackGames]) -> None:
        self.setting = setting
        self.conditions = [AttackGames(), *tried]
        self._games: dict[GameSpec, PlayedGame] = {}

    def add(self, games: Sequence[GameSpec]) -> None:
        """Play these self-play games, and each of them under every attack, in batches."""
        most = max(1, BATCH // len(self.conditions))
        for first in range(0, len(games), most):
            self._add(games[first : first + most])

    def _add(self, games: Sequence[GameSpec]) -> None:
        wanted = [(condition.of(game), condition) for condition in self.conditions for game in games]
        played_in: dict[GameSpec, list[AttackGames]] = {}
        for spec, condition in wanted:
            played_in.setdefault(spec, []).append(condition)
        with closing(self.setting.play_each([spec for spec, _ in wanted])) as played:
            for spec, record in played:
                for condition in played_in[spec]:
                    condition.measures[spec] = measure(record, condition.coalition, published=self.setting.published)
                self._games[spec] = PlayedGame(spec, record)
        for spec, condition in wanted:
            condition.specs.append(spec)

    def result(self, profile: str) -> ExploitabilityResult:
        """The result of all games so far."""
        measured = {condition.attack: condition.measured for condition in self.conditions}
        baseline = measured.pop(ITSELF)
        attacks: dict[str, dict[Coalition, Games]] = {}
        for (deviator, who), games in measured.items():
            attacks.setdefault(deviator, {})[who] = games
        unique: dict[GameSpec, tuple[Record, dict[str, str]]] = {}
        for condition in self.conditions:
            parts = condition.parts()
            for spec in condition.specs:
                unique.setdefault(spec, (self._games[spec].used, parts))  # for the first condition that has it
        return ExploitabilityResult(
            profile,
            self.setting.seed,
            self.setting.played,
            self.setting.map_name,
            baseline,
            attacks,
            {tried.attack: self._witness(tried, baseline) for tried in self.conditions[1:]},
            usage_of([record for record, _ in unique.values()]),
            usage_by_part(unique.values()),
            usage_by_seat(unique.values()),
            IllegalOrders.sum(self._games[spec].illegal for spec in unique).notes(),
        )

    def _witness(self, condition: AttackGames, baseline: Games) -> Witness:
        """The game whose gain is nearest to the mean."""
        deviator, who = condition.attack
        gains = [
            min(game.welfare_per_year[power] - base.welfare_per_year[power] for power in who)
            for game, base in zip(condition.measured, baseline, strict=True)
        ]
        mean = sum(gains) / len(gains)
        chosen = min(range(len(gains)), key=lambda game: abs(gains[game] - mean))
        spec = condition.specs[chosen]
        return Witness(who, deviator, chosen, spec.seed, gains[chosen], self._games[spec].record)
