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

import contextlib
import copy
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.board.loading import load_board
from welfare_env.board.order_text import Reading, meant_by, province_of, read_checked
from welfare_env.board.orders import GIVE, WAIVE
from welfare_env.checks import quoted
from welfare_env.engine import ADJUSTMENTS, RETREATS, Engine, State
from welfare_env.engine.engines import DEFAULT_ENGINE, ENGINES, make_engine
from welfare_env.errors import GameOverError, IllegalOrderError, OrderError, PressError
from welfare_env.game import record as saved
from welfare_env.game.history import PhaseRecord, Void, play_phase
from welfare_env.game.placement import position_state
from welfare_env.game.position import Position, PublicPosition
from welfare_env.game.press import Message, check_message, players
from welfare_env.game.view import ORDERS, View
from welfare_env.rules import Rules

if TYPE_CHECKING:
    from welfare_env.render.replay.annotations import Annotations

MOST_ORDERS = 1000  # per power and phase
LONGEST_REASON = 10_000  # characters of the reason why an order was refused


class Game(PublicPosition):
    """A game of Diplomacy on one board under one set of rules.

    Args:
        map_name: a map's name, a toy board ("clique:4"), or the path of a `.map` file.
        rules: see `Rules`.
        engine: which engine adjudicates.

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
        """A game that continues from a player's view, with its visible history, without orders or messages so far."""
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
    def position(self) -> Position:
        """The current position, with its state and legal orders as arrays. Immutable; `advance` makes a new one."""
        return self._position

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

    def submit_numbers(self, power: str, numbers: Sequence[int]) -> None:
        """`submit` for orders that are known to be jointly legal: numbers of `board.orders`, not checked again.

        Refused orders stay recorded (see `clear_void`).
        """
        self._orders[power] = tuple(numbers)

    def clear_void(self, power: str) -> None:
        """Clear the orders of a power that were refused in this phase."""
        self._void.pop(power, None)

    def order_numbers(self, power: str) -> tuple[int, ...]:
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
        void = Void(_shorten(order, LONGEST_REASON), _shorten(reason, LONGEST_REASON))
        self._void[power] = (*self._void.get(power, ()), void)

    def _check_orders(
        self, power: str, orders: Iterable[str], strict: bool
    ) -> tuple[tuple[int, ...], tuple[Void, ...]]:
        self.board.check_power(power)
        self._check_running()
        texts = _listed(power, orders)
        if self._mixes(texts):
            return self._refuse_mixed(power, texts, strict)
        accepted: list[int] = []
        ordered: set[int] = set()
        void: list[Void] = []
        for text in texts:
            try:
                accepted.append(self._check_order(power, text, accepted, ordered))
            except OrderError as error:
                if strict:
                    raise
                void.append(Void(_shorten(text), str(error)))
        return tuple(accepted), tuple(void)

    def _mixes(self, texts: list[str]) -> bool:
        """Whether a Winter list both builds and disbands although the rules forbid it."""
        if self.rules.build_and_disband or self._position.state.phase_type != ADJUSTMENTS or len(texts) < 2:
            return False
        kinds = set()
        for text in texts:
            with contextlib.suppress(OrderError):
                kinds.add(read_checked(text, self.board).command)
        return {"B", "D"} <= kinds

    def _refuse_mixed(self, power: str, texts: list[str], strict: bool) -> tuple[tuple[int, ...], tuple[Void, ...]]:
        reason = f"{power} both builds and disbands in {self.phase}: {quoted(texts)}. Do one or the other"
        if strict:
            raise IllegalOrderError(reason)
        return (), tuple(Void(_shorten(text), reason) for text in texts)

    def _check_order(self, power: str, text: str, accepted: Sequence[int], ordered: set[int]) -> int:
        """The number of an order that `power` may give in addition to the accepted ones.

        Args:
            ordered: the slots of the accepted orders; the new order's slot is added.
        """
        number = self._meant(power, text)
        kind = int(self.board.orders.kind[number])
        if kind == WAIVE:
            return WAIVE
        if kind == GIVE:
            return self._check_gift(power, text, number, accepted)
        slot = self._slot_of(power, number)
        if slot is not None and slot in ordered:
            raise IllegalOrderError(f"{text!r}: {power} has already ordered {self._position.slot_name(slot)}")
        if self._position.state.phase_type == ADJUSTMENTS:
            self._check_adjustments(power, text, kind, accepted)
        if slot is not None:
            ordered.add(slot)
        return number

    def _meant(self, power: str, text: str) -> int:
        """The number of the legal order that a text means.

        Raises:
            OrderSyntaxError, IllegalOrderError: not an order, or an illegal or ambiguous one.
        """
        index, is_winter = self.board.orders.index, self._position.state.phase_type == ADJUSTMENTS
        known = index.get(text) if isinstance(text, str) else None
        if known is not None and self._slot_of(power, known) is not None:
            return known
        reading = read_checked(text, self.board)
        if reading.command == "GIVE":
            return index[f"GIVE {reading.place}"]
        if reading.command == "WAIVE" and is_winter:
            return WAIVE
        meant = meant_by(reading, self._legal_at(power, reading.place), self.board)
        if len(meant) == 1:
            return index[meant[0]]
        if meant:
            raise IllegalOrderError(f"{text!r} is ambiguous in {self.phase}: it may mean {_some(meant)}")
        raise IllegalOrderError(self._why_illegal(power, text, reading))

    def _legal_at(self, power: str, place: str) -> list[str]:
        """The legal orders of `power` for a province."""
        texts, position = self.board.orders.texts, self._position
        return [
            texts[number]
            for slot in position.slots(self.board.power_index[power])
            if province_of(position.slot_name(slot)) == place[:3]
            for number in position.slot_orders(slot).tolist()
        ]

    def _slot_of(self, power: str, number: int | None) -> int | None:
        """The slot of a legal order; None if it is not legal for the power."""
        return None if number is None else self._position.slot_of(self.board.power_index[power], number)

    def _check_adjustments(self, power: str, text: str, kind: int, accepted: Sequence[int]) -> None:
        if kind not in self._position.open_kinds(self.board.power_index[power], accepted):
            raise IllegalOrderError(f"{text!r}: {self._position.winter_limit(power, kind)}")

    def _check_gift(self, power: str, text: str, number: int, accepted: Sequence[int]) -> int:
        if not self.rules.transfers or self._position.state.phase_type != ADJUSTMENTS:
            raise IllegalOrderError(f"{text!r}: points are given in Winter, under Rules(transfers=True)")
        if self.board.orders.texts[number] == f"GIVE {power}":
            raise IllegalOrderError(f"{text!r}: {power} cannot give to itself")
        if GIVE not in self._position.open_kinds(self.board.power_index[power], accepted):
            raise IllegalOrderError(f"{text!r}: {power} owns {self.welfare[power]} welfare points")
        return number

    def _why_illegal(self, power: str, text: str, reading: Reading) -> str:
        """Why a well-formed order is illegal, and which orders are legal."""
        options = self.legal_orders(power)
        where = reading.place[:3]
        for name, legal in options.items():
            if province_of(name) == where:
                return f"{text!r} is not legal in {self.phase}. Legal for {name}: {_some(legal)}"
        for other, units in self._position.units.items():
            unit = next((unit for unit in units if unit[2:5] == where and reading.unit in ("", unit[0])), None)
            if unit and other != power:
                return f"{text!r}: {unit} belongs to {other}, not to {power}"
        possible = _some(tuple(options)) or "nothing"
        return f"{text!r}: {power} cannot order that in {self.phase}. It can order: {possible}"

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
        """Replay a record, comparing every position with the recorded one.

        A game saved by the `diplomacy` package becomes a standard game of up to 100 years.

        Args:
            map_name: path of the map if it is a file; no other map file is read, even if the record names one.
            allow_edited: accept a record that does not match its SHA-256 (see `load`).

        Raises:
            RecordError: a part is missing, malformed or edited, or a position does not follow from the previous orders.
            RulesError: no such engine.
        """
        checks.choice("engine", engine, ENGINES)
        with saved.checked(record, allow_edited):
            game = cls.from_position(**saved.opening(record, map_name), engine=engine)
            for number, phase in enumerate(record["phases"]):
                if number:
                    game.advance()
                saved.compare(game.position, phase, number)
                game._submit_recorded(phase)
            if "welfare_env" in record:
                saved.compare_all(game.record(), record)
        return game

    def _submit_recorded(self, phase: dict[str, Any]) -> None:
        """Send the messages and submit the orders of a recorded phase."""
        for message in phase.get("messages", []):
            self.send(message["sender"], message["recipient"], message["message"], message.get("round", 1))
        is_ours = "void" in phase  # the package lists void orders among the others; our files list them separately
        for power, orders in (phase.get("orders") or {}).items():
            self.submit(power, orders or [], strict=is_ours)
        for power, refused in phase.get("void", {}).items():
            for order in refused:
                self.add_void(power, saved.text_of(order["order"]), saved.text_of(order["reason"]))

    def record(self) -> dict:
        """The game as a dict of plain JSON types (see `welfare_env.game.record`)."""
        orders = {power: self.orders(power) for power in self.powers if self.orders(power)}
        return saved.to_record(self.history, self.position, orders, self.pending_void, self.messages)

    def replay(self, path: str | os.PathLike[str], annotations: Annotations | None = None) -> None:
        """Write the game as one HTML page with its map, orders, messages and charts, to open without a server.

        Args:
            annotations: additional content, see `welfare_env.render.replay.annotations`.

        Raises:
            RecordError: the file cannot be written, or exists and is not an HTML page.
        """
        saved.check_page(path)
        saved.save_text(self._page(annotations), path)

    def animate(
        self,
        path: str | os.PathLike[str],
        width: int = 640,
        milliseconds: int = 1000,
        on_frame: Callable[[int], None] | None = None,
    ) -> None:
        """Write the game as an animated GIF: a frame for each phase with its orders (needs the extra `plot`).

        Args:
            width: in pixels, 100 to 2000.
            milliseconds: time per phase, 20 to 60,000; the final position stays three times as long.
            on_frame: called after each frame with the number of frames drawn.

        Raises:
            PictureError: a width or time out of range, a game too long for this width, or the extra is missing.
            RecordError: the file cannot be written, or exists and is not a GIF.
        """
        from welfare_env.render.pixels import game_gif

        saved.check_animation(path)
        saved.save_bytes(game_gif(self, width, milliseconds, on_frame), path)

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


def _listed(power: str, orders: object) -> list[Any]:
    """Check that orders are a sequence of strings, and return them as a list."""
    # Sets have no fixed order, and the keys of a dict are not orders; 0-d arrays cannot be listed.
    if (
        isinstance(orders, (str, bytes, Set, Mapping))
        or not isinstance(orders, Iterable)
        or (isinstance(orders, np.ndarray) and orders.ndim == 0)
    ):
        raise IllegalOrderError(f"orders of {power} are {quoted(orders)}: give a list of strings")
    texts = list(itertools.islice(orders, MOST_ORDERS + 1))
    if len(texts) > MOST_ORDERS:
        raise IllegalOrderError(f"{power} has more than {MOST_ORDERS} orders: give one per unit")
    return texts


def _shorten(text: object, most: int = 200) -> str:
    """An order as given, shortened for the record."""
    given = text if isinstance(text, str) else quoted(text)
    return given[:most].encode("utf-8", "backslashreplace").decode()[:most]


def _some(options: Sequence[str], most: int = 12) -> str:
    more = f" ... ({len(options)} in all)" if len(options) > most else ""
    return ", ".join(options[:most]) + more
