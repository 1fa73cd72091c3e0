"""What servers of language models send: answers and errors of all three interfaces, and the settings of models."""

from __future__ import annotations

import copy
import functools
import gzip
import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from agents.lm.errors import FAULT_KINDS, AccessError, ConfigError, ModelError
from agents.lm.models import AnthropicModel, Block, OpenAIModel, Reply, Request, Usage
from agents.lm.models.prices import Price, load_prices
from agents.lm.models.protocol import Finish
from agents.lm.models.providers.answers import MOST_TOKENS
from agents.lm.models.providers.remote import RemoteModel
from agents.lm.models.settings import checked_url, checked_variable, hide_secrets, redacted
from agents.lm.stub.replies import stub_reply
from agents.lm.stub.wire import Answered, read, write
from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import NASTY, mangled, nested, pick

logging.getLogger("agents.lm").addHandler(logging.NullHandler())
logging.getLogger("agents.lm").propagate = False  # every warning is provoked here

KEY = "sk-nobody-may-read-this-0123456789"
os.environ["HOSTILE_KEY"] = KEY
GOOD = 'Peace? {"orders": ["A PAR H"]} é🙂'
QUESTION = Request((Block("You play FRANCE."),), (Block("What now?"),), {"type": "object"}, max_tokens=500)
PRICE = {"any": Price(1.0, 2.0)}
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
LONGEST_ERROR = 1000  # characters

MESSAGE = {"role": "assistant", "content": GOOD, "refusal": None, "reasoning_content": "Hm."}
CHAT = {
    "id": "x", "object": "chat.completion", "created": 1, "model": "any",
    "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}},
}  # fmt: skip
PART = {"type": "output_text", "text": GOOD, "annotations": []}
RESPONSES = {
    "id": "x", "object": "response", "model": "any", "status": "completed", "error": None, "incomplete_details": None,
    "output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": [PART]}],
    "usage": {"input_tokens": 11, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 3}},
}  # fmt: skip
MESSAGES = {
    "id": "x", "type": "message", "role": "assistant", "model": "any", "stop_reason": "end_turn", "stop_sequence": None,
    "content": [{"type": "thinking", "thinking": "Hm.", "signature": ""}, {"type": "text", "text": GOOD}],
    "usage": {"input_tokens": 11, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0, "output_tokens": 7},
}  # fmt: skip
VALID: dict[str, Any] = {"chat": CHAT, "responses": RESPONSES, "messages": MESSAGES}
ERRORS: tuple[Any, ...] = (
    {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": "invalid_request_error", "code": None}},
    {"error": {"message": "Unsupported parameter: 'max_tokens'.", "param": "max_tokens"}},
    {"type": "error", "error": {"type": "overloaded_error", "message": f"Overloaded, said {KEY}"}},
    {"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": "Extra inputs"}]},
    {"object": "error", "message": f"no such model, {KEY}", "code": 404},
    {"error": "top_p"}, "plain words", [], None,
)  # fmt: skip
STATUSES = (
    200, 200, 201, 204, 300, 301, 302, 304, 307, 308, 400, 401, 402, 403, 404, 408, 413, 418, 422, 425, 429, 499,
    500, 502, 503, 529, 599,
)  # fmt: skip
HEADERS = (
    "retry-after", "retry-after-ms", "content-encoding", "location", "x-should-retry", "content-type",
    "set-cookie", "content-length",
)  # fmt: skip
VALUES = (
    "1", "-1", "1e999", "nan", "inf", "1 Jan 99999999999 00:00:00", "Mon, 99 Xyz 2026 25:61:61 +9999",
    "Wed, 21 Oct 2026 07:28:00 GMT", "x" * 5000, "gzip", "br", "identity", "gzip, gzip", "http://127.0.0.1:1/v1",
    f"http://me:{KEY}@host/?{KEY}", "//[", "false", "text/html", "", "\t", "3.5", "9" * 5000,
)  # fmt: skip


class Sent(NamedTuple):
    """What the server sends."""

    api: str
    status: int
    headers: dict[str, str]
    content: bytes
    must_be: str | None = None  # the text of the reply, where nothing that is odd may cost it


@functools.cache
def model_of(api: str) -> tuple[RemoteModel, list[Sent]]:
    """A model whose SDK gets what is put into the list, without a network."""
    sending: list[Sent] = []
    settings: dict[str, Any] = {
        "key_variable": "HOSTILE_KEY",
        "base_url": "http://127.0.0.1:1",
        "retries": 0,
        "prices": PRICE,
    }
    if api != "messages":
        settings["api"] = api
    return _mocked(AnthropicModel if api == "messages" else OpenAIModel, sending)("any", **settings), sending


@functools.cache
def _warm(api: str) -> None:
    """Imports the SDK and makes its client, which is not what is measured."""
    _receive(Sent(api, 200, {}, json.dumps(VALID[api]).encode(), GOOD))


