"""Reads the `Spec` of a policy (a text, a class, a factory or an instance), and answers questions about it."""

from __future__ import annotations

import copyreg
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.policy import Policy
from agents.rl import files_of
from agents.specs.entry_points import installed
from agents.specs.objects import import_path, unnamed_spec
from agents.specs.registry import AGENTS, read_part
from agents.specs.spec import Spec
from agents.specs.text_span import Part
from welfare_env.checks import quoted
from welfare_env.errors import UnknownAgentError

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

PolicyLike = str | Spec | Policy | type[Policy] | Callable[[], Policy]
"""A spec's text, a spec, an instance (copied for each seat and game), a class, or a function that makes one."""


def listed(text: str) -> list[str]:
    """The specs between commas; a piece such as "effort=high" belongs to the one before it.

    Raises:
        UnknownAgentError: a parenthesis is not closed, or the text is too long.
    """
    found: list[str] = []
    for part in Part.whole(text).split():
        if found and re.match(r"\w+\s*=", part.text):
            found[-1] += f",{part.text}"
        elif part.text:
            found.append(part.unwrapped().text)
    return found


def read(policy: PolicyLike, names: Collection[str] = ()) -> Spec:
    """The spec of a policy.

    A class of an importable module is named "import:MODULE.CLASS". A factory, an instance and any other class (defined
    in the running script, or in a function) have no name, since they cannot be imported.

    Args:
        names: names of players that are not policies. A text may be one of them, or a mix with it; such a spec cannot
            make a policy.

    Raises:
        UnknownAgentError: an unknown name; a missing, unknown, repeated or bad option; unbalanced parentheses; more
            than the limits allow (see `agents.specs.registry`); or not a policy. The message points at the place and
            says what is possible there.
    """
    if isinstance(policy, Spec):
        return policy
    if isinstance(policy, str):
        return read_text(policy, names)
    return _of_object(policy)


def _of_object(policy: object) -> Spec:
    if isinstance(policy, type) and (path := import_path(policy)):
        return read_text(f"import:{path}")
    if callable(policy) or isinstance(policy, Policy):
        return unnamed_spec(policy)
    example = "'exploiter:nice=prosocial,attack=dumbbot'"
    raise UnknownAgentError(
        f"agent spec {quoted(policy)}: give a string such as {example}, or a class, a factory or an instance"
    )


def read_text(spec: str, names: Collection[str] = ()) -> Spec:
    """The spec of a text; as `read`."""
    return read_part(Part.whole(spec, names))


def make(spec: PolicyLike, models: SharedModels | None = None) -> Policy:
    """A new policy; `reset` it before it plays.

    Args:
        spec: a text (see `agents.specs.registry`), or a class, a factory or an instance, which is copied.
        models: the source of language models, with their budget and cache; None for a default source without either.

    Raises:
        UnknownAgentError: as `read` and `Spec.make`.
    """
    return read(spec).make(models)


def as_given(policy: PolicyLike, spec: Spec) -> str:
    """How results quote a policy: a text as the caller wrote it, anything else by the text of its spec."""
    return policy if isinstance(policy, str) else spec.text


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


def usages() -> list[str]:
    """Every policy's spec with its required options: "exploiter:nice=SPEC,attack=SPEC"."""
    return [name + kind.usage for name, kind in AGENTS.items()] + [name for name in installed() if name not in AGENTS]


def asks_language_models(spec: PolicyLike) -> bool:
    """Whether a policy, or a part of it, is a language model."""
    return bool(read(spec).models)


def named_models(spec: PolicyLike) -> tuple[tuple[str, str], ...]:
    """The language models in a spec: name and `base_url` of each, "" if the spec has no `base_url`.

    Raises:
        UnknownAgentError: as `canonical` does.
    """
    return read(spec).models


def named_files(spec: PolicyLike) -> list[Path]:
    """The files that a spec names: checkpoints, files and folders in options, and the source of the user's policies
    (compiled modules have none).

    Raises:
        UnknownAgentError: as `canonical` does, or the package that the user's module is in cannot be imported.
    """
    found = read(spec)
    own = [file for source in found.sources for file in source()]
    return own + [file for name in found.checkpoints for file in files_of(name)]


def _reduced(spec: Spec) -> tuple[Callable[[str, object], Spec], tuple[str, object]]:
    """For pickle: makers are local functions, which cannot be pickled."""
    return _again, (spec.text, spec.unnamed)


def _again(text: str, unnamed: Any) -> Spec:
    """A spec from its pickle."""
    return read(text) if unnamed is None else replace(unnamed_spec(unnamed), text=text)


copyreg.pickle(Spec, _reduced)
