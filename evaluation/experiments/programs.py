"""Exploitability in `modal_env`: the gain of deviating from a profile of programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from pettingzoo import AECEnv

import agents
import modal_env
from agents.modal.players import expected_payoff
from agents.runtime.results import Result
from agents.runtime.table_files import Row
from agents.specs import PolicyLike, Spec, as_given, read
from evaluation.checks import EvaluationError, check_games, check_seed
from evaluation.experiments.attacks import SELECTION_GAMES
from evaluation.measures.gains import (
    CoalitionGain,
    all_coalitions,
    choose_at_once,
    choose_coalitions,
    coalition_gain,
    exploitability_of,
    member_gains,
)
from evaluation.measures.intervals import Coalition, Estimate, Floats
from evaluation.play.game_spec import game_seed, selection_seed
from evaluation.play.runner import Report, Runner
from modal_env import Agent
from welfare_env.checks import quoted

Shares = tuple[tuple[Agent, Fraction], ...]
Points = Mapping[str, tuple[float, ...]]  # player -> [games] payoff a round


@dataclass(frozen=True, repr=False)
class ProgramExploitabilityResult(Result):
    """Games of a profile of programs, and games in which each coalition deviates from it.

    Attributes:
        profile: the tested policy.
        deviator: the policy that every member of a coalition plays.
        exact: whether payoffs are computed expectations, equal in all games, rather than results of played games.
        seed: seed of the evaluation.
        setting: the environment's setting.
        baseline: player -> [games] payoff a round when nobody deviates.
        deviating: coalition -> player -> [games] payoff a round, with the seeds of the baseline.
        best: the coalition with the largest gain, by exact payoffs or in separate selection games.
    """

    profile: str
    deviator: str
    exact: bool
    seed: int
    setting: modal_env.Setting
    baseline: Points
    deviating: Mapping[Coalition, Points]
    best: Coalition

    @cached_property
    def gains(self) -> tuple[CoalitionGain, ...]:
        """The gain of each coalition."""
        gains = (coalition_gain(self.baseline, paid, who, self.seed) for who, paid in self.deviating.items())
        return tuple(map(_without_intervals, gains) if self.exact else gains)

    @property
    def value(self) -> Estimate:
        """The exploitability: mean gain of the chosen coalition's worst-off member, in payoff a round, or 0."""
        return exploitability_of(next(each.gain for each in self.gains if each.coalition == self.best))

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
                "chosen": coalition == self.best,
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
            for game in range(len(self.baseline[setting.names[0]]))
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
            "cost": str(setting.cost),
            "agents": [agent.name for agent in setting.agents],
            "actions": setting.actions,
            "rounds": setting.rounds,
            "exploitability": self.value.to_dict(),
            "best": list(self.best),
            "coalitions": [{"coalition": list(gain.coalition), "gain": gain.gain.to_dict()} for gain in self.gains],
        }


def program_exploitability(
    policy: PolicyLike,
    games: int,
    environment: AECEnv,
    *,
    selection_games: int = SELECTION_GAMES,
    deviator: PolicyLike | None = None,
    coalitions: str | Iterable[str | Sequence[str]] = "singles",
    seed: int = 0,
    report: Report | None = None,
) -> ProgramExploitabilityResult:
    """`evaluation.exploitability` in an environment of `modal_env`, where the default deviator is the best reply.

    If profile and deviator are programs, mixes or best replies, payoffs are exact expectations and no game is played;
    otherwise games are played, starting with the selection games.

    Raises:
        UnknownAgentError: an unknown policy.
        EvaluationError: not a modal_env environment, a policy of Welfare Diplomacy, or as `evaluation.exploitability`.
        ModalError: a program cannot be written in this environment.
    """
    setting = getattr(getattr(environment, "unwrapped", None), "setting", None)
    if not isinstance(setting, modal_env.Setting):
        raise EvaluationError(f"environment={quoted(environment)}: give modal_env.make(...)")
    check_games(games)
    check_seed(seed)
    tell = Runner(report=report).report
    spec = read(policy)
    mix = _shares(spec, setting)
    if deviator is None and (not spec.is_named or mix is None):
        raise EvaluationError(f"{spec.text} is no program or mix, so its best reply is not known: give deviator=POLICY")
    name = as_given(policy, spec)
    reply = f"best-reply:to=({name})" if deviator is None else deviator
    attacker = read(reply)
    sets = all_coalitions(setting.names)
    named = {name.removeprefix("all-"): found for name, found in sets.items()} | sets
    chosen = choose_coalitions(setting.names, coalitions, named)
    mixes = {attacker: _shares(attacker, setting), spec: mix}
    is_exact = all(mix is not None for mix in mixes.values())

    def seats(who: Coalition) -> dict[str, Spec]:
        return {player: attacker if player in who else spec for player in setting.names}

    def points(who: Coalition, seeds: Sequence[int]) -> Points:
        """Player -> [games] payoff a round in games with these seeds, played or computed."""
        if is_exact:
            paid = _expected({player: mixes[each] or () for player, each in seats(who).items()}, setting)
            tell(len(seeds))
            return {player: (payoff,) * len(seeds) for player, payoff in paid.items()}
        played = []
        for each in seeds:
            played.append(play_programs(environment, seats(who), each))
            tell(1)
        return {player: tuple(game[player] for game in played) for player in setting.names}

    def gains(candidates: Sequence[int], numbers: range) -> list[Floats]:
        """The members' gains in these selection games."""
        seeds = [selection_seed(seed, number) for number in numbers]
        base = points((), seeds)
        return [member_gains(base, points(chosen[each], seeds), chosen[each]) for each in candidates]

    is_chosen_by_play = not is_exact and len(chosen) > 1
    selected = choose_at_once(len(chosen), gains, selection_games).best if is_chosen_by_play else 0
    seeds = [game_seed(seed, number) for number in range(games)]
    baseline, deviating = points((), seeds), {who: points(who, seeds) for who in chosen}
    best = chosen[selected]
    if is_exact:
        best = max(chosen, key=lambda who: member_gains(baseline, deviating[who], who).mean(axis=0).min())
    facts = name, as_given(reply, attacker), is_exact, seed, setting
    return ProgramExploitabilityResult(*facts, baseline, deviating, best)


def _without_intervals(gain: CoalitionGain) -> CoalitionGain:
    """An exactly known gain: both bounds equal the value."""

    def exact(estimate: Estimate) -> Estimate:
        return replace(estimate, low=estimate.value, high=estimate.value)

    members = {player: exact(member) for player, member in gain.members.items()}
    return replace(gain, gain=exact(gain.gain), members=members)


def _shares(spec: Spec, setting: modal_env.Setting) -> Shares | None:
    """The mix of programs that a policy plays in every round; None if it does not play a fixed mix.

    Raises:
        EvaluationError: a policy of Welfare Diplomacy.
        ModalError: a program cannot be written in this setting.
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
    """Player -> expected payoff a round, against an opponent drawn uniformly from the other players."""
    paid: dict[tuple[Shares, Shares], Fraction] = {}
    for mine, other in {(mixes[a], mixes[b]): None for a in mixes for b in mixes if a != b}:
        paid[mine, other] = expected_payoff(mine, other, setting)
    return {
        player: float(
            sum((paid[mixes[player], mixes[b]] for b in mixes if b != player), Fraction(0)) / (len(mixes) - 1)
        )
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
