"""Usage of language models, and their failures: from records to a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from agents.lm.ledger import EMPTY_NOTE

if TYPE_CHECKING:
    from agents.lm.models import Usage


@dataclass(frozen=True)
class LMUsage:
    """The total usage of language models in some games, each counted as played on its own.

    It does not depend on the cache: cached replies count like paid ones, and a reply that several games share (games
    with the same seed, such as self-play and a deviation) counts in each of them.

    Attributes:
        games: number of games with language models.
        calls: number of calls; `failed` of them got no reply.
        input_tokens: of prompts; `cached_tokens` of them were read from the provider's cache.
        output_tokens: of replies.
        dollars: list price of all replies; None if a price is unknown.
        faults: kind -> number of failed requests, retries included.
        endings: abnormal ending of a reply -> count: "cut off", "notes cut off" (of a summariser), "refused",
            "odd endings".
        losses: kind -> number of unusable parts of replies.
    """

    games: int
    calls: int
    failed: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    dollars: float | None
    faults: dict[str, int]
    endings: dict[str, int]
    losses: dict[str, int]


def usage_of(records: Sequence[Mapping[str, Any]]) -> LMUsage | None:
    """The usage of language models in some games; None if none played."""
    games = [list(_models(record)) for record in records]
    models = [model for found in games for model in found]
    return _total(sum(map(bool, games)), models) if models else None


def usage_by_part(games: Iterable[tuple[Mapping[str, Any], Mapping[str, str]]]) -> dict[str, dict[str, LMUsage]]:
    """Part -> model -> its usage in the seats of that part, both sorted by name.

    Args:
        games: records, each with player -> part.
    """
    models: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    played: Counter[tuple[str, str]] = Counter()
    for record, parts in games:
        found = [
            ((parts[player], model["model"]), model)
            for player, playing in record.get("welfare_env", {}).get("language_models", {}).items()
            for model in playing
        ]
        for key, model in found:
            models.setdefault(key, []).append(model)
        played.update({key for key, _ in found})
    told: dict[str, dict[str, LMUsage]] = {}
    for part, name in sorted(models):
        told.setdefault(part, {})[name] = _total(played[part, name], models[part, name])
    return told


def _total(games: int, models: Sequence[Mapping[str, Any]]) -> LMUsage:
    dollars = [model["dollars"] for model in models]
    return LMUsage(
        games=games,
        **{name: sum(model[name] for model in models) for name in _SUMS},
        dollars=None if None in dollars else sum(dollars),
        faults=_counted(models, "faults"),
        endings=_endings(models),
        losses=_counted(models, "losses"),
    )


_ADVICE = {
    "cut off": "{count} of {calls} replies were cut off at max_tokens, in which hidden thinking counts: raise "
    "max_tokens, or lower effort",
    "notes cut off": "{count} notes were cut off at their limit: choose another model as summariser, or none",
    "refused": "{count} of {calls} replies were refusals, of the model or of its provider: see the turns in the "
    "record, and try another model or flavour",
    "odd endings": "{count} of {calls} replies ended in an unknown way: see the turns in the record",
}
"""What to do about replies that did not end normally."""

CAPTION = "all replies of all games, cached ones included; a reply shared by several games counts in each of them"

_SUMS = ("calls", "failed", "input_tokens", "cached_tokens", "output_tokens")


def _models(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for models in record.get("welfare_env", {}).get("language_models", {}).values():
        yield from models


def _counted(models: Sequence[Mapping[str, Any]], what: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for model in models:
        total.update(model[what])
    return dict(sorted(total.items()))


def _endings(models: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Counts by the keys of `_ADVICE`."""
    counts = Counter(_counted(models, "endings"))
    cut = sum(turn.get("finish") == "length" for model in models for turn in model["turns"])
    named = {"cut off": cut, "notes cut off": counts["length"] - cut}
    named |= {"refused": counts["refusal"], "odd endings": counts["other"]}
    return {name: count for name, count in named.items() if count}


def advice(rows: Sequence[tuple[str, LMUsage]]) -> Iterator[str]:
    """A line per policy and kind of abnormal ending: how many, and what to do."""
    for policy, usage in rows:
        for name, count in usage.endings.items():
            yield f"{policy}: {_ADVICE[name].format(count=count, calls=usage.calls)}"


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
        if replies and not any(map(_is_usable, replies)):
            yield f"{name}: none of its {len(replies)} replies could be used: its units held, and it sent no messages"
    for name, count in notes.items():
        if count["empty"]:
            yield (
                f"{name}: {count['empty']} of its {count['all']} summaries are empty, though paid for: it got the "
                "shortened messages instead. Give a model that thinks for long more max_tokens"
            )


def _is_usable(turn: Mapping[str, Any]) -> bool:
    return "fault" not in turn and "no object" not in [kind for kind, _ in turn["losses"]]


def usage_table(rows: Sequence[tuple[str, LMUsage]]) -> Table:
    """One row per policy."""
    table = Table(
        title=Text("Language models", style="table.title"),
        caption=Text("\n".join((CAPTION, *advice(rows))), style="table.caption"),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("policy", overflow="fold", min_width=12)
    for name in ("calls", "failed", "input tokens", "cached", "output tokens", "list price"):
        table.add_column(name, justify="right")
    table.add_column("faults, endings and losses", overflow="fold")
    for policy, usage in rows:
        share = f"{usage.cached_tokens / usage.input_tokens:.0%}" if usage.input_tokens else "-"
        dollars = "unknown" if usage.dollars is None else f"${usage.dollars:.2f}"
        counts = (f"{usage.calls:,}", f"{usage.failed:,}", f"{usage.input_tokens:,}", share, f"{usage.output_tokens:,}")
        counted = (*usage.faults.items(), *usage.endings.items(), *usage.losses.items())
        wrong = ", ".join(f"{kind} {number}" for kind, number in counted)
        table.add_row(*map(Text, (policy, *counts, dollars, wrong or "none")))
    return table


def spent(usage: Usage) -> str:
    """The real cost of a run, in one line: cached replies are free, shared ones are counted once."""
    dollars = "at no known price" if usage.dollars is None else f"${usage.dollars:.2f}"
    return f"spent in this run: {usage.tokens:,} tokens, {dollars} (list price; cached replies cost nothing)"
