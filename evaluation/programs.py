"""Exploitability in `modal_env`: what a player gains by leaving a profile of programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from pettingzoo import AECEnv

import agents
import modal_env
from evaluation.games import Report, game_seed
from evaluation.options import EvaluationError, check_whole
from evaluation.statistics import Coalition, Estimate, ExploitabilityEstimate, exploitability_estimate

Points = Mapping[str, tuple[float, ...]]  # player -> [games] its payoff a round


@dataclass(frozen=True)
class ProgramExploitabilityResult:
    """Games of a profile of programs, and games in which each coalition deviates from it.

    Attributes:
        profile: the policy under test.
        deviator: the policy that every member of a coalition plays.
        seed: as given.
        setting: what the environment plays.
        baseline: player -> [games] payoff a round where all keep to the profile.
        deviating: coalition -> player -> [games], with the seeds of the baseline.
    """

    profile: str
    deviator: str
    seed: int
    setting: modal_env.Setting
    baseline: Points
    deviating: Mapping[Coalition, Points]

    @cached_property
    def estimate(self) -> ExploitabilityEstimate:
        """The exploitability with its interval, the best coalition, and the gain of each."""
        return exploitability_estimate(self.baseline, self.deviating, self.seed)

    @property
    def value(self) -> Estimate:
        """The exploitability: max over coalitions of the least member's mean gain, in payoff a round."""
        return self.estimate.total

    @property
    def best(self) -> Coalition:
        """The coalition that gains most."""
        return self.estimate.best

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        setting = self.setting
        return {
            "profile": self.profile,
            "deviator": self.deviator,
            "seed": self.seed,
            "games": len(self.baseline[setting.names[0]]),
            "epsilon": str(setting.epsilon),
            "cost": setting.cost,
            "agents": [agent.name for agent in setting.agents],
            "actions": setting.actions,
            "rounds": setting.rounds,
            "exploitability": self.value.to_dict(),
            "best": list(self.best),
            "coalitions": [
                {"coalition": list(gain.coalition), "gain": gain.gain.to_dict()} for gain in self.estimate.coalitions
            ],
        }


def program_exploitability(
    policy: str,
    games: int,
    environment: AECEnv,
    *,
    deviator: str | None,
    coalitions: str | Iterable[str | Sequence[str]],
    seed: int,
    report: Report | None,
) -> ProgramExploitabilityResult:
    """`evaluation.exploitability` in an environment of `modal_env`, where the default deviator is the best reply.

    Raises:
        UnknownAgentError: no such policy.
        EvaluationError: no environment of modal_env, or as `evaluation.exploitability`.
        ModalError: a program that cannot be written in this environment.
    """
    setting = getattr(getattr(environment, "unwrapped", None), "setting", None)
    if not isinstance(setting, modal_env.Setting):
        raise EvaluationError(f"environment={environment!r:.80}: give modal_env.make(...)")
    check_whole("games", games, 1)
    check_whole("seed", seed, 0)
    attacker = f"best-reply:to=({policy})" if deviator is None else deviator
    chosen = _resolve(setting, coalitions)
    tell = report or (lambda count: None)

    def played(who: Coalition) -> dict[str, tuple[float, ...]]:
        seats = {player: attacker if player in who else policy for player in setting.names}
        points: dict[str, list[float]] = {player: [] for player in seats}
        for game in range(games):
            for player, payoff in play_programs(environment, seats, game_seed(seed, game)).items():
                points[player].append(payoff)
            tell(1)
        return {player: tuple(payoffs) for player, payoffs in points.items()}

    return ProgramExploitabilityResult(
        policy, attacker, seed, setting, played(()), {who: played(who) for who in chosen}
    )


def play_programs(environment: AECEnv, players: Mapping[str, str], seed: int) -> dict[str, float]:
    """Play one game of `modal_env` to its end: player -> what it was paid a round."""
    policies = {player: agents.make(spec) for player, spec in players.items()}
    environment.reset(seed=seed)
    for player, policy in policies.items():
        policy.reset(agent=player, seed=seed)
    for player in environment.agent_iter():
        observation, _, terminated, truncated, info = environment.last()
        environment.step(None if terminated or truncated else policies[player].act(observation, info))
    history = environment.unwrapped.contest.history
    return {
        player: sum(played.payoffs[number] for played in history) / len(history)
        for number, player in enumerate(players)
    }


def _resolve(setting: modal_env.Setting, coalitions: str | Iterable[str | Sequence[str]]) -> list[Coalition]:
    """The coalitions meant by a name or a list, without repetition.

    Raises:
        EvaluationError: no set of this name, no coalition, or one that is not of different players of the game.
    """
    sizes = {"singles": 1, "all-singles": 1, "pairs": 2, "all-pairs": 2}
    if isinstance(coalitions, str) and coalitions in sizes:
        return list(combinations(setting.names, sizes[coalitions]))
    if isinstance(coalitions, str) or not isinstance(coalitions, Iterable):
        raise EvaluationError(f"coalitions={coalitions!r:.80}: choose {', '.join(sizes)}, or give a list of coalitions")
    found = [(given,) if isinstance(given, str) else tuple(given) for given in coalitions]
    for who in found:
        if not who or len(set(who)) != len(who) or not set(who) <= set(setting.names):
            raise EvaluationError(f"coalition {who!r:.80}: name one or more of {', '.join(setting.names)}, each once")
    if not found:
        raise EvaluationError("coalitions: give one at least")
    return list(dict.fromkeys(found))
