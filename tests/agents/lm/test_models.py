"""Remote models by what users see: what is sent, what is read, what goes wrong, and what it costs.

All of it goes through the SDKs' own clients, which ask a stub in this process.
"""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import agents
from agents.lm import AnthropicModel, Block, OpenAIModel, Reply, Request, make_model
from agents.lm.errors import ENDING_KINDS, PASSING_KINDS, AccessError, ConfigError, ModelError, PromptError
from agents.lm.models import limits
from agents.lm.models.budget import Budget
from agents.lm.models.openai import GRAMMARS
from agents.lm.models.prices import PRICES, THINKING_TOKENS, USUAL_TOKENS, Price
from agents.lm.models.remote import FIRST_QUESTIONS, REMOTE, STREAMED, RemoteModel
from agents.lm.reading.schemas import gbnf
from agents.lm.stub.server import Response, refusal
from tests.agents.lm.transport import FailingServer, InProcess, chat, message, says

Connect = Callable[..., RemoteModel]
ASKED = Request((), (Block("?"),))
LONG = STREAMED + 1  # tokens of a reply that is streamed
SAMPLING = {"temperature": 1.0, "top_p": 0.9}
MARK = {"type": "ephemeral"}

# What is sent


def test_openai_gets_this(connect: Connect, question: Request, stub: InProcess) -> None:
    form = {"name": "reply", "schema": question.schema, "strict": True}
    connect("openai", effort="low").complete(replace(question, cache_key="france"))
    assert stub.requests[0].body == SAMPLING | {
        "model": "any",
        "messages": [
            {"role": "system", "content": "You play FRANCE. Be kind."},
            {"role": "user", "content": "Spring 1901. A PAR may move."},
        ],
        "max_tokens": 500,
        "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": form},
    }


def test_anthropic_gets_this(connect: Connect, question: Request, stub: InProcess) -> None:
    connect("anthropic", effort="low").complete(question)
    pieces = [
        {"type": "text", "text": "Spring 1901. ", "cache_control": MARK},
        {"type": "text", "text": "A PAR may move."},
    ]
    assert stub.requests[0].body == SAMPLING | {
        "model": "any",
        "system": [{"type": "text", "text": "You play FRANCE. Be kind.", "cache_control": MARK}],
        "messages": [{"role": "user", "content": pieces}],
        "max_tokens": 500,
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": question.schema}},
    }


