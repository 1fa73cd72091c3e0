"""Messages as language models write them: to whom, and what of a reply is meant to be read by others.

A message is a text, or an object with its text under one of a few keys: whatever else such an object holds is private,
and not sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agents.lm.reading.fields import texts_of
from agents.lm.reading.issues import ParseIssue, note, without_surrogates
from agents.lm.reading.objects import CutText, Object, folded
from agents.lm.reading.orders import LONGEST_NAME, without_remarks
from welfare_env.game.press import GLOBAL, MAX_MESSAGE_LENGTH
from welfare_env.game.view import MESSAGES

if TYPE_CHECKING:
    from welfare_env.game.view import View

MAX_MESSAGES = 100

_EVERYBODY = {"ALL", "EVERYONE", "EVERYBODY", "PUBLIC", "BROADCAST", "ALL POWERS", "ALL PLAYERS", GLOBAL}
_BETWEEN_NAMES = re.compile(r"\s*(?:[,;/&+\n]|\band\b)\s*", re.IGNORECASE)
_ADDRESSES = ("recipient", "recipients", "to")
_TEXTS = ("text", "message", "content", "body")
_SILENCE = frozenset(
    {"", "none", "n/a", "na", "null", "nil", "nothing", "empty", "no message", "no messages", "silence"}
)
"""What stands for no message, apart from signs around it."""
_SIGNS = " \t\r\n.\u2026-\u2013\u2014_*'\"`()[]<>"
_SHORT = 10  # characters that two players may well write alike


def read_messages(value: Any, view: View, issues: list[ParseIssue]) -> list[tuple[str, str]]:
    """(recipient, text) under a reply's key "messages": at most one for each recipient, and all can be sent."""
    texts: dict[str, list[str]] = {}
    for names, text in _said(without_remarks(value, issues), issues):
        if text.strip(_SIGNS).casefold() in _SILENCE:
            note(issues, "no message", text, f"to {names:.40}")
        elif not names:
            note(issues, "field", text, "a message without a recipient")
        elif view.asked != MESSAGES:
            note(issues, "no messages now", text, f"to {names:.40}")
        elif sum(map(len, texts.values())) >= MAX_MESSAGES:
            note(issues, "too many messages", text, f"no more than {MAX_MESSAGES} are read")
            break
        else:
            for recipient in _recipients(names, view, issues):
                texts.setdefault(recipient, []).append(text)
    joined = _word if view.vocabulary else _text
    return [(recipient, text) for recipient, all_ in texts.items() if (text := joined(all_, recipient, view, issues))]


def is_quotation(value: Object, view: View, is_alone: bool) -> bool:
    """Whether an object has only messages, and another player wrote them.

    Beside an own object, one text that another player's is in, or that is in it, tells; of an object that stands alone,
    all texts have to be long and parts of what others wrote.
    """
    if view.vocabulary or not value.by_key.keys().isdisjoint(("orders", "reasoning")):  # of words, all say the same
        return False
    seen = [*view.messages, *(message for record in view.history for message in record.messages)]
    heard = {_plain(each.text) for each in seen if each.sender != view.power}
    texts = {_plain(text) for text in texts_of(value.by_key.get("messages"))} - {""}
    if is_alone:
        return bool(texts) and all(len(text) > _SHORT and any(text in other for other in heard) for text in texts)
    return any(
        text == other or (min(len(text), len(other)) > _SHORT and (text in other or other in text))
        for text in texts
        for other in heard
    )


def _plain(text: str) -> str:
    """A text without differences of case and of blanks."""
    return " ".join(text.casefold().split())


def _said(value: Any, issues: list[ParseIssue], names: str = "") -> Iterator[tuple[str, str]]:
    """(recipients, text) of a text, an object with recipients as its keys, one message, or a list of any of these.

    Args:
        names: the key of the value, usually a recipient.
    """
    if isinstance(value, list):
        for part in value:
            yield from _said(part, issues, names)
    elif isinstance(value, Object):
        to = [part for key in _ADDRESSES if (part := value.by_key.get(key)) is not None]
        text = next((key for key in _TEXTS if value.by_key.get(key) is not None), None)
        if not (names or text):
            for key, part in value.items():
                yield from _said(part, issues, key)
            return
        yield from _said(value.by_key.get(text) if text else None, issues, ", ".join(texts_of(to)) or names)
        for key, part in value.items():
            if folded(key) not in (*_ADDRESSES, text):
                note(issues, "unused", f"{key}: {part}", f"the text of a message is under {', '.join(_TEXTS)}")
    elif isinstance(value, CutText):
        note(issues, "message text", value, "cut off")
    elif value is not None and str(value).strip():
        yield names, str(value).strip()


def _recipients(names: str, view: View, issues: list[ParseIssue]) -> list[str]:
    """The recipients: a player, several, or all."""
    if len(names) > LONGEST_NAME:
        note(issues, "recipient", names, "no name")
        return []
    known = (GLOBAL, view.power, *view.recipients)
    parts = [names] if _recipient(names) in known else _BETWEEN_NAMES.split(names)
    found = dict.fromkeys(_recipient(part) if _recipient(part) in known else part for part in parts if part.strip())
    for part in found or {names: None}:
        if part == view.power:
            note(issues, "message to itself", part, "the sender cannot be the recipient")
        elif part not in view.recipients:
            note(issues, "recipient", part, f"choose one of {', '.join(view.recipients)}")
    return [part for part in found if part in view.recipients]


def _recipient(name: str) -> str:
    """A recipient's name as the game writes it, if it is one."""
    known = name.strip(" \t\n.:\"'*").upper()
    return GLOBAL if known in _EVERYBODY else known


def _text(texts: list[str], recipient: str, view: View, issues: list[ParseIssue]) -> str:
    """The message to a recipient: all texts, joined."""
    text = "\n".join(texts)
    clean = without_surrogates(text)
    if clean != text:
        note(issues, "message text", text, "half a surrogate pair is not a character")
    if len(clean) > MAX_MESSAGE_LENGTH:
        note(
            issues, "message too long", clean, f"{len(clean)} characters to {recipient}, {MAX_MESSAGE_LENGTH} are sent"
        )
    return clean[:MAX_MESSAGE_LENGTH]


def _word(texts: list[str], recipient: str, view: View, issues: list[ParseIssue]) -> str:
    """The first of the texts that is a word, ignoring case, spaces and a full stop; "" if there is none."""
    said = ""
    for text in texts:
        word = _plain(text.removesuffix("."))
        if word not in view.vocabulary:
            note(issues, "word", text, f"to {recipient}: say one of {', '.join(view.vocabulary)}")
        elif said:
            note(issues, "second word", text, f"{recipient} is sent {said!r} already")
        else:
            said = word
    return said
