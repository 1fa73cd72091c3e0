"""What language models' questions cost in time and processor beside the same questions of a bare HTTP client.

    python -m benchmarks.language_models
    python -m benchmarks.language_models --at-once 10 --latency 1 --repeats 5

Games of seven language models, three message rounds a phase, simultaneous rounds, as evaluations play them (replies are
kept in a file), against the stub server (`agents.lm.stub`), which runs in a process of its own, so that its work is not
counted. The same questions are then asked by our model, by the SDK's own documented call, and by asyncio with the HTTP
library below the SDK and nothing else: as many together and one after the other as in the games, with no game around
them. "Games, kept replies" are the same games once more, when nothing is asked: rules, prompts and reading. The least
time that games can take is the latency times the longest chain of questions that have to wait for each other. The ways
are measured in turn, so that a busy machine does not slow one of them alone.
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
from evaluation.play.games import GameSpec, aplay_game, play_game

PROVIDERS = {"openai": "/v1", "anthropic": ""}
Record = dict[str, Any]
Asked = list[list[Record]]
"""The questions of a game: those together that are asked together."""
Ask = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True)
class Timed:
    """One measurement: seconds on the clock and on a processor, and for how many questions."""

    clock: float
    processor: float
    questions: int

    @property
    def cpu(self) -> float:
        """Seconds of processor a question."""
        return self.processor / self.questions


@contextmanager
def stub_server(latency: float) -> Iterator[str]:
    """The stub server in another process: its address."""
    command = [sys.executable, "-m", "agents.lm.stub", "--port", "0", "--latency", str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this Python)
    try:
        first = process.stdout.readline() if process.stdout else ""
        yield re.findall(r"http://[\w.:]+", first)[-1].removesuffix("/stats")
    finally:
        process.terminate()
        process.wait()


def game_spec(provider: str, url: str, years: int, rounds: int, summariser: str) -> GameSpec:
    """The game that is played."""
    policy = f"lm:{provider}/stub,base_url={url}{PROVIDERS[provider]},summariser={summariser}"
    rules = welfare_env.Rules(years=years, message_rounds=rounds)
    spec = agents.specs.read(policy)
    seats = tuple((power, spec) for power in welfare_env.load_board("standard").powers)
    return GameSpec(seats, 0, rules, "standard", "fast", simultaneous=True)


def stages(record: Record) -> int:
    """Questions that have to wait for each other.

    A phase with messages has one a round, and one more at the next question after it where its messages are condensed;
    retreats have one if anybody has to order.
    """
    players = [models[0] for models in record["welfare_env"]["language_models"].values()]
    moments = {(turn["phase"], turn["round"]) for player in players for turn in player["turns"]}
    condensed = {phase for player in players for phase in player["summaries"]}
    return len(moments) + len(condensed)


def calls(record: Record) -> int:
    """Questions of all players."""
    return sum(model["calls"] for models in record["welfare_env"]["language_models"].values() for model in models)


def questions(spec: GameSpec, summariser: str) -> list[list[Request]]:
    """The questions of a game, as many together as there are powers: the stub's replies depend on the prompt alone."""
    model = ScriptedModel(lambda request: stub_reply(request.prompt, request.schema))
    policy = agents.specs.read(f"lm:asked,summariser={summariser}")
    players = tuple((power, policy) for power, _ in spec.players)
    play_game(replace(spec, players=players), SharedModels(own={"asked": model}))
    together = len(players)
    return [model.requests[start : start + together] for start in range(0, len(model.requests), together)]


def sdk_client(provider: str, model: RemoteModel) -> Any:
    """The SDK's client, as its documentation makes it."""
    sdk = importlib.import_module(provider)
    make = sdk.AsyncOpenAI if provider == "openai" else sdk.AsyncAnthropic
    return make(base_url=model.base_url, api_key="none", max_retries=0, timeout=300)


def bare_client(provider: str, model: RemoteModel) -> Any:
    """A client of the HTTP library below the SDK, with as many connections as are asked for."""
    sdk = importlib.import_module(provider)
    http = importlib.import_module(sdk.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
    limits = http.Limits(max_connections=None, max_keepalive_connections=None)
    return http.AsyncClient(base_url=model.base_url, timeout=300, limits=limits)


async def asked_alone(client: Any, ask: Ask, asked: Sequence[Sequence[Any]], games: int) -> Timed:
    """The questions of so many games, with no game around them, through a client."""

    async def game() -> None:
        for together in asked:
            await asyncio.gather(*map(ask, together))

    async with client:
        await asyncio.gather(*map(ask, asked[0]))  # imports and first connections
        clock, processor = time.perf_counter(), time.process_time()
        await asyncio.gather(*(game() for _ in range(games)))
        return Timed(time.perf_counter() - clock, time.process_time() - processor, games * sum(map(len, asked)))


async def sdk_alone(provider: str, model: RemoteModel, asked: Asked, games: int) -> Timed:
    """The SDK's own call of its documentation: arguments by name, `extra_body` only for what it must."""
    client = sdk_client(provider, model)
    create = client.chat.completions.create if provider == "openai" else client.messages.create
    known = inspect.signature(create).parameters

    async def ask(body: Record) -> None:
        rest = {name: value for name, value in body.items() if name not in known}
        await create(**{name: value for name, value in body.items() if name in known}, extra_body=rest or None)

    return await asked_alone(client, ask, asked, games)


async def our_model(model: RemoteModel, asked: list[list[Request]], games: int) -> Timed:
    """Our own model: retries, limits, faults, usage."""
    model.expect(games * max(map(len, asked)))
    return await asked_alone(aclosing(model), model.acomplete, asked, games)


async def bare(provider: str, model: RemoteModel, asked: Asked, games: int) -> Timed:
    """asyncio and the HTTP library: the JSON of a question is sent, that of the answer is read."""
    client = bare_client(provider, model)

    async def ask(body: Record) -> None:
        answer = await client.post(model.endpoint, json=body)
        answer.raise_for_status()
        answer.json()

    return await asked_alone(client, ask, asked, games)


def remote_model(provider: str, url: str) -> RemoteModel:
    """The model that the games ask, for the bodies of its questions."""
    if (maker := remote_provider(provider)) is None:
        raise ConfigError(f"{provider}: no provider with a server")
    return maker("stub", base_url=url + PROVIDERS[provider])


async def played(specs: list[GameSpec], models: SharedModels) -> list[Record]:
    """Games in this event loop."""
    return await asyncio.gather(*(aplay_game(spec, models) for spec in specs))


def ours(spec: GameSpec, games: int, file: Path) -> tuple[Timed, list[Record]]:
    """Games as an evaluation plays them, so many workers, replies kept in a file."""
    with ResponseCache(file) as cache:
        models = SharedModels(cache)
        clock, processor = time.perf_counter(), time.process_time()
        with models.tasks(games) as tasks:
            records = tasks.submit(played([replace(spec, seed=seed) for seed in range(games)], models)).result()
        took, cpu = time.perf_counter() - clock, time.process_time() - processor
    return Timed(took, cpu, sum(map(calls, records))), records


@dataclass
class Setting:
    """What is measured: games of a provider at once, over a stub server."""

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
        """One round: each way once, so that a busy moment of the machine does not meet one of them alone."""
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
        """Medians over the rounds, with the least and the most; last that of the rounds' own ratios."""
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
    latency: Annotated[float, typer.Option(min=0.001, help="Seconds before every answer.")] = 0.5,
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
