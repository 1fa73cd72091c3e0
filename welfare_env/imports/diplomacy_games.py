"""Games saved by the `diplomacy` package, by dipcc, and by AI_Diplomacy, which adds its agents' reasoning.

The package's format is what its `to_saved_game_format` returns (github.com/diplomacy/diplomacy,
diplomacy/utils/export.py): ``{"id", "map", "rules", "phases": [{"name", "state", "orders", "results", "messages"}]}``;
its datasets have one such game per line. Void orders are listed among the others.

dipcc, the engine of SearchBot and Cicero (github.com/facebookresearch/diplomacy_cicero, dipcc/dipcc/cc/game.cc),
writes the same phases. Its recipient of public messages is ALL, and it opens Retreats for every dislodged unit.

AI_Diplomacy (github.com/GoodStartLabs/AI_Diplomacy, ai_diplomacy/game_logic.py, files named lmvsgame.json) adds
``state_agents``, ``state_history_plans``, ``config`` and summaries to phases, ``phase_summaries`` and
``final_agent_states`` to the game.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from welfare_env.board.loading import load_board
from welfare_env.board.maps import is_known
from welfare_env.checks import quoted
from welfare_env.errors import RecordError
from welfare_env.game.press import GLOBAL
from welfare_env.game.record import COMPLETED
from welfare_env.imports.foreign import ForeignGame, ForeignMessage, ForeignPhase, label, read_each

PHASE = re.compile(r"[SFW][0-9]{4}[MRA]")
THOUGHTS = ("state_agents", "state_history_plans")
SUMMARIES = ("summary", "agent_relationships", "statistical_summary", "phase_summaries", "final_agent_states")
ALL = "ALL"


def read(saved: dict[str, Any]) -> ForeignGame:
    """Read a saved game.

    Raises:
        RecordError: a part is malformed; the message says where. Also Python's own errors.
    """
    phases, last = saved["phases"], saved["phases"][-1]
    if not is_known(saved["map"]):
        raise RecordError(f"map {quoted(saved['map'])} is not installed: see welfare_env.map_names()")
    agents = _Agents(load_board(saved["map"]).powers)
    played = read_each(phases, lambda phase: _phase(phase, agents))
    own = [name for name in (*THOUGHTS, *SUMMARIES) if name in saved or any(name in phase for phase in phases)]
    unread = ", ".join(name for name in own if name in SUMMARIES)
    note = last["state"].get("note") if last["name"] == COMPLETED else None
    return ForeignGame(
        program="AI_Diplomacy" if own else "diplomacy",
        id=label(saved.get("id") or ""),
        map_name=saved["map"],
        phases=played,
        players={power: model for power, model in agents.models.items() if model},
        outcome=label(note or ""),
        unread=(f"not in the saved game: {unread}",) if unread else (),
    )


def _phase(phase: dict[str, Any], agents: _Agents) -> ForeignPhase:
    name, state, sent = phase["name"], phase["state"], phase.get("messages") or []
    if name != COMPLETED and not PHASE.fullmatch(name):
        raise RecordError(f"name {quoted(name)}: expected a phase such as 'S1901M', or 'COMPLETED'")
    in_order = sorted(sent, key=lambda message: message.get("time_sent") or 0)
    return ForeignPhase(
        name="" if name == COMPLETED else name,
        units=_lists(state["units"]),
        centers=_lists(state["centers"]),
        orders=_lists(phase.get("orders") or {}),
        messages=[_message(message) for message in in_order],
        thoughts=list(agents.thoughts(phase)),
    )


def _message(message: dict[str, Any]) -> ForeignMessage:
    recipient = GLOBAL if message["recipient"] == ALL else message["recipient"]
    return ForeignMessage(message["sender"], recipient, _text(message["message"]))


def _lists(powers: dict[str, Any]) -> dict[str, list[str]]:
    """Power -> a list of strings; the package writes null for a power that ordered nothing."""
    for power, given in powers.items():
        if given is not None and not (isinstance(given, list) and all(isinstance(text, str) for text in given)):
            raise RecordError(f"{power}: {quoted(given)}: expected a list of texts")
    return {power: given or [] for power, given in powers.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise RecordError(f"{quoted(value)}: expected a text")
    return value


class _Agents:
    """AI_Diplomacy's agents: their models, plans, goals and diaries. Each phase repeats what they wrote before."""

    def __init__(self, powers: tuple[str, ...]) -> None:
        self.models = dict.fromkeys(powers, "")
        self._seen: dict[str, set[str]] = {}

    def thoughts(self, phase: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """What the agents wrote in a phase."""
        for power, plan in (phase.get("state_history_plans") or {}).items():
            if plan:
                yield power, f"Plan: {_text(plan)}"
        for power, agent in (phase.get("state_agents") or {}).items():
            seen = self._seen.setdefault(power, set())
            if power in self.models and "model_id" in agent:
                self.models[power] = self.models[power] or label(agent["model_id"])
            diary = agent.get("full_private_diary") or agent.get("private_diary") or []
            goals = "\n".join(["Goals:", *(f"- {_text(goal)}" for goal in agent.get("goals") or [])])
            for text in (*map(_text, diary), *([goals] if "\n" in goals else [])):
                if text not in seen:
                    seen.add(text)
                    yield power, text
