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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agents.lm.errors import (
    ENDING_KINDS,
    FAULT_KINDS,
    PASSING_KINDS,
    AccessError,
    BudgetError,
    CacheError,
    ConfigError,
    LMError,
    ModelError,
    StoppedError,
)
from agents.lm.models import Block, Model, OpenAIModel, ReplayModel, Reply, Request, ScriptedModel, Usage
from agents.lm.models.cache import CachedModel, ResponseCache, reply_key
from agents.lm.models.providers.remote_model import RemoteModel
from evaluation.play.sources import replies_digest
from tests.agents.lm.transport import InProcess

Connect = Callable[..., RemoteModel]
Ask = Callable[[Model, Request], Reply]

REQUEST = Request((Block("rules", cache=True),), (Block("now"),))
REPLY = Reply("Grüße \0 \U0001f600", Usage(5, 2, 1, None), "length", "gpt", 3, ("server", "timeout"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "replies.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[ResponseCache]:
    with ResponseCache(path) as opened:
        yield opened


def change(path: Path, statement: str) -> None:
    """Does to the file what our own code never would."""
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def child(source: str, path: Path) -> subprocess.Popen[str]:
    """Python in a fresh process, with `cache`, `model` and `ask(number)` ready."""
    head = f"""
    from agents.lm.models.cache import CachedModel, ResponseCache, reply_key
    from agents.lm.models import Block, Reply, Request, ScriptedModel
    cache = ResponseCache({str(path)!r})
    model = CachedModel(ScriptedModel(lambda request: "reply to " + request.prompt, latency=0.001), cache)
    ask = lambda number: model.complete(Request((), (Block(f"question {{number}}"),)))
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    code = textwrap.dedent(head) + textwrap.dedent(source)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)


class TestKeys:
    def test_everything_in_a_request_counts(self) -> None:
        model = ScriptedModel([])
        changed: dict[str, Any] = {
            "system": (Block("other"),),
            "user": (Block("now", cache=True),),
            "schema": {"type": "object"},
            "schema_name": "other",
            "max_tokens": 1,
            "temperature": None,
            "top_p": None,
            "sample": 1,
            "cache_key": "x",
        }
        assert changed.keys() == {field.name for field in fields(Request)}
        keys = [reply_key(model, replace(REQUEST, **{name: value})) for name, value in changed.items()]
        assert len({reply_key(model, REQUEST), *keys}) == len(changed) + 1

    def test_the_sequence_of_properties_and_the_borders_of_blocks_count(self) -> None:
        model = ScriptedModel([])
        one, two = Request((), (Block("ab"), Block("c"))), Request((), (Block("a"), Block("bc")))
        assert reply_key(model, one) != reply_key(model, two)
        schemas = [{"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}]
        assert len({reply_key(model, replace(REQUEST, schema=schema)) for schema in schemas}) == 2

    def test_model_and_settings_count_and_keys_and_limits_do_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def key(model: str = "a", **settings: Any) -> str:
            return reply_key(OpenAIModel(model, **settings), REQUEST)

        different = [key(), key("b"), key(api="responses"), key(effort="low"), key(base_url="http://localhost/v1")]
        assert len(set(different)) == 5
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        assert key() == key(timeout=5, retries=0, max_concurrent=1) == different[0]

    def test_they_are_the_same_everywhere(self) -> None:
        key = reply_key(ScriptedModel([]), Request((), (Block("Grüße"),)))
        assert key == "ea7b37c5d35b6e06733a6a1c1782aac794c24979be8b3732df6279e71ac401b8"


class TestCachedModel:
    def test_a_question_is_paid_for_once(
        self, api: str, connect: Connect, ask: Ask, question: Request, stub: InProcess, cache: ResponseCache
    ) -> None:
        inner = connect(api)
        model = CachedModel(inner, cache)
        first, spent = ask(model, question), inner.budget.spent
        assert ask(model, question) == ask(CachedModel(inner, ResponseCache(cache.path)), question) == first
        assert inner.budget.spent == spent
        assert (len(stub.requests), model.hits, model.misses) == (1, 1, 1)
        ask(model, replace(question, sample=1))
        assert (len(stub.requests), model.hits, model.misses, cache.count()) == (2, 1, 2, 2)

    def test_it_is_the_model(self, connect: Connect, cache: ResponseCache) -> None:
        inner = connect("chat", "fail-500", retries=0)
        model = CachedModel(inner, cache)
        assert isinstance(model, Model)
        assert (model.name, model.settings) == (inner.name, inner.settings)
        with pytest.raises(ModelError):
            model.complete(REQUEST)
        assert model.faults == {"server": 1}

    @pytest.mark.parametrize("kind", sorted({*FAULT_KINDS} - ENDING_KINDS))
    def test_failures_are_kept_unless_they_may_pass(self, kind: str, path: Path, ask: Ask) -> None:
        """A game that is resumed takes the same course."""
        error = ModelError(kind, "said so", ("timeout", kind), Usage(5, 0, 7, None))
        inner = ScriptedModel(["first", error, "up"])
        with ResponseCache(path) as cache:
            model = CachedModel(inner, cache)
            model.complete(replace(REQUEST, sample=9))
            with pytest.raises(ModelError, match="said so") as caught:
                ask(model, REQUEST)
        assert vars(caught.value) == vars(error)
        with ResponseCache(path) as cache:
            model = CachedModel(inner, cache)
            if kind in PASSING_KINDS:
                assert ask(model, REQUEST).text == "up"
            else:
                for each in (model, ReplayModel(path)):
                    with pytest.raises(ModelError, match="said so"):
                        each.complete(REQUEST)

    def test_failures_before_the_first_answer_are_not_kept(self, cache: ResponseCache) -> None:
        model = CachedModel(ScriptedModel([ModelError("bad request", "no"), "up"]), cache)
        with pytest.raises(ModelError):
            model.complete(REQUEST)
        assert (cache.count(), model.complete(REQUEST).text) == (0, "up")

    @pytest.mark.parametrize("error", [AccessError("not found", "no model"), BudgetError("used up"), LMError("x")])
    def test_what_ends_a_run_is_not_kept(self, error: LMError, cache: ResponseCache, ask: Ask) -> None:
        model = CachedModel(ScriptedModel([error, "up"]), cache)
        with pytest.raises(type(error)):
            ask(model, REQUEST)
        assert ask(model, REQUEST).text == "up"
        assert cache.count() == 1


class TestAtOnce:
    """Equal questions while one of them is being asked."""

    def test_threads_pay_once(self, cache: ResponseCache) -> None:
        inner = ScriptedModel(["the one"], latency=0.05)
        model = CachedModel(inner, cache)
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _: model.complete(REQUEST), range(8)))
        assert {reply.text for reply in replies} == {"the one"}
        assert (len(inner.requests), model.hits, model.misses) == (1, 7, 1)

    def test_all_hear_of_a_failure(self, cache: ResponseCache) -> None:
        error = ModelError("bad request", "no")
        inner = ScriptedModel([error], latency=0.05)
        model = CachedModel(inner, cache)
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(model.complete, REQUEST) for _ in range(4)]
        assert {str(each.exception()) for each in asked} == {str(error)}
        assert len(inner.requests) == 1

    def test_when_one_is_cancelled_another_asks(self, cache: ResponseCache) -> None:
        inner = ScriptedModel(["the one"], latency=0.05)
        model = CachedModel(inner, cache)

        async def main() -> tuple[Reply, Reply]:
            asking, *waiting = (asyncio.create_task(model.acomplete(REQUEST)) for _ in range(4))
            await asyncio.sleep(0.01)
            asking.cancel()
            waiting[0].cancel()  # which is nothing to the others
            first, second = await asyncio.gather(*waiting[1:])
            return first, second

        first, second = asyncio.run(main())
        assert first.text == second.text == "the one"
        assert len(inner.requests) == 1

    def test_an_error_of_another_kind_is_only_the_askers(self, cache: ResponseCache) -> None:
        entered, go = Event(), Event()

        def answer(request: Request) -> str:
            if entered.is_set():
                return "second try"
            entered.set()
            go.wait(5)
            raise ZeroDivisionError

        model = CachedModel(ScriptedModel(answer), cache)
        with ThreadPoolExecutor(2) as pool:
            asking = pool.submit(model.complete, REQUEST)
            entered.wait(5)
            waiting = pool.submit(model.complete, REQUEST)
            go.set()
        assert isinstance(asking.exception(), ZeroDivisionError)
        assert waiting.result().text == "second try"

    def test_who_is_stopped_does_not_stop_others(self, cache: ResponseCache) -> None:
        """They may belong to a game that goes on."""
        inner = ScriptedModel([StoppedError("the game ends"), "second try"], latency=0.05)

        async def main() -> list[Any]:
            asked = [CachedModel(inner, cache).acomplete(REQUEST) for _ in range(2)]
            return await asyncio.gather(*asked, return_exceptions=True)

        stopped, reply = asyncio.run(main())
        assert isinstance(stopped, StoppedError)
        assert reply.text == "second try"


class TestProcesses:
    @pytest.mark.slow
    def test_many_write_at_once(self, path: Path) -> None:
        children = [child("print(*(ask(number).text for number in range(40)), sep='|')", path) for _ in range(2)]
        said = [process.communicate(timeout=60)[0].strip().split("|") for process in children]
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
            inner = ScriptedModel([])
            model = CachedModel(inner, ResponseCache(path))
            kept = [model.complete(Request((), (Block(f"question {number}"),))).text for number in range(len(told))]
            assert kept == told
        assert inner.requests == []

    def test_of_two_replies_all_use_the_first(self, path: Path) -> None:
        """Two processes may both have asked."""
        first, second = ResponseCache(path), ResponseCache(path)
        model = ScriptedModel([])
        assert first.put("key", model, REPLY) == REPLY
        assert second.put("key", model, Reply("late")) == REPLY


class TestDamage:
    @pytest.fixture
    def filled(self, path: Path) -> Path:
        with ResponseCache(path) as cache:
            for number in range(200):
                cache.put(f"{number:064}", ScriptedModel([]), REPLY)
        return path

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

    def test_another_programs_database(self, path: Path) -> None:
        path.parent.mkdir()
        change(path, "CREATE TABLE theirs (x)")
        before = path.read_bytes()
        with pytest.raises(CacheError, match="another program's SQLite database; choose another path"):
            ResponseCache(path).count()
        assert path.read_bytes() == before

    def test_a_later_layout(self, filled: Path) -> None:
        change(filled, "PRAGMA user_version = 99")
        with pytest.raises(CacheError, match="the file has layout 99, not 2"):
            ResponseCache(filled).count()

    def test_a_folder_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(CacheError, match="it cannot be made"):
            ResponseCache(tmp_path / "file" / "replies.sqlite").count()
        with pytest.raises(CacheError, match="choose another path"):
            ResponseCache(tmp_path).count()

    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", "5", "{}", '{"failed": "no kind", "text": "", "faults": [], "usage": null}', "[" * 100_000],
    )
    def test_what_is_no_reply(self, path: Path, text: str) -> None:
        cache = ResponseCache(path)
        for number, wrong in enumerate([text, json.dumps(asdict(REPLY) | {"text": 5}), json.dumps({"usage": None})]):
            key = f"{number:064}"
            cache._run("INSERT INTO replies VALUES (?, '{}', ?)", key, wrong)
            with pytest.raises(CacheError, match="is not a reply"):
                cache.get(key)

    @pytest.mark.parametrize("model", ["5", "{}", "no JSON", '{"name": 5, "settings": {}}', "[" * 100_000])
    def test_a_damaged_name_of_a_model(self, filled: Path, model: str) -> None:
        ResponseCache(filled)._run("UPDATE replies SET model = ?", model)
        with pytest.raises(CacheError, match="the name of a model cannot be read"):
            ReplayModel(filled)

    @pytest.mark.parametrize("place", range(0, 120, 7))
    def test_a_flipped_bit_of_the_schema(self, filled: Path, place: int) -> None:
        damaged = bytearray(filled.read_bytes())
        damaged[damaged.index(b"CREATE TABLE") - 20 + place] ^= 0x80
        filled.write_bytes(damaged)
        told = str(filled)
        try:
            assert ResponseCache(filled).get(f"{7:064}") == REPLY
            assert replies_digest(filled)
        except CacheError as error:
            told = str(error)
        assert "replies.sqlite" in told

    def test_a_file_is_its_owners_alone(self, filled: Path) -> None:
        assert filled.stat().st_mode & 0o777 == 0o600

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(CacheError, match="is a pipe or a device"):
            ReplayModel(tmp_path / "pipe")
        with pytest.raises(CacheError, match="is a pipe or a device"):
            replies_digest(tmp_path / "pipe")

    def test_a_reply_that_was_not_kept_is_told_to_all(self, path: Path) -> None:
        path.parent.mkdir()
        cache = ResponseCache(path)
        cache.count()
        change(path, "DROP TABLE replies")
        model = CachedModel(ScriptedModel(["paid"]), cache)
        for _ in range(2):
            with pytest.raises(CacheError):
                model.complete(REQUEST)


class TestReplay:
    def test_it_says_what_was_said(
        self, api: str, connect: Connect, ask: Ask, question: Request, cache: ResponseCache
    ) -> None:
        model = connect(api)
        reply = ask(CachedModel(model, cache), question)
        replay = ReplayModel(cache.path)
        assert isinstance(replay, Model)
        assert (replay.name, replay.settings) == (model.name, model.settings)
        assert ask(replay, question) == reply
        with pytest.raises(LMError, match=r"was never asked this: '.*A PAR may move"):
            ask(replay, replace(question, sample=5))

    def test_of_several_models_one_is_named(self, cache: ResponseCache) -> None:
        for name in ("a", "b"):
            CachedModel(ScriptedModel([f"I am {name}"], name=name), cache).complete(REQUEST)
        assert ReplayModel(cache.path, "scripted/b").complete(REQUEST).text == "I am b"
        for wrong in (None, "scripted/c"):
            with pytest.raises(ConfigError, match="it holds replies of: scripted/a, scripted/b"):
                ReplayModel(cache.path, wrong)

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="no such file of cached replies"):
            ReplayModel(tmp_path / "none.sqlite")
        assert list(tmp_path.iterdir()) == []

    def test_no_prompt_lies_in_the_file(self, cache: ResponseCache) -> None:
        CachedModel(ScriptedModel(["yes"]), cache).complete(Request((), (Block("a very private prompt"),)))
        cache.close()
        assert b"private prompt" not in cache.path.read_bytes()
        rows = sqlite3.connect(cache.path).execute("SELECT reply FROM replies").fetchall()
        assert [json.loads(text)["text"] for (text,) in rows] == ["yes"]
