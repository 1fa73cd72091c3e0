"""Descriptions in words: rules as a phrase, and the rules, seeds, games and attacks of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from typing import Any

from welfare_env import Rules

OPTIONS = {
    "transfers": "welfare points may be given away",
    "overmilitarise": "more units than centers allowed, at a cost in points",
    "retreat_welfare": "points after retreats too, as in the published runs",
    "mediator": "with a mediator",
    "build_and_disband": "builds and disbands in one Winter, as in the published runs",
}
PUBLISHED = {"retreat_welfare": True, "build_and_disband": True, "adjudication": "package"}
VARIANTS = {"welfare": "Welfare Diplomacy", "standard": "standard Diplomacy"}


def rules_text(rules: Mapping[str, Any], swept: Collection[str] = ()) -> str:
    """ "Welfare Diplomacy, 3 years, no press, points of year 1 to 3 count 1, 2, 3 times".

    Args:
        rules: fields of `welfare_env.Rules`; missing fields have their defaults.
        swept: fields whose value differs between conditions.
    """
    values: dict[str, Any] = {field.name: field.default for field in fields(Rules)}
    values |= rules
    years = int(values["years"])
    phrases = {
        "variant": VARIANTS[values["variant"]],
        "years": f"{years} year{'s' * (years != 1)}",
        "press": _press(values),
        "scoring": f"scored by {values['scoring']}" if values["scoring"] not in (None, "welfare") else "",
        "progressive": _weights(values["progressive"]),
        "adjudication": "" if values["adjudication"] == "rulebook" else "adjudicated as by the diplomacy package",
    } | {name: text for name, text in OPTIONS.items() if values[name]}
    varied = [name for name in values if name in swept]
    if "message_rounds" in varied and values["press"] is not None:
        phrases["press"] = f"press: {values['press']}"
    fixed = [text for name, text in phrases.items() if text and name not in varied]
    return ", ".join(fixed) + (f"; varied: {', '.join(varied)}" if varied else "")


def _press(values: Mapping[str, Any]) -> str:
    rounds = int(values["message_rounds"])
    if values["press"] is None or not rounds:
        return "no press"
    kind = "full press" if values["press"] == "text" else "press of single words"
    return f"{kind} in {rounds} message round{'s' * (rounds != 1)}"


def _weights(progressive: Any) -> str:
    if progressive is None:
        return ""
    weights = ", ".join(map(str, progressive))
    return f"progressive: points of year 1 to {len(progressive)} count {weights} times"


# Experiments.


def rules_sentence(study: Mapping[str, Any]) -> str:
    """A sentence on the rules and maps of all games."""
    variants = study["swept"].get("variant", [study["rules"].get("variant", "welfare")])
    rules = (PUBLISHED if study["paper_code"] and "standard" not in variants else {}) | dict(study["rules"])
    maps = list(dict.fromkeys(str(condition["map"]) for condition in study["conditions"]))
    return f"Rules: {rules_text(rules, study['swept'])}. Map{'s' * (len(maps) > 1)}: {', '.join(maps)}."


def games_sentence(study: Mapping[str, Any]) -> str:
    """A sentence on the number of games and their seed."""
    games = study["games"]
    return f"{games} game{'s' * (games != 1)} per condition, seed {study['seed']}."


def option_sentences(study: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on options that differ from the defaults."""
    if study["paper_code"]:
        yield "Conflicts and proficiency are computed as in the paper's own program."
    if study["simultaneous"]:
        yield "All powers send their messages at the same time."
    if "exploitability" in study["measure"]:
        yield from _attack_sentences(study)
    if "red-team" in study["measure"]:
        yield f"Red team: budget {study['budget']}."
    if study["template"] != "{profile}":
        yield f"Policies are built from profiles by the template {study['template']}."


def _attack_sentences(study: Mapping[str, Any]) -> Iterator[str]:
    deviators = ", ".join(study["deviators"]) or "the paper's exploiter"
    together = "; one policy plays all members of a coalition" if study["coordinated"] else ""
    yield f"Deviators: {deviators}{together}."
    games = study["selection_games"]
    yield f"Attacks are selected on separate games, {games} each at first, and measured on fresh games."
