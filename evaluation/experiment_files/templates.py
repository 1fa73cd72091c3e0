"""Policies from a template: "{profile},ablate={ablate}" with a profile and swept words.

The template is applied to each policy of a profile: "4*lm:a/b + 3*lm:c/d" gets the option in both. At the start of a
template, {profile} is extended by the options after it; elsewhere, an inserted spec gets parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agents.specs.profiles import written_terms

PROFILE = "profile"
WORD = re.compile(r"\{(\w+)\}")
_BRACES = re.compile(r"\{[^{}]*\}|[{}]")


def filled_template(template: str, profile: str, words: Mapping[str, str]) -> str:
    """Apply a template to a profile and words.

    Raises:
        UnknownAgentError: unbalanced parentheses in the profile.
    """
    if template == f"{{{PROFILE}}}":
        return profile
    terms = [(seats, _filled(template, {**words, PROFILE: policy})) for seats, policy in written_terms(profile)]
    return " + ".join(f"{seats}*({policy})" if seats else policy for seats, policy in terms)


def words_of(template: str) -> list[str]:
    """The placeholders of a template, except {profile}."""
    return [word for word in dict.fromkeys(WORD.findall(template)) if word != PROFILE]


def stray_braces(template: str) -> Iterator[str]:
    """Invalid placeholders, and unbalanced braces."""
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
        return filled.replace(",", ":", 1)  # "dove" has no options yet, so the first follows a colon
    return filled
