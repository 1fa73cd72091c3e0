"""What `check_model` finds out about servers of different kinds."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import agents
from agents.lm.checking import QUESTIONS, Finding, check_model, questions_of_a_game, views
from agents.lm.models import OpenAIModel
from agents.lm.models.providers.grammars import PROBE, SECRET
from agents.lm.models.providers.remote_model import is_same_model
from agents.lm.player.policy import LMPolicy
from agents.lm.reading.obeying import obeys
from agents.lm.reading.parsing import reply_schema
from agents.lm.stub import wire
from agents.lm.stub.replies import Instance, stub_reply
from agents.lm.stub.server import StubServer
from welfare_env import Rules

CHAT = "chat/completions"


@contextmanager
def server(answer: Callable[[Any, dict[str, Any]], str] | None = None) -> Iterator[StubServer]:
    """A stub whose answers depend on the request's body, too."""
    with StubServer() as found:
        if answer is not None:
            found._reply = lambda asked: answer(asked, found.requests[-1].body)
        yield found


def found(stub: StubServer, options: str = "", model: str = "any") -> dict[str, Finding]:
    player = agents.make(f"lm:openai/{model},base_url={stub.url}/v1,retries=0{options}")
    assert isinstance(player, LMPolicy)
    return {each.name: each for each in check_model(player)}


def prose(asked: Any, body: dict[str, Any]) -> str:
    """As a server that takes a schema and does nothing with it."""
    return stub_reply(asked.prompt)


def test_a_server_that_enforces_the_schema() -> None:
    with server() as stub:
        findings = found(stub)
        assert all(each.is_good for each in findings.values())
        assert findings["schema of a reply"].result == "enforced, as a schema"
        assert findings["Spring reply"].result == "3 of 3 orders legal"
        assert len(stub.requests) == QUESTIONS


def test_a_server_that_ignores_the_schema() -> None:
    """Its replies parse, but nothing holds them to the legal orders; no grammar helps."""
    with server(prose) as stub:
        findings = found(stub)
        assert not findings["schema of a reply"].is_good
        assert findings["schema of a reply"].result.startswith("ignored by the server")
        assert "does not match its schema" in findings["Spring reply"].result
        fields = [{"structured_outputs", "grammar", "ebnf"} & request.body.keys() for request in stub.requests]
        assert fields == [set()] * QUESTIONS + [{"structured_outputs"}, {"grammar"}, {"ebnf"}]
        assert found(stub, ",schema=none")["schema of a reply"].is_good  # nothing to set any more


def test_a_provider_is_not_asked_for_grammars_that_only_other_servers_have(monkeypatch: pytest.MonkeyPatch) -> None:
    with server(prose) as stub:
        monkeypatch.setattr(OpenAIModel, "URL", f"{stub.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        assert found(stub)["schema of a reply"].result.startswith("ignored")
        assert len(stub.requests) == QUESTIONS


@pytest.mark.parametrize(
    ("name", "field"),
    [("vllm", "structured_outputs"), ("llama.cpp", "grammar"), ("sglang", "ebnf")],
)
def test_a_server_that_enforces_grammars_only(name: str, field: str) -> None:
    def answer(asked: Any, body: dict[str, Any]) -> str:
        return json.dumps({"word": SECRET}) if SECRET in json.dumps(body.get(field, "")) else prose(asked, body)

    with server(answer) as stub:
        assert found(stub)["schema of a reply"].advice == f"set grammar={name}"
        assert found(stub, f",grammar={name}")["schema of a reply"].result == f"enforced, as a grammar ({name})"


def test_a_server_that_refuses_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = wire.INTERFACES[CHAT]
    monkeypatch.setitem(wire.INTERFACES, CHAT, chat._replace(fields=chat.fields - {"response_format"}))
    with server(prose) as stub:
        assert found(stub)["schema of a reply"].result.startswith("refused by the server")


def test_a_server_that_refuses_the_schemas_of_some_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    """It enforces those that it takes, so the question about the schema alone would not show it."""
    real = wire.INTERFACES[CHAT].read

    def picky(body: dict[str, Any]) -> Any:
        if '"anyOf"' in json.dumps(body.get("response_format")):
            raise wire.WireError("Invalid schema for response_format: anyOf")
        return real(body)

    monkeypatch.setitem(wire.INTERFACES, CHAT, wire.INTERFACES[CHAT]._replace(read=picky))
    with server() as stub:
        finding = found(stub)["schema of a reply"]
    assert not finding.is_good
    assert finding.result == "refused for 2 of 4 phases"
    assert "Winter with builds" in finding.advice


def test_a_server_with_a_short_context() -> None:
    with server() as stub:
        tokens, wire._tokens = wire._tokens, lambda text: min(tokens(text), 500)
        try:
            finding = found(stub)["context"]
        finally:
            wire._tokens = tokens
    assert not finding.is_good
    assert "num_ctx" in finding.advice


def test_any_run_says_once_that_the_schema_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with server(prose) as stub:
        player = agents.make(f"lm:openai/any,base_url={stub.url}/v1")
        assert isinstance(player, LMPolicy)
        for view in (*views().values(), *views().values()):
            player.reset(view.power)
            player.model.complete(player.question(view))
    told = [record.message for record in caplog.records]
    assert len(told) == 1
    assert "a reply does not match its schema" in told[0]


def test_another_model_answers(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Also any run says so, once."""
    chat = wire.INTERFACES[CHAT]
    other = chat._replace(write=lambda asked, answered: chat.write(asked, answered) | {"model": "small-model"})
    monkeypatch.setitem(wire.INTERFACES, CHAT, other)
    with server() as stub:
        finding = found(stub, model="large")["answering model"]
    assert not finding.is_good
    assert finding.result == "small-model instead of large"
    assert [record.message for record in caplog.records] == ["openai/large: small-model answers instead of large"]


@pytest.mark.parametrize(
    ("asked", "answering", "is_same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("meta-llama/Llama-3", "llama-3", True),
        ("llama3", "llama3:latest", True),
        ("gpt-4o", "claude-sonnet", False),
    ],
)
def test_names_of_a_model(asked: str, answering: str, is_same: bool) -> None:
    assert is_same_model(asked, answering) == is_same


def test_what_a_game_asks() -> None:
    """Seven players, three rounds, and a summary of each phase (docs/language-models.md)."""
    assert questions_of_a_game(Rules(years=10)) == 840
    assert questions_of_a_game(Rules(years=10, press=None)) == 210


def test_obeys() -> None:
    rng = np.random.default_rng(0)
    for view in views().values():
        schema = reply_schema(view)
        for _ in range(20):
            text = json.dumps(Instance(schema, rng).make(schema))
            assert obeys(text, schema)
            assert obeys(f" {text}\n", schema)
            assert not obeys(text[:-1], schema)
            assert not obeys(f"Here: {text}", schema)
            assert not obeys(re.sub(r'"orders"', '"order"', text), schema)
    assert obeys(f'{{"word": "{SECRET}"}}', PROBE)
    for wrong in (
        '{"word": "none"}',
        "{}",
        "[]",
        '{"word": 1}',
        f'{{"word": "{SECRET}", "word": "{SECRET}"}}',
        "[" * 9999,
    ):
        assert not obeys(wrong, PROBE)
