"""A person at the terminal: the position as tables, orders and messages as lines. Works over ssh.

Messages of other players are printed without control characters and direction marks, so that they cannot move the
cursor, change colors, or reorder text.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from welfare_env.board.order_text import order_parts, province_of, unit_of
from welfare_env.errors import OrderError, PressError, WelfareEnvError
from welfare_env.game.game import Game
from welfare_env.game.press import GLOBAL, check_message
from welfare_env.game.view import MESSAGES, View

WELFARE_RULE = (
    "After each Winter you get a point for every center you own beyond your units: one unit fewer, +1 a year."
)
ORDERS_HELP = (
    "One order a line, as in A PAR - BUR, A MAR S A PAR - BUR, F BRE H; in Winter A PAR B, F BRE D, or WAIVE. "
    "A new order for a unit replaces the old one. "
    "Commands: list UNIT (its legal orders), show, undo UNIT (or undo WAIVE), done, help, quit (or Ctrl-D)."
)
GIFTS_HELP = "GIVE ENGLAND gives England one of your points; write it twice for two. undo GIVE ENGLAND takes one back."
MESSAGES_HELP = (
    "One message a line, as in ENGLAND: text, or GLOBAL: text to all. "
    "Commands: undo POWER, done, help, quit (or Ctrl-D)."
)


class NoPersonError(WelfareEnvError, RuntimeError):
    """Nobody is there to answer, or the person quits."""


class QuitError(NoPersonError):
    """The person quits."""


def plain(text: str) -> str:
    """A text without control characters (terminal escapes) and marks that change its direction."""
    return "".join(sign if sign == "\n" or unicodedata.category(sign)[0] != "C" else "\ufffd" for sign in text)


def ask(view: View, read: Callable[[], str] | None = None, console: Console | None = None) -> list:
    """Ask the person at the terminal.

    Args:
        read: returns a line without its end; None reads from standard input.

    Raises:
        QuitError: the person quits, by that word or Ctrl-D.
        NoPersonError: the input has ended.
    """
    screen = console or Console(stderr=False, highlight=False)
    desk = Desk(view, screen, _lines(read or _typed))
    return desk.messages() if view.asked == MESSAGES else desk.orders()


class Desk:
    """Collects one answer of a person: the orders of a phase, or the messages of a round.

    Args:
        lines: the typed lines.
    """

    def __init__(self, view: View, screen: Console, lines: Iterator[str]) -> None:
        self.view, self.screen, self.lines = view, screen, lines

    def orders(self) -> list[str]:
        """The orders of a phase, each legal together with the others."""
        show_position(self.view, self.screen)
        if not self.view.legal_orders and not self.view.points_to_give:
            return []
        self.screen.print(ORDERS_HELP, style="dim")
        self._say_winter()
        given: list[str] = []
        for line in self.lines:
            word, _, rest = line.partition(" ")
            command = word.lower()
            if command == "done":
                return given
            if command == "quit":
                raise self._left()
            if command in ("list", "show", "undo", "help"):
                given = self._command(command, rest.strip().upper(), given)
            elif line:
                given = self._with_order(line, given)
        raise NoPersonError(f"{self.view.power} in {self.view.phase}: nobody answers; the input has ended")

    def messages(self) -> list[tuple[str, str]]:
        """The messages of a round."""
        if self.view.message_round == 1:
            show_position(self.view, self.screen)
        show_messages(self.view, self.screen)
        self.screen.print(f"Message round {self.view.message_round}. {MESSAGES_HELP}", style="dim")
        given: dict[str, str] = {}
        for line in self.lines:
            if line.lower() == "done":
                return list(given.items())
            if line.lower() == "quit":
                raise self._left()
            word, _, rest = line.partition(" ")
            if line.lower() == "help":
                self.screen.print(MESSAGES_HELP, style="dim")
            elif word.lower() == "undo":
                if given.pop(_recipient(rest), None) is None:
                    self._tell(f"no message to {rest.strip()!r}: undo POWER; you have messages to {list(given)}")
            elif line:
                self._write(line, given)
        raise NoPersonError(f"{self.view.power} in {self.view.phase}: nobody answers; the input has ended")

    def _left(self) -> QuitError:
        return QuitError(f"{self.view.power} in {self.view.phase}: you left the game")

    def _write(self, line: str, given: dict[str, str]) -> None:
        written, _, text = line.partition(":")
        recipient, view = _recipient(written), self.view
        try:
            check_message(view.board, view.rules, view.power, recipient, text.strip(), view.message_round)
        except PressError as error:
            self._refuse(error)
            return
        given[recipient] = text.strip()
        self.screen.print(Text(f"to {recipient}: {plain(text.strip())}  (until done)"))

    def _with_order(self, line: str, given: list[str]) -> list[str]:
        """Adds an order, in place of one for the same unit or build site. An illegal order changes nothing."""
        try:
            order = read_order(self.view, line)
            place = _place(order)
            kept = [other for other in given if not place or _place(other) != place]
            Game.from_view(self.view).check_orders(self.view.power, [*kept, order])
        except OrderError as error:
            self._refuse(error)
            return given
        self.screen.print(Text(f"  {order}"))
        return [*kept, order]

    def _command(self, command: str, unit: str, given: list[str]) -> list[str]:
        if command == "help":
            self.screen.print(ORDERS_HELP, style="dim")
        elif command == "undo":
            return self._without(unit, given)
        elif command == "show":
            self.screen.print(Text("\n".join(given) or "no orders yet: without one a unit holds"))
        else:
            for name, legal in self.view.legal_orders.items():
                if unit in name:
                    self.screen.print(Text(f"{name}: {', '.join(legal)}"))
        return given

    def _without(self, unit: str, given: list[str]) -> list[str]:
        """The orders without that of a unit; of equal orders without a unit (WAIVE, GIVE) only the last is removed."""
        place = province_of(unit_of(unit))
        found = [order for order in given if order == unit or (place and _place(order) == place)]
        if not found:
            self._tell(f"no order of {unit!r}: undo UNIT, as in undo PAR; your orders: {', '.join(given) or 'none'}")
            return given
        last = len(given) - 1 - given[::-1].index(found[-1])
        return given[:last] + given[last + 1 :]

    def _say_winter(self) -> None:
        if self.view.phase_type == "A":
            builds, due = self.view.max_builds, self.view.must_disband
            self.screen.print(f"You may build {builds}, and must disband {due}. {WELFARE_RULE}")
            if self.view.rules.transfers:
                self.screen.print(GIFTS_HELP)

    def _refuse(self, error: WelfareEnvError) -> None:
        self._tell(str(error))

    def _tell(self, what: str) -> None:
        self.screen.print(Text(plain(what), style="red"))


def _place(order: str) -> str:
    """The province of an order's unit or build site; "" for WAIVE and GIVE, which may be repeated."""
    parts = order_parts(order)
    return parts.province if parts else ""


