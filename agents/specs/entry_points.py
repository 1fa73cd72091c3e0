"""Policies of other distributions, found by their entry points in the group "welfare_env.policies".

A distribution that has in its pyproject.toml

    [project.entry-points."welfare_env.policies"]
    outlaw = "western.players:Outlaw"

gives the spec "outlaw", and with options "outlaw:patience=3". The value is a class, or a function that returns a
policy; options are passed by name. Built-in names take precedence.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from agents.policy import Policy
from agents.specs.imported import Value, as_fault, check_options, checked, file_of
from agents.specs.text_span import Part
from welfare_env.errors import UnknownAgentError

GROUP = "welfare_env.policies"


def installed() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Name -> the installed entry points of that name; several if distributions conflict."""
    return _installed(tuple(sys.path))


@lru_cache(maxsize=4)
def _installed(path: tuple[str, ...]) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Cached, since it reads a file of every distribution on the path."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def choose(name: Part) -> EntryPoint:
    """The entry point of an installed name.

    Raises:
        UnknownAgentError: several distributions have it.
    """
    points = installed()[name.text]
    if len(points) > 1:
        raise name.fault(
            f"{len(points)} distributions have it: {', '.join(map(_description, points))}. Uninstall all but one, or "
            f"give import:MODULE.CLASS"
        )
    return points[0]


def make_installed(point: EntryPoint, name: Part, options: Mapping[str, Value]) -> Policy:
    """A new policy of an entry point.

    Raises:
        UnknownAgentError: the entry point cannot be loaded, or does not make a policy; the message names the
            distribution.
    """

    def fault(message: str) -> UnknownAgentError:
        return name.fault(f"{_description(point)}: {message}")

    with as_fault(fault, "cannot be loaded"):
        maker = point.load()
    if not callable(maker):
        raise fault(f"is a {type(maker).__name__}: it must be a class or a function that returns a policy")
    check_options(maker, options, fault)
    with as_fault(fault):
        policy = maker(**options)
    return checked(policy, fault)


def source_of_installed(point: EntryPoint, name: Part) -> list[Path]:
    """The file of its module; empty if the module is compiled or cannot be found.

    Raises:
        UnknownAgentError: the package around it cannot be imported.
    """
    with as_fault(lambda message: name.fault(f"{_description(point)}: {message}"), "cannot be loaded"):
        return file_of(point.module)


def _description(point: EntryPoint) -> str:
    """ "the entry point outlaw = western.players:Outlaw of western 1.0"."""
    owner = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown distribution"
    return f"the entry point {point.name} = {point.value} of {owner}"
