"""A phase of a game as a picture."""

from __future__ import annotations

from typing import Any

from welfare_env.render.drawing import drawing_of
from welfare_env.render.played import PlayedGame
from welfare_env.render.svg import board_svg
from welfare_env.render.words import phase_title


def phase_svg(game: PlayedGame, number: int | None = None) -> str:
    """A phase of a game as SVG.

    Args:
        number: index in `game.history` of the phase, drawn with its orders and results; may be negative. None draws
            the current position.

    Raises:
        IndexError: the game has not played that many phases.
    """
    if number is None:
        return _drawn(game, game.position)
    record = game.history[number]
    return _drawn(
        game,
        record.position,
        orders=record.orders,
        results=record.results,
        refused={power: [(v.order, v.reason) for v in void] for power, void in record.void.items()},
    )


def _drawn(game: PlayedGame, position: Any, **orders: dict) -> str:
    return board_svg(
        drawing_of(game.board),
        game.powers,
        position.units,
        position.centers,
        influence=position.influence,
        dislodged={power: tuple(units) for power, units in position.dislodged.items()},
        title=phase_title(position.phase),
        notes=_notes(game, position),
        **orders,
    )


def _notes(game: PlayedGame, position: Any) -> dict[str, str]:
    """Power -> its centers, units and welfare points."""
    welfare = {power: f", {points} WP" for power, points in position.welfare.items()} if game.rules.is_welfare else {}
    return {
        power: f"{len(position.centers[power])} SC, {_counted(len(position.units[power]))}{welfare.get(power, '')}"
        for power in game.powers
    }


def _counted(units: int) -> str:
    return f"{units} unit{'s' * (units != 1)}"
