"""Policies from a template: "{profile},ablate={ablate}" with a profile and swept words.

Each policy of a profile is filled in by itself: "4*lm:a/b + 3*lm:c/d" gets the option in both. At the beginning of a
template the profile is extended by the options after it; a spec that is filled in within another gets parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agents.specs.profiles import written_terms

PROFILE = "profile"
WORD = re.compile(r"\{(\w+)\}")
_BRACES = re.compile(r"\{[^{}]*\}|[{}]")


def filled_template(template: str, profile: str, words: Mapping[str, str]) -> str:
    """The profile that a template makes of a profile and of words.

    Raises:
        UnknownAgentError: parentheses of the profile that do not fit.
    """
    if template == f"{{{PROFILE}}}":
        return profile
    terms = [(seats, _filled(template, {**words, PROFILE: policy})) for seats, policy in written_terms(profile)]
    return " + ".join(f"{seats}*({policy})" if seats else policy for seats, policy in terms)


def words_of(template: str) -> list[str]:
    """The words of a template besides the profile."""
    return [word for word in dict.fromkeys(WORD.findall(template)) if word != PROFILE]


def stray_braces(template: str) -> Iterator[str]:
    """What stands in braces and is no word."""
    return (match[0] for match in _BRACES.finditer(template) if not WORD.fullmatch(match[0]))


def _filled(template: str, words: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        text = words[match[1]]
        before, after = template[: match.start()].rstrip(), template[match.end() :].lstrip()
        is_wrapped = before.endswith("(") and after.startswith(")")
        return f"({text})" if before and not is_wrapped and re.search(r"[,=\s]", text) else text

    filled = WORD.sub(value, template)
    first = words[PROFILE]
    if re.match(rf"\s*\{{{PROFILE}\}}\s*,", template) and re.fullmatch(r"\w+", first):
        return filled.replace(",", ":", 1)  # "dove" has no options yet, so they begin after a colon
    return filled
