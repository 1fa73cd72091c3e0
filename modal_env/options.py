"""Arguments that several functions take, written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from modal_env.checks import nearest

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


def takes_arguments_of(
    source: Callable[_Given, object],
) -> Callable[[Callable[..., _Made]], Callable[_Given, _Made]]:
    """For a function that passes all its arguments on to `source`: its signature shows those of `source`.

    An unknown argument raises a TypeError that names the nearest one.
    """
    signature = inspect.signature(source)

    def decorate(function: Callable[..., _Made]) -> Callable[_Given, _Made]:
        @wraps(function)
        def checked(*args: Any, **options: Any) -> _Made:
            for name in options:
                if name not in signature.parameters:
                    near = nearest(name, signature.parameters, f"help({function.__name__})")
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}: {near}")
            return function(*args, **options)

        returns = inspect.signature(function).return_annotation
        vars(checked)["__signature__"] = signature.replace(return_annotation=returns)
        return checked

    return decorate
