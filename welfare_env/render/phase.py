"""The position of a game as a picture, and as a table for the terminal."""

from __future__ import annotations

from typing import Any

from welfare_env.board.order_text import unit_of
from welfare_env.render.drawing import drawing_of
from welfare_env.render.svg import board_svg
from welfare_env.render.words import phase_title


def phase_svg(game: Any) -> str:
    """The current position of a `welfare_env.Game` as SVG."""
    position = game.position
    return board_svg(
        drawing_of(game.board),
        game.powers,
        position.units,
        position.centers,
        influence=position.influence,
        dislodged={power: tuple(units) for power, units in position.dislodged.items()},
        title=phase_title(position.phase),
        notes=_notes(game, position),
    )


def _notes(game: Any, position: Any) -> dict[str, str]:
    """Power -> its centers, units and welfare points."""
    welfare = {power: f", {points} WP" for power, points in position.welfare.items()} if game.rules.is_welfare else {}
    return {
        power: f"{len(position.centers[power])} SC, {_counted(len(position.units[power]))}{welfare.get(power, '')}"
        for power in game.powers
    }


def _counted(units: int) -> str:
    return f"{units} unit{'s' * (units != 1)}"


def render(game: Any) -> str:
    """The position by power, and the results of the last orders, as plain text without color codes."""
    width = max(len(power) for power in game.powers)
    title = f"{game.phase} on {game.board.name}, {game.rules.variant} rules"
    points = "  WP" if game.rules.is_welfare else ""
    lines = [title, f"{'':{width}}  SC  units{points}  where"]
    for power in game.powers:
        units = [*game.units[power], *(f"{unit} (dislodged)" for unit in game.dislodged[power])]
        welfare = f"{game.welfare[power]:4d}" if game.rules.is_welfare else ""
        lines.append(
            f"{power:{width}}  {len(game.centers[power]):2d}  {len(units):5d}{welfare}  {', '.join(units) or '-'}"
        )
    return "\n".join([*lines, *_last_orders(game)])


def _last_orders(game: Any) -> list[str]:
    if not game.history:
        return []
    last = game.history[-1]
    lines = [f"orders of {last.phase}"]
    for power, orders in last.orders.items():
        for order in orders:
            result = ", ".join(last.results.get(unit_of(order), []))
            lines.append(f"  {power}: {order}{f'  ({result})' if result else ''}")
        lines += [f"  {power}: {void.order!r} refused" for void in last.void.get(power, ())]
    return lines if len(lines) > 1 else []
