"""Transcripts of language models: the prompts and replies of a game, as text and as JSON lines.

Private texts (reasoning, thinking, summaries and other notes) are left out unless requested. Texts are from models and
other players, so in the text format control characters are escaped and nothing is interpreted as markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.lm.errors import ModelError
from agents.lm.models.cache import read_outcome
from agents.lm.models.protocol import Reply
from agents.lm.player.ledger import KeptQuestion, questions
from agents.lm.reading.fields import is_cut_off, read_fields, texts_of
from agents.lm.reading.issues import without_surrogates
from agents.lm.reading.objects import Object
from agents.lm.reading.schemas import obeys
from evaluation.checks import EvaluationError
from evaluation.measures.lm_usage import LMUsage, answering, share_of_schema, usage_by_seat
from evaluation.play.stored_games import played, seats
from welfare_env.errors import RecordError, did_you_mean
from welfare_env.game.press import GLOBAL

_ORDER = re.compile(r"[AF] [A-Z/]{3,6}(?: [A-Z/-]{1,6}){0,7}|GIVE(?: [0-9A-Z]{1,20}){1,2}|WAIVE")
"""Matches orders, also slightly wrong ones; the orders of a reply may contain private thoughts instead."""

PROFILE, DEVIATOR = "profile", "deviator"
_KINDS = {"turn": "turn", "summary": "summary of its messages"}


@dataclass(frozen=True)
class TranscriptRequest:
    """A request of a player to a model, and the reply, with or without private texts.

    Attributes:
        player, policy, part: the player, the spec of its policy, and "profile" or "deviator".
        question: the request as the record has it.
        outcome: the reply or error.
        form: remarks on the reply's format: "of its schema", "not of its schema", "repaired"; () for none.
        system, user: the prompt.
        same: the number of characters of the prompt that are those of the player's previous prompt of this kind.
        reply: the reply or error; without private texts, only orders and messages, or the kind of error.
        thinking: hidden thinking, if private texts are included.
    """

    player: str
    policy: str
    part: str
    question: KeptQuestion
    outcome: Reply | ModelError
    form: tuple[str, ...]
    system: str
    user: str
    same: int
    reply: str
    thinking: str

    @property
    def answered_by(self) -> str:
        """The model name reported by the server; "" if unknown."""
        return self.outcome.model if isinstance(self.outcome, Reply) else ""

    @property
    def ending(self) -> str:
        """ "stop", "length" ..., or "failed" with the kind of fault."""
        return self.outcome.finish if isinstance(self.outcome, Reply) else f"failed: {self.outcome.kind}"

    @property
    def told(self) -> str:
        """The answering model, the format and the cost of the reply, in words."""
        by = [f"answered by {self.answered_by}"] if self.answered_by else []
        return ", ".join([*by, *self.form, _cost(self.outcome)])

    @property
    def title(self) -> str:
        """ "S1901M, round 1, FRANCE: turn"."""
        where = self.question.where
        place = [str(where["phase"])] if "phase" in where else []
        place += [f"round {where['round']}"] if where.get("round") else []
        return ", ".join([*place, self.player]) + f": {_KINDS.get(where['kind'], where['kind'])}"


@dataclass(frozen=True)
class GameTranscript:
    """The requests of a game, ordered by phase and round.

    Attributes:
        title: players, map and rules in one line.
        asked: the requests.
        usage: one line per seat and model: calls, tokens, price and faults.
        is_private: whether private texts are included.
    """

    title: str
    asked: tuple[TranscriptRequest, ...]
    usage: tuple[str, ...]
    is_private: bool


def transcript_of(record: Mapping[str, Any], private: bool = False, players: Sequence[str] = ()) -> GameTranscript:
    """The transcript of a game.

    Args:
        record: the record of the game.
        private: whether to include reasoning, thinking, raw replies, summaries and other notes.
        players: only requests of these players; () for all.

    Raises:
        EvaluationError: no language model played, the prompts were not recorded, or an unknown player.
        RecordError: the recorded transcript is damaged.
    """
    facts = record.get("welfare_env", {})
    try:
        models = facts.get("language_models", {})
        _check(models, players)
        parts = parts_of(facts)
        phases = [phase["name"] for phase in record["phases"]]
        found = [
            asked
            for player in (players or models)
            for model in models[player]
            for asked in _asked(player, facts, parts, model["transcript"], private)
        ]
        found.sort(key=lambda asked: _moment(asked.question.where, phases))  # stable: players in the record's order
        title = f"{seats(facts['players'])}; {played(facts | {'map': record['map']})}"
        usage = tuple(_usage_lines(usage_by_seat([(record, parts)])))
        return GameTranscript(title, tuple(found), usage, private)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, EvaluationError):
            raise
        raise RecordError(f"the record's transcript is damaged: {type(error).__name__}: {error!s:.200}") from error


def _check(models: Mapping[str, Any], players: Sequence[str]) -> None:
    if not models:
        raise EvaluationError("no language model played this game, so there is no transcript")
    for player in players:
        if player not in models:
            near = did_you_mean(player, models)
            raise EvaluationError(f"{player!r:.80} has no language model{near}: choose from {', '.join(models)}")
    if not all("transcript" in model for entries in models.values() for model in entries):
        raise EvaluationError(
            "the record has no prompts: the game was played by an earlier version, or saved without private texts "
            "(save it with games --save --private)"
        )


def parts_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """Player -> "profile" or "deviator", from the section "welfare_env" of a record; "profile" by default."""
    deviators = facts.get("deviators") or facts.get("coalition") or ()
    return {player: DEVIATOR if player in deviators else PROFILE for player in facts["players"]}


def _moment(where: Mapping[str, Any], phases: Sequence[str]) -> tuple[int, bool, int]:
    phase = phases.index(where["phase"]) if "phase" in where else -1
    return phase, where["kind"] == "summary", int(where.get("round", 0))


def _asked(
    player: str, facts: Mapping[str, Any], parts: Mapping[str, str], entries: Any, private: bool
) -> Iterator[TranscriptRequest]:
    for question in questions(entries):
        reply = read_outcome({name: value for name, value in question.reply.items() if name != "cut"})
        blocks = [_shown(block, private) for block in (*question.system, *question.user)]
        mark = len(question.system)
        yield TranscriptRequest(
            player=player,
            policy=facts["players"][player],
            part=parts[player],
            question=question,
            outcome=reply,
            form=_form(reply, question),
            system="".join(blocks[:mark]),
            user="".join(blocks[mark:]),
            same=sum(map(len, blocks[: question.same])),
            reply=_reply(reply, question.where["kind"], private, (*parts, GLOBAL)),
            thinking=reply.reasoning if private and isinstance(reply, Reply) else "",
        )


def _form(reply: Reply | ModelError, question: KeptQuestion) -> tuple[str, ...]:
    """Remarks on the format of a reply about a turn; see `TranscriptRequest.form`."""
    if isinstance(reply, ModelError) or question.where["kind"] != "turn" or not question.is_kept:
        return ()
    found = read_fields(reply.text, ("reasoning", "orders", "messages"), is_cut_off(reply.finish))
    repaired = ("repaired",) if any(issue.kind == "repaired" for issue in found.issues) else ()
    if question.schema is None or "cut" in question.reply:
        return repaired
    return ("of its schema" if obeys(reply.text, question.schema) else "not of its schema", *repaired)


def _shown(block: tuple[str, bool], private: bool) -> str:
    text, is_private = block
    return _hidden(text) + "\n" if is_private and not private else text


def _hidden(text: str) -> str:
    return f"[private: {len(text)} characters]"


def _reply(reply: Reply | ModelError, kind: str, private: bool, players: Collection[str]) -> str:
    """The raw reply; or if not `private`, only its public parts: orders, and messages to players.

    A server's error message may quote the prompt, so the public version has only the kind of fault.
    """
    if isinstance(reply, ModelError):
        return str(reply) if private else reply.kind
    if private:
        return reply.text
    if kind != "turn":
        return _hidden(reply.text)
    found = read_fields(reply.text, ("reasoning", "orders", "messages"), is_cut_off(reply.finish)).values
    public = {
        "orders": [text for text in texts_of(found.get("orders")) if _ORDER.fullmatch(text)],
        "messages": dict(_addressed(found.get("messages"), players)),
    }
    return without_surrogates(json.dumps(public, ensure_ascii=False))


def _addressed(value: Any, players: Collection[str]) -> Iterator[tuple[str, str]]:
    for name, part in value.items() if isinstance(value, Object) else ():
        if name.strip().upper() in players and isinstance(part, str):
            yield name, part


def as_lines(transcript: GameTranscript, game: str = "") -> Iterator[str]:
    """JSON lines, one per request: its messages in the format of chat servers, and its usage.

    Args:
        game: the key or the file of the game; "" for none.
    """
    for asked in transcript.asked:
        question = asked.question
        talk = [("system", asked.system), ("user", asked.user)] if question.is_kept else []
        if question.is_kept and isinstance(asked.outcome, Reply):
            talk.append(("assistant", asked.reply))
        line = {
            **({"game": game} if game else {}),
            "player": asked.player,
            "policy": asked.policy,
            "part": asked.part,
            "model": question.model,
            **({"answered_by": asked.answered_by} if asked.answered_by else {}),
            **({"form": list(asked.form)} if asked.form else {}),
            **question.where,
            "messages": [{"role": role, "content": text} for role, text in talk if text or role != "system"],
            "schema": question.schema,
            **({"thinking": asked.thinking} if asked.thinking else {}),
            "ending": asked.ending,
            **{name: question.reply[name] for name in ("usage", "attempts", "faults") if name in question.reply},
        }
        yield json.dumps(line, allow_nan=False)


def as_text(transcript: GameTranscript) -> Iterator[str]:
    """Human-readable lines. Of each prompt, only the part that differs from the player's previous one of its kind."""
    yield visible(transcript.title)
    for line in transcript.usage:
        yield visible(f"- {line}")
    if not transcript.is_private:
        yield "Private reasoning, notes and raw replies are left out; --private includes them."
    for asked in transcript.asked:
        yield f"\n=== {visible(asked.title)} ({visible(asked.question.model)})"
        if not asked.question.is_kept:
            yield "--- prompt and reply were too long to be recorded"
        else:
            before = f", after {asked.same:,} unchanged characters" if asked.same else ""
            yield f"--- prompt{before}"
            yield _indented((asked.system + asked.user)[asked.same :])
        if asked.thinking:
            yield f"--- thinking\n{_indented(asked.thinking)}"
        yield f"--- reply ({visible(asked.ending)}; {visible(asked.told)})"
        yield _indented(asked.reply)


