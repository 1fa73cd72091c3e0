"""Play one game from start to end, with players acting in turn or simultaneously."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from pettingzoo import AECEnv, ParallelEnv

import welfare_env
from agents import CoalitionPolicy, PlanningPolicy, Policy
from agents.asking import AskingPolicy
from agents.modal.players import ProgramPolicy
from evaluation.checks import PROGRAMS, EvaluationError
from welfare_env import WelfareEnvError

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels
    from agents.specs import Spec
    from evaluation.play.game_spec import GameSpec

NO_COALITION = "it does not play a coalition: give it reset_coalition(agents, seed), see agents.CoalitionPolicy"

Policies = Mapping[str, Policy]


class GameStopped(WelfareEnvError):
    """A game was stopped because another one failed."""


@dataclass(frozen=True)
class Seats:
    """A game ready to start: the environment and a policy for each player.

    Attributes:
        spec: the game, with all its players.
        asks: whether a policy is or contains a language model.
    """

    spec: GameSpec
    env: AECEnv | ParallelEnv
    policies: Policies
    asks: bool

    async def play(self, models: SharedModels | None, stop: Event) -> dict[str, Any]:
        """Play the game and return its record; arguments and errors as for `evaluation.play.games.play_game`."""
        if self.spec.simultaneous:
            await play_at_once(self.env, self.policies, self.spec.seed, stop, models, self.asks)
        else:
            await play_in_turn(self.env, self.policies, self.spec.seed, stop, self.asks)
        return self.record()

    def record(self) -> dict[str, Any]:
        """The record of the game so far."""
        record: dict[str, Any] = self.env.unwrapped.game.record()
        record["welfare_env"] |= {"seed": self.spec.seed, "players": self.spec.written}
        if self.spec.simultaneous:
            record["welfare_env"]["simultaneous"] = True
        if self.spec.coalition:
            record["welfare_env"]["coalition"] = list(self.spec.coalition)
        if self.asks:
            record["welfare_env"] |= conversation(self.policies)
        return record


def set_up_game(spec: GameSpec, models: SharedModels | None) -> Seats:
    """A game before its first turn; arguments and errors as for `evaluation.play.games.play_game`."""
    make = welfare_env.parallel_env if spec.simultaneous else welfare_env.make
    env = make(spec.map_name, spec.rules, engine=spec.engine)
    specs = dict(spec.players)
    if sorted(power for power, _ in spec.players) != sorted(env.possible_agents):
        raise EvaluationError(
            f"players are {[power for power, _ in spec.players]}: give a policy for each of {env.possible_agents}, once"
        )
    policies = _made(spec.players, spec.coalition, models)
    for policy in policies.values():
        if isinstance(policy, PlanningPolicy):
            policy.meet(lambda power: specs[power].make(models))
    for power, named in spec.players:
        check_orders_written(named, policies[power])
    _reset(policies, spec.coalition, spec.seed, specs)
    return Seats(spec, env, policies, _ask_language_models(specs.values(), policies.values()))


def check_orders_written(named: Spec, policy: Policy) -> None:
    """Check that a policy plays Diplomacy.

    Raises:
        EvaluationError: the policy writes programs of modal_env.
    """
    if isinstance(policy, ProgramPolicy):
        raise EvaluationError(f"policy {named.text!r} {PROGRAMS}")


def _made(
    players: Sequence[tuple[str, Spec]], coalition: Sequence[str], models: SharedModels | None
) -> dict[str, Policy]:
    """Make a policy for each player, and one for all members of a coalition."""
    shared = [policy.make(models) for power, policy in players if power in coalition[:1]]
    return {power: shared[0] if power in coalition else policy.make(models) for power, policy in players}


def _reset(policies: Policies, coalition: Sequence[str], seed: int, specs: Mapping[str, Spec]) -> None:
    """Reset each policy with its power and the seed."""
    for power, policy in policies.items():
        if power not in coalition:
            policy.reset(agent=power, seed=seed)
    if coalition:
        shared = policies[coalition[0]]
        if not isinstance(shared, CoalitionPolicy):
            raise EvaluationError(f"{specs[coalition[0]].text}: {NO_COALITION}")
        shared.reset_coalition(agents=tuple(coalition), seed=seed)


def _ask_language_models(specs: Collection[Spec], made: Iterable[Policy]) -> bool:
    """Whether a policy is or contains a language model; unnamed policies are inspected."""
    if all(spec.is_named for spec in specs) or any(spec.models for spec in specs):
        return any(spec.models for spec in specs)
    from agents.lm.player import language_models

    return any(True for policy in made for _ in language_models(policy))


async def play_in_turn(env: AECEnv, policies: Policies, seed: int, stop: Event, asks: bool) -> None:
    """Play a game in which players act one after another.

    Raises:
        GameStopped: `stop` was set.
    """
    env = env.unwrapped  # without the wrapper that checks the order of calls
    env.reset(seed=seed)
    looking = {agent: getattr(policy, "reads_observations", True) for agent, policy in policies.items()}
    waiting = _waiting(policies, asks)
    while env.agents:
        await asyncio.sleep(0)  # lets other games of the event loop continue
        _check(stop)
        agent = env.agent_selection
        observation, _, terminated, truncated, info = env.last(observe=looking[agent])
        if terminated or truncated:
            env.step(None)
        elif agent in waiting:
            env.step(await waiting[agent].aact(observation, info))
        else:
            env.step(_act(policies[agent], agent, observation, info))


def _act(policy: Policy, player: str, observation: Any, info: Mapping[str, Any]) -> Any:
    """The policy's action; errors get a note with the policy, player and phase."""
    try:
        return policy.act(observation, info)
    except Exception as error:
        error.add_note(f"({type(policy).__name__} as {player} in {info['view'].phase})")
        raise


