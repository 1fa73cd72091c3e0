"""Odd specs of players, and odd answers of the servers of language models."""

import functools
import importlib
import json
import os
from dataclasses import asdict
from typing import Any, get_args

import httpx2
from hypothesis import strategies as st

import agents
from agents.lm import AnthropicModel, Block, OpenAIModel, Request
from agents.lm.errors import FAULT_KINDS, AccessError, ConfigError, ModelError
from agents.lm.models.prices import Price
from agents.lm.models.protocol import Finish
from agents.lm.models.secrets import checked_url, checked_variable, hide_secrets, redacted
from agents.specs import AGENTS, named_files
from agents.specs import read as read_spec
from agents.specs.options import LM_OPTIONS
from tests.agents.lm.transport import InProcess, chat, message
from tests.fuzz.hunting import changed, encoded, hunt, mangled, nested, odd, words
from welfare_env.errors import UnknownAgentError

# Specs: no module but ours and Python's own is imported, no model but the stub asked.

MODULES = ["sys.exit", "os.abort", "os._exit", "subprocess.Popen", "no_such.Mine", "agents.HoldPolicy",
           "agents.HoldPolcy", "agents.Policy", "agents.specs.AGENTS", ".", "a..b", "a.b" * 50]  # fmt: skip
VALUES = ["0", "1/20", "1e999999999", "9" * 5000, "nan", "-1", "1/0", "yes", "none", "no_reasoning", "", "MY_KEY"]
NAMED = ["share", "units", "years", "centers", "nice", "attack", "to", "greedy", *LM_OPTIONS]
PARTS = ["random", "hold", "dove", "dove:share=0.5", "prosocail", " dove ", "rl:attacker", "rl:/nowhere",
         "rl:/dev/zero", "program:FairBot", "program:[](X(me) & (X(DefectBot) -> []false))", "mix:dove=1/2,hold=1/2",
         "lm:scripted/stub", "lm:opnai/x", "lm:"]  # fmt: skip
OPTION = st.builds("{}={}".format, st.sampled_from(NAMED), st.sampled_from(VALUES))
SPECS = st.recursive(
    st.sampled_from(PARTS) | st.builds("import:{}".format, st.sampled_from(MODULES)),
    lambda inner: (
        st.builds("exploiter:nice=({}),attack=({}),{}".format, inner, inner, OPTION)
        | st.builds("best-reply:to=({})".format, inner)
        | st.builds("{},{}".format, inner, OPTION)
    ),
    max_leaves=6,
)
TEXTS = st.one_of(
    *[mangled(SPECS)] * 4, words([*AGENTS, *NAMED, *VALUES, *PARTS]), odd, nested("exploiter:nice=(", ")", "dove"),
    nested("program:[](", ")", "X(me)"),
)  # fmt: skip


def is_safe(text: Any) -> bool:
    unsafe = ("import:", "prices", "openai", "anthropic")
    return not isinstance(text, str) or not any(word in text.casefold() for word in unsafe)


@hunt(TEXTS, UnknownAgentError)
def test_writing_specs(spec: Any) -> None:
    written = agents.canonical(spec)
    assert agents.canonical(written) == written
    assert read_spec(written).models == read_spec(spec).models


@hunt(TEXTS.filter(is_safe) | st.builds("import:{}".format, st.sampled_from(MODULES)), UnknownAgentError, slow=10)
def test_making_players(spec: Any) -> None:
    assert isinstance(agents.make(spec), agents.Policy)
    assert all(path.is_file() for path in named_files(spec))


# Servers

