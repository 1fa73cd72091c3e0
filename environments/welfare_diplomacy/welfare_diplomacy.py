"""Welfare Diplomacy for verifiers (v1): a game of seven seats, each rewarded with its own welfare points.

A task is a game. Every question to a power is one run of its agent, with its own trace; when the game is over, each
trace gets the reward "welfare", its power's points per year. The configuration assigns the seats: an agent for each
power, and policies of `agents` for the seats that are not trained.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Event
from typing import Any

import verifiers.v1 as vf
from openai import AsyncOpenAI, OpenAIError

from agents.lm.errors import LMError, ModelError
from agents.lm.models.protocol import NO_USAGE, Model, Reply, Request, Usage, text_of
from agents.lm.models.shared_models import SharedModels
from agents.policy import Policy
from agents.specs import Spec, read_profile
from evaluation.measures.metrics import measure
from evaluation.play.game_spec import Setting, with_external_players
from evaluation.play.playing import aplay_game
from welfare_env import Rules

__all__ = ["OneCallHarness", "WelfareEnv", "WelfareTaskset"]

MODEL = "agent"
"""The name of the seat's agent in a policy spec: "lm:agent,schema=form"."""


class Question(vf.TaskData):
    """A question to a power, with the schema of its reply."""

    reply_schema: dict[str, Any] | None = None


class OneCallHarness(vf.Harness[vf.HarnessConfig]):
    """One chat completion in this process, without a program or container."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: vf.Trace,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: Any,
        tool_interception_url: str | None = None,
    ) -> vf.ProgramResult:
        """Ask through verifiers' server, which records the trace and sets the sampling parameters."""
        system, prompt = self.resolve_text_prompt(data)
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        schema = getattr(data, "reply_schema", None)
        form = {"name": "reply", "schema": schema, "strict": True}
        extra = {"response_format": {"type": "json_schema", "json_schema": form}} if schema else {}
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, max_retries=0) as client:
            try:
                await client.chat.completions.create(model=ctx.model, messages=messages, extra_body=extra)
            except OpenAIError as error:
                return vf.ProgramResult(1, "", str(error))
        return vf.ProgramResult(0, "", "")


RETRIES = 3
"""How often a question is asked again whose run has failed."""


class SeatModel(Model):
    """A verifiers agent as a language model of `agents.lm`: each question is a run of the agent.

    Attributes:
        traces: the traces of all questions that were answered so far.
    """

    def __init__(self, agent: vf.Agent, power: str) -> None:
        self.agent, self.name = agent, f"verifiers/{power.lower()}"
        self.settings = {}
        self.traces: list[vf.Trace] = []

    def complete(self, request: Request) -> Reply:
        """Not supported: waiting would block the agents' event loop.

        Raises:
            LMError: always; use `acomplete`.
        """
        raise LMError(f"{self.name}: this player works only in an event loop")

    async def acomplete(self, request: Request) -> Reply:
        """Ask the agent; a run that fails is repeated, and its trace gets no reward.

        Raises:
            ModelError: all runs failed, so the game stops.
        """
        schema = None if request.schema is None else dict(request.schema)
        question = Question(
            system_prompt=text_of(request.system) or None, prompt=text_of(request.user), reply_schema=schema
        )
        for _ in range(1 + RETRIES):
            trace = await self.agent.run(vf.Task(question))
            if trace.ok:
                self.traces.append(trace)
                used = trace.usage
                usage = Usage(used.prompt_tokens, 0, used.completion_tokens, None) if used else NO_USAGE
                return Reply(trace.last_reply, usage, model=self.name)
        raise ModelError("server", "; ".join(error.message for error in trace.errors))


class GameData(vf.TaskData):
    """A game: its number in the evaluation, from 0."""

    number: int = 0


class WelfareConfig(vf.TasksetConfig):
    """The number of games."""

    games: int = 1


class WelfareTaskset(vf.Taskset[vf.Task[GameData], WelfareConfig]):
    """Games, identified by number; each game's seed is derived from the environment's seed."""

    def load(self) -> Iterable[vf.Task[GameData]]:
        """All games."""
        for number in range(self.config.games):
            yield vf.Task[GameData](GameData(name=f"game {number}", number=number))


def _seat() -> vf.AgentConfig:
    return vf.AgentConfig(runtime=vf.SubprocessConfig())  # verifiers' default is a cloud


class WelfareEnvConfig(vf.EnvConfig):
    """An agent for each power, and the game.

    Attributes:
        years, message_rounds: rules.
        seed: seed of the games.
        policy: the profile of `agents` that plays, in which "lm:agent" stands for the seat's agent:
            "lm:agent,summariser=none", "4*lm:agent + 3*dove".
        max_concurrent_agents: concurrent questions per game; None for all seven powers at once.
    """

    austria: vf.AgentConfig = _seat()
    england: vf.AgentConfig = _seat()
    france: vf.AgentConfig = _seat()
    germany: vf.AgentConfig = _seat()
    italy: vf.AgentConfig = _seat()
    russia: vf.AgentConfig = _seat()
    turkey: vf.AgentConfig = _seat()
    years: int = 3
    message_rounds: int = 1
    seed: int = 0
    policy: str = f"lm:{MODEL},summariser=none"
    max_concurrent_agents: int | None = None


class WelfareEnv(vf.Env[WelfareEnvConfig]):
    """Seven seats of one game."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Play the game, and reward each trace with its power's welfare."""
        config = self.config
        rules = Rules(years=config.years, message_rounds=config.message_rounds)
        setting = Setting(seed=config.seed, rules=rules, simultaneous=True)
        models = {power: SeatModel(getattr(agents, power.lower()), power) for power in setting.board.powers}

        def player(power: str, policy: Spec) -> Policy:
            return policy.make(SharedModels(own={MODEL: models[power]}))

        game = setting.game(read_profile(config.policy), task.data.number)
        found = measure(await aplay_game(with_external_players(game, player), SharedModels(), Event()))
        for power, model in models.items():
            for trace in model.traces:
                trace.record_reward("welfare", found.welfare_per_year[power])
                trace.record_metric("root_nash_welfare", found.root_nash_welfare)
                trace.info["power"] = power
