"""Texts of others as data in a prompt: always on one line, in quotation marks that they cannot close.

A quotation is a JSON string, so line breaks, quotation marks and backslashes in it are escaped. Invisible characters
(control characters, zero-width and direction marks, private and unassigned code points) are removed, and ``<`` and
``[`` are escaped, too, since servers and models interpret ``<|im_start|>``, ``</s>`` or ``[INST]`` as special tokens.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence

from welfare_env.game.press import GLOBAL, MAX_MESSAGE_LENGTH, Message

LONGEST_TRANSCRIPT = 6000  # characters
MOST_MARKS = 4  # combining marks on one letter; more would run into the lines above and below

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_UNSEEN = re.compile("[\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Letters and marks that print nothing, and variation selectors, long runs of which can carry hidden text."""
_ESCAPED = {"<": "\\u003c", "[": "\\u005b"}


def clean(text: str, most: int) -> str:
    """At most `most` characters of a text, without invisible ones.

    Line breaks of all kinds become ``\\n``, other white space a space.
    """
    kept = _LINE_ENDS.sub("\n", text[:most]).replace("\t", " ")
    if kept.isascii() and kept.replace("\n", "").isprintable():
        return kept
    seen: list[str] = []
    marks = 0
    for char in kept:
        kind = unicodedata.category(char)
        marks = marks + 1 if kind[0] == "M" else 0
        if char == "\n" or kind == "Zs":
            seen.append("\n" if char == "\n" else " ")
        elif marks <= MOST_MARKS and char.isprintable() and not _UNSEEN.match(char):
            seen.append(char)
    return "".join(seen)


def quote(text: str, most: int = MAX_MESSAGE_LENGTH) -> str:
    """A text as a quotation: one line, in quotation marks; followed by the number of characters cut off, if any."""
    quoted = json.dumps(clean(text, most), ensure_ascii=False)
    for char, escape in _ESCAPED.items():
        quoted = quoted.replace(char, escape)
    return quoted if len(text) <= most else f"{quoted} (cut: {len(text) - most} more characters)"


@functools.lru_cache(maxsize=4096)  # a phase's messages are written again in every later call
def message_line(message: Message, reader: str) -> str:
    """A message as `reader` sees it: ``- round 1, GERMANY to you (private): "..."`` and the end of the line."""
    sender = "you" if message.sender == reader else message.sender
    if message.recipient == GLOBAL:
        to = "all (public)"
    else:
        to = f"{'you' if message.recipient == reader else message.recipient} (private)"
    return f"- round {message.round}, {sender} to {to}: {quote(message.text)}\n"


def transcript(messages: Iterable[Message], reader: str) -> str:
    """Messages line by line, as `message_line` writes them."""
    return "".join(message_line(message, reader) for message in messages)


def short_transcript(messages: Sequence[Message], reader: str, most: int = LONGEST_TRANSCRIPT) -> str:
    """The first lines of a transcript, at most `most` characters, and the number of messages left out.

    Messages are included whole or not at all, so that no quotation stays open.
    """
    kept: list[str] = []
    length = 0
    for number, message in enumerate(messages):
        line = message_line(message, reader)
        length += len(line)
        if length > most:
            return "".join(kept) + f"- ({len(messages) - number} more messages are left out)\n"
        kept.append(line)
    return "".join(kept)
