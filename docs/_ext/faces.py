"""Docstrings on the site: Markdown tables, links to the reference, lists of names, spaces and library agents."""

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging

FACES = ("welfare_env", "modal_env", "agents", "training", "evaluation")
ALL = (*FACES, "modal_env.best_replies", "agents.lm", "agents.rl", "evaluation.exact")
HEADS = {"function": "Functions", "class": "Classes", "exception": "Errors"}
RETURNED = "Classes of their attributes and results"
LOG = logging.getLogger(__name__)
MOCKED = ["ray", "safetensors", "torch"]  # not in the extra `docs`; some classes only need their names
SPACES = {  # code that makes each environment
    "welfare_env.make": ('welfare_env.make(press="text")', "welfare_env.make(press=None)"),
    "welfare_env.parallel_env": ('welfare_env.parallel_env(press="text")', "welfare_env.parallel_env(press=None)"),
    "agents.seat_env": (
        'gymnasium.make("welfare_env:WelfareDiplomacySeat-v0", seat="FRANCE", others="dove").unwrapped',
    ),
    "modal_env.make": tuple(f'modal_env.make(actions="{mode}")' for mode in ("library", "formula", "tokens")),
}


@functools.cache
def public_classes() -> frozenset[type]:
    """The classes that the packages export, and those that have a page of their own."""
    from welfare_env.envs.vector import VectorEnv

    values = [value_of(face, name) for face in ALL for name in names_of(face)]
    return frozenset(filter(inspect.isclass, values)) | {VectorEnv}


def value_of(module: str, name: str) -> Any:
    """What a name of a module stands for."""
    with mock(MOCKED):
        return getattr(importlib.import_module(module), name)


def names_of(face: str) -> list[str]:
    """The public names of a package, without its constants."""
    return [name for name in importlib.import_module(face).__all__ if not name.isupper()]


def is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in FACES


def hidden_bases(cls: type) -> list[type]:
    """The base classes of a class that have no entry: the site shows what they define with the class."""
    return [base for base in cls.__mro__[1:] if is_ours(base) and base not in public_classes()]


def classes_in(annotation: object, module: str) -> Iterator[type]:
    """Our own classes that an annotation names."""
    for word in re.findall(r"\w+", str(annotation)):
        found = vars(sys.modules[module]).get(word)
        imported = re.search(rf"^    from ([\w.]+) import .*\b{word}\b", inspect.getsource(sys.modules[module]), re.M)
        if found is None and imported and imported[1].partition(".")[0] in FACES:  # for the type checker only
            try:
                found = value_of(imported[1], word)
            except ImportError:  # of an extra
                continue
        if inspect.isclass(found) and is_ours(found):
            yield found


def classes_of(value: Any) -> Iterator[type]:
    """Our own classes that a function returns, or that a class has as attributes or results of its methods."""
    if inspect.isfunction(value):
        yield from classes_in(value.__annotations__.get("return", ""), value.__module__)
    for cls in [value, *hidden_bases(value)] if inspect.isclass(value) else ():
        for name, member in vars(cls).items():
            inner = (
                getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
            )
            if not name.startswith("_") and inspect.isfunction(inner):
                yield from classes_of(inner)
        for name, annotation in inspect.get_annotations(cls).items():
            if not name.startswith("_"):
                yield from classes_in(annotation, cls.__module__)


@functools.cache
def returned_classes(face: str) -> list[type]:
    """The classes that users of a package meet without importing them: what its public names return, and so on."""
    todo, found = [value_of(face, name) for name in names_of(face)], set()
    while todo:
        fresh = set(classes_of(todo.pop())) - found - public_classes()
        found |= fresh
        todo += fresh
    return sorted(found, key=lambda cls: cls.__name__)


@functools.cache
def homes() -> dict[str, str]:
    """The names of the reference that are unique, each with its package or module."""
    found: dict[str, set[str]] = {}
    for face in FACES:
        for name in importlib.import_module(face).__all__:
            found.setdefault(name, set()).add(face)
    for face in ALL:
        for cls in returned_classes(face):
            found.setdefault(cls.__name__, set()).add(cls.__module__)
    return {name: next(iter(places)) for name, places in found.items() if len(places) == 1}


