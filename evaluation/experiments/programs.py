"""Exploitability in `modal_env`: the gain of players who deviate from a profile of programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from pettingzoo import AECEnv

import agents
import modal_env
from agents.modal.players import expected_payoff
from agents.results import Result
from agents.specs import PolicyLike, Spec, as_given, read
from agents.table_files import Row
from evaluation.checks import EvaluationError, check_games, check_seed
from evaluation.measures.coalitions import all_coalitions, choose_coalitions
from evaluation.measures.intervals import Coalition, Estimate, ExploitabilityEstimate, exploitability_estimate
from evaluation.play.games import Report, game_seed
from evaluation.play.means import check_means
from welfare_env.checks import shown

Shares = tuple[tuple[modal_env.Agent, Fraction], ...]
Points = Mapping[str, tuple[float, ...]]  # player -> [games] its payoff a round


@dataclass(frozen=True, repr=False)
class ProgramExploitabilityResult(Result):
    """Games of a profile of programs, and games in which each coalition deviates from it.

    Attributes:
        profile: the policy under test.
        deviator: the policy that every member of a coalition plays.
        exact: whether points are computed expected payoffs, equal in all games, instead of played games.
        seed: as given.
        setting: of the environment.
        baseline: player -> [games] payoff a round when nobody deviates.
        deviating: coalition -> player -> [games] payoff a round, with the seeds of the baseline.
    """

    profile: str
    deviator: str
    exact: bool
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

    def rows(self) -> list[Row]:
        """One row per game and player: first the games in which nobody deviates, then those of each coalition."""
        setting = self.setting
        terms: Row = {name: getattr(setting, name) for name in ("cost", "actions", "rounds")}
        conditions: list[tuple[Coalition, Points]] = [((), self.baseline), *self.deviating.items()]
        return [
            {
                "profile": self.profile,
                "deviator": self.deviator if coalition else "",
                "coalition": "+".join(coalition),
                "evaluation_seed": self.seed,
                "game": game,
                "epsilon": str(setting.epsilon),
                **terms,
                "exact": self.exact,
                "player": player,
                "deviates": player in coalition,
                "payoff": payoff,
            }
            for coalition, points in conditions
            for game in range(self.value.n)
            for player, payoff in ((player, paid[game]) for player, paid in points.items())
        ]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        setting = self.setting
        return {
            "profile": self.profile,
            "deviator": self.deviator,
            "exact": self.exact,
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
    policy: PolicyLike,
    games: int,
    environment: AECEnv,
    *,
    deviator: PolicyLike | None,
    coalitions: str | Iterable[str | Sequence[str]],
    seed: int,
    report: Report | None,
) -> ProgramExploitabilityResult:
    """`evaluation.exploitability` in an environment of `modal_env`, where the default deviator is the best reply.

    If profile and deviator are programs, mixes or best replies, payoffs are exact expectations and no game is played;
    otherwise games are played.

    Raises:
        UnknownAgentError: an unknown policy.
        EvaluationError: not a modal_env environment, a player of Welfare Diplomacy, or as `evaluation.exploitability`.
        ModalError: a program that cannot be written in this environment.
    """
    setting = getattr(getattr(environment, "unwrapped", None), "setting", None)
    if not isinstance(setting, modal_env.Setting):
        raise EvaluationError(f"environment={shown(environment)}: give modal_env.make(...)")
    check_games(games)
    check_seed(seed)
    check_means(store=None, report=report)
    spec = read(policy)
    if deviator is None and not spec.is_named:
        raise EvaluationError(f"{spec.text} has no name, so its best reply cannot be computed: give a deviator")
    name = as_given(policy, spec)
    reply = f"best-reply:to=({name})" if deviator is None else deviator
    attacker = read(reply)
    sets = all_coalitions(setting.names)
    named = {name.removeprefix("all-"): found for name, found in sets.items()} | sets
    chosen = choose_coalitions(setting.names, coalitions, named)
    tell = report or (lambda count: None)
    mixes = {spec: _shares(spec, setting) for spec in dict.fromkeys((spec, attacker))}
    exact = all(mix is not None for mix in mixes.values())

    def played(who: Coalition) -> dict[str, tuple[float, ...]]:
        seats = {player: attacker if player in who else spec for player in setting.names}
        if exact:
            paid = _expected({player: mixes[spec] or () for player, spec in seats.items()}, setting)
            tell(games)
            return {player: (payoff,) * games for player, payoff in paid.items()}
        points: dict[str, list[float]] = {player: [] for player in seats}
        for game in range(games):
            for player, payoff in play_programs(environment, seats, game_seed(seed, game)).items():
                points[player].append(payoff)
            tell(1)
        return {player: tuple(payoffs) for player, payoffs in points.items()}

    baseline, deviating = played(()), {who: played(who) for who in chosen}
    return ProgramExploitabilityResult(name, as_given(reply, attacker), exact, seed, setting, baseline, deviating)


def _shares(spec: Spec, setting: modal_env.Setting) -> Shares | None:
    """The mix that a policy plays in every round; None if the policy is not a fixed mix.

    Raises:
        EvaluationError: a player of Welfare Diplomacy.
        ModalError: a program that cannot be written in this setting.
    """
    policy = spec.make()
    if isinstance(policy, agents.ScriptedPolicy):
        raise EvaluationError(
            f"policy {spec.text!r} plays Welfare Diplomacy; for modal_env give a policy such as program:FairBot"
        )
    if isinstance(policy, agents.BestReplyPolicy):
        return ((policy.program(setting), Fraction(1)),)
    if not isinstance(policy, agents.MixPolicy):
        return None
    for program, _ in policy.shares:
        setting.mode().actions(program)
    return tuple(policy.shares)


def _expected(mixes: Mapping[str, Shares], setting: modal_env.Setting) -> dict[str, float]:
    """Player -> expected payoff a round: each player meets each of the others with the same probability."""
    met: dict[tuple[Shares, Shares], Fraction] = {}
    for mine, other in {(mixes[a], mixes[b]): None for a in mixes for b in mixes if a != b}:
        met[mine, other] = expected_payoff(mine, other, setting)
    return {
        player: float(sum((met[mixes[player], mixes[b]] for b in mixes if b != player), Fraction(0)) / (len(mixes) - 1))
        for player in mixes
    }


def play_programs(environment: AECEnv, players: Mapping[str, Spec], seed: int) -> dict[str, float]:
    """Play one game of `modal_env` to its end: player -> mean payoff a round."""
    policies = {player: spec.make() for player, spec in players.items()}
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
