"""Games inside another framework whose models play, such as inspect-ai or a trainer's environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.policy import Policy
from agents.specs import Spec
from evaluation.play.games import GameSpec

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels


def with_external_players(spec: GameSpec, make: Callable[[str, Spec], Policy]) -> GameSpec:
    """The same game, with each power's policy made by `make(power, spec)`."""

    def made(power: str, policy: Spec) -> Spec:
        def maker(models: SharedModels | None) -> Policy:
            return make(power, policy)

        return replace(policy, maker=maker)

    return replace(spec, players=tuple((power, made(power, policy)) for power, policy in spec.players))
