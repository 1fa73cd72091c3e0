"""The share of kept promises over games."""

from __future__ import annotations

from collections.abc import Iterable

from evaluation.measures.intervals import Estimate, Seed, share_estimate
from evaluation.messages.analysis import MessageAnalysis
from evaluation.messages.promises import Kind


def kept_promises(games: Iterable[MessageAnalysis], rng: Seed, kind: Kind | None = None) -> Estimate:
    """Kept / judged promises over all games, so that every promise has the same weight."""
    counts = [(game.kept(kind), game.kept(kind) + game.broken(kind)) for game in games]
    return share_estimate([kept for kept, _ in counts], [judged for _, judged in counts], rng)