def _mocked(kind: type[RemoteModel], sending: list[Sent]) -> type[RemoteModel]:
    class Mocked(kind):  # type: ignore[misc, valid-type]
        def new_client(self, sdk: Any, **options: Any) -> Any:
            http = self._connection._http
            transport = http.MockTransport(
                lambda request: http.Response(
                    sending[0].status, headers=sending[0].headers, stream=_body(http, sending[0].content)
                )
            )
            hooks = options["http_client"].event_hooks
            return super().new_client(
                sdk, **options | {"http_client": sdk.DefaultAsyncHttpxClient(transport=transport, event_hooks=hooks)}
            )

    return Mocked


def _body(http: Any, content: bytes) -> Any:
    """A body in two pieces, as it comes from a network."""

    class Stream(http.AsyncByteStream):
        async def __aiter__(self) -> Any:
            half = len(content) // 2
            for piece in (content[:half], content[half:]):
                if piece:
                    yield piece

    return Stream()


def _answer(api: str) -> Callable[[np.random.Generator], Sent]:
    def draw(rng: np.random.Generator) -> Sent:
        _warm(api)
        body = copy.deepcopy(VALID[api])
        match int(rng.integers(4)):
            case 0:
                body["usage"] = _odd(rng) if rng.random() < 0.3 else _changed(rng, body["usage"])
                return Sent(api, 200, {}, _written(rng, body), GOOD)
            case 1:
                return Sent(api, 200, {}, _written(rng, _changed(rng, body)))
            case 2:
                return Sent(
                    api,
                    200,
                    {},
                    mangled(rng, json.dumps(body, ensure_ascii=bool(rng.random() < 0.5))).encode(
                        errors="surrogatepass"
                    ),
                )
            case _:
                return _error(api, rng)

    return draw


def _error(api: str, rng: np.random.Generator) -> Sent:
    body = ERRORS[int(rng.integers(len(ERRORS)))]
    content = _written(rng, _changed(rng, copy.deepcopy(body)))
    if rng.random() < 0.3:
        content = mangled(rng, content.decode(errors="replace")).encode(errors="surrogatepass")
    headers = {pick(rng, HEADERS): pick(rng, VALUES) for _ in range(int(rng.integers(3)))}
    if rng.random() < 0.1:
        content = gzip.compress(content if rng.random() < 0.5 else b" " * 2**23, 1)
    return Sent(api, STATUSES[int(rng.integers(len(STATUSES)))], headers, content)


def _written(rng: np.random.Generator, body: Any) -> bytes:
    """JSON, in which whole numbers may be blown up to any length."""
    text = json.dumps(body, ensure_ascii=bool(rng.random() < 0.5))
    if rng.random() < 0.1:
        text = text.replace("11", "1" * int(10 ** rng.uniform(0, 4.5)))
    return text.encode(errors="surrogatepass")


def _changed(rng: np.random.Generator, body: Any) -> Any:
    """A JSON value with one to three of its parts lost, doubled, replaced, or put in boxes."""
    for _ in range(int(rng.integers(1, 4))):
        body = _change(rng, body)
    return body


