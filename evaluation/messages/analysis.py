"""Analysis of messages: pure functions of a game's record. See docs/measures.md for definitions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from agents.runtime.results import Result, tables_of
from agents.runtime.table_files import Row
from evaluation.checks import board_of
from evaluation.messages.promises import KINDS, Kind, Promise, promises
from welfare_env.checks import quoted
from welfare_env.errors import RecordError, WelfareEnvError
from welfare_env.game.press import GLOBAL

PARTS = ("sender", "recipient", "message")
_PHASE = re.compile(r"[SFW]\d{4,}[MRA]|COMPLETED|FORMING")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Similarity:
    """Mean cosine similarity of pairs of messages as vectors of word counts, 0 to 1; nan without pairs.

    Attributes:
        own: mean over pairs with the same sender (how much players repeat themselves).
        others: mean over pairs with different senders (how similarly players write).
    """

    own: float
    others: float


@dataclass(frozen=True, repr=False)
class MessageAnalysis(Result):
    """Statistics of a game's messages.

    Attributes:
        messages: number of messages.
        public_share: fraction of messages to GLOBAL; nan without messages.
        matrix: sender -> recipient -> number of messages; only pairs with messages, sorted by name.
        similarity: see `Similarity`.
        promises: see `evaluation.messages.promises`.
    """

    messages: int
    public_share: float
    matrix: dict[str, dict[str, int]]
    similarity: Similarity
    promises: tuple[Promise, ...]

    def kept(self, kind: Kind | None = None, sender: str | None = None) -> int:
        """Number of kept promises, optionally only of one kind or sender."""
        return sum(promise.is_kept is True for promise in self.promises_of(kind, sender))

    def broken(self, kind: Kind | None = None, sender: str | None = None) -> int:
        """Number of broken promises, optionally only of one kind or sender."""
        return sum(promise.is_kept is False for promise in self.promises_of(kind, sender))

    def kept_share(self, kind: Kind | None = None, sender: str | None = None) -> float:
        """Kept promises / judged promises; nan without judged promises."""
        kept, broken = self.kept(kind, sender), self.broken(kind, sender)
        return kept / (kept + broken) if kept + broken else math.nan

    def promises_of(self, kind: Kind | None = None, sender: str | None = None) -> list[Promise]:
        """The promises, optionally only of one kind or sender."""
        return [each for each in self.promises if kind in (None, each.kind) and sender in (None, each.sender)]

    def rows(self, players: str = "", rules: str = "", game: str = "") -> list[Row]:
        """One row per sender; the table "messages" of docs/results.md.

        Args:
            players, rules, game: values of the columns that describe the game, for tables of several games.
        """
        named: Row = {"players": players, "rules": rules, "game": game}
        of_game: Row = {
            "game_public_share": self.public_share,
            "game_similarity_own": self.similarity.own,
            "game_similarity_others": self.similarity.others,
        }
        return [
            named
            | {"sender": sender, "messages": sum(sent.values()), "public_messages": sent.get(GLOBAL, 0)}
            | self._promises(sender)
            | of_game
            for sender, sent in self.matrix.items()
        ]

    def _promises(self, sender: str) -> Row:
        counts: Row = {}
        for kind in KINDS:
            name = kind.replace(" ", "_")
            counts[f"promises_{name}"] = len(self.promises_of(kind, sender))
            counts |= {f"kept_{name}": self.kept(kind, sender), f"broken_{name}": self.broken(kind, sender)}
        return counts

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; nan becomes None."""
        shares = {"public_share": self.public_share, "own": self.similarity.own, "others": self.similarity.others}
        plain = {name: None if math.isnan(share) else share for name, share in shares.items()}
        return {
            "messages": self.messages,
            "public_share": plain["public_share"],
            "matrix": self.matrix,
            "similarity": {"own": plain["own"], "others": plain["others"]},
            "promises": {
                kind: {"kept": self.kept(kind), "broken": self.broken(kind), "found": len(self.promises_of(kind))}
                for kind in KINDS
            },
            "sentences": [asdict(promise) for promise in self.promises],
        }


