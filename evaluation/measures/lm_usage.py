"""Usage and failures of language models, from records to a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from agents.lm import Usage

Model = Mapping[str, Any]
"""What a record tells of a player's model, as `agents.lm.player.ledger.Ledger.to_dict` writes it."""
Games = Iterable[tuple[Mapping[str, Any], Mapping[str, str]]]
"""Records, each with player -> part."""

_TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
_SUMS = ("calls", "failed", *_TOKENS, "with_schema", "obeyed")
_OF_TURNS = ("finish", "fault", "losses")
_COUNTS = ("faults", "losses", "answered_by", "left_out")


@dataclass(frozen=True)
class LMUsage:
    """The total usage of language models in some games, as if no replies had been cached.

    Cached replies count like paid replies, and a reply shared by several games (with the same seed, such as self-play
    and a deviation) counts in each of them.

    Attributes:
        games: number of games with language models.
        calls, failed: number of calls, and of those without a reply.
        input_tokens, cached_tokens: tokens of prompts, and of those read from the provider's cache.
        output_tokens, reasoning_tokens: tokens of replies including thinking, and of thinking alone, if reported.
        dollars: list price of all replies; None if a price is unknown.
        faults: kind -> number of failed requests, retries included.
        endings: abnormal ending of a reply -> count: "cut off", "notes cut off" (of a summarizer), "refused",
            "notes refused", "odd endings".
        losses: kind -> number of unusable parts of replies.
        answered_by: model name reported by the server -> number of replies; empty for games of earlier versions.
        with_schema, obeyed: number of replies to prompts sent with a schema, and of those that match the schema.
        left_out: parameter -> number of replies for which it was not sent, as the server refuses it.
    """

    games: int
    calls: int
    failed: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    dollars: float | None
    faults: dict[str, int]
    endings: dict[str, int]
    losses: dict[str, int]
    answered_by: dict[str, int]
    with_schema: int
    obeyed: int
    left_out: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


def models_of(record: Mapping[str, Any]) -> Mapping[str, Sequence[Model]]:
    """Player -> its models, from a record."""
    models: Mapping[str, Sequence[Model]] = record.get("welfare_env", {}).get("language_models", {})
    return models


def usage_of(records: Sequence[Mapping[str, Any]]) -> LMUsage | None:
    """The usage of language models in some games; None without language models."""
    games = [[model for models in models_of(record).values() for model in models] for record in records]
    used = [models for models in games if models]
    return _total(len(used), [model for models in used for model in models]) if used else None


def usage_by_part(games: Games) -> dict[str, dict[str, LMUsage]]:
    """Part -> model -> usage in the seats of that part, both sorted by name."""
    return _usage_by(lambda part, player: (part,), games)


def usage_by_seat(games: Games) -> dict[str, dict[str, dict[str, LMUsage]]]:
    """Part -> player -> model -> usage in that player's seat, sorted by name."""
    return _usage_by(lambda part, player: (part, player), games)


def _usage_by(group: Callable[[str, str], tuple[str, ...]], games: Games) -> dict[str, Any]:
    """The usage of each model in a group of seats, nested by the names of `group`, which gets part and player."""
    found: dict[tuple[str, ...], dict[int, list[Model]]] = {}
    for number, (record, parts) in enumerate(games):
        for player, models in models_of(record).items():
            for name, counts in (each for model in models for each in _by_model(model).items()):
                seats = found.setdefault((*group(parts[player], player), name), {})
                seats.setdefault(number, []).append(counts)
    usage: dict[str, Any] = {}
    for (*names, model), played in sorted(found.items()):
        inner = usage
        for name in names:
            inner = inner.setdefault(name, {})
        inner[model] = _total(len(played), list(chain.from_iterable(played.values())))
    return usage


