"""`grammar=auto`: what a server enforces is found out by a short question before the first one with a schema."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from agents.lm.errors import AccessError, ModelError
from agents.lm.models.protocol import Block, Request
from agents.lm.models.providers.grammars import SECRET
from agents.lm.models.providers.openai import OpenAIModel
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.stub import wire
from agents.lm.stub.server import StubServer

Connect = Callable[..., RemoteModel]
FIELDS = {"vllm": "structured_outputs", "llama.cpp": "grammar", "sglang": "ebnf"}


def fields(stub: StubServer) -> list[set[str]]:
    """What each question was sent with, in place of a schema or as one."""
    return [{"response_format", *FIELDS.values()} & request.body.keys() for request in stub.requests]


def enforcing(stub: StubServer, field: str) -> None:
    """Makes the stub one that holds replies only to what is in a field."""
    usual = stub._reply
    stub._reply = lambda asked: (
        json.dumps({"word": SECRET})
        if SECRET in json.dumps(stub.requests[-1].body.get(field, ""))
        else usual(wire.ParsedRequest(asked.model, asked.system, asked.user, None, asked.max_tokens))
    )


def test_a_server_that_enforces_schemas(stub: StubServer, connect: Connect, question: Request) -> None:
    model = connect("chat", grammar="auto")
    model.complete(question)
    model.complete(question)
    assert fields(stub) == [{"response_format"}] * 3  # one question more, once
    assert model.settings["grammar"] == "auto"


@pytest.mark.parametrize("kind", FIELDS)
def test_a_server_that_enforces_grammars(kind: str, stub: StubServer, connect: Connect, question: Request) -> None:
    enforcing(stub, FIELDS[kind])
    model = connect("chat", grammar="auto")
    model.complete(question)
    assert fields(stub)[-1] == {FIELDS[kind]}
    assert "A PAR - BUR" in json.dumps(stub.requests[-1].body[FIELDS[kind]])
    asked = [{"response_format"}, *({field} for field in FIELDS.values())]
    assert fields(stub)[:-1] == asked[: asked.index({FIELDS[kind]}) + 1]


def test_one_that_refuses_schemas_but_takes_a_grammar(
    stub: StubServer, connect: Connect, question: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = wire.INTERFACES["chat/completions"]
    monkeypatch.setitem(
        wire.INTERFACES, "chat/completions", chat._replace(fields=chat.fields - {"response_format"} | {"grammar"})
    )
    enforcing(stub, "grammar")
    model = connect("chat", grammar="auto")
    model.complete(question)
    assert fields(stub)[-1] == {"grammar"}


def test_one_that_enforces_nothing(
    stub: StubServer, connect: Connect, question: Request, caplog: pytest.LogCaptureFixture
) -> None:
    """The schema is still sent, as without the option."""
    enforcing(stub, "no field")
    connect("chat", grammar="auto").complete(question)
    assert fields(stub)[-1] == {"response_format"}
    told = [record.message for record in caplog.records if "grammar=auto" in record.message]
    assert told == ["openai/any: grammar=auto: the server enforces nothing: set schema=none,add=legal_orders"]


def test_questions_at_the_same_time_wait_for_one_decision(
    stub: StubServer, connect: Connect, question: Request
) -> None:
    enforcing(stub, "ebnf")
    model = connect("chat", grammar="auto")

    async def main() -> None:
        await asyncio.gather(*(model.acomplete(question) for _ in range(7)))
        await model.aclose()

    asyncio.run(main())
    assert len(stub.requests) == 4 + 7
    assert fields(stub)[4:] == [{"ebnf"}] * 7


def test_after_an_error_it_is_decided_anew(
    stub: StubServer, connect: Connect, question: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = connect("chat", grammar="auto")
    probe = OpenAIModel._probe
    failing = [AccessError("authentication", "no")]

    async def once(self: OpenAIModel) -> None:
        if failing:
            raise failing.pop()
        await probe(self)

    monkeypatch.setattr(OpenAIModel, "_probe", once)
    with pytest.raises(AccessError):
        model.complete(question)
    model.complete(question)
    assert len(stub.requests) == 2


@pytest.mark.parametrize(("fault", "kind"), [("429", "rate limit"), ("cut", "connection")])
def test_a_fault_that_passes_decides_nothing(
    fault: str, kind: str, stub: StubServer, connect: Connect, question: Request
) -> None:
    model: Any = connect("chat", grammar="auto", retries=0)
    model.complete(Request((), (Block("What was said?"),)))
    stub.fail(fault)
    with pytest.raises(ModelError) as failed:
        model.complete(question)
    assert failed.value.kind == kind
    model.complete(question)
    assert fields(stub)[1:] == [{"response_format"}] * 3  # the one that failed, the same again, and the player's


def test_no_question_is_lost_on_what_has_no_schema(stub: StubServer, connect: Connect) -> None:
    connect("chat", grammar="auto").complete(Request((), (Block("What was said?"),)))
    assert fields(stub) == [set()]


def test_openai_itself_needs_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    model: Any = OpenAIModel("any", grammar="auto")
    assert model._is_decided
    assert model.kind is None
