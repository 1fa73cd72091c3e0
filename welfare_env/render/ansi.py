"""A game as a table for the terminal."""

from __future__ import annotations

from welfare_env.board.order_text import unit_of
from welfare_env.render.played import PlayedGame


def render(game: PlayedGame) -> str:
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


def _last_orders(game: PlayedGame) -> list[str]:
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