def linked(line: str, homes: dict[str, str]) -> str:
    """A docstring line in which `Name` and `Name.member` link to a name, and `package.module` to its page."""

    def link(found: re.Match[str]) -> str:
        text, (head, dot, member) = found[1], found[1].partition(".")
        if head in homes and head not in FACES:
            return f":py:obj:`{text} <{homes[head]}.{head}{dot}{member}>`"
        return f":doc:`{text} </reference/{pages()[text]}>`" if text in pages() and text not in FACES else found[0]

    return re.sub(r"(?<![`:\w])`([\w.]+)`(?!`)", link, line)


@functools.cache
def pages() -> dict[str, str]:
    """The modules whose docstring is on a page of the reference, each with the page."""
    texts = {path.stem: path.read_text() for path in (Path(__file__).parents[1] / "reference").glob("*.md")}
    return {module: page for page, text in texts.items() for module in re.findall(r"automodule:: ([\w.]+)", text)}


def tables(lines: list[str]) -> list[str]:
    """Convert Markdown tables in the lines to list tables."""
    turned: list[str] = []
    for number, line in enumerate(lines):
        if not line.startswith("|"):
            turned.append(line)
            continue
        if not (number and lines[number - 1].startswith("|")):
            turned += ["", ".. list-table::", "   :header-rows: 1", ""]
        if not set(line) <= set("|-: "):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            turned += [f"   {'* -' if not index else '  -'} {cell.strip('| ')}" for index, cell in enumerate(cells)]
        if number + 1 == len(lines) or not lines[number + 1].startswith("|"):
            turned.append("")
    return turned


class Spaces(Directive):
    """The action and observation spaces of a player, from the environments."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        lines = [".. list-table::", "   :header-rows: 1", "   :widths: 30 30 40", "", "   * - environment"]
        lines += ["     - action space", "     - observation space"]
        for text in SPACES[self.arguments[0]]:
            names = {name: importlib.import_module(name) for name in ("welfare_env", "modal_env", "gymnasium")}
            env = eval(text, names)  # noqa: S307 (a text of this file)
            agent = getattr(env, "possible_agents", [None])[0]
            spaces = [env.action_space, env.observation_space]
            found = [space(agent) if agent else space for space in spaces]
            lines += [f"   * - ``{text}``", *(f"     - ``{short(space)}``" for space in found)]
        return parsed(self, lines)


def short(space: Any) -> str:
    """A space as text; what all players have in common appears once."""
    kind = type(space).__name__
    if kind == "Dict":
        inner = {name: short(each) for name, each in space.items()}
        alike = set(inner.values())
        if len(inner) > 2 and len(alike) == 1:
            return f"{{recipient: {alike.pop()}}}"
        return "{" + ", ".join(f"{name}: {text}" for name, text in inner.items()) + "}"
    if kind == "Text":
        return f"Text({space.min_length} to {space.max_length} characters)"
    if kind == "MultiDiscrete":
        return f"MultiDiscrete({len(space.nvec)} numbers below {space.nvec.max()})"
    if kind == "Box":
        return f"Box({space.low.min():g} to {space.high.max():g}, {space.shape}, {space.dtype})"
    return re.sub(r"\s+", " ", str(space))


class Library(Directive):
    """The agents of modal_env's library, one per row."""

    def run(self) -> list[nodes.Node]:
        modal_env = importlib.import_module("modal_env")
        lines = [".. list-table::", "   :header-rows: 1", "", "   * - name", "     - formula", "     - source"]
        for name, agent in modal_env.LIBRARY.items():
            shown = f".. py:data:: modal_env.{name}" if name in modal_env.__all__ else name
            lines += [f"   * - {shown}", f"     - ``{agent.text}``", f"     - {modal_env.SOURCES[name]}"]
        return parsed(self, lines)


