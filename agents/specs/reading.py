"""Reads the `Spec` of a policy: of a text, a class, a factory or an instance."""

from __future__ import annotations

import copyreg
import os
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.policy import Policy
from agents.rl import files_of
from agents.specs.grammar import SpecFault, checked_text, error_of, split, unwrapped
from agents.specs.own import file_of, import_path, unnamed_spec
from agents.specs.registry import AGENTS, read_part
from agents.specs.spec import Spec
from welfare_env.errors import UnknownAgentError

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

PolicyLike = str | Spec | Policy | type[Policy] | Callable[[], Policy]
"""A spec's text, a spec, an instance (copied for each seat and game), a class, or a function that makes one."""


def read(policy: PolicyLike, names: Collection[str] = ()) -> Spec:
    """The spec of a policy.

    A class of an importable module is named "import:MODULE.CLASS". A factory, an instance and any other class (defined
    in the running script, or in a function) have no name, since they cannot be imported.

    Args:
        names: names of players that are not policies. A text may be one of them, or a mix with it; such a spec cannot
            make a policy.

    Raises:
        UnknownAgentError: an unknown name; a missing, unknown, repeated or bad option; unbalanced parentheses; more
            than the limits allow (see `agents.specs.grammar`); or not a policy. The message quotes the piece that is
            wrong and says what is possible there.
    """
    if isinstance(policy, Spec):
        return policy
    if isinstance(policy, type) and (path := import_path(policy)):
        policy = f"import:{path}"
    if not isinstance(policy, str) and (callable(policy) or isinstance(policy, Policy)):
        return unnamed_spec(policy)
    text = checked_text(policy)
    try:
        return read_part(text, names)
    except SpecFault as fault:
        raise error_of(text, fault) from fault


def make(spec: PolicyLike, models: SharedModels | None = None) -> Policy:
    """A new policy; `reset` it before it plays.

    Args:
        spec: a text (see `agents.specs.registry`), or a class, a factory or an instance, which is copied.
        models: the source of language models, with their budget and cache; None for a default source without either.

    Raises:
        UnknownAgentError: as `read` and `Spec.make`.
    """
    return read(spec).make(models)


def canonical(spec: PolicyLike) -> str:
    """The canonical text of a spec: without blanks or needless parentheses, options in a fixed sequence.

    So "(dove)" is "dove". Options that are left out are not added, even if their defaults are known.

    Raises:
        UnknownAgentError: as `read`; or the policy has no name.
    """
    found = read(spec)
    if not found.is_named:
        raise UnknownAgentError(f"{found.text}: it has no name. Give a class of an importable module, or a spec")
    return found.text


def listed(text: str, mark: str = ",") -> list[str]:
    """The specs between the marks; a piece such as "effort=high" belongs to the one before it.

    Raises:
        UnknownAgentError: a parenthesis is not closed, or the text is too long.
    """
    found: list[str] = []
    try:
        for piece in split(checked_text(text), mark):
            if found and re.match(r"\w+\s*=", piece):
                found[-1] += f"{mark}{piece}"
            elif piece:
                found.append(unwrapped(piece))
    except SpecFault as fault:
        raise error_of(text, fault) from fault
    return found


def usages() -> list[str]:
    """Every policy's spec with its required options: "exploiter:nice=SPEC,attack=SPEC"."""
    return [name + kind.usage for name, kind in AGENTS.items()]


def named_files(policy: PolicyLike) -> list[Path]:
    """The files and folders that a spec names: checkpoints, options, and the source of the user's policies.

    Raises:
        UnknownAgentError: as `read`, or the package that the user's module is in cannot be imported.
    """
    spec = read(policy)
    try:
        own = [file_of(module) for module in spec.sources]
    except ValueError as error:
        raise error_of(spec.text, error) from error
    words = [word for each in spec.walk() if each.outside for word in each.options.values() if isinstance(word, str)]
    named = [Path(word) for word in words if os.path.exists(word)]
    return [file for files in (*own, named, *map(files_of, spec.checkpoints)) for file in files]


def _reduced(spec: Spec) -> tuple[Callable[[str, object], Spec], tuple[str, object]]:
    """For pickle: makers are local functions, which cannot be pickled."""
    return _again, (spec.text, spec.unnamed)


def _again(text: str, unnamed: Any) -> Spec:
    """A spec from its pickle."""
    return read(text) if unnamed is None else replace(unnamed_spec(unnamed), text=text)


copyreg.pickle(Spec, _reduced)
