"""The overhead of questions to language models, compared with a bare HTTP client.

    python -m benchmarks.language_models
    python -m benchmarks.language_models --at-once 10 --latency 1 --repeats 5

Plays games of seven language models with three simultaneous message rounds per phase, as evaluations do (replies are
cached in a file), with the stub server (`agents.lm.stub`) in a separate process, whose time is not counted. The same
questions are then asked without games, with the same concurrency and sequence: by our model, by the SDK's documented
call, and by asyncio with only the HTTP library that the SDK uses. "Games, kept replies" replays the games from cached
replies: rules, prompts and parsing only. The minimum duration of games is the latency times the longest chain of
dependent questions. The variants are measured alternately, so that a busy machine affects all alike.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import agents
import welfare_env
from agents.lm.errors import ConfigError
from agents.lm.models.cache import ResponseCache
from agents.lm.models.make import remote_provider
from agents.lm.models.protocol import Request
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.models.scripted import ScriptedModel
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub.replies import stub_reply
from evaluation.play.game_spec import GameSpec
from evaluation.play.games import aplay_game, play_game

PROVIDERS = {"openai": "/v1", "anthropic": ""}
Record = dict[str, Any]
Asked = list[list[Record]]
"""The questions of a game, grouped into concurrent ones."""
Ask = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True)
class Timed:
    """One measurement: wall seconds, CPU seconds and number of questions."""

    clock: float
    processor: float
    questions: int

    @property
    def cpu(self) -> float:
        """CPU seconds per question."""
        return self.processor / self.questions


@contextmanager
def stub_server(latency: float) -> Iterator[str]:
    """Start the stub server in another process; yields its address."""
    command = [sys.executable, "-m", "agents.lm.stub", "--port", "0", "--latency", str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this Python)
    try:
        first = process.stdout.readline() if process.stdout else ""
        yield re.findall(r"http://[\w.:]+", first)[-1].removesuffix("/stats")
    finally:
        process.terminate()
        process.wait()


def game_spec(provider: str, url: str, years: int, rounds: int, summariser: str) -> GameSpec:
    """The game to play."""
    policy = f"lm:{provider}/stub,base_url={url}{PROVIDERS[provider]},summariser={summariser}"
    rules = welfare_env.Rules(years=years, message_rounds=rounds)
    spec = agents.specs.read(policy)
    seats = tuple((power, spec) for power in welfare_env.load_board("standard").powers)
    return GameSpec(seats, 0, rules, "standard", "fast", simultaneous=True)


def stages(record: Record) -> int:
    """Length of the longest chain of dependent questions.

    A phase with messages has one question per round, and one more before the next question if its messages are
    summarized; a retreat phase has one if any power has orders to give.
    """
    players = [models[0] for models in record["welfare_env"]["language_models"].values()]
    moments = {(turn["phase"], turn["round"]) for player in players for turn in player["turns"]}
    condensed = {phase for player in players for phase in player["summaries"]}
    return len(moments) + len(condensed)


def calls(record: Record) -> int:
    """Number of questions of all players."""
    return sum(model["calls"] for models in record["welfare_env"]["language_models"].values() for model in models)


def questions(spec: GameSpec, summariser: str) -> list[list[Request]]:
    """The questions of a game, grouped by the number of powers; the stub's replies depend only on the prompt."""
    model = ScriptedModel(lambda request: stub_reply(request.prompt, request.schema))
    policy = agents.specs.read(f"lm:asked,summariser={summariser}")
    players = tuple((power, policy) for power, _ in spec.players)
    play_game(replace(spec, players=players), SharedModels(own={"asked": model}))
    together = len(players)
    return [model.requests[start : start + together] for start in range(0, len(model.requests), together)]


def sdk_client(provider: str, model: RemoteModel) -> Any:
    """The SDK's client, constructed as in its documentation."""
    sdk = importlib.import_module(provider)
    make = sdk.AsyncOpenAI if provider == "openai" else sdk.AsyncAnthropic
    return make(base_url=model.base_url, api_key="none", max_retries=0, timeout=300)


