"""The words of results: which of several counts, and the phrase for each."""

from __future__ import annotations

from collections.abc import Collection

SUCCESS = "success"
PHRASES = {  # of several results that a unit has, the first one here counts
    "dislodged": "is dislodged",
    "disband": "disbands",
    "void": "is void",
    "no convoy": "has no convoy",
    "disrupted": "is disrupted",
    "cut": "is cut",
    "bounce": "bounces",
    SUCCESS: "succeeds",
}


def worst(words: Collection[str]) -> str:
    """The result that counts; no words are success."""
    return next((result for result in PHRASES if result in words), SUCCESS)


def class_of(result: str) -> str:
    """The class of marks with this result, which is also its name in `welfare_env.render.palette.RESULTS`."""
    return result.replace(" ", "-")
