"""Games that begin where an earlier game was: in a position, with all that led to it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from evaluation.checks import EvaluationError
from welfare_env import Game, Rules
from welfare_env.board.orders import WAIVE
from welfare_env.errors import RecordError, did_you_mean
from welfare_env.game.record import COMPLETED, opening, read_content
from welfare_env.game.view import MESSAGES, View


@dataclass(frozen=True)
class Start:
    """Where games begin: a phase of an earlier game, and its record up to there.

    Until that phase, the moves of the earlier game are played again. Scripted and learned players are asked for theirs
    all the same, and so know what they would know; theirs do not count. People and language models are not asked;
    a language model gets the notes (summaries, journal) that the one in its seat had, if there was one.

    Attributes:
        text: the record up to the phase as JSON.
        map_name: the map: a name, or the path of its file.
        seed: of the earlier game; None if it has none, such as a game by hand. The first game from here has it, too.
    """

    text: str = field(repr=False)
    map_name: str
    seed: int | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any], phase: str | None = None, map_name: str | None = None) -> Self:
        """The start in a phase of a saved game; None for its last phase.

        Args:
            map_name: path of the map, if it is a file.

        Raises:
            EvaluationError: the game has no such phase, or is over there.
            RecordError: the record is damaged.
        """
        game = Game.from_record(dict(record), map_name=map_name)
        names = [each["name"] for each in record["phases"] if each["name"] != COMPLETED]
        if phase is None and game.is_done:
            raise EvaluationError(f"start: this game is over: name one of its phases, such as @{names[-1]}")
        chosen = game.phase if phase is None else phase
        if chosen not in names:
            near = did_you_mean(chosen, names)
            raise EvaluationError(f"start: the game has no phase {chosen!r:.40}{near}: it has {', '.join(names):.300}")
        place = names.index(chosen)
        now: dict[str, Any] = {"orders": {}, "messages": [], "void": {}, "results": {}}
        phases = [*record["phases"][:place], record["phases"][place] | now]
        ours = record["welfare_env"]
        facts = {name: ours[name] for name in ("rules", "map_digest") if name in ours}
        notes = _notes(ours.get("language_models", {}), set(names[:place]))
        kept = {"map": record["map"], "phases": phases, "welfare_env": facts, "notes": notes}
        text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
        return cls(text, game.board.name if map_name is None else map_name, ours.get("seed"))

    @cached_property
    def record(self) -> dict[str, Any]:
        """The record up to the phase, with the "notes" of language models."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def phase(self) -> str:
        """The phase in which games begin."""
        return str(self.record["phases"][-1]["name"])

    @cached_property
    def rules(self) -> Rules:
        """The rules of the earlier game."""
        return Rules.from_dict(self.record["welfare_env"]["rules"])

    @cached_property
    def past(self) -> dict[str, dict[str, Any]]:
        """Phase -> its record, for all phases before this one."""
        return {each["name"]: each for each in self.record["phases"][:-1]}

    def opening(self, engine: str) -> Game:
        """The game in the first position of the record."""
        return Game.from_position(**opening(self.record, self.map_name), engine=engine)

    def notes(self, player: str) -> list[dict[str, dict[str, str]]]:
        """The notes of each language model that played for a player."""
        found: list[dict[str, dict[str, str]]] = self.record["notes"].get(player, [])
        return found

    def to_dict(self) -> dict[str, Any]:
        """For the key of a game: the phase, and a digest of all that led to it."""
        return {"phase": self.phase, "digest": hashlib.sha256(self.text.encode()).hexdigest()}


def _notes(models: Mapping[str, Iterable[Mapping[str, Any]]], before: set[str]) -> dict[str, Any]:
    """Player -> for each of its language models, its notes about phases."""

    def of(model: Mapping[str, Any], kind: str) -> dict[str, str]:
        return {phase: text for phase, text in model.get(kind, {}).items() if phase in before}

    return {
        player: [{kind: of(model, kind) for kind in ("summaries", "journal")} for model in playing]
        for player, playing in models.items()
    }


def replayed(phase: Mapping[str, Any], view: View, action: Any) -> Any:
    """A player's action in a phase of the earlier game.

    Args:
        action: what the player does now; if it is the number of an order that it gave then, it counts, so that players
            that order unit by unit are asked for every unit.
    """
    if view.asked == MESSAGES:
        sent = [each for each in phase["messages"] if each["sender"] == view.power]
        now = [(each["recipient"], each["message"]) for each in sent if each["round"] == view.message_round]
        return view.encode_messages(now)
    void = [each["order"] for each in phase["void"].get(view.power, ())]
    orders = [*phase["orders"].get(view.power, ()), *void]
    number = action.get("orders") if isinstance(action, Mapping) else action
    if isinstance(number, int | np.integer) and (number == WAIVE or view.board.orders.texts[number] in orders):
        return action
    return orders


def read_position(path: str | os.PathLike[str], rules: Rules | None) -> Game | None:
    """The game in a position file: the arguments of `Game.from_position` as JSON, but not the rules.

    Returns:
        None for any other file.

    Raises:
        EvaluationError: a missing or unknown argument.
        PositionError, UnknownPowerError, UnknownMapError: an impossible position.
    """
    try:
        content = json.loads(read_content(path))
    except (ValueError, RecordError, RecursionError):
        return None
    if not isinstance(content, dict) or not {"phase", "units"} <= content.keys():
        return None
    try:
        return Game.from_position(**content, rules=rules)
    except TypeError as error:
        raise EvaluationError(
            f"{os.fspath(path)!r:.200} is neither a saved game nor a position: {error}. A position has phase, units, "
            "centers, and optionally dislodged, welfare and map_name, as welfare_env.Game.from_position"
        ) from error