def _indented(text: str) -> str:
    """An indented text, so that none of its lines can be mistaken for the transcript's own."""
    return "\n".join(f"  {line}" if line else "" for line in visible(text).split("\n"))


def _usage_lines(usage: Mapping[str, Mapping[str, Mapping[str, LMUsage]]]) -> Iterator[str]:
    for part, by_player in usage.items():
        for player, models in by_player.items():
            for model, used in models.items():
                price = "no known price" if used.dollars is None else f"${used.dollars:.4f}"
                faults = ", ".join(f"{kind} {count}" for kind, count in {**used.faults, **used.losses}.items())
                form = f"match the schema {share_of_schema(used.obeyed, used.with_schema)}"
                tokens = f"{used.input_tokens:,} + {used.output_tokens:,} tokens, {price}"
                yield (
                    f"{player} ({part}), {model}: {used.calls} calls, {used.failed} failed, {tokens}, answered by "
                    f"{answering(used.answered_by)}, {form}, faults and losses: {faults or 'none'}"
                )


def _cost(reply: Reply | ModelError) -> str:
    """Tokens, price and faults of a request, in words."""
    words = [f"fault: {kind}" for kind in reply.faults]
    if reply.usage is None:
        return ", ".join(["usage unknown", *words])
    price = [] if reply.usage.dollars is None else [f"${reply.usage.dollars:.4f}"]
    return ", ".join([f"{reply.usage.input_tokens:,} + {reply.usage.output_tokens:,} tokens", *price, *words])


def visible(text: str) -> str:
    """A text with control characters escaped, since they could manipulate a terminal."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode("ascii")
        for sign in text.replace("\t", "    ")
    )