def _by_model(player: Model) -> Mapping[str, Model]:
    """Counts for a player's model and for its summarizer; without a transcript, all counts go to the player's model."""
    from agents.lm.player.ledger import EMPTY_NOTE  # lazily: few games have language models

    own, other = player["model"], player["summariser"]
    if other in (None, own) or "transcript" not in player:
        return {own: player}
    losses = player["losses"]
    shares = {
        name: _counted([entry["reply"] for entry in player["transcript"] if entry["model"] == name])
        for name in (own, other)
    }
    shares[own] |= {key: player[key] for key in ("turns", "with_schema", "obeyed") if key in player}
    shares[own]["losses"] = {kind: count for kind, count in losses.items() if kind != EMPTY_NOTE}
    shares[other]["losses"] = {kind: count for kind, count in losses.items() if kind == EMPTY_NOTE}
    return shares


def _counted(replies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts of some replies, in a ledger's format."""
    used = [reply["usage"] for reply in replies if reply["usage"] is not None]
    dollars = [usage["dollars"] for usage in used]
    return {
        "calls": len(replies),
        "failed": sum("failed" in reply for reply in replies),
        **{name: sum(usage.get(name, 0) for usage in used) for name in _TOKENS},
        "dollars": None if None in dollars else sum(dollars),
        "faults": Counter(fault for reply in replies for fault in reply["faults"]),
        "answered_by": Counter(name for reply in replies if (name := reply.get("model"))),
        "left_out": Counter(name for reply in replies for name in reply.get("left_out", ())),
        "endings": Counter(end for reply in replies if (end := reply.get("finish", "stop")) != "stop"),
        "turns": [],
    }


def _total(games: int, models: Sequence[Model]) -> LMUsage:
    def total(what: str) -> dict[str, int]:
        counts: Counter[str] = sum((Counter(model.get(what, {})) for model in models), Counter())
        return dict(sorted(counts.items()))

    dollars, endings = [model["dollars"] for model in models], Counter(total("endings"))
    turns = Counter(turn.get("finish") for model in models for turn in model["turns"])
    named = {"cut off": turns["length"], "notes cut off": endings["length"] - turns["length"]}
    named |= {"refused": turns["refusal"], "notes refused": endings["refusal"] - turns["refusal"]}
    named |= {"odd endings": endings["other"]}
    sums: dict[str, Any] = {name: sum(model.get(name, 0) for model in models) for name in _SUMS}
    counts: dict[str, Any] = {name: total(name) for name in _COUNTS}
    return LMUsage(
        games=games,
        dollars=None if None in dollars else sum(dollars),
        endings={name: count for name, count in named.items() if count},
        **sums,
        **counts,
    )


def without_texts(record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a record that this module reads: no prompts, replies and reasoning (most of a record's size)."""
    from agents.lm.player.ledger import without_texts as bare_reply  # lazily: few games have language models

    def bare(model: Model) -> dict[str, Any]:
        kept = {**model, "turns": [{name: turn[name] for name in _OF_TURNS if name in turn} for turn in model["turns"]]}
        if "transcript" in model:
            replies = [{"model": each["model"], "reply": bare_reply(each["reply"])} for each in model["transcript"]]
            kept["transcript"] = replies
        return kept

    return {"welfare_env": {"language_models": _changed(record, bare)}}


def without_transcripts(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without the prompts and raw replies of its language models."""
    if not models_of(record):
        return dict(record)
    models = _changed(record, lambda model: {name: part for name, part in model.items() if name != "transcript"})
    return {**record, "welfare_env": {**record["welfare_env"], "language_models": models}}


def _changed(record: Mapping[str, Any], change: Callable[[Model], dict[str, Any]]) -> dict[str, Any]:
    return {player: list(map(change, playing)) for player, playing in models_of(record).items()}


def unusable(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Warnings about language models without a single usable reply in these games, and about empty notes."""
    from agents.lm.player.ledger import EMPTY_NOTE  # lazily: few games have language models

    turns: dict[str, list[Mapping[str, Any]]] = {}
    notes: dict[str, Counter[str]] = {}
    for model in (model for record in records for models in models_of(record).values() for model in models):
        turns.setdefault(model["model"], []).extend(model["turns"])
        empty, kept = model["losses"].get(EMPTY_NOTE, 0), len(model["summaries"])
        notes.setdefault(str(model["summariser"]), Counter()).update(empty=empty, all=empty + kept)
    for name, replies in turns.items():
        usable = ("fault" not in turn and "no object" not in [kind for kind, _ in turn["losses"]] for turn in replies)
        if replies and not any(usable):
            yield f"{name}: none of its {len(replies)} replies was usable: its units held, and it sent no messages"
    for name, count in notes.items():
        if count["empty"]:
            yield (
                f"{name}: {count['empty']} of its {count['all']} summaries are empty, though paid for; shortened "
                "messages were used instead. Raise max_tokens for a model with long hidden thinking"
            )


# In words

_ADVICE = {
    "cut off": "{count} of {calls} replies were cut off at max_tokens (which includes hidden thinking): raise "
    "max_tokens, or lower effort",
    "notes cut off": "{count} notes were cut off at their limit: choose another model as summariser, or none",
    "notes refused": "{count} notes were refused: choose another model as summariser, or none",
    "refused": "{count} of {calls} replies were refusals by the model or its provider: see the turns in the "
    "record, and try another model or flavour",
    "odd endings": "{count} of {calls} replies ended in an unknown way: see the turns in the record",
}
"""Advice for replies that did not end normally."""

CAPTION = "all replies of all games, cached replies included; a reply shared by several games counts in each of them"


def answering(counts: Mapping[str, int]) -> str:
    """The models that answered, as named by their servers; if several, with the number of replies of each."""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({count:,})" for name, count in counts.items()) or "-"


def share_of_schema(obeyed: int, with_schema: int) -> str:
    """The share of replies that match the schema, as text; "-" if no schema was sent."""
    return f"{obeyed / with_schema:.0%}" if with_schema else "-"


def share_repaired(repaired: int, replies: int) -> str:
    """The share of replies that were invalid JSON but could be repaired, as text."""
    return f"{repaired / replies:.1%}" if replies else "-"


def usage_table(rows: Sequence[tuple[str, LMUsage]]) -> Table:
    """One row per policy; in the caption, advice for each kind of abnormal ending."""
    advice = [
        f"{policy}: {_ADVICE[name].format(count=count, calls=usage.calls)}"
        for policy, usage in rows
        for name, count in usage.endings.items()
    ]
    table = Table(
        title=Text("Language models", style="table.title"),
        caption=Text("\n".join((CAPTION, *advice)), style="table.caption"),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("policy", overflow="fold")
    table.add_column("answered by", overflow="fold")
    for name in ("calls", "failed", "match the schema", "input tokens", "cached", "output tokens", "list price"):
        table.add_column(name, justify="right")
    table.add_column("faults, endings and losses")
    for policy, usage in rows:
        share = f"{usage.cached_tokens / usage.input_tokens:.0%}" if usage.input_tokens else "-"
        dollars = "unknown" if usage.dollars is None else f"${usage.dollars:.2f}"
        thought = f" ({usage.reasoning_tokens:,} thinking)" if usage.reasoning_tokens else ""
        output = f"{usage.output_tokens:,}{thought}"
        obeyed, by = share_of_schema(usage.obeyed, usage.with_schema), answering(usage.answered_by)
        counts = (by, f"{usage.calls:,}", f"{usage.failed:,}", obeyed, f"{usage.input_tokens:,}", share, output)
        left_out = ((f"without {name}", number) for name, number in usage.left_out.items())
        counted = (*usage.faults.items(), *usage.endings.items(), *usage.losses.items(), *left_out)
        wrong = ", ".join(f"{kind} {number}" for kind, number in counted)
        table.add_row(*map(Text, (policy, *counts, dollars, wrong or "none")))
    return table


def spent(usage: Usage) -> str:
    """The actual cost of a run, in one line: cached replies are free, shared replies are counted once."""
    dollars = "at no known price" if usage.dollars is None else f"${usage.dollars:.2f}"
    return f"spent in this run: {usage.tokens:,} tokens, {dollars} (list price; cached replies cost nothing)"
