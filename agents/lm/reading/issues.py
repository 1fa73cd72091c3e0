"""What a reply holds that is not used, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MAX_ISSUES = 1000
SHOWN = 160  # characters of the text that an issue quotes

FORM_ISSUES = {
    "no object": "there is no JSON object with any of the keys",
    "quotation": "the only object has another player's words",
    "too long": "the reply has more characters than are read",
    "truncated": "the reply's end is missing, and with it whatever was not complete; nothing of it is sent",
    "repaired": "the object is not proper JSON, but could be read",
    "several objects": "several objects have its keys; that with the most counts, and one that completes it",
    "field": "a field, or a part of one, is not of the right form",
    "prose": "there is text outside the object",
    "doubled key": "a key comes twice in an object; the last one counts",
    "unused": "a key that is none of the reply's",
}
HARMLESS = frozenset({"prose", "doubled key", "unused"})
"""Issues of form with which a reply still counts as parsed, as in the paper's own program."""

ORDER_ISSUES = {
    "order syntax": "the text is not understood",
    "order not legal": "understood, but not legal in this phase",
    "order coast": "right but for a coast",
    "order unclear": "several legal orders may be meant",
    "order of others": "the unit is another power's",
    "second order": "the unit has an order already",
    "builds and disbands": "a build behind a disband or a disband behind a build",
    "too many": "more builds, disbands, gifts or texts than are allowed",
}
MESSAGE_ISSUES = {
    "recipient": "there is no such recipient",
    "message to itself": "the recipient is the sender",
    "message too long": "the end of a message is cut off",
    "no messages now": "messages, where none are sent",
    "message text": "the text is cut off, or not valid Unicode",
    "no message": "the text only says that there is none",
    "word": "messages are words of a vocabulary, and this is not one of them",
    "second word": "messages are words, and the recipient is sent one already",
    "too many messages": "more than are read",
}

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class ParseIssue:
    """A part of a reply that is not used.

    Attributes:
        kind: a key of `FORM_ISSUES`, `ORDER_ISSUES` or `MESSAGE_ISSUES`.
        what: the beginning of the text, and the reason.
    """

    kind: str
    what: str

    @classmethod
    def of(cls, kind: str, text: Any, reason: str = "") -> ParseIssue:
        """An issue that quotes the beginning of a text; without a reason, with that of its kind."""
        shown = f"{str(text)[:SHOWN]!r}{'...' * (len(str(text)) > SHOWN)}: {reason or FORM_ISSUES[kind]}"
        return cls(kind, without_surrogates(shown))


def note(issues: list[ParseIssue], kind: str, text: Any, reason: str = "") -> None:
    """Records an issue, unless there are too many already."""
    if len(issues) < MAX_ISSUES:
        issues.append(ParseIssue.of(kind, text, reason))


def is_in_form(issues: Iterable[ParseIssue]) -> bool:
    """Whether a reply with these issues was one JSON object, apart from thinking and prose around it."""
    return not any(issue.kind in FORM_ISSUES and issue.kind not in HARMLESS for issue in issues)


def without_surrogates(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot encode, replaced."""
    return _SURROGATE.sub("\ufffd", text)
