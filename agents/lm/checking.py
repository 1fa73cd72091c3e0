"""Checks before a run how a server and its model handle our questions, so that no money is spent on a wrong setting.

It asks the questions of every kind of phase, with their real schemas, and one whose answer appears only in the schema,
which shows whether schemas are enforced. If they are not, it also tries each kind of grammar that servers accept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from agents.lm.errors import ModelError
from agents.lm.models.protocol import Reply, Request
from agents.lm.models.providers.grammars import GRAMMARS, PROBE, probe_request
from agents.lm.models.providers.openai import OpenAIModel
from agents.lm.models.providers.refusals import SCHEMA
from agents.lm.models.providers.remote_model import CUT, is_same_model
from agents.lm.reading.fields import is_cut_off
from agents.lm.reading.obeying import obeys
from agents.lm.reading.parsing import parse
from agents.lm.reading.thinking import without_thinking
from welfare_env import Game, Rules

if TYPE_CHECKING:
    from agents.lm.models.protocol import Model
    from agents.lm.player.policy import LMPolicy
    from welfare_env.game.view import View

MOVEMENT_PHASES = 2  # of a year


@dataclass(frozen=True)
class Finding:
    """One line of a check.

    Attributes:
        name: what was checked.
        result: the result.
        is_good: False if something should be changed.
        advice: what to set; "" for nothing.
    """

    name: str
    result: str
    is_good: bool = True
    advice: str = ""


@dataclass(frozen=True)
class _Asked:
    """A question, its reply, and the time that it took."""

    name: str
    view: View
    request: Request
    reply: Reply
    seconds: float


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


def check_model(
    player: LMPolicy, rules: Rules | None = None, on_question: Callable[[], None] = lambda: None
) -> list[Finding]:
    """Ask a player's model the questions of the check, and report findings with advice.

    Args:
        player: a player that is not in a game.
        rules: the rules of the games whose cost is projected.
        on_question: called after each question.

    Raises:
        ModelError: a question was not answered.
        AccessError, BudgetError, ConfigError: as `Model.acomplete`.
    """
    model, asked = player.model, []
    probe = model.complete(probe_request())
    on_question()
    for name, view in views().items():
        player.reset(view.power)
        request = player.question(view)
        began = perf_counter()
        reply = model.complete(request)
        asked.append(_Asked(name, view, request, reply, perf_counter() - began))
        on_question()
    findings = [*_answering(model, probe), *_schema(player, probe, asked), *_forms(player, asked), *_context(asked)]
    return [*findings, *_costs(player, asked, rules)]


def _answering(model: Model, probe: Reply) -> Iterator[Finding]:
    asked = model.name.partition("/")[2]
    if not probe.model:
        yield Finding("answering model", "the server does not say")
    elif is_same_model(asked, probe.model):
        yield Finding("answering model", probe.model)
    else:
        advice = "see why another model answers, or ask for it by its name"
        yield Finding("answering model", f"{probe.model} instead of {asked}", False, advice)


def _schema(player: LMPolicy, probe: Reply, asked: Sequence[_Asked]) -> Iterator[Finding]:
    """Whether schemas are enforced: that of the probe, and those of the questions."""
    with_schema = [each for each in asked if each.request.schema is not None]
    left_out = [each.name for each in with_schema if SCHEMA in each.reply.left_out]
    grammar = getattr(player.model, "grammar", None)
    how = f"as a grammar ({grammar})" if grammar else "as a schema"
    if left_out and SCHEMA not in probe.left_out:
        advice = f"{', '.join(left_out)}: those replies are not bound to the form; schema=form sends one for all phases"
        yield Finding("schema of a reply", f"refused for {len(left_out)} of {len(with_schema)} phases", False, advice)
    elif obeys(probe.text, PROBE):
        advice = "" if with_schema else "with schema=orders the server admits only legal orders"
        yield Finding("schema of a reply", f"enforced, {how}", bool(with_schema), advice)
    else:
        yield _not_enforced(player, probe)


def _not_enforced(player: LMPolicy, probe: Reply) -> Finding:
    is_refused = SCHEMA in probe.left_out
    result = "refused by the server" if is_refused else "ignored by the server: the reply does not match it"
    found = _grammar(player.model)
    if found:
        return Finding("schema of a reply", f"{result}; enforced as grammar={found}", False, f"set grammar={found}")
    known = ", ".join(GRAMMARS) if isinstance(player.model, OpenAIModel) else ""
    tried = f"; as a grammar ({known}) not enforced either" if known else ""
    advice = "nothing forces the model to keep to the form: set schema=none,add=legal_orders, and watch the losses"
    return Finding("schema of a reply", result + tried, player.style.schema == "none", advice)


def _grammar(model: Model) -> str | None:
    """The kind of grammar that the server enforces."""
    if not isinstance(model, OpenAIModel) or model.api != "chat" or model.is_official:
        return None
    for kind in GRAMMARS:
        try:
            reply = model.with_grammar(kind).complete(probe_request(f"grammar-{kind.replace('.', '-')}"))
        except ModelError:
            continue
        if obeys(reply.text, PROBE):
            return kind
    return None


def _context(asked: Sequence[_Asked]) -> Iterator[Finding]:
    """Whether the server has cut a prompt."""
    for each in asked:
        size, read = len(each.request.prompt.encode()), each.reply.usage.input_tokens
        if read < size / CUT:
            advice = "give the server a longer context (Ollama: num_ctx in the Modelfile, or OLLAMA_CONTEXT_LENGTH)"
            yield Finding("context", f"{read:,} tokens read of a prompt of {size:,} bytes", False, advice)
            return


def _forms(player: LMPolicy, asked: list[_Asked]) -> Iterator[Finding]:
    for each in asked:
        read = parse(each.reply.text, each.view, is_cut_off(each.reply.finish), player.style.addition)
        notes = [f"{len(read.orders)} of {len(read.orders) + read.refused_orders} orders legal"]
        notes += [] if read.is_valid else ["not in the form asked for"]
        notes += [f"ended by {each.reply.finish}"] if each.reply.finish != "stop" else []
        if (
            each.request.schema is not None
            and SCHEMA not in each.reply.left_out
            and not obeys(each.reply.text, each.request.schema)
        ):
            notes.append("does not match its schema")
        is_good = read.is_valid and not read.refused_orders and each.reply.finish == "stop"
        advice = "set a larger max_tokens" if each.reply.finish == "length" else ""
        yield Finding(f"{each.name} reply", ", ".join(notes), is_good, advice)
    apart = sum(bool(each.reply.reasoning) for each in asked)
    inside = sum(without_thinking(each.reply.text).text.strip() != each.reply.text.strip() for each in asked)
    where = [f"apart in {apart}"] * bool(apart) + [f"in the text of {inside}, from which it is removed"] * bool(inside)
    yield Finding("thinking", f"{' and '.join(where)} of {len(asked)} replies" if where else "none")


def _costs(player: LMPolicy, asked: list[_Asked], rules: Rules | None) -> Iterator[Finding]:
    spring, rules = asked[0].reply.usage, rules or Rules()
    seconds = median(each.seconds for each in asked)
    yield Finding("latency", f"{seconds:.1f} s, median of {len(asked)}")
    cached = f", {spring.cached_tokens} of them from its cache" if spring.cached_tokens else ""
    yield Finding("tokens of the Spring question", f"{spring.input_tokens} in{cached}, {spring.output_tokens} out")
    number = questions_of_a_game(rules)
    tokens = f"some {number:,} questions like this, {number * spring.tokens / 1e6:.1f}M tokens"
    if spring.dollars is None:
        advice = "give prices=FILE to count dollars and to set a budget in dollars"
        yield Finding(f"a game of {rules.years} years", f"{tokens}; no price is known", True, advice)
    else:
        yield Finding(f"a game of {rules.years} years", f"{tokens}, ${number * spring.dollars:.2f}; prompts grow")


def questions_of_a_game(rules: Rules, powers: int = 7) -> int:
    """Questions to all players of a game: their turns and, with press, a summary of each phase."""
    phases = MOVEMENT_PHASES + 1  # and a Winter
    a_phase = rules.message_rounds + 1 if rules.has_press else 1
    return rules.years * phases * a_phase * powers


def as_dicts(findings: list[Finding]) -> list[dict[str, Any]]:
    """Findings as plain JSON types."""
    return [vars(each) for each in findings]
