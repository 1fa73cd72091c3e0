"""Policies from one line of text: "random", "dove:share=0.5", "exploiter:nice=prosocial,attack=dumbbot"."""

from agents.specs.kinds import AGENTS, LM_OPTIONS
from agents.specs.reading import (
    PolicyLike,
    as_given,
    asks_language_models,
    canonical,
    make,
    named_files,
    named_models,
    read,
    usages,
)
from agents.specs.spec import Spec

__all__ = [
    "AGENTS",
    "LM_OPTIONS",
    "PolicyLike",
    "Spec",
    "as_given",
    "asks_language_models",
    "canonical",
    "make",
    "named_files",
    "named_models",
    "read",
    "usages",
]
