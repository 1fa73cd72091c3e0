"""Policies of the user: "import:MODULE.CLASS". Only classes with the methods of a policy are called."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path

from agents.policy import Policy
from agents.specs.text_span import Part
from welfare_env.errors import UnknownAgentError, did_you_mean

Value = int | float | str
EXAMPLE = "import:mymodule.MyPolicy, with options after commas: import:mymodule.MyPolicy,k=3"
Fault = Callable[[str], UnknownAgentError]  # from a message to the error

IMPORT_PATH = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"
RIGHT = "give a class that has reset(agent, seed) and act(observation, info), and is made with the options given"
_OURS = (str(Path(__file__).parent), str(Path(str(importlib.__file__)).parent), str(copy.__file__), "<frozen ")


def make_imported(path: Part, options: Mapping[str, Value]) -> Policy:
    """A new policy of the class that "MODULE.CLASS" names.

    Args:
        options: the keyword arguments of the class.

    Raises:
        UnknownAgentError: a module of the standard library, one that cannot be imported (if its own code failed, the
            error says where), a class that is not a policy, or one that cannot be made with these options.
    """
    module_name, _, name = path.text.rpartition(".")
    _check_module(path, module_name)
    _check_found(path, module_name)
    with as_fault(path.fault):
        module = importlib.import_module(module_name)
        names = dir(module)
        found = getattr(module, name, None)
        missing = [each for each in ("reset", "act") if not callable(getattr(found, each, None))]
    if found is None:
        file = f". Give {EXAMPLE}" if name == "py" else ""
        raise path.fault(f"the module {module_name} has no {name}{did_you_mean(name, names)}{file}")
    if missing or not inspect.isclass(found):
        kind = f"class without {' and '.join(missing)}" if inspect.isclass(found) else type(found).__name__
        raise path.fault(f"{RIGHT}; this is a {kind}: it is not a policy")
    check_options(found, options, path.fault)
    with as_fault(path.fault):
        policy = found(**options)
    return checked(policy, path.fault)


def check_options(maker: Callable[..., object], options: Iterable[str], fault: Fault) -> None:
    """Checks that a class or function takes these options.

    Raises:
        UnknownAgentError: it does not.
    """
    try:
        parameters = inspect.signature(maker).parameters
    except (TypeError, ValueError):  # of compiled code
        return
    named = [name for name, each in parameters.items() if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return
    for option in options:
        if option not in named:
            takes = f"it takes {', '.join(named)}, each as key=value" if named else "it takes no options"
            raise fault(f"no option {option!r:.80}{did_you_mean(option, named)}: {takes}")


def checked(policy: object, fault: Fault) -> Policy:
    """Checks the object that a class or a factory has made.

    Raises:
        UnknownAgentError: the object is not a policy.
    """
    if not isinstance(policy, Policy) or isinstance(policy, type):
        raise fault(f"{RIGHT}; this one makes a {type(policy).__name__}: it is not a policy")
    return policy


def read_values(options: Iterable[Part]) -> dict[str, Value]:
    """``key=value`` options of the user's code, sorted by key; values are integers, floats or words.

    Raises:
        UnknownAgentError: not in this form, or a key given twice.
    """
    given: dict[str, Value] = {}
    for option in options:
        key, value = option.halves("=") or (option, None)
        if value is None or not re.fullmatch(r"[A-Za-z_]\w*", key.text):
            raise option.fault(f"give options as key=value, after commas: {option.source[: option.start]}key=value")
        if key.text in given:
            raise option.fault("the option is given twice")
        given[key.text] = _value(value)
    return dict(sorted(given.items()))


def _value(part: Part) -> Value:
    text = part.text
    if re.fullmatch("[-+]?[0-9]{1,9}", text):
        return int(text)
    is_number = re.fullmatch(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", text)
    if is_number and len(text) <= 40 and isfinite(float(text)):
        return float(text)
    if is_number or not re.fullmatch(r"[^\s(),=]+", text):
        raise part.fault("give a whole number of at most 9 digits, a number, or a word")
    return text


def named_in(options: Mapping[str, Value]) -> list[Path]:
    """The files and folders that options name."""
    return [Path(value) for value in options.values() if isinstance(value, str) and os.path.exists(value)]


def source_of(path: Part) -> list[Path]:
    """The file of the module in "MODULE.CLASS"; empty if the module is compiled or cannot be found.

    Raises:
        UnknownAgentError: a module of the standard library, or the package around it cannot be imported.
    """
    module_name = path.text.rpartition(".")[0]
    _check_module(path, module_name)
    with as_fault(path.fault):
        return file_of(module_name)


def file_of(module_name: str) -> list[Path]:
    """The file of a module; empty if the module is compiled or cannot be found."""
    found = importlib.util.find_spec(module_name)
    return [Path(found.origin)] if found is not None and found.origin and found.has_location else []


def _check_module(path: Part, module_name: str) -> None:
    """Refuses modules of the standard library: importing some of them opens a browser, or prints a poem."""
    root = module_name.partition(".")[0]
    if root not in sys.stdlib_module_names:
        return
    with as_fault(path.fault):
        found = importlib.util.find_spec(root)
    library = Path(sysconfig.get_path("stdlib"))
    if found is None or not found.has_location or Path(str(found.origin)).is_relative_to(library):
        raise path.fault(f"{root} is a module of the standard library, not a policy. {RIGHT[0].upper()}{RIGHT[1:]}")


def _check_found(path: Part, module_name: str) -> None:
    """Refuses a module that is neither in the current folder nor installed."""
    root = module_name.partition(".")[0]
    with as_fault(path.fault):
        is_there = root in sys.modules or importlib.util.find_spec(root) is not None
    if not is_there:
        near = did_you_mean(root, [file.stem for file in sorted(Path().glob("*.py"))])
        raise path.fault(
            f"cannot be made: ModuleNotFoundError: No module named {root!r}{near}: there is no {root}.py in this "
            "folder, nor is such a package installed"
        )


@contextmanager
def as_fault(fault: Fault, failure: str = "cannot be made") -> Iterator[None]:
    """Raises any error of the user's code as an error about the spec, with the place in that code."""
    try:
        yield
    except (Exception, SystemExit) as error:
        lines = traceback.format_exception_only(error)  # works even if str(error) fails
        text = (lines[-1] if isinstance(error, SyntaxError) else lines[0]).strip()
        raise fault(f"{failure}: {text:.500}{_place(error)}") from error


def _place(error: BaseException) -> str:
    """Where the user's code failed; "" if none of it ran."""
    if isinstance(error, SyntaxError):
        return f" ({error.filename}, line {error.lineno})"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_OURS)]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
