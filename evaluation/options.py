"""Functions that pass on their options: their signatures list them, and wrong ones are named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

from welfare_env.errors import did_you_mean
from welfare_env.rules import Rules

_F = TypeVar("_F", bound=Callable[..., Any])


def takes_options(*of: Callable[..., Any], refused: Collection[str] = ()) -> Callable[[_F], _F]:
    """A decorator for a function that passes on its `**options`: its signature then lists them with their defaults.

    An unknown option raises a TypeError that suggests the most similar one.

    Args:
        of: the functions that receive the options, namely their parameters with defaults.
        refused: options left out of the signature; the function still receives them, to explain why it refuses them.
    """

    def decorate(function: _F) -> _F:
        own = inspect.signature(function)
        names = [name for name, parameter in own.parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]
        options = {
            name: parameter.replace(kind=parameter.KEYWORD_ONLY)
            for each in of
            for name, parameter in inspect.signature(each).parameters.items()
            if parameter.default is not parameter.empty and name not in (*names, *refused)
        }
        known = (*names, *options)

        @wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            for name in given:
                if name not in known and name not in refused:
                    message = f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
                    raise TypeError(f"{message}{_what_is_right(name, known)}")
            return function(*args, **given)

        parameters = [*(own.parameters[name] for name in names), *options.values()]
        vars(checked)["__signature__"] = own.replace(parameters=parameters)
        return checked  # type: ignore[return-value]

    return decorate


def _what_is_right(name: str, known: Collection[str]) -> str:
    """The end of an error about an unknown option."""
    rules = {each.name for each in fields(Rules)}
    if "rules" in known and name in rules:
        return f": it is an option of the rules: give rules=welfare_env.Rules({name}=...)"
    return f"{did_you_mean(name, known)}: it takes {', '.join(each for each in known if each != 'self')}"
