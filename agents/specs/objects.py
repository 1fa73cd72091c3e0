"""Policies given as Python objects: a class, a factory or an instance."""

from __future__ import annotations

import copy
import importlib.util
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from agents.policy import Policy
from agents.specs.imported import IMPORT_PATH, as_fault, checked
from agents.specs.spec import Spec
from welfare_env.errors import UnknownAgentError


def import_path(policy: type) -> str | None:
    """ "MODULE.CLASS" of a class that can be imported; None if it is defined in the running script or a function."""
    path = f"{policy.__module__}.{policy.__qualname__}"
    module = sys.modules.get(policy.__module__)
    if policy.__module__ == "__main__" or not re.fullmatch(IMPORT_PATH, path) or "." in policy.__qualname__:
        return None
    with suppress(ImportError, ValueError):
        found = importlib.util.find_spec(policy.__module__)
        if found is not None and getattr(module, policy.__qualname__, None) is policy:
            return path
    return None


def unnamed_spec(policy: Any) -> Spec:
    """The spec of an object that no text can name. Policies are made by calling it or, for an instance, copying it."""
    is_instance = isinstance(policy, Policy) and not isinstance(policy, type)
    kind = "instance of" if is_instance else "class" if isinstance(policy, type) else "factory"
    text = f"{kind} {_name(type(policy) if is_instance else policy)}"
    make = (lambda: copy.deepcopy(policy)) if is_instance else policy
    return Spec(text, lambda models: _made(make, text), unnamed=policy)


def _name(item: Any) -> str:
    """ "mirror.Mirror"; a callable object has the name of its class."""
    named = item if isinstance(getattr(item, "__qualname__", None), str) else type(item)
    return f"{named.__module__}.{named.__qualname__}"[:200]


def _made(make: Callable[[], Any], text: str) -> Policy:
    def fault(message: str) -> UnknownAgentError:
        return UnknownAgentError(f"agent {text}: {message}")

    with as_fault(fault):
        policy = make()
    return checked(policy, fault)
