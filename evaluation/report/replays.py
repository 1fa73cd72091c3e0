"""Annotations of a replay: policies, promises, private reasoning, measures.

They are read from the game's record, which is not trusted: policies named in it are never created, and all texts are
passed on as plain text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.measures.metrics import measure
from evaluation.messages.analysis import analyze_messages
from evaluation.messages.promises import Promise
from evaluation.report.policy_names import game_title, policy_names
from welfare_env import Game, RecordError
from welfare_env.game.press import GLOBAL
from welfare_env.render.palette import power_names
from welfare_env.render.replay.annotations import Annotations, Event, MarkedPromise, Reasoning
from welfare_env.render.replay.events import attacks

EXPLANATIONS = {
    "Root Nash welfare": "The geometric mean of all powers' welfare points a year; 0 if a power has no points.",
    "Root Nash welfare of the others": "The geometric mean over the powers that do not deviate.",
    "Stolen centers": "The number of times that a power took a supply center from another.",
    "Conflicts": (
        "The number of times that more than one unit moved to or stayed in the same province. Moving to an undefended "
        "center is not a conflict, so a game may have many attacks but no conflicts."
    ),
    "Promises kept": "Promises in messages that the sender's orders kept, of those that could be judged.",
}
LONGEST_TITLE = 120


def annotations_of(game: Game, facts: Mapping[str, Any], map_name: str | None = None) -> Annotations:
    """The annotations of a game.

    Args:
        game: the game.
        facts: the section "welfare_env" of its record, with additions by evaluations; {} for none.
        map_name: the map, if it is a file.

    Raises:
        RecordError: the additions are damaged.
    """
    record = game.record()
    try:
        imported = facts.get("imported", {})
        players = _players(game, facts.get("players", imported.get("players", {})))
        short = policy_names(players.values())
        names = {power: short[policy] for power, policy in players.items()}
        deviators = tuple(facts.get("deviators", facts.get("coalition") or ()))
        found = analyze_messages(record, map_name).promises
        return Annotations(
            title=_short(game_title(names, power_names(game.powers))) if players else "",
            players=players,
            names=names,
            deviators=deviators,
            promises=[_marked(promise) for promise in found],
            reasoning=[
                *_reasoning(facts.get("language_models", {})),
                *_imported_reasoning(imported.get("reasoning", ())),
            ],
            events=[*_broken(found), *_stabs(record["phases"], found)],
            measures=dict(_measures(record, deviators, found)),
            explanations=EXPLANATIONS,
        )
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"the record's data about its players are damaged: {error!s:.200}") from error


def write_replay(record: Mapping[str, Any], out: Path, map_name: str | None = None, allow_edited: bool = False) -> None:
    """Write the page of a game.

    Raises:
        RecordError: the record is damaged, or the page cannot be written.
    """
    played = Game.from_record(dict(record), map_name=map_name, allow_edited=allow_edited)
    played.replay(out, annotations_of(played, record.get("welfare_env", {}), map_name))


def _players(game: Game, recorded: Mapping[str, Any]) -> dict[str, str]:
    """Power -> spec of its policy; {} if the record does not name all of them."""
    known = {power: recorded[power] for power in game.powers if isinstance(recorded.get(power), str)}
    return known if len(known) == len(game.powers) else {}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else f"{text[:LONGEST_TITLE]}…"


def _marked(promise: Promise) -> MarkedPromise:
    where = promise.phase, promise.round, promise.sender, promise.recipient
    return MarkedPromise(*where, promise.sentence, promise.is_kept)


def _reasoning(language_models: Mapping[str, Any]) -> Iterator[Reasoning]:
    """The reasoning of language models, turn by turn."""
    for player, models in language_models.items():
        for model in models:
            for turn in model["turns"]:
                if turn["reasoning"]:
                    yield Reasoning(str(turn["phase"]), int(turn["round"]), player, str(turn["reasoning"]))


def _imported_reasoning(turns: Iterable[Mapping[str, Any]]) -> Iterator[Reasoning]:
    """The reasoning in a game of another program."""
    for turn in turns:
        yield Reasoning(str(turn["phase"]), int(turn["round"]), str(turn["player"]), str(turn["text"]))


def _broken(found: Iterable[Promise]) -> Iterator[Event]:
    """The first promise that each power breaks."""
    seen = set()
    for promise in found:
        if promise.is_kept is False and promise.sender not in seen:
            seen.add(promise.sender)
            text = f"{promise.sender} to {promise.recipient}: “{promise.sentence}”"
            yield Event(promise.phase, "promise broken", text)


def _stabs(phases: Sequence[Mapping[str, Any]], found: Iterable[Promise]) -> Iterator[Event]:
    """Stabs: a power's first attack on another power in a phase in which it breaks a promise to that power or all."""
    broken = {(each.phase, each.sender, each.recipient) for each in found if each.is_kept is False}
    seen: set[tuple[str, str]] = set()
    for attack in attacks(phases):
        pair = attack.attacker, attack.victim
        promised = {(attack.phase, attack.attacker, other) for other in (attack.victim, GLOBAL)}
        if pair not in seen and promised & broken:
            yield Event(attack.phase, "stab" if seen else "first stab", f"{pair[0]} stabs {pair[1]}: {attack.order}")
            seen.add(pair)


def _measures(
    record: Mapping[str, Any], deviators: Sequence[str], found: Sequence[Promise]
) -> Iterator[tuple[str, str]]:
    """The main measures of the game."""
    result = measure(record, deviators)
    if deviators:
        yield "Root Nash welfare of the others", _number(result.baseline_root_nash_welfare)
    yield "Root Nash welfare", _number(result.root_nash_welfare)
    yield "Stolen centers", str(result.stolen_centers.count)
    yield "Conflicts", str(result.conflicts.count)
    judged = [promise.is_kept for promise in found if promise.is_kept is not None]
    if judged:
        yield "Promises kept", f"{judged.count(True)} of {len(judged)}"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
