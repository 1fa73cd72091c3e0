"""Kept replies: found again by any process, after any crash, and paid for once."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest

from agents.lm import Block, Model, OpenAIModel, Reply, Request, ScriptedModel, Usage
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
from agents.lm.models.remote import RemoteModel
from tests.agents.lm.transport import InProcess

Connect = Callable[..., RemoteModel]

REQUEST = Request((Block("rules", cache=True),), (Block("now"),))
REPLY = Reply("Grüße \0 \U0001f600", Usage(5, 2, 1, None), "length", "gpt", 3, ("server", "timeout"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "replies.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[ResponseCache]:
    with ResponseCache(path) as opened:
        yield opened


def change(path: Path, statement: str, *values: str) -> None:
    """Does to the file what our own code never would."""
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def child(source: str, path: Path) -> subprocess.Popen[str]:
    """Python in a fresh process, with `ask(number)` ready."""
    head = f"""
    from agents.lm.models.cache import CachedModel, ResponseCache
    from agents.lm import Block, Request, ScriptedModel
    model = ScriptedModel(lambda request: "reply to " + request.prompt, latency=0.001)
    model = CachedModel(model, ResponseCache({str(path)!r}))
    ask = lambda number: model.complete(Request((), (Block(f"question {{number}}"),)))
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    code = textwrap.dedent(head) + textwrap.dedent(source)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)


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
    def test_a_question_is_paid_for_once(
        self, provider: str, connect: Connect, question: Request, stub: InProcess, cache: ResponseCache
    ) -> None:
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
        inner = ScriptedModel(["the one"])
        model = CachedModel(inner, cache)

        async def main() -> list[Reply]:
            return await asyncio.gather(*[model.acomplete(REQUEST) for _ in range(8)])

        assert {reply.text for reply in asyncio.run(main())} == {"the one"}
        assert len(inner.requests) == 1

    def test_if_the_one_that_asks_is_stopped_or_cancelled_another_asks(self, cache: ResponseCache) -> None:
        """They may belong to a game that goes on."""
        gates: asyncio.Queue[asyncio.Future[None]] = asyncio.Queue()

        class Gated(ScriptedModel):
            """Every question waits at a gate."""

            async def acomplete(self, request: Request) -> Reply:
                gates.put_nowait(gate := asyncio.get_running_loop().create_future())
                await gate
                return await super().acomplete(request)

        inner = Gated([StoppedError("the game ends"), "asked by a third"])

        async def main() -> list[Any]:
            asked = [asyncio.create_task(CachedModel(inner, cache).acomplete(REQUEST)) for _ in range(5)]
            (await gates.get()).set_result(None)
            await gates.get()  # the second asks
            asked[1].cancel()
            (await gates.get()).set_result(None)
            return await asyncio.gather(*asked, return_exceptions=True)

        stopped, cancelled, *replies = asyncio.run(main())
        assert (type(stopped), type(cancelled)) == (StoppedError, asyncio.CancelledError)
        assert {reply.text for reply in replies} == {"asked by a third"}


class TestProcesses:
    @pytest.mark.slow
    def test_many_write_at_once(self, path: Path) -> None:
        children = [child("print(*(ask(number).text for number in range(40)), sep='|')", path) for _ in range(2)]
        said = [process.communicate()[0].strip().split("|") for process in children]
        assert said == [[f"reply to question {number}" for number in range(40)]] * 2
        with ResponseCache(path) as cache:
            assert cache.count() == 40

    @pytest.mark.slow
    def test_kill_at_any_moment(self, path: Path) -> None:
        """What a process has told of is there after it was killed in the middle of its writing."""
        for patience in (1, 40):
            process = child("for number in range(10**9): print(ask(number).text, flush=True)", path)
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

    @pytest.mark.parametrize("text", [b"no database at all, but of some length" * 99, b"x"])
    def test_no_database(self, text: bytes, path: Path) -> None:
        path.parent.mkdir()
        path.write_bytes(text)
        with pytest.raises(CacheError, match=r"replies\.sqlite: .*move it away or restore it from a copy"):
            ResponseCache(path).get("key")
        assert path.read_bytes() == text

    @pytest.mark.parametrize("is_cut", [False, True])
    def test_the_end_overwritten_or_cut_off(self, is_cut: bool, filled: Path) -> None:
        content = filled.read_bytes()
        filled.write_bytes(content[:8192] if is_cut else content[:4096] + b"\xff" * (len(content) - 4096))
        with pytest.raises(CacheError, match=r"replies\.sqlite: .*damaged"):
            ResponseCache(filled).get(f"{7:064}")

    @pytest.mark.parametrize(
        "text", ["", "{}", '{"failed": "no kind", "text": "", "faults": [], "usage": null}', "[" * 100_000]
    )
    def test_what_is_no_reply(self, filled: Path, text: str) -> None:
        for wrong in (text, json.dumps(asdict(REPLY) | {"text": 5})):
            change(filled, "UPDATE replies SET reply = ?", wrong)
            with pytest.raises(CacheError, match="is not a reply"):
                ResponseCache(filled).get(f"{7:064}")


class TestScript:
    def test_one_by_one(self) -> None:
        model = ScriptedModel(["one", Reply("two", finish="length"), ModelError("timeout", "late"), LMError("stop")])
        assert isinstance(model, Model)
        assert model.complete(REQUEST) == Reply("one", model="scripted/script")
        assert asyncio.run(model.acomplete(REQUEST)).finish == "length"
        for error, text in ((ModelError, "late"), (LMError, "stop"), (LMError, "is at its end")):
            with pytest.raises(error, match=text):
                model.complete(REQUEST)
        assert model.requests == [REQUEST] * 5
