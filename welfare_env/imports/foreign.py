"""The common form of imported games: what a file of any program says, and the game replayed from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from welfare_env.checks import quoted
from welfare_env.errors import RecordError
from welfare_env.game.game import Game
from welfare_env.render.replay.annotations import Annotations, Reasoning

# What reading a malformed file raises.
DAMAGE = (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)


class ForeignMessage(NamedTuple):
    """A message in another program's game."""

    sender: str
    recipient: str
    text: str


@dataclass(frozen=True)
class ForeignPhase:
    """A phase as recorded in a file.

    Attributes:
        name: short name, "S1901M"; "" for the position after the end.
        units: power -> units at its start; dislodged ones begin with "*".
        centers: power -> centers; None if the file does not record them.
        orders: power -> orders.
        thoughts: private reasoning: power and text, such as a plan, goals, or an entry of a diary.
    """

    name: str
    units: Mapping[str, Sequence[str]]
    centers: Mapping[str, Sequence[str]] | None
    orders: Mapping[str, Sequence[str]]
    messages: Sequence[ForeignMessage]
    thoughts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class ForeignGame:
    """A game as recorded in a file.

    Attributes:
        program: the program that wrote it.
        id: the program's id of the game.
        players: power -> its player, as far as recorded.
        outcome: the program's description of the result; "" if it is not recorded.
        unread: notes on content of the file that a saved game cannot hold.
    """

    program: str
    id: str
    map_name: str
    phases: Sequence[ForeignPhase]
    players: Mapping[str, str] = field(default_factory=dict)
    outcome: str = ""
    unread: tuple[str, ...] = ()


def read_each(phases: Sequence[Any], read: Callable[[Any], ForeignPhase]) -> list[ForeignPhase]:
    """Read all phases of a file.

    Raises:
        RecordError: a part is missing or malformed; the message names the phase.
    """
    found = []
    for number, phase in enumerate(phases):
        try:
            found.append(read(phase))
        except DAMAGE as error:
            what = "" if isinstance(error, RecordError) else f"{type(error).__name__}: "
            raise RecordError(f"phases[{number}]: {what}{error!s:.200}") from error
    return found


def label(text: str) -> str:
    """A text of the file that is shown in terminals.

    Raises:
        RecordError: not printable, or long.
    """
    if len(text) > 200 or not text.isprintable():
        raise RecordError(f"{quoted(text)}: expected a printable text of at most 200 characters")
    return text


@dataclass(frozen=True)
class ImportedGame:
    """A game of another program, replayed by our engine under the standard rules.

    Attributes:
        game: the replayed game, an ordinary `Game`.
        program: the program that wrote the file: "diplomacy", "AI_Diplomacy" or "webDiplomacy".
        id: that program's id of the game.
        players: power -> its player, as far as recorded.
        outcome: that program's description of the result; "" if it is not recorded.
        notes: content of the file that was left out or changed.
        reasoning: the players' private reasoning, as far as recorded.
    """

    game: Game
    program: str
    id: str
    players: Mapping[str, str]
    outcome: str
    notes: tuple[str, ...]
    reasoning: tuple[Reasoning, ...] = ()

    @property
    def annotations(self) -> Annotations:
        """The players and their reasoning, for `Game.replay`."""
        return Annotations(players=self.players, reasoning=self.reasoning)

    def record(self) -> dict[str, Any]:
        """The saved game, with its origin and the reasoning under ``welfare_env`` / ``imported``."""
        record = self.game.record()
        imported = {name: getattr(self, name) for name in ("program", "id", "outcome")}
        imported |= {"players": dict(self.players), "notes": list(self.notes)}
        record["welfare_env"]["imported"] = imported | {"reasoning": [asdict(each) for each in self.reasoning]}
        return record
