"""What an experiment played, in words: its rules, seats, seeds, games and attacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evaluation.report.rules_text import rules_text

PUBLISHED = {"retreat_welfare": True, "build_and_disband": True}


def rules_told(study: Mapping[str, Any]) -> str:
    """A sentence on the rules and maps of all games."""
    variants = study["swept"].get("variant", [study["rules"].get("variant", "welfare")])
    rules = (PUBLISHED if study["published"] and "standard" not in variants else {}) | dict(study["rules"])
    maps = list(dict.fromkeys(str(condition["map"]) for condition in study["conditions"]))
    return f"Rules: {rules_text(rules, study['swept'])}. Map{'s' * (len(maps) > 1)}: {', '.join(maps)}."


def games_told(study: Mapping[str, Any]) -> str:
    """A sentence on the number of games and their seed."""
    games = study["games"]
    told = f"{games} game{'s' * (games != 1)} per condition, seed {study['seed']}."
    if seeds := study["train_seeds"]:
        listed = ", ".join(map(str, seeds))
        told += (
            f" Trained policies: {len(seeds)} training seed{'s' * (len(seeds) > 1)} ({listed}); their values are means "
            "over these seeds, with intervals or ranges over seeds, not games."
        )
    return told


def options_told(study: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on the options that are not the usual ones."""
    if study["published"]:
        yield "Conflicts and proficiency are computed as by the program behind the paper's figures."
    if study["simultaneous"]:
        yield "All powers send their messages at the same time."
    if "exploitability" in study["measure"]:
        yield from _attacks_told(study)
    if "red-team" in study["measure"]:
        yield f"Red team: budget {study['budget']}."
    if study["template"] != "{profile}":
        yield f"Each policy is made of its profile by the template {study['template']}."
    for name, fields in study["train"].items():
        told = ", ".join(f"{field} = {value}" for field, value in fields.items())
        yield f"Trained policy {name}: {told or 'the usual options'}."


def _attacks_told(study: Mapping[str, Any]) -> Iterator[str]:
    deviators = ", ".join(study["deviators"]) or "the paper's exploiter"
    together = "; one policy plays all members of a coalition" if study["coordinated"] else ""
    yield f"Deviators: {deviators}{together}."
    yield f"Attacks are chosen on games of their own, {study['choosing']} each at first, and measured on others."
    if study["precision"] is not None:
        width, most = study["precision"], study["most_games"]
        yield f"Games were played until the interval was {width:g} points wide, {most} at most."
