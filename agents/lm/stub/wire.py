"""The three JSON interfaces of the stub server: reading requests, and writing answers and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True)
class ParsedRequest:
    """A request, independent of the interface."""

    model: str
    system: str
    user: str
    schema: dict[str, Any] | None
    max_tokens: int

    @property
    def prompt(self) -> str:
        """System and user's prompt as one text."""
        return self.system + self.user


class Answered(NamedTuple):
    """A reply: its text, and "stop", "length" or "refusal"."""

    text: str
    finish: str = "stop"


class WireError(ValueError):
    """A request that a real server would reject."""


class Interface(NamedTuple):
    """One of the three interfaces."""

    fields: frozenset[str]  # the accepted ones: those that we send, and a few more
    read: Callable[[dict[str, Any]], ParsedRequest]
    write: Callable[[ParsedRequest, Answered], dict[str, Any]]


def error_body(path: str, status: int, text: str, code: str | None = None) -> dict[str, Any]:
    """The JSON of an error."""
    if path.endswith("/messages"):
        return {"type": "error", "error": {"type": code or "api_error", "message": text}}
    return {"error": {"message": text, "type": f"error_{status}", "param": None, "code": code}}


def read(path: str, body: Any) -> ParsedRequest:
    """Reads a request.

    Raises:
        WireError: a real server would reject it.
    """
    interface = INTERFACES[path.rpartition("/v1/")[2]]
    if not isinstance(body, dict):
        raise WireError("the body is not a JSON object")
    if unknown := sorted(body.keys() - interface.fields):
        raise WireError(f"Unknown parameter: '{unknown[0]}'.")
    try:
        asked = interface.read(body)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise WireError(f"Missing or wrong parameter: {error}") from error
    is_text = all(isinstance(text, str) for text in (asked.model, asked.system, asked.user))
    if not is_text or not isinstance(asked.max_tokens, int) or not isinstance(asked.schema, dict | None):
        raise WireError("a parameter has the wrong type")
    if not asked.user.strip():
        raise WireError("messages: text content blocks must contain non-whitespace text")
    return asked


def write(path: str, asked: ParsedRequest, answered: Answered) -> dict[str, Any]:
    """The JSON of an answer. The system prompt counts as read from the cache."""
    return INTERFACES[path.rpartition("/v1/")[2]].write(asked, answered)


def streamed(path: str, payload: dict[str, Any]) -> bytes:
    """An answer as the events of a stream, with its whole text in one of them."""
    if path.endswith("/messages"):
        events = _message_events(payload)
    elif path.endswith("/responses"):
        events = [{"type": f"response.{payload['status']}", "sequence_number": 0, "response": payload}]
    else:
        choice = payload["choices"][0]
        chunk = payload | {"object": "chat.completion.chunk", "usage": None}
        part = {"index": 0, "delta": choice["message"], "finish_reason": choice["finish_reason"]}
        events = [chunk | {"choices": [part]}, chunk | {"choices": [], "usage": payload["usage"]}]
    texts = [f"event: {event.get('type', 'chunk')}\ndata: {json.dumps(event)}\n\n" for event in events]
    return "".join((*texts, "data: [DONE]\n\n")).encode("ascii")


def _message_events(payload: dict[str, Any]) -> list[dict[str, Any]]:
    text = payload["content"][-1]["text"]
    end = {"stop_reason": payload["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": payload | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": payload["usage"]["output_tokens"]}},
        {"type": "message_stop"},
    ]


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_A_TOKEN)


def _read_chat(body: dict[str, Any]) -> ParsedRequest:
    system, user = _system_and_user(body["messages"])
    form = body.get("response_format")
    schema = None if form is None else form["json_schema"]["schema"]
    limit = body["max_completion_tokens"] if "max_completion_tokens" in body else body["max_tokens"]
    return ParsedRequest(body["model"], system, user, schema, limit)


