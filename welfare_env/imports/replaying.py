"""The replay of an imported game by our engine: its positions are compared with the file's, phase by phase.

Programs open different phases: some open Retreats for units that cannot retreat, or a last Winter without anything to
adjust, which our games skip; some leave out a Winter without orders. Such phases are compared, too, and counted in the
notes. A game that another program adjudicated differently is refused with the phase, the difference and the rules that
may explain it; the phases before it can be imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from welfare_env.board.loading import load_board
from welfare_env.checks import quoted
from welfare_env.errors import RecordError, WelfareEnvError
from welfare_env.game.game import Game
from welfare_env.game.press import GLOBAL, MAX_MESSAGE_LENGTH, is_sendable
from welfare_env.imports.differences import MOVEMENT, RETREATS, Units, difference, place, possible_rules
from welfare_env.imports.foreign import ForeignGame, ForeignMessage, ForeignPhase, ImportedGame
from welfare_env.render.replay.annotations import Reasoning
from welfare_env.rules import Rules


class _RefusedError(RecordError):
    """A phase of the file does not follow from those before it, by the rulings with which the game was replayed."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)
        self.number = number


def replayed(foreign: ForeignGame, until: str | None = None) -> ImportedGame:
    """Replay a game, comparing every position with the file's.

    The orders are taken as they are, by the rulebook. If other positions follow, the game may be one of the `diplomacy`
    package (or of AI_Diplomacy, which plays on it) and is replayed by its rulings; or one of webDiplomacy or dipcc,
    where an army walks if it can, and its orders are written so.

    Args:
        until: stop when this is the current phase; None for the whole game.

    Raises:
        RecordError: the file's positions do not follow from its orders by our rules, or `until` is not in the file.
    """
    refusals = []
    for adjudication, walks in (("rulebook", False), ("package", False), ("rulebook", True)):
        if foreign.program == "webDiplomacy" and adjudication == "package":
            continue
        try:
            return _replayed(foreign, until, adjudication, walks)
        except _RefusedError as refused:
            refusals.append(refused)
    raise max(refusals, key=lambda refused: refused.number)  # of the replay that got further


def _replayed(foreign: ForeignGame, until: str | None, adjudication: str, walks: bool) -> ImportedGame:
    phases = _chosen(foreign.phases, until)
    replay = _Replay(_opening(foreign, phases, adjudication), walks)
    for number, phase in enumerate(phases):
        try:
            replay.read(phase)
        except WelfareEnvError as error:
            raise _RefusedError(f"phases[{number}] ({phase.name or 'the end'}): {error}", number) from error
    game = replay.game
    if until is not None and until != game.phase:
        raise RecordError(f"until={until!r}: by our rules there is nothing to order in it, and {game.phase} follows")
    notes = [f"{what}: {count:,}" for what, count in replay.notes.items() if count]
    if adjudication == "package":
        notes.append("replayed by the diplomacy package's rulings, since by the rulebook's other positions follow")
    origin = foreign.program, foreign.id, foreign.players, foreign.outcome
    return ImportedGame(game, *origin, (*notes, *foreign.unread), tuple(replay.reasoning))


def _chosen(phases: Sequence[ForeignPhase], until: str | None) -> Sequence[ForeignPhase]:
    names = [phase.name for phase in phases]
    if not names or not names[0]:
        raise RecordError("the file has no phases to replay")
    if until is None:
        return phases
    if until not in names:
        raise RecordError(f"phase {quoted(until)}: the file has {names[0]} to {[name for name in names if name][-1]}")
    return phases[: names.index(until) + 1]


def _opening(foreign: ForeignGame, phases: Sequence[ForeignPhase], adjudication: str) -> Game:
    """The game at the first phase: standard rules, until the file's last year, press if there are messages."""
    first, last = phases[0], [phase for phase in phases if phase.name][-1]
    if first.name[-1] == RETREATS:
        raise RecordError("phases[0]: the game must not begin with a retreat phase")
    is_spoken = any(phase.messages for phase in phases)
    years = int(last.name[1:5]) - load_board(foreign.map_name).first_year + 1
    try:
        press = "text" if is_spoken else None
        rules = Rules("standard", years=years, press=press, message_rounds=1, adjudication=adjudication)
        board = foreign.map_name
        return Game.from_position(first.name, first.units, first.centers or {}, rules=rules, map_name=board)
    except WelfareEnvError as error:
        raise RecordError(f"phases[0] ({first.name}): {error}") from error


