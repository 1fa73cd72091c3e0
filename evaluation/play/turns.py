"""Play one game from start to end, with players acting in turn or simultaneously.

This file is part of every game's key, so it contains nothing but the playing of a game.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any

from pettingzoo import AECEnv, ParallelEnv

import welfare_env
from agents import CoalitionPolicy, Policy
from agents.modal.players import ProgramPolicy
from evaluation.checks import EvaluationError
from welfare_env import Rules, View, WelfareEnvError

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels
    from agents.specs import Spec

NO_COALITION = "it does not play a coalition: give it reset_coalition(agents, seed), see agents.CoalitionPolicy"

Policies = Mapping[str, Policy]


class GameStopped(WelfareEnvError):
    """A game was stopped because another one failed."""


def play_turns(
    players: Sequence[tuple[str, Spec]],
    seed: int,
    rules: Rules,
    map_name: str,
    engine: str,
    simultaneous: bool,
    coalition: Sequence[str],
    models: SharedModels | None,
    stop: Event,
) -> dict[str, Any]:
    """The record of a game; arguments, result and errors as for `evaluation.play.games.play_game`."""
    make = welfare_env.parallel_env if simultaneous else welfare_env.make
    env = make(map_name, rules, engine=engine)
    seats = [power for power, _ in players]
    if sorted(seats) != sorted(env.possible_agents):
        raise EvaluationError(f"players are {seats}: give a policy for each of {env.possible_agents}, once")
    policies = _made(players, coalition, models)
    for power, named in players:
        check_orders_written(named, policies[power])
    _reset(policies, coalition, seed, dict(players))
    if simultaneous:
        play_at_once(env, policies, seed, stop, models)
    else:
        play_in_turn(env, policies, seed, stop)
    record: dict[str, Any] = env.unwrapped.game.record()
    record["welfare_env"] |= {"seed": seed, "players": {power: policy.text for power, policy in players}}
    if simultaneous:
        record["welfare_env"]["simultaneous"] = True
    if coalition:
        record["welfare_env"]["coalition"] = list(coalition)
    if _ask_language_models([policy for _, policy in players], policies.values()):
        record["welfare_env"] |= conversation(policies)
    return record


def check_orders_written(named: Spec, policy: Policy) -> None:
    """Check that a policy plays Diplomacy.

    Raises:
        EvaluationError: it plays games of programs.
    """
    if isinstance(policy, ProgramPolicy):
        raise EvaluationError(
            f"policy {named.text!r} writes programs of modal_env, not orders of Diplomacy. For programs call "
            "evaluation.exploitability(..., environment=modal_env.make(...))"
        )


def _made(
    players: Sequence[tuple[str, Spec]], coalition: Sequence[str], models: SharedModels | None
) -> dict[str, Policy]:
    """Make a policy for each player, and one for all members of a coalition."""
    shared = [policy.make(models) for power, policy in players if power in coalition[:1]]
    return {power: shared[0] if power in coalition else policy.make(models) for power, policy in players}


def _reset(policies: Policies, coalition: Sequence[str], seed: int, specs: Mapping[str, Spec]) -> None:
    """Reset each policy with its power and the seed.

    Raises:
        EvaluationError: the coalition's policy cannot play a coalition.
    """
    for power, policy in policies.items():
        if power not in coalition:
            policy.reset(agent=power, seed=seed)
    if coalition:
        shared = policies[coalition[0]]
        if not isinstance(shared, CoalitionPolicy):
            raise EvaluationError(f"{specs[coalition[0]].text}: {NO_COALITION}")
        shared.reset_coalition(agents=tuple(coalition), seed=seed)


def _ask_language_models(specs: Sequence[Spec], made: Iterable[Policy]) -> bool:
    """Whether a policy is or contains a language model; unnamed policies are inspected."""
    if all(spec.is_named for spec in specs) or any(spec.models for spec in specs):
        return any(spec.models for spec in specs)
    from agents.lm.player import language_models

    return any(True for policy in made for _ in language_models(policy))


def play_in_turn(env: AECEnv, policies: Policies, seed: int, stop: Event) -> None:
    """Play a game in which players act one after another.

    Raises:
        GameStopped: `stop` was set.
    """
    env = env.unwrapped  # without the wrapper that checks the order of calls
    env.reset(seed=seed)
    looking = {agent: getattr(policy, "reads_observations", True) for agent, policy in policies.items()}
    while env.agents:
        _check(stop)
        agent = env.agent_selection
        observation, _, terminated, truncated, info = env.last(observe=looking[agent])
        env.step(None if terminated or truncated else policies[agent].act(observation, info))


def play_at_once(
    env: ParallelEnv, policies: Policies, seed: int, stop: Event, models: SharedModels | None = None
) -> None:
    """Play a game in which all players act simultaneously; language models are called in parallel, one thread each.

    Args:
        models: cache and budget for language models; an interruption cancels all their calls.

    Raises:
        GameStopped: `stop` was set.
    """
    from agents.lm.models.shared_models import default_models
    from agents.lm.player import language_models

    waiting = [agent for agent, policy in policies.items() if any(language_models(policy))]
    observations, infos = env.reset(seed=seed)
    with (models or default_models()).threads(max(1, len(waiting))) as pool:
        while env.agents:
            _check(stop)
            _look(infos, waiting)
            asked = {agent: pool.submit(policies[agent].act, observations[agent], infos[agent]) for agent in waiting}
            actions = {
                agent: policies[agent].act(observations[agent], infos[agent])
                for agent in env.agents
                if agent not in asked
            }
            actions |= {agent: call.result() for agent, call in asked.items()}
            observations, _, _, _, infos = env.step({agent: actions[agent] for agent in env.agents})


def _look(infos: Mapping[str, Mapping[str, Any]], agents: list[str]) -> None:
    """Compute the legal orders before threads need them: the engine is not thread-safe."""
    for agent in agents:
        view: View = infos[agent]["view"]
        _ = view.legal_orders


def _check(stop: Event) -> None:
    if stop.is_set():
        raise GameStopped("the game was broken off, since another one had to end")


def conversation(policies: Policies) -> dict[str, Any]:
    """The entries of language models in a game's record.

    "language_models": player -> a list with an entry per model (`LMPolicy.to_dict`); "replies": player -> how many
    were requested, and how many could be parsed.
    """
    from agents.lm.ledger import reply_counts
    from agents.lm.player import language_models

    found = {player: list(language_models(policy)) for player, policy in policies.items()}
    playing = {player: models for player, models in found.items() if models}
    return {
        "language_models": {player: [model.to_dict() for model in models] for player, models in playing.items()},
        "replies": {player: reply_counts(model.ledger for model in models) for player, models in playing.items()},
    }
