"""What goes wrong with calls: how often they are tried, what pauses, what is left out, and what ends a run."""

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import openai
import pytest
from typer.testing import CliRunner

import evaluation
from agents.lm.errors import ENDING_KINDS, FAULT_KINDS, PASSING_KINDS, AccessError, LMError, ModelError, StoppedError
from agents.lm.models import Block, Model, OpenAIModel, Reply, Request
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.providers.faults import status_fault
from agents.lm.models.providers.refusals import shape
from agents.lm.models.providers.remote_model import FIRST_QUESTIONS, RemoteModel
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub.replies import stub_reply
from agents.lm.stub.server import Response, refusal
from evaluation.cli.commands import app
from evaluation.play.store import GameStore
from tests.agents.lm.transport import FailingServer, InProcess, says
from welfare_env import Rules

Connect = Callable[..., RemoteModel]
Ask = Callable[[Model, Request], Reply]

# What the stub is told to do: the kind of fault that it is to us, and how often it is tried with the usual six retries.
FAULTS = {
    **{"429:0": ("rate limit", 7), "500": ("server", 7), "503": ("server", 7), "cut": ("connection", 7)},
    **{"malformed": ("server", 7), "timeout": ("timeout", 3), "empty": ("empty", 3)},
    **{"400": ("bad request", 1), "413": ("too long", 1), "401": ("authentication", 1), "404": ("not found", 1)},
    **{"403": ("authentication", 1), "quota": ("quota", 1), "429:36000": ("rate limit", 1)},
}


def hidden(text: str) -> str:
    return text


