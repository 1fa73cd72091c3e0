"""The body of an answer: from its bytes to the JSON that the interface promises.

Mistakes of servers and proxies are tolerated where possible, since the answer is paid for.
"""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from typing import Any

from agents.lm.models.providers.events import DECODER, is_stream, streamed, whole
from agents.lm.models.providers.faults import Fault, clean

MAX_REPLY_BYTES = 4 * 2**20
"""Limit of an answer, several times the longest reply of any model; longer answers are cut off."""

_PACKED = (b"\x1f\x8b", b"x\x01", b"x\x9c", b"x\xda")  # the first bytes of gzip, and of zlib; no JSON begins so
_ANY_FORMAT = 47  # zlib's code for both
_PIECE = 2**12  # bytes unpacked at a time: what follows a member is copied, and members can be tiny
_MOST_TIMES_PACKED = 3  # some proxies compress the answer again
_BEGINNING = re.compile(r"[{\[\"]")
_BETWEEN = re.compile(r"[\s,\x1e]*")
_ENVELOPES = ("response", "result", "data", "body")
_KEYS = ("choices", "content", "output")  # of answers of the three interfaces


def unpacked(content: bytes) -> bytes:
    """A body, decompressed if it is compressed, whatever its headers say.

    Raises:
        Fault: the body is too long, or cannot be decompressed.
    """
    for _ in range(_MOST_TIMES_PACKED):
        content = _unpacked_once(content) or content
    return content


def _unpacked_once(content: bytes) -> bytes:
    """The plain bytes of all members (gzip may have several); b"" if the content is not compressed."""
    plain, at = bytearray(), 0
    while content.startswith(_PACKED, at):
        packer = zlib.decompressobj(_ANY_FORMAT)
        while at < len(content) and not packer.eof:
            piece = content[at : at + _PIECE]
            try:
                plain += packer.decompress(piece, MAX_REPLY_BYTES + 1 - len(plain))
            except zlib.error as error:
                raise Fault("malformed", f"the answer of {len(content)} bytes cannot be unpacked: {error}") from None
            if len(plain) > MAX_REPLY_BYTES:
                raise Fault("too long", f"the answer is longer than {MAX_REPLY_BYTES} bytes")
            at += len(piece) - len(packer.unused_data)
    return bytes(plain)


def is_whole(content: bytes) -> bool:
    """Whether a body that broke off, or did not end in time, contains a complete answer."""
    try:
        return isinstance(parsed(content), dict)
    except Fault:
        return False


def parsed(content: bytes) -> Any:
    """The JSON of an answer.

    Bytes that are not UTF-8 are replaced, and line breaks in strings are allowed. It also handles JSON within a JSON
    string, several values in a row, text before and after them, envelopes, HTML pages and event streams.

    Raises:
        Fault: the answer is not JSON.
    """
    text = content.decode(json.detect_encoding(content), errors="replace")
    try:
        payload = whole(streamed(text) if is_stream(text) else _found(text))
        return _opened(payload)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise Fault("malformed", f"the answer of {len(content)} bytes is not JSON: {clean(str(error))}") from None


def _found(text: str) -> list[Any]:
    """The JSON values in a text, which may be an HTML page.

    Raises:
        ValueError, RecursionError: the first value is incomplete.
    """
    try:
        return _values(text)
    except ValueError:
        begin = max(text.find("{"), 0)
        return _values(html.unescape(text[begin:]) if "&quot;" in text else text[begin:])


def _values(text: str) -> list[Any]:
    """The JSON values in a text, one after the other, from the first character that may begin one.

    Raises:
        ValueError, RecursionError: the first value is incomplete.
    """
    begin = _BEGINNING.search(text)
    if begin is None:
        return [DECODER.decode(text)]
    value, at = DECODER.raw_decode(text, begin.start())
    values = [value]
    while (at := _end(_BETWEEN, text, at)) < len(text) and text[at] == "{":
        try:
            value, at = DECODER.raw_decode(text, at)
        except ValueError:
            break  # text after a complete answer is ignored
        values.append(value)
    return values


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _opened(payload: Any) -> Any:
    """The answer, taken out of a string, a list of one, or an envelope."""
    if isinstance(payload, str):
        payload = DECODER.decode(payload.strip())
    if isinstance(payload, list) and len(payload) == 1:
        (payload,) = payload
    if isinstance(payload, dict) and not payload.get("error") and not any(key in payload for key in _KEYS):
        inner = next((payload[name] for name in _ENVELOPES if payload.get(name)), None)
        if payload.get("isBase64Encoded") is True and isinstance(inner, str):  # Amazon's gateways
            inner = base64.b64decode(inner).decode(errors="replace")
        if isinstance(inner, dict | str | list):
            return _opened(inner)
    return payload