async def play_at_once(
    env: ParallelEnv, policies: Policies, seed: int, stop: Event, models: SharedModels | None, asks: bool
) -> None:
    """Play a game in which all players act simultaneously; language models are called in parallel.

    Args:
        models: cache and budget for language models; an error in one turn stops the others.

    Raises:
        GameStopped: `stop` was set.
    """
    waiting = _waiting(policies, asks)
    observations, infos = env.reset(seed=seed)
    while env.agents:
        await asyncio.sleep(0)
        _check(stop)
        turns = {
            agent: waiting[agent].aact(observations[agent], infos[agent]) for agent in env.agents if agent in waiting
        }
        actions = await _all(turns, models) if turns else {}
        for agent in env.agents:
            if agent not in waiting:
                actions[agent] = _act(policies[agent], agent, observations[agent], infos[agent])
        observations, _, _, _, infos = env.step({agent: actions[agent] for agent in env.agents})


def _waiting(policies: Policies, asks: bool) -> dict[str, AskingPolicy]:
    """The policies with awaitable actions (those with language models)."""
    if not asks:
        return {}
    from agents.lm.player import language_models

    return {
        agent: policy
        for agent, policy in policies.items()
        if isinstance(policy, AskingPolicy) and any(language_models(policy))
    }


async def _all(turns: Mapping[str, Coroutine[Any, Any, Any]], models: SharedModels | None) -> dict[str, Any]:
    """The actions of turns played concurrently.

    If a turn fails, pending calls of the others are awaited, since they are already paid for, but not retried.
    """
    from agents.lm.errors import LMError, StoppedError
    from agents.lm.models.shared_models import default_models

    halt = (models or default_models()).halt

    async def played(turn: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await turn
        except Exception as error:
            halt.stop(error if isinstance(error, LMError) else None)
            raise

    outcomes = await asyncio.gather(*map(played, turns.values()), return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise next((error for error in errors if not isinstance(error, StoppedError)), errors[0])
    return dict(zip(turns, outcomes, strict=True))


def _check(stop: Event) -> None:
    if stop.is_set():
        raise GameStopped("the game was broken off, since another one had to end")


def conversation(policies: Policies) -> dict[str, Any]:
    """The entries of language models in a game's record.

    "language_models": player -> list with an entry per model (`LMPolicy.to_dict`); "replies": player -> numbers of
    requested and of parsed replies.
    """
    from agents.lm.ledger import reply_counts
    from agents.lm.player import language_models

    found = {player: list(language_models(policy)) for player, policy in policies.items()}
    playing = {player: models for player, models in found.items() if models}
    return {
        "language_models": {player: [model.to_dict() for model in models] for player, models in playing.items()},
        "replies": {player: reply_counts(model.ledger for model in models) for player, models in playing.items()},
    }
