"""Budgets stop before they are exceeded; prices; and models of the user's own, under cache, budget and keys."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evaluation
from agents.lm import Block, Reply, Request, ScriptedModel, Usage
from agents.lm.errors import AccessError, BudgetError, ConfigError, ModelError
from agents.lm.models.budget import Budget
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.prices import PRICES, Counts, Price, find_price, load_prices
from agents.lm.models.protocol import NO_USAGE
from agents.lm.models.remote import RemoteModel
from agents.lm.models.shared_models import SharedModels
from agents.lm.own_models import AdaptedModel, as_model
from agents.lm.stub.replies import stub_reply
from evaluation.play.game_spec import GameSpec
from evaluation.play.store import specification_key
from tests.agents.lm.transport import InProcess
from welfare_env import Rules, load_board

Connect = Callable[..., RemoteModel]


class TestBudget:
    def test_it_stops_before_a_call_that_could_exceed_it(self, provider, connect, question, stub):
        most = question.max_prompt_tokens + question.max_tokens
        budget = Budget(max_tokens=2 * most)
        model = connect(provider, budget=budget)
        replies: list[Reply] = []
        with pytest.raises(BudgetError, match=f"{2 * most:,} tokens"):
            replies.extend(model.complete(question) for _ in range(1000))
        assert len(stub.requests) == len(replies) > 3
        assert budget.spent == sum((reply.usage for reply in replies), NO_USAGE)
        assert most < budget.spent.tokens <= 2 * most

    def test_dollars(self, provider: str, connect: Connect, question: Request, stub: InProcess) -> None:
        budget = Budget(max_dollars=2.0)
        model = connect(provider, budget=budget, prices={"any": Price(input=1000.0, output=2000.0, cached=100.0)})
        replies: list[Reply] = []
        with pytest.raises(BudgetError, match=r"2\.0 dollars"):
            replies.extend(model.complete(question) for _ in range(1000))
        usage = replies[0].usage
        plain = usage.input_tokens - usage.cached_tokens
        dollars = (plain * 1000 + usage.cached_tokens * 100 + usage.output_tokens * 2000) / 1e6
        assert usage.dollars == pytest.approx(dollars)
        assert budget.spent.dollars == pytest.approx(len(replies) * dollars)
        assert (budget.spent.dollars or 0) <= 2.0

    @pytest.mark.parametrize("limits", [{"max_tokens": 100}, {"max_dollars": 100 / 128}])
    def test_calls_in_progress_count_together(self, limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """What they set aside is most likely too much; only what they have used counts against the next one."""
        monkeypatch.setattr("agents.lm.models.budget.LOOK", 0)

        async def main() -> None:
            budget = Budget(**limits)

            async def ask(tokens: int) -> None:
                async with budget.hold(tokens, tokens / 128) as later:
                    later.usage = Usage(tokens, 0, 0, tokens / 128)

            async with budget.hold(60, 60 / 128) as hold:
                fits, waits, leaves = [asyncio.create_task(ask(tokens)) for tokens in (10, 31, 80)]
                for _ in range(5):  # every task does what it can, and looks whether there is room
                    await asyncio.sleep(0)
                assert (fits.done(), waits.done()) == (True, False)
                with pytest.raises(BudgetError):  # what cannot fit does not wait
                    await ask(91)
                leaves.cancel()  # which holds nothing
                hold.usage = Usage(30, 0, 10, 40 / 128)
            await waits
            assert budget.spent.tokens == 81
            with pytest.raises(BudgetError):
                await ask(20)
            await ask(19)

        asyncio.run(main())

    def test_retries_are_calls(self, connect: Connect, question: Request, stub: InProcess) -> None:
        budget = Budget(max_tokens=question.max_prompt_tokens + question.max_tokens + 5)
        with pytest.raises(BudgetError):
            connect("openai", "fail-empty", budget=budget).complete(question)
        assert len(stub.requests) == 1

    @pytest.mark.parametrize("limits", [{"max_tokens": 0}, {"max_dollars": float("nan")}])
    def test_limits_that_make_no_sense(self, limits: dict[str, float]) -> None:
        with pytest.raises(ConfigError, match=next(iter(limits))):
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

    @pytest.mark.parametrize(
        "text", ["", '{"a": 1}', '{"a": {"input": 1, "output": 2, "tax": 3}}', '{"a": {"input": NaN, "output": 2}}']
    )
    def test_files_that_are_none(self, text: str, tmp_path: Path) -> None:
        file = tmp_path / "prices.json"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"prices\.json"):
            load_prices(file)


POWERS = load_board("standard").powers
RULES = Rules(years=1, message_rounds=1)
QUESTION = Request((), (Block("Well?"),), max_tokens=10)


class Mine:
    """As the docs show it, but for what it says."""

    name = "mine-1"

    def __init__(self, **settings: Any) -> None:
        self.asked, self.settings = 0, settings

    async def complete(self, request: Request) -> str:
        self.asked += 1
        await asyncio.sleep(0)
        return stub_reply(request.prompt, request.schema)


class Plain(Mine):
    def complete(self, request: Request) -> str:  # type: ignore[override]
        self.asked += 1
        return stub_reply(request.prompt, request.schema)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ResponseCache]:
    with ResponseCache(tmp_path / "replies.sqlite") as opened:
        yield opened


def key(models: Any) -> str:
    seats = tuple((power, "lm:mine") for power in POWERS)
    game = GameSpec(seats, 0, RULES, "standard", "fast", simultaneous=True)
    return specification_key(game.to_dict(SharedModels(own=models)))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        *((name, Mine()) for name in ("openai/x", "scripted", "mine,x", 5)),
        *(("mine", model) for model in (object(), Mine, type("X", (), {"name": ""})())),
    ],
)
def test_names_that_cannot_be_used_and_what_is_no_model(name: Any, model: Any) -> None:
    with pytest.raises(ConfigError):
        SharedModels(own={name: model})


def test_name_class_and_settings_are_in_the_key_of_a_game() -> None:
    other = Mine()
    other.name = "mine-2"
    keys = [key({"mine": each}) for each in (Mine(), Plain(), other, Mine(seed=1), Mine(seed=2))]
    assert len(set(keys)) == 5
    assert key({"mine": Mine(seed=1)}) == keys[3]


def test_replies_are_kept_under_them(cache: ResponseCache) -> None:
    first, again, other = Mine(), Mine(), Mine(seed=1)
    for model in (first, again, other):
        SharedModels(cache, own={"mine": model}).get("mine").complete(QUESTION)
    assert (first.asked, again.asked, other.asked) == (1, 0, 1)


class TestMoney:
    def test_a_text_counts_by_its_bytes(self) -> None:
        class Short(Mine):
            price = Price(1.0, 2.0)

            async def complete(self, request: Request) -> str:
                return "été"

        model = AdaptedModel(Short(), Budget(max_tokens=220))
        reply = model.complete(QUESTION)
        usage = reply.usage
        assert reply.model == "mine-1"
        assert (usage.output_tokens, usage.input_tokens) == (5, 105)
        assert usage.dollars == pytest.approx((105 + 2 * 5) / 1e6)
        with pytest.raises(BudgetError):
            model.complete(QUESTION)
        assert AdaptedModel(Plain()).complete(QUESTION).usage.dollars is None
        with pytest.raises(ConfigError, match="price"):
            SharedModels(budget=Budget(max_dollars=1), own={"mine": Mine()})

    def test_a_model_that_is_ready_must_have_the_budget_already(self, cache: ResponseCache) -> None:
        budget, other = Budget(max_tokens=100), Budget(max_tokens=100)
        for model in (AdaptedModel(Mine()), AdaptedModel(Mine(), other), CachedModel(AdaptedModel(Mine()), cache)):
            with pytest.raises(ConfigError, match="mine-1"):
                SharedModels(budget=budget, own={"mine": model})
            as_model(model)
            as_model(model, Budget())
        for model in (AdaptedModel(Mine(), budget), CachedModel(AdaptedModel(Mine(), budget), cache)):
            assert as_model(model, budget) is model
        free = ScriptedModel(["x"])
        assert as_model(free, budget) is free


class TestErrors:
    def test_a_call_that_fails_counts(self) -> None:
        class Failing(Mine):
            async def complete(self, request: Request) -> str:
                raise ModelError("bad request", "not now", usage=Usage(7, 0, 0, None))

        budget = Budget()
        with pytest.raises(ModelError, match="not now"):
            AdaptedModel(Failing(), budget).complete(QUESTION)
        assert budget.spent.tokens == 7

    def test_what_ends_the_run_ends_it_for_all(self) -> None:
        class Gone(Mine):
            async def complete(self, request: Request) -> str:
                self.asked += 1
                raise AccessError("quota", "no money left")

        model = Gone()
        with pytest.raises(AccessError, match="no money left"):
            evaluation.self_play("lm:mine", games=8, workers=4, rules=RULES, simultaneous=True, models={"mine": model})
        assert model.asked <= 28

    @pytest.mark.parametrize(
        ("said", "fault"),
        [
            (b"x", "returned a bytes"),
            (Reply("x", finish="done"), "finish 'done'"),  # type: ignore[arg-type]
            (Reply("x", {"input_tokens": 5}), "usage"),  # type: ignore[arg-type]
            (Reply("x", Usage(-1, 0, 0, None)), "input_tokens -1"),
        ],
    )
    def test_an_answer_of_another_kind_or_with_wrong_values(self, said: Any, fault: str) -> None:
        class Odd(Mine):
            async def complete(self, request: Request) -> Any:
                return said

        with pytest.raises(ConfigError, match=fault):
            AdaptedModel(Odd()).complete(QUESTION)


def test_a_sum_with_an_unknown_price_is_unknown():
    assert (Usage(1, 2, 3, 0.5) + Usage(1, 1, 1, None)).dollars is None
