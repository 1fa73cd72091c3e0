"""Servers that do what they should not: the real SDKs, against a server on this machine, with short limits of time.

Good answers in forms that no interface promises are paid for, so none is lost, nor asked for twice.
"""

import asyncio
import gzip
import json
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import Any

import pytest

from agents.lm.errors import AccessError, ModelError
from agents.lm.models import AnthropicModel, Block, Model, OpenAIModel, Reply, Request
from agents.lm.models.limits import Clock
from agents.lm.models.providers.faults import status_fault
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.reading.parsing import parse
from tests.agents.lm import faulty
from tests.agents.lm.faulty import BOMB, FaultyServer, Script, says, wire
from welfare_env import Game

Ask = Callable[[Model, Request], Reply]
Start = Callable[..., RemoteModel]

QUESTION = Request(
    (Block("You play FRANCE."),), (Block("What now?"),), {"type": "object", "properties": {}}, max_tokens=500
)
GOOD = '{"orders": ["A PAR H"]}'
SOON = 60.0  # seconds; without a limit these servers would go on for ever


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer(says({})) as running:
        yield running


@pytest.fixture
def connect(server: FaultyServer) -> Iterator[Start]:
    """connect(api, script, **settings): a model whose server does what the script says."""
    made: list[RemoteModel] = []

    def make(api: str, script: Script, scheme: str = "http", **settings: Any) -> RemoteModel:
        server.script = script
        settings = {"base_url": server.address(api, scheme), "retries": 0, "timeout": 20.0, "clock": Clock()} | settings
        kind = AnthropicModel("any", **settings) if api == "messages" else OpenAIModel("any", api=api, **settings)
        made.append(kind)
        return kind

    yield make
    for model in made:
        model.close()


def failure(model: RemoteModel, ask: Ask = RemoteModel.complete) -> ModelError | AccessError:
    with pytest.raises((ModelError, AccessError)) as caught:
        ask(model, QUESTION)
    return caught.value


ODD_NUMBERS = ["12", 12.5, -1, -(10**30), 10**30, True, None, [], {}, [12], float("nan"), float("inf"), ""]
ODD_USAGES = [None, {}, [], "12", 12, True, {"tokens": 12}, [{"prompt_tokens": 1}], {"prompt_tokens": {}}]