@tables_of.register
def analysis_table(analysis: MessageAnalysis) -> list[Table]:
    """One row per sender."""
    table = Table(title=f"{analysis.messages} messages", title_justify="left")
    for name in ("sender", "messages", "public", "promises", "kept", "broken"):
        table.add_column(name, justify="left" if name == "sender" else "right")
    for row in analysis.rows():
        sender = str(row["sender"])
        judged = len(analysis.promises_of(sender=sender)), analysis.kept(sender=sender), analysis.broken(sender=sender)
        table.add_row(Text(sender), str(row["messages"]), str(row["public_messages"]), *map(str, judged))
    return [table]


def analyze_messages(record: Mapping[str, Any], map_name: str | None = None) -> MessageAnalysis:
    """Analyze the messages of a game.

    Args:
        record: the record of the game.
        map_name: the map, if it is a file; by default the record's map.

    Raises:
        RecordError: the record has no phases, or invalid messages.
        UnknownMapError, MapFormatError: an unknown or invalid map.
    """
    try:
        texts = [_checked(message, phase["name"]) for phase in record["phases"] for message in phase["messages"]]
        board = board_of(record["map"] if map_name is None else map_name)
        found = tuple(promises(record, board))
    except WelfareEnvError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise RecordError(
            f"the record is damaged, or not a saved game: {type(error).__name__}: {error!s:.200}"
        ) from error
    public = sum(recipient == GLOBAL for _, recipient, _ in texts)
    matrix: dict[str, dict[str, int]] = {}
    for (sender, recipient), number in sorted(Counter(text[:2] for text in texts).items()):
        matrix.setdefault(sender, {})[recipient] = number
    return MessageAnalysis(
        messages=len(texts),
        public_share=public / len(texts) if texts else math.nan,
        matrix=matrix,
        similarity=_similarity([(sender, text) for sender, _, text in texts]),
        promises=found,
    )


def _checked(message: Mapping[str, Any], phase: object) -> tuple[str, str, str]:
    """Sender, recipient and text of a message."""
    if not isinstance(phase, str) or not _PHASE.fullmatch(phase):
        raise RecordError(
            f"the record is damaged, or not a saved game: phase {quoted(phase)}: give one such as 'S1901M'"
        )
    parts = [message.get(name) for name in PARTS] if isinstance(message, Mapping) else []
    match [part for part in parts if isinstance(part, str)]:
        case [sender, recipient, text]:
            return sender, recipient, text
    wrong = f"message {quoted(message)} in {phase}: give a mapping with the texts {', '.join(PARTS)}"
    raise RecordError(f"the record is damaged, or not a saved game: {wrong}")


def _similarity(texts: Iterable[tuple[str, str]]) -> Similarity:
    """Mean similarities, without a loop over pairs: |sum of n unit vectors|^2 = n + 2 * (sum of pairwise cosines)."""
    by_sender: dict[str, list[dict[str, float]]] = {}
    for sender, text in texts:
        if vector := _unit(text):
            by_sender.setdefault(sender, []).append(vector)
    sums = {sender: _sum(vectors) for sender, vectors in sorted(by_sender.items())}
    counts = {sender: len(vectors) for sender, vectors in by_sender.items()}
    total, everybody = sum(counts.values()), _square(_sum(list(sums.values())))
    own = sum(_square(sums[sender]) - counts[sender] for sender in sums)
    own_pairs = sum(number * (number - 1) for number in counts.values())
    other_pairs = total * (total - 1) - own_pairs
    return Similarity(_mean(own, own_pairs), _mean(everybody - total - own, other_pairs))


def _mean(cosines: float, pairs: int) -> float:
    """The mean cosine, with rounding errors clipped to [0, 1]."""
    return min(1.0, max(0.0, cosines / pairs)) if pairs else math.nan


def _unit(text: str) -> dict[str, float]:
    """Word counts as a unit vector, word -> component; empty for a text without words."""
    words = Counter(_WORD.findall(text.casefold()))
    length = math.sqrt(sum(number * number for number in words.values()))
    return {word: number / length for word, number in words.items()}


def _sum(vectors: list[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for vector in vectors:
        for word, value in vector.items():
            total[word] = total.get(word, 0.0) + value
    return total


def _square(vector: dict[str, float]) -> float:
    return math.fsum(value * value for value in vector.values())
