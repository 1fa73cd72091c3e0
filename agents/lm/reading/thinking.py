"""Removes a model's thinking, written between marks, from its reply.

Marks are tags (``<think>``, ``</Thinking >``, ``<seed:think>``, ``<|START_THINKING|>``, ``<|begin_of_thought|>``,
``[THINK]`` and the like), and the channels of the harmony format, of which only the final one is meant for others.
Inside a thought only tags that could end it count.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agents.lm.reading.objects import MAX_REPLY, strict_object

MAX_THOUGHT = 600_000  # characters of a reply with its thinking; the rest is not read

_NAMES = (
    r"[\w:.-]{0,20}think(?:ing)?|thoughts?|reasoning|reflections?|analysis|scratch[_-]?pad|"
    r"(?:inner|internal)[_-]monologue"
)
_TAG = (
    r"(?<=[<\u25c1])\|?\s{0,3}(?P<way>/|end_(?:of_)?|(?:start|begin)_(?:of_)?)?\s{0,3}"
    rf"(?P<name>{_NAMES})(?![\w:.-])"
    r"(?:(?:\s[^<>{}]{0,100}?)?\s{0,3}(?P<empty>/)?\|?[>\u25b7])?"
)
_MARK = re.compile(
    rf"[<\[\u25c1](?:{_TAG}"
    r"|(?P<open>(?<=\[)think(?:ing)?\]|(?<=\[)unused16\]|unused94>|\|inner_prefix\|>)"
    r"|(?P<close>(?<=\[)/think(?:ing)?\]|(?<=\[)unused17\]|unused95>|\|inner_suffix\|>)"
    r"|\|channel\|?>\s{0,3}(?P<channel>\w{1,30})"
    r"|(?P<end>\|(?:end|return|call)\|>|\|start\|>\w{0,20}|channel\|>)"
    r"|(?P<filler>\|message\|>|\|constrain\|>\w{0,20}))",
    re.IGNORECASE,
)
_BARE_ANALYSIS = re.compile(r"\s{0,9}(?:assistant)?analysis(?=[A-Z])")
_BARE_FINAL = "assistantfinal"  # what remains of harmony's channels if a server strips its special tokens

_HALF_MARK = re.compile(  # of a mark that ends a thought, at the end of the text, where it is cut off
    r"(?:</|<\|/?|\u25c1/?)[\w:|-]{0,30}\Z"
    r"|\[(?:/(?:t|th|thi|thin|think|thinki|thinkin|thinking)?|unused1[67]?)\Z",
    re.IGNORECASE,
)

_FINAL = frozenset({"final", "answer", "response"})  # channels that are not thoughts
_HARMONY = "harmony"
_MOST_FAILED = 20 * MAX_REPLY  # characters read without success in search of whole objects


class Outside(NamedTuple):
    """A text without its thoughts.

    Attributes:
        text: the rest, joined.
        is_open: whether the text ends within a thought or a mark, or is too long to be read to its end.
    """

    text: str
    is_open: bool


def without_thinking(text: str) -> Outside:
    """The text without thoughts and their marks. Never raises; the time is proportional to the length.

    A mark within a text of a proper JSON object is a quotation and is ignored. A thought may lack its beginning, which
    some servers put into the prompt: then everything before its end belongs to it. A thought without an end goes on to
    the end of the text. In a thought only marks of its own family count: others nest, a doubled one opens one thought.
    """
    is_cut = bool(text[MAX_THOUGHT:].strip()) or _HALF_MARK.search(text[-40:]) is not None
    text = text[:MAX_THOUGHT]
    if _BARE_ANALYSIS.match(text):
        _, final, text = text.rpartition(_BARE_FINAL)
        if not final:
            return Outside("", True)
    objects, kept, at = _quoting(text) if _MARK.search(text) else [], list[str](), 0
    thought, opened, depth = "", 0, 0  # family of the thought, where its text begins, and its depth
    while (match := _MARK.search(text, at)) is not None:
        kind, family = _kind(match)
        if not thought:
            past = next((end for start, end in objects if at <= start < match.start() < end), 0)
            kept.append(text[at : past or match.start()])
            at = past or match.end()
            if past:
                continue
            if kind in ("close", "final"):
                kept.clear()
            elif kind == "open":
                thought, opened, depth = family, at, 1
            continue
        if family == thought:
            is_doubled = kind == "open" and at == opened and not text[at : match.start()].strip()
            if thought == _HARMONY:
                depth = int(kind == "open")
            else:
                depth += {"open": 1 - is_doubled, "close": -1}.get(kind, 0)
            opened = match.end() if is_doubled else opened
            thought = thought if depth else ""
        at = match.end()
    return Outside("".join(kept), True) if thought else Outside("".join((*kept, text[at:])), is_cut)


def _kind(match: re.Match[str]) -> tuple[str, str]:
    """What a mark does, and its family: <think> and </thinking> belong together.

    "open" begins a thought, "close" ends one, "final" ends everything before it, "none" is ignored.
    """
    if match["name"]:
        name = match["name"].casefold()
        is_end = (match["way"] or "").startswith(("/", "e", "E"))
        kind = "none" if match["empty"] else "close" if is_end else "open"
        return kind, "think" if "think" in name or "thought" in name else name
    if match["open"] or match["close"]:
        return "open" if match["open"] else "close", "think"
    if match["channel"]:
        return "final" if match["channel"].casefold() in _FINAL else "open", _HARMONY
    return "none", _HARMONY if match["end"] else ""


def _quoting(text: str) -> list[tuple[int, int]]:
    """Where the proper JSON objects of a text begin and end; none in texts longer than any reply."""
    found, at, left = list[tuple[int, int]](), text.find("{"), _MOST_FAILED if len(text) <= MAX_REPLY else 0
    while at >= 0 and left > 0:
        value, end = strict_object(text, at)
        if value is None:
            left -= end - at
            at = text.find("{", at + 1)
        else:
            found.append((at, end))
            at = text.find("{", end)
    return found
