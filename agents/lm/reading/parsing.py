"""The meaning of a language model's reply: `reply_schema` specifies its form, `parse` reads any text.

A reply is a JSON object ``{"reasoning": text, "orders": {unit: text}, "messages": {recipient: text}}``; orders may
also be a list of texts. `parse` never raises: unusable parts are left out and recorded as a `Loss`, and the game goes
on.

What counts
    - Several objects in a reply: only the last one with any of the keys, since models draft before they decide.
    - A key that comes twice: its last value.
    - Thinking between marks (`agents.lm.reading.thinking`), and a copy of the prompt's examples next to another object:
      not part of the reply.
    - Several orders for one unit: the first that is legal, as in the game itself.
    - A Winter list with builds and disbands: those of the kind of its first legal order, unless the rules allow both
      (the game would refuse them all).
    - A reply that is cut off: the complete orders of the unfinished object, and its reasoning so far. No messages are
      sent, since the missing part may contradict them.
    - Several messages to one recipient: all, joined; if messages are words of a vocabulary, the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.lm.prompts.parts import NOTHING, PLAIN, Ablation, Addition
from agents.lm.prompts.wording import Flavour, points_of, reply_keys
from agents.lm.reading.fields import (
    FORM_LOSSES,
    MESSAGE_LOSSES,
    ORDER_LOSSES,
    Loss,
    is_in_form,
    joined_texts,
    lose,
    read_fields,
    texts_of,
    without_surrogates,
)
from agents.lm.reading.order_schema import MAX_ENUM_ORDERS, object_schema, order_schema
from agents.lm.reading.orders import OrderBook, OrderFault
from agents.lm.reading.repair import CutText, Pairs
from welfare_env.engine import ADJUSTMENTS
from welfare_env.game.press import GLOBAL, MAX_MESSAGE_LENGTH, MEDIATOR
from welfare_env.game.view import MESSAGES

if TYPE_CHECKING:
    from welfare_env.game.view import View

__all__ = [
    "FORM_LOSSES",
    "MAX_ENUM_ORDERS",
    "MESSAGE_LOSSES",
    "ORDER_LOSSES",
    "Loss",
    "Parsed",
    "object_schema",
    "parse",
    "reply_schema",
]

MAX_ORDERS = 500  # texts per reply
MAX_MESSAGES = 100
LONGEST_NAME = 200  # characters of a key: a recipient, several, or a unit

_EVERYBODY = {"ALL", "EVERYONE", "EVERYBODY", "PUBLIC", "BROADCAST", "ALL POWERS", "ALL PLAYERS", GLOBAL}
_BETWEEN_ORDERS = re.compile(r"[\n\r;,]+")
_BETWEEN_NAMES = re.compile(r"\s*(?:[,;/&+\n]|\band\b)\s*", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_ADDRESSES = ("recipient", "recipients", "to")
_TEXTS = ("text", "message", "content", "body")
_REMARKS = frozenset(
    {"reason", "reasoning", "reasons", "rationale", "why", "comment", "comments", "explanation", "note", "notes"}
    | {"remark", "purpose", "intent", "justification", "thought", "thoughts", "analysis", "priority", "confidence"}
)
"""Keys beside an order or a message that are neither."""


@dataclass(frozen=True)
class Parsed:
    """A parsed reply.

    Attributes:
        reasoning: private thoughts; "" if there are none.
        orders: canonical, and jointly legal.
        messages: (recipient, text), at most one per recipient; all can be sent.
        losses: what could not be used, in reading order.
        journal: the player's note to itself; "" if there is none, or it was not asked for.
    """

    reasoning: str = ""
    orders: list[str] = field(default_factory=list)
    messages: list[tuple[str, str]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    journal: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether the reply was one JSON object, apart from thinking and prose ("replies that parse", paper, C.1)."""
        return is_in_form(self.losses)

    @property
    def refused_orders(self) -> int:
        """Number of lost orders; with ``len(orders)`` this gives the share of legal ones (paper, C.1)."""
        return sum(loss.kind in ORDER_LOSSES for loss in self.losses)


