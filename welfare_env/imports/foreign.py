"""The common form of imported games, and their replay by our engine.

The file's positions are compared with ours after every phase. A game that another program adjudicated differently is
refused with the phase and the difference; the phases before it can be imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from welfare_env.checks import quoted
from welfare_env.errors import RecordError, WelfareEnvError
from welfare_env.game.game import Game
from welfare_env.game.press import GLOBAL, MAX_MESSAGE_LENGTH, is_sendable
from welfare_env.rules import Rules

RETREATS = "R"
LONGEST_LIST = 300  # characters of a power's units or centers in an error
DAMAGE = (KeyError, IndexError, TypeError, AttributeError, ValueError)  # what reading a malformed file raises


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
        centers: power -> centers.
        orders: power -> orders.
    """

    name: str
    units: Mapping[str, Sequence[str]]
    centers: Mapping[str, Sequence[str]]
    orders: Mapping[str, Sequence[str]]
    messages: Sequence[ForeignMessage]


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
    """

    game: Game
    program: str
    id: str
    players: Mapping[str, str]
    outcome: str
    notes: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """The saved game, with its origin under ``welfare_env`` / ``imported``."""
        record = self.game.record()
        names = ("program", "id", "outcome")
        imported = {name: getattr(self, name) for name in names}
        record["welfare_env"]["imported"] = imported | {"players": dict(self.players), "notes": list(self.notes)}
        return record


def replayed(foreign: ForeignGame, until: str | None = None) -> ImportedGame:
    """Replay a game, comparing every position with the file's.

    Args:
        until: stop when this is the current phase; None for the whole game.

    Raises:
        RecordError: the file's positions do not follow from its orders by our rules, or `until` is not in the file.
    """
    phases = _chosen(foreign.phases, until)
    notes: Counter[str] = Counter()
    number, game = 0, None
    try:
        for number, phase in enumerate(phases):
            if game is None:
                game = _opening(foreign, phases)
            elif not _is_stopped(game, phase, phases[number - 1]):
                game.advance()
            _compare(game, phase, phases[number - 1].name)
            _speak(game, phase, notes)
            _order(game, phase, notes)
    except WelfareEnvError as error:
        raise RecordError(f"phases[{number}] ({phases[number].name or 'the end'}): {error}") from error
    if game is None:
        raise RecordError("the file has no phases to replay")
    counted = tuple(f"{count:,} {what}" for what, count in notes.items())
    return ImportedGame(
        game, foreign.program, foreign.id, foreign.players, foreign.outcome, (*counted, *foreign.unread)
    )


def _chosen(phases: Sequence[ForeignPhase], until: str | None) -> Sequence[ForeignPhase]:
    names = [phase.name for phase in phases]
    if not names or not names[0]:
        raise RecordError("the file has no phases to replay")
    if until is None:
        return phases
    if until not in names:
        raise RecordError(f"phase {quoted(until)}: the file has {names[0]} to {[name for name in names if name][-1]}")
    return phases[: names.index(until) + 1]


def _opening(foreign: ForeignGame, phases: Sequence[ForeignPhase]) -> Game:
    """The game at the first phase: standard rules, as many years as the file has, press if there are messages."""
    first, last = phases[0], [phase for phase in phases if phase.name][-1]
    if first.name[-1] == RETREATS:
        raise RecordError("the game must not begin with a retreat phase")
    is_spoken = any(phase.messages for phase in phases)
    years = int(last.name[1:5]) - int(first.name[1:5]) + 1
    rules = Rules(variant="standard", years=years, press="text" if is_spoken else None, message_rounds=1)
    return Game.from_position(first.name, first.units, first.centers, rules=rules, map_name=foreign.map_name)


def _is_stopped(game: Game, phase: ForeignPhase, before: ForeignPhase) -> bool:
    """Whether the game was ended, e.g. by a draw, without playing its last phase."""
    return not phase.name and not any(before.orders.values()) and not _difference(game, phase)


def _compare(game: Game, phase: ForeignPhase, before: str) -> None:
    """Check that the position equals the file's."""
    if phase.name and phase.name != game.phase:
        raise RecordError(f"by our rules {before} is followed by {game.phase}")
    for power in sorted({*phase.units, *phase.centers} - set(game.powers)):
        raise RecordError(f"there is no power {quoted(power)} on the map {game.board.name}")
    if difference := _difference(game, phase):
        how = f"; until={before!r} imports the phases before that" if len(game.history) > 1 else ""
        raise RecordError(
            f"after {before}, {difference}. The other program adjudicated differently, or the file was edited{how}"
        )


def _difference(game: Game, phase: ForeignPhase) -> str:
    """How the position differs from the file's; "" if it does not."""
    for power in game.powers:
        units = [*game.units[power], *(f"*{unit}" for unit in game.dislodged[power])]
        pairs: dict[str, tuple[Sequence[str], Sequence[str]]] = {
            "units": (phase.units.get(power, ()), units),
            "centers": (phase.centers.get(power, ()), game.centers[power]),
        }
        for what, (theirs, ours) in pairs.items():
            if not _agree(theirs, ours):
                in_words = [ascii(", ".join(sorted(each)))[1:-1][:LONGEST_LIST] or "none" for each in (theirs, ours)]
                return f"{what} of {power} are {in_words[0]} in the file, and {in_words[1]} by our rules"
    return ""


def _agree(theirs: Sequence[str], ours: Sequence[str]) -> bool:
    """Whether two lists are equal in any order; a fleet without a coast in the file matches any coast."""
    pairs = zip(sorted(theirs), sorted(ours), strict=False)
    return len(theirs) == len(ours) and all(one in (other, other.partition("/")[0]) for one, other in pairs)


def _speak(game: Game, phase: ForeignPhase, notes: Counter[str]) -> None:
    """Send a phase's messages, all in the first round; count those left out or split."""
    for message in phase.messages:
        left_out = _why_left_out(game, message)
        if left_out:
            notes[f"messages left out: {left_out}"] += 1
            continue
        parts = range(0, len(message.text), MAX_MESSAGE_LENGTH)
        if len(parts) > 1:
            notes[f"messages of more than {MAX_MESSAGE_LENGTH:,} characters, shown in parts"] += 1
        for start in parts:
            part = message.text[start : start + MAX_MESSAGE_LENGTH]
            if part.strip():
                game.send(message.sender, message.recipient, part)


def _why_left_out(game: Game, message: ForeignMessage) -> str:
    if game.is_done or game.phase[-1] == RETREATS:
        return "sent in a retreat phase or after the end, where our games have no press"
    if message.sender not in game.powers or message.recipient not in (*game.powers, GLOBAL):
        return "sender or recipient is not a power"
    if message.sender == message.recipient:
        return "from a power to itself"
    return "" if is_sendable(message.text[:MAX_MESSAGE_LENGTH]) else "empty, or not valid Unicode"


def _order(game: Game, phase: ForeignPhase, notes: Counter[str]) -> None:
    for power, orders in phase.orders.items() if not game.is_done else ():
        void = game.submit(power, orders, strict=False)
        if void:
            notes["orders that are illegal by our rules; the replay shows them as void, with reasons"] += len(void)
