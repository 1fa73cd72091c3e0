"""Kept replies, found again by any process after any crash; and games that stop, and take the same course."""

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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, fields, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import evaluation
from agents.lm import Block, OpenAIModel, Reply, Request, ScriptedModel, Usage
from agents.lm.errors import (
    ENDING_KINDS,
    FAULT_KINDS,
    PASSING_KINDS,
    AccessError,
    BudgetError,
    CacheError,
    LMError,
    ModelError,
    StoppedError,
)
from agents.lm.models.cache import CachedModel, ResponseCache, reply_key
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub import StubRequest
from agents.lm.stub.server import Response, refusal
from evaluation.play.store import GameStore
from tests.agents.lm.transport import FailingServer
from tests.evaluation.conftest import call
from welfare_env import Rules

PATIENCE = 600  # seconds after which what never comes is a failure; no machine is so slow

REQUEST = Request((Block("rules", cache=True),), (Block("now"),))
REPLY = Reply("Grüße \0 \U0001f600", Usage(5, 2, 1, None), "length", "gpt", 3, ("server", "timeout"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "replies.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[ResponseCache]:
    with ResponseCache(path) as opened:
        yield opened


class Gated(ScriptedModel):
    """Every question waits at a gate of its own.

    Attributes:
        gates: those of the questions that have come, in their sequence.
    """

    def __init__(self, replies: list[Any]) -> None:
        super().__init__(replies)
        self.gates: asyncio.Queue[asyncio.Future[None]] = asyncio.Queue()

    async def acomplete(self, request: Request) -> Reply:
        self.gates.put_nowait(gate := asyncio.get_running_loop().create_future())
        await gate
        return await super().acomplete(request)


class TestKeys:
    def test_everything_in_a_request_counts(self) -> None:
        """Also the sequence of properties, and the borders of blocks."""
        model = ScriptedModel([])
        changed: dict[str, list[Any]] = {
            "system": [(Block("other"),), (Block("ru"), Block("les", cache=True))],
            "user": [(Block("now", cache=True),)],
            "schema": [{"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}],
            "max_tokens": [1],
            "temperature": [None],
            "top_p": [None],
            "sample": [1],
            "cache_key": ["x"],
        }
        assert changed.keys() == {field.name for field in fields(Request)}
        pairs = [(name, value) for name, values in changed.items() for value in values]
        keys = [reply_key(model, replace(REQUEST, **{name: value})) for name, value in pairs]
        assert len({reply_key(model, REQUEST), *keys}) == len(pairs) + 1

    def test_model_and_settings_count_and_keys_and_limits_do_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def key(model: str = "a", **settings: Any) -> str:
            return reply_key(OpenAIModel(model, **settings), REQUEST)

        different = [key(), key("b"), key(effort="low"), key(base_url="http://localhost/v1")]
        assert len(set(different)) == 4
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        assert key() == key(timeout=5, retries=0, max_concurrent=1) == different[0]

    def test_they_are_the_same_everywhere(self) -> None:
        key = reply_key(ScriptedModel([]), Request((), (Block("Grüße"),)))
        assert key == "48a5f6e1f3684e04566508e0526b454b59dba919d4e3ab28951aea473cbf43fd"


class TestCachedModel:
    def test_a_question_is_paid_for_once(self, provider, connect, question, stub, cache):
        inner = connect(provider)
        model = CachedModel(inner, cache)
        first, spent = model.complete(question), inner.budget.spent
        other = CachedModel(inner, ResponseCache(cache.path))
        assert asyncio.run(model.acomplete(question)) == other.complete(question) == first
        assert (inner.budget.spent, model.name, model.settings) == (spent, inner.name, inner.settings)
        assert len(stub.requests) == 1
        model.complete(replace(question, sample=1))
        assert (len(stub.requests), cache.count()) == (2, 2)

    @pytest.mark.parametrize("kind", sorted({*FAULT_KINDS} - ENDING_KINDS))
    def test_failures_are_kept_unless_they_may_pass(self, kind: str, path: Path) -> None:
        """A game that is resumed takes the same course."""
        error = ModelError(kind, "said so", ("timeout", kind), Usage(5, 0, 7, None))
        inner = ScriptedModel(["first", error, "up"])
        with ResponseCache(path) as cache:
            model = CachedModel(inner, cache)
            model.complete(replace(REQUEST, sample=9))
            with pytest.raises(ModelError, match="said so") as caught:
                model.complete(REQUEST)
        assert vars(caught.value) == vars(error)
        with ResponseCache(path) as cache:
            model = CachedModel(inner, cache)
            if kind in PASSING_KINDS:
                assert model.complete(REQUEST).text == "up"
            else:
                with pytest.raises(ModelError, match="said so"):
                    model.complete(REQUEST)

    @pytest.mark.parametrize(
        "error",
        [ModelError("bad request", "before the first answer"), AccessError("not found", "no"), BudgetError("used up")],
    )
    def test_what_is_not_kept(self, error: LMError, cache: ResponseCache) -> None:
        model = CachedModel(ScriptedModel([error, "up"]), cache)
        with pytest.raises(type(error)):
            model.complete(REQUEST)
        assert (cache.count(), model.complete(REQUEST).text) == (0, "up")

    def test_equal_questions_at_once_are_paid_for_once(self, cache: ResponseCache) -> None:
        """If the one that asks is stopped or cancelled, another asks: it may belong to a game that goes on."""
        inner = Gated([StoppedError("the game ends"), "asked by a third"])

        async def main() -> list[Any]:
            async with asyncio.timeout(PATIENCE):
                asked = [asyncio.create_task(CachedModel(inner, cache).acomplete(REQUEST)) for _ in range(5)]
                (await inner.gates.get()).set_result(None)
                await inner.gates.get()  # the second asks
                assert inner.gates.empty()
                asked[1].cancel()
                (await inner.gates.get()).set_result(None)
                return await asyncio.gather(*asked, return_exceptions=True)

        stopped, cancelled, *replies = asyncio.run(main())
        assert (type(stopped), type(cancelled)) == (StoppedError, asyncio.CancelledError)
        assert {reply.text for reply in replies} == {"asked by a third"}


class TestProcesses:
    @pytest.mark.slow
    def test_kill_at_any_moment(self, path: Path) -> None:
        """What a process has told of is there after it was killed in the middle of its writing."""
        code = f"""if True:
            from agents.lm import Block, Request, ScriptedModel
            from agents.lm.models.cache import CachedModel, ResponseCache
            model = ScriptedModel(lambda request: "reply to " + request.prompt, latency=0.001)
            model = CachedModel(model, ResponseCache({str(path)!r}))
            for number in range(10**9):
                print(model.complete(Request((), (Block(f"question {{number}}"),))).text, flush=True)
        """
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        for patience in (1, 40):
            process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
            assert process.stdout is not None
            told = [process.stdout.readline().strip() for _ in range(patience)]
            process.send_signal(signal.SIGKILL)
            told += process.communicate()[0].split("\n")[:-1]
            model = CachedModel(ScriptedModel([]), ResponseCache(path))
            kept = [model.complete(Request((), (Block(f"question {number}"),))).text for number in range(len(told))]
            assert kept == told

    def test_of_two_replies_all_use_the_first(self, path: Path) -> None:
        """Two processes may both have asked."""
        first, second = ResponseCache(path), ResponseCache(path)
        assert first.put("key", REPLY) == REPLY
        assert second.put("key", Reply("late")) == REPLY


class TestFiles:
    @pytest.fixture
    def filled(self, path: Path) -> Path:
        with ResponseCache(path) as cache:
            for number in range(200):
                cache.put(f"{number:064}", REPLY)
        return path

    def test_no_prompt_lies_in_it_and_it_is_its_owners_alone(self, cache: ResponseCache) -> None:
        CachedModel(ScriptedModel(["yes"]), cache).complete(Request((), (Block("a very private prompt"),)))
        cache.close()
        assert b"private prompt" not in cache.path.read_bytes()
        assert cache.path.stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize(
        "damaged",
        [
            lambda whole: b"no database at all, but of some length" * 99,
            lambda whole: b"x",
            lambda whole: whole[:8192],
            lambda whole: whole[:4096] + b"\xff" * (len(whole) - 4096),
        ],
    )
    def test_a_damaged_file_is_told_and_stays(self, damaged: Callable[[bytes], bytes], filled: Path) -> None:
        text = damaged(filled.read_bytes())
        filled.write_bytes(text)
        with pytest.raises(CacheError, match=r"replies\.sqlite: .*damaged"):
            ResponseCache(filled).get(f"{7:064}")
        assert filled.read_bytes() == text

    def test_what_is_no_reply(self, filled: Path) -> None:
        failed = '{"failed": "no kind", "text": "", "faults": [], "usage": null}'
        for wrong in ("", "{}", failed, "[" * 100_000, json.dumps(asdict(REPLY) | {"text": 5})):
            with closing(sqlite3.connect(filled)) as connection, connection:
                connection.execute("UPDATE replies SET reply = ?", [wrong])
            with pytest.raises(CacheError, match=r"replies\.sqlite: .*damaged"):
                ResponseCache(filled).get(f"{7:064}")


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


def start(policy: str, folder: Path, simultaneous: bool) -> subprocess.Popen[bytes]:
    command, nowhere = [*COMMAND, policy, "--workers", "1", *["--simultaneous"] * simultaneous], subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, stdout=nowhere, stderr=nowhere)  # without keys, by `_no_keys`


def stored(path: Path) -> Any:
    """The record of a store's only game, read without any code of ours."""
    with closing(sqlite3.connect(path)) as connection:
        ((record,),) = connection.execute("SELECT record FROM games").fetchall()
    return json.loads(zlib.decompress(record))


@pytest.mark.slow
@pytest.mark.parametrize("simultaneous", [False, True])
def test_a_killed_game_takes_the_same_course(simultaneous: bool, tmp_path: Path) -> None:
    """kill -9 at a random moment, of a game with calls that fail for good; the server counts."""
    with Unreliable(latency=0.002) as server:
        policy = f"lm:openai/any,base_url={server.url}/v1,retries=0"
        whole = evaluation.self_play(policy, 1, rules=RULES, simultaneous=simultaneous)
        once = Counter(server.asked)
        assert {fault for fault, _ in once} == {"ok", "400"}
        assert set(once.values()) == {1}
        until = once.total() + random.Random(simultaneous).randint(10, once.total() - 10)  # noqa: S311
        server.most = 2 * once.total() - 5
        process = start(policy, tmp_path, simultaneous)
        while server.asked.total() < until and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        server.most = math.inf
        assert start(policy, tmp_path, simultaneous).wait() == 0
        again = server.asked - once - once
    # What was on its way when the process died could not be kept: one question, or one of each power.
    assert again.total() <= (7 if simultaneous else 1)
    assert stored(tmp_path / "runs" / "evaluation.sqlite") == json.loads(json.dumps(whole.records[0]))
    with ResponseCache(tmp_path / "runs" / "replies.sqlite") as cache:  # but for failures before the first answer
        assert sum(fault == "ok" for fault, _ in once) <= cache.count() <= once.total()


QUICK = ["--years", "1", "--message-rounds", "1", "--games", "1", "--map", "clique:3"]


@pytest.mark.parametrize("simultaneous", [[], ["--simultaneous"]])
def test_a_game_that_lacks_a_reply_for_now_stops_says_where_and_resumes_there(simultaneous, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with FailingServer() as server:
        spec = f"lm:openai/any,base_url={server.url}/v1,retries=0"
        server.faults.extend(["ok"] * 4 + ["503"] * 400)
        said = call("self-play", spec, *QUICK, *simultaneous, code=2)
        assert "stopped in" in said
        assert "later to resume" in said
        with GameStore(tmp_path / "runs" / "evaluation.sqlite") as store:
            assert store.count() == 0
        server.faults.clear()
        assert server.stats["answered"] == 4
        call("self-play", spec, *QUICK, *simultaneous)
        assert server.stats["twice"] == 0


def test_no_key_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with FailingServer() as server:
        said = call("self-play", f"lm:openai/fail-401,base_url={server.url}/v1", *QUICK, code=2)
    assert (said.count("error: "), said.count("stub fault 401")) == (1, 1)


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