def reply_schema(
    view: View,
    ablation: Ablation = NOTHING,
    most: int = MAX_ENUM_ORDERS,
    addition: Addition = PLAIN,
    flavour: Flavour = Flavour.WD,
    seed: int | None = None,
) -> dict[str, Any]:
    """JSON schema of a reply to `build`'s prompt, in the subset that OpenAI and Anthropic enforce.

    The orders are legal together (`agents.lm.reading.order_schema`), or any texts, one for each unit, if more than
    `most` would have to be in the schema. With legal orders the schema differs in every phase, and a provider that puts
    it before the prompt cannot reuse its cache of earlier phases; with ``most=0`` it is the same in the whole game. If
    messages are words of a vocabulary, each is one of them, or "" for silence. Points can be given only if the flavour
    mentions points.
    """
    flavour = Flavour.MEDIATOR if view.power == MEDIATOR else flavour
    texts: dict[str, Any] = {"type": "string"}
    said = texts | {"enum": ["", *view.vocabulary]} if view.vocabulary else texts
    if most and view.asked != MESSAGES:
        said = texts | {"enum": [""]}
    shapes: dict[str, dict[str, Any]] = {
        "reasoning": texts,
        "orders": order_schema(view, most, points_of(view.rules, flavour, ablation) is not None, seed),
        "messages": object_schema(dict.fromkeys(view.recipients, said)),
        "journal": texts,
    }
    return object_schema({key: shapes[key] for key in reply_keys(view.rules, flavour, ablation, addition)})


def parse(text: str, view: View, is_cut: bool = False, addition: Addition = PLAIN) -> Parsed:
    """Parses the orders and messages of a reply, and records what could not be used. Never raises.

    The orders can be submitted and the messages sent in `view` without further checks.

    Args:
        text: the reply.
        view: the player's view.
        is_cut: whether the reply is known to be cut off, e.g. by `max_tokens`.
        addition: the prompt's additions; with a journal, the reply has one, too.
    """
    keys = ("reasoning", "orders", "messages", *(["journal"] if Addition.JOURNAL in addition else []))
    fields = read_fields(text, keys, is_cut)
    orders = _Orders(view, fields.losses)
    orders.take(fields.values.get("orders"))
    messages = _Messages(view, fields.losses)
    if fields.is_whole:
        messages.take(fields.values.get("messages"))
    journal = joined_texts(fields.values.get("journal"), whole=True).strip()
    reasoning = joined_texts(fields.values.get("reasoning"))
    return Parsed(reasoning, orders.found, messages.found(), fields.losses, journal)


