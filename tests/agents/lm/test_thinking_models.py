"""Models that think before they answer: what they think is apart, counted and paid for; their limits and options."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import agents
from agents.lm.models import AnthropicModel, Block, OpenAIModel, Request
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.limits import Clock, Halt, TokenPace
from agents.lm.models.prices import Price
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.models.scripted import ReplayModel
from agents.lm.models.settings import THINKING_TOKENS, USUAL_TOKENS, usual_tokens
from agents.lm.stub import StubServer
from tests.agents.lm.faulty import wire
from welfare_env import UnknownAgentError

Connect = Callable[..., RemoteModel]
GOOD = '{"orders": []}'
USAGE = {"prompt_tokens": 10, "completion_tokens": 7}


def read(api: str, body: Any) -> Any:
    model = AnthropicModel("any") if api == "messages" else OpenAIModel("any", api=api)
    return model.read(body)


class TestThoughts:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("reasoning_content", "Hm."),
            ("thinking", "Hm."),
            ("reasoning_details", [{"type": "reasoning.text", "text": "H"}, {"type": "x", "summary": "m."}]),
        ],
    )
    def test_in_a_field_of_chat(self, name: str, value: Any) -> None:
        body = wire("chat", GOOD)
        body["choices"][0]["message"] |= {name: value, "unknown": "x"}
        answer = read("chat", body)
        assert (answer.text, answer.reasoning) == (GOOD, "Hm.")

    @pytest.mark.parametrize(
        "part",
        [
            {"type": "thinking", "thinking": "Hm.", "signature": "x"},
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
            {"type": "reasoning_text", "text": "Hm."},
            {"type": "reasoning", "text": "Hm."},
            {"text": "Hm.", "thought": True},
        ],
    )
    def test_in_a_part(self, api: str, part: Any) -> None:
        answer = read(api, wire(api, [part, {"type": "text", "text": GOOD}]))
        assert (answer.text, answer.reasoning) == (GOOD, "Hm.")

    def test_in_items_of_responses(self) -> None:
        body = wire("responses", [{"type": "output_text", "text": GOOD}])
        item = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}]}
        full = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "So."}]}
        body["output"] = [item, full, *body["output"]]
        assert read("responses", body).reasoning == "Hm.So."

    @pytest.mark.parametrize(
        "odd", [None, 5, {}, [], [None], [[]], {"type": 5}, [{"type": "thinking"}], [{"thought": 1}], "\ud800"]
    )
    def test_odd_ones_do_no_harm(self, api: str, odd: Any) -> None:
        body = wire(api, [{"type": "thinking", "thinking": odd}, {"type": "text", "text": GOOD}])
        if api == "chat":
            body["choices"][0]["message"]["reasoning_content"] = odd
        answer = read(api, body)
        assert answer.text == GOOD
        answer.reasoning.encode()

    def test_deep_ones_end(self) -> None:
        deep: Any = "Hm."
        for _ in range(900):
            deep = [deep]
        body = wire("messages", [{"type": "thinking", "thinking": deep}, {"text": "x"}])
        assert read("messages", body).reasoning == ""

    def test_they_are_kept_with_the_reply(self, connect: Connect, question: Request, tmp_path: Any) -> None:
        with ResponseCache(tmp_path / "replies.sqlite") as cache:
            model = CachedModel(connect("responses", "think"), cache)
            reply = model.complete(question)
            assert model.complete(question) == reply
            assert ReplayModel(cache.path).complete(question) == reply


class TestTokens:
    @pytest.mark.parametrize(
        ("usage", "output", "reasoning"),
        [
            ({"completion_tokens_details": {"reasoning_tokens": 5}}, 7, 5),  # as OpenAI: included
            ({"total_tokens": 117, "completion_tokens_details": {"reasoning_tokens": 100}}, 107, 100),  # as xAI
            ({"completion_tokens_details": {"reasoning_tokens": 100}}, 107, 100),
            ({"total_tokens": 117}, 107, 100),  # as Gemini: only the total has them
            ({"total_tokens": "117", "completion_tokens_details": {"reasoning_tokens": -5}}, 7, 0),
        ],
    )
    def test_chat(self, usage: Any, output: int, reasoning: int) -> None:
        counts = read("chat", wire("chat", GOOD, usage=USAGE | usage)).counts
        assert counts == (10, 0, 0, output, reasoning)
        used = counts.usage(Price(1.0, 2.0))
        assert (used.output_tokens, used.reasoning_tokens) == (output, reasoning)
        assert used.dollars == pytest.approx((10 + 2 * output) / 1e6)

    def test_the_other_interfaces(self) -> None:
        usage = {
            "input_tokens": 10,
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 5, "thinking_tokens": 4},
        }
        assert read("responses", wire("responses", GOOD, usage=usage)).counts == (10, 0, 0, 7, 5)
        assert read("messages", wire("messages", GOOD, usage=usage)).counts == (10, 0, 0, 7, 4)


class TestLimits:
    @pytest.mark.parametrize(
        ("spec", "reply", "note"),
        [
            ("lm:openai/gpt-4.1", USUAL_TOKENS, None),
            ("lm:openai/gpt-6-luna", THINKING_TOKENS, None),
            ("lm:openai/Qwen/Qwen3-8B,base_url=http://x/v1", THINKING_TOKENS, None),
            ("lm:anthropic/claude,thinking=4000", 4000 + USUAL_TOKENS, None),
            ("lm:anthropic/claude,thinking=4000,max_tokens=9000,note_tokens=5000", 9000, 5000),
            ("lm:anthropic/claude,thinking=5000,summariser=openai/gpt-4o-mini", 5000 + USUAL_TOKENS, USUAL_TOKENS),
            ("lm:openai/gpt-6-luna,summariser=openai/gpt-4.1", THINKING_TOKENS, USUAL_TOKENS),
            ("lm:scripted/stub", USUAL_TOKENS, None),
        ],
    )
    def test_by_the_kind_of_model(self, spec: str, reply: int, note: int | None) -> None:
        style = agents.make(spec).style
        assert (style.max_tokens, style.note_tokens) == (reply, note)

    @pytest.mark.parametrize(
        ("name", "thinks"),
        [("o3-mini", True), ("gpt-oss-120b", True), ("deepseek-r1", True), ("gpt-4o-mini", False), ("llama-3", False)],
    )
    def test_names(self, name: str, thinks: bool) -> None:
        assert usual_tokens(f"openai/{name}") == (THINKING_TOKENS if thinks else USUAL_TOKENS)

    @pytest.mark.parametrize("options", ["max_tokens=2000", "max_tokens=9000,note_tokens=2000"])
    def test_there_is_room_for_a_reply(self, options: str) -> None:
        with pytest.raises(UnknownAgentError, match="thinking counts in it"):
            agents.make(f"lm:anthropic/x,thinking=2000,{options}")

    def test_thinking_on_the_wire(self) -> None:
        body = AnthropicModel("x", thinking=1500).body(Request((), (Block("?"),), max_tokens=2000), frozenset())
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 1500}
        assert not body.keys() & {"temperature", "top_p"}  # the server takes no temperature together with thinking
        assert AnthropicModel("x", thinking=1500).settings["thinking"] == 1500
        assert "thinking" not in AnthropicModel("x").settings


class TestFurtherFields:
    @pytest.mark.parametrize("extra", [{"top_k": 20}, '{"top_k": 20}', '({"top_k": 20})'])
    def test_they_are_sent(self, api: str, extra: Any) -> None:
        request = Request((), (Block("?"),), sample=3)
        model = AnthropicModel("x", extra=extra) if api == "messages" else OpenAIModel("x", api=api, extra=extra)
        assert model.body(request, frozenset())["top_k"] == 20
        assert model.settings["extra"] == {"top_k": 20}

    def test_a_seed_differs_by_game(self) -> None:
        model = OpenAIModel("x", seed=5)
        seeds = [model.body(Request((), (Block("?"),), sample=each), frozenset())["seed"] for each in (0, 7)]
        assert seeds == [5, 12]
        assert "seed" not in OpenAIModel("x").settings

    @pytest.mark.parametrize(
        "wrong", ["", "5", "[1]", "{", '{"a": 1', '{"messages": []}', '{"stream": true}', {1: print}]
    )
    def test_what_cannot_be_sent(self, wrong: Any) -> None:
        with pytest.raises(ValueError, match="extra"):
            OpenAIModel("x", extra=wrong)

    def test_in_a_spec(self) -> None:
        spec = 'exploiter:nice=(lm:openai/x,extra=({"a": {"b": [1, 2]}, "c": null}),seed=4),attack=dumbbot'
        assert agents.canonical(agents.canonical(spec)) == agents.canonical(spec)
        model = agents.make(spec).nice.model
        assert (model.extra, model.seed) == ({"a": {"b": [1, 2]}, "c": None}, 4)


class TestTokensAMinute:
    def test_calls_wait_for_room(self, connect: Connect, question: Request, fake_clock: Any, stub: StubServer) -> None:
        model = connect("chat", tokens_per_minute=900)
        began = []
        for _ in range(12):
            model.complete(question)  # 500 of a reply and a hundred of a prompt may be, but far fewer are
            began.append(fake_clock.time - 100.0)
        used = model.budget.spent.tokens / 12
        assert 0 < sum(time == 0 for time in began) * used <= 900
        assert began == sorted(began)
        assert began[3] == 0.0
        assert 60.0 <= began[-1] <= 121.0

    def test_never_more_in_a_minute(self) -> None:
        now = [0.0]

        async def sleep(seconds: float) -> None:
            now[0] += seconds
            await asyncio.sleep(0)

        pace, halt, begun = TokenPace(100, Clock(lambda: now[0], sleep)), Halt(), []

        async def call(tokens: int) -> None:
            used = await pace.begin(tokens, halt, 0)
            begun.append((now[0], tokens))
            used[0] = tokens

        async def main() -> None:
            for tokens in (60, 40, 1, 99, 250, 50, 50, 30):
                await call(tokens)

        asyncio.run(main())
        times = [time for time, _ in begun]
        assert times == [0, 0, 60, 60, 120, 180, 180, 240]

        async def unused() -> None:
            for _ in range(10):
                (await pace.begin(90, halt, 0))[0] = 1

        now[0] = 1000.0
        asyncio.run(unused())
        assert now[0] == 1000.0  # what was not used is free at once

    def test_none_is_no_limit(self) -> None:
        assert asyncio.run(TokenPace(None, Clock()).begin(10**9, Halt(), 0)) == [10**9]