def test_openais_own_server_gets_more(connect: Connect, stub: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REMOTE, "openai", REMOTE["openai"]._replace(url=f"{stub.url}/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    request = replace(ASKED, max_tokens=9, temperature=None, top_p=None, cache_key="france")
    connect("openai", base_url=None).complete(request)
    sent = {"model": "any", "max_completion_tokens": 9, "prompt_cache_key": "france"}
    assert stub.requests[0].body == sent | {"messages": [{"role": "user", "content": "?"}]}


@pytest.mark.parametrize("kind", GRAMMARS)
def test_a_grammar_in_place_of_the_schema(kind: str, connect: Connect, question: Request, stub: InProcess) -> None:
    connect("openai", grammar=kind).complete(question)
    body = stub.requests[0].body
    assert "response_format" not in body
    assert GRAMMARS[kind](gbnf(question.schema or {})).items() <= body.items()


def test_a_longer_prompt_begins_with_the_pieces_of_a_shorter_one() -> None:
    """Or Anthropic's server would not know it again; blank pieces it refuses, and more than four marks."""
    blocks = [Block("rules", True), Block("one"), Block(" "), Block("two", True), Block("three", True)]
    fields = [AnthropicModel("any").fields(Request((), (*blocks[:n], Block("now")))) for n in (4, 5)]
    texts = [[piece["text"] for piece in each["messages"][0]["content"]] for each in fields]
    assert texts == [["rules", "one two", "now"], ["rules", "one two", "three", "now"]]
    many = AnthropicModel("any").fields(Request((Block("\n"),), tuple(Block(str(n), True) for n in range(9))))
    assert many.keys().isdisjoint(["system", "output_config"])
    assert ["cache_control" in piece for piece in many["messages"][0]["content"]] == [False] * 5 + [True] * 4


CLOUDS = {
    "azure/deployed": (
        {"AZURE_OPENAI_ENDPOINT": "https://lab.x", "OPENAI_API_VERSION": "v9", "AZURE_OPENAI_API_KEY": "k1"},
        "/openai/deployments/deployed/chat/completions?api-version=v9",
        ("api-key", "k1"),
    ),
    "bedrock/claude-x": (
        {"AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "k2"},
        "/model/claude-x/invoke",
        ("authorization", "Bearer k2"),
    ),
    "vertex/claude-x": (
        {"CLOUD_ML_REGION": "r", "ANTHROPIC_VERTEX_PROJECT_ID": "p", "VERTEX_TOKEN": "k3"},
        "/v1/projects/p/locations/r/publishers/anthropic/models/claude-x:rawPredict",
        ("authorization", "Bearer k3"),
    ),
}


@pytest.mark.parametrize("name", CLOUDS)
def test_the_sdks_own_clients_ask_clouds(name: str, question: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    variables, path, (header, key) = CLOUDS[name]
    with pytest.raises(ConfigError):  # what is missing is named before the first game
        make_model(name).check_ready()  # type: ignore[attr-defined]
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    asked: list[httpx2.Request] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(400, json={"error": {"message": "no"}})

    sdk = openai if name.startswith("azure") else anthropic
    client = sdk.DefaultAsyncHttpxClient(transport=httpx2.MockTransport(refuse))
    settings = {"key_variable": "VERTEX_TOKEN"} if "VERTEX_TOKEN" in variables else {}
    with pytest.raises(ModelError):
        make_model(name, http_client=client, **settings).complete(question)
    assert (asked[0].url.raw_path.decode(), asked[0].headers[header]) == (path, key)


# What is read


PROMPT = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
READ = [
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
    (message({"type": "thinking", "thinking": "Hm.", "signature": ""}, "x"), "x", "stop", "Hm."),
]


@pytest.mark.parametrize(("body", "text", "finish", "reasoning"), READ)
def test_text_and_thinking(body, text, finish, reasoning, connect, question, stub):
    stub.cases.append(says(200, body))
    reply = connect("openai" if "choices" in body else "anthropic").complete(question)
    assert (reply.text, reply.finish, reply.reasoning, reply.attempts) == (text, finish, reasoning, 1)


TOKENS = [
    (chat(PROMPT | {"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}}), (100, 60, 7, 0)),
    (chat(PROMPT | {"completion_tokens_details": {"reasoning_tokens": 5}}), (100, 0, 7, 5)),  # OpenAI: it is included
    (chat({"prompt_tokens": 9, "completion_tokens": 4}), (9, 0, 4, 0)),
    (chat(PROMPT | {"total_tokens": 207}), (100, 0, 107, 100)),  # Gemini: only the total has thinking
    (chat(PROMPT | {"prompt_tokens_details": {"cached_tokens": 500}}), (100, 100, 7, 0)),
    *((chat(wrong), None) for wrong in (None, {}, PROMPT | {"prompt_tokens": 0}, PROMPT | {"completion_tokens": -1})),
    (message("x", cache_read_input_tokens=60, cache_creation_input_tokens=30), (190, 60, 7, 0)),
]


@pytest.mark.parametrize(("body", "counts"), TOKENS)
def test_tokens(body: Any, counts: Any, connect: Connect, question: Request, stub: InProcess) -> None:
    """If they are impossible, every byte counts as a token."""
    for choice in body.get("choices", ()):
        choice["message"]["content"] = "x" * 40
    stub.cases.append(says(200, body))
    used = connect("openai" if "choices" in body else "anthropic").complete(question).usage
    expected = counts or (question.max_prompt_tokens, 0, 40, 0)
    assert (used.input_tokens, used.cached_tokens, used.output_tokens, used.reasoning_tokens) == expected


@pytest.mark.parametrize("most", [500, LONG])
def test_a_whole_answer_and_a_streamed_one(most: int, provider: str, connect: Connect, question: Request) -> None:
    reply = connect(provider).complete(replace(question, max_tokens=most))
    # The stub counts four characters a token, and the system prompt as cached.
    system, prompt = len("You play FRANCE. Be kind."), len(question.prompt)
    assert (reply.usage.input_tokens, reply.usage.cached_tokens) == (-(-prompt // 4), -(-system // 4))
    assert reply.usage.output_tokens == -(-len(reply.text) // 4)
    assert (reply.finish, reply.model, reply.attempts, reply.faults) == ("stop", "any", 1, ())
    assert json.loads(reply.text)["order"].startswith("A PAR")
    for finish in ("length", "refusal"):
        assert connect(provider, f"fail-{finish}").complete(replace(question, max_tokens=most)).finish == finish


@pytest.mark.parametrize(("name", "kind"), [("overloaded_error", "server"), ("rate_limit_error", "rate limit")])
def test_an_error_within_a_stream(name, kind, provider, connect, question, stub):
    event = {"type": "error", "error": {"type": name, "message": "busy"}}
    content = f"event: error\ndata: {json.dumps(event)}\n\n".encode()
    stub.cases.append(says(200, content, {"content-type": "text/event-stream"}))
    assert connect(provider).complete(replace(question, max_tokens=LONG)).faults == (kind,)


def test_a_prompt_that_the_server_has_cut(connect: Connect, stub: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    long = Request((), (Block("word " * 10_000),))
    model = connect("openai")
    for tokens in (10_000, 4_096):
        assert not caplog.messages
        stub.cases.append(says(200, chat(PROMPT | {"prompt_tokens": tokens}, content="x")))
        model.complete(long)
    assert "4,096 tokens of a prompt of 50,000 bytes" in caplog.messages[0]


# What goes wrong: the stub's fault -> the kind of fault that it is to us, and how often it is tried.

FAULTS = {
    **{"429:0": ("rate limit", 7), "500": ("server", 7), "503": ("server", 7), "cut": ("connection", 7)},
    **{"malformed": ("malformed", 3), "timeout": ("timeout", 3), "empty": ("empty", 3), "absent": ("unreachable", 3)},
    **{"400": ("bad request", 1), "413": ("too long", 1), "401": ("authentication", 1), "404": ("not found", 1)},
    **{"403": ("authentication", 1), "quota": ("quota", 1), "429:36000": ("rate limit", 1)},
}


@pytest.mark.parametrize(
    ("provider", "fault"),
    [*(("openai", fault) for fault in FAULTS), *(("anthropic", fault) for fault in ("429:0", "cut", "timeout", "401"))],
)
def test_a_fault(provider: str, fault: str, connect: Connect, question: Request, stub: InProcess) -> None:
    """If it stays, and if it passes."""
    kind, tries = FAULTS[fault]
    with pytest.raises(AccessError if kind in ENDING_KINDS else ModelError) as caught:
        connect(provider, f"fail-{fault}").complete(question)
    assert (caught.value.kind, len(stub.requests)) == (kind, tries)
    if isinstance(caught.value, ModelError):
        assert (caught.value.faults, caught.value.is_passing) == ((kind,) * tries, kind in PASSING_KINDS)
    if tries > 1:
        stub.faults.append(fault)
        reply = connect(provider).complete(question)
        assert (reply.attempts, reply.faults) == (2, (kind,))


SAID = [
    (402, "Please pay", None, "quota"),
    (400, "Your credit balance is too low", None, "quota"),
    (429, "You exceeded your current quota", "insufficient_quota", "quota"),
    (403, "Your input was flagged", None, "bad request"),  # this prompt, not all
    (400, "This model's maximum context length is 8192 tokens", "context_length_exceeded", "too long"),
    (307, "", None, "not found"),
    (200, "Provider returned error", 502, "server"),  # OpenRouter
]


@pytest.mark.parametrize(("status", "words", "code", "kind"), SAID)
def test_what_servers_say(status, words, code, kind, connect, question, stub):
    stub.cases.append(says(status, {"error": {"message": words + "\x1b[2J\n" + "x" * 9999, "code": code}}))
    with pytest.raises((ModelError, AccessError)) as caught:
        connect("openai", retries=0).complete(question)
    assert caught.value.kind == kind
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


def test_lost_answers_count_as_paid_for(connect: Connect, question: Request, stub: InProcess) -> None:
    stub.faults.extend(["timeout", "cut"])
    usage = connect("openai").complete(question).usage
    assert usage.input_tokens > 2 * len(question.prompt)
    assert usage.output_tokens > 2 * question.max_tokens


def test_a_server_that_never_answers_ends_the_run(connect: Connect, question: Request) -> None:
    model = connect("openai", "fail-400")
    for number in range(FIRST_QUESTIONS):
        is_last = number == FIRST_QUESTIONS - 1
        with pytest.raises(AccessError if is_last else ModelError):
            model.complete(replace(question, sample=number))


def test_a_429_pauses_all_calls(connect, question, stub, clock, monkeypatch):
    """Time stands still until all of them are paused or answered."""
    began: list[float] = []
    paused: set[Any] = set()

    async def sleep(seconds: float) -> None:
        paused.add(asyncio.current_task())
        while len(paused) + len(began) < 6:
            await asyncio.sleep(0)
        await clock.sleep(seconds)

    monkeypatch.setattr(limits, "sleep", sleep)
    stub.faults.append("429:30")
    model = connect("openai")
    reply = stub.reply
    stub.reply = lambda asked: began.append(clock.time) or reply(asked)  # type: ignore[func-returns-value]

    async def main() -> list[Reply]:
        first = asyncio.create_task(model.acomplete(question))
        while not stub.requests:
            await asyncio.sleep(0)
        others = [asyncio.create_task(model.acomplete(replace(question, sample=number))) for number in range(5)]
        return [await task for task in (first, *others)]

    assert sum(len(reply.faults) for reply in asyncio.run(main())) == 1
    assert min(began) >= 130.0


@pytest.mark.parametrize("others", [False, True])
def test_a_429_is_no_failure_while_others_are_answered(others, connect, question, stub, clock, monkeypatch):
    """A question may be refused more often than there are retries."""
    answer, refused, asked = stub.answer, [], []

    def picky(path: str, headers: Any, content: bytes) -> Response:
        if b"unlucky" in content and len(refused) < 12:
            refused.append(content)
            return refusal(path, 429, "slow down")
        return answer(path, headers, content)

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        if others and len(asked) < len(refused):  # another one is answered while the refused one waits
            asked.append(len(refused))
            await model.acomplete(replace(question, sample=len(refused)))

    monkeypatch.setattr(stub, "answer", picky)
    monkeypatch.setattr(limits, "sleep", sleep)
    model = connect("openai", retries=3)
    unlucky = replace(question, user=(Block("unlucky"),))
    if others:
        assert model.complete(unlucky).faults == ("rate limit",) * 12
    else:
        with pytest.raises(ModelError) as caught:
            model.complete(unlucky)
        assert caught.value.faults == ("rate limit",) * 4


def test_so_many_at_a_time(question: Request) -> None:
    together = Barrier(3)  # three are answered when three have come
    with ThreadPoolExecutor(8) as pool, FailingServer(reply=lambda asked: f"{together.wait()}") as server:
        model = OpenAIModel("any", base_url=f"{server.url}/v1", max_concurrent=3)
        list(pool.map(lambda number: model.complete(replace(question, sample=number)), range(24)))
        assert server.stats["peak"] == 3


# What a server refuses


UNSUPPORTED = "`{}` is not supported for this model."


def test_sampling_that_a_model_does_not_take(provider, connect, question, stub):
    """The reply says so, whichever call finds out."""
    stub.refused = {name: UNSUPPORTED.format(name) for name in ("temperature", "top_p")}
    model = connect(provider, retries=0)
    replies = [model.complete(question) for _ in range(2)]
    assert [(reply.attempts, reply.left_out, reply.faults) for reply in replies] == [
        (1, ("temperature", "top_p"), ())
    ] * 2
    assert [len(SAMPLING.keys() & request.body.keys()) for request in stub.requests] == [2, 1, 0, 0]


def test_the_other_name_of_the_limit(connect: Connect, question: Request, stub: InProcess) -> None:
    stub.refused = {"max_tokens": UNSUPPORTED.format("max_tokens")}
    model = connect("openai")
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda number: model.complete(replace(question, sample=number)), range(4)))
    assert [reply.left_out for reply in replies] == [()] * 4
    assert stub.requests[-1].body["max_completion_tokens"] == question.max_tokens
    stub.refused["max_completion_tokens"] = UNSUPPORTED.format("max_completion_tokens")
    with pytest.raises(ModelError):
        model.complete(question)


def test_a_refused_schema_is_left_out_for_its_shape_only(connect: Connect, question: Request, stub: InProcess) -> None:
    def schema(*sets: list[str]) -> dict[str, Any]:
        orders = [{"type": "object", "properties": {key: {"enum": [key]} for key in keys}} for keys in sets]
        return {"type": "object", "properties": {"orders": orders[0] if len(orders) == 1 else {"anyOf": orders}}}

    stub.refused = {"anyOf": "Invalid schema: Objects provided via 'anyOf' must not share first keys."}
    model = connect("openai")
    schemas = [schema(["a"]), schema(["a", "b"], ["a", "c"]), schema(["d", "e"], ["d", "f"]), schema(["a"])]
    left_out = [model.complete(replace(question, schema=each)).left_out for each in schemas]
    assert left_out == [(), ("schema",), ("schema",), ()]
    assert ["response_format" in request.body for request in stub.requests] == [True, True, False, False, True]


# Options, names, and the room for replies


WRONG: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "blank": (PromptError, lambda: replace(ASKED, user=(Block(" \n"),))),
    "surrogate": (PromptError, lambda: replace(ASKED, system=(Block("\ud800"),))),
    "max_tokens": (ConfigError, lambda: replace(ASKED, max_tokens=0)),
    "temperature": (ConfigError, lambda: replace(ASKED, temperature=2.1)),
    "top_p": (ConfigError, lambda: replace(ASKED, top_p=0)),
    "timeout": (ConfigError, lambda: OpenAIModel("any", timeout=float("nan"))),
    "retries": (ConfigError, lambda: OpenAIModel("any", retries=-1)),
    "max_concurrent": (ConfigError, lambda: OpenAIModel("any", max_concurrent=0)),
    "extra": (ConfigError, lambda: OpenAIModel("any", extra="5")),
    "extra, open": (ConfigError, lambda: OpenAIModel("any", extra="{")),
    "extra, ours": (ConfigError, lambda: OpenAIModel("any", extra='{"messages": []}')),
    "extra, code": (ConfigError, lambda: OpenAIModel("any", extra={1: print})),
    "grammar": (ConfigError, lambda: OpenAIModel("any", base_url="http://x/v1", grammar="ebnf")),
    "grammar, another": (ConfigError, lambda: make_model("anthropic/x", grammar="vllm")),
    "openai/": (ConfigError, lambda: make_model("openai/")),
    "gpt-6-luna": (ConfigError, lambda: make_model("gpt-6-luna")),
    "aws/x": (ConfigError, lambda: make_model("aws/x")),
    "scripted/other": (ConfigError, lambda: make_model("scripted/other")),
    "tempo": (ConfigError, lambda: make_model("scripted/stub", tempo=1)),
}


@pytest.mark.parametrize("name", WRONG)
def test_requests_settings_and_names_that_cannot_be(name: str) -> None:
    error, made = WRONG[name]
    with pytest.raises(error, match=name.partition(",")[0] if error is ConfigError else None):
        made()


def test_prices_are_those_of_the_providers_own_servers(caplog: pytest.LogCaptureFixture) -> None:
    assert OpenAIModel("gpt-6-luna").price == PRICES["gpt-6-luna"]
    assert AnthropicModel("claude-haiku-4-5-20251001").price == PRICES["claude-haiku-4-5"]
    assert OpenAIModel("gpt-6-luna", base_url="http://127.0.0.1:1").price is None
    assert OpenAIModel("x", prices={"x": Price(1, 2)}).price == Price(1, 2)
    assert not caplog.messages
    assert OpenAIModel("gpt-99").price is None
    assert caplog.messages == [
        "openai/gpt-99: no price is known, so dollars are not counted; give a file with `prices`"
    ]
    with pytest.raises(ConfigError, match="openai/gpt-99"):
        OpenAIModel("gpt-99", budget=Budget(max_dollars=1))


@pytest.mark.parametrize(
    ("spec", "reply", "note"),
    [
        *((f"lm:openai/{name}", USUAL_TOKENS, None) for name in ("gpt-4.1", "gpt-4o-mini", "llama-3")),
        *((f"lm:openai/{name}", THINKING_TOKENS, None) for name in ("o3-mini", "gpt-oss-120b", "deepseek-r1")),
        ("lm:openai/Qwen/Qwen3-8B,base_url=http://x/v1", THINKING_TOKENS, None),
        ("lm:openai/gpt-6-luna,summariser=openai/gpt-4.1", THINKING_TOKENS, USUAL_TOKENS),
        ("lm:anthropic/claude-haiku-4-5", USUAL_TOKENS, None),
    ],
)
def test_the_room_for_a_reply(spec: str, reply: int, note: int | None) -> None:
    style = agents.make(spec).style
    assert (style.max_tokens, style.note_tokens) == (reply, note)


def test_further_fields_in_a_spec() -> None:
    spec = 'exploiter:nice=(lm:openai/x,extra=({"a": {"b": [1, 2]}, "c": null}),effort=low),attack=dumbbot'
    assert agents.canonical(agents.canonical(spec)) == agents.canonical(spec)
    model = agents.make(spec).nice.model
    assert (model.fields(ASKED)["extra_body"], model.effort) == ({"a": {"b": [1, 2]}, "c": None}, "low")
    assert model.settings["extra"] == model.extra
