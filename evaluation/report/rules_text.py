"""The rules of games as a phrase for people: variant, length, press, and every option that differs from the default."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
VARIANTS = {"welfare": "Welfare Diplomacy", "standard": "standard Diplomacy"}


def rules_text(rules: Mapping[str, Any], swept: Collection[str] = ()) -> str:
    """ "Welfare Diplomacy, 3 years, no press, points of year 1 to 3 count 1, 2, 3 times".

    Args:
        rules: fields of `welfare_env.Rules`; those left out have their defaults.
        swept: fields whose value differs between conditions.
    """
    values: dict[str, Any] = {field.name: field.default for field in fields(Rules)}
    values |= rules
    years = int(values["years"])
    told = {
        "variant": VARIANTS[values["variant"]],
        "years": f"{years} year{'s' * (years != 1)}",
        "press": _press(values),
        "scoring": f"scored by {values['scoring']}" if values["scoring"] not in (None, "welfare") else "",
        "progressive": _weights(values["progressive"]),
    } | {name: text for name, text in OPTIONS.items() if values[name]}
    varied = [name for name in values if name in swept]
    if "message_rounds" in varied and values["press"] is not None:
        told["press"] = f"press: {values['press']}"
    fixed = [text for name, text in told.items() if text and name not in varied]
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
