"""Games saved by the `diplomacy` package, and by AI_Diplomacy, which adds its agents' reasoning.

The package's format is what its `to_saved_game_format` returns (github.com/diplomacy/diplomacy,
diplomacy/utils/export.py): ``{"id", "map", "rules", "phases": [{"name", "state", "orders", "results", "messages"}]}``.
AI_Diplomacy (github.com/GoodStartLabs/AI_Diplomacy, ai_diplomacy/game_logic.py, files named lmvsgame.json) adds
``state_agents``, ``state_history_plans`` and ``config`` to phases, ``phase_summaries`` and ``final_agent_states`` to
the game. Void orders are listed among the others.
"""

from __future__ import annotations

import re
from typing import Any

from welfare_env.board.loading import load_board
from welfare_env.board.maps import is_known
from welfare_env.checks import quoted
from welfare_env.errors import RecordError
from welfare_env.game.record import COMPLETED
from welfare_env.imports.foreign import ForeignGame, ForeignMessage, ForeignPhase, label, read_each

PHASE = re.compile(r"[SFW][0-9]{4}[MRA]")
THOUGHTS = ("state_agents", "state_history_plans", "phase_summaries", "final_agent_states")


def read(saved: dict[str, Any]) -> ForeignGame:
    """Read a saved game.

    Raises:
        RecordError: a part is malformed; the message says where. Also Python's own errors.
    """
    phases, last = saved["phases"], saved["phases"][-1]
    if not is_known(saved["map"]):
        raise RecordError(f"map {quoted(saved['map'])} is not installed: see welfare_env.map_names()")
    own = [name for name in THOUGHTS if name in saved or any(name in phase for phase in phases)]
    note = last["state"].get("note") if last["name"] == COMPLETED else None
    return ForeignGame(
        program="AI_Diplomacy" if own else "diplomacy",
        id=label(saved.get("id") or ""),
        map_name=saved["map"],
        phases=read_each(phases, _phase),
        players=_models(phases, load_board(saved["map"]).powers),
        outcome=label(note or ""),
        unread=(f"not in the saved game: the agents' thoughts and plans ({', '.join(own)})",) if own else (),
    )


def _phase(phase: dict[str, Any]) -> ForeignPhase:
    name, state = phase["name"], phase["state"]
    if name != COMPLETED and not PHASE.fullmatch(name):
        raise RecordError(f"name {quoted(name)}: expected a phase such as 'S1901M', or 'COMPLETED'")
    sent = sorted(phase.get("messages") or [], key=lambda message: message.get("time_sent") or 0)
    return ForeignPhase(
        name="" if name == COMPLETED else name,
        units=_lists(state["units"]),
        centers=_lists(state["centers"]),
        orders=_lists(phase.get("orders") or {}),
        messages=[ForeignMessage(each["sender"], each["recipient"], each["message"]) for each in sent],
    )


def _lists(powers: dict[str, Any]) -> dict[str, list[str]]:
    """Power -> a list of strings; the package writes null for a power that ordered nothing."""
    for power, given in powers.items():
        if given is not None and not (isinstance(given, list) and all(isinstance(text, str) for text in given)):
            raise RecordError(f"{power}: {quoted(given)}: expected a list of texts")
    return {power: given or [] for power, given in powers.items()}


def _models(phases: list[dict[str, Any]], powers: tuple[str, ...]) -> dict[str, str]:
    """Power -> the language model that played it, in files of AI_Diplomacy."""
    found: dict[str, str] = {}
    for phase in phases:
        for power, agent in (phase.get("state_agents") or {}).items():
            if power in powers and "model_id" in agent:
                found.setdefault(power, label(agent["model_id"]))
    return found