def _write_chat(asked: ParsedRequest, answered: Answered) -> dict[str, Any]:
    is_refusal = answered.finish == "refusal"
    message = {"role": "assistant", "content": answered.text, "refusal": None}
    if is_refusal:
        message |= {"content": None, "refusal": answered.text}
    usage = {
        "prompt_tokens": _tokens(asked.prompt),
        "completion_tokens": _tokens(answered.text),
        "total_tokens": _tokens(asked.prompt) + _tokens(answered.text),
        "prompt_tokens_details": {"cached_tokens": _tokens(asked.system)},
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop" if is_refusal else answered.finish}
    head = {"id": "chatcmpl-stub", "object": "chat.completion", "created": 0, "model": asked.model}
    return head | {"choices": [choice], "usage": usage}


def _read_responses(body: dict[str, Any]) -> ParsedRequest:
    system, user = _system_and_user(body["input"])
    form = body.get("text", {}).get("format", {})
    system = body.get("instructions", "") + system
    return ParsedRequest(body["model"], system, user, form.get("schema"), body["max_output_tokens"])


def _write_responses(asked: ParsedRequest, answered: Answered) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "output_text", "text": answered.text, "annotations": []}
    if answered.finish == "refusal":
        part = {"type": "refusal", "refusal": answered.text}
    item = {"type": "message", "id": "msg_stub", "role": "assistant", "status": "completed", "content": [part]}
    is_cut = answered.finish == "length"
    usage = {
        "input_tokens": _tokens(asked.prompt),
        "input_tokens_details": {"cached_tokens": _tokens(asked.system), "cache_write_tokens": 0},
        "output_tokens": _tokens(answered.text),
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": _tokens(asked.prompt) + _tokens(answered.text),
    }
    head = {"id": "resp_stub", "object": "response", "created_at": 0, "model": asked.model, "error": None}
    end = {"reason": "max_output_tokens"} if is_cut else None
    status = {"status": "incomplete" if is_cut else "completed", "incomplete_details": end}
    thinking = {"type": "reasoning", "id": "rs_stub", "summary": []}
    tools: dict[str, Any] = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return head | status | tools | {"output": [thinking, item], "usage": usage}


def _read_messages(body: dict[str, Any]) -> ParsedRequest:
    pieces = [*body.get("system", []), *(piece for message in body["messages"] for piece in message["content"])]
    if any(not piece["text"].strip() for piece in pieces):
        raise WireError("messages: text content blocks must contain non-whitespace text")
    if sum("cache_control" in piece for piece in pieces) > 4:
        raise WireError("A maximum of 4 blocks with cache_control may be provided.")
    user = "".join(_plain(message["content"]) for message in body["messages"])
    schema = body.get("output_config", {}).get("format", {}).get("schema")
    return ParsedRequest(body["model"], _plain(body.get("system", [])), user, schema, body["max_tokens"])


def _write_messages(asked: ParsedRequest, answered: Answered) -> dict[str, Any]:
    cached = _tokens(asked.system)
    usage = {
        "input_tokens": _tokens(asked.prompt) - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": _tokens(answered.text),
    }
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(answered.finish, "refusal")
    head = {"id": "msg_stub", "type": "message", "role": "assistant", "model": asked.model}
    content = [{"type": "thinking", "thinking": "", "signature": ""}, {"type": "text", "text": answered.text}]
    return head | {"content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def _system_and_user(messages: list[dict[str, Any]]) -> tuple[str, str]:
    """The texts of the system and of the user; OpenAI also calls the system "developer"."""
    parts = ["", ""]
    for message in messages:
        parts[message["role"] not in ("system", "developer")] += _plain(message["content"])
    return parts[0], parts[1]


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else "".join(piece["text"] for piece in content)


_SAMPLING = {"model", "temperature", "top_p", "stream"}
_OPENAI = _SAMPLING | {"prompt_cache_key", "store"}
_CHAT = {"messages", "max_tokens", "max_completion_tokens", "response_format", "reasoning_effort", "stream_options"}
INTERFACES = {
    "chat/completions": Interface(
        frozenset(_OPENAI | _CHAT | {"structured_outputs", "grammar", "ebnf"}),  # as vLLM, llama.cpp and SGLang take
        _read_chat,
        _write_chat,
    ),
    "responses": Interface(
        frozenset(_OPENAI | {"input", "instructions", "max_output_tokens", "text", "reasoning", "include"}),
        _read_responses,
        _write_responses,
    ),
    "messages": Interface(
        frozenset(_SAMPLING | {"messages", "system", "max_tokens", "output_config"}), _read_messages, _write_messages
    ),
}
"""The interfaces by the end of their path."""