def _change(rng: np.random.Generator, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value or rng.random() < 0.15:
        return [value] * int(rng.integers(3)) if rng.random() < 0.2 else _odd(rng)
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[int(rng.integers(len(keys)))]
    if rng.random() < 0.15:
        del value[key]
    elif rng.random() < 0.1 and isinstance(value, dict):
        value[pick(rng, ("error", "choices", "output", "content", "type", "thought", "text", "refusal", "param"))] = (
            _odd(rng)
        )
    else:
        value[key] = _change(rng, value[key])
    return value


def _odd(rng: np.random.Generator) -> Any:
    values: tuple[Any, ...] = (
        None, True, False, 0, -1, 12.0, 12.5, 10 ** 30, -10 ** 400, float("nan"), float("inf"), [], {}, [None],
        {"a": 1}, "12", "refusal", "length", {"type": "text", "text": "x"}, [{"type": "text", "text": "x"}],
        {"message": ["x", {"message": "y"}], "code": "429"}, "response_format", "\ud800", {"type": []}, [[]],
        "x" * 3000, "*" * 3000, f"{KEY}!", {"error": {"error": "x"}}, MOST_TOKENS, MOST_TOKENS + 1,
    )  # fmt: skip
    if rng.random() < 0.02:
        value: Any = "deep"
        for _ in range(int(10 ** rng.uniform(0, 2.8))):
            value = {"message": value} if rng.random() < 0.5 else [value]
        return value
    return values[int(rng.integers(len(values)))]


def _receive(sent: Sent) -> None:
    model, sending = model_of(sent.api)
    model.without = frozenset()
    sending[:] = [sent]
    try:
        reply = model.complete(QUESTION)
    except ModelError as error:
        _check_error(error)
        if error.usage is not None:
            _check_usage(error.usage)
        if sent.must_be is not None:
            raise Broken(f"a good answer was lost: {error}") from error
        raise
    except AccessError as error:
        _check_error(error)
        raise
    _check_reply(reply)
    if sent.must_be is not None and reply.text != sent.must_be:
        raise Broken(f"the text was {reply.text!r}")


def _check_error(error: ModelError | AccessError) -> None:
    text = str(error)
    if error.kind not in FAULT_KINDS:
        raise Broken(f"no such kind: {error.kind}")
    if KEY in text or len(text) > LONGEST_ERROR or not text.isprintable():
        raise Broken(f"no text for people: {text!r}")


def _check_reply(reply: Reply) -> None:
    reply.text.encode()
    reply.model.encode()
    json.dumps(asdict(reply), allow_nan=False)
    if reply.finish not in get_args(Finish) or (not reply.text.strip() and reply.finish in ("stop", "other")):
        raise Broken(f"it ended with {reply.finish!r}: {reply.text!r}")
    _check_usage(reply.usage)


def _check_usage(usage: Usage) -> None:
    counts = (usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    if (
        not all(type(number) is int and 0 <= number <= 3 * MOST_TOKENS for number in counts)
        or usage.cached_tokens > usage.input_tokens
    ):
        raise Broken(f"nobody can have used {usage}")
    if usage.dollars is None or not 0 <= usage.dollars < MOST_TOKENS:
        raise Broken(f"nobody pays {usage.dollars} dollars")


ITEMS = {"type": "array", "items": {"type": "integer"}, "minItems": 1}
SCHEMA = {"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": ITEMS, "c": {"$ref": "#/properties/a"}}}
FORM = {"type": "json_schema", "name": "reply", "schema": SCHEMA}
ASKED = [{"role": "system", "content": "You."}, {"role": "user", "content": "What now? JSON: A PAR H"}]
PIECES = [{"type": "text", "text": "What now?"}]
REQUESTS: Mapping[str, Any] = {
    "chat": {
        "model": "any", "messages": ASKED, "max_tokens": 9,
        "response_format": {"type": "json_schema", "json_schema": FORM},
    },
    "responses": {
        "model": "any", "instructions": "You.", "input": [ASKED[1]], "max_output_tokens": 9, "text": {"format": FORM},
    },
    "messages": {
        "model": "any", "system": PIECES, "messages": [{"role": "user", "content": PIECES}], "max_tokens": 9,
        "output_config": {"format": FORM},
    },
}  # fmt: skip


def _request(rng: np.random.Generator) -> tuple[str, Any]:
    api = pick(rng, tuple(PATHS))
    return PATHS[api], _changed(rng, copy.deepcopy(REQUESTS[api]))


def _ask_stub(given: tuple[str, Any]) -> None:
    path, body = given
    asked = read(path, body)
    json.dumps(write(path, asked, Answered(stub_reply(asked.prompt, asked.schema))))


def _setting(rng: np.random.Generator) -> str:
    texts = (
        "http://127.0.0.1:8123/v1",
        "https://me:pw@host/v1?key=x",
        "OPENAI_API_KEY",
        "lm:openai/x,base_url=http://h/v1,key_variable=MY_KEY",
        KEY,
    )
    if rng.random() < 0.05:
        return nested(rng, pick(rng, NASTY), pick(rng, NASTY), "x")[:200_000]
    return mangled(rng, pick(rng, texts))


def _set(text: str) -> None:
    hidden = redacted(text[:2000], KEY)
    if KEY in hidden or KEY in redacted(hide_secrets(text)[:2000], KEY):
        raise Broken("the key is told")
    for check in (checked_url, checked_variable):
        try:
            check(text)
        except ConfigError as error:
            if any(secret in text and secret in str(error) for secret in ("me:pw", KEY)):
                raise Broken("what may be secret is quoted") from error


PRICES = (
    '{"any": {"input": 0.5, "cached": 0.05, "written": 0.6, "output": 2.0, "up_to": 200000}, '
    '"other": {"input": 1, "output": 2}}'
)


def _price_file(rng: np.random.Generator) -> bytes:
    if rng.random() < 0.5:
        return _written(rng, _changed(rng, json.loads(PRICES)))
    return mangled(rng, PRICES).encode(errors="surrogatepass")


def _load_prices(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "prices.json"
        path.write_bytes(content)
        for price in load_prices(path).values():
            dollars = price.dollars(1, 1, 1, 1)
            if dollars is not None and not 0 <= dollars < float("inf"):
                raise Broken(f"a token costs {dollars}")


DOORS = [
    *(Door(f"answers, {api}", _answer(api), _receive, (ModelError, AccessError), 22_000) for api in PATHS),
    Door("requests to the stub", _request, _ask_stub, (ValueError,), 15_000),
    Door("addresses and keys", _setting, _set, (), 15_000),
    Door("files of prices", _price_file, _load_prices, (ConfigError,), 5_000),
]
