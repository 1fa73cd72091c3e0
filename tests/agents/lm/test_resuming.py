"""Games that stop, and go on after a crash: they take the same course, also where calls failed."""

import asyncio
import hashlib
import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from typer.testing import CliRunner

import evaluation
from agents.lm import Request
from agents.lm.errors import LMError, StoppedError
from agents.lm.models.cache import ResponseCache
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub import StubRequest
from agents.lm.stub.server import Response, refusal
from evaluation.cli.commands import app
from evaluation.play.store import GameStore
from tests.agents.lm.transport import FailingServer
from welfare_env import Rules

RULES = Rules(years=1, message_rounds=2)
COMMAND = [sys.executable, "-m", "evaluation", "self-play", "--years", "1", "--message-rounds", "2", "--games", "1"]


class Unreliable(FailingServer):
    """Some questions always fail for good, whenever they are asked; and it takes no top_p.

    Attributes:
        asked: how often each question came.
        most: after so many questions it answers none, so that whoever asks does not come to an end.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.most = math.inf
        self.asked: Counter[tuple[str, str]] = Counter()

    def respond(self, request: StubRequest) -> Response:
        if "top_p" in request.body:
            return refusal(request.path, 400, "`top_p` is deprecated for this model.")
        if self.asked.total() >= self.most:
            Event().wait()
        digest = hashlib.sha256(request.prompt.encode()).hexdigest()
        fault = "400" if digest[0] in "02" else "ok"
        self.asked[fault, digest] += 1
        return super().respond(request) if fault == "ok" else refusal(request.path, 400, "no")


def start(policy: str, folder: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return subprocess.Popen(
        [*COMMAND, policy, "--simultaneous", "--workers", "1"],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def stored(path: Path) -> Any:
    """The record of a store's only game, read without any code of ours."""
    connection = sqlite3.connect(path)
    ((record,),) = connection.execute("SELECT record FROM games").fetchall()
    connection.close()
    return json.loads(zlib.decompress(record))


@pytest.mark.slow
@pytest.mark.parametrize("instant", range(int(os.environ.get("KILLS", "2"))))
def test_a_killed_game_takes_the_same_course(instant: int, tmp_path: Path) -> None:
    """kill -9 at a random moment, of a game with calls that fail for good; the server counts."""
    with Unreliable(latency=0.002) as server:
        policy = f"lm:openai/any,base_url={server.url}/v1,retries=0"
        whole = evaluation.self_play(policy, 1, rules=RULES, simultaneous=True)
        once = Counter(server.asked)
        assert {fault for fault, _ in once} == {"ok", "400"}
        assert set(once.values()) == {1}
        until = once.total() + random.Random(instant).randint(10, once.total() - 10)  # noqa: S311
        server.most = 2 * once.total() - 5
        process = start(policy, tmp_path)
        while server.asked.total() < until and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        server.most = math.inf
        assert start(policy, tmp_path).wait() == 0
        again = server.asked - once - once
    # What was on its way when the process died could not be kept: a question of each power.
    assert again.total() <= 7
    assert stored(tmp_path / "runs" / "evaluation.sqlite") == json.loads(json.dumps(whole.records[0]))
    with ResponseCache(tmp_path / "runs" / "replies.sqlite") as cache:  # but for failures before the first answer
        assert sum(fault == "ok" for fault, _ in once) <= cache.count() <= once.total()


def run(*options: str) -> tuple[int, str]:
    common = ["self-play", "--years", "1", "--message-rounds", "1", "--games", "1"]
    outcome = CliRunner().invoke(app, [*common, *options])
    return outcome.exit_code, outcome.output


@pytest.mark.parametrize("simultaneous", [[], ["--simultaneous"]])
def test_a_game_that_lacks_a_reply_for_now_stops_says_where_and_resumes_there(
    simultaneous: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with FailingServer() as server:
        spec = f"lm:openai/any,base_url={server.url}/v1,retries=0"
        server.faults.extend(["ok"] * 20 + ["503"] * 400)
        code, said = run(spec, *simultaneous)
        assert code == 2
        assert "stopped in" in said
        assert "later to resume" in said
        with GameStore(tmp_path / "runs" / "evaluation.sqlite") as store:
            assert store.count() == 0
        server.faults.clear()
        assert server.stats["answered"] == 20
        assert run(spec, *simultaneous)[0] == 0
        assert server.stats["twice"] == 0


def test_no_key_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with FailingServer() as server:
        code, said = run(f"lm:openai/fail-401,base_url={server.url}/v1")
    assert (code, said.count("error: "), said.count("stub fault 401")) == (2, 1, 1)


def test_calls_that_wait_hear_of_the_end_of_a_run(question: Request) -> None:
    with FailingServer() as server, ThreadPoolExecutor(1) as pool:
        models = SharedModels()
        waiting = models.get("openai/fail-429:300", base_url=f"{server.url}/v1")
        call = pool.submit(waiting.complete, question)
        server.begun.wait()
        with pytest.raises(LMError) as caught:
            models.get("anthropic/fail-401", base_url=server.url, retries=0).complete(question)
        error = call.exception()
    assert (type(error), str(error)) == (type(caught.value), str(caught.value))


def test_a_run_that_was_interrupted_asks_no_more(question: Request) -> None:
    """Its tasks, and code in them that waits without `await`; the next run and everybody else may ask."""
    with FailingServer() as server:
        models = SharedModels()
        model = models.get("openai/any", base_url=f"{server.url}/v1")

        async def game() -> int:
            attempts = (await model.acomplete(question)).attempts
            while not models.halt.stops:
                await asyncio.sleep(0.01)
            with pytest.raises(StoppedError):
                await model.acomplete(question)
            with pytest.raises(StoppedError):
                model.complete(question)
            return attempts

        played = []

        def interrupted() -> None:
            with models.tasks(1) as submit:
                played.append(submit(game()))
                server.begun.wait()
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert (played[0].result(), len(server.requests)) == (1, 1)
        assert model.complete(question).attempts == 1
