"""Messages as language models write them: to whom, and what of a reply is meant to be read by others.

A message is a text, or an object with its text under one of a few keys: whatever else such an object holds is private,
and not sent.
"""

from __future__ import annotations

import re
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
    found = _Messages(view, issues)
    found.take(without_remarks(value, issues))
    joined = found.word if view.vocabulary else found.text
    sent = [(recipient, joined(recipient, texts)) for recipient, texts in found.texts.items()]
    return [(recipient, text) for recipient, text in sent if text]


def is_quotation(value: Object, view: View) -> bool:
    """Whether an object has only messages, and they are, at least in part, what another player wrote to this one."""
    if view.vocabulary or not {"orders", "reasoning"}.isdisjoint(map(folded, value)):  # of words, all say the same
        return False
    seen = [*view.messages, *(message for record in view.history for message in record.messages)]
    heard = {_plain(each.text) for each in seen if each.sender != view.power}
    return any(
        text == other or (min(len(text), len(other)) > _SHORT and (text in other or other in text))
        for text in {_plain(text) for text in texts_of(value.value_of("messages"))} - {""}
        for other in heard
    )


def _plain(text: str) -> str:
    """A text without differences of case and of blanks."""
    return " ".join(text.casefold().split())


class _Messages:
    """Collects messages: `texts` has those to each recipient."""

    def __init__(self, view: View, issues: list[ParseIssue]) -> None:
        self.view, self.issues = view, issues
        self.texts: dict[str, list[str]] = {}
        self._read = 0

    def take(self, value: Any, names: str = "") -> None:
        """A text, an object with recipients as its keys, one with a recipient and a text, or a list of any of these.

        Args:
            names: the key of the value, usually a recipient.
        """
        if isinstance(value, list):
            for part in value:
                self.take(part, names)
        elif isinstance(value, Object):
            self._take_object(value, names)
        elif isinstance(value, CutText):
            note(self.issues, "message text", value, "cut off")
        elif value is not None and str(value).strip():
            self._take_text(str(value).strip(), names)

    def _take_object(self, value: Object, names: str) -> None:
        """An object with recipients as its keys, or one message: only its text is sent."""
        to = [part for key in _ADDRESSES if (part := value.value_of(key)) is not None]
        text = next((key for key in _TEXTS if value.value_of(key) is not None), None)
        if not (names or text):
            for key, part in value.items():
                self.take(part, key)
            return
        self.take(value.value_of(text) if text else None, ", ".join(texts_of(to)) or names)
        for key, part in value.items():
            if folded(key) not in (*_ADDRESSES, text):
                note(self.issues, "unused", f"{key}: {part}", f"the text of a message is under {', '.join(_TEXTS)}")

    def _take_text(self, text: str, names: str) -> None:
        if text.strip(_SIGNS).casefold() in _SILENCE:
            note(self.issues, "no message", text, f"to {names:.40}")
        elif not names:
            note(self.issues, "field", text, "a message without a recipient")
        elif self.view.asked != MESSAGES:
            note(self.issues, "no messages now", text, f"to {names:.40}")
        else:
            for recipient in self._recipients(names):
                self._read += 1
                if self._read <= MAX_MESSAGES:
                    self.texts.setdefault(recipient, []).append(text)
                elif self._read == MAX_MESSAGES + 1:
                    note(self.issues, "too many messages", text, f"no more than {MAX_MESSAGES} are read")

    def _recipients(self, names: str) -> list[str]:
        """The recipients: a player, several, or all."""
        if len(names) > LONGEST_NAME:
            note(self.issues, "recipient", names, "no name")
            return []
        parts = [names] if self._is_known(names) else _BETWEEN_NAMES.split(names)
        found = dict.fromkeys([_recipient(part) if self._is_known(part) else part for part in parts if part.strip()])
        for part in found or {names: None}:
            if part == self.view.power:
                note(self.issues, "message to itself", part, "the sender cannot be the recipient")
            elif part not in self.view.recipients:
                note(self.issues, "recipient", part, f"choose one of {', '.join(self.view.recipients)}")
        return [part for part in found if part in self.view.recipients]

    def _is_known(self, name: str) -> bool:
        return _recipient(name) in (GLOBAL, self.view.power, *self.view.recipients)

    def text(self, recipient: str, texts: list[str]) -> str:
        """The message to a recipient: all texts, joined."""
        text = "\n".join(texts)
        clean = without_surrogates(text)
        if clean != text:
            note(self.issues, "message text", text, "half a surrogate pair is not a character")
        if len(clean) > MAX_MESSAGE_LENGTH:
            reason = f"{len(clean)} characters to {recipient}, {MAX_MESSAGE_LENGTH} are sent"
            note(self.issues, "message too long", clean, reason)
        return clean[:MAX_MESSAGE_LENGTH]

    def word(self, recipient: str, texts: list[str]) -> str:
        """The first of the texts that is a word, ignoring case, spaces and a full stop; "" if there is none."""
        said = ""
        for text in texts:
            word = _plain(text.removesuffix("."))
            if word not in self.view.vocabulary:
                note(self.issues, "word", text, f"to {recipient}: say one of {', '.join(self.view.vocabulary)}")
            elif said:
                note(self.issues, "second word", text, f"{recipient} is sent {said!r} already")
            else:
                said = word
        return said


def _recipient(name: str) -> str:
    """A recipient's name as the game writes it, if it is one."""
    known = name.strip(" \t\n.:\"'*").upper()
    return GLOBAL if known in _EVERYBODY else known