class _Orders:
    """Collects the values under "orders", text by text.

    Attributes:
        found: the orders that count.
    """

    def __init__(self, view: View, losses: list[Loss]) -> None:
        self.view, self.losses = view, losses
        self.book = OrderBook(view)
        self.found: list[str] = []
        self._ordered: set[str] = set()

    def take(self, value: Any) -> None:
        for number, text in enumerate(self._listed(value)):
            if number == MAX_ORDERS:
                lose(self.losses, "too many", text, f"no more than {MAX_ORDERS} texts are read")
                return
            try:
                if text.strip():
                    self._take_text(text)
            except OrderFault as fault:
                lose(self.losses, fault.kind, text, str(fault))

    def _listed(self, value: Any) -> Iterator[str]:
        """The texts of a list, a text, or an object that is one order or has units or powers as its keys."""
        if isinstance(value, Pairs) and value.value_of("unit") is not None and self._is_one_order(value):
            yield from self._of_object(value)
        elif isinstance(value, Pairs):
            for key, part in _without_remarks(value):
                yield from self._keyed(key, part)
        elif isinstance(value, list):
            for part in value:
                yield from self._of_object(part) if self._is_one_order(part) else self._listed(part)
        elif value is not None:
            pieces = _BETWEEN_ORDERS.split(_IN_PARENTHESES.sub(_without_signs, str(value)))
            if isinstance(value, CutText) and pieces[-1].strip():
                lose(self.losses, "order syntax", pieces.pop(), "cut off")
            yield from (piece for piece in pieces if piece.strip())

    def _keyed(self, key: str, value: Any) -> Iterator[str]:
        """The texts under a unit's or a power's name."""
        name = key.strip().upper()
        if len(name) > LONGEST_NAME:
            lose(self.losses, "field", key, "no unit")
        elif name in self.view.powers and name != self.view.power:
            lose(self.losses, "order of others", key, f"orders for {name}")
        elif self.book.is_unit(key) and self._is_one_order(value):
            yield from self._of_object(value, key)
        elif name == "GIVE":
            for text in self._gifts(value) if isinstance(value, Pairs) else self._listed(value):
                yield text if "GIVE" in text.upper().split() else f"GIVE {text}"
        else:
            for text in self._listed(value):
                is_whole = name in (self.view.power, "") or self.book.is_order(text)
                yield text if is_whole else f"{key} {text}"

    def _gifts(self, value: Pairs) -> Iterator[str]:
        """The texts of {"ENGLAND": 2}, or of {"to": "ENGLAND", "points": 2}."""
        parts = _without_remarks(value)
        is_keyed = any(key.strip().upper() in self.view.powers for key, _ in parts)
        for gift in [[part, key] for key, part in parts] if is_keyed else [[part for _, part in parts]]:
            texts = list(texts_of(gift))
            if any(isinstance(text, CutText) for text in texts):
                lose(self.losses, "order syntax", " ".join(texts), "cut off")
            else:
                yield " ".join(texts)

    def _is_one_order(self, value: Any) -> bool:
        """Whether an object is one order: a few texts, none of them keyed by a unit's name, of one unit's orders."""
        if not isinstance(value, Pairs):
            return False
        parts = _without_remarks(value)
        places = {self.book.place_of(part) for _, part in parts if isinstance(part, str) and self.book.is_order(part)}
        inner = [part for _, part in parts if isinstance(part, list)]
        return (
            0 < len(parts) < 6
            and not any(self._is_keyed(key) for key, _ in parts)
            and len(places) <= 1
            and len(inner) <= 1
            and all(self._is_one_order(part) for part in inner)
        )

    def _is_keyed(self, key: str) -> bool:
        return key.strip().upper() in self.view.powers or self.book.is_unit(key)

    def _of_object(self, parts: Pairs, unit: str = "") -> Iterator[str]:
        """One order, such as {"unit": "A PAR", "order": "A PAR - BUR"}: one of the parts, or all together.

        Args:
            unit: the key of the object, if that is a unit.
        """
        parts = _without_remarks(_innermost(parts))
        texts = list(texts_of(parts))
        if any(isinstance(text, CutText) for text in texts):
            lose(self.losses, "order syntax", " ".join(texts), "cut off")
            return
        if not unit:
            unit = " ".join(texts_of(parts.value_of("unit")))
            parts = Pairs(pair for pair in parts if pair[0].strip().casefold() != "unit")
        if not self.book.is_unit(unit):
            yield next((text for text in texts if self.book.is_order(text)), " ".join(texts))
            return
        place = self.book.place_of(unit)
        texts = list(texts_of(parts))
        own = [text for text in texts if self.book.is_order(text) and self.book.place_of(text) == place]
        # a support's target may be an order, too, but of another unit
        others = [text for text in texts if not (self.book.is_unit(text) and self.book.place_of(text) == place)]
        yield own[0] if own else " ".join([unit, *others])

    def _take_text(self, text: str) -> None:
        """Adds the order of a text.

        Raises:
            OrderFault: the order cannot be used.
        """
        words = text.upper().split()
        if words[-1] == "WAIVE":
            return
        if "GIVE" in words:
            for gift in self.book.gifts(text):
                self._check_room(gift)
                self.found.append(gift)
            return
        key, order = self.book.find(text)
        if key in self._ordered:
            raise OrderFault("second order", f"{key} has an order already")
        self._check_room(order)
        self._ordered.add(key)
        self.found.append(order)

    def _check_room(self, order: str) -> None:
        """Checks that the Winter allows one more order of this kind.

        Raises:
            OrderFault: the order is not allowed.
        """
        if self.view.phase_type != ADJUSTMENTS:
            return
        commands = [_winter_command(given) for given in self.found]
        command = _winter_command(order)
        if {command, *commands} >= {"B", "D"} and not self.view.rules.build_and_disband:
            raise OrderFault("builds and disbands", "a Winter list cannot have both; its first order decides")
        room = self.view.welfare[self.view.power] if command == "GIVE" else self.view.max_builds
        if command == "D":
            room = len(self.view.legal_orders) if self.view.rules.is_welfare else self.view.must_disband
        if commands.count(command) >= room:
            raise OrderFault("too many", f"{room} are allowed in {self.view.phase}")


def _without_remarks(parts: Pairs) -> Pairs:
    """An object without what a model notes beside its orders or messages, for itself."""
    return Pairs(
        (key, _without_remarks(part) if isinstance(part, Pairs) else part)
        for key, part in parts
        if key.strip().casefold() not in _REMARKS
    )


def _innermost(parts: Pairs) -> Pairs:
    """The object in another one that names the unit, as in a tool call; the outer one if there is none."""
    inner = (_innermost(part) for _, part in parts if isinstance(part, Pairs))
    return next((part for part in inner if part.value_of("unit") is not None), parts)


def _without_signs(match: re.Match[str]) -> str:
    """A remark without the separators of orders: "(to take it, maybe)"."""
    return _BETWEEN_ORDERS.sub(" ", match.group())


def _winter_command(order: str) -> str:
    return "GIVE" if order.startswith("GIVE") else order[-1]


def _said(value: Any) -> Any:
    """A message without what stands beside its text in an object: a model's reason for it is private."""
    if isinstance(value, Pairs):
        texts = [part for key in _TEXTS if (part := value.value_of(key)) is not None]
        return [_said(part) for part in texts or [part for _, part in _without_remarks(value)]]
    return [_said(part) for part in value] if isinstance(value, list) else value


