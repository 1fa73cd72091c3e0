"""Budgets stop before they are exceeded; prices say what tokens cost."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.lm import Reply, Request, Usage
from agents.lm.errors import BudgetError, ConfigError
from agents.lm.models.prices import PRICES, Budget, Counts, Price, find_price, load_prices
from agents.lm.models.protocol import NO_USAGE
from agents.lm.models.remote import RemoteModel
from tests.agents.lm.transport import InProcess

Connect = Callable[..., RemoteModel]


class TestBudget:
    def test_it_stops_before_a_call_that_could_exceed_it(
        self, provider: str, connect: Connect, question: Request, stub: InProcess
    ) -> None:
        most = question.max_prompt_tokens + question.max_tokens
        budget = Budget(max_tokens=2 * most)
        model = connect(provider, budget=budget)
        replies: list[Reply] = []
        with pytest.raises(
            BudgetError, match=rf"the budget of {2 * most:,} tokens does not allow another call: [\d,]+"
        ):
            replies.extend(model.complete(question) for _ in range(1000))
        assert len(stub.requests) == len(replies) > 3
        assert budget.spent == sum((reply.usage for reply in replies), NO_USAGE)
        assert most < budget.spent.tokens <= 2 * most

    def test_dollars(self, provider: str, connect: Connect, question: Request, stub: InProcess) -> None:
        budget = Budget(max_dollars=2.0)
        model = connect(provider, budget=budget, prices={"any": Price(input=1000.0, output=2000.0, cached=100.0)})
        replies: list[Reply] = []
        with pytest.raises(BudgetError, match=r"the budget of 2.0 dollars does not allow another call: \d\.\d+ "):
            replies.extend(model.complete(question) for _ in range(1000))
        usage = replies[0].usage
        plain = usage.input_tokens - usage.cached_tokens
        dollars = (plain * 1000 + usage.cached_tokens * 100 + usage.output_tokens * 2000) / 1e6
        assert usage.dollars == pytest.approx(dollars)
        assert budget.spent.dollars == pytest.approx(len(replies) * dollars)
        assert (budget.spent.dollars or 0) <= 2.0

    @pytest.fixture
    def waiting(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Awaitable[None]]:
        """`await waiting()`: every task does what it can, and looks whether there is room, which takes no time here."""
        monkeypatch.setattr("agents.lm.models.prices.LOOK", 0)

        async def turns() -> None:
            for _ in range(5):
                await asyncio.sleep(0)

        return turns

    def test_it_waits_for_calls_in_progress(self, waiting: Callable[[], Awaitable[None]]) -> None:
        """What they set aside is most likely too much; only what they have used counts against the next one."""

        async def main() -> None:
            budget = Budget(max_tokens=100)

            async def ask(tokens: int) -> None:
                async with budget.hold(tokens, None) as later:
                    later.usage = Usage(tokens, 0, 0, None)

            async with budget.hold(60, None) as hold:
                waits, leaves = [asyncio.create_task(ask(tokens)) for tokens in (41, 90)]
                await waiting()
                assert not waits.done()
                leaves.cancel()  # which holds nothing
                hold.usage = Usage(30, 0, 10, None)
            await waits
            assert budget.spent.tokens == 81
            with pytest.raises(BudgetError):
                await ask(20)
            await ask(19)

        asyncio.run(main())

    @pytest.mark.parametrize("limits", [{"max_tokens": 100}, {"max_dollars": 1.0}])
    def test_calls_in_progress_count_together(
        self, limits: dict[str, float], waiting: Callable[[], Awaitable[None]]
    ) -> None:
        async def main() -> None:
            budget = Budget(**limits)  # type: ignore[arg-type]

            async def ask(tokens: int) -> None:
                async with budget.hold(tokens, tokens / 100) as hold:
                    hold.usage = Usage(tokens // 2, 0, 0, tokens / 200)

            async with budget.hold(60, 0.6):
                fits, waits = asyncio.create_task(ask(40)), asyncio.create_task(ask(70))
                await waiting()
                assert (fits.done(), waits.done()) == (True, False)
                with pytest.raises(BudgetError):  # what cannot fit does not wait
                    await ask(101)
            await waits

        asyncio.run(main())

    def test_retries_are_calls(self, connect: Connect, question: Request, stub: InProcess) -> None:
        budget = Budget(max_tokens=question.max_prompt_tokens + question.max_tokens + 5)
        with pytest.raises(BudgetError):
            connect("openai", "fail-empty", budget=budget).complete(question)
        assert len(stub.requests) == 1

    def test_threads_never_exceed_it(self) -> None:
        budget, barrier = Budget(max_tokens=1000), Barrier(8)

        async def spend() -> int:
            calls = 0
            with suppress(BudgetError):
                while True:
                    async with budget.hold(7, None) as hold:
                        hold.usage = Usage(5, 0, 2, None)
                        calls += 1
            return calls

        def thread(_: int) -> int:
            barrier.wait()
            return asyncio.run(spend())

        with ThreadPoolExecutor(8) as pool:
            calls = sum(pool.map(thread, range(8)))
        assert budget.spent.tokens == 7 * calls <= 1000

    @pytest.mark.parametrize("limits", [{"max_tokens": 0}, {"max_dollars": float("nan")}])
    def test_limits_that_make_no_sense(self, limits: dict[str, float]) -> None:
        with pytest.raises(ConfigError, match=f"{next(iter(limits))} .*give a limit above 0"):
            Budget(**limits)  # type: ignore[arg-type]


class TestPrices:
    def test_of_a_call(self) -> None:
        def dollars(price: Price, *counts: int) -> float | None:
            return Counts(*counts).usage(price).dollars

        price = Price(input=2.0, output=10.0, cached=0.2, written=2.5)
        kinds = ((10**6, 0, 0, 0), (0, 10**6, 0, 0), (0, 0, 10**6, 0), (0, 0, 0, 10**6))
        assert [dollars(price, *counts) for counts in kinds] == [2.0, 0.2, 2.5, 10.0]
        assert price.most(1_000_000, 1_000_000) == 12.5
        assert dollars(Price(2.0, 10.0), 0, 500_000, 500_000, 0) == 2.0  # what is not told costs as much as input

    @given(*[st.integers(0, 10**6)] * 4)
    def test_no_call_costs_more_than_the_most(self, plain: int, cached: int, written: int, output: int) -> None:
        for price in PRICES.values():
            dollars = Counts(plain, cached, written, output).usage(price).dollars or 0.0
            assert dollars <= price.most(plain + cached + written, output) * (1 + 1e-12)

    def test_of_versions_of_a_model(self) -> None:
        table = {"gpt-x": Price(1, 1), "gpt-x-mini": Price(2, 2), "gpt-x-2026-01-01": Price(3, 3)}
        assert find_price("gpt-x-2026-05-05", table) == find_price("gpt-x-latest", table) == Price(1, 1)
        assert find_price("gpt-x-mini-20260505", table) == Price(2, 2)
        assert find_price("gpt-x-2026-01-01", table) == Price(3, 3)
        assert find_price("gpt-x-maxi", table) is find_price("gpt", table) is None

    def test_a_file_of_ones_own(self, connect: Connect, question: Request, tmp_path: Path) -> None:
        file = tmp_path / "prices.json"
        file.write_text(json.dumps({"any": {"input": 1, "output": 2, "cached": 0.5}}), encoding="utf-8")
        assert load_prices(file) == {"any": Price(1, 2, cached=0.5)}
        assert (connect("openai", prices=file).complete(question).usage.dollars or 0) > 0

    @pytest.mark.parametrize(
        "text", ["", '{"a": 1}', '{"a": {"input": 1, "output": 2, "tax": 3}}', '{"a": {"input": NaN, "output": 2}}']
    )
    def test_files_that_are_none(self, text: str, tmp_path: Path) -> None:
        file = tmp_path / "prices.json"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"prices\.json"):
            load_prices(file)


def test_sums_of_usage() -> None:
    assert Usage(1, 2, 3, 0.5) + Usage(10, 20, 30, 0.25) == Usage(11, 22, 33, 0.75)
    assert (Usage(1, 2, 3, 0.5) + Usage(1, 1, 1, None)).dollars is None
    assert NO_USAGE + Usage(1, 2, 3, None) == Usage(1, 2, 3, None)
