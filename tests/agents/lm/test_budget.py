"""Budgets stop before they are exceeded; prices say what tokens cost."""

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, Event, Lock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.lm.errors import BudgetError, ConfigError, ModelError
from agents.lm.models import NO_USAGE, AnthropicModel, Block, Model, OpenAIModel, Reply, Request, Usage
from agents.lm.models.budget import Budget
from agents.lm.models.prices import PRICES, Price, find_price, load_prices
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.models.providers.retries import most_tokens
from agents.lm.stub import StubServer
from tests.agents.lm.entering import entered

Connect = Callable[..., RemoteModel]
Ask = Callable[[Model, Request], Reply]


def most_of(question: Request) -> int:
    """The most tokens that a call can have: a byte each, the schema and what the server puts around it included."""
    return len(question.prompt.encode()) + len(json.dumps(question.schema)) + 100 + question.max_tokens


PRICE = {"any": Price(input=1000.0, output=2000.0, cached=100.0)}


class TestBudget:
    def test_it_stops_before_a_call_that_could_exceed_it(
        self, api: str, connect: Connect, ask: Ask, question: Request, stub: StubServer
    ) -> None:
        most = most_of(question)
        budget = Budget(max_tokens=2 * most)
        model = connect(api, budget=budget)
        replies: list[Reply] = []
        with pytest.raises(
            BudgetError, match=rf"the budget of {2 * most:,} tokens does not allow another call: [\d,]+"
        ):
            replies.extend(ask(model, question) for _ in range(1000))
        assert len(stub.requests) == len(replies) > 3
        assert budget.spent == sum((reply.usage for reply in replies), NO_USAGE)
        assert most < budget.spent.tokens <= 2 * most

    def test_dollars(self, api: str, connect: Connect, ask: Ask, question: Request, stub: StubServer) -> None:
        budget = Budget(max_dollars=2.0)
        model = connect(api, budget=budget, prices=PRICE)
        replies: list[Reply] = []
        with pytest.raises(BudgetError, match=r"the budget of 2.0 dollars does not allow another call: \d\.\d+ "):
            replies.extend(ask(model, question) for _ in range(1000))
        usage = replies[0].usage
        plain = usage.input_tokens - usage.cached_tokens
        dollars = (plain * 1000 + usage.cached_tokens * 100 + usage.output_tokens * 2000) / 1e6
        assert usage.dollars == pytest.approx(dollars)
        assert budget.spent.dollars == pytest.approx(len(replies) * dollars)
        assert (budget.spent.dollars or 0) <= 2.0

    def test_a_stop_is_a_stop(self) -> None:
        budget = Budget(max_tokens=100)
        for tokens in (101, 1):
            with pytest.raises(BudgetError), entered(budget.hold(tokens, None)):
                pass

    def test_it_waits_for_calls_in_progress(self) -> None:
        """What they set aside is most likely too much; only what they have used counts against the next one."""
        budget = Budget(max_tokens=100)
        with entered(budget.hold(5, None, "a server")) as hold:
            hold.spend(Usage(3, 0, 2, None))
        began = Event()

        def ask(tokens: int) -> None:
            with entered(budget.hold(tokens, None, "a server")) as later:
                began.set()
                later.spend(Usage(tokens, 0, 0, None))

        with ThreadPoolExecutor(2) as pool:
            with entered(budget.hold(60, None, "a server")) as hold:
                waiting = pool.submit(ask, 41)
                assert not began.wait(0.1)
                hold.spend(Usage(30, 0, 10, None))
            waiting.result(timeout=20)
        assert budget.spent.tokens == 86
        with pytest.raises(
            BudgetError, match=r"another call: 86 were spent in this run, and the next one .* up to 15$"
        ):
            ask(15)

    @pytest.mark.parametrize("limits", [{"max_tokens": 100}, {"max_dollars": 1.0}])
    def test_what_calls_in_progress_may_cost_is_reserved(self, limits: dict[str, float]) -> None:
        """Also for a call to another model, which need not wait to learn what the first one's server reports."""
        budget = Budget(**limits)  # type: ignore[arg-type]
        first, fits, waits = (budget.hold(most, most / 100, who) for most, who in ((60, "a"), (40, "b"), (1, "c")))
        tickets = [hold._enter() for hold in (first, fits, waits)]
        assert [ticket.done() for ticket in tickets] == [True, True, False]
        first.spend(Usage(59, 0, 0, 0.59))
        first._leave()
        assert tickets[2].done()

    def test_what_cannot_fit_does_not_wait(self) -> None:
        budget = Budget(max_dollars=0.2)
        told = r"another call: the next one may need up to 0\.2100$"
        with (
            entered(budget.hold(9, 0.17, "a server")),
            pytest.raises(BudgetError, match=told),
            entered(budget.hold(9, 0.21, "a server")),
        ):
            pass

    def test_those_behind_a_refused_call_hear_of_it(self) -> None:
        budget = Budget(max_tokens=100)

        def ask(tokens: int) -> None:
            with entered(budget.hold(tokens, None)):
                pass

        with ThreadPoolExecutor(2) as pool:
            with entered(budget.hold(60, None)) as hold:
                waiting = [pool.submit(ask, tokens) for tokens in (50, 40)]
                while len(budget._waiting) < 2:
                    time.sleep(0.01)
                hold.spend(Usage(60, 0, 0, None))
            errors = [call.exception(timeout=20) for call in waiting]
        assert [type(error) for error in errors] == [BudgetError, BudgetError]

    def test_tasks_wait_too_and_those_that_are_cancelled_hold_nothing(self) -> None:
        budget = Budget(max_tokens=100)

        async def ask(tokens: int) -> None:
            async with budget.hold(tokens, None) as hold:
                hold.spend(Usage(1, 0, 0, None))

        async def main() -> None:
            async with budget.hold(60, None) as hold:
                hold.spend(Usage(10, 0, 0, None))
                tasks = [asyncio.create_task(ask(90)), asyncio.create_task(ask(80))]
                await asyncio.sleep(0)
                tasks[0].cancel()
                await asyncio.sleep(0.05)
                assert not tasks[1].done()
            await asyncio.wait_for(tasks[1], 20)
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run(main())
        assert budget.spent.tokens == 11
        with entered(budget.hold(89, None)):
            pass

    def test_it_learns_from_servers_that_report_too_much(self) -> None:
        """As many times as the worst call before; of other servers nothing is expected but what they are asked for."""
        budget = Budget(max_dollars=2.0)
        with entered(budget.hold(100, 0.1, "a server")) as hold:
            hold.spend(Usage(150, 0, 100, 0.5))
        with entered(budget.hold(100, 0.2, "a server")):  # which may cost a dollar
            pass
        with entered(budget.hold(100, 1.4, "another server")):
            pass
        told = r"0\.5000 were spent .* up to 1\.7500 \(its server has reported 5\.0 times what it was asked for\)"
        with pytest.raises(BudgetError, match=told), entered(budget.hold(100, 0.35, "a server")):
            pass

    def test_the_first_call_to_a_server_goes_alone(self) -> None:
        """Or all that are begun at the same time could be reported to have used too much."""
        budget = Budget(max_tokens=1000)
        together: list[int] = []
        active, lock = [0], Lock()

        def ask(_: int) -> None:
            with entered(budget.hold(10, None, "a server")) as hold:
                with lock:
                    active[0] += 1
                    together.append(active[0])
                time.sleep(0.02)
                hold.spend(Usage(600, 0, 0, None))
                with lock:
                    active[0] -= 1

        with ThreadPoolExecutor(4) as pool:
            outcomes = [pool.submit(ask, number) for number in range(4)]
        assert together == [1]
        assert budget.spent.tokens == 600
        assert sum(isinstance(outcome.exception(), BudgetError) for outcome in outcomes) == 3

    def test_what_is_not_used_is_given_back(self) -> None:
        budget = Budget(max_tokens=100, max_dollars=1.0)
        for _ in range(50):
            with pytest.raises(KeyboardInterrupt), entered(budget.hold(60, 0.6)):
                raise KeyboardInterrupt
        assert budget.spent == NO_USAGE

    def test_retries_are_calls(self, connect: Connect, question: Request, stub: StubServer) -> None:
        most = most_of(question)
        model = connect("chat", "fail-empty", budget=Budget(max_tokens=most + 5))
        with pytest.raises(BudgetError):
            model.complete(question)
        assert len(stub.requests) == 1

    @pytest.mark.slow
    def test_answers_that_were_lost_count(
        self, sdk: str, connect: Connect, ask: Ask, question: Request, stub: StubServer
    ) -> None:
        """The server may have charged for what we have not seen; not so for what it has refused."""
        model = connect(sdk, timeout=1.0, backoff=0)
        for fault, lost in (("cut", 1), ("timeout", 1), ("malformed", 1), ("500", 0), ("413", 0)):
            before = model.budget.spent.tokens
            stub.fail(fault)
            known = 0
            with suppress(ModelError):
                known = -(-len(question.prompt) // 4) + -(-len(ask(model, question).text) // 4)
            assert model.budget.spent.tokens - before == lost * most_of(question) + known, fault

    @pytest.mark.slow
    @given(st.text(max_size=50), st.text(max_size=50))
    def test_no_tokenizer_finds_more_in_a_prompt(self, system: str, user: str) -> None:
        request = Request((Block(system),), (Block("?" + user),), {"type": "string", "enum": [user]})
        said = system + "?" + user + json.dumps(request.schema, ensure_ascii=False)
        assert most_tokens(request) >= len(said.encode())

    def test_threads_never_exceed_it(self) -> None:
        budget, barrier = Budget(max_tokens=1000), Barrier(8)

        def spend(_: int) -> int:
            barrier.wait()
            calls = 0
            try:
                while True:
                    with entered(budget.hold(7, None)) as hold:
                        hold.spend(Usage(5, 0, 2, None))
                        calls += 1
            except BudgetError:
                return calls

        with ThreadPoolExecutor(8) as pool:
            calls = sum(pool.map(spend, range(8)))
        assert budget.spent.tokens == 7 * calls <= 1000

    def test_dollars_need_a_price(self, connect: Connect) -> None:
        with pytest.raises(ConfigError, match="openai/any: no price is known for a budget in dollars"):
            connect("chat", budget=Budget(max_dollars=1))
        budget = Budget(max_dollars=1)
        with pytest.raises(BudgetError, match="a call without a known price"), entered(budget.hold(1, None)):
            pass

    @pytest.mark.parametrize("limits", [{"max_tokens": 0}, {"max_dollars": -1.0}, {"max_dollars": float("nan")}])
    def test_limits_that_make_no_sense(self, limits: dict[str, float]) -> None:
        with pytest.raises(ConfigError, match=f"{next(iter(limits))} .*give a limit above 0"):
            Budget(**limits)  # type: ignore[arg-type]


class TestPrices:
    def test_of_a_call(self) -> None:
        price = Price(input=2.0, output=10.0, cached=0.2, written=2.5)
        assert price.dollars(1_000_000, 0, 0, 0) == 2.0
        assert price.dollars(0, 1_000_000, 0, 0) == 0.2
        assert price.dollars(0, 0, 1_000_000, 0) == 2.5
        assert price.dollars(0, 0, 0, 1_000_000) == 10.0
        assert price.most(1_000_000, 1_000_000) == 12.5
        assert Price(2.0, 10.0).dollars(0, 500_000, 500_000, 0) == 2.0  # what is not told costs as much as input

    def test_of_prompts_that_are_too_long_for_it(self) -> None:
        price = Price(1.0, 1.0, up_to=100)
        assert price.dollars(50, 30, 20, 9) is not None
        assert price.dollars(50, 30, 21, 9) is None
        assert price.most(101, 1) is None

    @given(*[st.integers(0, 10**6)] * 4)
    def test_no_call_costs_more_than_the_most(self, plain: int, cached: int, written: int, output: int) -> None:
        for price in PRICES.values():
            dollars = price.dollars(plain, cached, written, output)
            most = price.most(plain + cached + written, output)
            assert (dollars is None) == (most is None)
            assert dollars is None or most is None or dollars <= most * (1 + 1e-12)

    def test_of_versions_of_a_model(self) -> None:
        table = {"gpt-x": Price(1, 1), "gpt-x-mini": Price(2, 2), "gpt-x-2026-01-01": Price(3, 3)}
        assert find_price("gpt-x-2026-05-05", table) == find_price("gpt-x-latest", table) == Price(1, 1)
        assert find_price("gpt-x-mini-20260505", table) == Price(2, 2)
        assert find_price("gpt-x-2026-01-01", table) == Price(3, 3)
        assert find_price("gpt-x-maxi", table) is find_price("gpt", table) is None

    def test_the_table_holds_for_the_providers_own_servers_only(self) -> None:
        assert OpenAIModel("gpt-6-luna").price == PRICES["gpt-6-luna"]
        assert AnthropicModel("claude-haiku-4-5-20251001").price == PRICES["claude-haiku-4-5"]
        assert OpenAIModel("gpt-6-luna", base_url="http://127.0.0.1:1").price is None

    def test_an_unknown_model_has_none_and_says_so(
        self, connect: Connect, question: Request, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert OpenAIModel("gpt-99").price is None
        assert connect("chat", prices={"other": Price(1, 1)}).complete(question).usage.dollars is None
        told = "no price is known, so dollars are not counted; give a file with `prices`"
        assert [record.message for record in caplog.records] == [f"openai/gpt-99: {told}", f"openai/any: {told}"]

    def test_a_file_of_ones_own(self, connect: Connect, question: Request, tmp_path: Path) -> None:
        file = tmp_path / "prices.json"
        file.write_text(json.dumps({"any": {"input": 1, "output": 2, "cached": 0.5}}), encoding="utf-8")
        assert load_prices(file) == {"any": Price(1, 2, cached=0.5)}
        assert (connect("chat", prices=file).complete(question).usage.dollars or 0) > 0

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[" * 100_000,
            " " * 2**21,
            "[]",
            '{"a": 1}',
            '{"a": {"input": 1, "output": 2, "tax": 3}}',
            '{"a": {"input": NaN, "output": 2}}',
            '{"a": {"input": "1", "output": 2}}',
            '{"a": {"input": 1, "output": 2, "up_to": 1e999}}',
        ],
    )
    def test_files_that_are_none(self, text: str, tmp_path: Path) -> None:
        file = tmp_path / "prices.json"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"prices\.json"):
            load_prices(file)

    def test_no_file(self, tmp_path: Path) -> None:
        for path in (tmp_path / "none.json", tmp_path, Path("/dev/zero")):
            with pytest.raises(ConfigError, match="not a table of prices"):
                load_prices(path)


class TestUsage:
    def test_sums(self) -> None:
        assert Usage(1, 2, 3, 0.5) + Usage(10, 20, 30, 0.25) == Usage(11, 22, 33, 0.75)
        assert (Usage(1, 2, 3, 0.5) + Usage(1, 1, 1, None)).dollars is None
        assert NO_USAGE + Usage(1, 2, 3, None) == Usage(1, 2, 3, None)
