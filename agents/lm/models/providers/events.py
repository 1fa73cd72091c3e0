"""Answers that come as an event stream although none was asked for: some servers and proxies always stream.

The events are assembled into the answer that the interface promises without streaming.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

INPUTS = ("arguments", "input", "parameters")
"""Where servers put the input of a tool call."""

_LONGEST_NUMBER = 30  # digits
_TEXTS = ("content", "reasoning_content", "reasoning", "thinking", "reasoning_details", "refusal")
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}  # Anthropic's


def _integer(digits: str) -> int | float:
    """A whole number of any length; Python refuses to parse thousands of digits."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


DECODER = json.JSONDecoder(parse_int=_integer, strict=False)
"""Reads numbers of any length, and line breaks in strings."""


def field(value: Any, name: str) -> Any:
    """A field of a JSON object; None if it is missing, or the value is not an object."""
    return value.get(name) if isinstance(value, dict) else None


def is_stream(text: str) -> bool:
    """Whether a body is an event stream; its comments begin with a colon."""
    return text.lstrip().startswith(("data:", "event:", ":", "id:", "retry:"))


def streamed(text: str) -> list[Any]:
    """The JSON of the events in a stream.

    Raises:
        ValueError, RecursionError: an event is not JSON.
    """
    lines = (line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:"))
    found = [DECODER.decode(line) for line in lines if line and line != "[DONE]"]
    # after a stream's comments some proxies send the answer as it is
    rest = "\n".join(line for line in text.splitlines() if line.startswith("{"))
    return found or ([DECODER.decode(rest)] if rest else [])


def whole(events: list[Any]) -> Any:
    """The answer assembled from its events; if that fails, they stay a list, which no interface allows.

    A stream that breaks off has no finish reason, and stays a list, too: the answer is incomplete.
    """
    if len(events) == 1:
        return events[0]
    failed = next((event for event in events if field(event, "error")), None)
    if failed is not None:
        return failed
    done = [
        event["response"] for event in events if field(event, "type") in ("response.completed", "response.incomplete")
    ]
    if done:
        return done[-1]
    if answers := [event for event in events if _is_answer(event)]:
        return answers[-1]  # the other events only keep the connection open
    if any(field(event, "type") == "message_start" for event in events):
        return _message(events) if any(field(event, "type") == "message_stop" for event in events) else events
    return _chat(events)


def _is_answer(event: Any) -> bool:
    """Whether it is a whole answer of one of the three interfaces."""
    choices = field(event, "choices")
    if isinstance(choices, list) and choices:
        return field(choices[0], "message") is not None
    return any(isinstance(field(event, name), list) and field(event, name) for name in ("content", "output"))


def _chat(events: list[Any]) -> Any:
    """OpenAI's chat chunks as one answer."""
    choices = [each[0] for event in events if (each := field(event, "choices")) and isinstance(each, list)]
    choices = [choice for choice in choices if not field(choice, "index")]
    ends = [end for choice in choices if (end := field(choice, "finish_reason"))]
    if not ends:
        return events
    deltas = [_delta(choice) for choice in choices]
    message: dict[str, Any] = {name: _content([field(delta, name) for delta in deltas]) for name in _TEXTS}
    message["tool_calls"] = _calls(deltas)
    choice = {"message": message, "finish_reason": ends[-1]}
    return {"choices": [choice], "model": _last(events, "model"), "usage": _last(events, "usage")}


def _delta(choice: Any) -> dict[str, Any]:
    """What a chunk adds to the message; in the older completions interface it is a text."""
    delta = field(choice, "delta")
    return delta if isinstance(delta, dict) else {"content": field(choice, "text")}


def _content(pieces: list[Any]) -> Any:
    """A text that comes in pieces, or the list of its parts: some servers send lists and objects."""
    given = [piece for piece in pieces if piece]
    if all(isinstance(piece, str) for piece in given):
        return _joined(given)
    if len(given) == 1:
        return given[0]
    return [part for piece in given for part in (piece if isinstance(piece, list) else [piece])]


def _calls(deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tool calls; their arguments are texts, which come in pieces, or whole objects."""
    texts: dict[Any, str] = {}
    objects: list[Any] = []
    for call in (call for delta in deltas for call in delta.get("tool_calls") or [delta.get("function_call")]):
        inner = field(call, "function") or call
        given = next((each for name in INPUTS if (each := field(inner, name))), "")
        if isinstance(given, str):
            texts[field(call, "index")] = texts.get(field(call, "index"), "") + given
        else:
            objects.append(given)
    return [{"function": {"arguments": given}} for given in (*texts.values(), *objects) if given]


def _message(events: list[Any]) -> dict[str, Any]:
    """Anthropic's events as one message."""
    (start, *_) = (event["message"] for event in events if field(event, "type") == "message_start")
    parts: dict[Any, dict[str, Any]] = {}
    end: Mapping[str, Any] = {}
    for event in events:
        kind, delta = field(event, "type"), field(event, "delta")
        if kind == "content_block_start":
            parts[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta" and field(delta, "type") in _PIECES:
            part, name = parts[event["index"]], _PIECES[delta["type"]]
            part[name] = part.get(name, "") + delta[name]
        elif kind == "message_delta":
            end = event
    for part in parts.values():
        if "partial_json" in part:
            part["input"] = part.pop("partial_json")
    usage = (start.get("usage") or {}) | (end.get("usage") or {})
    return dict(start) | (end.get("delta") or {}) | {"content": list(parts.values()), "usage": usage}


def _joined(texts: Iterable[Any]) -> str:
    return "".join(text for text in texts if isinstance(text, str))


def _last(events: list[Any], name: str) -> Any:
    return next((found for event in reversed(events) if (found := field(event, name))), None)
