"""Games saved by the `diplomacy` package, and by AI_Diplomacy, which adds what its agents thought.

The package's format is what its `to_saved_game_format` returns (github.com/diplomacy/diplomacy,
diplomacy/utils/export.py): ``{"id", "map", "rules", "phases": [{"name", "state", "orders", "results", "messages"}]}``.
AI_Diplomacy (github.com/GoodStartLabs/AI_Diplomacy, ai_diplomacy/game_logic.py, files named lmvsgame.json) adds
``state_agents``, ``state_history_plans`` and ``config`` to phases, ``phase_summaries`` and ``final_agent_states`` to
the game. Orders that the package found void stand among the others.
"""

from __future__ import annotations

import re

from welfare_env.game.record import COMPLETED
from welfare_env.imports.foreign import ForeignGame, ForeignMessage, ForeignPhase
from welfare_env.imports.nodes import Node

PHASE = re.compile(r"[SFW][0-9]{4}[MRA]")
THOUGHTS = ("state_agents", "state_history_plans", "phase_summaries", "final_agent_states")


def read(saved: Node) -> ForeignGame:
    """Read a saved game.

    Raises:
        RecordError: a part is missing or is not what belongs there, with its place.
    """
    phases = saved["phases"].entries()
    own = [name for name in THOUGHTS if name in saved or any(name in phase for phase in phases)]
    return ForeignGame(
        program="AI_Diplomacy" if own else "diplomacy",
        id=saved["id"].text() if "id" in saved else "",
        map_name=saved["map"].text(),
        phases=[_phase(phase) for phase in phases],
        players=_models(phases),
        outcome=_outcome(phases[-1]) if phases else "",
        unread=(f"not in the saved game: what agents thought and planned ({', '.join(own)})",) if own else (),
    )


def _phase(phase: Node) -> ForeignPhase:
    name, state = phase["name"], phase["state"]
    if name.text() != COMPLETED and not PHASE.fullmatch(name.text()):
        raise name.wrong("a phase such as 'S1901M', or 'COMPLETED'")
    return ForeignPhase(
        name="" if name.value == COMPLETED else name.text(),
        place=phase.place,
        units=_lists(state["units"]),
        centers=_lists(state["centers"]),
        orders=_lists(phase["orders"]) if "orders" in phase else {},
        messages=[_message(message) for message in _by_time(phase)],
    )


def _outcome(last: Node) -> str:
    """The package's note of who won or shared in the draw, "Victory by: FRA", after the end."""
    ended = last["name"].value == COMPLETED and "note" in last["state"]
    return last["state"]["note"].text() if ended else ""


def _lists(powers: Node) -> dict[str, list[str]]:
    """Power -> texts; the package writes null for a power that ordered nothing."""
    return {power: [] if given.value is None else given.texts() for power, given in powers.fields().items()}


def _by_time(phase: Node) -> list[Node]:
    messages = phase["messages"].entries() if "messages" in phase else []
    return sorted(messages, key=lambda message: message["time_sent"].number() if "time_sent" in message else 0)


def _message(message: Node) -> ForeignMessage:
    return ForeignMessage(message["sender"].text(), message["recipient"].text(), message["message"].text())


def _models(phases: list[Node]) -> dict[str, str]:
    """Power -> the language model that played it, which AI_Diplomacy writes."""
    found: dict[str, str] = {}
    for phase in phases:
        for power, agent in phase["state_agents"].fields().items() if "state_agents" in phase else ():
            if "model_id" in agent:
                found.setdefault(power, agent["model_id"].text()[:200])
    return found
