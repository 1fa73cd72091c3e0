"""Games saved by the `diplomacy` package, and by AI_Diplomacy, which adds its agents' reasoning.

The package's format is what its `to_saved_game_format` returns (github.com/diplomacy/diplomacy,
diplomacy/utils/export.py): ``{"id", "map", "rules", "phases": [{"name", "state", "orders", "results", "messages"}]}``.
AI_Diplomacy (github.com/GoodStartLabs/AI_Diplomacy, ai_diplomacy/game_logic.py, files named lmvsgame.json) adds
``state_agents``, ``state_history_plans`` and ``config`` to phases, ``phase_summaries`` and ``final_agent_states`` to
the game. Void orders are listed among the others.
"""

from __future__ import annotations

import re

from welfare_env.board.board import Board
from welfare_env.board.loading import load_board
from welfare_env.board.maps import is_known
from welfare_env.checks import quoted
from welfare_env.errors import RecordError
from welfare_env.game.record import COMPLETED
from welfare_env.imports.foreign import ForeignGame, ForeignMessage, ForeignPhase
from welfare_env.imports.nodes import Node

PHASE = re.compile(r"[SFW][0-9]{4}[MRA]")
THOUGHTS = ("state_agents", "state_history_plans", "phase_summaries", "final_agent_states")


def read(saved: Node) -> ForeignGame:
    """Read a saved game.

    Raises:
        RecordError: a part is missing or malformed; the message says where.
    """
    phases, board = saved["phases"].entries(), _board(saved["map"].text())
    own = [name for name in THOUGHTS if name in saved or any(name in phase for phase in phases)]
    return ForeignGame(
        program="AI_Diplomacy" if own else "diplomacy",
        id=saved["id"].label() if "id" in saved else "",
        map_name=saved["map"].text(),
        phases=[_phase(phase) for phase in phases],
        players=_models(phases, board),
        outcome=_outcome(phases[-1]) if phases else "",
        unread=(f"not in the saved game: the agents' thoughts and plans ({', '.join(own)})",) if own else (),
    )


def _board(map_name: str) -> Board:
    if not is_known(map_name):
        raise RecordError(f"map {quoted(map_name)} is not installed: see welfare_env.map_names()")
    return load_board(map_name)


def _phase(phase: Node) -> ForeignPhase:
    name, state = phase["name"], phase["state"]
    if name.text() != COMPLETED and not PHASE.fullmatch(name.text()):
        raise name.wrong("a phase such as 'S1901M', or 'COMPLETED'")
    return ForeignPhase(
        name="" if name.value == COMPLETED else name.text(),
        place=phase.place,
        units={power: given.labels() for power, given in _given(state["units"]).items()},
        centers={power: given.labels() for power, given in _given(state["centers"]).items()},
        orders={power: given.texts() for power, given in _given(phase["orders"]).items()} if "orders" in phase else {},
        messages=[_message(message) for message in _by_time(phase)],
    )


def _outcome(last: Node) -> str:
    """The package's note of the winner or the draw, such as "Victory by: FRA"; "" before the end."""
    ended = last["name"].value == COMPLETED and "note" in last["state"]
    return last["state"]["note"].label() if ended else ""


def _given(powers: Node) -> dict[str, Node]:
    """Power -> a list; the package writes null for a power that ordered nothing."""
    return {power: Node([], given.place) if given.value is None else given for power, given in powers.fields().items()}


def _by_time(phase: Node) -> list[Node]:
    messages = phase["messages"].entries() if "messages" in phase else []
    return sorted(messages, key=lambda message: message["time_sent"].number() if "time_sent" in message else 0)


def _message(message: Node) -> ForeignMessage:
    return ForeignMessage(message["sender"].text(), message["recipient"].text(), message["message"].text())


def _models(phases: list[Node], board: Board) -> dict[str, str]:
    """Power -> the language model that played it, in files of AI_Diplomacy."""
    found: dict[str, str] = {}
    for phase in phases:
        for power, agent in phase["state_agents"].fields().items() if "state_agents" in phase else ():
            if power not in board.powers:
                raise RecordError(f"{agent.place}: expected a power of the map {board.name}: {', '.join(board.powers)}")
            if "model_id" in agent:
                found.setdefault(power, agent["model_id"].label())
    return found
