"""Games that go on after a crash take the same course, also where calls failed or parameters were refused."""

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
from pathlib import Path
from typing import Any

import pytest

import evaluation
from agents.lm.models.cache import ResponseCache
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub import StubRequest
from agents.lm.stub import server as stub_module
from agents.lm.stub.server import Response, refusal
from agents.lm.stub.wire import ParsedRequest
from tests.agents.lm.transport import FailingServer
from welfare_env import Rules

RULES = Rules(years=1, message_rounds=2)
COMMAND = [sys.executable, "-m", "evaluation", "self-play", "--years", "1", "--message-rounds", "2", "--games", "1"]


class Unreliable(FailingServer):
    """Some questions always fail for good, whenever they are asked.

    Attributes:
        asked: how often each question came.
        most: after so many questions it answers none, so that whoever asks does not come to an end.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.most = math.inf
        self.asked: Counter[tuple[str, str]] = Counter()

    def respond(self, request: StubRequest, asked: ParsedRequest) -> Response:
        if self.asked.total() >= self.most:
            self._ended.wait()
        digest = hashlib.sha256(asked.prompt.encode()).hexdigest()
        fault = "400" if digest[0] in "02" else "ok"
        self.asked[fault, digest] += 1
        return super().respond(request, asked) if fault == "ok" else refusal(request.path, 400, "no")


@pytest.fixture
def _picky(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server takes no top_p, of which every process has to find out anew."""
    read = stub_module.read

    def picky(path: str, body: dict[str, Any]) -> ParsedRequest:
        if "top_p" in body:
            raise ValueError("`top_p` is deprecated for this model.")
        return read(path, body)

    monkeypatch.setattr(stub_module, "read", picky)


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
@pytest.mark.usefixtures("_picky")
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
        assert start(policy, tmp_path).wait(timeout=120) == 0
        again = server.asked - once - once
    # What was on its way when the process died could not be kept: a question of each power.
    assert again.total() <= 7
    assert stored(tmp_path / "runs" / "evaluation.sqlite") == json.loads(json.dumps(whole.records[0]))
    with ResponseCache(tmp_path / "runs" / "replies.sqlite") as cache:  # but for failures before the first answer
        assert sum(fault == "ok" for fault, _ in once) <= cache.count() <= once.total()


def test_what_failed_is_not_asked_again_though_now_it_would_be_answered(tmp_path: Path) -> None:
    records = []
    with FailingServer() as server:
        policy = f"lm:openai/any,base_url={server.url}/v1,summariser=none"
        server.fail(*["ok", "400"] * 6)
        for _ in range(2):
            models = SharedModels(ResponseCache(tmp_path / "replies.sqlite"))
            result = evaluation.self_play(policy, 1, rules=Rules(years=1, message_rounds=1), models=models)
            records.append(result.records[0])
            if len(records) == 1:
                asked = server.stats["requests"]
        assert server.failed == {"400": 6}
        assert server.stats["requests"] == asked
    assert records[0] == records[1]
