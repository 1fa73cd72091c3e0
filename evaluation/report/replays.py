"""Annotations of a replay: policies, promises, private reasoning, stages of exploiters, measures.

All of it is read from the game's record, and none of it is trusted: no policy that a record names is made, and every
text is handed on as text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents import ExploiterPolicy, HoldPolicy
from agents.specs.registry import EXPLOITER_OPTIONS
from agents.specs.text_span import Part
from evaluation.measures.metrics import measure
from evaluation.messages.analysis import analyze_messages
from evaluation.messages.promises import Promise
from evaluation.report.policy_names import game_title, policy_names
from welfare_env import Game, RecordError, UnknownAgentError, View
from welfare_env.game.press import GLOBAL
from welfare_env.render.palette import power_names
from welfare_env.render.replay.annotations import Annotations, Event, MarkedPromise, Reasoning
from welfare_env.render.replay.events import attacks

STAGES = {
    "nice": "plays nice",
    "attack": "attacks from now on",
    "collect": "stops attacking and collects points",
}
EXPLOITERS: dict[str, dict[str, Any]] = {"exploiter": {}, "pact": {"units": None}}  # name -> thresholds by default
PARTS = ("nice", "attack")
EXPLANATIONS = {
    "Root Nash welfare": "The geometric mean of all powers' welfare points, a year: 0 as soon as one power has none.",
    "Root Nash welfare of the others": "The geometric mean over the powers that do not deviate, a year.",
    "Stolen centers": "How often a supply center passed from one power to another.",
    "Conflicts": (
        "How often more than one unit was ordered into a province, or into one where a unit stayed. An attack on an "
        "empty center is no conflict: nobody is in the way. So a game may have many attacks and no conflict."
    ),
    "Promises kept": "Promises in messages whose sender's orders kept them, of those that could be judged.",
}
LONGEST_TITLE = 120
A_FEW = 3  # a guess marks fewer than one seat in so many


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
        short = policy_names(players.values())
        names = {power: short[policy] for power, policy in players.items()}
        recorded = _recorded_deviators(facts)
        deviators = _minority(players) if recorded is None else recorded
        found = analyze_messages(record, map_name).promises
        return Annotations(
            title=_short(game_title(names, power_names(game.powers))) if players else "",
            players=players,
            names=names,
            deviators=deviators,
            promises=[_marked(promise) for promise in found],
            reasoning=list(_reasoning(facts.get("language_models", {}))),
            events=[*_stages(game, players, names), *_broken(found), *_stabs(record["phases"], found)],
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


def annotated_page(record: Mapping[str, Any], map_name: str | None = None) -> str:
    """The page of a game, as `write_replay` writes it.

    Raises:
        RecordError: the record is damaged.
    """
    from welfare_env.render.replay.page import replay_page  # drawings need scipy, and the help of commands does not

    played = Game.from_record(dict(record), map_name=map_name)
    annotations = annotations_of(played, record.get("welfare_env", {}), map_name)
    return replay_page(played.record(), played.board, annotations)


def _players(game: Game, recorded: Mapping[str, Any]) -> dict[str, str]:
    """Power -> the spec of its policy; {} if the record does not have all of them."""
    known = {power: recorded[power] for power in game.powers if isinstance(recorded.get(power), str)}
    return known if len(known) == len(game.powers) else {}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else f"{text[:LONGEST_TITLE]}…"


def _recorded_deviators(facts: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Who the record says deviates: of a saved witness, or a coalition that played together. None: it does not say."""
    recorded = facts.get("deviators")
    if recorded is None:
        recorded = facts.get("coalition") or None
    return None if recorded is None else tuple(recorded)


def _minority(players: Mapping[str, str]) -> tuple[str, ...]:
    """A guess at who deviates, where the record does not say it: those that play another policy than all others do.

    Nobody, unless there are two policies and one of them has fewer than a third of the seats, so that it is hardly the
    profile that the others left: two of seven, but not three.
    """
    counts = Counter(players.values()).most_common()
    if len(counts) != 2 or A_FEW * counts[1][1] >= len(players):
        return ()
    return tuple(power for power, policy in players.items() if policy == counts[1][0])


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
        promised = {(attack.phase, attack.attacker, other) for other in (attack.victim, GLOBAL)}
        if pair not in seen and promised & broken:
            yield Event(attack.phase, "stab" if seen else "first stab", f"{pair[0]} stabs {pair[1]}: {attack.order}")
            seen.add(pair)


def _stages(game: Game, players: Mapping[str, str], names: Mapping[str, str]) -> Iterator[Event]:
    """The phases in which exploiters enter a new stage."""
    for power, text in players.items():
        exploiter = _exploiter(text)
        if exploiter is None:
            continue
        exploiter.reset(power)
        for record in game.history:
            before, exploiter.stage = exploiter.stage, exploiter.next_stage(View(record.position, power))
            if exploiter.stage is not before:
                yield Event(record.phase, "stage", f"{power} {STAGES[exploiter.stage.value]} ({names[power]})")


def _exploiter(text: str) -> ExploiterPolicy | None:
    """An exploiter with the thresholds of a spec, without making its parts. None for other policies.

    A spec of a record names whatever its writer liked; making it would run that. Only thresholds are read, as
    `agents.make` reads them; a spec with options that it would refuse has no stages.
    """
    try:
        name, options = _halves(Part.whole(text).unwrapped(), ":")
        if name.text not in EXPLOITERS:
            return None
        given = [_halves(option, "=") for option in (options.split() if options.text else ())]
        thresholds = {key.text: EXPLOITER_OPTIONS[key.text](value) for key, value in given if key.text not in PARTS}
    except (KeyError, UnknownAgentError):
        return None
    if len({key.text for key, _ in given}) < len(given):
        return None
    return ExploiterPolicy(HoldPolicy(), HoldPolicy(), **EXPLOITERS[name.text] | thresholds)


def _halves(part: Part, mark: str) -> tuple[Part, Part]:
    """As `Part.halves`; without the mark, what stands after it is empty."""
    return part.halves(mark) or (part, part.cut(len(part.text), len(part.text)))


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
