"""Options that several commands share: a dataclass, each field of which becomes an option of the command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from importlib import import_module
from typing import Any, get_args, get_type_hints

import typer
from typer.models import OptionInfo

_CLICK = import_module(typer.Context.__mro__[1].__module__.rpartition(".")[0])  # click, or the copy in newer typers
_ASSIGNED = r"(?<![^\s(])(?<!\w\()(?P<name>[a-z_]+)=(?P<value>'[\w.:*+-]*'|[\w.*+-]*[\w*+-])(?![\w=]| or False)"
_QUOTED = r"""(?<!\w)(?:'[^']*'(?!\w)|"[^"]*")"""  # an apostrophe within a word is not a quotation mark
_ASSIGNED_OR_QUOTED = re.compile(f"{_ASSIGNED}|{_QUOTED}")


@dataclass(frozen=True)
class _Group:
    """The options that replace one parameter: a dataclass, the names of its fields that become options, and an instance
    with the defaults (None: the fields' own)."""

    kind: type
    names: tuple[str, ...]
    defaults: Any

    def build(self, given: dict[str, Any]) -> Any:
        """Makes the dataclass from the options in `given`, and removes them there."""
        values = {name: given.pop(name) for name in self.names}
        return self.kind(**values) if self.defaults is None else replace(self.defaults, **values)

    def parameters(self) -> list[inspect.Parameter]:
        hints = get_type_hints(self.kind, include_extras=True)
        own = {field.name: field.default for field in fields(self.kind)}
        defaults = own if self.defaults is None else vars(self.defaults)
        return [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hints[name])
            for name in self.names
        ]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """For typer: in place of each parameter that is a dataclass, the command gets an option for each of its fields.

    Fields are annotated like parameters of a command: ``years: Annotated[int, typer.Option(...)] = 10``. Other fields,
    and those for which the command has its own parameter, do not become options. If the parameter has a default, its
    fields are the options' defaults: ``config: TrainConfig = SELF_PLAY``.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, _Group] = {}
    declared = inspect.signature(command).parameters
    for name, parameter in declared.items():
        if is_dataclass(hints[name]) and isinstance(hints[name], type):
            groups[name] = _group(hints[name], parameter, declared)
            parameters += groups[name].parameters()
        else:
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group.build(given)
        command(**given)

    vars(called)["__signature__"] = inspect.Signature(parameters)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


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

    return _ASSIGNED_OR_QUOTED.sub(typed, text)


def _group(kind: type, parameter: inspect.Parameter, declared: Collection[str]) -> _Group:
    hints = get_type_hints(kind, include_extras=True)
    names = tuple(field.name for field in fields(kind) if _is_option(hints[field.name]) and field.name not in declared)
    return _Group(kind, names, None if parameter.default is parameter.empty else parameter.default)


def as_arguments(options: Any) -> list[str]:
    """The arguments for these options, without those at their default: ["--years", "3", "--paper-code"]."""
    hints = get_type_hints(type(options), include_extras=True)
    arguments: list[str] = []
    for field in fields(options):
        value = getattr(options, field.name)
        if value == field.default or not _is_option(hints[field.name]):
            continue
        option = next(part for part in get_args(hints[field.name]) if isinstance(part, OptionInfo))
        own = str(option.default)  # within Annotated: its name, if it differs from the field's
        arguments.append(own if own.startswith("--") else f"--{field.name.replace('_', '-')}")
        if value is not True:
            arguments.append(",".join(map(str, value)) if isinstance(value, tuple) else str(value))
    return arguments


def _is_option(annotation: Any) -> bool:
    return any(isinstance(part, OptionInfo) for part in get_args(annotation))
