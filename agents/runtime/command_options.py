"""Options that several commands share: a dataclass, each field of which becomes an option of the command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from importlib import import_module
from typing import Any, get_args, get_type_hints

import typer
from typer.models import OptionInfo

_CLICK = import_module(typer.Context.__mro__[1].__module__.rpartition(".")[0])  # click, or the copy in newer typers
_ASSIGNED = r"(?<![^\s(])(?<!\w\()(?P<name>[a-z_]+)=(?P<value>'[\w.:*+-]*'|[\w.*+-]*[\w*+-])(?![\w=]| or False)"
_QUOTED = r"""(?<!\w)(?:'[^']*'(?!\w)|"[^"]*")"""  # an apostrophe within a word is not a quotation mark


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """For typer: in place of each parameter that is a dataclass, the command gets an option for each of its fields.

    Fields are annotated like parameters of a command: ``years: Annotated[int, typer.Option(...)] = 10``. Other fields,
    and those for which the command has its own parameter, do not become options. If the parameter has a default, its
    fields are the options' defaults: ``config: TrainConfig = SELF_PLAY``.
    """
    hints = get_type_hints(command, include_extras=True)
    declared = inspect.signature(command).parameters
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, Any, list[str]]] = {}  # parameter -> its dataclass, its default, its options
    for name, parameter in declared.items():
        kind = hints[name]
        if is_dataclass(kind) and isinstance(kind, type):
            default = None if parameter.default is parameter.empty else parameter.default
            options = _options(kind, default, declared)
            groups[name] = kind, default, [option.name for option in options]
            parameters += options
        else:
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, (kind, default, names) in groups.items():
            values = {each: given.pop(each) for each in names}
            given[name] = kind(**values) if default is None else replace(default, **values)
        command(**given)

    vars(called)["__signature__"] = inspect.Signature(parameters)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _options(kind: type, default: Any, taken: Collection[str]) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default if default is None else getattr(default, field.name),
            annotation=hints[field.name],
        )
        for field in fields(kind)
        if _option(hints[field.name]) and field.name not in taken
    ]


def _option(annotation: Any) -> OptionInfo | None:
    return next((part for part in get_args(annotation) if isinstance(part, OptionInfo)), None)


def in_options(text: str) -> str:
    """An error of the library with the option names of the running command: "press='none'" becomes "--press none".

    Only names of the command's own options are changed; text inside specs ("exploiter:nice=dove") and quotes is not.
    """
    context = _CLICK.globals.get_current_context(silent=True)
    parameters = [] if context is None else context.command.params
    options = {each.name: max(each.opts, key=len) for each in parameters if each.param_type_name == "option"}

    def typed(match: re.Match[str]) -> str:
        if (name := options.get(match["name"])) is None:
            return match[0]
        value = match["value"].strip("'") or "''"
        return name if value == "True" else f"{name} {value}"

    return re.sub(f"{_ASSIGNED}|{_QUOTED}", typed, text)


def as_arguments(options: Any, usual: Any) -> list[str]:
    """The arguments for these options, without those that are as usual: ["--years", "3", "--paper-code"]."""
    hints = get_type_hints(type(options), include_extras=True)
    arguments: list[str] = []
    for field in fields(options):
        value, option = getattr(options, field.name), _option(hints[field.name])
        if value == getattr(usual, field.name) or option is None:
            continue
        own = str(option.default)  # within Annotated: its name, if it differs from the field's
        arguments.append(own if own.startswith("--") else f"--{field.name.replace('_', '-')}")
        if value is not True:
            arguments.append(",".join(map(str, value)) if isinstance(value, tuple) else str(value))
    return arguments
