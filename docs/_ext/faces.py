"""Docstrings on the site: Markdown tables, links to public names, lists of names, spaces and library agents."""

import importlib
import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

FACES = ("welfare_env", "modal_env", "agents", "training", "evaluation")
HEADS = {"function": "Functions", "class": "Classes", "exception": "Errors"}
SPACES = {  # code that makes each environment
    "welfare_env.make": ('welfare_env.make(press="text")', "welfare_env.make(press=None)"),
    "welfare_env.parallel_env": ('welfare_env.parallel_env(press="text")', "welfare_env.parallel_env(press=None)"),
    "agents.seat_env": (
        'gymnasium.make("welfare_env:WelfareDiplomacySeat-v0", seat="FRANCE", others="dove").unwrapped',
    ),
    "modal_env.make": tuple(f'modal_env.make(actions="{mode}")' for mode in ("library", "formula", "tokens")),
}


def public_names() -> dict[str, str]:
    """The public names that occur in only one package, with that package."""
    homes: dict[str, list[str]] = {}
    for face in FACES:
        for name in importlib.import_module(face).__all__:
            homes.setdefault(name, []).append(face)
    return {name: faces[0] for name, faces in homes.items() if len(faces) == 1}


def linked(line: str, homes: dict[str, str]) -> str:
    """A docstring line in which `Name` links to a public name."""
    return re.sub(
        r"(?<![`:\w])`(\w+)`(?!`)",
        lambda found: f":py:obj:`{found[1]} <{homes[found[1]]}.{found[1]}>`" if found[1] in homes else found[0],
        line,
    )


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
    """The public functions, classes and errors of a package, by kind. Other names have an entry on the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        face = importlib.import_module(self.arguments[0])
        kinds: dict[str, list[str]] = {"function": [], "class": [], "exception": []}
        described = {"errors", "library"} | set(getattr(face, "LIBRARY", ()))
        for name in sorted(set(face.__all__) - described):
            if not name.isupper():
                kind = "function" if name.islower() else "exception" if name.endswith("Error") else "class"
                kinds[kind].append(name)
        lines = []
        for kind, names in kinds.items():
            lines += [f".. rubric:: {HEADS[kind]}", ""] if names else []
            for name in names:
                lines += [f".. auto{kind}:: {face.__name__}.{name}"]
                lines += ["   :members:"] if kind == "class" and face.__name__ in FACES else []
                lines.append("")
        return parsed(self, lines)


def parsed(directive: Directive, lines: list[str]) -> list[nodes.Node]:
    """Parse lines of reStructuredText to nodes, in place of a directive."""
    box = nodes.container()
    directive.state.nested_parse(StringList(lines, "generated"), directive.content_offset, box)
    return box.children


def setup(app: Sphinx) -> dict[str, bool]:
    homes: dict[str, str] = {}

    def processed(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
        if not homes:
            homes.update(public_names())
        face = "modal_env" if name.startswith("modal_env") else "welfare_env"
        lines[:] = [linked(line, homes | {"ActionError": face}) for line in tables(lines)]

    app.connect("autodoc-process-docstring", processed)
    app.add_directive("spaces", Spaces)
    app.add_directive("library", Library)
    app.add_directive("names", Names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
