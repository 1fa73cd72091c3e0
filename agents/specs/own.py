"""Policies of the user: imported classes ("import:mymodule.MyPolicy,k=3"), and Python objects.

`import:` runs the module's code, as Python's import does.
"""

from __future__ import annotations

import copy
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import Any

from agents.policy import Policy
from agents.specs.spec import Spec, SpecFault, halves
from welfare_env.errors import did_you_mean

IMPORT_PATH = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"
EXAMPLE = "import:mymodule.MyPolicy, with options after commas: import:mymodule.MyPolicy,k=3"
RIGHT = "give a class that has reset(agent, seed) and act(observation, info), and is made with the options given"
_OURS = (str(Path(__file__).parent), str(Path(str(importlib.__file__)).parent), str(copy.__file__), "<frozen ")


def imported_spec(name: str, pieces: Sequence[str]) -> Spec:
    """The spec of a class that can be imported, which is not imported yet.

    Args:
        pieces: "MODULE.CLASS", and the options: ``key=value``, in the spec sorted by key; values are integers, floats
            or words.
    """
    path, *given = pieces or [""]
    if not re.fullmatch(IMPORT_PATH, path):
        raise SpecFault(path, f"give a module and a class in it, such as {EXAMPLE}")
    options: dict[str, Any] = {}
    for piece in given:
        key, value = halves(piece, "=")
        if key in options or not re.fullmatch(r"[A-Za-z_]\w*=[^\s(),=]+", f"{key}={value}"):
            raise SpecFault(piece, "give key=value, each key once, the value a whole number, a number, or a word")
        options[key] = _value(value)
    options = dict(sorted(options.items()))
    text = ",".join([f"{name}:{path}", *(f"{key}={value}" for key, value in options.items())])
    return Spec(text, lambda models: _made(_imported(path), options), options, outside=path.rpartition(".")[0])


def unnamed_spec(policy: Any) -> Spec:
    """The spec of an object that no text can name. Policies are made by calling it or, for an instance, copying it."""
    is_instance = isinstance(policy, Policy) and not isinstance(policy, type)
    kind = "instance of" if is_instance else "class" if isinstance(policy, type) else "factory"
    item = type(policy) if is_instance else policy
    named = item if isinstance(getattr(item, "__qualname__", None), str) else type(item)
    text = f"{kind} {named.__module__}.{named.__qualname__}"[:200]
    make = (lambda: copy.deepcopy(policy)) if is_instance else policy
    return Spec(text, lambda models: _made(make, {}), unnamed=policy)


def _imported(path: str) -> type:
    """The class at "MODULE.CLASS". Only classes with the methods of a policy will be called."""
    module_name, _, name = path.rpartition(".")
    with errors_of_users():
        module = importlib.import_module(module_name)
        names, found = dir(module), getattr(module, name, None)
        is_right = inspect.isclass(found) and all(callable(getattr(found, each, None)) for each in ("reset", "act"))
    if found is None:
        raise ValueError(f"the module {module_name} has no {name}{did_you_mean(name, names)}. Give {EXAMPLE}")
    if not is_right:
        raise ValueError(f"{found!r:.80} is not a policy: {RIGHT}")
    return found


def _made(maker: Callable[..., object], options: Mapping[str, Any]) -> Policy:
    """The policy that a class or a function makes with these options."""
    with errors_of_users():
        try:
            policy = maker(**options)
        except TypeError as error:
            with suppress(ValueError, TypeError):  # compiled code has no signature
                error.args = (f"{error}; its options are {inspect.signature(maker)}",)
            raise
    if not isinstance(policy, Policy) or isinstance(policy, type):
        raise ValueError(f"it makes a {type(policy).__name__}, which is not a policy: {RIGHT}")
    return policy


def _value(text: str) -> int | float | str:
    if re.fullmatch("[-+]?[0-9]{1,9}", text):
        return int(text)
    with suppress(ValueError):
        if re.fullmatch("[-+.0-9eE]{1,40}", text) and isfinite(float(text)):
            return float(text)
    return text


def file_of(module_name: str) -> list[Path]:
    """The file of a module; empty if the module is compiled or cannot be found.

    Raises:
        ValueError: the package around it cannot be imported.
    """
    with errors_of_users():
        found = importlib.util.find_spec(module_name)
    return [Path(found.origin)] if found is not None and found.origin and found.has_location else []


@contextmanager
def errors_of_users() -> Iterator[None]:
    """Raises any error of the user's code as a ValueError, with the place in that code, if it ran."""
    try:
        yield
    except (Exception, SystemExit) as error:
        lines = traceback.format_exception_only(error)  # works even if str(error) fails
        text = (lines[-1] if isinstance(error, SyntaxError) else lines[0]).strip()
        places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
        places = [place for place in places if not place[0].startswith(_OURS)]
        if isinstance(error, SyntaxError):
            places = [(str(error.filename), error.lineno)]
        where = " ({}, line {})".format(*places[-1]) if places else ""
        raise ValueError(f"cannot be made: {text:.500}{where}") from error


def import_path(policy: type) -> str | None:
    """ "MODULE.CLASS" of a class that can be imported; None if it is defined in the running script or a function."""
    module, name = policy.__module__, policy.__qualname__
    if module == "__main__" or not name.isidentifier() or getattr(sys.modules.get(module), name, None) is not policy:
        return None
    with suppress(ImportError, ValueError):
        return f"{module}.{name}" if importlib.util.find_spec(module) and "." in f"{module}.{name}" else None
    return None