class TestTries:
    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_fault_that_stays(
        self, fault: str, api: str, connect: Connect, ask: Ask, question: Request, stub: InProcess
    ) -> None:
        kind, tries = FAULTS[fault]
        model = connect(api, f"fail-{fault}")
        with pytest.raises(AccessError if kind in ENDING_KINDS else ModelError) as caught:
            ask(model, question)
        assert caught.value.kind == kind
        assert model.faults == Counter({kind: tries})
        assert len(stub.requests) == tries
        if isinstance(caught.value, ModelError):
            assert (caught.value.faults, caught.value.is_passing) == ((kind,) * tries, kind in PASSING_KINDS)

    @pytest.mark.parametrize("fault", [fault for fault, (_, tries) in FAULTS.items() if tries > 1])
    def test_a_fault_that_passes(
        self, fault: str, api: str, connect: Connect, ask: Ask, question: Request, stub: InProcess
    ) -> None:
        stub.fail(fault)
        reply = ask(connect(api), question)
        assert json.loads(reply.text)["order"].startswith("A PAR")
        assert (reply.attempts, reply.faults) == (2, (FAULTS[fault][0],))

    def test_lost_answers_count_as_paid_for(self, connect: Connect, question: Request, stub: InProcess) -> None:
        stub.fail("timeout", "cut")
        usage = connect("chat").complete(question).usage
        assert usage.input_tokens > 2 * len(question.prompt)
        assert usage.output_tokens > 2 * question.max_tokens

    def test_every_kind_is_known(self) -> None:
        assert {kind for kind, _ in FAULTS.values()} | {"unreachable", "malformed"} == set(FAULT_KINDS)

    @pytest.mark.parametrize("body", [b"{", b"[]", b"null", b'{"choices": []}', b'{"content": 5, "output": [5]}'])
    def test_answers_that_are_none(
        self, body: bytes, api: str, connect: Connect, question: Request, stub: InProcess
    ) -> None:
        stub.cases.append(says(200, body))
        assert connect(api).complete(question).faults in (("malformed",), ("empty",))
        stub.cases += [says(200, body)] * 3
        with pytest.raises(ModelError) as caught:
            connect(api).complete(question)
        assert len(caught.value.faults) == 3

    def test_a_server_that_is_not_there(self, connect: Connect, question: Request) -> None:
        def absent(request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ConnectError("refused", request=request)

        stub = InProcess()
        stub.cases = [absent] * 9
        model = connect("chat", http_client=stub.client(openai))
        with pytest.raises(AccessError) as caught:
            model.complete(question)
        assert (caught.value.kind, model.faults) == ("unreachable", {"unreachable": 3})

    def test_an_error_in_an_answer(self, connect: Connect, question: Request, stub: InProcess) -> None:
        """OpenRouter sends them with status 200."""
        stub.cases.append(says(200, {"error": {"code": 502, "message": "Provider returned error"}}))
        assert connect("chat").complete(question).faults == ("server",)

    @pytest.mark.parametrize(
        ("status", "message", "code", "kind"),
        [
            (402, "Insufficient credits", None, "quota"),
            (400, "Your credit balance is too low", None, "quota"),
            (429, "You exceeded your current quota", "insufficient_quota", "quota"),
            (429, "Slow down", None, "rate limit"),
            (403, "Your input was flagged", None, "bad request"),  # this prompt, not all
            (400, "This model's maximum context length is 8192 tokens", "context_length_exceeded", "too long"),
            (307, "", None, "not found"),
        ],
    )
    def test_what_refusals_mean(self, status: int, message: str, code: str | None, kind: str) -> None:
        assert status_fault(status, {}, {"error": {"message": message, "code": code}}, hidden).kind == kind

    def test_words_are_one_line(self) -> None:
        fault = status_fault(400, {}, {"error": {"message": "bad\x1b[2J\r\n" + "x" * 9999}}, hidden)
        assert fault.text.isprintable()
        assert len(fault.text) < 400


class TestPauses:
    def test_they_double_up_to_a_minute(self, connect: Connect, question: Request, fake_clock: Any) -> None:
        with pytest.raises(ModelError):
            connect("chat", "fail-500", retries=9).complete(question)
        assert 0.5 * 303 <= sum(fake_clock.slept) <= 303  # 1 + 2 + ... + 32 + 4 * 60

    def test_a_429_pauses_all_calls(
        self, connect: Connect, question: Request, stub: InProcess, fake_clock: Any
    ) -> None:
        began: list[float] = []
        stub.fail("429:30")
        model = connect("chat")

        async def main() -> list[Reply]:
            first = asyncio.create_task(model.acomplete(question))
            while not stub.requests:
                await asyncio.sleep(0)
            others = [asyncio.create_task(model.acomplete(replace(question, sample=number))) for number in range(5)]
            return [await task for task in (first, *others)]

        stub._reply = lambda asked: began.append(fake_clock.time) or stub_reply(asked.prompt, asked.schema)  # type: ignore[func-returns-value]
        replies = asyncio.run(main())
        assert sum(len(reply.faults) for reply in replies) == 1
        assert min(began) >= 130.0

    def test_a_429_is_no_failure_while_others_are_answered(
        self, connect: Connect, question: Request, stub: InProcess, fake_clock: Any
    ) -> None:
        """Thirty requests a minute, eight players: many are refused more often than there are retries."""
        times: list[float] = []
        answer = stub.answer

        def limited(path: str, headers: Any, content: bytes) -> Response:
            while times and times[0] <= fake_clock.time - 60:
                times.pop(0)
            if len(times) >= 30:
                return refusal(path, 429, "slow down")._replace(headers={"retry-after": "2"})
            times.append(fake_clock.time)
            return answer(path, headers, content)

        stub.answer = limited  # type: ignore[method-assign]
        model = connect("chat", max_concurrent=8)
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda number: model.complete(replace(question, sample=number)), range(129)))
        assert len(replies) == 129
        assert max(len(reply.faults) for reply in replies) > 0

    @pytest.mark.parametrize("others", [0, 1])
    def test_a_call_may_be_refused_as_often_as_others_are_answered(
        self, others: int, connect: Connect, question: Request, stub: InProcess
    ) -> None:
        model, answer, refused = connect("chat", retries=3), stub.answer, []

        def picky(path: str, headers: Any, content: bytes) -> Response:
            if len(refused) == 12:
                return answer(path, headers, content)
            refused.append(content)
            model._answers += others  # to calls that are made at the same time
            return refusal(path, 429, "slow down")

        stub.answer = picky  # type: ignore[method-assign]
        if others:
            assert model.complete(question).faults == ("rate limit",) * 12
        else:
            with pytest.raises(ModelError) as caught:
                model.complete(question)
            assert caught.value.faults == ("rate limit",) * 4

    def test_every_form_of_retry_after(self) -> None:
        def pause(**headers: str) -> float | None:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return status_fault(429, named, None, hidden).retry_after

        assert pause(retry_after="7") == 7.0
        assert pause(retry_after_ms="250", retry_after="7") == 0.25
        assert 50 < (pause(retry_after=formatdate(time.time() + 60)) or 0) <= 60
        assert [pause(retry_after=odd) for odd in ("", "soon", "nan", "Mon, 99 Jan")] == [None] * 4

    def test_chance_comes_from_the_generator(self, connect: Connect, question: Request, fake_clock: Any) -> None:
        slept = []
        for seed in (1, 1, 2):
            begun = len(fake_clock.slept)
            with pytest.raises(ModelError):
                connect("chat", "fail-500", rng=np.random.default_rng(seed)).complete(question)
            slept.append(round(sum(fake_clock.slept[begun:]), 6))
        assert slept[0] == slept[1] != slept[2]


