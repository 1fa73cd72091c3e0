"""One game to play by hand: orders as strings, messages, history, saving and loading.

>>> import welfare_env
>>> game = welfare_env.Game()
>>> game.phase
'S1901M'
>>> game.submit("FRANCE", ["A PAR - BUR", "A MAR S A PAR - BUR", "F BRE - MAO"])
()
>>> game.send("FRANCE", "GERMANY", "Burgundy is for my defense only.")
>>> game.advance()
>>> game.phase, game.units["FRANCE"]
('F1901M', ('A MAR', 'F MAO', 'A BUR'))
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.board.loading import load_board
from welfare_env.checks import quoted
from welfare_env.engine import RETREATS, Engine, State
from welfare_env.engine.engines import DEFAULT_ENGINE, ENGINES, make_engine
from welfare_env.errors import GameOverError, PressError, RecordError
from welfare_env.game import record as saved
from welfare_env.game.history import PhaseRecord, Void, play_phase
from welfare_env.game.placement import position_state
from welfare_env.game.position import Position, PublicPosition
from welfare_env.game.press import Message, check_message, players
from welfare_env.game.submitted import read_orders, refused
from welfare_env.game.view import ORDERS, View
from welfare_env.rules import Rules

if TYPE_CHECKING:
    from welfare_env.render.replay.annotations import Annotations


class Game(PublicPosition):
    """A game of Diplomacy on one board under one set of rules.

    Args:
        map_name: a map's name, a toy board ("clique:4"), or the path of a `.map` file.
        rules: see `Rules`.
        engine: which engine adjudicates. The reference engine is the `diplomacy` package: with it, the game's rules
            say ``adjudication="package"``.

    Raises:
        UnknownMapError, MapFormatError: no such map, or a damaged map file.
        RulesError: no such engine.
    """

    def __init__(
        self, map_name: str | Board = "standard", rules: Rules | None = None, engine: str = DEFAULT_ENGINE
    ) -> None:
        board = load_board(map_name)
        self._start(make_engine(engine, board, rules if rules is not None else Rules()))

    def _start(self, engine: Engine, state: State | None = None) -> None:
        self._engine = engine
        self._position = Position(engine, engine.initial() if state is None else state)
        self._history: list[PhaseRecord] = []
        self._clear_phase()

    def _clear_phase(self) -> None:
        self._orders: dict[str, tuple[int, ...]] = {}
        self._void: dict[str, tuple[Void, ...]] = {}
        self._messages: list[Message] = []

    @classmethod
    def from_position(
        cls,
        phase: str,
        units: Mapping[str, Sequence[str]],
        centers: Mapping[str, Sequence[str]],
        dislodged: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        welfare: Mapping[str, int] | None = None,
        rules: Rules | None = None,
        map_name: str | Board = "standard",
        engine: str = DEFAULT_ENGINE,
    ) -> Game:
        """A game that begins in any position, e.g. a critical moment or a test case.

        Args:
            phase: short name, e.g. "F1905M".
            units: power -> units. Powers left out have none.
            centers: power -> centers it owns. Centers left out are neutral.
            dislodged: retreat phases only: power -> dislodged unit -> locations it may retreat to.
            welfare: power -> welfare points so far.

        Raises:
            PositionError: a unit in a place where its type cannot stand, two units in a province, a center with two
                owners ...
            UnknownPowerError, UnknownMapError: no such power or map.
            RulesError: no such engine.
        """
        game = cls.__new__(cls)
        made = make_engine(engine, load_board(map_name), rules if rules is not None else Rules())
        waiting = {} if dislodged is None else dislodged
        points = {} if welfare is None else welfare
        game._start(made, position_state(made, phase, units, centers, waiting, points))
        return game

    @classmethod
    def from_view(cls, view: View) -> Game:
        """A game that continues from a player's view, with its visible history, without orders or messages so far.

        Raises:
            RecordError: not a view.
        """
        if not isinstance(view, View):
            raise RecordError(f"view={quoted(view)}: give a view, such as info['view'] or game.view(power)")
        game = cls.__new__(cls)
        game._start(copy.copy(view.position.engine), view.state)
        game._history = list(view.history)
        return game

    def branch(self) -> Game:
        """A new game that begins in this game's current position, without its history, orders and messages."""
        game = Game.__new__(Game)
        game._start(copy.copy(self._engine), self._position.state)
        return game

    def __copy__(self) -> Game:
        return copy.deepcopy(self)  # a shallow copy would share its orders and messages

    @property
    def winner(self) -> str | None:
        """The power that won the standard game by centers, if any."""
        winner = self._position.state.winner
        return self.powers[winner] if winner >= 0 else None

    @property
    def history(self) -> tuple[PhaseRecord, ...]:
        """The phases played so far."""
        return tuple(self._history)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the current phase."""
        return tuple(self._messages)

    def legal_orders(self, power: str) -> dict[str, tuple[str, ...]]:
        """Unit or home center -> its legal orders (see `View.legal_orders`)."""
        return self._position.legal_orders(self.board.check_power(power))

    def orders(self, power: str) -> tuple[str, ...]:
        """The orders that the power has submitted in this phase."""
        texts = self.board.orders.texts
        return tuple(texts[number] for number in self._orders.get(self.board.check_power(power), ()))

    @property
    def pending_void(self) -> dict[str, tuple[Void, ...]]:
        """Power -> the orders of this phase that were refused; only powers that have any."""
        return {power: void for power, void in self._void.items() if void}

    def view(self, player: str, asked: str = ORDERS, message_round: int = 0) -> View:
        """The current view of `player` (a power, or the mediator if the rules have one).

        Raises:
            UnknownPowerError: no such player.
        """
        if not isinstance(player, str) or player not in players(self.board, self.rules):
            self.board.check_power(player)
        own = self._orders.get(player, ())
        return View(self._position, player, self._messages, self._history, asked, message_round, own)

    def submit(self, power: str, orders: Iterable[str], strict: bool = True) -> tuple[Void, ...]:
        """Set all orders of a power for this phase; they replace those it submitted before.

        Units without an order hold (movement), disband (retreats), or stay (Winter).

        Args:
            strict: refuse the whole list at its first error. If false, an illegal order is recorded as void and the
                others count; a Winter list that both builds and disbands is void as a whole, unless the rules have
                ``build_and_disband``.

        Returns:
            The void orders with reasons; always empty if strict.

        Raises:
            UnknownPowerError: no such power.
            GameOverError: the game is over.
            OrderSyntaxError, IllegalOrderError: `strict`, and an order is malformed or illegal; nothing has changed.
        """
        numbers, void = self._check_orders(power, orders, strict)
        self._orders[power] = numbers
        self._void[power] = void
        return void

    def _submit_numbers(self, power: str, numbers: Sequence[int]) -> None:
        """`submit` for orders that are known to be jointly legal: numbers of `board.orders`, not checked again.

        Refused orders stay recorded (see `_clear_void`).
        """
        self._orders[power] = tuple(numbers)

    def _clear_void(self, power: str) -> None:
        """Clear the orders of a power that were refused in this phase."""
        self._void.pop(power, None)

    def _order_numbers(self, power: str) -> tuple[int, ...]:
        """The orders that the power has submitted in this phase, as numbers of `board.orders`."""
        return self._orders.get(power, ())

    def check_orders(self, power: str, orders: Iterable[str]) -> None:
        """Check orders as a strict `submit` does, without submitting them."""
        self._check_orders(power, orders, strict=True)

    def add_void(self, power: str, order: str, reason: str) -> None:
        """Record an order that was refused before `submit`; the power's next `submit` clears it.

        Raises:
            UnknownPowerError: no such power.
            GameOverError: the game is over.
        """
        self.board.check_power(power)
        self._check_running()
        self._void[power] = (*self._void.get(power, ()), refused(order, reason))

    def _check_orders(
        self, power: str, orders: Iterable[str], strict: bool
    ) -> tuple[tuple[int, ...], tuple[Void, ...]]:
        self.board.check_power(power)
        self._check_running()
        return read_orders(self._position, power, orders, strict)

    def send(self, sender: str, recipient: str, text: str, message_round: int = 1) -> None:
        """Send a message to a power or to "GLOBAL"; it is visible at once.

        Raises:
            PressError: no press in this game or this phase, unknown sender or recipient, bad text (with
                ``press="tokens"``: not a word of the vocabulary). Nothing is sent.
            GameOverError: the game is over.
        """
        self.check_send(sender, recipient, text, message_round)
        self._messages.append(Message(sender, recipient, text, self.phase, message_round))

    def check_send(self, sender: str, recipient: str, text: str, message_round: int = 1) -> None:
        """Check a message as `send` does, without sending it."""
        self._check_running()
        check_message(self.board, self.rules, sender, recipient, text, message_round)
        if self._position.state.phase_type == RETREATS:
            raise PressError(f"{sender} to {recipient} in {self.phase}: there are no messages in retreat phases")

    def advance(self) -> None:
        """Resolve the phase with the submitted orders, and continue to the next phase with orders to give.

        Raises:
            GameOverError: the game is over.
        """
        self._check_running()
        record = play_phase(self._position, self._orders, self.pending_void, tuple(self._messages))
        self._history.append(record)
        self._position = record.after
        self._clear_phase()

    def _check_running(self) -> None:
        if self.is_done:
            last = self._history[-1].phase if self._history else "its first phase"
            raise GameOverError(f"the game ended with {last}: no more orders, messages or phases are possible")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the game as JSON, a superset of the `diplomacy` package's saved games. Writes are atomic.

        The file includes a SHA-256 of its content, so that `load` detects changes.

        Raises:
            RecordError: the file cannot be written.
        """
        saved.save_record(self.record(), path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        engine: str = DEFAULT_ENGINE,
        map_name: str | None = None,
        allow_edited: bool = False,
    ) -> Game:
        """Load a saved game by replaying it, so that damage is detected.

        Content that a replay cannot check (messages, refused orders, a different map on which the same orders are
        legal) is verified by the SHA-256 in the file. Files of the `diplomacy` package have none: they are replayed,
        and the rest is trusted.

        Args:
            map_name: path of the game's map, if the map is a file; a saved game never opens a map file by itself.
            allow_edited: load a file that was edited on purpose and no longer matches its SHA-256. It must still
                replay.

        Raises:
            RecordError: no such file, truncated, damaged, edited, or not a saved game.
            RulesError: no such engine.
        """
        return cls.from_record(saved.load_record(path), engine, map_name, allow_edited)

    @classmethod
    def from_record(
        cls,
        record: dict[str, Any],
        engine: str = DEFAULT_ENGINE,
        map_name: str | None = None,
        allow_edited: bool = False,
    ) -> Game:
        """Replay a record, and compare the game with it.

        Args:
            map_name: path of the map if it is a file; no other map file is read, even if the record names one.
            allow_edited: accept a record that does not match its SHA-256 (see `load`).

        Raises:
            RecordError: a part is missing, malformed or edited, or a position does not follow from the previous orders.
            RulesError: no such engine.
        """
        checks.choice("engine", engine, ENGINES)
        with saved.checked(record, allow_edited):
            opening = saved.opening(record, map_name)
            game = cls.from_position(**opening, engine=engine)
            if game.rules != opening["rules"]:
                raise RecordError("it was played by the rulebook, which only engine='fast' follows")
            for number, phase in enumerate(record["phases"]):
                if number:
                    game.advance()
                game._submit_recorded(phase)
            saved.compare(game.record(), record)
        return game

    def _submit_recorded(self, phase: dict[str, Any]) -> None:
        """Send the messages and submit the orders of a recorded phase."""
        for message in phase["messages"]:
            self.send(message["sender"], message["recipient"], message["message"], message["round"])
        for power, orders in phase["orders"].items():
            self.submit(power, orders)
        for power, void in phase["void"].items():
            for order in void:
                self.add_void(power, order["order"], order["reason"])

    def record(self) -> dict:
        """The game as a dict of plain JSON types (see `welfare_env.game.record`)."""
        orders = {power: self.orders(power) for power in self.powers if self.orders(power)}
        return saved.to_record(self.history, self.position, orders, self.pending_void, self.messages)

    def replay(self, path: str | os.PathLike[str], annotations: Annotations | None = None) -> None:
        """Write the game as one HTML page with its map, orders, messages and charts, to open without a server.

        Args:
            annotations: additional content, see `welfare_env.render.replay.annotations`.

        Raises:
            RecordError: the file cannot be written, or its name does not end in .html (it may be the saved game).
        """
        if not str(saved.file_path(path)).lower().endswith((".html", ".htm")):
            raise RecordError(f"cannot write a page to {quoted(path)}: give a name that ends in .html")
        saved.save_text(self._page(annotations), path)

    def _page(self, annotations: Annotations | None = None) -> str:
        from welfare_env.render.replay.annotations import NO_ANNOTATIONS
        from welfare_env.render.replay.page import replay_page

        return replay_page(self.record(), self.board, annotations or NO_ANNOTATIONS)

    def _repr_html_(self) -> str:
        """The page of `replay` in a frame, for notebooks."""
        from welfare_env.render.replay.page import framed

        return framed(self._page())

    def _repr_svg_(self) -> str:
        """The current position as a picture, for notebooks that do not display HTML."""
        from welfare_env.render.phase import phase_svg

        return phase_svg(self)

    def __str__(self) -> str:
        """The position by power and the last orders, as text."""
        from welfare_env.render.phase import render

        return render(self)

    def __repr__(self) -> str:
        return f"<Game on {self.board.name} in {self.phase}>"
