"""The meaning of a language model's reply: `reply_schema` specifies its form, `parse` reads any text.

A reply is a JSON object ``{"reasoning": text, "orders": {unit: text}, "messages": {recipient: text}}``; orders may
also be a list of texts. `parse` never raises: whatever is not used is recorded as a `ParseIssue`, and the game goes on.

What counts
    - Several objects in a reply: see `agents.lm.reading.fields`.
    - A key that comes twice: its last value.
    - Several orders for one unit: the first that is legal, as in the game itself.
    - A Winter list with builds and disbands: those of the kind of its first legal order, unless the rules allow both
      (the game would refuse them all).
    - A reply that is cut off: the complete orders of the unfinished object, and its reasoning so far. No messages are
      sent, since the missing part may contradict them.
    - Several messages to one recipient: all, joined; if messages are words of a vocabulary, the first. "None", "N/A"
      or "..." is no message.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agents.lm.prompts.parts import PLAIN, Addition
from agents.lm.prompts.wording import USUAL, Contents, Flavour
from agents.lm.reading.fields import joined_texts, read_fields
from agents.lm.reading.issues import ORDER_ISSUES, ParseIssue, is_in_form
from agents.lm.reading.messages import is_quotation, read_messages
from agents.lm.reading.orders import read_orders
from agents.lm.reading.schemas import MAX_ENUM_ORDERS, object_schema, order_schema
from welfare_env.game.press import MEDIATOR
from welfare_env.game.view import MESSAGES

if TYPE_CHECKING:
    from welfare_env.game.view import View


@dataclass(frozen=True)
class Parsed:
    """A parsed reply.

    Attributes:
        reasoning: private thoughts; "" if there are none.
        orders: canonical, and jointly legal.
        messages: (recipient, text), at most one per recipient; all can be sent.
        issues: what is not used, in reading order.
        journal: the player's note to itself; "" if there is none, or it was not asked for.
    """

    reasoning: str = ""
    orders: list[str] = field(default_factory=list)
    messages: list[tuple[str, str]] = field(default_factory=list)
    issues: list[ParseIssue] = field(default_factory=list)
    journal: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether the reply was one JSON object, apart from thinking and prose ("replies that parse", paper, C.1)."""
        return is_in_form(self.issues)

    @property
    def refused_orders(self) -> int:
        """Number of orders that are not used; with ``len(orders)`` this gives the share of legal ones (paper, C.1)."""
        return sum(issue.kind in ORDER_ISSUES for issue in self.issues)


def reply_schema(
    view: View, contents: Contents = USUAL, most: int = MAX_ENUM_ORDERS, seed: int | None = None
) -> dict[str, Any]:
    """JSON schema of a reply to `build`'s prompt, in the subset that OpenAI and Anthropic enforce.

    The orders are legal together (`agents.lm.reading.schemas`), or any texts, one for each unit, if more than
    `most` would have to be in the schema. With legal orders the schema differs in every phase, and a provider that puts
    it before the prompt cannot reuse its cache of earlier phases; with ``most=0`` it is the same in the whole game. If
    messages are words of a vocabulary, each is one of them, or "" for silence. Points can be given only if the flavour
    mentions points.
    """
    if view.power == MEDIATOR:
        contents = replace(contents, flavour=Flavour.MEDIATOR)
    texts: dict[str, Any] = {"type": "string"}
    said = texts | {"enum": ["", *view.vocabulary]} if view.vocabulary else texts
    if most and view.asked != MESSAGES:
        said = texts | {"enum": [""]}
    shapes: dict[str, dict[str, Any]] = {
        "reasoning": texts,
        "orders": order_schema(view, most, contents.points(view.rules) is not None, seed),
        "messages": object_schema(dict.fromkeys(view.recipients, said)),
        "journal": texts,
    }
    return object_schema({key: shapes[key] for key in contents.reply_keys(view.rules)})


def parse(text: str, view: View, is_cut: bool = False, addition: Addition = PLAIN) -> Parsed:
    """Parses the orders and messages of a reply, and records what is not used. Never raises.

    The orders can be submitted and the messages sent in `view` without further checks.

    Args:
        text: the reply.
        view: the player's view.
        is_cut: whether the reply is known to be cut off, e.g. by `max_tokens`.
        addition: the prompt's additions; with a journal, the reply has one, too.
    """
    keys = ("reasoning", "orders", "messages", *(["journal"] if Addition.JOURNAL in addition else []))
    fields = read_fields(text, keys, is_cut, lambda value, is_alone: is_quotation(value, view, is_alone))
    values, issues = fields.values, fields.issues
    orders = read_orders(values.get("orders"), view, issues)
    messages = read_messages(values.get("messages"), view, issues) if fields.is_whole else []
    journal = joined_texts(values.get("journal"), whole=True).strip()
    return Parsed(joined_texts(values.get("reasoning")), orders, messages, issues, journal)
