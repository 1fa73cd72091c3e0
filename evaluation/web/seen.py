"""The state sent to a page: only what its `View` shows, so the page need not filter anything.

Position and history have the format of the replay page (`welfare_env.render.replay`), made from a record that contains
only what the view shows.
"""

from __future__ import annotations

from typing import Any

from evaluation.web.settings import SPECTATOR
from evaluation.web.table import END, SeatedGame
from welfare_env.game.record import to_record
from welfare_env.game.view import View
from welfare_env.render.replay.annotations import NO_ANNOTATIONS
from welfare_env.render.replay.data import page_data
from welfare_env.render.replay.page import drawn_data


def state_of(table: SeatedGame, seat: str, since: int = 0) -> dict[str, Any]:
    """The state that a seat may see; before the game begins, only who has arrived. Never who has answered.

    Args:
        since: number of phases that the page already has; only later phases are sent.
    """
    return {
        "position": table.position,
        "seat": seat,
        "title": table.settings.title,
        "people": [{"power": power, "here": power in table.entered} for power in table.people],
        "step": table.step,
        **(game_of(table, seat, since) if table.has_begun else {}),
    }


def game_of(table: SeatedGame, seat: str, since: int) -> dict[str, Any]:
    """The game from a seat's view."""
    view = table.view(seat)
    record = seen_record(view, since)
    data, drawn = page_data(record, NO_ANNOTATIONS), drawn_data(record, view.board)
    phases = [one | more for one, more in zip(data["phases"], drawn["phases"], strict=True)]
    powers = [{"name": one["name"]} | more for one, more in zip(data["powers"], drawn["powers"], strict=True)]
    looks = {"places": drawn["places"], "drawing": drawn["drawing"]} if since == 0 else {}
    return {"game": {"since": since, "powers": powers, "phases": phases, "about": data["about"], **looks}} | {
        "view": view_data(view) | {"is_asked": table.is_asked(seat)},
        "answer": table.answer(seat),
    }


def seen_record(view: View, since: int = 0) -> dict[str, Any]:
    """A record with only what a view shows, from phase `since` on."""
    return to_record(view.history[since:], view.position, {}, {}, view.messages)


def view_data(view: View) -> dict[str, Any]:
    """The fields of a view that a person needs, as plain JSON types."""
    is_over = view.is_done
    return {
        "power": view.power,
        "phase": view.phase,
        "asked": END if is_over else view.asked,
        "message_round": view.message_round,
        "message_rounds": view.rules.message_rounds if view.rules.has_press else 0,
        "phase_type": "" if is_over else view.phase_type,
        "variant": view.rules.variant,
        "transfers": view.rules.transfers,
        "build_and_disband": view.rules.build_and_disband,
        "year": view.year,
        "years_left": 0 if is_over else view.years_left,
        "legal_orders": {} if is_over else {unit: list(orders) for unit, orders in view.legal_orders.items()},
        "max_builds": 0 if is_over else view.max_builds,
        "must_disband": 0 if is_over else view.must_disband,
        "recipients": list(view.recipients) if view.power != SPECTATOR else [],
        "vocabulary": list(view.vocabulary),
        "welfare": view.welfare,
        "scores": view.scores,
        "units": {power: list(units) for power, units in view.units.items()},
        "centers": {power: list(centers) for power, centers in view.centers.items()},
        "dislodged": {
            power: {unit: list(places) for unit, places in units.items()} for power, units in view.dislodged.items()
        },
    }