def _recipient(written: str) -> str:
    name = written.strip().upper()
    return GLOBAL if name == "ALL" else name


def read_order(view: View, text: str) -> str:
    """Parses an order into our notation.

    Raises:
        OrderError: the text is not an order, or the order is not legal by itself.
    """
    game = Game.from_view(view)
    game.submit(view.power, [text])
    return game.orders(view.power)[0]


def show_position(view: View, screen: Console) -> None:
    """Points, centers and units of every power, and what happened in the last phase."""
    _show_last(view, screen)
    years = "1 year" if view.years_left == 1 else f"{view.years_left} years"
    table = Table(title=f"{view.phase}: you are {view.power}, {years} left", title_justify="left")
    for heading in ("power", "points", "centers", "units", "where"):
        table.add_column(heading, justify="right" if heading in ("points", "centers") else "left")
    for power in view.powers:
        units = view.units[power]
        row = (power, str(view.welfare[power]), str(len(view.centers[power])), str(len(units)), ", ".join(units))
        table.add_row(*row, style="bold" if power == view.power else "")
    screen.print(table)


def _show_last(view: View, screen: Console) -> None:
    if not view.history:
        if view.rules.variant == "welfare":
            screen.print(WELFARE_RULE)
        return
    last = view.history[-1]
    screen.print(Text(f"{last.phase} was:", style="bold"))
    for power, orders in last.orders.items():
        outcomes = [
            f"{order} ({', '.join(words)})" if (words := last.results.get(unit_of(order))) else order
            for order in orders
        ]
        if outcomes:
            screen.print(Text(f"  {power}: {'; '.join(outcomes)}"))


def show_messages(view: View, screen: Console) -> None:
    """The messages of this phase that the player can see."""
    for message in view.messages:
        head = f"[{message.round}] {message.sender} to {message.recipient}: "
        screen.print(Text(head, style="bold") + Text(plain(message.text)))


def _typed() -> str:
    line = sys.stdin.readline()
    if line:
        return line
    if not sys.stdin.isatty():
        raise EOFError
    print()  # Ctrl-D ends no line
    return "quit"


def _lines(read: Callable[[], str]) -> Iterator[str]:
    while True:
        try:
            yield read().strip()
        except EOFError:
            return
