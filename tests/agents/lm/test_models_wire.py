"""What goes over the wire and how what comes back is read, in each of the three interfaces."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.lm.errors import ConfigError, ModelError, PromptError
from agents.lm.models import AnthropicModel, Block, Model, OpenAIModel, Reply, Request, make_model
from agents.lm.models.cache import reply_key
from agents.lm.models.providers.anthropic import MAX_CACHE_MARKS
from agents.lm.models.providers.grammars import GRAMMARS
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.reading.grammar import gbnf
from agents.lm.stub import StubServer
from agents.lm.stub.wire import INTERFACES

Connect = Callable[..., RemoteModel]
Ask = Callable[[Model, Request], Reply]


def sent(stub: StubServer) -> dict[str, Any]:
    """The body of the last request, without its prompts."""
    body = dict(stub.requests[-1].body)
    for prompt in ("messages", "input", "instructions", "system"):
        body.pop(prompt, None)
    return body


class TestOpenAI:
    def test_another_server_gets_what_all_know(self, connect: Connect, question: Request, stub: StubServer) -> None:
        request = Request(question.system, question.user, question.schema, max_tokens=9, cache_key="france")
        connect("chat", effort="low").complete(request)
        schema = {"name": "reply", "schema": question.schema, "strict": True}
        assert stub.requests[-1].body == {
            "model": "any",
            "messages": [
                {"role": "system", "content": "You play FRANCE. Be kind."},
                {"role": "user", "content": "Spring 1901. A PAR may move."},
            ],
            "max_tokens": 9,
            "temperature": 1.0,
            "top_p": 0.9,
            "reasoning_effort": "low",
            "response_format": {"type": "json_schema", "json_schema": schema},
        }

    def test_its_own_server_gets_more(
        self, connect: Connect, question: Request, stub: StubServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(OpenAIModel, "URL", f"{stub.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        request = Request((), question.user, max_tokens=9, temperature=None, top_p=None, cache_key="france")
        connect("chat", base_url=None).complete(request)
        assert sent(stub) == {"model": "any", "max_completion_tokens": 9, "prompt_cache_key": "france"}
        assert [message["role"] for message in stub.requests[-1].body["messages"]] == ["user"]
        connect("responses", base_url=None).complete(request)
        assert sent(stub) == {"model": "any", "max_output_tokens": 9, "prompt_cache_key": "france", "store": False}

    @pytest.mark.parametrize("kind", GRAMMARS)
    def test_a_grammar_in_place_of_the_schema(
        self, kind: str, connect: Connect, question: Request, stub: StubServer
    ) -> None:
        model = connect("chat", grammar=kind)
        model.complete(question)
        text = gbnf(question.schema or {})
        ways = {
            "vllm": {"structured_outputs": {"grammar": text}},
            "llama.cpp": {"grammar": text},
            "sglang": {"ebnf": text},
        }
        told = ways[kind]
        assert sent(stub) == {"model": "any", "max_tokens": 500, "temperature": 1.0, "top_p": 0.9} | told
        assert model.settings["grammar"] == kind
        assert reply_key(model, question) != reply_key(connect("chat"), question)
        model.complete(Request((), question.user, max_tokens=9))  # a question without a schema
        assert sent(stub) == {"model": "any", "max_tokens": 9, "temperature": 1.0, "top_p": 0.9}

    @pytest.mark.parametrize("kind", GRAMMARS)
    def test_a_grammar_that_the_server_does_not_take(
        self, kind: str, connect: Connect, question: Request, stub: StubServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chat = INTERFACES["chat/completions"]
        fields = chat.fields - {"grammar", "structured_outputs", "ebnf"}
        monkeypatch.setitem(INTERFACES, "chat/completions", chat._replace(fields=fields))
        reply = connect("chat", grammar=kind).complete(question)
        assert reply.attempts == 1
        assert sent(stub).keys() == {"model", "max_tokens", "temperature", "top_p"}

    def test_grammars_that_cannot_be(self, connect: Connect, question: Request, stub: StubServer) -> None:
        with pytest.raises(ConfigError, match=r"grammar 'ebnf': give one of auto, vllm, llama.cpp"):
            connect("chat", grammar="ebnf")
        for settings in ({"api": "responses"}, {"base_url": None}):
            with pytest.raises(ConfigError, match="OpenAI accepts no grammar: give the base_url"):
                OpenAIModel("any", grammar="vllm", **{"base_url": f"{stub.url}/v1", "api": "chat"} | settings)
        with pytest.raises(ConfigError, match=r"grammar: .* give objects with all properties"):
            connect("chat", grammar="vllm").complete(Request((), question.user, {"type": "integer"}))
        assert stub.requests == []

    def test_responses(self, connect: Connect, question: Request, stub: StubServer) -> None:
        connect("responses", effort="high").complete(question)
        assert stub.requests[-1].body == {
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

    def test_tokens_of_a_prompt_are_told_together(self) -> None:
        usage = {
            **{"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        }
        choice = {"message": {"content": "x"}, "finish_reason": "stop"}
        assert OpenAIModel("any").read({"choices": [choice], "usage": usage}).counts == (10, 60, 30, 7, 0)
        usage = {"prompt_tokens": 10, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 50}}
        assert OpenAIModel("any").read({"choices": [choice], "usage": usage}).counts == (0, 10, 0, 7, 0)
        usage = {"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 60}}
        assert OpenAIModel("any", api="responses").read({"output": [], "usage": usage}).counts == (40, 60, 0, 7, 0)

    @pytest.mark.parametrize("reason", ["content_filter", "length", "something", None])
    def test_how_it_finished(self, reason: str | None) -> None:
        choice = {"message": {"content": None}, "finish_reason": reason}
        finish = {"content_filter": "refusal", "length": "length", None: "stop"}.get(reason, "other")
        assert OpenAIModel("any").read({"choices": [choice]}).finish == finish


class TestAnthropic:
    def test_a_request(self, connect: Connect, question: Request, stub: StubServer) -> None:
        connect("messages", effort="low").complete(question)
        mark = {"type": "ephemeral"}
        assert stub.requests[-1].body == {
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

    def test_nothing_that_was_not_asked_for(self, connect: Connect, stub: StubServer) -> None:
        connect("messages").complete(Request((), (Block("Hello."),), temperature=None, top_p=None))
        assert sent(stub) == {"model": "any", "max_tokens": 2000}

    def test_the_last_marks_are_kept_and_the_pieces_stay(self, connect: Connect, stub: StubServer) -> None:
        user = tuple(Block(f"summary {number}\n", cache=True) for number in range(9))
        connect("messages").complete(Request((Block("rules", cache=True),), (*user, Block("now"))))
        body = stub.requests[-1].body
        pieces = body["messages"][0]["content"]
        assert [piece["text"] for piece in pieces] == [block.text for block in user] + ["now"]
        marked = ["cache_control" in piece for piece in [*body["system"], *pieces]]
        assert marked == [False] * 6 + [True] * MAX_CACHE_MARKS + [False]

    @given(
        system=st.lists(st.tuples(st.sampled_from(["", " ", "\n", "a", "b "]), st.booleans()), max_size=4),
        user=st.lists(st.tuples(st.sampled_from(["", " ", "c", " d"]), st.booleans()), max_size=9),
    )
    def test_pieces_are_never_blank_and_say_the_same(
        self, system: list[tuple[str, bool]], user: list[tuple[str, bool]]
    ) -> None:
        request = Request(tuple(Block(*each) for each in system), (*(Block(*each) for each in user), Block("end")))
        body = AnthropicModel("any").body(request, {})
        pieces = [*body.get("system", []), *body["messages"][0]["content"]]
        assert all(piece["text"].strip() for piece in pieces)
        said = "".join(piece["text"] for piece in body["messages"][0]["content"])
        assert said == "".join(block.text for block in request.user)
        assert sum("cache_control" in piece for piece in pieces) <= MAX_CACHE_MARKS

    def test_a_longer_prompt_begins_with_the_pieces_of_a_shorter_one(self) -> None:
        """Or the server would not know it again."""
        blocks = [Block("rules", True), Block("one"), Block("two", True), Block("three", True)]
        pieces = [AnthropicModel("any").body(Request((), (*blocks[:n], Block("now"))), {}) for n in (3, 4)]
        texts = [[piece["text"] for piece in body["messages"][0]["content"]] for body in pieces]
        assert texts == [["rules", "onetwo", "now"], ["rules", "onetwo", "three", "now"]]

    def test_tokens_of_a_prompt_are_told_apart(self) -> None:
        usage = {
            **{"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30},
            "output_tokens": 7,
        }
        answer = AnthropicModel("any").read({"content": [], "stop_reason": "end_turn", "usage": usage})
        assert answer.counts == (10, 60, 30, 7, 0)


class TestSampling:
    @pytest.fixture
    def picky(self, api: str, stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
        """The server takes neither temperature nor top_p, as those of new models; what it was asked all the same."""
        import agents.lm.stub.server as module

        asked: list[dict[str, Any]] = []
        read = module.read

        def picky(path: str, body: dict[str, Any]) -> Any:
            asked.append({name: body[name] for name in ("temperature", "top_p") if name in body})
            if asked[-1]:
                raise ValueError(f"`{next(iter(asked[-1]))}` is deprecated for this model.")
            return read(path, body)

        monkeypatch.setattr(module, "read", picky)
        return asked

    def test_what_a_model_does_not_take_is_left_out(
        self,
        api: str,
        picky: list[dict[str, Any]],
        connect: Connect,
        ask: Ask,
        question: Request,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        model = connect(api, retries=0)
        for _ in range(2):  # the first finds out; its reply does not show it, for a resumed game finds out elsewhere
            reply = ask(model, question)
            assert (reply.attempts, reply.faults) == (1, ())
        assert model.faults == {}
        assert picky == [{"temperature": 1.0, "top_p": 0.9}, {"top_p": 0.9}, {}, {}]
        assert sum("left out from now on" in record.message for record in caplog.records) == 2

    def test_of_two_that_do_not_go_together_temperature_stays(
        self, connect: Connect, question: Request, monkeypatch: pytest.MonkeyPatch, stub: StubServer
    ) -> None:
        import agents.lm.stub.server as module

        read = module.read

        def either(path: str, body: dict[str, Any]) -> Any:
            if {"temperature", "top_p"} <= body.keys():
                raise ValueError("`temperature` and `top_p` cannot both be specified for this model.")
            return read(path, body)

        monkeypatch.setattr(module, "read", either)
        connect("messages").complete(question)
        assert sent(stub)["temperature"] == 1.0
        assert "top_p" not in sent(stub)

    def test_no_other_bad_request_is_repaired(self, api: str, connect: Connect, ask: Ask, question: Request) -> None:
        model = connect(api, "fail-400")
        with pytest.raises(ModelError):
            ask(model, question)
        assert model.without == frozenset()


class TestSchemas:
    def test_none_is_sent_where_the_server_knows_none(
        self, api: str, connect: Connect, ask: Ask, question: Request, stub: StubServer
    ) -> None:
        ask(connect(api, structured=False), question)
        assert sent(stub).keys() & {"response_format", "text", "output_config"} == set()

    def test_the_sequence_of_properties_is_kept(self, api: str, connect: Connect, question: Request) -> None:
        schema = {"type": "object", "properties": {"z": {"const": 1}, "a": {"const": 2}}}
        reply = connect(api).complete(Request((), question.user, schema))
        assert reply.text == '{"z": 1, "a": 2}'


class TestChecks:
    @pytest.mark.parametrize(
        ("error", "changes"),
        [
            (PromptError, {"user": ()}),
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
            *({"timeout": wrong} for wrong in (0, -1, "5", float("nan"), float("inf"), 10**400)),
            *({"retries": wrong} for wrong in (-1, 1.5, True, None, 10**400)),
            *({"max_concurrent": wrong} for wrong in (0, 1.5)),
            *({"requests_per_minute": wrong} for wrong in (0, 0.5, "9")),
            *({"api": "messages"}, {"backoff": -1}, {"structured": "no"}, {"effort": 3}, {"effort": 0}),
        ],
        ids=str,
    )
    def test_of_settings(self, settings: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match=next(iter(settings))):
            OpenAIModel("any", **settings)

    @pytest.mark.parametrize("name", ["", "openai", "openai/", "gpt-6-luna", "azure/x", "scripted/other"])
    def test_of_names(self, name: str) -> None:
        with pytest.raises(ConfigError):
            make_model(name)

    def test_settings_that_a_model_does_not_have(self) -> None:
        with pytest.raises(ConfigError, match="no setting 'temperature': it has api, grammar, seed"):
            make_model("openai/any", temperature=1)
        with pytest.raises(ConfigError, match="no setting 'retries': it has latency"):
            make_model("scripted/stub", retries=1)


class TestNames:
    def test_they_hold_all_of_a_model(self) -> None:
        model = make_model("openai/meta/llama-3:8b", base_url="http://127.0.0.1:1/v1/", api="responses", effort="low")
        assert isinstance(model, Model)
        assert model.name == "openai/meta/llama-3:8b"
        settings = {"base_url": "http://127.0.0.1:1/v1", "structured": True, "effort": "low", "api": "responses"}
        assert model.settings == settings
        assert make_model("anthropic/claude-x").name == "anthropic/claude-x"

    def test_the_package_knows_its_names(self) -> None:
        import agents.lm

        assert agents.lm.make_model is make_model
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            agents.lm.nothing  # noqa: B018
