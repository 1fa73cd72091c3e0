"""What the SDKs send for us, and how what comes back is read, in each of the three interfaces."""

import dataclasses
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.lm.errors import ConfigError, ModelError, PromptError
from agents.lm.models import AnthropicModel, Block, Model, OpenAIModel, Reply, Request, make_model
from agents.lm.models.cache import reply_key
from agents.lm.models.prices import Price
from agents.lm.models.providers.anthropic import MAX_CACHE_MARKS, BedrockModel, VertexModel
from agents.lm.models.providers.grammars import GRAMMARS
from agents.lm.models.providers.openai import AzureModel
from agents.lm.models.providers.remote_model import STREAMED, RemoteModel
from agents.lm.reading.grammar import gbnf
from tests.agents.lm.transport import InProcess, last, says

Connect = Callable[..., RemoteModel]
Ask = Callable[[Model, Request], Reply]
NONE: frozenset[str] = frozenset()


def sent(stub: InProcess) -> dict[str, Any]:
    """The body of the last request, without its prompts."""
    prompts = ("messages", "input", "instructions", "system")
    return {name: value for name, value in last(stub).body.items() if name not in prompts}


class TestOpenAI:
    def test_another_server_gets_what_all_know(self, connect: Connect, question: Request, stub: InProcess) -> None:
        connect("chat", effort="low").complete(dataclasses.replace(question, cache_key="france"))
        assert last(stub).body == {
            "model": "any",
            "messages": [
                {"role": "system", "content": "You play FRANCE. Be kind."},
                {"role": "user", "content": "Spring 1901. A PAR may move."},
            ],
            "max_tokens": 500,
            "temperature": 1.0,
            "top_p": 0.9,
            "reasoning_effort": "low",
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": question.schema, "strict": True},
            },
        }

    def test_its_own_server_gets_more(
        self, connect: Connect, question: Request, stub: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(OpenAIModel, "URL", f"{stub.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        request = Request((), question.user, max_tokens=9, temperature=None, top_p=None, cache_key="france")
        connect("chat", base_url=None).complete(request)
        assert sent(stub) == {"model": "any", "max_completion_tokens": 9, "prompt_cache_key": "france"}
        assert [message["role"] for message in last(stub).body["messages"]] == ["user"]
        connect("responses", base_url=None).complete(request)
        assert sent(stub) == {"model": "any", "max_output_tokens": 9, "prompt_cache_key": "france", "store": False}

    @pytest.mark.parametrize("kind", GRAMMARS)
    def test_a_grammar_in_place_of_the_schema(
        self, kind: str, connect: Connect, question: Request, stub: InProcess
    ) -> None:
        model = connect("chat", grammar=kind)
        model.complete(question)
        text = gbnf(question.schema or {})
        ways = {
            "vllm": {"structured_outputs": {"grammar": text}},
            "llama.cpp": {"grammar": text},
            "sglang": {"ebnf": text},
        }
        assert sent(stub) == {"model": "any", "max_tokens": 500, "temperature": 1.0, "top_p": 0.9} | ways[kind]
        assert model.settings["grammar"] == kind
        assert reply_key(model, question) != reply_key(connect("chat"), question)

    def test_grammars_that_cannot_be(self, connect: Connect, question: Request, stub: InProcess) -> None:
        for settings in ({"grammar": "ebnf"}, {"grammar": "vllm", "api": "responses"}):
            with pytest.raises(ConfigError):
                OpenAIModel("any", **{"base_url": "http://x/v1"} | settings)
        with pytest.raises(ConfigError):
            OpenAIModel("any", grammar="vllm")
        with pytest.raises(ConfigError):
            connect("chat", grammar="vllm").complete(Request((), question.user, {"type": "integer"}))
        assert stub.requests == []

    def test_responses(self, connect: Connect, question: Request, stub: InProcess) -> None:
        connect("responses", effort="high").complete(question)
        assert last(stub).body == {
            "model": "any",
            "instructions": "You play FRANCE. Be kind.",
            "input": [{"role": "user", "content": "Spring 1901. A PAR may move."}],
            "max_output_tokens": 500,
            "temperature": 1.0,
            "top_p": 0.9,
            "store": False,
            "reasoning": {"effort": "high"},
            "text": {"format": {"type": "json_schema", "name": "reply", "schema": question.schema, "strict": True}},
        }

    def test_a_seed_differs_by_game(self) -> None:
        model = OpenAIModel("x", seed=5)
        seeds = [model.fields(Request((), (Block("?"),), sample=each), NONE)["seed"] for each in (0, 7)]
        assert seeds == [5, 12]
        assert "seed" not in OpenAIModel("x").settings

    def test_further_fields(self, connect: Connect) -> None:
        model = connect("chat", extra='({"top_k": 20})')
        assert model.settings["extra"] == {"top_k": 20}
        assert model.fields(Request((), (Block("?"),)), NONE)["extra_body"] == {"top_k": 20}  # type: ignore[attr-defined]


class TestAnthropic:
    def test_a_request(self, connect: Connect, question: Request, stub: InProcess) -> None:
        connect("messages", effort="low").complete(question)
        mark = {"type": "ephemeral"}
        assert last(stub).body == {
            "model": "any",
            "system": [{"type": "text", "text": "You play FRANCE. Be kind.", "cache_control": mark}],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Spring 1901. ", "cache_control": mark},
                        {"type": "text", "text": "A PAR may move."},
                    ],
                }
            ],
            "max_tokens": 500,
            "temperature": 1.0,
            "top_p": 0.9,
            "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": question.schema}},
        }

    @given(
        system=st.lists(st.tuples(st.sampled_from(["", " ", "\n", "a", "b "]), st.booleans()), max_size=4),
        user=st.lists(st.tuples(st.sampled_from(["", " ", "c", " d"]), st.booleans()), max_size=9),
    )
    def test_pieces_are_never_blank_and_say_the_same(
        self, system: list[tuple[str, bool]], user: list[tuple[str, bool]]
    ) -> None:
        request = Request(tuple(Block(*each) for each in system), (*(Block(*each) for each in user), Block("end")))
        fields = AnthropicModel("any").fields(request, NONE)
        pieces = [*fields.get("system", []), *fields["messages"][0]["content"]]
        assert all(piece["text"].strip() for piece in pieces)
        said = "".join(piece["text"] for piece in fields["messages"][0]["content"])
        assert said == "".join(block.text for block in request.user)
        assert sum("cache_control" in piece for piece in pieces) <= MAX_CACHE_MARKS

    def test_a_longer_prompt_begins_with_the_pieces_of_a_shorter_one(self) -> None:
        """Or the server would not know it again."""
        blocks = [Block("rules", True), Block("one"), Block("two", True), Block("three", True)]
        fields = [AnthropicModel("any").fields(Request((), (*blocks[:n], Block("now"))), NONE) for n in (3, 4)]
        texts = [[piece["text"] for piece in each["messages"][0]["content"]] for each in fields]
        assert texts == [["rules", "onetwo", "now"], ["rules", "onetwo", "three", "now"]]

    def test_tokens_of_thinking_are_for_older_models(self) -> None:
        fields = AnthropicModel("claude-sonnet-4-6", thinking=1500).fields(Request((), (Block("?"),)), NONE)
        assert fields["thinking"] == {"type": "enabled", "budget_tokens": 1500}
        assert fields["extra_body"] == {}  # the server takes no temperature together with thinking
        for newer in ("claude-opus-4-8", "claude-sonnet-5", "claude-haiku-5-5", "anthropic.claude-fable-5-1-v1:0"):
            with pytest.raises(ConfigError, match="effort=low"):
                AnthropicModel(newer, thinking=1500)


