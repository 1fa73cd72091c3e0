"""The account of a player's calls in one game, and their transcript: prompts and raw replies, for the game's record.

A prompt mostly repeats the one before it (`agents.lm.prompts.building`), so each entry of the transcript holds only the
new blocks; `questions` reassembles the prompts. Cached replies have the same entries as paid ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from agents.asking import Question
from agents.lm.errors import ModelError
from agents.lm.models.cache import outcome_dict
from agents.lm.models.protocol import NO_USAGE, Block, Model, Reply, Request, Usage
from agents.lm.reading.schemas import obeys

if TYPE_CHECKING:
    from agents.asking import Asking
    from agents.lm.reading.issues import ParseIssue

EMPTY_NOTE = "empty note"
"""Kind of loss: the summary of a phase's messages was empty, so the shortened messages are used instead."""

LONGEST_TEXT = 32_000  # characters of a reply that are kept
MOST_KEPT = 3_000_000  # bytes of JSON for each player and model, so that a game's record stays below the store's limit

TEXTS = ("text", "reasoning")
"""The parts of a reply that may be long."""


@dataclass
class Ledger:
    """Updated call by call; `to_dict` goes into the game's record.

    Attributes:
        calls: number of calls of all kinds, of which `failed` have no reply.
        attempts: number of requests sent for them, including retries.
        usage: total usage.
        answered_by: model, as the server names it -> number of its replies.
        with_schema: replies to questions that were sent with a schema, of which `obeyed` match it.
        left_out: parameter ("schema", "temperature", "top_p") -> replies for which it was not sent, though asked for.
        faults: kind -> count, over all attempts.
        endings: ending of replies that did not end normally ("length", "refusal", "other") -> count.
        losses: kind -> how often a part of a reply was not used; includes `EMPTY_NOTE`.
        turns: an entry for each question about a turn: phase and round, private reasoning, losses.
        summaries: phase -> the player's summary of its messages.
        journal: phase -> the player's note at its end, if it keeps a journal.
        transcript: an entry for each question: "kind" ("turn", "summary" or "program") with "phase" and "round" where
            they apply; "model"; "same", the number of leading blocks that are those of the previous question of this
            kind; "blocks", the others (a private one as {"private": text}), of which the first "system" of the whole
            prompt are the system prompt; "schema" where it differs from the previous one's; and "reply", as
            `outcome_dict` writes it. Beyond `MOST_KEPT`, an entry has neither blocks nor schema, and no texts.
        parsed: number of questions about turns with a reply in the requested form.
        refused: phase -> unusable orders in its last reply (those of earlier rounds are drafts).
    """

    calls: int = 0
    failed: int = 0
    attempts: int = 0
    usage: Usage = NO_USAGE
    answered_by: Counter[str] = field(default_factory=Counter)
    with_schema: int = 0
    obeyed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    losses: Counter[str] = field(default_factory=Counter)
    turns: list[dict[str, Any]] = field(default_factory=list)
    summaries: dict[str, str] = field(default_factory=dict)
    journal: dict[str, str] = field(default_factory=dict)
    transcript: list[dict[str, Any]] = field(default_factory=list)
    parsed: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    _last: dict[str, Request] = field(default_factory=dict)  # kind -> the last one that was kept
    _kept: int = 0

    def ask(self, model: Model, request: Request, where: Mapping[str, Any]) -> Asking[Reply | ModelError]:
        """Asks a model, and records the outcome.

        Args:
            where: "kind", and "phase" and "round" where they apply.

        Returns:
            The reply, or the error if the call failed for good.
        """
        reply: Reply | ModelError = yield Question(model, request)
        self._note(where, model, request, reply)
        self.calls += 1
        self.attempts += len(reply.faults) if isinstance(reply, ModelError) else reply.attempts
        self.faults.update(reply.faults)
        self.usage += reply.usage or NO_USAGE
        if isinstance(reply, ModelError):
            self.failed += 1
            return reply
        self.answered_by[reply.model or model.name] += 1
        self.left_out.update(reply.left_out)
        if request.schema is not None and "schema" not in reply.left_out:
            self.with_schema += 1
            self.obeyed += obeys(reply.text, request.schema)
        if reply.finish != "stop":
            self.endings[reply.finish] += 1
        return reply

    def _note(self, where: Mapping[str, Any], model: Model, request: Request, outcome: Reply | ModelError) -> None:
        """Records a question and its answer in the transcript."""
        last = self._last.get(where["kind"], _NOTHING)
        blocks = [*request.system, *request.user]
        pairs = zip([*last.system, *last.user], blocks, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: _written(pair[0]) == _written(pair[1]), pairs))
        entry = {
            **where,
            "model": model.name,
            "system": len(request.system),
            "same": same,
            "blocks": [_written(block) for block in blocks[same:]],
            **({} if request.schema == last.schema else {"schema": request.schema}),
            "reply": _shortened(outcome_dict(outcome)),
        }
        self._kept += len(json.dumps(entry))
        if self._kept <= MOST_KEPT:
            self._last[where["kind"]] = request
        else:
            entry = {**where, "model": model.name, "reply": without_texts(entry["reply"])}
        self.transcript.append(entry)

    def note_turn(self, where: dict[str, Any], reasoning: str, issues: Sequence[ParseIssue], is_valid: bool) -> None:
        """Records the player's reasoning in a turn, and the issues of its reply."""
        self.parsed += is_valid
        self.losses.update(issue.kind for issue in issues)
        pairs = [[issue.kind, issue.what] for issue in issues]
        self.turns.append(where | {"reasoning": reasoning, "losses": pairs})

    def note_summary(self, phase: str, text: str) -> None:
        """Records the summary of a phase's messages; an empty one is counted, as it was paid for."""
        if text:
            self.summaries[phase] = text
        else:
            self.losses[EMPTY_NOTE] += 1

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; "dollars" is None if a price was unknown."""
        left_out = {"usage", "parsed", "refused", "_last", "_kept", *(["journal"] if not self.journal else [])}
        kept = {name: value for name, value in vars(self).items() if name not in left_out} | vars(self.usage)
        return {
            name: dict(sorted(value.items())) if isinstance(value, Counter) else value for name, value in kept.items()
        }


_NOTHING = Request((), (Block("?"),))


def reply_counts(ledgers: Iterable[Ledger]) -> dict[str, int]:
    """The counts of a power for `evaluation.measures.metrics.proficiency`: questions, good replies, refused orders."""
    kept = list(ledgers)
    return {
        "asked": sum(len(ledger.turns) for ledger in kept),
        "parsed": sum(ledger.parsed for ledger in kept),
        "refused_orders": sum(sum(ledger.refused.values()) for ledger in kept),
    }


def _written(block: Block) -> str | dict[str, str]:
    return {"private": block.text} if block.private else block.text


def _shortened(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply with long texts cut; "cut" is the number of characters left out."""
    cut = sum(max(0, len(reply.get(name, "")) - LONGEST_TEXT) for name in TEXTS)
    if not cut:
        return reply
    return reply | {name: reply[name][:LONGEST_TEXT] for name in TEXTS if name in reply} | {"cut": cut}


