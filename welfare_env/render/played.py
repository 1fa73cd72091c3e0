"""The part of `welfare_env.Game` that drawings need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from welfare_env.board.board import Board
from welfare_env.rules import Rules

Units = Mapping[str, tuple[str, ...]]


class PlayedGame(Protocol):
    """What drawings read from a game; see the properties of the same names of `welfare_env.Game`."""

    @property
    def board(self) -> Board: ...

    @property
    def rules(self) -> Rules: ...

    @property
    def powers(self) -> tuple[str, ...]: ...

    @property
    def phase(self) -> str: ...

    @property
    def is_done(self) -> bool: ...

    @property
    def units(self) -> Units: ...

    @property
    def dislodged(self) -> Mapping[str, Units]: ...

    @property
    def centers(self) -> Units: ...

    @property
    def welfare(self) -> Mapping[str, int]: ...

    @property
    def position(self) -> Any: ...

    @property
    def history(self) -> Sequence[Any]: ...

    def record(self) -> dict[str, Any]: ...
