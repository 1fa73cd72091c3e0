"""Calls of the real SDKs to a server on this machine: what comes back, what goes wrong, and how often it is tried."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from threading import Thread
from typing import Any

import numpy as np
import pytest

from agents.lm.errors import ENDING_KINDS, FAULT_KINDS, ModelError
from agents.lm.models import Model, Reply, Request
from agents.lm.models.limits import Clock
from agents.lm.models.providers.connection import fair_timeout
from agents.lm.models.providers.faults import status_fault
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.stub import StubServer

Connect = Callable[..., RemoteModel]
Ask = Callable[[Model, Request], Reply]

# What the stub server is told to do: the kind of fault that it is to us.
PASSING = {
    **{"429:0": "rate limit", "500": "server", "503": "server", "529": "server"},
    **{"cut": "connection", "malformed": "malformed", "truncated": "malformed", "wrong": "malformed"},
    **{"empty": "empty", "big": "too long"},
}
FINAL = {
    **{"400": "bad request", "413": "too long"},
}
ENDING = {"401": "authentication", "403": "authentication", "404": "not found", "quota": "quota"}


def failure(ask: Ask, model: RemoteModel, question: Request) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model, question)
    return caught.value


class TestReplies:
    def test_an_answer(self, api: str, connect: Connect, ask: Ask, question: Request, stub: StubServer) -> None:
        reply = ask(connect(api), question)
        told = json.loads(reply.text)
        assert list(told) == ["reasoning", "order"]
        assert told["order"] in ("A PAR H", "A PAR - BUR")
        assert (reply.finish, reply.model, reply.attempts, reply.faults) == ("stop", "any", 1, ())
        # The stub counts four characters a token, and the system prompt as cached.
        system, prompt = len("You play FRANCE. Be kind."), len(question.prompt)
        assert (reply.usage.input_tokens, reply.usage.cached_tokens) == (-(-prompt // 4), -(-system // 4))
        assert reply.usage.output_tokens == -(-len(reply.text) // 4)
        assert reply.usage.dollars is None  # the stub is not the provider's own server
        assert len(stub.requests) == 1

    def test_an_answer_cut_by_max_tokens(self, api: str, connect: Connect, ask: Ask, question: Request) -> None:
        reply = ask(connect(api, "fail-length"), question)
        assert reply.finish == "length"
        with pytest.raises(json.JSONDecodeError):
            json.loads(reply.text)

    def test_a_refusal(self, api: str, connect: Connect, ask: Ask, question: Request) -> None:
        reply = ask(connect(api, "fail-refusal"), question)
        assert (reply.finish, reply.text) == ("refusal", "I would rather not.")

    def test_half_a_surrogate_pair_cannot_get_in(self, api: str, connect: Connect, ask: Ask, question: Request) -> None:
        with StubServer(reply=lambda asked: "peace \ud83d and \ud83d\ude00 joy") as server:
            url = server.url if api == "messages" else f"{server.url}/v1"
            assert ask(connect(api, base_url=url), question).text == "peace \ufffd and \U0001f600 joy"


class TestFaultsThatPass:
    @pytest.mark.parametrize("fault", PASSING)
    def test_the_next_try_succeeds(
        self, api: str, fault: str, connect: Connect, ask: Ask, question: Request, stub: StubServer
    ) -> None:
        model = connect(api)
        stub.fail(fault)
        reply = ask(model, question)
        assert json.loads(reply.text)["order"].startswith("A PAR")
        assert (reply.attempts, reply.faults) == (2, (PASSING[fault],))
        assert model.faults == Counter([PASSING[fault]])
        assert [request.fault for request in stub.requests] == [fault, "ok"]

    @pytest.mark.parametrize("fault", ["500", "cut", "429:0"])
    def test_a_fault_that_stays_ends_the_call(
        self, api: str, fault: str, connect: Connect, ask: Ask, question: Request, stub: StubServer
    ) -> None:
        model = connect(api, f"fail-{fault}", retries=3)
        error = failure(ask, model, question)
        assert (error.kind, error.faults) == (PASSING[fault], (PASSING[fault],) * 4)
        assert model.faults == Counter({PASSING[fault]: 4})
        assert len(stub.requests) == 4
        assert f"{model.name}: {error.kind}: " in str(error)
        assert "the last of 4 tries" in str(error)

    @pytest.mark.parametrize("fault", ["empty", "malformed"])
    def test_what_was_paid_for_is_asked_again_only_twice(
        self, api: str, fault: str, connect: Connect, ask: Ask, question: Request, stub: StubServer
    ) -> None:
        error = failure(ask, connect(api, f"fail-{fault}"), question)
        assert error.faults == (PASSING[fault],) * 3
        assert fault != "empty" or error.usage.input_tokens == 3 * -(-len(question.prompt) // 4)
        assert len(stub.requests) == 3

    def test_the_log_tells(self, connect: Connect, question: Request, caplog: pytest.LogCaptureFixture) -> None:
        failure(RemoteModel.complete, connect("chat", "fail-503", retries=1), question)
        first, second = [record.message for record in caplog.records if "HTTP 503" in record.message]
        assert first.endswith("try 1, asked again in 1 s")
        assert second.endswith("try 2, given up")

    def test_every_kind_of_fault_is_known(self) -> None:
        assert {*PASSING.values(), *FINAL.values(), *ENDING.values(), "timeout", "unreachable"} == set(FAULT_KINDS)
        assert {*ENDING.values(), "unreachable"} == ENDING_KINDS


class TestFaultsThatStay:
    @pytest.mark.parametrize("fault", FINAL)
    def test_they_end_the_call_at_once(
        self, api: str, fault: str, connect: Connect, ask: Ask, question: Request, stub: StubServer
    ) -> None:
        model = connect(api, f"fail-{fault}")
        error = failure(ask, model, question)
        assert (error.kind, error.faults) == (FINAL[fault], (FINAL[fault],))
        assert len(stub.requests) == 1

    def test_a_text_that_is_no_line(self) -> None:
        fault = status_fault(400, {}, {"error": {"message": "bad\x1b[2J\r\n" + "x" * 9999}})
        assert fault.text.isprintable()
        assert len(fault.text) < 400


class TestTimeouts:
    def test_no_answer(self, sdk: str, connect: Connect, ask: Ask, question: Request) -> None:
        model = connect(sdk, "fail-timeout", timeout=0.1, retries=1, backoff=0, clock=Clock())
        error = failure(ask, model, question)
        assert error.faults == ("timeout", "timeout")
        assert "0.1 s" in str(error)

    def test_an_answer_byte_by_byte(self, sdk: str, connect: Connect, ask: Ask, question: Request) -> None:
        """Each byte is in time; the whole of them would take half a minute."""
        error = failure(ask, connect(sdk, "fail-slow", timeout=0.2, retries=0, clock=Clock()), question)
        assert error.kind == "timeout"

    @pytest.mark.slow
    def test_it_passes(self, sdk: str, connect: Connect, ask: Ask, question: Request, stub: StubServer) -> None:
        stub.fail("timeout")
        reply = ask(connect(sdk, timeout=0.7, backoff=0, clock=Clock()), question)
        assert reply.faults == ("timeout",)


class TestPauses:
    def test_they_double_and_have_a_longest(
        self, api: str, connect: Connect, ask: Ask, question: Request, fake_clock: Any
    ) -> None:
        failure(ask, connect(api, "fail-500", retries=9, backoff=2.0), question)
        longest = [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]
        assert len(fake_clock.slept) == 9
        assert all(most / 2 <= pause <= most for pause, most in zip(fake_clock.slept, longest, strict=True))
        assert len(set(fake_clock.slept)) == 9

    def test_chance_comes_from_the_generator(
        self, api: str, connect: Connect, question: Request, fake_clock: Any
    ) -> None:
        pauses = []
        for seed in (1, 1, 2):
            del fake_clock.slept[:]
            failure(RemoteModel.complete, connect(api, "fail-500", rng=np.random.default_rng(seed)), question)
            pauses.append(list(fake_clock.slept))
        assert pauses[0] == pauses[1] != pauses[2]

    def test_the_server_says_how_long(
        self, api: str, connect: Connect, ask: Ask, question: Request, stub: StubServer, fake_clock: Any
    ) -> None:
        stub.fail("429:7.5", "429:40")
        assert ask(connect(api), question).attempts == 3
        first, second = fake_clock.slept
        assert 7.5 <= first <= 7.5 * 1.1
        assert 40 <= second <= 40 * 1.1

    def test_no_server_makes_us_wait_for_an_hour(
        self, api: str, connect: Connect, ask: Ask, question: Request, fake_clock: Any
    ) -> None:
        error = failure(ask, connect(api, "fail-429:3600"), question)
        assert "3600 s" in str(error)
        assert fake_clock.slept == []

    def test_every_form_of_retry_after(self) -> None:
        def pause(**headers: str) -> float | None:
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            return status_fault(429, names, None).retry_after

        assert pause(retry_after="12") == 12
        assert pause(retry_after_ms="1500", retry_after="9") == 1.5
        assert 55 < (pause(retry_after=formatdate(time.time() + 60, usegmt=True)) or 0) <= 60
        assert pause(retry_after=formatdate(time.time() - 60, usegmt=True)) == 0
        assert pause(retry_after="-3") == 0
        assert pause(retry_after="1 Jan 99999999999 00:00:00") is pause(retry_after="Mon, 99 Xyz 2026") is None
        assert pause(retry_after="soon") is pause(retry_after="inf") is pause(retry_after="nan") is pause() is None


class TestAtOnce:
    def test_threads_share_a_model(self, api: str, connect: Connect, question: Request, stub: StubServer) -> None:
        stub.latency = 0.05
        model = connect(api, max_concurrent=3, clock=Clock())
        with ThreadPoolExecutor(9) as pool:
            replies = list(pool.map(lambda _: model.complete(question), range(9)))
        assert len({reply.text for reply in replies}) == 1
        assert len(stub.requests) == 9
        assert 1 < stub.peak <= 3

    def test_so_do_the_tasks_of_a_loop(self, api: str, connect: Connect, question: Request, stub: StubServer) -> None:
        stub.latency = 0.05
        model = connect(api, max_concurrent=3, clock=Clock())

        async def main() -> None:
            await asyncio.gather(*(model.acomplete(question) for _ in range(6)))
            await model.aclose()

        asyncio.run(main())
        asyncio.run(main())  # another loop, with connections of its own
        assert len(stub.requests) == 12
        assert 1 < stub.peak <= 3

    def test_requests_a_minute(
        self, api: str, connect: Connect, ask: Ask, question: Request, fake_clock: Any, stub: StubServer
    ) -> None:
        model = connect(api, requests_per_minute=2)
        for _ in range(5):
            ask(model, question)
        assert fake_clock.slept == [60.0, 60.0]
        assert len(stub.requests) == 5

    def test_a_task_that_is_cancelled_frees_its_place(
        self, api: str, connect: Connect, question: Request, stub: StubServer
    ) -> None:
        stub.fail("timeout")
        model = connect(api, max_concurrent=1, clock=Clock())

        async def main() -> Reply:
            stuck = asyncio.create_task(model.acomplete(question))
            waiting = asyncio.create_task(model.acomplete(question))
            while not stub.requests:
                await asyncio.sleep(0.01)
            stuck.cancel()
            reply = await asyncio.wait_for(waiting, 10)
            await model.aclose()
            return reply

        assert asyncio.run(main()).attempts == 1
        assert model.budget.spent.tokens > 0


class TestProxies:
    """What the environment says of proxies, as HTTP libraries take it."""

    def test_it_is_asked(
        self, sdk: str, stub: StubServer, connect: Connect, question: Request, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No such host exists, so only a proxy can answer; the stub takes whole addresses, as proxies do."""
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{stub.port}")
        path = "" if sdk == "messages" else "/v1"
        model = connect(sdk, base_url=f"http://nowhere.invalid{path}", retries=0, clock=Clock())
        assert model.complete(question).text
        assert len(stub.requests) == 1


class TestTimeout:
    @pytest.mark.parametrize("busy", [0.0, 0.6])
    def test_what_came_while_the_loop_was_busy_is_no_timeout(self, busy: float) -> None:
        async def main() -> str:
            came = asyncio.get_running_loop().create_future()
            Thread(target=lambda: came.get_loop().call_soon_threadsafe(came.set_result, "an answer")).start()
            async with fair_timeout(0.3):
                time.sleep(busy)
                return await came

        assert asyncio.run(main()) == "an answer"

    @pytest.mark.slow
    def test_what_does_not_come_is_one(self) -> None:
        async def main(busy: float) -> None:
            async with fair_timeout(0.2):
                time.sleep(busy)
                await asyncio.Event().wait()

        for busy in (0.0, 0.5):
            with pytest.raises(TimeoutError):
                asyncio.run(asyncio.wait_for(main(busy), 20))
