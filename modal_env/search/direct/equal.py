"""What is equally frequent in populations of direct agents, at the start or among mutants."""

from __future__ import annotations

from enum import StrEnum


class Equal(StrEnum):
    """All agents have equal shares; or all depths have, each divided equally among its agents."""

    agents = "agents"
    depths = "depths"


EQUAL = tuple(each.value for each in Equal)
