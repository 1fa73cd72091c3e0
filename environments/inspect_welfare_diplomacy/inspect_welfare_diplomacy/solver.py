"""Plays the games of a task with inspect's models; a game is a sample, and each turn of a power a span of its log."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any

from anyio import CancelScope
from inspect_ai.model import ModelOutput, get_model, model_roles
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import Store, span

from agents.asking import Asking, AskingPolicy
from agents.lm.errors import ConfigError
from agents.lm.models.cache import ResponseCache
from agents.lm.models.limits import Halt
from agents.lm.models.shared_models import SharedModels
from agents.policy import Policy
from agents.specs import Spec, read_profile
from evaluation import GameSpec, Setting, measure
from evaluation.experiments.attacks import ITSELF, Deviation
from evaluation.experiments.deviators import read_deviators
from evaluation.experiments.exploitability import resolve_coalitions
from evaluation.measures.intervals import Coalition
from evaluation.play.game_spec import with_external_players
from evaluation.play.playing import Seats, set_up_game
from inspect_welfare_diplomacy.limits import Room
from inspect_welfare_diplomacy.model import InspectModel
from welfare_env.errors import did_you_mean
from welfare_env.game.view import MESSAGES

LONGEST_WAIT = 60.0  # seconds to wait for pending replies when a game is canceled


@dataclass(frozen=True)
class Games:
    """The games of a task; inspect provides the language models.

    Attributes:
        policy: the profile, as text.
        games: games per condition and epoch.
        setting: rules, map, seats and seed.
        attacks: self-play, and every deviator with every coalition.
    """

    policy: str
    games: int
    setting: Setting
    attacks: tuple[Deviation, ...]

    @classmethod
    def of(
        cls, policy: str, games: int, setting: Setting, deviators: list[str] | None = None, coalitions: Any = None
    ) -> Games:
        """Self-play and, if there are coalitions, their attacks; errors as `evaluation.exploitability`."""
        profile = read_profile(policy)
        setting.games(profile, games)
        if coalitions is None:
            return cls(policy, games, setting, (ITSELF,))
        found = read_deviators(deviators, profile, policy, setting)
        chosen = resolve_coalitions(setting.board, coalitions)
        return cls(policy, games, setting, (ITSELF, *(Deviation(each, who) for each in found for who in chosen)))

    def spec(self, number: int, deviator: str, coalition: Coalition) -> GameSpec:
        """The game with a number in the evaluation, under an attack; "" and () for self-play."""
        attack = next(each for each in self.attacks if each.attack == (deviator, coalition))
        return attack.of(self.setting.game(read_profile(self.policy), number))


MODEL = "model"
"""The seat's own model in a spec: "lm:model". The model of another role is "lm:ROLE"."""


class LoggedTurns(AskingPolicy):
    """A player whose turns are spans of inspect's log."""

    def __init__(self, policy: AskingPolicy) -> None:
        self.policy = policy

    def reset(self, agent: str, seed: int = 0) -> None:
        """Reset the player."""
        self.agent, self._phase = agent, ""
        self.policy.reset(agent=agent, seed=seed)

    def asking(self, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
        """Delegates to the player."""
        return self.policy.asking(observation, info)

    async def aact(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """The player's action, logged in a span of the turn within a span of the power.

        Orders after message rounds are from the last round's reply, so they get no span.
        """
        view = info["view"]
        if view.phase == self._phase and view.asked != MESSAGES:
            return await self.policy.aact(observation, info)
        self._phase = view.phase
        turn = f"{view.phase}, round {view.message_round}" if view.message_round else view.phase
        async with span(self.agent, type="agent"), span(turn, type="turn"):
            return await self.policy.aact(observation, info)

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The player."""
        return (self.policy,)


@solver
def game(games: Games, lm_cache: str | None = None) -> Solver:
    """Play the game of a sample and epoch.

    Args:
        games: the games of the task.
        lm_cache: file with cached replies, so that an interrupted game resumes; None or "" for none.
    """

    @functools.cache
    def opened_cache() -> ResponseCache | None:
        # Opened by the first game, since the working directory differs while inspect loads a task.
        return ResponseCache(lm_cache) if lm_cache else None

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        models = SharedModels(opened_cache())
        begun = models.halt.begin()
        models.halt.join(begun)  # the seats of this game stop together
        number = state.metadata["game"] + games.games * (state.epoch - 1)
        spec = games.spec(number, state.metadata["deviator"], tuple(state.metadata["coalition"]))
        room = Room(is_output=state.token_limit_type == "output")
        played = with_external_players(spec, lambda power, policy: _player(power, policy, models, room))
        state.store.set("number", number)
        record = await _in_full(_played(set_up_game(played, models), models, state.store), models.halt)
        state.store.set("record", record)
        found = measure(record)
        points = ", ".join(f"{power} {points:.2f}" for power, points in found.welfare_per_year.items())
        told = f"Root Nash welfare {found.root_nash_welfare:.3f}. Welfare points a year: {points}."
        state.output = ModelOutput.from_content("game", told)
        state.messages.append(state.output.message)
        return state

    return solve


async def _played(seats: Seats, models: SharedModels, store: Store) -> dict[str, Any]:
    """Play a game and return its record; if it is canceled or fails, store the partial record."""
    try:
        return await seats.play(models, Event())
    except BaseException:
        store.set("unfinished", seats.record())
        raise


async def _in_full(playing: Coroutine[Any, Any, dict[str, Any]], halt: Halt) -> dict[str, Any]:
    """The result of a game. If it is canceled (Ctrl-C, a time limit), no further requests are sent, and pending
    replies, which are paid for, are awaited and cached.
    """
    game = asyncio.create_task(playing)
    try:
        return await asyncio.shield(game)
    finally:
        if not game.done():
            halt.stop()
            with CancelScope(shield=True):
                await asyncio.wait([game], timeout=LONGEST_WAIT)
            game.cancel()
            await asyncio.gather(game, return_exceptions=True)


def _player(power: str, policy: Spec, models: SharedModels, room: Room) -> Policy:
    """A player that uses inspect's language models."""
    player = policy.make(SharedModels(models.cache, own=_own(power, policy, models.halt, room), halt=models.halt))
    return LoggedTurns(player) if isinstance(player, AskingPolicy) else player


def _own(power: str, policy: Spec, halt: Halt, room: Room) -> dict[str, InspectModel]:
    """inspect's models named in a spec, for the seat and for roles.

    Raises:
        ConfigError: the spec names an unknown role; or it uses "lm:model", but a role has that name, too.
    """
    named, roles = {name for name, _ in policy.models}, model_roles()
    if MODEL in named & roles.keys():
        raise ConfigError(
            f"role {MODEL!r}: lm:{MODEL} is reserved for the model of the seat: give the role another name, such as "
            "player, and use that in the policy: lm:player"
        )
    for name in sorted(named - {MODEL, *roles}):
        if "/" not in name:
            near = did_you_mean(name, roles)
            raise ConfigError(f"lm:{name}: unknown role {name!r}{near}: give --model-role {name}=PROVIDER/MODEL")
    own = {role: InspectModel(get_model(role=role), halt, room) for role in roles if role in named}
    return own | ({MODEL: InspectModel(get_model(role=power.lower()), halt, room)} if MODEL in named else {})
