"""A player's view of the game: a read-only snapshot with strings, built lazily."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from welfare_env import checks
from welfare_env.engine import SEASONS, State
from welfare_env.errors import ActionError
from welfare_env.game.history import PhaseRecord
from welfare_env.game.position import Position, PublicPosition
from welfare_env.game.press import Message, recipients, vocabulary
from welfare_env.game.submitted import OrderSheet

MESSAGES, ORDERS = "messages", "orders"


class View(PublicPosition):
    """The game as `power` sees it at one moment. Later moves do not change it. `Game.view` and environments make it.

    Attributes:
        power: the player; "MEDIATOR" has no units and sees only public information and its own messages.
        asked: "messages" or "orders": what the player is to give now.
        message_round: 1 .. R in a message round, else 0.
        messages: the messages of this phase that the player can see, in the order sent.
    """

    def __init__(
        self,
        position: Position,
        power: str,
        messages: Sequence[Message] = (),
        history: Sequence[PhaseRecord] = (),
        asked: str = ORDERS,
        message_round: int = 0,
        pending: Sequence[int] = (),
    ) -> None:
        self._position = position
        self._all_messages = messages
        self._all_history = history
        self._lengths = len(messages), len(history)
        self.power = power
        self.asked = asked
        self.message_round = message_round
        self._pending = pending

    # The position is public.

    @property
    def state(self) -> State:
        """The position as arrays, for learned players (`welfare_env.engine.State`)."""
        return self._position.state

    @property
    def season(self) -> str:
        """ "S", "F" or "W"."""
        return SEASONS[self._position.state.phase]

    @property
    def phase_type(self) -> str:
        """ "M" (movement), "R" (retreats) or "A" (adjustments)."""
        return self._position.state.phase_type

    @property
    def year_index(self) -> int:
        """0 in the first year."""
        return self._position.state.year

    @property
    def years_left(self) -> int:
        """Years still to play, this one included."""
        return self.rules.years - self.year_index

    # Private to this player.

    @functools.cached_property
    def legal_orders(self) -> dict[str, tuple[str, ...]]:
        """Unit or home center -> its legal orders.

        Movement: unit -> orders. Retreats: dislodged unit -> retreats and disband. Winter: unit -> its disband, where
        that is allowed, and empty home center ("PAR") -> builds. Transfers (`GIVE`) are not listed.
        """
        return self._position.legal_orders(self.power) if self.power in self.powers else {}

    @property
    def orders(self) -> tuple[str, ...]:
        """The player's own orders in this phase so far."""
        return tuple(self.board.orders.texts[number] for number in self._pending)

    @property
    def max_builds(self) -> int:
        """Units the power may build this Winter; 0 in other phases."""
        return int(self._position.adjustments[0][self._index]) if self.power in self.powers else 0

    @property
    def must_disband(self) -> int:
        """Units the power must disband this Winter; 0 in other phases."""
        return int(self._position.adjustments[1][self._index]) if self.power in self.powers else 0

    @property
    def points_to_give(self) -> int:
        """Welfare points the power may give away (`GIVE`) this Winter; 0 in other phases, and without transfers."""
        gives = self.rules.transfers and self.phase_type == "A"
        return self.welfare.get(self.power, 0) if gives else 0

    @property
    def recipients(self) -> tuple[str, ...]:
        """The players that this player may write to; empty without press."""
        return recipients(self.board, self.rules, self.power) if self.rules.has_press else ()

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words that messages may consist of; empty with free text and without press."""
        return vocabulary(self.rules)

    def order_sheet(self) -> OrderSheet:
        """An empty list of the power's orders of this phase, which reads texts leniently and checks them."""
        return OrderSheet(self._position, self.power, is_lenient=True)

    @functools.cached_property
    def messages(self) -> tuple[Message, ...]:
        sent = self._all_messages[: self._lengths[0]]
        return tuple([message for message in sent if message.is_visible_to(self.power)])

    @functools.cached_property
    def history(self) -> tuple[PhaseRecord, ...]:
        """The phases played so far, with the messages that the player could see."""
        return tuple(record.seen_by(self.power) for record in self._all_history[: self._lengths[1]])

    @property
    def beginning(self) -> Position:
        """The first position of the game: the board's opening, or that of `Game.from_position`.

        In the first phase this is the view's own position.
        """
        return self._all_history[0].position if self._lengths[1] else self._position

    # Actions for the environments.

    def encode_orders(self, orders: Sequence[str]) -> Any:
        """The action that gives all orders of the phase at once, as strings.

        Raises:
            ActionError: not a list.
        """
        if not checks.is_list(orders):
            raise ActionError(f"orders {checks.quoted(orders)} of {self.power}: give a list of strings")
        given = list(orders)
        return {"orders": given, "messages": {}} if self.rules.has_press else given

    def encode_messages(self, messages: Sequence[tuple[str, str]]) -> Any:
        """The action that sends (recipient, text) pairs in a message round; texts to the same recipient are joined.

        With ``press="tokens"`` a text must be a single word of the vocabulary, so give one per recipient.

        Raises:
            ActionError: not a list of pairs.
        """
        joined: dict[str, str] = {}
        try:
            for recipient, text in messages:
                joined[recipient] = f"{joined[recipient]}\n{text}" if recipient in joined else text
        except (TypeError, ValueError) as error:
            given = checks.quoted(messages)
            raise ActionError(f"messages {given} of {self.power}: give a list of (recipient, text)") from error
        return {"orders": [], "messages": joined}

    @property
    def _index(self) -> int:
        return self.board.power_index[self.power]

    def __getstate__(self) -> dict[str, object]:
        """The state without information hidden from the player, since a copy may be sent to another process."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("messages", "history")}
        seen = self.messages, self.history
        return state | {"_all_messages": seen[0], "_all_history": seen[1], "_lengths": (len(seen[0]), len(seen[1]))}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return NotImplemented
        # Does not compare the number of all messages, which would reveal private messages of others.
        mine = (self.power, self.asked, self.message_round, self._lengths[1], self.messages, self.orders)
        theirs = (other.power, other.asked, other.message_round, other._lengths[1], other.messages, other.orders)
        return mine == theirs and self._position.state.same_as(other._position.state)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<View of {self.power} in {self.phase}, asked for {self.asked}>"