def without_texts(reply: Mapping[str, Any]) -> dict[str, Any]:
    """A reply with empty texts: its usage, and how it ended."""
    return {name: "" if name in TEXTS else value for name, value in reply.items()}


@dataclass(frozen=True)
class KeptQuestion:
    """A question with its answer, reassembled from a transcript.

    Attributes:
        where: "kind", and "phase" and "round" where they apply.
        model: the name of the model that was asked.
        system, user: the blocks of the prompt as (text, is private); private blocks are the player's own notes.
        same: number of leading blocks, of system and user, as in the previous question of this kind.
        schema: the schema of the reply.
        reply: as `agents.lm.models.cache.outcome_dict` writes it; with "failed" if there is none.
        is_kept: whether prompt and texts were kept (`MOST_KEPT`).
    """

    where: Mapping[str, Any]
    model: str
    system: tuple[tuple[str, bool], ...]
    user: tuple[tuple[str, bool], ...]
    same: int
    schema: Mapping[str, Any] | None
    reply: Mapping[str, Any]
    is_kept: bool = True


def questions(entries: Iterable[Mapping[str, Any]]) -> Iterator[KeptQuestion]:
    """The questions of a transcript's entries, with whole prompts.

    Raises:
        KeyError, TypeError, ValueError: the entries are not a transcript's.
    """
    last: dict[str, tuple[list[tuple[str, bool]], Mapping[str, Any] | None]] = {}
    for entry in entries:
        where = {name: entry[name] for name in ("kind", "phase", "round") if name in entry}
        if "blocks" not in entry:
            yield KeptQuestion(where, entry["model"], (), (), 0, None, dict(entry["reply"]), is_kept=False)
            continue
        before, schema = last.get(where["kind"], ([], None))
        same = _number(entry["same"], len(before))
        blocks = before[:same] + [_read_block(block) for block in entry["blocks"]]
        schema = entry.get("schema", schema)
        last[where["kind"]] = (blocks, schema)
        mark = _number(entry["system"], len(blocks))
        system, user = tuple(blocks[:mark]), tuple(blocks[mark:])
        yield KeptQuestion(where, entry["model"], system, user, same, schema, dict(entry["reply"]))


def _number(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{value!r:.40} of {most} blocks")
    return value


def _read_block(block: Any) -> tuple[str, bool]:
    text = block["private"] if isinstance(block, dict) else block
    if not isinstance(text, str):
        raise TypeError(f"{type(text).__name__} in place of a block's text")
    return text, isinstance(block, dict)
