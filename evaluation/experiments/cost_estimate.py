"""What the language models of a run will use, estimated before its first game by a rehearsal.

One game of every kind is played with invented replies in place of the models', so that seats, rules, eliminations and
the growth of prompts are those of the run. Four characters count as a token, as in English; replies are as long as the
invented ones, without thinking; and a provider's cache supplies the system prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from agents.lm.models.cache import CachedModel
from agents.lm.models.prices import Counts, Price
from agents.lm.models.protocol import Model, Reply, Request
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub.replies import stub_reply, tokens
from agents.runtime.tables import new_table
from evaluation.measures.lm_usage import LMUsage, usage_by_part
from evaluation.play.game_spec import GameSpec
from evaluation.play.playing import play_game

MAX_KINDS = 8  # kinds of games that are rehearsed; each takes some seconds for ten years


@dataclass(frozen=True)
class Estimate:
    """The estimated usage of one model in all games of a run; dollars: list price, None if no price is known."""

    model: str
    calls: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float
    dollars: float | None

    @classmethod
    def of(cls, model: str, shares: Iterable[tuple[float, LMUsage]]) -> Estimate:
        """The sum of usages, each multiplied."""
        parts = list(shares)
        names = ("calls", "input_tokens", "cached_tokens", "output_tokens")
        sums = {name: sum(times * getattr(usage, name) for times, usage in parts) for name in names}
        known = [times * usage.dollars for times, usage in parts if usage.dollars is not None]
        return cls(model, **sums, dollars=sum(known) if len(known) == len(parts) else None)


class _StandIn(Model):
    """Answers with invented replies in place of a model, at its price."""

    def __init__(self, model: Model) -> None:
        inner: Any = model.model if isinstance(model, CachedModel) else model
        self.name, self.settings = model.name, model.settings
        self._price: Price | None = getattr(inner, "price", None)

    def complete(self, request: Request) -> Reply:
        """An invented reply."""
        text = stub_reply(request.prompt, request.schema)
        system = "".join(block.text for block in request.system)
        prompt, cached, reply = (tokens(each) for each in (request.prompt, system, text))
        return Reply(text, Counts(prompt - cached, cached, 0, reply).usage(self._price), model=self.name)

    async def acomplete(self, request: Request) -> Reply:
        """As `complete`."""
        return self.complete(request)


class _StandIns(SharedModels):
    """Stand-ins for the models of a run."""

    def __init__(self, models: SharedModels) -> None:
        super().__init__()
        self._for = models

    def get(self, name: str, **settings: Any) -> Model:
        """A stand-in for a model; raises as `SharedModels.get`."""
        return _StandIn(self._for.get(name, **settings))


def estimate(games: Sequence[GameSpec], total: int, models: SharedModels) -> list[Estimate]:
    """The estimated usage of each model, sorted by name.

    Args:
        games: some games of a run, e.g. its first ones.
        total: the number of games of the whole run; those not in `games` are assumed to be like them.
        models: the models of the run; none is asked.

    Raises:
        LMError: a prompt does not fit the game.
    """
    kinds: dict[Any, list[GameSpec]] = {}
    for spec in games:
        if spec.asks_language_models and not spec.has_people:
            seats = Counter(policy for _, policy in spec.players)
            kinds.setdefault((frozenset(seats.items()), spec.rules, spec.map_name), []).append(spec)
    rehearsed = list(kinds.values())[:MAX_KINDS]
    number = sum(map(len, rehearsed))
    scale = total * sum(map(len, kinds.values())) / len(games) / number if number else 0.0
    shares: dict[str, list[tuple[float, LMUsage]]] = {}
    for alike in rehearsed:
        record = play_game(alike[0], _StandIns(models))
        parts = dict.fromkeys(record["welfare_env"]["language_models"], "")
        for model, usage in usage_by_part([(record, parts)]).get("", {}).items():
            shares.setdefault(model, []).append((scale * len(alike), usage))
    return [Estimate.of(model, shares[model]) for model in sorted(shares)]


def estimate_table(estimates: Sequence[Estimate], games: int) -> Table:
    """The estimated usage before the first game, in columns like those of `usage_table`.

    Args:
        estimates: one for each model.
        games: the maximum number of games of the run.
    """
    replies = sum(each.output_tokens for each in estimates) / max(1.0, sum(each.calls for each in estimates))
    caption = (
        f"An estimate by a rehearsal of each kind of game: replies as long as invented ones ({replies:.0f} tokens), no "
        "thinking, four characters a token, the system prompt from the provider's cache; stored games and cached "
        "replies cost nothing."
    )
    rows = []
    for each in estimates:
        dollars = "unknown" if each.dollars is None else f"${each.dollars:.2f}"
        share = f"{each.cached_tokens / each.input_tokens:.0%}" if each.input_tokens else "-"
        rows.append(
            (
                each.model,
                f"{each.calls:,.0f}",
                f"{each.input_tokens:,.0f}",
                share,
                f"{each.output_tokens:,.0f}",
                dollars,
            )
        )
    columns = ("|model", *(f">{name}" for name in ("calls", "input tokens", "cached", "output tokens", "list price")))
    return new_table(f"Language models, before the first of up to {games:,} games", caption, columns, rows)
