"""Policies from one line of text: "random", "dove:share=0.5", "exploiter:nice=prosocial,attack=dumbbot"."""

from agents.specs.kinds import (
    AGENTS,
    LM_OPTIONS,
    Recipe,
    asks_language_models,
    canonical,
    make,
    named_files,
    named_models,
    usages,
)

__all__ = [
    "AGENTS",
    "LM_OPTIONS",
    "Recipe",
    "asks_language_models",
    "canonical",
    "make",
    "named_files",
    "named_models",
    "usages",
]
