"""What games of other programs are read into, and their replay by our engine.

The file's positions are compared with ours after every phase. A game that another program adjudicated otherwise is
refused with the phase and what differs; its phases before that can be imported alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from welfare_env.checks import quoted
from welfare_env.errors import RecordError, WelfareEnvError
from welfare_env.game.game import Game
from welfare_env.game.press import GLOBAL, MAX_MESSAGE_LENGTH, is_sendable
from welfare_env.rules import Rules

RETREATS = "R"
LONGEST_LIST = 300  # characters of a power's units or centers in an error


@dataclass(frozen=True)
class ForeignMessage:
    """A message as the other program has it."""

    sender: str
    recipient: str
    text: str


@dataclass(frozen=True)
class ForeignPhase:
    """A phase as a file tells it.

    Attributes:
        name: short name, "S1901M"; "" for the position after the end.
        place: where in the file it stands.
        units: power -> units at its start; dislodged ones begin with "*".
        centers: power -> centers.
        orders: power -> orders.
    """

    name: str
    place: str
    units: Mapping[str, Sequence[str]]
    centers: Mapping[str, Sequence[str]]
    orders: Mapping[str, Sequence[str]]
    messages: Sequence[ForeignMessage]


@dataclass(frozen=True)
class ForeignGame:
    """A game as a file tells it.

    Attributes:
        program: who wrote it.
        id: what it calls the game.
        players: power -> who played it, as far as the file says.
        outcome: how the game ended, in the program's own word; "" if it does not say.
        unread: what the file holds besides, and a saved game has no place for.
    """

    program: str
    id: str
    map_name: str
    phases: Sequence[ForeignPhase]
    players: Mapping[str, str] = field(default_factory=dict)
    outcome: str = ""
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImportedGame:
    """A game of another program, replayed by our engine under the standard rules.

    Attributes:
        game: the replayed game: `Game.replay`, `Game.save` and all else work on it.
        program: who wrote the file: "diplomacy", "AI_Diplomacy" or "webDiplomacy".
        id: what that program calls the game.
        players: power -> who played it, as far as the file says.
        outcome: how the game ended, in that program's own word; "" if it does not say.
        notes: what the file has and the saved game does not show as it was.
    """

    game: Game
    program: str
    id: str
    players: Mapping[str, str]
    outcome: str
    notes: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """The saved game, with where it came from under ``welfare_env`` / ``imported``."""
        record = self.game.record()
        names = ("program", "id", "outcome")
        imported = {name: getattr(self, name) for name in names}
        record["welfare_env"]["imported"] = imported | {"players": dict(self.players), "notes": list(self.notes)}
        return record


def replayed(foreign: ForeignGame, until: str | None = None) -> ImportedGame:
    """Replay a game, comparing every position with the file's.

    Args:
        until: the phase in which to stop, which is the current one then; None for the whole game.

    Raises:
        RecordError: the file's positions do not follow from its orders by our rules, or it has no such phase.
    """
    phases = _chosen(foreign.phases, until)
    notes: Counter[str] = Counter()
    game = _opening(foreign, phases)
    for number, phase in enumerate(phases):
        try:
            if number and not _is_stopped(game, phase, phases[number - 1]):
                game.advance()
            _compare(game, phase, phases[number - 1].name)
            _speak(game, phase, notes)
            _order(game, phase, notes)
        except RecordError:
            raise
        except WelfareEnvError as error:
            raise RecordError(f"{phase.place} ({phase.name or 'the end'}): {error}") from error
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
        raise RecordError(f"{first.place}: the game begins with {first.name}; it must begin before a retreat phase")
    is_spoken = any(phase.messages for phase in phases)
    try:
        years = int(last.name[1:5]) - int(first.name[1:5]) + 1
        rules = Rules(variant="standard", years=years, press="text" if is_spoken else None, message_rounds=1)
        return Game.from_position(first.name, first.units, first.centers, rules=rules, map_name=foreign.map_name)
    except WelfareEnvError as error:
        raise RecordError(f"{first.place} ({first.name}): {error}") from error


def _is_stopped(game: Game, phase: ForeignPhase, before: ForeignPhase) -> bool:
    """Whether the game ended before the last phase was played, as a draw does."""
    return not phase.name and not any(before.orders.values()) and not _difference(game, phase)


def _compare(game: Game, phase: ForeignPhase, before: str) -> None:
    """Check that the position is the file's."""
    if phase.name and phase.name != game.phase:
        raise RecordError(f"{phase.place} is {phase.name}, but by our rules {before} is followed by {game.phase}")
    for power in sorted({*phase.units, *phase.centers} - set(game.powers)):
        raise RecordError(f"{phase.place}: there is no power {quoted(power)} on the map {game.board.name}")
    if difference := _difference(game, phase):
        raise RecordError(
            f"{phase.place}: after {before}, {difference}. The other program adjudicated otherwise, or the file was "
            f"changed; {_importable(game, before)}"
        )


def _importable(game: Game, before: str) -> str:
    """What of a game can be read whose phase `before`, the last that was played, has another result in the file."""
    phases = len(game.history) - 1
    if phases < 1:
        return "that is its first phase, so no part of it can be imported"
    return f"until={before!r} imports the {phases:,} phase{'s' * (phases > 1)} before that"


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
                in_words = [", ".join(sorted(each))[:LONGEST_LIST] or "none" for each in (theirs, ours)]
                return f"{what} of {power} are {in_words[0]} in the file, and {in_words[1]} by our rules"
    return ""


def _agree(theirs: Sequence[str], ours: Sequence[str]) -> bool:
    """Whether two lists are equal in any order; a fleet that the file gives no coast stands at any."""
    pairs = zip(sorted(theirs), sorted(ours), strict=False)
    return len(theirs) == len(ours) and all(one in (other, other.partition("/")[0]) for one, other in pairs)


def _speak(game: Game, phase: ForeignPhase, notes: Counter[str]) -> None:
    """Send a phase's messages, all in the first round; note what our press has no place for."""
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
        return "from or to somebody who is no power"
    if message.sender == message.recipient:
        return "from a power to itself"
    return "" if is_sendable(message.text[:MAX_MESSAGE_LENGTH]) else "empty, or not valid Unicode"


def _order(game: Game, phase: ForeignPhase, notes: Counter[str]) -> None:
    for power, orders in phase.orders.items() if not game.is_done else ():
        void = game.submit(power, orders, strict=False)
        if void:
            notes["orders that are not legal by our rules; the replay shows them as void, with reasons"] += len(void)
