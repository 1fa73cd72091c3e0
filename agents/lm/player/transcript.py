"""A player's questions in one game, and the answers: prompts and raw replies, for the game's record.

A prompt mostly repeats the one before it (`agents.lm.prompts.building`), so each entry holds only the new blocks;
`questions` reassembles the prompts. Cached replies have the same entries as paid ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.lm.errors import ModelError
from agents.lm.models.cache import outcome_dict
from agents.lm.models.protocol import Block, Model, Reply, Request

LONGEST_TEXT = 32_000  # characters of a reply that are kept
MOST_KEPT = 3_000_000  # bytes of JSON for each player and model, so that a game's record stays below the store's limit


@dataclass
class Transcript:
    """The questions of one player to its models in one game.

    Attributes:
        entries: one for each question, as plain JSON types: "kind" ("turn", "summary" or "program") with "phase" and
            "round" where they apply; "model"; "same", the number of leading blocks that are those of the previous
            question of this kind; "blocks", the others (a private one as {"private": text}), of which the first
            "system" of the whole prompt are the system prompt; "schema" where it differs from the previous one's; and
            "reply", as `agents.lm.models.cache.outcome_dict` writes it. Beyond `MOST_KEPT`, an entry has neither blocks
            nor schema, and its texts are empty.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    _last: dict[str, tuple[tuple[Block, ...], Mapping[str, Any] | None]] = field(default_factory=dict)
    _kept: int = 0

    def note(self, where: Mapping[str, Any], model: Model, request: Request, outcome: Reply | ModelError) -> None:
        """Records a question and its answer.

        Args:
            where: "kind", and "phase" and "round" where they apply.
        """
        kind, blocks = where["kind"], (*request.system, *request.user)
        before, schema = self._last.get(kind, ((), None))
        same = _shared(before, blocks)
        entry = {
            **where,
            "model": model.name,
            "system": len(request.system),
            "same": same,
            "blocks": [{"private": block.text} if block.private else block.text for block in blocks[same:]],
            **({} if request.schema == schema else {"schema": request.schema}),
            "reply": _shortened(outcome_dict(outcome)),
        }
        self._kept += len(json.dumps(entry))
        if self._kept <= MOST_KEPT:
            self._last[kind] = (blocks, request.schema)
            self.entries.append(entry)
        else:
            self.entries.append({**where, "model": model.name, "reply": without_texts(entry["reply"])})


def _shared(before: tuple[Block, ...], blocks: tuple[Block, ...]) -> int:
    """The number of leading blocks with the same text."""
    for number, (old, new) in enumerate(zip(before, blocks, strict=False)):
        if (old.text, old.private) != (new.text, new.private):
            return number
    return min(len(before), len(blocks))


TEXTS = ("text", "reasoning")
"""The parts of a reply that may be long."""


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
    """A question with its answer, reassembled.

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
