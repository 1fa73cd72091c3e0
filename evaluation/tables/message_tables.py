"""Tables of messages: one row per condition (games that differ only by their seed)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from agents.runtime.results import Result, tables_of
from agents.runtime.table_files import Row
from agents.runtime.tables import new_table
from evaluation.measures.intervals import mean_estimate, plain, share_estimate
from evaluation.measures.promise_keeping import kept_promises
from evaluation.messages.analysis import MessageAnalysis, analyze_messages
from evaluation.messages.promises import KINDS, Kind
from evaluation.play.stored_games import played, seats
from evaluation.tables.game_tables import BRACKETS, MEANING, cell
from welfare_env.errors import MapFormatError, RecordError, UnknownMapError

CAPTION = (
    f"{MEANING}; public share: public messages of all games / all messages; definitions: the documentation's page "
    '"Measures", section "Messages"'
)


@dataclass(frozen=True, repr=False)
class ConditionMessages(Result):
    """The messages of the games of one condition.

    Attributes:
        players: policies of the players (`evaluation.play.stored_games.seats`); the game's name if they are unknown.
        rules: map and rules (`evaluation.play.stored_games.played`); "" if they are unknown.
        games: name -> analysis.
    """

    players: str
    rules: str
    games: dict[str, MessageAnalysis]

    @property
    def title(self) -> str:
        """Players and rules, one line each."""
        return f"{self.players}\n{self.rules}".strip()

    @property
    def matrix(self) -> dict[str, Counter[str]]:
        """Sender -> recipient -> total number of messages."""
        total: dict[str, Counter[str]] = {}
        for analysis in self.games.values():
            for sender, sent in analysis.matrix.items():
                total.setdefault(sender, Counter()).update(sent)
        return dict(sorted(total.items()))

    def promises(self, kind: Kind) -> tuple[int, int, int]:
        """Promises of a kind in all games: found, kept, broken."""
        found = [promise.is_kept for analysis in self.games.values() for promise in analysis.promises_of(kind)]
        return len(found), found.count(True), found.count(False)

    def rows(self) -> list[Row]:
        """One row per game and sender; the table "messages" of docs/results.md."""
        return [row for name, game in self.games.items() for row in game.rows(self.players, self.rules, name)]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dict(plain(vars(self)))


def talks(records: Iterable[tuple[str, Mapping[str, Any]]]) -> list[ConditionMessages]:
    """The messages of each condition.

    Args:
        records: name and record of each game.

    Raises:
        RecordError: a record is damaged.
        UnknownMapError, MapFormatError: as for `analyze_messages`.
    """
    found: dict[tuple[str, str], dict[str, MessageAnalysis]] = {}
    for name, record in records:
        try:
            analysis, condition = analyze_messages(record), _condition(name, record)
        except (UnknownMapError, MapFormatError):
            raise
        except (AttributeError, KeyError, TypeError, ValueError, RecordError) as error:
            raise RecordError(f"{name} is damaged, or not a saved game: {type(error).__name__}: {error}") from error
        found.setdefault(condition, {})[name] = analysis
    return [ConditionMessages(players, rules, games) for (players, rules), games in found.items()]


def _condition(name: str, record: Mapping[str, Any]) -> tuple[str, str]:
    """Players and rules; the name and "" for a game saved by hand or by another program."""
    facts = record.get("welfare_env", {})
    if "players" not in facts or "rules" not in facts:
        return name, ""
    return seats(facts["players"]), played(facts | {"map": record["map"]})


def talk_tables(rows: Sequence[ConditionMessages]) -> Iterator[Table]:
    """Tables of messages and promises; for a single condition, also of who wrote to whom."""
    yield _messages_table(rows)
    yield _promises_table(rows)
    if len(rows) == 1 and rows[0].matrix:
        yield _matrix_table(rows[0])


@tables_of.register
def _(talk: ConditionMessages) -> list[Table]:
    return list(talk_tables([talk]))


def _messages_table(talks: Sequence[ConditionMessages]) -> Table:
    rows = []
    for talk in talks:
        games = list(talk.games.values())
        sent = cell(mean_estimate([float(game.messages) for game in games], 0), 1)
        public = cell(share_estimate([game.public for game in games], [game.messages for game in games], 0))
        rows.append((talk.title, str(len(games)), sent, public))
    return new_table("Messages", CAPTION, ("players and rules", ">games", ">messages per game", ">public share"), rows)


def _promises_table(talks: Sequence[ConditionMessages]) -> Table:
    caption = (
        f"total over all games; kept share: kept / judged promises {BRACKETS}. --json shows the sentences to check"
    )
    rows = [
        (
            talk.title if kind == KINDS[0] else "",
            kind,
            *map(str, talk.promises(kind)),
            cell(kept_promises(talk.games.values(), 0, kind)),
        )
        for talk in talks
        for kind in KINDS
    ]
    heads = ("players and rules", "kind", ">found", ">kept", ">broken", ">kept share")
    return new_table("Promises", caption, heads, rows)


def _matrix_table(talk: ConditionMessages) -> Table:
    recipients = sorted({recipient for sent in talk.matrix.values() for recipient in sent})
    columns = ("from", *(f">{recipient}" for recipient in recipients))
    rows = ((sender, *(str(sent[each] or "-") for each in recipients)) for sender, sent in talk.matrix.items())
    return new_table("Who writes to whom", "total number of messages, by sender and recipient", columns, rows)
