"""One game from its `GameSpec` to its record, with players acting in turn or simultaneously."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from pettingzoo import AECEnv, ParallelEnv

import welfare_env
from agents import CoalitionPolicy, PlanningPolicy, Policy
from agents.asking import AskingPolicy
from agents.modal.players import ProgramPolicy
from evaluation.checks import PROGRAMS, EvaluationError
from evaluation.play.game_spec import GameSpec
from evaluation.play.start import Start, replayed
from welfare_env import WelfareEnvError
from welfare_env.checks import quoted

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels
    from agents.specs import Spec

NO_COALITION = "it does not play a coalition: give it reset_coalition(agents, seed), see agents.CoalitionPolicy"

Record = dict[str, Any]
Policies = Mapping[str, Policy]
Models: TypeAlias = "SharedModels | Mapping[str, Any] | None"
"""Cache, budget and models for language-model players; or just a mapping of names (as in specs) to your own models."""


class GameStopped(WelfareEnvError):
    """A game was stopped because another one failed."""


def play_game(spec: GameSpec, models: Models = None, stop: Event | None = None) -> Record:
    """Play one game to its end.

    Args:
        models: cache, budget and your own models for language-model players (`agents.lm`'s SharedModels), or just a
            mapping of names to your own models; None for the defaults.
        stop: aborts the game when it is set.

    Returns:
        The game's record, with "seed" and "players" in the section "welfare_env", and, with language models, the
        output of `evaluation.play.playing.conversation`.

    Raises:
        UnknownAgentError, UnknownMapError, RulesError: an invalid policy, map or rules.
        EvaluationError: not every player has exactly one policy.
        LMError: a budget is exhausted, a model cannot be called, or a prompt does not fit the game.
        GameStopped: `stop` was set.
    """
    if not isinstance(spec, GameSpec):
        raise EvaluationError(f"spec={quoted(spec)}: give evaluation.GameSpec(...)")
    shared = shared_models(models)
    table = set_up_game(spec, shared)
    playing = table.play(shared, stop or Event())
    if table.asks:
        from agents.lm.models.shared_models import default_models

        with (shared or default_models()).tasks(1) as tasks:
            return tasks.submit(playing).result()
    try:
        while True:
            playing.send(None)  # without language models nothing waits, so no event loop is needed
    except StopIteration as end:
        record: Record = end.value
        return record


async def aplay_game(spec: GameSpec, models: Models = None, stop: Event | None = None) -> Record:
    """Like `play_game`, in the caller's event loop, so that many games can wait for language models concurrently.

    Pass the same `SharedModels` to all of them to share its limits.
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
        asks: whether a policy is or contains a language model.
    """

    spec: GameSpec
    env: AECEnv | ParallelEnv
    policies: Policies
    asks: bool

    async def play(self, models: SharedModels | None, stop: Event) -> Record:
        """Play the game and return its record; arguments and errors as for `play_game`."""
        if self.spec.simultaneous:
            await self._play_at_once(models, stop)
            return self.record()
        env, policies = self.env.unwrapped, self.policies  # without the wrapper that checks the order of calls
        env.reset(seed=self.spec.seed, options=self._options())
        past = self.spec.start.past if self.spec.start else {}
        looking = {agent: getattr(policy, "reads_observations", True) for agent, policy in policies.items()}
        waiting = self._waiting()
        while env.agents:
            await asyncio.sleep(0)  # lets other games of the event loop continue
            _check(stop)
            agent = env.agent_selection
            observation, _, terminated, truncated, info = env.last(observe=looking[agent])
            if terminated or truncated:
                env.step(None)
            elif phase := past.get(env.game.phase):
                env.step(self._replayed(phase, agent, observation, info, waiting))
            elif agent in waiting:
                env.step(await _asked(waiting[agent], agent, observation, info))
            else:
                env.step(_act(policies[agent], agent, observation, info))
        return self.record()

    async def _play_at_once(self, models: SharedModels | None, stop: Event) -> None:
        """Play a game in which all players act simultaneously; language models are called in parallel."""
        env, waiting = self.env, self._waiting()
        observations, infos = env.reset(seed=self.spec.seed, options=self._options())
        past = self.spec.start.past if self.spec.start else {}
        while env.agents:
            await asyncio.sleep(0)
            _check(stop)
            if phase := past.get(env.unwrapped.game.phase):
                again = {
                    each: self._replayed(phase, each, observations[each], infos[each], waiting) for each in env.agents
                }
                observations, _, _, _, infos = env.step(again)
                continue
            asked = [agent for agent in env.agents if agent in waiting]
            turns = {agent: _asked(waiting[agent], agent, observations[agent], infos[agent]) for agent in asked}
            actions = await _all(turns, models) if turns else {}
            for agent in env.agents:
                if agent not in waiting:
                    actions[agent] = _act(self.policies[agent], agent, observations[agent], infos[agent])
            observations, _, _, _, infos = env.step({agent: actions[agent] for agent in env.agents})

    def _options(self) -> dict[str, Any]:
        """The options of the environment's reset: the first position, if it is not the opening."""
        return {"game": self.spec.start.opening(self.spec.engine)} if self.spec.start else {}

    def _replayed(
        self,
        phase: Mapping[str, Any],
        player: str,
        observation: Any,
        info: Mapping[str, Any],
        waiting: Collection[str],
    ) -> Any:
        """A player's action in a phase of the earlier game; people and language models are not asked for theirs.

        Args:
            waiting: the players with language models.
        """
        silent = player in waiting or dict(self.spec.players)[player].has_person
        action = None if silent else _act(self.policies[player], player, observation, info)
        return replayed(phase, info["view"], action)

    def _waiting(self) -> dict[str, AskingPolicy]:
        """The policies with awaitable actions (those with language models)."""
        if not self.asks:
            return {}
        from agents.lm.player.policy import language_models

        return {
            agent: policy
            for agent, policy in self.policies.items()
            if isinstance(policy, AskingPolicy) and any(language_models(policy))
        }

    def record(self) -> Record:
        """The record of the game so far."""
        record: Record = self.env.unwrapped.game.record()
        record["welfare_env"] |= {"seed": self.spec.seed, "players": self.spec.written}
        if self.spec.simultaneous:
            record["welfare_env"]["simultaneous"] = True
        if self.spec.start:
            record["welfare_env"]["start"] = self.spec.start.phase
        if self.spec.coalition:
            record["welfare_env"]["coalition"] = list(self.spec.coalition)
        if self.asks:
            record["welfare_env"] |= conversation(self.policies)
        return record


def set_up_game(spec: GameSpec, models: SharedModels | None) -> Seats:
    """A game before its first turn; arguments and errors as for `play_game`."""
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
    _reset(policies, spec, specs)
    asks = _ask_language_models(specs.values(), policies.values())
    if asks and spec.start:
        _remind(policies, spec.start)
    return Seats(spec, env, policies, asks)


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


def _reset(policies: Policies, spec: GameSpec, specs: Mapping[str, Spec]) -> None:
    """Reset each policy with its power and its seed."""
    for power, policy in policies.items():
        if power not in spec.coalition:
            policy.reset(agent=power, seed=seat_seed(spec.seed, power, specs[power], policy))
    if spec.coalition:
        first = spec.coalition[0]
        shared = policies[first]
        if not isinstance(shared, CoalitionPolicy):
            raise EvaluationError(f"{specs[first].text}: {NO_COALITION}")
        seed = seat_seed(spec.seed, "+".join(spec.coalition), specs[first], shared)
        shared.reset_coalition(agents=spec.coalition, seed=seed)


def _remind(policies: Policies, start: Start) -> None:
    """Give each language model the notes of the one in its seat in the earlier game."""
    from agents.lm.player.policy import language_models

    for player, policy in policies.items():
        notes = start.notes(player)
        for number, model in enumerate(language_models(policy)):
            model.recall(start.past, **(notes[number] if number < len(notes) else {"summaries": {}, "journal": {}}))


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


def _ask_language_models(specs: Collection[Spec], made: Iterable[Policy]) -> bool:
    """Whether a policy is or contains a language model; unnamed policies are inspected."""
    if all(spec.is_named for spec in specs) or any(spec.models for spec in specs):
        return any(spec.models for spec in specs)
    from agents.lm.player.policy import language_models

    return any(True for policy in made for _ in language_models(policy))


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
    from agents.lm.player.ledger import reply_counts
    from agents.lm.player.policy import language_models

    found = {player: list(language_models(policy)) for player, policy in policies.items()}
    playing = {player: models for player, models in found.items() if models}
    return {
        "language_models": {player: [model.to_dict() for model in models] for player, models in playing.items()},
        "replies": {player: reply_counts(model.ledger for model in models) for player, models in playing.items()},
    }
