"""Annotations of a replay: policies, promises, private reasoning, stages of exploiters, measures.

All of it is read from the game's record, and none of it is trusted: no policy that a record names is made, and every
text is handed on as text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agents import ExploiterPolicy, HoldPolicy
from agents.specs.text_span import Part
from evaluation.measures.metrics import measure
from evaluation.messages.analysis import analyse_messages
from evaluation.messages.promises import Promise
from evaluation.play.stored_games import seats
from welfare_env import Game, RecordError, UnknownAgentError, View
from welfare_env.game.press import GLOBAL
from welfare_env.render.replay.annotations import Annotations, Event, MarkedPromise, Reasoning
from welfare_env.render.replay.events import attacks

STAGES = {
    "nice": "plays nice",
    "attack": "attacks from now on",
    "collect": "stops attacking and collects points",
}
NUMBERS = ("units", "years", "centers", "last_years")  # options of an exploiter
LONGEST_TITLE = 120


def annotations_of(game: Game, facts: Mapping[str, Any], map_name: str | None = None) -> Annotations:
    """The annotations of a game.

    Args:
        game: the game.
        facts: the section "welfare_env" of its record, with what evaluations add to it; {} for none.
        map_name: the map, where it is a file.

    Raises:
        RecordError: what was added is not what evaluations add.
    """
    record = game.record()
    try:
        players = _players(game, facts.get("players", {}))
        deviators = tuple(facts.get("coalition") or _deviators(players))
        found = analyse_messages(record, map_name).promises
        return Annotations(
            title=_short(seats(players)) if players else "",
            players=players,
            deviators=deviators,
            promises=[_marked(promise) for promise in found],
            reasoning=list(_reasoning(facts.get("language_models", {}))),
            events=[*_stages(game, players), *_broken(found), *_stabs(record["phases"], found)],
            measures=dict(_measures(record, deviators, found)),
        )
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"the record's data about its players are damaged: {error!s:.200}") from error


def _players(game: Game, told: Mapping[str, Any]) -> dict[str, str]:
    """Power -> the spec of its policy; {} if the record does not have all of them."""
    known = {power: told[power] for power in game.powers if isinstance(told.get(power), str)}
    return known if len(known) == len(game.powers) else {}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else f"{text[:LONGEST_TITLE]}…"


def _deviators(players: Mapping[str, str]) -> tuple[str, ...]:
    """The powers without the majority policy; none if no policy has more than half of the seats."""
    most = Counter(players.values()).most_common(1)
    if not most or 2 * most[0][1] <= len(players):
        return ()
    return tuple(power for power, policy in players.items() if policy != most[0][0])


def _marked(promise: Promise) -> MarkedPromise:
    where = promise.phase, promise.round, promise.sender, promise.recipient
    return MarkedPromise(*where, promise.sentence, promise.is_kept)


def _reasoning(told: Mapping[str, Any]) -> Iterator[Reasoning]:
    """The reasoning of language models, turn by turn."""
    for player, models in told.items():
        for model in models:
            for turn in model["turns"]:
                if turn["reasoning"]:
                    yield Reasoning(str(turn["phase"]), int(turn["round"]), player, str(turn["reasoning"]))


def _broken(found: Iterable[Promise]) -> Iterator[Event]:
    """The first promise that each power breaks."""
    seen = set()
    for promise in found:
        if promise.is_kept is False and promise.sender not in seen:
            seen.add(promise.sender)
            text = f"{promise.sender} to {promise.recipient}: “{promise.sentence}”"
            yield Event(promise.phase, "promise broken", text)


def _stabs(phases: Sequence[Mapping[str, Any]], found: Iterable[Promise]) -> Iterator[Event]:
    """Stabs: the first attack of each power on each other in a phase where it breaks a promise to it, or to all."""
    broken = {(each.phase, each.sender, each.recipient) for each in found if each.is_kept is False}
    seen: set[tuple[str, str]] = set()
    for attack in attacks(phases):
        pair = attack.attacker, attack.victim
        told = {(attack.phase, attack.attacker, other) for other in (attack.victim, GLOBAL)}
        if pair not in seen and told & broken:
            yield Event(attack.phase, "stab" if seen else "first stab", f"{pair[0]} stabs {pair[1]}: {attack.order}")
            seen.add(pair)


def _stages(game: Game, players: Mapping[str, str]) -> Iterator[Event]:
    """The phases in which exploiters enter a new stage."""
    for power, text in players.items():
        exploiter = _exploiter(text)
        if exploiter is None:
            continue
        exploiter.reset(power)
        for record in game.history:
            before, exploiter.stage = exploiter.stage, exploiter.next_stage(View(record.position, power))
            if exploiter.stage is not before:
                yield Event(record.phase, "stage", f"{power} {STAGES[exploiter.stage.value]} ({_short(text)})")


def _exploiter(text: str) -> ExploiterPolicy | None:
    """An exploiter with the thresholds of a spec, without making its parts. None for other policies.

    A spec of a record names whatever its writer liked; making it would run that.
    """
    name, _, options = text.partition(":")
    if name.strip() != "exploiter":
        return None
    try:
        pairs = [part.text.partition("=") for part in Part.whole(options).split()]
    except UnknownAgentError:
        return None
    told = {key.strip(): value.strip() for key, _, value in pairs}
    numbers = {key: int(told[key]) for key in NUMBERS if re.fullmatch(r"\d{1,6}", told.get(key, ""))}
    return ExploiterPolicy(HoldPolicy(), HoldPolicy(), **numbers)


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