MOST_TOKENS = 10**9
KEY = "sk-nobody-may-read-this-0123456789"
GOOD = 'Peace? {"orders": ["A PAR H"]} é🙂'
QUESTION = Request((Block("You play FRANCE."),), (Block("What now?"),), {"type": "object"}, max_tokens=500)
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}
ANSWERS = {
    "openai": chat(USAGE, content=GOOD, refusal=None, reasoning_content="Hm."),
    "anthropic": message({"type": "thinking", "thinking": "Hm.", "signature": ""}, GOOD, cache_read_input_tokens=3),
}
ERRORS: list[Any] = [
    {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": "invalid_request_error"}},
    {"error": {"message": "Unsupported parameter: 'max_tokens'.", "param": "max_tokens"}},
    {"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": "Extra inputs"}]},
    {"object": "error", "message": f"no such model, {KEY}", "code": 404}, "plain words", [], None,
]  # fmt: skip
STATUSES = [200, 201, 204, 301, 307, 400, 401, 403, 404, 408, 413, 418, 422, 429, 499, 500, 502, 529, 599]
HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "content-encoding", "location", "x-should-retry", "content-length"]),
    st.sampled_from(["1", "-1", "1e999", "nan", "Mon, 99 Xyz 2026 25:61:61 +9999", "x" * 5000, "gzip", "identity",
                     f"http://me:{KEY}@host/?{KEY}", "//[", "", "9" * 5000]),
    max_size=2,
)  # fmt: skip


@functools.cache
def model_of(api: str) -> tuple[Any, InProcess]:
    """A model, and the stub that it asks without a network."""
    os.environ["HOSTILE_KEY"] = KEY
    stub = InProcess()
    settings: dict[str, Any] = {"key_variable": "HOSTILE_KEY", "base_url": stub.address(api), "retries": 0}
    base = {"openai": OpenAIModel, "anthropic": AnthropicModel}[api]
    client = stub.client(importlib.import_module(api))
    return base("any", http_client=client, prices={"any": Price(1.0, 2.0)}, **settings), stub


def receive(api: str, status: int, headers: dict[str, str], content: bytes) -> Any:
    """The reply; errors are readable, without the key, and account for what was used."""
    model, stub = model_of(api)
    model._refused.clear()
    model._failures = 0
    answer = httpx2.Response(status, headers=headers, stream=httpx2.ByteStream(content))
    stub.cases[:] = [lambda request: answer] * 9
    try:
        reply = model.complete(QUESTION)
    except (ModelError, AccessError) as error:
        check_error(error)
        raise
    json.dumps(asdict(reply), allow_nan=False)
    assert reply.finish in get_args(Finish)
    assert reply.text.strip() or reply.finish not in ("stop", "other")
    check_usage(reply.usage)
    return reply


def check_error(error: Any) -> None:
    text = str(error)
    assert error.kind in FAULT_KINDS
    assert KEY not in text
    assert len(text) < 1000
    assert text.isprintable()
    if isinstance(error, ModelError) and error.usage is not None:
        check_usage(error.usage)


def check_usage(usage: Any) -> None:
    counts = (usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    assert all(type(number) is int and 0 <= number <= 3 * MOST_TOKENS for number in counts)
    assert usage.cached_tokens <= usage.input_tokens
    assert 0 <= usage.dollars < MOST_TOKENS


def answers(api: str) -> Any:
    """An API, a status, headers and the content of an answer, which is changed a little or an error."""
    changed_a_little = changed(ANSWERS[api]) | mangled(json.dumps(ANSWERS[api]))
    content = (changed_a_little | st.sampled_from(ERRORS).flatmap(changed)).map(encoded)
    return st.tuples(st.just(api), st.just(200) | st.sampled_from(STATUSES), HEADERS, content)


@hunt(st.sampled_from(list(ANSWERS)).flatmap(answers), ModelError, AccessError)
def test_answers_and_errors_of_servers(given: Any) -> None:
    receive(*given)


ADDRESSES = ["http://127.0.0.1:8123/v1", "https://me:pw@host/v1?key=x", "OPENAI_API_KEY", KEY]


@hunt(mangled(st.sampled_from(ADDRESSES)) | nested("(", ")", "x"))
def test_keys_are_not_quoted(text: str) -> None:
    assert KEY not in redacted(text[:2000], KEY)
    assert KEY not in redacted(hide_secrets(text)[:2000], KEY)
    for check in (checked_url, checked_variable):
        try:
            check(text)
        except ConfigError as error:
            assert not any(secret in text and secret in str(error) for secret in ("me:pw", KEY))  # noqa: PT017
