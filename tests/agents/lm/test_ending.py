"""What ends a run: servers that cannot be used, errors of other calls, Ctrl-C. Nobody waits out anybody's pauses."""

import asyncio
import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.lm.errors import AccessError, BudgetError, LMError, ModelError, StoppedError
from agents.lm.models import Model, Reply, Request
from agents.lm.models.budget import Budget
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.providers.faults import status_fault
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub import StubServer
from evaluation.cli.commands import app
from evaluation.play.store import GameStore

Connect = Callable[..., RemoteModel]
Ask = Callable[[Model, Request], Reply]

ENDING = {"401": "authentication", "403": "authentication", "404": "not found", "quota": "quota"}
SOON = 20.0  # seconds; the pauses in these tests are minutes


@pytest.fixture
def closed() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


class TestServers:
    @pytest.mark.parametrize("fault", ENDING)
    def test_that_serve_nobody(
        self, api: str, fault: str, connect: Connect, ask: Ask, question: Request, stub: StubServer
    ) -> None:
        model = connect(api, f"fail-{fault}")
        with pytest.raises(AccessError, match=f"{model.name}: .*: HTTP .*: stub fault {fault}; you sent ") as caught:
            ask(model, question)
        assert caught.value.kind == ENDING[fault]
        assert len(stub.requests) == 1

    def test_that_are_not_there(
        self, api: str, connect: Connect, ask: Ask, question: Request, closed: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Three tries, a few seconds; it is told why they are made."""
        model = connect(api, base_url=closed)
        with pytest.raises(AccessError, match=rf"unreachable: ConnectError .*{closed}; .* \(the last of 3 tries\)"):
            ask(model, question)
        assert model.faults == {"unreachable": 3}
        (warning,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
        assert f"{closed}; see that the server runs, and that base_url is right; try 1, asked again in" in warning

    def test_that_go_away_get_all_tries(self, connect: Connect, question: Request) -> None:
        with StubServer() as server:
            model = connect("chat", base_url=f"{server.url}/v1", retries=4)
            model.complete(question)
        with pytest.raises(AccessError, match="the last of 5 tries"):
            model.complete(question)

    def test_whose_address_lacks_the_path(self, connect: Connect, question: Request, stub: StubServer) -> None:
        """A model that is not there is another matter, and Anthropic's SDK adds the path itself."""
        with pytest.raises(AccessError, match=rf"no such path: .*; see whether /v1 is missing .*: {stub.url}/v1$"):
            connect("chat", base_url=stub.url).complete(question)
        with pytest.raises(AccessError, match=r"; see that .* has a model called fail-404"):
            connect("chat", "fail-404").complete(question)
        with pytest.raises(AccessError, match=r"; see that .* has a model called fail-404"):
            connect("messages", "fail-404").complete(question)

    @pytest.mark.parametrize(("fault", "kind"), [("500", "server"), ("malformed", "malformed"), ("400", "bad request")])
    def test_that_never_answer(
        self, fault: str, kind: str, connect: Connect, ask: Ask, question: Request, tmp_path: Path
    ) -> None:
        """The fifth question ends the run, the failures are forgotten, and the next run begins anew."""
        with ResponseCache(tmp_path / "replies.sqlite") as cache:
            model = CachedModel(connect("chat", f"fail-{fault}", retries=1), cache)
            for run in range(2):
                for number in range(4):
                    with pytest.raises(ModelError):
                        ask(model, replace(question, sample=10 * run + number))
                with pytest.raises(
                    AccessError, match="nothing was answered in 5 questions; the last error was "
                ) as end:
                    ask(model, replace(question, sample=10 * run + 4))
                assert end.value.kind == kind
                assert cache.count() == 0

    @pytest.mark.parametrize("are_equal", [False, True])
    def test_that_never_answer_are_forgotten_for_all_who_ask_at_once(
        self, connect: Connect, question: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, are_equal: bool
    ) -> None:
        for slow in ("forget", "put"):
            real = getattr(ResponseCache, slow)
            monkeypatch.setattr(ResponseCache, slow, lambda *a, _real=real: (time.sleep(0.02), _real(*a))[1])
        left = []
        with ResponseCache(tmp_path / "replies.sqlite") as cache, ThreadPoolExecutor(8) as pool:
            model = CachedModel(connect("chat", "fail-400", retries=0), cache)

            def one(number: int) -> None:
                try:
                    model.complete(replace(question, sample=number // 2 if are_equal else number))
                except AccessError:
                    left.append(cache.count())
                except LMError:
                    pass

            list(pool.map(one, range(24)))
        assert left
        assert set(left) == {0}

    def test_that_have_answered_once_may_fail(
        self, connect: Connect, question: Request, stub: StubServer, tmp_path: Path
    ) -> None:
        with ResponseCache(tmp_path / "replies.sqlite") as cache:
            model = CachedModel(connect("chat", retries=0), cache)
            stub.fail(*["400"] * 4, "ok", *["400"] * 10)
            for number in range(15):
                with suppress(ModelError):
                    model.complete(replace(question, sample=number))
            assert model.faults == {"bad request": 14}
            assert cache.count() == 15

    def test_what_each_refusal_means(self) -> None:
        def kind(status: int, message: str, code: str | None = None) -> str:
            return status_fault(status, {}, {"error": {"message": message, "code": code}}).kind

        assert kind(402, "Insufficient credits") == kind(400, "Your credit balance is too low") == "quota"
        assert kind(429, "You exceeded your current quota", "insufficient_quota") == "quota"
        assert kind(429, "Slow down") == "rate limit"
        assert kind(403, "Your input was flagged") == "bad request"  # this prompt, not all
        assert kind(404, "The model `gpt-99` does not exist", "model_not_found") == "not found"


class TestOthers:
    """Calls in progress when another one ends the run."""

    def shared(self, stub: StubServer, **settings: object) -> tuple[SharedModels, Model, Model]:
        """Two models: one that is told to come back in minutes, and another one."""
        models = SharedModels(**settings)  # type: ignore[arg-type]
        waiting = models.get("openai/fail-429:300", base_url=f"{stub.url}/v1")
        return models, waiting, models.get("anthropic/fail-401", base_url=stub.url)

    def ends(self, stub: StubServer, waiting: Model, question: Request, end: Callable[[], object]) -> LMError:
        """What the waiting call raises once `end` has come."""
        started = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(waiting.complete, question)
            while not stub.requests and not call.done():
                time.sleep(0.01)
            time.sleep(0.1)  # by now it waits
            end()
        assert time.monotonic() - started < SOON
        error = call.exception()
        assert isinstance(error, LMError)
        return error

    def test_hear_of_a_server_that_cannot_be_used(self, stub: StubServer, question: Request) -> None:
        _, waiting, failing = self.shared(stub)

        def end() -> None:
            with pytest.raises(AccessError, match="anthropic/fail-401"):
                failing.complete(question)

        assert str(self.ends(stub, waiting, question, end)).startswith("anthropic/fail-401")

    def test_hear_of_a_used_up_budget(self, stub: StubServer, question: Request) -> None:
        _, waiting, failing = self.shared(stub, budget=Budget(max_tokens=1500))

        def end() -> None:
            with pytest.raises(BudgetError, match="does not allow another call"):
                failing.complete(Request((), question.user, max_tokens=2000))

        assert isinstance(self.ends(stub, waiting, question, end), BudgetError)

    def test_hear_of_an_interruption(
        self, stub: StubServer, question: Request, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        models, waiting, _ = self.shared(stub, cache=ResponseCache(tmp_path / "replies.sqlite"))

        def end() -> None:
            with pytest.raises(KeyboardInterrupt), models.tasks(1):
                raise KeyboardInterrupt

        assert isinstance(self.ends(stub, waiting, question, end), StoppedError)
        assert "interrupted: nothing more is asked" in caplog.messages[-1]
        assert models.cache is not None
        assert models.cache.count() == 0
        later = models.get("openai/any", base_url=f"{stub.url}/v1")
        assert later.complete(question).attempts == 1

    def test_models_make_room_for_the_games_of_a_run(self, stub: StubServer) -> None:
        """Those that are made before it, and in it; a limit of the user's own stays."""
        models, rooms = SharedModels(), []
        before = models.get("openai/any", base_url=f"{stub.url}/v1")
        own = models.get("openai/any", base_url=f"{stub.url}/v1", max_concurrent=5)
        with models.tasks(50):
            later = models.get("anthropic/any", base_url=stub.url)
        with models.tasks(1):
            rooms = [model._gate._places for model in (before, own, later)]  # type: ignore[attr-defined]
        assert rooms == [400, 5, 400]
        with models.tasks(1024):
            assert before._gate._places == 900  # type: ignore[attr-defined]

    def test_a_run_that_was_interrupted_asks_no_more(self, stub: StubServer, question: Request) -> None:
        """Its tasks, and code in them that waits without `await`; the next run and everybody else may ask."""
        models = SharedModels()
        model = models.get("openai/any", base_url=f"{stub.url}/v1")

        async def game() -> list[object]:
            told: list[object] = [(await model.acomplete(question)).attempts]
            while not models.halt.stops:
                await asyncio.sleep(0.01)
            with pytest.raises(StoppedError):
                await model.acomplete(question)
            with pytest.raises(StoppedError):
                model.complete(question)
            with pytest.raises(StoppedError), models.tasks(1):
                told.append("a game began")
            return told

        def interrupted() -> None:
            with models.tasks(1) as games:
                played.append(games.submit(game()))
                while not stub.requests:
                    time.sleep(0.01)
                raise KeyboardInterrupt

        played: list[Future[list[object]]] = []
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert played[0].result() == [1]
        assert len(stub.requests) == 1
        assert model.complete(question).attempts == 1
        with models.tasks(1) as games:
            assert games.submit(model.acomplete(question)).result().attempts == 1

    def test_a_call_that_fails_alone_is_nothing_to_them(self, stub: StubServer, question: Request) -> None:
        models, *_ = self.shared(stub)
        settings = {"base_url": f"{stub.url}/v1", "retries": 1, "backoff": 0.3}
        stub.fail("500")
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(models.get("openai/any", **settings).complete, question)
            while not stub.requests and not call.done():
                time.sleep(0.01)
            with pytest.raises(ModelError):
                models.get("openai/fail-400", **settings).complete(question)
        assert call.result().faults == ("server",)


class TestCommand:
    def run(self, *options: str) -> tuple[int, str]:
        common = ["self-play", "--years", "1", "--message-rounds", "1", "--games", "2", "--workers", "2"]
        outcome = CliRunner().invoke(app, [*common, *options])
        return outcome.exit_code, outcome.output

    @pytest.mark.parametrize("simultaneous", [[], ["--simultaneous"]])
    @pytest.mark.parametrize("fault", ["401", "500"])
    def test_it_ends_with_one_error_and_keeps_nothing(
        self, fault: str, simultaneous: list[str], stub: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        retries = "" if fault == "401" else ",retries=0"
        code, told = self.run(f"lm:openai/fail-{fault},base_url={stub.url}/v1{retries}", *simultaneous)
        assert code == 2
        assert told.count("error: ") == told.count(f"stub fault {fault}") == 1
        assert ("nothing was answered in 5 questions" in told) == (fault == "500")
        assert "fix this and run the same command to resume" in told
        assert len(stub.requests) <= 14
        with GameStore(tmp_path / "runs" / "evaluation.sqlite") as store:
            assert store.count() == 0
        with ResponseCache(tmp_path / "runs" / "replies.sqlite") as cache:
            assert cache.count() == 0

    @pytest.mark.slow
    def test_replies_of_no_use_are_told(
        self, stub: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.chdir(tmp_path)
        code, _ = self.run(f"lm:openai/fail-refusal,base_url={stub.url}/v1,summariser=none")
        assert code == 0
        (told,) = [record.message for record in caplog.records if record.name == "evaluation.play"]
        assert re.fullmatch(r"openai/fail-refusal: none of its \d+ replies was usable: .*", told)
        caplog.clear()
        self.run(f"lm:openai/any,base_url={stub.url}/v1,summariser=none")
        assert not caplog.records
