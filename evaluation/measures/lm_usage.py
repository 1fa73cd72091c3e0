"""Usage and failures of language models, from records to a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from agents.lm.player.ledger import EMPTY_NOTE
from agents.lm.player.ledger import without_texts as bare_reply

if TYPE_CHECKING:
    from agents.lm.models import Usage


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


def usage_of(records: Sequence[Mapping[str, Any]]) -> LMUsage | None:
    """The usage of language models in some games; None without language models."""
    games = [list(_models(record)) for record in records]
    models = [model for found in games for model in found]
    return _total(sum(map(bool, games)), models) if models else None


def usage_by_part(games: Iterable[tuple[Mapping[str, Any], Mapping[str, str]]]) -> dict[str, dict[str, LMUsage]]:
    """Part -> model -> usage in the seats of that part, both sorted by name.

    Args:
        games: records, each with player -> part.
    """
    usage: dict[str, dict[str, LMUsage]] = {}
    for (part, name), used in _grouped(games, lambda part, player, model: (part, model)):
        usage.setdefault(part, {})[name] = used
    return usage


def usage_by_seat(
    games: Iterable[tuple[Mapping[str, Any], Mapping[str, str]]],
) -> dict[str, dict[str, dict[str, LMUsage]]]:
    """Part -> player -> model -> usage in that player's seat, sorted by name; arguments as `usage_by_part`."""
    usage: dict[str, dict[str, dict[str, LMUsage]]] = {}
    for (part, player, name), used in _grouped(games, lambda *seat: seat):
        usage.setdefault(part, {}).setdefault(player, {})[name] = used
    return usage


def _grouped(
    games: Iterable[tuple[Mapping[str, Any], Mapping[str, str]]], key: Callable[[str, str, str], tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], LMUsage]]:
    """The usage of each group, sorted by `key(part, player, model)`."""
    models: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    played: Counter[tuple[str, ...]] = Counter()
    for record, parts in games:
        found = [
            (key(parts[player], player, name), share)
            for player, playing in record.get("welfare_env", {}).get("language_models", {}).items()
            for model in playing
            for name, share in _by_model(model).items()
        ]
        for group, share in found:
            models.setdefault(group, []).append(share)
        played.update({group for group, _ in found})
    yield from ((group, _total(played[group], models[group])) for group in sorted(models))


def _by_model(player: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Counts for a player's model and for its summarizer; without a transcript, all counts go to the player's model."""
    own, other = player["model"], player["summariser"]
    if other in (None, own) or "transcript" not in player:
        return {own: player}
    losses = player["losses"]
    lost = {own: {kind: count for kind, count in losses.items() if kind != EMPTY_NOTE}, other: {}}
    if EMPTY_NOTE in losses:
        lost[other] = {EMPTY_NOTE: losses[EMPTY_NOTE]}
    return {
        name: _share([entry["reply"] for entry in player["transcript"] if entry["model"] == name])
        | {"losses": lost[name], "turns": player["turns"] if name == own else []}
        | ({key: player[key] for key in ("with_schema", "obeyed") if key in player} if name == own else {})
        for name in (own, other)
    }


def _share(replies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts of some replies, in a ledger's format."""
    used = [reply["usage"] for reply in replies if reply["usage"] is not None]
    dollars = [usage["dollars"] for usage in used]
    tokens = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
    return {
        "calls": len(replies),
        "failed": sum("failed" in reply for reply in replies),
        **{name: sum(usage.get(name, 0) for usage in used) for name in tokens},
        "dollars": None if None in dollars else sum(dollars),
        "faults": dict(Counter(fault for reply in replies for fault in reply["faults"])),
        "answered_by": dict(Counter(name for reply in replies if (name := reply.get("model")))),
        "left_out": dict(Counter(name for reply in replies for name in reply.get("left_out", ()))),
        "endings": dict(Counter(end for reply in replies if (end := reply.get("finish", "stop")) != "stop")),
    }


def without_texts(player: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a player's model in a record, without prompts, replies and reasoning (most of a record's size)."""
    kept = {**player, "turns": [{"finish": turn.get("finish")} for turn in player["turns"]]}
    if "transcript" in player:
        kept["transcript"] = [
            {"model": entry["model"], "reply": bare_reply(entry["reply"])} for entry in player["transcript"]
        ]
    return kept


def without_transcripts(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without the prompts and raw replies of its language models."""
    facts = record.get("welfare_env", {})
    if "language_models" not in facts:
        return dict(record)
    models = {
        player: [{name: part for name, part in model.items() if name != "transcript"} for model in playing]
        for player, playing in facts["language_models"].items()
    }
    return {**record, "welfare_env": {**facts, "language_models": models}}


def _total(games: int, models: Sequence[Mapping[str, Any]]) -> LMUsage:
    dollars = [model["dollars"] for model in models]
    return LMUsage(
        games=games,
        **{name: sum(model[name] for model in models) for name in _SUMS},
        reasoning_tokens=sum(model.get("reasoning_tokens", 0) for model in models),
        dollars=None if None in dollars else sum(dollars),
        faults=_counted(models, "faults"),
        endings=_endings(models),
        losses=_counted(models, "losses"),
        answered_by=_counted(models, "answered_by"),
        with_schema=sum(model.get("with_schema", 0) for model in models),
        obeyed=sum(model.get("obeyed", 0) for model in models),
        left_out=_counted(models, "left_out"),
    )


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

_SUMS = ("calls", "failed", "input_tokens", "cached_tokens", "output_tokens")


def _models(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for models in record.get("welfare_env", {}).get("language_models", {}).values():
        yield from models


def _counted(models: Sequence[Mapping[str, Any]], what: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for model in models:
        total.update(model.get(what, {}))
    return dict(sorted(total.items()))


def _endings(models: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Counts by the keys of `_ADVICE`."""
    counts = Counter(_counted(models, "endings"))
    turns = Counter(turn.get("finish") for model in models for turn in model["turns"])
    named = {"cut off": turns["length"], "notes cut off": counts["length"] - turns["length"]}
    named |= {"refused": turns["refusal"], "notes refused": counts["refusal"] - turns["refusal"]}
    named |= {"odd endings": counts["other"]}
    return {name: count for name, count in named.items() if count}


def advice(rows: Sequence[tuple[str, LMUsage]]) -> Iterator[str]:
    """One line per policy and kind of abnormal ending, with its count and advice."""
    for policy, usage in rows:
        for name, count in usage.endings.items():
            yield f"{policy}: {_ADVICE[name].format(count=count, calls=usage.calls)}"


def as_judged(record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a record that `unusable` reads: no prompts, replies or reasoning."""
    kept = {
        player: [
            {name: model[name] for name in ("model", "losses", "summaries", "summariser")}
            | {"turns": [{name: turn[name] for name in ("fault", "losses") if name in turn} for turn in model["turns"]]}
            for model in playing
        ]
        for player, playing in record["welfare_env"]["language_models"].items()
    }
    return {"welfare_env": {"language_models": kept}}


def unusable(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Warnings about language models without a single usable reply in these games, and about empty notes."""
    turns: dict[str, list[Mapping[str, Any]]] = {}
    notes: dict[str, Counter[str]] = {}
    for record in records:
        for model in _models(record):
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
    """One row per policy."""
    table = Table(
        title=Text("Language models", style="table.title"),
        caption=Text("\n".join((CAPTION, *advice(rows))), style="table.caption"),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("policy", overflow="fold")
    table.add_column("answered by", overflow="fold")
    for name in ("calls", "failed", "of the schema", "input tokens", "cached", "output tokens", "list price"):
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