class _Replay:
    """A game in which the phases of a file are played, one after another."""

    def __init__(self, game: Game, walks: bool) -> None:
        self.game = game
        self._walks = walks  # whether an army that can walk does
        self.notes: Counter[str] = Counter()
        self.reasoning: list[Reasoning] = []
        self._before: ForeignPhase | None = None  # the previous phase of the file
        self._is_ordered = False  # whether the game's current phase has its orders
        self._agreed = ""  # the last phase of the file that is a phase of the game
        self._orders: list[str] = []  # the file's orders in that phase

    def read(self, phase: ForeignPhase) -> None:
        """Go to a phase of the file, compare the position, and give its orders.

        Raises:
            RecordError: the phase or the position is not the file's, or a part names no power.
        """
        for power in sorted({*phase.units, *(phase.centers or ()), *phase.orders} - set(self.game.powers)):
            raise RecordError(f"there is no power {quoted(power)} on the map {self.game.board.name}")
        if not self._is_stopped(phase):
            self._advance(phase)
        is_skipped = bool(phase.name) and phase.name != self.game.phase
        if is_skipped and not self._may_skip(phase.name):
            raise RecordError(self._refusal(f"the file goes on with {phase.name}, our rules with {self.game.phase}"))
        trapped = self._trapped() if phase.name.endswith(RETREATS) else {}
        self._compare(phase, trapped, is_skipped)
        self._speak(phase, is_skipped)
        self._order(phase, trapped, is_skipped)
        self.notes["phases in which our rules leave nothing to order, so the game skips them"] += is_skipped
        self._before = phase
        self._is_ordered = bool(phase.name) and not is_skipped and not self.game.is_done
        if phase.name and not is_skipped:
            self._agreed, self._orders = phase.name, [text for orders in phase.orders.values() for text in orders]

    def _is_stopped(self, phase: ForeignPhase) -> bool:
        """Whether the game was ended, e.g. by a draw, without playing its last phase."""
        is_idle = self._before is not None and not any(self._before.orders.values())
        return not phase.name and is_idle and not difference(self.game, phase.units, phase.centers, self.game.centers)

    def _advance(self, phase: ForeignPhase) -> None:
        """Resolve the current phase if it has its orders, then Retreats and Winters that the file leaves out."""
        if self._is_ordered:
            self.game.advance()
        while phase.name and self.game.phase[-1] != MOVEMENT and place(self.game.phase) < place(phase.name):
            self.notes["phases that the file leaves out, played without orders"] += 1
            self.game.advance()

    def _may_skip(self, name: str) -> bool:
        """Whether our game has passed over a phase: Retreats or a Winter since the file's previous phase."""
        before = self._before.name if self._before is not None else name
        return name[-1] != MOVEMENT and place(before) < place(name) < place(self.game.phase)

    def _trapped(self) -> Units:
        """Power -> the units that the last move dislodged and that cannot retreat: our rules disband them at once."""
        last = self.game.history[-1]
        lost = {unit for unit, words in last.results.items() if "dislodged" in words and last.phase[-1] == MOVEMENT}
        return {
            power: [unit for unit in units if unit in lost and unit not in self.game.dislodged[power]]
            for power, units in last.units.items()
        }

    def _compare(self, phase: ForeignPhase, trapped: Units, is_skipped: bool) -> None:
        """Compare the position with the file's. Until Retreats are over, centers are those before the move."""
        is_before = is_skipped and phase.name.endswith(RETREATS)
        centers = self.game.history[-1].centers if is_before else self.game.centers
        gone = {f"*{unit}" for units in trapped.values() for unit in units}
        units = {power: [unit for unit in names if unit not in gone] for power, names in phase.units.items()}
        if found := difference(self.game, units, phase.centers, centers):
            raise RecordError(self._refusal(found))
        count = sum(map(len, phase.units.values())) - sum(map(len, units.values()))
        self.notes["dislodged units that cannot retreat, which our rules disband at once"] += count

    def _refusal(self, found: str) -> str:
        """An error's text: what differs, why that may be, and how much of the game can be imported."""
        if self._before is None or not self.game.history:
            return found
        rest = f"; until={self._agreed!r} imports the game up to there" if len(self.game.history) > 1 else ""
        return f"after {self._before.name}, {found}. {possible_rules(self.game.history[-1], self._orders)}{rest}"

    def _speak(self, phase: ForeignPhase, is_skipped: bool) -> None:
        """Send a phase's messages, all in the first round, and keep its thoughts; count those left out or split."""
        is_silent = is_skipped or self.game.is_done or self.game.phase[-1] == RETREATS
        for message in phase.messages:
            parts = _parts(message.text)
            if reason := _why_left_out(self.game, message, parts, is_silent):
                self.notes[f"messages left out ({reason})"] += 1
                continue
            self.notes[f"messages of more than {MAX_MESSAGE_LENGTH:,} characters, shown in parts"] += len(parts) > 1
            for part in parts:
                self.game.send(message.sender, message.recipient, part)
        for power, text in phase.thoughts:
            if is_skipped or power not in self.game.powers or not _parts(text):
                self.notes["thoughts left out (in a phase that the game skips, of no power, or no text)"] += 1
            else:
                self.reasoning.append(Reasoning(self.game.phase, 1, power, text))

    def _order(self, phase: ForeignPhase, trapped: Units, is_skipped: bool) -> None:
        convoyed = {text.partition(" C ")[2] for orders in phase.orders.values() for text in orders}
        for power, orders in phase.orders.items():
            disbands = {f"{unit} D" for unit in trapped.get(power, ())}
            texts = [text for text in orders if text not in disbands]
            if is_skipped or self.game.is_done:
                self.notes["orders left out (in a phase that the game skips, or after the end)"] += len(texts)
            else:
                void = self.game.submit(power, self._as_executed(power, texts, convoyed), strict=False)
                what = "orders that are illegal by our rules; the replay shows them as void, with reasons"
                self.notes[what] += len(void)

    def _as_executed(self, power: str, orders: Sequence[str], convoyed: Container[str]) -> list[str]:
        """Orders as webDiplomacy and dipcc execute them: an army walks, unless it says VIA and a fleet convoys it.

        By the rulebook it would stay if it says VIA and no fleet convoys it (DATC 6.G.8), and take a convoy by a fleet
        of its own power if it does not (6.G.1): so its order loses VIA, or that fleet holds.
        """
        if not self._walks or not any(" C " in x or "VIA" in x for x in orders):
            return list(orders)
        legal = {text for options in self.game.legal_orders(power).values() for text in options}
        found = []
        for text in orders:
            fleet, _, move = text.partition(" C ")
            by_land = text.removesuffix(" VIA")
            if move in legal and move in orders:
                text = f"{fleet} H"
            elif by_land in legal and by_land not in convoyed:
                text = by_land
            found.append(text)
        changed = sum(text not in orders for text in found)
        what = "orders of convoys that webDiplomacy and dipcc do not carry out, shown as holds and moves by land"
        self.notes[what] += changed
        return found


def _parts(text: str) -> list[str]:
    """A text in parts that can be sent; [] if it is empty or not valid Unicode."""
    starts = range(0, len(text), MAX_MESSAGE_LENGTH)
    parts = [part for start in starts if (part := text[start : start + MAX_MESSAGE_LENGTH]).strip()]
    return parts if all(map(is_sendable, parts)) else []


def _why_left_out(game: Game, message: ForeignMessage, parts: Sequence[str], is_silent: bool) -> str:
    if is_silent:
        return "sent in a retreat phase, a phase that the game skips, or after the end, where our games have no press"
    if message.sender not in game.powers or message.recipient not in (*game.powers, GLOBAL):
        return "sender or recipient is not a power"
    if message.sender == message.recipient:
        return "from a power to itself"
    return "" if parts else "empty, or not valid Unicode"
