"""Which games a task plays: those of `evaluation.self_play` and `evaluation.exploitability`, numbered alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.specs import Spec, read_profile
from evaluation.experiments.attacks import ITSELF, Deviation
from evaluation.experiments.deviators import read_deviators
from evaluation.experiments.exploitability import resolve_coalitions
from evaluation.measures.intervals import Coalition
from evaluation.play.game_settings import GameSettings
from evaluation.play.games import GameSpec


@dataclass(frozen=True)
class Games:
    """The games of a task, without language models: these are inspect's.

    Attributes:
        policy: the profile, as text.
        games: of each condition in an epoch.
        setting: rules, map, seats and seed.
        attacks: self-play, and every deviator with every coalition.
    """

    policy: str
    games: int
    setting: GameSettings
    attacks: tuple[Deviation, ...]

    @classmethod
    def of_self_play(cls, policy: str, games: int, setting: GameSettings) -> Games:
        """Self-play alone.

        Raises:
            UnknownAgentError, ProfileError, UnknownPowerError, EvaluationError: as `evaluation.self_play`.
        """
        setting.games(read_profile(policy), games)
        return cls(policy, games, setting, (ITSELF,))

    @classmethod
    def of_exploitability(
        cls, policy: str, games: int, setting: GameSettings, deviators: list[str] | None, coalitions: Any
    ) -> Games:
        """Self-play and attacks.

        Raises:
            UnknownAgentError, ProfileError, UnknownPowerError, EvaluationError: as `evaluation.exploitability`.
        """
        profile = read_profile(policy)
        setting.games(profile, games)
        found = read_deviators(deviators, profile, policy, setting)
        chosen = resolve_coalitions(setting.board, coalitions)
        return cls(policy, games, setting, (ITSELF, *(Deviation(each, who) for each in found for who in chosen)))

    @property
    def policies(self) -> set[Spec]:
        """All that are played."""
        specs = (self.spec(0, *each.attack) for each in self.attacks)
        return {policy for spec in specs for _, policy in spec.players}

    def spec(self, number: int, deviator: str, coalition: Coalition) -> GameSpec:
        """A game: its number in the evaluation, and who deviates; "" and () for self-play."""
        attack = next(each for each in self.attacks if each.attack == (deviator, coalition))
        return attack.of(self.setting.game(read_profile(self.policy), number))
