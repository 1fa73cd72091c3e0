"""Short names of policies: "Prosocial", "Exploiter", "gpt-5.4", "Random #2"."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from evaluation.tables.measure_names import listed

LONGEST = 24
NAMED_BY_ARGUMENT = {"lm": "/", "rl": "/", "import": r"\.", "program": ","}  # named by the last part, after this sign


def policy_names(specs: Iterable[str]) -> dict[str, str]:
    """Spec -> short name. Different specs with the same name are numbered."""
    groups: dict[str, list[str]] = defaultdict(list)
    for spec in dict.fromkeys(specs):
        groups[_short(spec)].append(spec)
    numbered = {spec: f"{name} #{n}" for name, same in groups.items() for n, spec in enumerate(same, 1)}
    return {spec: name if len(same) == 1 else numbered[spec] for name, same in groups.items() for spec in same}


def game_title(players: Mapping[str, str], powers: Mapping[str, str]) -> str:
    """A game's title: "Prosocial, with France as Exploiter".

    Args:
        players: power -> short name of its policy.
        powers: power -> its name in mixed case ("France").
    """
    (most, count), *others = Counter(players.values()).most_common()
    rest = [power for power, policy in players.items() if policy != most]
    if not rest:
        return f"{most} in every seat"
    if 2 * count <= len(players) or len(rest) > len(players) // 3:
        return listed([most, *(policy for policy, _ in others)])
    exceptions = [f"{listed([powers[p] for p in rest if players[p] == policy])} as {policy}" for policy, _ in others]
    return f"{most}, with {listed(exceptions)}"


def _short(spec: str) -> str:
    kind, _, argument = spec.partition(":")
    last = re.split(NAMED_BY_ARGUMENT.get(kind, ","), re.split(r"[,(]", argument)[0].rstrip("/"))[-1].strip()
    if kind in NAMED_BY_ARGUMENT and last:
        return last[:LONGEST]
    name = kind.strip()[:LONGEST] or spec[:LONGEST]
    return name[:1].upper() + name[1:]
