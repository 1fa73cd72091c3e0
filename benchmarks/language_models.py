"""How much of a game's time is spent waiting for language models, and how much on everything around them.

    python -m benchmarks.language_models
    python -m benchmarks.language_models --at-once 100 --years 1 --rounds 1

A ten-year game of seven language models, three message rounds a phase, simultaneous rounds, played by the real SDKs
against the stub server (`agents.lm.stub`), which runs in a process of its own and answers after 50 ms. The least time
that such a game can take is the latency times the number of questions that have to wait for each other. A second game,
from the replies that were kept, shows what is left when nothing is asked. "SDK alone" sends the questions of that game,
as many at a time as the game does, by the call that the SDK's own documentation shows, with no game around them: what
is above it in the game is ours. With `--at-once`, so many games are played at the same time in one event loop, and it
is told how many threads there are.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
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


def documented(call: Any, body: Record) -> Record:
    """The arguments of a question, as the documentation of the SDK has them: `extra_body` only for what it must."""
    known = inspect.signature(call).parameters
    arguments = {name: value for name, value in body.items() if name != "extra_body"}
    rest: Record = {}
    for name, value in body.get("extra_body", {}).items():
        (arguments if name in known else rest)[name] = value
    return arguments | ({"extra_body": rest} if rest else {})


async def sdk_alone(provider: str, model: RemoteModel, asked: list[list[Request]]) -> tuple[float, float]:
    """The SDK without a game: seconds on the clock, and on a processor."""
    sdk = importlib.import_module(provider)
    make = sdk.AsyncOpenAI if provider == "openai" else sdk.AsyncAnthropic
    async with make(base_url=model.base_url, api_key="none", max_retries=0) as client:
        create = client.chat.completions.create if provider == "openai" else client.messages.create
        bodies = [[documented(create, model.body(request, ())) for request in together] for together in asked]
        await asyncio.gather(*(create(**body) for body in bodies[0]))  # imports and connections
        clock, processor = time.perf_counter(), time.process_time()
        for together in bodies:
            await asyncio.gather(*(create(**body) for body in together))
        return time.perf_counter() - clock, time.process_time() - processor


def remote_model(provider: str, url: str) -> RemoteModel:
    """The model that the games ask, for the bodies of its questions."""
    if (maker := remote_provider(provider)) is None:
        raise ConfigError(f"{provider}: no provider with a server")
    return maker("stub", base_url=url + PROVIDERS[provider])


def cells(asked: int, number: int, least: float, took: float, cpu: float) -> Iterator[str]:
    """A row of the table without its name; `least` is 0 if nothing is waited for."""
    yield from (str(asked), str(number), f"{least:.2f}", f"{took:.2f}")
    yield from (f"{took / least:.2f}" if least else "-", f"{1000 * cpu / asked:.2f}")


def timed(spec: GameSpec, models: SharedModels) -> tuple[float, float, Record]:
    """A game: seconds on the clock, seconds of this process on a processor, and the record."""
    clock, processor = time.perf_counter(), time.process_time()
    record = play_game(spec, models)
    return time.perf_counter() - clock, time.process_time() - processor, record


async def games_at_once(specs: list[GameSpec], models: SharedModels) -> list[Record]:
    """Games in this event loop."""
    return await asyncio.gather(*(aplay_game(spec, models) for spec in specs))


def show_at_once(provider: str, url: str, years: int, rounds: int, count: int) -> None:
    """Play games at the same time, and tell what a call costs."""
    spec = game_spec(provider, url, years, rounds, "none")
    spec = replace(spec, players=tuple((power, _busy(policy)) for power, policy in spec.players))
    play_game(spec)
    clock, processor = time.perf_counter(), time.process_time()
    records = asyncio.run(games_at_once([replace(spec, seed=seed) for seed in range(count)], SharedModels()))
    took, cpu, asked = time.perf_counter() - clock, time.process_time() - processor, sum(map(calls, records))
    threads = threading.active_count()
    print(
        f"{provider}: {count} games at once, {asked:,} calls in {took:.1f} s, {1000 * cpu / asked:.2f} ms of processor "
        f"a call; {threads} threads"
    )


def _busy(policy: agents.specs.Spec) -> agents.specs.Spec:
    """A player that asks a hundred questions at a time."""
    return agents.specs.read(f"{policy.text},max_concurrent=100")


def main(
    latency: Annotated[float, typer.Option(min=0.001, help="Seconds before every answer.")] = 0.05,
    years: Annotated[int, typer.Option(min=1)] = 10,
    rounds: Annotated[int, typer.Option(min=0)] = 3,
    summariser: Annotated[str, typer.Option(help="self or none.")] = "self",
    provider: Annotated[str, typer.Option(help="openai, anthropic or both.")] = "both",
    at_once: Annotated[int, typer.Option(min=0, help="Games at the same time, in place of one.")] = 0,
) -> None:
    """Measure both SDKs."""
    table = Table(
        title=f"A game of {years} years, {rounds} rounds, latency {latency * 1000:g} ms", title_justify="left"
    )
    for name in ("SDK", "what", "calls", "stages", "least s", "took s", "ratio", "CPU ms a call"):
        table.add_column(name, justify="right")
    if at_once:
        with stub_server(latency) as url:
            for name in PROVIDERS if provider == "both" else [provider]:
                show_at_once(name, url, years, rounds, at_once)
        return
    with stub_server(latency) as url, tempfile.TemporaryDirectory() as folder:
        for name in PROVIDERS if provider == "both" else [provider]:
            spec = game_spec(name, url, years, rounds, summariser)
            play_game(game_spec(name, url, 1, 1, summariser))  # imports, compiled kernels, first connections
            for what in ("game", "kept replies"):
                with ResponseCache(Path(folder, f"{name}.sqlite")) as cache:
                    took, cpu, record = timed(spec, SharedModels(cache))
                least = stages(record) * latency if what == "game" else 0.0
                table.add_row(name, what, *cells(calls(record), stages(record), least, took, cpu))
            asked = questions(spec, summariser)
            took, cpu = asyncio.run(sdk_alone(name, remote_model(name, url), asked))
            table.add_row(name, "SDK alone", *cells(sum(map(len, asked)), len(asked), len(asked) * latency, took, cpu))
    Console(width=100).print(table)


if __name__ == "__main__":
    typer.run(main)
