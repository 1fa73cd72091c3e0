"""Policies from one line of text: "random", "dove:share=0.5", "exploiter:nice=prosocial,attack=dumbbot"."""

from agents.specs.profiles import (
    SEATINGS,
    Profile,
    ProfileError,
    ProfileLike,
    is_profile,
    profile_as_given,
    read_profile,
)
from agents.specs.reading import (
    PolicyLike,
    as_given,
    asks_language_models,
    canonical,
    listed,
    make,
    named_files,
    named_models,
    read,
    usages,
)
from agents.specs.registry import AGENTS, LM_OPTIONS
from agents.specs.spec import Spec

__all__ = [
    "AGENTS",
    "LM_OPTIONS",
    "SEATINGS",
    "PolicyLike",
    "Profile",
    "ProfileError",
    "ProfileLike",
    "Spec",
    "as_given",
    "asks_language_models",
    "canonical",
    "is_profile",
    "listed",
    "make",
    "named_files",
    "named_models",
    "profile_as_given",
    "read",
    "read_profile",
    "usages",
]