class TestUsage:
    def test_what_is_odd_never_fails_an_answer(
        self, api: str, connect: Start, server: FaultyServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Bytes are counted in its place, and that is said once."""
        prompt, output = faulty.USAGE[api]
        odd = [{prompt: number, output: 7} for number in (0, *ODD_NUMBERS)]
        odd += [{prompt: 11, output: number} for number in (0, *ODD_NUMBERS)] + ODD_USAGES
        model = connect(api, says(*[wire(api, [{"type": "text", "text": GOOD}], usage=usage) for usage in odd]))
        most = len(QUESTION.prompt.encode()) + len(json.dumps(QUESTION.schema)) + 100
        for usage in odd:
            reply = model.complete(QUESTION)
            assert (reply.text, reply.attempts, reply.faults) == (GOOD, 1, ()), usage
            assert (reply.usage.input_tokens, reply.usage.output_tokens) == (most, len(GOOD)), usage
        assert sum("no plausible usage" in record.message for record in caplog.records) == 1

    def test_odd_details_are_none(self, api: str, connect: Start) -> None:
        details = {"chat": "prompt_tokens_details", "responses": "input_tokens_details", "messages": ""}[api]
        names = {"messages": ("cache_read_input_tokens", "cache_creation_input_tokens")}.get(
            api, ("cached_tokens", "cache_write_tokens")
        )
        odd = [dict.fromkeys(names, number) for number in ODD_NUMBERS]
        told = [{details: found} if details else found for found in [*odd, *([] if api == "messages" else ODD_USAGES)]]
        usages = [faulty.USAGE[api] | found for found in told]
        model = connect(api, says(*[wire(api, [{"type": "text", "text": GOOD}], usage=usage) for usage in usages]))
        for usage in usages:
            used = model.complete(QUESTION).usage
            assert (used.input_tokens, used.cached_tokens, used.output_tokens) == (11, 0, 7), usage

    def test_whole_numbers_may_have_a_point(self, api: str, connect: Start) -> None:
        usage = {name: float(number) for name, number in faulty.USAGE[api].items()}
        used = connect(api, says(wire(api, [{"type": "text", "text": GOOD}], usage=usage))).complete(QUESTION).usage
        assert (used.input_tokens, used.output_tokens) == (11, 7)


CALLS: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"content": None, "tool_calls": [{"type": "function", "function": {"name": "reply", "arguments": GOOD}}]},
        {"content": "", "tool_calls": [{"function": {"name": "reply", "arguments": json.loads(GOOD)}}]},
        {"content": None, "function_call": {"name": "reply", "arguments": GOOD}},
        {
            "content": None,
            "tool_calls": [None, 3, {}, {"function": 3}, {"name": "reply", "parameters": json.loads(GOOD)}],
        },
    ],
    "responses": [{"type": "function_call", "name": "reply", "arguments": GOOD}],
    "messages": [{"type": "tool_use", "id": "x", "name": "reply", "input": json.loads(GOOD)}],
}


def test_an_answer_in_a_tool_call(api: str, connect: Start) -> None:
    """Though no tool was offered."""
    for call in CALLS[api]:
        body = wire(api, [call] if api == "messages" else [])
        if api == "chat":
            body["choices"] = [{"index": 0, "message": {"role": "assistant", **call}, "finish_reason": "tool_calls"}]
        elif api == "responses":
            body["output"] = [call]
        else:
            body["stop_reason"] = "tool_use"
        reply = connect(api, says(body)).complete(QUESTION)
        assert parse(reply.text, Game().view("FRANCE")).orders == ["A PAR H"]
        assert (reply.finish, reply.attempts) == ("stop", 1)


PARTS = [
    GOOD,
    [GOOD],
    [{"type": "output_text", "text": GOOD, "annotations": []}],
    [{"text": GOOD}],
    [{"type": "text", "text": GOOD[:9]}, {"type": "text", "text": GOOD[9:]}],
    [None, 3, {}, {"type": "text"}, {"type": [], "text": "x"}, {"type": "text", "text": GOOD}],
]


class TestParts:
    def test_texts_are_joined_and_nothing_else(self, api: str, connect: Start) -> None:
        model = connect(api, says(*[wire(api, parts) for parts in PARTS]))
        for parts in PARTS:
            assert model.complete(QUESTION).text == GOOD, parts

    def test_thinking_alone_is_no_answer(self, api: str, connect: Start) -> None:
        body = wire(api, [{"type": "thinking", "thinking": "Hm."}], output_text="")
        if api == "chat":
            body["choices"][0]["message"] |= {"content": None, "reasoning_content": "Hm."}
        assert failure(connect(api, says(body))).kind == "empty"

    def test_a_refusal_among_parts(self, api: str, connect: Start) -> None:
        if api == "messages":
            body = wire(api, [{"type": "text", "text": "No."}], stop_reason="refusal")
        else:
            body = wire(api, [{"type": "refusal", "refusal": "No."}])
        reply = connect(api, says(body)).complete(QUESTION)
        assert (reply.text, reply.finish) == ("No.", "refusal")

    @pytest.mark.parametrize("odd", [None, 7, [], {}, "nobody knows this", True])
    def test_odd_ends_and_names_do_not_matter(self, odd: Any, api: str, connect: Start) -> None:
        body = wire(api, [{"type": "text", "text": GOOD}], model=odd, stop_reason=odd, incomplete_details=odd)
        if api == "chat":
            body["choices"][0]["finish_reason"] = odd
        reply = connect(api, says(body)).complete(QUESTION)
        assert reply.text == GOOD
        assert reply.finish in ("stop", "other")

    @pytest.mark.parametrize("content", [7, {}, True])
    def test_what_is_no_content(self, content: Any, api: str, connect: Start) -> None:
        assert failure(connect(api, says(wire(api, content)))).kind == "malformed"


class TestErrorsInAnswers:
    """An error in the body of an answer whose status says that all is well."""

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            ({"message": "Too fast", "code": 429}, "rate limit"),
            ({"message": "Overloaded", "type": "overloaded_error"}, "server"),
            ({"message": "No such model", "type": "invalid_request_error", "code": "model_not_found"}, "not found"),
            ({"message": "Pay first", "code": "insufficient_quota"}, "quota"),
            ({"message": "Wrong key", "type": "authentication_error"}, "authentication"),
            ({"message": "This model's maximum context length is 9", "code": 400}, "too long"),
            ("something broke", "server"),
            (7, "server"),
        ],
    )
    def test_they_are_told_apart(self, error: Any, kind: str, api: str, connect: Start) -> None:
        failed = failure(connect(api, says({"error": error})))
        assert failed.kind == kind
        assert "HTTP 200, but the answer is an error" in str(failed)
        assert "HTTP 500" not in str(failed)

    def test_of_a_choice_and_of_a_whole_body(self, connect: Start) -> None:
        body = wire("chat", "")
        body["choices"][0]["error"] = {"code": 502, "message": "the provider went away"}
        assert "the provider went away" in str(failure(connect("chat", says(body))))
        body = {"object": "error", "message": "no such model", "code": 404}
        assert failure(connect("chat", says(body))).kind == "not found"

    @pytest.mark.parametrize("nothing", [None, "", 0, False, {}, [], {"code": None, "message": ""}])
    def test_none_is_none(self, nothing: Any, api: str, connect: Start) -> None:
        body = wire(api, [{"type": "text", "text": GOOD}], error=nothing)
        assert connect(api, says(body)).complete(QUESTION).text == GOOD


class TestTime:
    """One limit for all of a try, whatever the server does meanwhile."""

    @pytest.mark.parametrize(
        "script",
        [faulty.drips_headers, faulty.drips_status, faulty.drips_body, faulty.drips_error, faulty.says_nothing],
        ids=lambda script: script.__name__,
    )
    def test_bytes_that_come_and_come(self, script: Script, sdk: str, connect: Start, ask: Ask) -> None:
        started = time.monotonic()
        failed = failure(connect(sdk, script, timeout=0.2), ask)
        assert failed.kind == "timeout"
        assert "no whole answer within 0.2 s" in str(failed)
        assert time.monotonic() - started < SOON

    def test_a_handshake_that_never_ends(self, sdk: str, connect: Start, ask: Ask) -> None:
        started = time.monotonic()
        model = connect(sdk, faulty.drips_handshake, "https", timeout=0.2)
        assert failure(model, ask).kind in ("unreachable", "timeout")
        assert time.monotonic() - started < SOON

    def test_a_thread_and_an_event_loop_at_once(self, connect: Start) -> None:
        """Threads may ask from within a loop: theirs is another one."""
        model = connect("chat", says(wire("chat", GOOD)))

        async def main() -> list[str]:
            own = await model.acomplete(QUESTION)
            other = await asyncio.to_thread(model.complete, QUESTION)
            blocking = model.complete(QUESTION)
            await model.aclose()
            return [own.text, other.text, blocking.text]

        assert asyncio.run(main()) == [GOOD] * 3


class TestSize:
    @pytest.mark.parametrize(
        ("script", "kind"),
        [
            (says(BOMB, headers="content-encoding: gzip\r\n"), "too long"),
            (says(b"x" * 99, headers="content-encoding: gzip\r\n"), "malformed"),
        ],
    )
    def test_what_is_too_long_or_badly_packed(self, script: Script, kind: str, sdk: str, connect: Start) -> None:
        assert failure(connect(sdk, script)).kind == kind

    def test_an_answer_may_be_packed(self, sdk: str, connect: Start) -> None:
        packed = gzip.compress(json.dumps(wire(sdk, [{"type": "text", "text": GOOD}])).encode())
        script = says(packed, headers="content-encoding: gzip\r\n")
        assert connect(sdk, script).complete(QUESTION).text == GOOD


class TestRedirects:
    """Neither a question nor a key goes to a server that nobody has named."""

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_nothing_is_sent_on(self, status: int, sdk: str, connect: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROUTER_KEY", "a-secret-of-mine")
        with FaultyServer(says(wire(sdk, GOOD))) as other:
            target = other.address(sdk) + "/elsewhere"
            script = says({}, status=status, headers=f"location: {target}\r\n")
            failed = failure(connect(sdk, script, key_variable="ROUTER_KEY"))
        assert other.heads == []
        assert (type(failed), failed.kind) == (AccessError, "not found")
        assert f"the server sends us on to {target}" in str(failed)

    @pytest.mark.parametrize("target", ["http://[", "//user:pw@host", "\x7f", ""])
    def test_to_nowhere(self, target: str, connect: Start) -> None:
        failed = failure(connect("chat", says({}, status=302, headers=f"location: {target}\r\n")))
        assert failed.kind == "not found"
        assert "pw" not in str(failed)


class TestTypesAndBodies:
    @pytest.mark.parametrize("kind", ["text/html", "application/octet-stream", "", "text/event-stream", "nonsense"])
    def test_what_an_answer_is_called_does_not_matter(self, kind: str, sdk: str, connect: Start) -> None:
        async def script(connection: faulty.Connection) -> None:
            await connection.read()
            content = json.dumps(wire(sdk, GOOD)).encode()
            head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n\r\n"
            await connection.send(head.encode() + content)

        assert connect(sdk, script).complete(QUESTION).text == GOOD

    @pytest.mark.parametrize(
        "body", [b"", b"null", b"[]", b"7", b'"x"', b"{", b"[" * 10**5, b'{"a":' * 10**5, b"\xff\xfe", b"data: {}\n\n"]
    )
    def test_what_is_no_answer(self, body: bytes, sdk: str, connect: Start) -> None:
        assert failure(connect(sdk, says(body))).kind == "malformed"

    @pytest.mark.parametrize("cut", [None, 0.0, 0.5])
    def test_bodies_that_break_off_and_what_is_no_http(self, cut: float | None, sdk: str, connect: Start) -> None:
        content = json.dumps(wire(sdk, GOOD)).encode()

        async def script(connection: faulty.Connection) -> None:
            await connection.read()
            if cut is None:
                await connection.send(b"SSH-2.0-OpenSSH_9.9\r\n")
            else:
                await connection.answer(content[: int(cut * len(content))], length=len(content))

        assert failure(connect(sdk, script)).kind == "connection"


class TestErrors:
    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ({"detail": [{"loc": ["body", "effort"], "msg": "Extra inputs"}]}, "body.effort: Extra inputs"),
            ({"message": {"detail": [{"msg": "no"}]}, "object": "error"}, "no"),
            (b"<html>no</html>", "<html>no</html>"),
            ({"error": {"message": ["a", {"message": "b"}]}}, "a; b"),
            ({"error": {"message": 'key "sk-***" is "***"'}}, 'key "[key]" is "[key]"'),
        ],
    )
    def test_their_words_are_found(self, body: Any, said: str, connect: Start) -> None:
        assert f"HTTP 400: {said}" in str(failure(connect("chat", says(body, status=400))))

    def test_a_long_one_is_told_in_time(self, connect: Start) -> None:
        """What looks for keys in it must not look at all of it."""
        started = time.process_time()
        for status in (200, 400):
            failure(connect("chat", says({"error": {"message": "x*" * 10**6}}, status=status)))
        assert time.process_time() - started < 15

    @pytest.mark.parametrize("level", [5, 500, 900])
    def test_boxes_in_boxes(self, level: int) -> None:
        body: Any = "deep"
        for _ in range(level):
            body = {"message": [body]}
        assert status_fault(400, {}, {"error": body}).text == "HTTP 400"


class TestParameters:
    """What a server does not take is left out, or sent by another name, and told once."""

    def refusing(self, api: str, says_no: Callable[[dict[str, Any]], Any], status: int = 400) -> Script:
        async def script(connection: faulty.Connection) -> None:
            error = says_no(await connection.read())
            await connection.answer(error or wire(api, GOOD), status if error else 200, "connection: close\r\n")

        return script

    @pytest.mark.parametrize(
        ("status", "error"),
        [
            (400, {"error": {"message": "'response_format' of type 'json_schema' is not supported with this model."}}),
            (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": "Extra inputs"}]}),
            (404, {"error": {"message": "No endpoints found that support the parameters: response_format"}}),
            (500, {"error": {"message": "failed to parse grammar"}}),
            (400, {"error": {"message": "output_config.format: Extra inputs are not permitted"}}),
        ],
    )
    def test_a_schema_that_is_refused(
        self, status: int, error: Any, api: str, connect: Start, server: FaultyServer,
        caplog: pytest.LogCaptureFixture,
    ) -> None:  # fmt: skip
        def says_no(body: dict[str, Any]) -> Any:
            return error if {"response_format", "text", "output_config"} & body.keys() else None

        model = connect(api, self.refusing(api, says_no, status))
        for _ in range(3):
            reply = model.complete(QUESTION)
            assert (reply.text, reply.attempts, reply.faults) == (GOOD, 1, ())
        assert len(server.heads) == 4
        assert sum("does not take the schema" in record.message for record in caplog.records) == 1

    @pytest.mark.parametrize("is_own", [False, True])
    def test_the_other_name_of_the_limit(
        self, is_own: bool, connect: Start, server: FaultyServer, monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:  # fmt: skip
        first, second = ("max_tokens", "max_completion_tokens")[:: -1 if is_own else 1]
        asked: list[int] = []

        def says_no(body: dict[str, Any]) -> Any:
            asked.append(body.get(second, 0))
            text = f"Unsupported parameter: '{first}' is not supported with this model. Use '{second}' instead."
            return {"error": {"message": text, "param": first}} if first in body else None

        if is_own:
            monkeypatch.setenv("OPENAI_API_KEY", "mine")
            monkeypatch.setattr(OpenAIModel, "URL", server.address("chat"))
        model = connect("chat", self.refusing("chat", says_no))
        assert [model.complete(QUESTION).text for _ in range(2)] == [GOOD] * 2
        assert asked == [0, 500, 500]
        assert sum(f"{second} is sent in its place" in record.message for record in caplog.records) == 1

    def test_a_server_that_takes_neither(self, connect: Start, server: FaultyServer) -> None:
        def says_no(body: dict[str, Any]) -> Any:
            name = next(name for name in body if name.startswith("max_"))
            return {"error": {"message": f"Unknown parameter: {name}"}}

        failed = failure(connect("chat", self.refusing("chat", says_no)))
        assert "Unknown parameter: max_completion_tokens" in str(failed)
        assert len(server.heads) == 2

    def test_a_limit_that_is_too_high_is_not_renamed(self, connect: Start, server: FaultyServer) -> None:
        error = {"error": {"message": "max_tokens must be at most 100", "param": "max_tokens"}}
        assert "at most 100" in str(failure(connect("chat", self.refusing("chat", lambda body: error))))
        assert len(server.heads) == 1

    def test_an_effort_that_is_refused_is_an_error(self, connect: Start, server: FaultyServer) -> None:
        """It was asked for by name."""
        error = {"error": {"message": "output_config.effort: not for this model"}}
        model = connect("messages", self.refusing("messages", lambda body: error), effort="low")
        assert "not for this model" in str(failure(model))
        assert len(server.heads) == 1


# Good answers in odd forms.


def read(connect: Start, api: str, script: Script, attempts: int = 1) -> Reply:
    reply = connect(api, script, retries=3, backoff=0.001).complete(QUESTION)
    assert reply.attempts == attempts, reply.faults
    assert parse(reply.text, Game().view("FRANCE")).orders == ["A PAR H"]
    return reply


def body(api: str, text: str = GOOD, **changes: Any) -> dict[str, Any]:
    return wire(api, [{"type": "text", "text": text}], **changes)


RAW = {
    "an invalid byte": lambda text: text.replace(b"PAR H", b"PAR H").replace(b'"any"', b'"a\xffny"'),
    "an invalid byte in the text": lambda text: text.replace(b"{\\", b"\xff{\\"),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "raw line breaks in a text": lambda text: text.replace(b"{\\", b"\n\t{\\"),
    "keys that come twice": lambda text: text.replace(b'"model"', b'"model": null, "model"'),
    "blanks to keep the connection": lambda text: b"\n \n" * 500 + text + b"\n\n",
    "no number": lambda text: text.replace(b'"model"', b'"logprobs": NaN, "model"'),
    "text in surrogates": lambda text: text.replace(b"{\\", b"\\ud83d\\ude00\\ud83d{\\"),
}


@pytest.mark.parametrize("name", RAW)
def test_bytes_that_are_no_proper_json(connect: Start, api: str, name: str) -> None:
    changed = RAW[name](json.dumps(body(api)).encode())
    assert changed != json.dumps(body(api)).encode()
    read(connect, api, says(changed))


FORMS: dict[str, dict[str, Any]] = {
    "a part in no list": {"message": {"content": {"type": "text", "text": GOOD}}},
    "the piece of a stream": {"delta": {"content": GOOD}},
    "the older completions": {"text": GOOD},
    "an unknown end": {"message": {"content": GOOD}, "finish_reason": "eos"},
    "no end": {"message": {"content": GOOD}, "finish_reason": None},
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_a_choice(connect: Start, name: str) -> None:
    changed = wire("chat", GOOD, choices=[{"index": 0, "finish_reason": "stop"} | FORMS[name]], model=None)
    assert read(connect, "chat", says(changed)).model == ""


@pytest.mark.parametrize("coding", ["utf-8", "none", "identity"])
def test_an_encoding_that_is_none(connect: Start, coding: str) -> None:
    read(connect, "chat", says(body("chat"), headers=f"content-encoding: {coding}\r\n"))


@pytest.mark.parametrize("status", [200, 201, 202, 203])
def test_any_status_of_success(connect: Start, status: int) -> None:
    read(connect, "chat", says(body("chat"), status=status))


async def extended_chunks(connection: faulty.Connection) -> None:
    """Chunks with extensions, and a trailer after the last."""
    await connection.read()
    content = json.dumps(body("chat")).encode()
    await connection.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-time\r\n\r\n")
    await connection.send(f"{len(content):x};signature=abc\r\n".encode() + content + b"\r\n0\r\nx-time: 3\r\n\r\n")


def test_chunks_with_extensions_and_a_trailer(connect: Start) -> None:
    read(connect, "chat", extended_chunks)


BEFORE: dict[str, tuple[int, Any, str]] = {
    "408": (408, {}, ""),
    "425": (425, {}, ""),
    "429 until a date": (429, {}, f"retry-after: {formatdate(time.time() - 5, usegmt=True)}\r\n"),
    "an error with 200": (200, {"error": {"message": "try again", "code": 503}}, ""),
    "no choices": (200, {"model": "any", "choices": [], "usage": faulty.USAGE["chat"]}, ""),
    "null": (200, b"null", ""),
    "half of a gzip": (200, gzip.compress(json.dumps(body("chat")).encode())[:-30], "content-encoding: gzip\r\n"),
}


@pytest.mark.parametrize("name", BEFORE)
def test_a_good_answer_after_a_bad_one(connect: Start, name: str) -> None:
    status, content, headers = BEFORE[name]
    good = says(body("chat"))
    asked: list[None] = []

    async def script(connection: faulty.Connection) -> None:
        asked.append(None)
        if len(asked) > 1:
            await good(connection)
            return
        await connection.read()
        await connection.answer(content, status, f"connection: close\r\n{headers}")

    read(connect, "chat", script, attempts=2)
