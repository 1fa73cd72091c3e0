"""A person at the terminal: the position as tables, orders and messages as lines. Works over ssh.

Messages of other players are printed without control characters and direction marks (`modal_env.console.plain`), so
that they cannot move the cursor, change colors, or reorder text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modal_env.console import plain_console
from welfare_env.board.order_text import order_parts, unit_of
from welfare_env.errors import OrderError, PressError, WelfareEnvError
from welfare_env.game.game import Game
from welfare_env.game.press import GLOBAL, check_message
from welfare_env.game.view import MESSAGES, View

WELFARE_RULE = (
    "After each Winter you get a point for every center you own beyond your units: one unit fewer, +1 a year."
)
COMMANDS = "Commands: show, undo (the last line), done, help, quit (or Ctrl-D)"
ORDERS_HELP = (
    "One order a line, as in A PAR - BUR, A MAR S A PAR - BUR, F BRE H; in Winter A PAR B, F BRE D, or WAIVE. "
    f"A new order for a unit replaces the old one. {COMMANDS}, list UNIT (its legal orders)."
)
GIFTS_HELP = "GIVE ENGLAND gives England one of your points; write it twice for two."
MESSAGES_HELP = f"One message a line, as in ENGLAND: text, or GLOBAL: text to all. {COMMANDS}."


class NoPersonError(WelfareEnvError, RuntimeError):
    """Nobody is there to answer, or the person quits."""


class QuitError(NoPersonError):
    """The person quits."""


def ask(view: View, read: Callable[[], str] | None = None, console: Console | None = None) -> list:
    """Ask the person at the terminal.

    Args:
        read: returns a line without its end; None reads from standard input.

    Raises:
        QuitError: the person quits, by that word or Ctrl-D.
        NoPersonError: the input has ended.
    """
    screen = console or plain_console()
    if view.asked == MESSAGES:
        return Letters(view, screen).collected(_lines(read or _typed))
    show_position(view, screen)
    if not view.legal_orders and not view.points_to_give:
        return []
    return OrderSheet(view, screen).collected(_lines(read or _typed))


class OrderSheet:
    """The orders of a phase, each legal together with the others."""

    help = ORDERS_HELP

    def __init__(self, view: View, screen: Console) -> None:
        self.view, self.screen = view, screen
        self.given: list = []

    def collected(self, lines: Iterator[str]) -> list:
        """What the person gives, line by line, until "done"."""
        self.introduce()
        for line in lines:
            word, _, rest = line.partition(" ")
            command = word.lower()
            if command == "done":
                return self.given
            if command == "quit":
                raise QuitError(f"{self.view.power} in {self.view.phase}: you left the game")
            if command == "help":
                self.screen.print(self.help, style="dim")
            elif command == "show":
                self.screen.print(Text("\n".join(map(str, self.given)) or "nothing yet"))
            elif command == "undo":
                self.screen.print(Text(f"taken back: {self.given.pop()}" if self.given else "nothing yet"))
            elif command == "list":
                for unit, legal in self.view.legal_orders.items():
                    if rest.strip().upper() in unit:
                        self.screen.print(Text(f"{unit}: {', '.join(legal)}"))
            elif line:
                try:
                    self.add(line)
                except (OrderError, PressError) as error:
                    self.screen.print(Text(str(error), style="red"))
        raise NoPersonError(f"{self.view.power} in {self.view.phase}: nobody answers; the input has ended")

    def introduce(self) -> None:
        """Say what can be given."""
        view = self.view
        self.screen.print(self.help, style="dim")
        if view.phase_type == "A":
            self.screen.print(f"You may build {view.max_builds}, and must disband {view.must_disband}. {WELFARE_RULE}")
            if view.rules.transfers:
                self.screen.print(GIFTS_HELP)

    def add(self, line: str) -> None:
        """Add an order, in place of one for the same unit or build site. An illegal order changes nothing."""
        game, power = Game.from_view(self.view), self.view.power
        game.submit(power, [line])
        (order,) = game.orders(power)
        place = _place(order)
        orders = [*(other for other in self.given if not place or _place(other) != place), order]
        Game.from_view(self.view).check_orders(power, orders)
        self.given = orders
        self.screen.print(Text(f"  {order}"))


class Letters(OrderSheet):
    """The messages of a round: (recipient, text) pairs, one for each recipient."""

    help = MESSAGES_HELP

    def introduce(self) -> None:
        """Show the position, and the messages so far."""
        if self.view.message_round == 1:
            show_position(self.view, self.screen)
        show_messages(self.view, self.screen)
        self.screen.print(f"Message round {self.view.message_round}. {self.help}", style="dim")

    def add(self, line: str) -> None:
        """Add a message, in place of one to the same recipient."""
        written, _, text = line.partition(":")
        name, text, view = written.strip().upper(), text.strip(), self.view
        recipient = GLOBAL if name == "ALL" else name
        check_message(view.board, view.rules, view.power, recipient, text, view.message_round)
        self.given = [*(other for other in self.given if other[0] != recipient), (recipient, text)]
        self.screen.print(Text(f"to {recipient}: {text}  (until done)"))


def _place(order: str) -> str:
    """The province of an order's unit or build site; "" for WAIVE and GIVE, which may be repeated."""
    parts = order_parts(order)
    return parts.province if parts else ""


def show_position(view: View, screen: Console) -> None:
    """What happened in the last phase, and points, centers and units of every power."""
    if view.history:
        last = view.history[-1]
        screen.print(Text(f"{last.phase} was:", style="bold"))
        for power, orders in last.orders.items():
            results = [(order, ", ".join(last.results.get(unit_of(order)) or ())) for order in orders]
            if results:
                told = "; ".join(f"{order} ({words})" if words else order for order, words in results)
                screen.print(Text(f"  {power}: {told}"))
    elif view.rules.variant == "welfare":
        screen.print(WELFARE_RULE)
    years = "1 year" if view.years_left == 1 else f"{view.years_left} years"
    table = Table(title=f"{view.phase}: you are {view.power}, {years} left", title_justify="left")
    for heading in ("power", "points", "centers", "units", "where"):
        table.add_column(heading, justify="right" if heading in ("points", "centers") else "left")
    for power, units in view.units.items():
        counts = (view.welfare[power], len(view.centers[power]), len(units))
        table.add_row(power, *map(str, counts), ", ".join(units), style="bold" if power == view.power else "")
    screen.print(table)


def show_messages(view: View, screen: Console) -> None:
    """The messages of this phase that the player can see."""
    for message in view.messages:
        head = f"[{message.round}] {message.sender} to {message.recipient}: "
        screen.print(Text(head, style="bold") + Text(message.text))


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