class TestLimits:
    def test_so_many_at_a_time(self, connect: Connect, question: Request, stub: InProcess) -> None:
        with ThreadPoolExecutor(8) as pool, FailingServer(latency=0.02) as server:
            model = OpenAIModel("any", base_url=f"{server.url}/v1", max_concurrent=3)
            list(pool.map(lambda number: model.complete(replace(question, sample=number)), range(24)))
            assert server.peak == 3


class TestLeftOut:
    def refusing(self, stub: InProcess, *names: str) -> list[dict[str, Any]]:
        """Makes the stub refuse fields; returns the bodies that it gets."""
        asked: list[dict[str, Any]] = []
        answer = stub.answer

        def picky(path: str, headers: Any, content: bytes) -> Any:
            asked.append(json.loads(content))
            wrong = [name for name in names if name in asked[-1]]
            if wrong:
                return refusal(path, 400, f"`{wrong[0]}` is not supported for this model.")
            return answer(path, headers, content)

        stub.answer = picky  # type: ignore[method-assign]
        return asked

    def test_sampling_that_a_model_does_not_take(
        self, api: str, connect: Connect, ask: Ask, question: Request, stub: InProcess
    ) -> None:
        """The reply says so, whichever call finds out."""
        asked = self.refusing(stub, "temperature", "top_p")
        model = connect(api, retries=0)
        replies = [ask(model, question) for _ in range(2)]
        assert [(reply.attempts, reply.left_out) for reply in replies] == [(1, ("temperature", "top_p"))] * 2
        sampling = [{name: body[name] for name in ("temperature", "top_p") if name in body} for body in asked]
        assert [len(each) for each in sampling] == [2, 1, 0, 0]
        assert model.faults == {}

    def test_the_other_name_of_the_limit(self, connect: Connect, question: Request, stub: InProcess) -> None:
        asked = self.refusing(stub, "max_tokens")
        assert connect("chat").complete(question).left_out == ()
        assert asked[-1]["max_completion_tokens"] == question.max_tokens

    def test_a_refused_schema_is_left_out_for_its_shape_only(
        self, connect: Connect, question: Request, stub: InProcess
    ) -> None:
        def schema(*sets: list[str]) -> dict[str, Any]:
            orders = [{"type": "object", "properties": {key: {"enum": [key]} for key in keys}} for keys in sets]
            return {"type": "object", "properties": {"orders": orders[0] if len(orders) == 1 else {"anyOf": orders}}}

        refused, answer = [], stub.answer

        def picky(path: str, headers: Any, content: bytes) -> Any:
            if b"anyOf" in content:
                refused.append(content)
                return refusal(path, 400, "Invalid schema: Objects provided via 'anyOf' must not share first keys.")
            return answer(path, headers, content)

        stub.answer = picky  # type: ignore[method-assign]
        model = connect("chat")
        schemas = [schema(["a"]), schema(["a", "b"], ["a", "c"]), schema(["d", "e"], ["d", "f"]), schema(["a"])]
        left_out = [model.complete(replace(question, schema=each)).left_out for each in schemas]
        assert left_out == [(), ("schema",), ("schema",), ()]
        assert len(refused) == 1
        assert shape(schemas[1]) == shape(schemas[2]) != shape(schemas[0])

    def test_without_schemas(self, api: str, connect: Connect, question: Request, stub: InProcess) -> None:
        assert connect(api, structured=False).complete(question).left_out == ("schema",)
        assert stub.requests[-1].body.keys() & {"response_format", "text", "output_config"} == set()

    def test_no_other_bad_request_is_repaired(
        self, api: str, connect: Connect, question: Request, stub: InProcess
    ) -> None:
        with pytest.raises(ModelError):
            connect(api, "fail-400").complete(question)
        assert len(stub.requests) == 1


