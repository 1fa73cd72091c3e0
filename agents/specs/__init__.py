"""Policies from one line of text: "random", "dove:share=0.5", "exploiter:nice=prosocial,attack=dumbbot"."""

from agents.specs.profiles import (
    SEATINGS,
    Profile,
    ProfileError,
    ProfileLike,
    as_given,
    is_profile,
    read_profile,
)
from agents.specs.reading import AGENTS, PolicyLike, canonical, listed, make, named_files, read, usages
from agents.specs.spec import Spec

__all__ = [
    "AGENTS",
    "SEATINGS",
    "PolicyLike",
    "Profile",
    "ProfileError",
    "ProfileLike",
    "Spec",
    "as_given",
    "canonical",
    "is_profile",
    "listed",
    "make",
    "named_files",
    "read",
    "read_profile",
    "usages",
]
