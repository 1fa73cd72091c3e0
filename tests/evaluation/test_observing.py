"""Games make observations only for players that look at them."""

from collections.abc import Mapping
from typing import Any

import pytest

import agents
import evaluation
from agents.policy import ScriptedPolicy
from agents.scripted.exploiter import ExploiterPolicy
from agents.scripted.hold import HoldPolicy
from welfare_env import Rules

SHORT = Rules(years=1, press=None)


class Looking(HoldPolicy):
    """Overrides `act`, so that it may look."""

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        assert observation["observation"].shape[0] == len(info["view"].board.provinces)
        return super().act(observation, info)


class Plain:
    """No subclass of ours, and says nothing about observations."""

    def reset(self, agent: str, seed: int = 0) -> None:
        self.holding = HoldPolicy()
        self.holding.reset(agent, seed)

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        assert observation["action_mask"].any()
        return self.holding.act(observation, info)


@pytest.mark.parametrize("policy", [Looking, Plain])
def test_who_may_look_is_shown_the_board(policy: Any) -> None:
    evaluation.self_play(policy, games=1, rules=SHORT)


def test_our_scripted_players_do_not_look() -> None:
    for spec in ("random", "hold", "prosocial", "dove", "dumbbot", "exploiter:nice=dove,attack=dumbbot"):
        assert agents.make(spec).reads_observations is False  # type: ignore[attr-defined]
    assert ScriptedPolicy().reads_observations is False
    assert Looking().reads_observations is True


def test_an_exploiter_looks_if_a_part_does() -> None:
    assert ExploiterPolicy(HoldPolicy(), Plain()).reads_observations is True