class TestEnds:
    def test_a_server_that_never_answers(self, connect: Connect, question: Request, tmp_path: Path) -> None:
        """Its failures are not kept, so that the next run asks again."""
        with ResponseCache(tmp_path / "replies.sqlite") as cache:
            model = CachedModel(connect("chat", "fail-400"), cache)
            for number in range(FIRST_QUESTIONS - 1):
                with pytest.raises(ModelError):
                    model.complete(replace(question, sample=number))
            with pytest.raises(AccessError) as caught:
                model.complete(replace(question, sample=99))
            assert (caught.value.kind, cache.count()) == ("bad request", 0)

    def test_one_that_has_answered_may_fail(
        self, connect: Connect, question: Request, stub: InProcess, tmp_path: Path
    ) -> None:
        with ResponseCache(tmp_path / "replies.sqlite") as cache:
            model = CachedModel(connect("chat"), cache)
            stub.fail("ok", *["400"] * 10)
            for number in range(11):
                with suppress(ModelError):
                    model.complete(replace(question, sample=number))
            assert cache.count() == 11

    @pytest.mark.parametrize("end", ["401", "500"])
    def test_calls_that_wait_hear_of_it(self, end: str, question: Request) -> None:
        with FailingServer() as server, ThreadPoolExecutor(1) as pool:
            models = SharedModels()
            waiting = models.get("openai/fail-429:300", base_url=f"{server.url}/v1")
            call = pool.submit(waiting.complete, question)
            while not server.requests:
                pass
            with pytest.raises(LMError) as caught:
                models.get(f"anthropic/fail-{end}", base_url=server.url, retries=0).complete(question)
            error = call.exception(timeout=30)
        assert type(error) is type(caught.value)
        assert str(error) == str(caught.value)

    def test_a_run_that_was_interrupted_asks_no_more(self, question: Request) -> None:
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
                with models.tasks(1) as games:
                    played.append(games.submit(game()))
                    while not server.requests:
                        pass
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                interrupted()
            assert (played[0].result(), len(server.requests)) == (1, 1)
            assert model.complete(question).attempts == 1


class TestGames:
    """A game that lacks a reply for now is not stored; the same command resumes it."""

    def run(self, *options: str) -> tuple[int, str]:
        common = ["self-play", "--years", "1", "--message-rounds", "1", "--games", "1"]
        outcome = CliRunner().invoke(app, [*common, *options])
        return outcome.exit_code, outcome.output

    @pytest.mark.parametrize("simultaneous", [[], ["--simultaneous"]])
    def test_it_stops_says_where_and_resumes_there(
        self, simultaneous: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with FailingServer() as server:
            spec = f"lm:openai/any,base_url={server.url}/v1,retries=0"
            server.fail(*["ok"] * 20, *["503"] * 400)
            code, said = self.run(spec, *simultaneous)
            assert code == 2
            assert "stopped in" in said
            assert "later to resume" in said
            with GameStore(tmp_path / "runs" / "evaluation.sqlite") as store:
                assert store.count() == 0
            server.faults.clear()
            answered = server.stats["answered"]
            assert answered == 20
            assert self.run(spec, *simultaneous)[0] == 0
            assert server.stats["twice"] == 0

    def test_a_pause_of_hours_stops_it(self) -> None:
        with FailingServer() as server:
            server.fail(*["ok"] * 20, "429:36000")
            with pytest.raises(ModelError) as caught:
                evaluation.self_play(
                    f"lm:openai/any,base_url={server.url}/v1", games=1, rules=Rules(years=1, message_rounds=1)
                )
        assert (caught.value.kind, caught.value.is_passing) == ("rate limit", True)

    def test_no_key_is_told_in_one_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with FailingServer() as server:
            code, said = self.run(f"lm:openai/fail-401,base_url={server.url}/v1")
        assert (code, said.count("error: "), said.count("stub fault 401")) == (2, 1, 1)


def test_the_log_tells(connect: Connect, question: Request, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(ModelError):
        connect("chat", "fail-503", retries=1).complete(Request((), (Block("x"),)))
    assert sum("HTTP 503" in record.message for record in caplog.records) == 2
