"""One game from its `GameSpec` to its record, with players acting in turn or simultaneously."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from pettingzoo import AECEnv, ParallelEnv

import welfare_env
from agents import CoalitionPolicy, PlanningPolicy, Policy
from agents.asking import AskingPolicy
from evaluation.checks import PROGRAMS, EvaluationError
from evaluation.play.game_spec import GameSpec
from evaluation.play.start import replayed
from welfare_env import WelfareEnvError
from welfare_env.checks import quoted

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels
    from agents.specs import Spec

NO_COALITION = "it does not play a coalition: give it reset_coalition(agents, seed), see agents.CoalitionPolicy"

Record = dict[str, Any]
Models: TypeAlias = "SharedModels | Mapping[str, Any] | None"
"""Cache, budget and models for language-model players; or just a mapping of names (as in specs) to your own models."""


class GameStopped(WelfareEnvError):
    """A game was stopped because another one failed."""


def play_game(spec: GameSpec, models: Models = None) -> Record:
    """Play one game to its end.

    Args:
        models: cache, budget and your own models for language-model players (`agents.lm`'s SharedModels), or just a
            mapping of names to your own models; None for the defaults.

    Returns:
        The game's record, with "seed" and "players" in the section "welfare_env", and, with language models, the
        output of `evaluation.play.playing.conversation`.

    Raises:
        UnknownAgentError, UnknownMapError, RulesError: an invalid policy, map or rules.
        EvaluationError: not every player has exactly one policy.
        LMError: a budget is exhausted, a model cannot be called, or a prompt does not fit the game.
    """
    if not isinstance(spec, GameSpec):
        raise EvaluationError(f"spec={quoted(spec)}: give evaluation.GameSpec(...)")
    shared = shared_models(models)
    seats = set_up_game(spec, shared)
    if seats.models:
        from agents.lm.models.shared_models import default_models

        with (shared or default_models()).tasks(1) as submit:
            played: Record = submit(seats.play(shared, Event())).result()
        return played
    turns, env, seen = seats.turns(shared), seats.env.unwrapped, None
    while env.agents:  # without language models nothing waits, so no event loop is needed
        seen = env.step(turns.send(seen))
    return seats.record()


async def aplay_game(spec: GameSpec, models: Models = None, stop: Event | None = None) -> Record:
    """Like `play_game`, in the caller's event loop, so that many games can wait for language models concurrently.

    Args:
        models: the same `SharedModels` for all games share its limits.
        stop: aborts the game when it is set, with `GameStopped`.
    """
    shared = shared_models(models)
    return await set_up_game(spec, shared).play(shared, stop or Event())


def shared_models(models: Models) -> SharedModels | None:
    """The models shared by all players of a run.

    Raises:
        EvaluationError: neither `SharedModels` nor a mapping.
        ConfigError: one of your own models lacks the protocol, or its name cannot be used in a spec.
    """
    if models is None:
        return None
    from agents.lm.models.shared_models import SharedModels

    if isinstance(models, Mapping):
        return SharedModels(own=models)
    if not isinstance(models, SharedModels):
        raise EvaluationError(
            f"models={quoted(models)}: give agents.lm's SharedModels(...), "
            "or your own models by name: {'mine': MODEL}"
        )
    return models


@dataclass(frozen=True)
class Seats:
    """A game ready to start: the environment and a policy for each player.

    Attributes:
        spec: the game, with all its players.
        models: of the policies, those that are or contain language models.
    """

    spec: GameSpec
    env: AECEnv | ParallelEnv
    policies: Mapping[str, Policy]
    models: Mapping[str, Policy]

    async def play(self, models: SharedModels | None, stop: Event) -> Record:
        """Play the game and return its record; arguments and errors as for `aplay_game`."""
        turns, env, seen = self.turns(models), self.env.unwrapped, None
        while env.agents:
            action = turns.send(seen)
            seen = env.step(await action if isinstance(action, Coroutine) else action)
            await asyncio.sleep(0)  # other games of the event loop continue
            if stop.is_set() and env.agents:
                raise GameStopped("the game was broken off, since another one had to end")
        return self.record()

    def turns(self, models: SharedModels | None) -> Generator[Any, Any, None]:
        """The actions for `env.step`, each for the outcome of the one before.

        Where language models are asked, it is a coroutine that gives the action.
        """
        start = self.spec.start
        past, opening = (start.past, {"game": start.opening(self.spec.engine)}) if start else ({}, {})
        seen = self.env.reset(seed=self.spec.seed, options=opening)
        asked = {player: policy for player, policy in self.models.items() if isinstance(policy, AskingPolicy)}
        return self._at_once(models, past, asked, seen) if self.spec.simultaneous else self._in_turn(past, asked)

    def _in_turn(self, past: Mapping[str, Any], asked: Mapping[str, AskingPolicy]) -> Generator[Any, Any, None]:
        env, policies = self.env.unwrapped, self.policies  # without the wrapper's checks
        looking = {agent: getattr(policy, "reads_observations", True) for agent, policy in policies.items()}
        while env.agents:
            agent = env.agent_selection
            observation, _, terminated, truncated, info = env.last(observe=looking[agent])
            if terminated or truncated:
                yield None
            elif phase := past.get(env.game.phase):
                yield self._replayed(phase, agent, observation, info)
            elif agent in asked:
                yield _asked(asked[agent], agent, observation, info)
            else:
                yield _act(policies[agent], agent, observation, info)

    def _at_once(
        self, models: SharedModels | None, past: Mapping[str, Any], asked: Mapping[str, AskingPolicy], seen: Any
    ) -> Generator[Any, Any, None]:
        """Turns in which all players act simultaneously; language models are called in parallel."""
        env = self.env.unwrapped
        while env.agents:
            observations, infos = seen[0], seen[-1]
            turns = {agent: (agent, observations[agent], infos[agent]) for agent in env.agents}
            if phase := past.get(env.game.phase):
                seen = yield {agent: self._replayed(phase, *turn) for agent, turn in turns.items()}
                continue
            actions = {agent: _act(self.policies[agent], *turns[agent]) for agent in turns if agent not in asked}
            waiting = {agent: _asked(asked[agent], *turns[agent]) for agent in turns if agent in asked}
            seen = yield _all(waiting, actions, models) if waiting else actions

    def _replayed(self, phase: Mapping[str, Any], player: str, observation: Any, info: Mapping[str, Any]) -> Any:
        """A player's action in a phase of the earlier game; people and language models are not asked for theirs."""
        silent = player in self.models or dict(self.spec.players)[player].has_person
        action = None if silent else _act(self.policies[player], player, observation, info)
        return replayed(phase, info["view"], action)

    def record(self) -> Record:
        """The record of the game so far."""
        spec, record = self.spec, dict(self.env.unwrapped.game.record())
        record["welfare_env"] |= {
            "seed": spec.seed,
            "players": spec.written,
            **({"simultaneous": True} if spec.simultaneous else {}),
            **({"start": spec.start.phase} if spec.start else {}),
            **({"coalition": list(spec.coalition)} if spec.coalition else {}),
            **(conversation(self.policies) if self.models else {}),
        }
        return record


def set_up_game(spec: GameSpec, models: SharedModels | None) -> Seats:
    """A game before its first turn, with its policies made and reset; arguments and errors as for `play_game`."""
    make = welfare_env.parallel_env if spec.simultaneous else welfare_env.make
    env = make(spec.map_name, spec.rules, engine=spec.engine)
    specs = dict(spec.players)
    if sorted(power for power, _ in spec.players) != sorted(env.possible_agents):
        raise EvaluationError(
            f"players are {[power for power, _ in spec.players]}: give a policy for each of {env.possible_agents}, once"
        )
    alone = [power for power in specs if power not in spec.coalition[1:]]
    own = {power: made(specs[power], models) for power in alone}
    policies = {power: own[spec.coalition[0] if power in spec.coalition else power] for power in specs}
    for policy in policies.values():
        if isinstance(policy, PlanningPolicy):
            policy.meet(lambda power: specs[power].make(models))
    for power in alone:
        seat = "+".join(spec.coalition) if power in spec.coalition else power
        policy = policies[power]
        seed = seat_seed(spec.seed, seat, specs[power], policy)
        if power not in spec.coalition:
            policy.reset(agent=power, seed=seed)
        elif isinstance(policy, CoalitionPolicy):
            policy.reset_coalition(agents=spec.coalition, seed=seed)
        else:
            raise EvaluationError(f"{specs[power].text}: {NO_COALITION}")
    return Seats(spec, env, policies, _with_models(spec, policies))


def made(spec: Spec, models: SharedModels | None) -> Policy:
    """A policy that plays Diplomacy.

    Raises:
        UnknownAgentError: as `Spec.make`.
        EvaluationError: the policy writes programs of modal_env.
    """
    policy = spec.make(models)
    if any(kind.__module__.startswith("agents.modal.") for kind in type(policy).__mro__):
        raise EvaluationError(f"policy {spec.text!r} {PROGRAMS}")
    return policy


def _with_models(spec: GameSpec, policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """The policies with language models; each gets the notes of the one in its seat in an earlier game."""
    if spec.is_named and not spec.asks_language_models:
        return {}
    from agents.lm.player.policy import language_models

    found = {}
    for player, policy in policies.items():
        models = list(language_models(policy))
        if models:
            found[player] = policy
        if spec.start:
            nothing: dict[str, dict[str, str]] = {"summaries": {}, "journal": {}}
            for model, notes in zip(models, chain(spec.start.notes(player), repeat(nothing)), strict=False):
                model.recall(spec.start.past, **notes)
    return found


def seat_seed(seed: int, seat: str, spec: Spec, policy: Policy) -> int:
    """The seed that a policy is reset with, for its seat in the game of this seed.

    A policy of the user's, also inside another one, gets a number that differs by seat and game, so that
    ``default_rng(seed)`` draws other numbers in every seat. The package's own policies mix their power into the game's
    seed themselves (`agents.ScriptedPolicy`), and a language model's seed is the number of its sample in the cache.
    """
    is_own = any(each.outside for each in spec.walk()) if spec.is_named else not _is_ours(policy)
    return int(np.random.SeedSequence([seed, *seat.encode()]).generate_state(1)[0]) if is_own else seed


def _is_ours(policy: Policy) -> bool:
    """Whether a policy, and all policies in it, are classes of this package."""
    return type(policy).__module__.startswith("agents.") and all(map(_is_ours, getattr(policy, "parts", ())))


async def _asked(policy: AskingPolicy, player: str, observation: Any, info: Mapping[str, Any]) -> Any:
    """The action of a policy with language models. If the game has to stop for lack of a reply, the error says where.

    Raises:
        ModelError, AccessError: there is no reply, now or at all.
    """
    from agents.lm.errors import AccessError, ModelError

    try:
        return await policy.aact(observation, info)
    except (AccessError, ModelError) as error:
        where = f"; the game stopped in {info['view'].phase} at a question to {player}"
        raise type(error)(error.kind, f"{error}{where}") from error


def _act(policy: Policy, player: str, observation: Any, info: Mapping[str, Any]) -> Any:
    """The policy's action; errors get a note with the policy, player and phase."""
    try:
        return policy.act(observation, info)
    except Exception as error:
        error.add_note(f"({type(policy).__name__} as {player} in {info['view'].phase})")
        raise


async def _all(
    waiting: Mapping[str, Coroutine[Any, Any, Any]], others: Mapping[str, Any], models: SharedModels | None
) -> dict[str, Any]:
    """The actions of the players that wait for language models, asked concurrently, and of the others.

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

    outcomes = await asyncio.gather(*map(played, waiting.values()), return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise next((error for error in errors if not isinstance(error, StoppedError)), errors[0])
    found = {**others, **dict(zip(waiting, outcomes, strict=True))}
    return found


def conversation(policies: Mapping[str, Policy]) -> dict[str, Any]:
    """The entries of language models in a game's record.

    "language_models": player -> list with an entry per model (`LMPolicy.to_dict`); "replies": player -> numbers of
    requested and of parsed replies.
    """
    from agents.lm.player.ledger import reply_counts
    from agents.lm.player.policy import language_models

    found = {player: list(language_models(policy)) for player, policy in policies.items()}
    playing = {player: models for player, models in found.items() if models}
    return {
        "language_models": {player: [model.to_dict() for model in models] for player, models in playing.items()},
        "replies": {player: reply_counts(model.ledger for model in models) for player, models in playing.items()},
    }
