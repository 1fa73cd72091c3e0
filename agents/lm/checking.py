"""Checks before a run how a server and its model handle our questions, so that no money is spent on a wrong setting.

It asks the questions of every kind of phase, with their real schemas, and one whose answer appears only in the schema,
which shows whether schemas are enforced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from agents.lm.models.faults import SCHEMA
from agents.lm.models.openai import GRAMMARS
from agents.lm.models.protocol import Block, Reply, Request
from agents.lm.models.remote import CUT
from agents.lm.reading.fields import is_cut_off
from agents.lm.reading.parsing import parse
from agents.lm.reading.schemas import obeys, object_schema
from welfare_env import Game

if TYPE_CHECKING:
    from agents.lm.player.policy import LMPolicy
    from welfare_env.game.view import View

SECRET = "quagga-7391"
PROBE = Request(
    (),
    (Block('Answer with the JSON object {"word": "none"}, and nothing else.'),),
    object_schema({"word": {"type": "string", "enum": [SECRET]}}),
    temperature=None,
    top_p=None,
)
"""A question whose answer appears only in its schema."""


@dataclass(frozen=True)
class Finding:
    """One line of a check.

    Attributes:
        name: what was checked.
        result: the result.
        is_good: False if something should be changed.
        advice: what to set; "" for nothing.
        is_tested: False if the reply left open what was to be checked.
    """

    name: str
    result: str
    is_good: bool = True
    advice: str = ""
    is_tested: bool = True


class _Asked(NamedTuple):
    """A question about a phase, and its reply."""

    name: str
    view: View
    request: Request
    reply: Reply


def views() -> dict[str, View]:
    """A view of each kind of phase, as their schemas differ."""
    owned = {"FRANCE": ["PAR", "BRE", "MAR"], "TURKEY": ["ANK", "CON", "SMY"]}
    builds = Game.from_position("W1905A", {"TURKEY": ["A GRE"]}, owned)
    disbands = Game.from_position("W1905A", {"TURKEY": ["F ANK", "A ARM"]}, owned)
    dislodged = {"FRANCE": {"A GRE": ["ALB", "BUL"]}}
    retreat = Game.from_position("F1905R", {"ENGLAND": ["A SER"]}, owned, dislodged=dislodged)
    return {
        "Spring": Game().view("FRANCE", "messages", 1),
        "Winter": disbands.view("TURKEY", "messages", 1),
        "Winter with builds": builds.view("TURKEY", "messages", 1),
        "retreat": retreat.view("FRANCE", "orders"),
    }


QUESTIONS = 5  # those of `views`, and the probe


def check_model(player: LMPolicy, on_question: Callable[[], None] = lambda: None) -> list[Finding]:
    """Ask a player's model the questions of the check, and report findings with advice.

    Args:
        player: a player that is not in a game.
        on_question: called after each question.

    Raises:
        ModelError: a question was not answered.
        AccessError, BudgetError, ConfigError: as `Model.acomplete`.
    """
    model, asked = player.model, []
    probe = model.complete(PROBE)
    on_question()
    for name, view in views().items():
        player.reset(view.power)
        request = player.question(view)
        asked.append(_Asked(name, view, request, model.complete(request)))
        on_question()
    replies = [_reply_finding(player, each) for each in asked]
    return [_answering(model.name, probe), _schema(player, probe, asked), *replies, *_context(asked)]


def is_same_model(asked: str, answering: str) -> bool:
    """Whether the answering model's name may denote the model asked: a version of it, or its name without the path."""
    one, other = (name.casefold().rstrip("/") for name in (asked, answering))
    return one in other or other in one or one.rpartition("/")[2] == other.rpartition("/")[2]


def _answering(model: str, probe: Reply) -> Finding:
    asked = model.partition("/")[2]
    if not probe.model or is_same_model(asked, probe.model):
        return Finding("answering model", probe.model or "the server does not say")
    advice = "see why another model answers, or ask for it by its name"
    return Finding("answering model", f"{probe.model} instead of {asked}", False, advice)


def _schema(player: LMPolicy, probe: Reply, asked: Sequence[_Asked]) -> Finding:
    """Whether schemas are enforced: that of the probe, and those of the questions."""
    name = "schema of a reply"
    with_schema = [each for each in asked if each.request.schema is not None]
    left_out = [each.name for each in with_schema if SCHEMA in each.reply.left_out]
    if left_out and SCHEMA not in probe.left_out:
        advice = f"{', '.join(left_out)}: those replies are not bound to the form; schema=form sends one for all phases"
        return Finding(name, f"refused for {len(left_out)} of {len(with_schema)} phases", False, advice)
    if obeys(probe.text, PROBE.schema or {}):
        advice = "" if with_schema else "with schema=orders the server admits only legal orders"
        return Finding(name, "enforced", bool(with_schema), advice)
    is_refused = SCHEMA in probe.left_out
    result = "refused by the server" if is_refused else "ignored by the server: the reply does not match it"
    advice = (
        f"if the server takes grammars, set grammar={', '.join(GRAMMARS)}; else nothing forces the model to keep to "
        "the form: set schema=none,add=legal_orders, and watch the losses"
    )
    return Finding(name, result, player.style.schema == "none", advice)


def _reply_finding(player: LMPolicy, asked: _Asked) -> Finding:
    request, reply = asked.request, asked.reply
    read = parse(reply.text, asked.view, is_cut_off(reply.finish), player.style.addition)
    sent = None if SCHEMA in reply.left_out else request.schema
    given = len(read.orders) + read.refused_orders
    notes = [f"{len(read.orders)} of {given} orders legal" if given else "no orders, which is legal: none was checked"]
    notes += [] if read.is_valid else ["not in the form asked for"]
    notes += [f"ended by {reply.finish}"] if reply.finish != "stop" else []
    notes += ["does not match its schema"] if sent is not None and not obeys(reply.text, sent) else []
    notes += ["with thinking apart"] if reply.reasoning else []
    is_good = read.is_valid and not read.refused_orders and reply.finish == "stop"
    advice = "set a larger max_tokens" if reply.finish == "length" else ""
    return Finding(f"{asked.name} reply", ", ".join(notes), is_good, advice, is_tested=given > 0)


def _context(asked: Sequence[_Asked]) -> Iterator[Finding]:
    """Whether the server has cut a prompt."""
    for each in asked:
        size, read = len(each.request.prompt.encode()), each.reply.usage.input_tokens
        if read < size / CUT:
            advice = "give the server a longer context (Ollama: num_ctx in the Modelfile, or OLLAMA_CONTEXT_LENGTH)"
            yield Finding("context", f"{read:,} tokens read of a prompt of {size:,} bytes", False, advice)
            return