class Names(Directive):
    """The public functions, classes and errors of a package, by kind, and the classes that they return.

    Other names have an entry on the page. A class has the members of its base classes without an entry, too.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        face = importlib.import_module(self.arguments[0])
        kinds: dict[str, list[str]] = {"function": [], "class": [], "exception": []}
        described = {"errors", "library"} | set(getattr(face, "LIBRARY", ()))
        for name in sorted(set(names_of(face.__name__)) - described):
            kind = "function" if name.islower() else "exception" if name.endswith("Error") else "class"
            kinds[kind].append(name)
        lines = []
        for kind, names in kinds.items():
            lines += [f".. rubric:: {HEADS[kind]}", ""] if names else []
            for name in names:
                lines += [f".. auto{kind}:: {face.__name__}.{name}"]
                lines += member_options(value_of(face.__name__, name)) if kind == "class" else []
                lines.append("")
        earlier = {cls for other in ALL[: ALL.index(face.__name__)] for cls in returned_classes(other)}
        returned = [cls for cls in returned_classes(face.__name__) if cls not in earlier]
        lines += [f".. rubric:: {RETURNED}", ""] if returned else []
        for cls in returned:
            lines += [f".. autoclass:: {cls.__module__}.{cls.__qualname__}", *member_options(cls), ""]
        return parsed(self, lines)


def member_options(cls: object) -> list[str]:
    """Options of autoclass: all members with a text, inherited ones only if their class has no entry of its own."""
    hidden = hidden_bases(cls) if inspect.isclass(cls) else []
    if inspect.isclass(cls) and all(base is object or is_ours(base) for base in cls.__mro__):
        for place in (cls, *hidden):
            warn_of_missing_texts(place)
    if not hidden:
        return ["   :members:"]
    listed = [base.__name__ for base in cls.__mro__[1:] if base not in hidden]
    return ["   :members:", f"   :inherited-members: {', '.join(listed)}"]


def warn_of_missing_texts(cls: type) -> None:
    """Reports methods and properties that autodoc would leave out, so that no attribute is missing on the site."""
    for name, member in vars(cls).items():
        is_shown = isinstance(member, property | functools.cached_property) or inspect.isfunction(member)
        is_listed = re.search(rf"^ +(?:\w+, )*{name}\b.*:", cls.__doc__ or "", re.MULTILINE)
        if is_shown and not name.startswith("_") and not is_listed and not inspect.getdoc(getattr(cls, name)):
            LOG.warning("%s.%s.%s has no docstring, so the reference lacks it", cls.__module__, cls.__name__, name)


def inherited_attributes(cls: object) -> list[str]:
    """The "Attributes" in the docstrings of the base classes without an entry."""
    found = []
    for base in hidden_bases(cls) if inspect.isclass(cls) else ():
        text = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        block = re.search(r"^Attributes:\n(?:(?: .*)?\n?)*", text, re.M)
        found += ["", *block[0].splitlines(), ""] if block else []
    return found


def parsed(directive: Directive, lines: list[str]) -> list[nodes.Node]:
    """Parse lines of reStructuredText to nodes, in place of a directive."""
    box = nodes.container()
    directive.state.nested_parse(StringList(lines, "generated"), directive.content_offset, box)
    return box.children


def setup(app: Sphinx) -> dict[str, bool]:
    def processed(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
        face = "modal_env" if name.startswith("modal_env") else "welfare_env"
        lines += inherited_attributes(obj) if what == "class" else []
        lines[:] = [linked(line, homes() | {"ActionError": face}) for line in tables(lines)]

    def joined(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
        """Undoes what napoleon makes of a property's "Short name: season, year": it takes the first part for a type."""
        kind = next((line for line in lines if line.startswith(":type: ")), "")
        if what == "property" and kind:
            lines.remove(kind)
            lines[0] = f"{kind.removeprefix(':type: ')}: {lines[0]}"

    def skipped(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
        """Leaves out fields of named tuples that have no text but Python's."""
        return True if (inspect.getdoc(obj) or "").startswith("Alias for field number") else None

    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", processed, priority=400)  # before napoleon reads "Attributes"
    app.connect("autodoc-process-docstring", joined, priority=600)  # and after it
    app.add_directive("spaces", Spaces)
    app.add_directive("library", Library)
    app.add_directive("names", Names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
