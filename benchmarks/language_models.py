"""How much of a game's time is spent waiting for language models, and how much on everything around them.

    python -m benchmarks.language_models
    python -m benchmarks.language_models --at-once 100 --years 1 --rounds 1

A ten-year game of seven language models, three message rounds a phase, simultaneous rounds, played by the real SDKs
against the stub server (`agents.lm.stub`), which runs in a process of its own and answers after 50 ms. The least time
that such a game can take is the latency times the number of questions that have to wait for each other. A second game,
from the replies that were kept, shows what is left when nothing is asked. With `--at-once`, so many games are played at
the same time in one event loop, and it is told how many threads there are.
"""

from __future__ import annotations

import asyncio
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
from agents.lm.models.cache import ResponseCache
from agents.lm.models.shared_models import SharedModels
from evaluation.play.games import GameSpec, aplay, play

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


def timed(spec: GameSpec, models: SharedModels) -> tuple[float, float, Record]:
    """A game: seconds on the clock, seconds of this process on a processor, and the record."""
    clock, processor = time.perf_counter(), time.process_time()
    record = play(spec, models)
    return time.perf_counter() - clock, time.process_time() - processor, record


async def games_at_once(specs: list[GameSpec], models: SharedModels) -> list[Record]:
    """Games in this event loop."""
    return await asyncio.gather(*(aplay(spec, models) for spec in specs))


def show_at_once(provider: str, url: str, years: int, rounds: int, count: int) -> None:
    """Play games at the same time, and tell what a call costs."""
    spec = game_spec(provider, url, years, rounds, "none")
    spec = replace(spec, players=tuple((power, _busy(policy)) for power, policy in spec.players))
    play(spec)
    clock, processor = time.perf_counter(), time.process_time()
    records = asyncio.run(games_at_once([replace(spec, seed=seed) for seed in range(count)], SharedModels()))
    took, cpu, asked = time.perf_counter() - clock, time.process_time() - processor, sum(map(calls, records))
    threads = threading.active_count()
    print(
        f"{provider}: {count} games at once, {asked:,} calls in {took:.1f} s, {1000 * cpu / asked:.2f} ms of processor "
        f"a call; {threads} threads"
    )


def _busy(policy: agents.specs.Spec) -> agents.specs.Spec:
    """A player that may ask as many questions at a time as there are players."""
    return agents.specs.read(f"{policy.text},max_concurrent=700")


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
    for name in ("SDK", "kept", "calls", "stages", "least s", "took s", "ratio", "CPU ms a call"):
        table.add_column(name, justify="right")
    if at_once:
        with stub_server(latency) as url:
            for name in PROVIDERS if provider == "both" else [provider]:
                show_at_once(name, url, years, rounds, at_once)
        return
    with stub_server(latency) as url, tempfile.TemporaryDirectory() as folder:
        for name in PROVIDERS if provider == "both" else [provider]:
            spec = game_spec(name, url, years, rounds, summariser)
            play(game_spec(name, url, 1, 1, summariser))  # imports, compiled kernels, first connections
            for kept in ("no", "yes"):
                with ResponseCache(Path(folder, f"{name}.sqlite")) as cache:
                    took, cpu, record = timed(spec, SharedModels(cache))
                asked, least = calls(record), (stages(record) * latency if kept == "no" else 0.0)
                ratio = f"{took / least:.2f}" if least else "-"
                cells = (name, kept, str(asked), str(stages(record)), f"{least:.2f}", f"{took:.2f}", ratio)
                table.add_row(*cells, f"{1000 * cpu / asked:.2f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    typer.run(main)
