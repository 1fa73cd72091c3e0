"""Analysis of messages: pure functions of a game's record. See docs/measures.md for definitions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from agents.runtime.results import Result, tables_of
from agents.runtime.table_files import Row
from evaluation.checks import reading_record
from evaluation.messages.promises import KINDS, Kind, Promise, promises
from welfare_env import load_board
from welfare_env.game.press import GLOBAL


@dataclass(frozen=True, repr=False)
class MessageAnalysis(Result):
    """Statistics of a game's messages.

    Attributes:
        matrix: sender -> recipient -> number of messages; only pairs with messages, sorted by name.
        promises: see `evaluation.messages.promises`.
    """

    matrix: dict[str, dict[str, int]]
    promises: tuple[Promise, ...]

    @property
    def messages(self) -> int:
        """Number of messages."""
        return sum(sum(sent.values()) for sent in self.matrix.values())

    @property
    def public(self) -> int:
        """Number of messages to GLOBAL."""
        return sum(sent.get(GLOBAL, 0) for sent in self.matrix.values())

    @property
    def public_share(self) -> float:
        """Fraction of messages to GLOBAL; nan without messages."""
        return self.public / self.messages if self.messages else math.nan

    def promises_of(self, kind: Kind | None = None, sender: str | None = None) -> list[Promise]:
        """The promises, optionally only of one kind or sender."""
        return [each for each in self.promises if kind in (None, each.kind) and sender in (None, each.sender)]

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

    def rows(self, players: str = "", rules: str = "", game: str = "") -> list[Row]:
        """One row per sender; the table "messages" of docs/results.md.

        Args:
            players, rules, game: values of the columns that describe the game, for tables of several games.
        """
        rows: list[Row] = []
        for sender, sent in self.matrix.items():
            row: Row = {"players": players, "rules": rules, "game": game, "sender": sender}
            row |= {"messages": sum(sent.values()), "public_messages": sent.get(GLOBAL, 0)}
            for kind in KINDS:
                name = kind.replace(" ", "_")
                row[f"promises_{name}"] = len(self.promises_of(kind, sender))
                row |= {f"kept_{name}": self.kept(kind, sender), f"broken_{name}": self.broken(kind, sender)}
            rows.append(row | {"game_public_share": self.public_share})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; nan becomes None."""
        return {
            "messages": self.messages,
            "public_share": self.public_share if self.messages else None,
            "matrix": self.matrix,
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
    for sender, sent in analysis.matrix.items():
        counts = (len(analysis.promises_of(None, sender)), analysis.kept(None, sender), analysis.broken(None, sender))
        table.add_row(Text(sender), *map(str, (sum(sent.values()), sent.get(GLOBAL, 0), *counts)))
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
    with reading_record():
        sent = [(each["sender"], each["recipient"]) for phase in record["phases"] for each in phase["messages"]]
        matrix: dict[str, dict[str, int]] = {}
        for (sender, recipient), number in sorted(Counter(sent).items()):
            matrix.setdefault(sender, {})[recipient] = number
        board = load_board(record["map"] if map_name is None else map_name)
        return MessageAnalysis(matrix, tuple(promises(record, board)))