def bare_client(provider: str, model: RemoteModel) -> Any:
    """A client of the HTTP library that the SDK uses, without a limit on connections."""
    sdk = importlib.import_module(provider)
    http = importlib.import_module(sdk.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
    limits = http.Limits(max_connections=None, max_keepalive_connections=None)
    return http.AsyncClient(base_url=model.base_url, timeout=300, limits=limits)


async def asked_alone(client: Any, ask: Ask, asked: Sequence[Sequence[Any]], games: int) -> Timed:
    """Ask the questions of a number of games through a client, without playing."""

    async def game() -> None:
        for together in asked:
            await asyncio.gather(*map(ask, together))

    async with client:
        await asyncio.gather(*map(ask, asked[0]))  # imports and first connections
        clock, processor = time.perf_counter(), time.process_time()
        await asyncio.gather(*(game() for _ in range(games)))
        return Timed(time.perf_counter() - clock, time.process_time() - processor, games * sum(map(len, asked)))


async def sdk_alone(provider: str, model: RemoteModel, asked: Asked, games: int) -> Timed:
    """The SDK's call as documented: named arguments, with `extra_body` only where necessary."""
    client = sdk_client(provider, model)
    create = client.chat.completions.create if provider == "openai" else client.messages.create
    known = inspect.signature(create).parameters

    async def ask(body: Record) -> None:
        rest = {name: value for name, value in body.items() if name not in known}
        await create(**{name: value for name, value in body.items() if name in known}, extra_body=rest or None)

    return await asked_alone(client, ask, asked, games)


async def our_model(model: RemoteModel, asked: list[list[Request]], games: int) -> Timed:
    """Our own model, with retries, limits, error handling and usage."""
    model.expect(games * max(map(len, asked)))
    return await asked_alone(aclosing(model), model.acomplete, asked, games)


async def bare(provider: str, model: RemoteModel, asked: Asked, games: int) -> Timed:
    """asyncio and the HTTP library only: send the question's JSON, parse the answer's JSON."""
    client = bare_client(provider, model)

    async def ask(body: Record) -> None:
        answer = await client.post(model.endpoint, json=body)
        answer.raise_for_status()
        answer.json()

    return await asked_alone(client, ask, asked, games)


def remote_model(provider: str, url: str) -> RemoteModel:
    """The games' model, used to build request bodies."""
    if (maker := remote_provider(provider)) is None:
        raise ConfigError(f"{provider}: not a provider with a server")
    return maker("stub", base_url=url + PROVIDERS[provider])


async def played(specs: list[GameSpec], models: SharedModels) -> list[Record]:
    """Play games in this event loop."""
    return await asyncio.gather(*(aplay_game(spec, models) for spec in specs))


def ours(spec: GameSpec, games: int, file: Path) -> tuple[Timed, list[Record]]:
    """Play games as an evaluation does, with `games` workers and replies cached in a file."""
    with ResponseCache(file) as cache:
        models = SharedModels(cache)
        clock, processor = time.perf_counter(), time.process_time()
        with models.tasks(games) as tasks:
            records = tasks.submit(played([replace(spec, seed=seed) for seed in range(games)], models)).result()
        took, cpu = time.perf_counter() - clock, time.process_time() - processor
    return Timed(took, cpu, sum(map(calls, records))), records


@dataclass
class Setting:
    """A setting to measure: concurrent games with one provider's SDK and a stub server."""

    provider: str
    url: str
    spec: GameSpec
    model: RemoteModel
    requests: list[list[Request]]
    games: int
    latency: float
    chain: int = 0
    rows: dict[str, list[Timed]] = field(default_factory=lambda: defaultdict(list))

    @cached_property
    def asked(self) -> Asked:
        """The JSON of the questions."""
        return [[self.model.body(each, ()) for each in together] for together in self.requests]

    def measure(self, number: int, folder: Path) -> None:
        """One round: each variant once, so that a busy machine affects all alike."""
        file = folder / f"{self.provider}-{self.games}-{number}.sqlite"
        one, records = ours(self.spec, self.games, file)
        self.rows["games"].append(one)
        self.chain = max(map(stages, records))
        self.rows["games, kept replies"].append(ours(self.spec, self.games, file)[0])
        told = (self.provider, self.model, self.asked, self.games)
        again = remote_model(self.provider, self.url)
        self.rows["our model alone"].append(asyncio.run(our_model(again, self.requests, self.games)))
        self.rows["SDK alone"].append(asyncio.run(sdk_alone(*told)))
        self.rows["bare"].append(asyncio.run(bare(*told)))

    def table_rows(self) -> Iterator[list[str]]:
        """Medians over the rounds, with minimum and maximum; ratios are computed within rounds."""
        for name, rounds in self.rows.items():
            least = (self.chain if name == "games" else len(self.asked)) * self.latency
            to_bare = median(one.cpu / other.cpu for one, other in zip(rounds, self.rows["bare"], strict=True))
            waits = [one.clock / least for one in rounds]
            cpu = [1000 * one.cpu for one in rounds]
            kept = name.endswith("kept replies")
            yield [
                *(self.provider, str(self.games), name, f"{rounds[0].questions:,}"),
                *(f"{median(cpu):.2f} ({min(cpu):.2f}-{max(cpu):.2f})", f"{to_bare:.2f}"),
                "-" if kept else f"{median(waits):.2f} ({min(waits):.2f}-{max(waits):.2f})",
            ]


def main(
    latency: Annotated[float, typer.Option(min=0.001, help="Seconds per answer.")] = 0.5,
    years: Annotated[int, typer.Option(min=1)] = 2,
    rounds: Annotated[int, typer.Option(min=0)] = 3,
    summariser: Annotated[str, typer.Option(help="self or none.")] = "self",
    provider: Annotated[str, typer.Option(help="openai, anthropic or both.")] = "both",
    at_once: Annotated[str, typer.Option(help="Games at the same time.")] = "1,10,100",
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of measuring.")] = 3,
) -> None:
    """Measure games over both SDKs, the SDKs alone, and a bare HTTP client."""
    table = Table(
        title=f"{years} years, {rounds} rounds, latency {latency:g} s, medians of {repeats} (least-most)",
        title_justify="left",
    )
    for name in ("SDK", "at once", "what", "questions", "CPU ms a question", "of bare", "time of the longest chain"):
        table.add_column(name, justify="right")
    chosen = [
        (name, int(count)) for name in (PROVIDERS if provider == "both" else [provider]) for count in at_once.split(",")
    ]
    with (
        stub_server(latency) as url,
        tempfile.TemporaryDirectory() as folder,
        Progress(console=Console(stderr=True)) as bar,
    ):
        task = bar.add_task("rounds", total=len(chosen) * repeats)
        for name, count in chosen:
            spec, model = game_spec(name, url, years, rounds, summariser), remote_model(name, url)
            play_game(game_spec(name, url, 1, 1, summariser))  # imports, compiled kernels
            setting = Setting(name, url, spec, model, questions(spec, summariser), count, latency)
            for number in range(repeats):
                setting.measure(number, Path(folder))
                bar.advance(task)
            for cells in setting.table_rows():
                table.add_row(*cells)
    Console(width=120).print(table)


if __name__ == "__main__":
    typer.run(main)