class _Messages:
    """Collects the values under "messages", recipient by recipient."""

    def __init__(self, view: View, losses: list[Loss]) -> None:
        self.view, self.losses = view, losses
        self._texts: dict[str, list[str]] = {}
        self._read = 0

    def take(self, value: Any) -> None:
        """An object with recipients as its keys, or a list of objects with a recipient and a text."""
        if isinstance(value, Pairs):
            addressed = self._address(value)
            for key, part in _without_remarks(value) if addressed is None else [addressed]:
                self._take_keyed(key, part)
        elif isinstance(value, list):
            for part in value:
                self.take(part)
        elif value is not None and str(value).strip():
            lose(self.losses, "field", value, "a message without a recipient")

    @staticmethod
    def _address(value: Pairs) -> tuple[str, Any] | None:
        """Recipient and text of {"to": "FRANCE", "text": "..."}, if the object has that form."""
        to = [part for key in _ADDRESSES if (part := value.value_of(key)) is not None]
        text = [part for key in _TEXTS if (part := value.value_of(key)) is not None]
        return (", ".join(texts_of(to)), text) if to and text else None

    def _take_keyed(self, key: str, value: Any) -> None:
        """What stands under a key: usually a recipient, but of an object that names one itself just a number or so."""
        inner = value if isinstance(value, list) and not isinstance(value, Pairs) else [value]
        if inner and all(isinstance(part, Pairs) and self._address(part) is not None for part in inner):
            for part in inner:
                self.take(part)
        else:
            self._take_part(key, value)

    def _take_part(self, names: str, value: Any) -> None:
        pieces = [piece.strip() for piece in self._pieces(value) if piece.strip()]
        for text in pieces if self.view.vocabulary else ["\n".join(pieces)]:
            self._take_text(names, text)

    def _take_text(self, names: str, text: str) -> None:
        if not text:
            return
        if self.view.asked != MESSAGES:
            lose(self.losses, "no messages now", text, f"to {names:.40}")
            return
        for recipient in self._recipients(names):
            self._read += 1
            if self._read <= MAX_MESSAGES:
                self._texts.setdefault(recipient, []).append(text)
            elif self._read == MAX_MESSAGES + 1:
                lose(self.losses, "too many messages", text, f"no more than {MAX_MESSAGES} are read")

    def _pieces(self, value: Any) -> Iterator[str]:
        """The complete texts in a value."""
        for piece in texts_of(_said(value)):
            if isinstance(piece, CutText):
                lose(self.losses, "message text", piece, "cut off")
            else:
                yield piece

    def _recipients(self, names: str) -> list[str]:
        """The recipients: a player, several, or all."""
        if len(names) > LONGEST_NAME:
            lose(self.losses, "recipient", names, "no name")
            return []
        whole = self._recipient(names)
        parts = [whole] if whole else [self._recipient(name) or name for name in _BETWEEN_NAMES.split(names)]
        found = dict.fromkeys([part for part in parts if part.strip()] or [names])
        for part in found:
            if part == self.view.power:
                lose(self.losses, "message to itself", part, "the sender cannot be the recipient")
            elif part not in self.view.recipients:
                possible = ", ".join(self.view.recipients)
                lose(self.losses, "recipient", part, f"choose one of {possible}")
        return [part for part in found if part in self.view.recipients]

    def _recipient(self, name: str) -> str | None:
        known = name.strip(" \t\n.:\"'*").upper()
        if known in _EVERYBODY:
            return GLOBAL
        return known if known == self.view.power or known in self.view.recipients else None

    def found(self) -> list[tuple[str, str]]:
        """A message for each recipient, in the sequence of the reply; several to the same one are joined."""
        if self.view.vocabulary:
            return list(self._words())
        return [(recipient, self._sendable(recipient, "\n".join(texts))) for recipient, texts in self._texts.items()]

    def _words(self) -> Iterator[tuple[str, str]]:
        """For each recipient the first of its texts that is a word, ignoring case, spaces and a full stop."""
        for recipient, texts in self._texts.items():
            said = ""
            for text in texts:
                word = " ".join(text.removesuffix(".").casefold().split())
                if word not in self.view.vocabulary:
                    lose(self.losses, "word", text, f"to {recipient}: say one of {', '.join(self.view.vocabulary)}")
                elif said:
                    lose(self.losses, "second word", text, f"{recipient} is sent {said!r} already")
                else:
                    said = word
            if said:
                yield recipient, said

    def _sendable(self, recipient: str, text: str) -> str:
        clean = without_surrogates(text)
        if clean != text:
            lose(self.losses, "message text", text, "half a surrogate pair is not a character")
        if len(clean) > MAX_MESSAGE_LENGTH:
            reason = f"{len(clean)} characters to {recipient}, {MAX_MESSAGE_LENGTH} are sent"
            lose(self.losses, "message too long", clean, reason)
        return clean[:MAX_MESSAGE_LENGTH]
