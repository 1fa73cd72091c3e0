"""Models of the user's own: a name and `complete`, under our cache, budget and keys."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evaluation
from agents.lm import Block, Reply, Request, ScriptedModel, Usage
from agents.lm.errors import AccessError, BudgetError, ConfigError, ModelError
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.prices import Budget, Price
from agents.lm.models.shared_models import SharedModels
from agents.lm.own_models import AdaptedModel, as_model
from agents.lm.stub.replies import stub_reply
from evaluation.play.game_spec import GameSpec
from evaluation.play.store import specification_key
from welfare_env import Rules, load_board

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


def spec(policy: str = "lm:mine") -> GameSpec:
    return GameSpec(tuple((power, policy) for power in POWERS), 0, RULES, "standard", "fast", simultaneous=True)


def key(models: Any) -> str:
    return specification_key(spec().to_dict(SharedModels(own=models)))


@pytest.mark.parametrize(("kind", "simultaneous"), [(Mine, True), (Plain, False)])
def test_a_game(kind: type[Mine], simultaneous: bool) -> None:
    model = kind()
    result = evaluation.self_play("lm:mine", games=1, rules=RULES, simultaneous=simultaneous, models={"mine": model})
    assert result.usage.calls == model.asked > 14
    (entry,) = result.records[0]["welfare_env"]["language_models"]["FRANCE"]
    assert entry["model"] == "mine-1"
    assert entry["output_tokens"] > 0


@pytest.mark.parametrize("name", ["openai/x", "scripted", "mine,x", 5])
def test_names_that_cannot_be_used(name: Any) -> None:
    with pytest.raises(ConfigError, match="give a name of letters"):
        SharedModels(own={name: Mine()})


@pytest.mark.parametrize("model", [object(), Mine, type("X", (), {"name": ""})()])
def test_what_is_no_model(model: Any) -> None:
    with pytest.raises(ConfigError, match=r"give an object with a `name`.*`complete"):
        evaluation.self_play("lm:mine", games=1, models={"mine": model})


class TestIdentity:
    def test_name_class_and_settings_are_in_the_key_of_a_game(self) -> None:
        other = Mine()
        other.name = "mine-2"
        keys = [key({"mine": each}) for each in (Mine(), Plain(), other, Mine(seed=1), Mine(seed=2))]
        assert len(set(keys)) == 5
        assert key({"mine": Mine(seed=1)}) == keys[3]

    def test_replies_are_kept_under_them(self, cache: ResponseCache) -> None:
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

        usage = AdaptedModel(Short()).complete(QUESTION).usage
        assert (usage.output_tokens, usage.input_tokens) == (5, 105)
        assert usage.dollars == pytest.approx((105 + 2 * 5) / 1e6)
        assert AdaptedModel(Plain()).complete(QUESTION).usage.dollars is None

    def test_a_budget_ends_the_run(self) -> None:
        models = SharedModels(budget=Budget(max_tokens=20_000), own={"mine": Mine()})
        with pytest.raises(BudgetError):
            evaluation.self_play("lm:mine", games=1, rules=RULES, models=models)
        assert models.budget is not None
        assert 0 < models.budget.spent.tokens <= 20_000
        with pytest.raises(ConfigError, match="give it a `price`"):
            SharedModels(budget=Budget(max_dollars=1), own={"mine": Mine()})

    def test_a_model_that_is_ready_must_have_the_budget_already(self, cache: ResponseCache) -> None:
        budget, other = Budget(max_tokens=100), Budget(max_tokens=100)
        for model in (AdaptedModel(Mine()), AdaptedModel(Mine(), other), CachedModel(AdaptedModel(Mine()), cache)):
            with pytest.raises(ConfigError, match=r"'mine-1': it was made without this budget.*make it with budget="):
                SharedModels(budget=budget, own={"mine": model})
            as_model(model)
            as_model(model, Budget())
        for model in (AdaptedModel(Mine(), budget), CachedModel(AdaptedModel(Mine(), budget), cache)):
            assert as_model(model, budget) is model
        free = ScriptedModel(["x"])
        assert as_model(free, budget) is free


class TestErrors:
    def test_a_call_that_fails_is_counted(self) -> None:
        class Failing(Mine):
            async def complete(self, request: Request) -> str:
                self.asked += 1
                if self.asked % 2:
                    raise ModelError("bad request", "not now", usage=Usage(7, 0, 0, None))
                return stub_reply(request.prompt, request.schema)

        budget = Budget()
        models = SharedModels(budget=budget, own={"mine": Failing()})
        result = evaluation.self_play("lm:mine", games=1, rules=RULES, models=models)
        assert 0 < result.usage.failed < result.usage.calls
        assert result.usage.faults["bad request"] == result.usage.failed

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