def chat(usage: Any = None, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """The JSON of a chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": None} | message, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "any", "choices": [choice], "usage": usage}


PROMPT = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}


class TestRead:
    @pytest.mark.parametrize(
        ("body", "text", "finish", "reasoning"),
        [
            (chat(content="x"), "x", "stop", ""),
            (chat(content="x", reasoning_content="Hm."), "x", "stop", "Hm."),
            (chat(content="x", reasoning="Hm."), "x", "stop", "Hm."),
            (chat(content="", reasoning_content='{"orders": []}'), '{"orders": []}', "stop", ""),  # vLLM
            (chat(content=[{"type": "thinking"}, {"type": "text", "text": "x"}]), "x", "stop", ""),  # Mistral
            (chat(content="x", refusal="No."), "No.", "refusal", ""),
            (chat(finish="content_filter"), "", "refusal", ""),
            (chat(finish="length", reasoning_content="Hm"), "", "length", "Hm"),
            (chat(content="x", finish="odd"), "x", "other", ""),
            (chat(content="peace \ud83d \ud83d\ude00"), "peace \ufffd \U0001f600", "stop", ""),
        ],
    )
    def test_chat(
        self, body: Any, text: str, finish: str, reasoning: str, connect: Connect, question: Request, stub: InProcess
    ) -> None:
        stub.cases.append(says(200, body))
        reply = connect("chat").complete(question)
        assert (reply.text, reply.finish, reply.reasoning, reply.attempts) == (text, finish, reasoning, 1)

    @pytest.mark.parametrize(
        ("usage", "counts"),
        [
            ({"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}}, (100, 60, 7, 0)),
            ({"completion_tokens_details": {"reasoning_tokens": 5}}, (100, 0, 7, 5)),  # OpenAI: thinking is included
            ({"total_tokens": 207}, (100, 0, 107, 100)),  # Gemini: only the total has it
            ({"prompt_tokens_details": {"cached_tokens": 500}}, (100, 100, 7, 0)),
        ],
    )
    def test_tokens_of_chat(
        self, usage: Any, counts: Any, connect: Connect, question: Request, stub: InProcess
    ) -> None:
        stub.cases.append(says(200, chat(content="x", usage=PROMPT | usage)))
        used = connect("chat", prices={"any": Price(1.0, 2.0)}).complete(question).usage
        assert (used.input_tokens, used.cached_tokens, used.output_tokens, used.reasoning_tokens) == counts
        assert used.dollars == pytest.approx((counts[0] + 2 * counts[2]) / 1e6)

    @pytest.mark.parametrize("usage", [None, {}, PROMPT | {"prompt_tokens": 0}, PROMPT | {"completion_tokens": -1}])
    def test_impossible_usage_counts_every_byte(
        self, usage: Any, connect: Connect, question: Request, stub: InProcess
    ) -> None:
        stub.cases.append(says(200, chat(content="x" * 40, usage=usage)))
        used = connect("chat").complete(question).usage
        assert used.output_tokens == 40
        assert used.input_tokens > len(question.prompt)

    def test_an_answer_in_every_interface(self, api: str, connect: Connect, ask: Ask, question: Request) -> None:
        """The same, if it is long enough to be streamed."""
        short, long = (
            ask(connect(api), dataclasses.replace(question, max_tokens=most)) for most in (500, STREAMED + 1)
        )
        assert short == long
        # The stub counts four characters a token, and the system prompt as cached.
        system, prompt = len("You play FRANCE. Be kind."), len(question.prompt)
        assert (short.usage.input_tokens, short.usage.cached_tokens) == (-(-prompt // 4), -(-system // 4))
        assert short.usage.output_tokens == -(-len(short.text) // 4)
        assert (short.finish, short.model, short.attempts, short.faults) == ("stop", "any", 1, ())

    @pytest.mark.parametrize("most", [500, STREAMED + 1])
    def test_how_it_ended(self, most: int, api: str, connect: Connect, question: Request) -> None:
        request = dataclasses.replace(question, max_tokens=most)
        assert connect(api, "fail-length").complete(request).finish == "length"
        assert connect(api, "fail-refusal").complete(request).finish == "refusal"

    def test_thoughts_of_the_other_interfaces(self, connect: Connect, question: Request, stub: InProcess) -> None:
        parts = [{"type": "thinking", "thinking": "Hm.", "signature": ""}, {"type": "text", "text": "x"}]
        usage = {"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30}
        head = {"id": "m", "type": "message", "role": "assistant", "model": "any", "stop_reason": "end_turn"}
        stub.cases.append(says(200, head | {"content": parts, "usage": usage | {"output_tokens": 7}}))
        reply = connect("messages").complete(question)
        assert (reply.text, reply.reasoning) == ("x", "Hm.")
        assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens) == (100, 60, 7)

    def test_a_prompt_that_the_server_has_cut(
        self, connect: Connect, question: Request, stub: InProcess, caplog: pytest.LogCaptureFixture
    ) -> None:
        long = Request((), (Block("word " * 10_000),))
        for tokens in (10_000, 4_096):
            stub.cases.append(says(200, chat(content="x", usage=PROMPT | {"prompt_tokens": tokens})))
        model = connect("chat")
        model.complete(long)
        assert not caplog.messages
        model.complete(long)
        assert "4,096 tokens of a prompt of 50,000 bytes" in caplog.messages[0]


class TestProviders:
    @pytest.mark.parametrize(
        ("name", "variables", "path", "keys"),
        [
            (
                "azure/deployed",
                {"AZURE_OPENAI_ENDPOINT": "https://lab.x", "OPENAI_API_VERSION": "v9", "AZURE_OPENAI_API_KEY": "k1"},
                "/openai/deployments/deployed/chat/completions?api-version=v9",
                {"api-key": "k1"},
            ),
            (
                "bedrock/claude-x",
                {"AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "k2"},
                "/model/claude-x/invoke",
                {"authorization": "Bearer k2"},
            ),
            (
                "vertex/claude-x",
                {"CLOUD_ML_REGION": "r", "ANTHROPIC_VERTEX_PROJECT_ID": "p", "VERTEX_TOKEN": "k3"},
                "/v1/projects/p/locations/r/publishers/anthropic/models/claude-x:rawPredict",
                {"authorization": "Bearer k3"},
            ),
        ],
    )
    def test_the_sdks_own_clients_ask_them(
        self,
        name: str,
        variables: dict[str, str],
        path: str,
        keys: dict[str, str],
        question: Request,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value)
        asked: list[httpx2.Request] = []

        def refuse(request: httpx2.Request) -> httpx2.Response:
            asked.append(request)
            return httpx2.Response(400, json={"error": {"message": "no"}})

        sdk = openai if name.startswith("azure") else anthropic
        client = sdk.DefaultAsyncHttpxClient(transport=httpx2.MockTransport(refuse))
        key = {"key_variable": "VERTEX_TOKEN"} if "VERTEX_TOKEN" in variables else {}
        model = make_model(name, http_client=client, **key)
        with pytest.raises(ModelError):
            model.complete(question)
        assert asked[0].url.raw_path.decode() == path
        assert {header: asked[0].headers[header] for header in keys} == keys

    @pytest.mark.parametrize("maker", [AzureModel, BedrockModel, VertexModel])
    def test_what_is_missing_is_named_before_the_first_game(self, maker: type[RemoteModel]) -> None:
        with pytest.raises(ConfigError):
            maker("x").check_ready()


class TestChecks:
    @pytest.mark.parametrize(
        ("error", "changes"),
        [
            (PromptError, {"user": (Block(" \n"),)}),
            (PromptError, {"system": (Block("\ud800"),)}),
            (ConfigError, {"max_tokens": 0}),
            (ConfigError, {"temperature": 2.1}),
            (ConfigError, {"top_p": 0}),
            (ConfigError, {"sample": -1}),
            (ConfigError, {"cache_key": "x" * 65}),
            (ConfigError, {"schema_name": "a b"}),
            (ConfigError, {"schema": [1]}),
        ],
    )
    def test_of_a_request(self, error: type[Exception], changes: dict[str, Any]) -> None:
        good: dict[str, Any] = {"system": (), "user": (Block("x"),)}
        with pytest.raises(error):
            Request(**good | changes)

    @pytest.mark.parametrize(
        "settings",
        [
            *({"timeout": wrong} for wrong in (0, "5", float("nan"), 10**400)),
            *({"retries": wrong} for wrong in (-1, 1.5, True, None)),
            *({"max_concurrent": 0}, {"max_concurrent": 1.5}),
            *({"api": "messages"}, {"backoff": -1}, {"structured": "no"}, {"effort": 3}),
            *({"extra": wrong} for wrong in ("", "5", "{", '{"messages": []}', '{"stream": true}', {1: print})),
        ],
        ids=str,
    )
    def test_of_settings(self, settings: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match=next(iter(settings))):
            OpenAIModel("any", **settings)

    @pytest.mark.parametrize("name", ["", "openai", "openai/", "gpt-6-luna", "aws/x", "scripted/other"])
    def test_of_names(self, name: str) -> None:
        with pytest.raises(ConfigError):
            make_model(name)

    @pytest.mark.parametrize("name", ["openai/any", "scripted/stub"])
    def test_settings_that_a_model_does_not_have(self, name: str) -> None:
        with pytest.raises(ConfigError, match="no setting 'tempo'"):
            make_model(name, tempo=1)


def test_names_hold_all_of_a_model() -> None:
    model = make_model("openai/meta/llama-3:8b", base_url="http://127.0.0.1:1/v1/", api="responses", effort="low")
    assert isinstance(model, Model)
    assert model.name == "openai/meta/llama-3:8b"
    settings = {"base_url": "http://127.0.0.1:1/v1", "structured": True, "effort": "low", "api": "responses"}
    assert model.settings == settings
