"""Policies of the user's: "import:MODULE.CLASS". Nothing is called but a class that has what a policy has."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.policy import Policy
from agents.specs.text_span import Part
from welfare_env.errors import did_you_mean

RIGHT = "give a class that has reset(agent, seed) and act(observation, info), and is made without arguments"


def make_imported(path: Part) -> Policy:
    """A new policy of the class that "MODULE.CLASS" names.

    Raises:
        UnknownAgentError: a module of Python's own, one that cannot be imported (its own code may have failed: the
            error says where), no policy's class, or one that cannot be made.
    """
    module_name, _, name = path.text.rpartition(".")
    _check_module(path, module_name)
    with _told(path):
        module = importlib.import_module(module_name)
        names = dir(module)
        found = getattr(module, name, None)
        is_policy = inspect.isclass(found) and all(callable(getattr(found, each, None)) for each in ("reset", "act"))
    if found is None:
        raise path.fault(f"the module {module_name} has no {name}{did_you_mean(name, names)}")
    if not is_policy:
        kind = "class without them" if inspect.isclass(found) else type(found).__name__
        raise path.fault(f"{RIGHT}; this is a {kind}: it is no policy")
    with _told(path):
        policy = found()
    if not isinstance(policy, Policy):
        raise path.fault(f"{RIGHT}; this one makes a {type(policy).__name__}: it is no policy")
    return policy


def source_of(path: Part) -> list[Path]:
    """The file of the module in "MODULE.CLASS"; none, where it is compiled or cannot be found.

    Raises:
        UnknownAgentError: a module of Python's own, or the package around it cannot be imported.
    """
    module_name = path.text.rpartition(".")[0]
    _check_module(path, module_name)
    with _told(path):
        found = importlib.util.find_spec(module_name)
    return [Path(found.origin)] if found is not None and found.origin and found.has_location else []


def _check_module(path: Part, module_name: str) -> None:
    """That it is not of Python's own library: to import some of these opens a browser, or prints a poem."""
    root = module_name.partition(".")[0]
    if root not in sys.stdlib_module_names:
        return
    with _told(path):
        found = importlib.util.find_spec(root)
    library = Path(sysconfig.get_path("stdlib"))
    if found is None or not found.has_location or Path(str(found.origin)).is_relative_to(library):
        raise path.fault(f"{root} is a module of Python's own: it is no policy. {RIGHT[0].upper()}{RIGHT[1:]}")


@contextmanager
def _told(path: Part) -> Iterator[None]:
    """What comes out of the user's code, whatever it is, is told as a fault of the spec."""
    try:
        yield
    except (Exception, SystemExit) as error:
        told = traceback.format_exception_only(error)  # which gives a name to an error that cannot even be printed
        said = (told[-1] if isinstance(error, SyntaxError) else told[0]).strip()
        raise path.fault(f"cannot be made: {said:.500}{_place(error)}") from error


def _place(error: BaseException) -> str:
    """Where the user's code failed; "" where it was not reached."""
    if isinstance(error, SyntaxError):
        return f" ({error.filename}, line {error.lineno})"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def _is_ours(filename: str) -> bool:
    return filename in (__file__, importlib.__file__) or filename.startswith("<frozen ")
