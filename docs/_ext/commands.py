"""The commands of ``welfare-env`` with their arguments and options, read from the commands."""

import re
from typing import Any

from docutils import nodes
from faces import parsed
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def leaves(command: Any, path: tuple[str, ...]) -> Any:
    """All subcommands of a command, each with the words that call it."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name in command.list_commands(None):
        below = command.get_command(None, name)
        if not getattr(below, "hidden", False):
            yield from leaves(below, (*path, name))


def plain(text: str) -> str:
    """Help text as reStructuredText: markup is escaped, except for code in backticks."""
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"([*_|\\])", r"\\\1", re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)) if "`" not in text else text


def default_of(option: Any) -> str:
    """The default of an option as text; "" if it has none worth showing."""
    shown, value = option.show_default, option.default
    if isinstance(shown, str):
        return shown
    if shown is False or value is None or value == () or value == [] or callable(value):
        return ""
    if isinstance(value, bool):
        return "yes" if value and option.secondary_opts else ""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def row(option: Any) -> list[str]:
    """One argument or option as a row of the table."""
    is_argument = option.param_type_name == "argument"
    name = option.name.upper() if is_argument else ", ".join(option.opts + option.secondary_opts)
    takes = "" if is_argument or getattr(option, "is_flag", False) else f" {option.metavar or option.name.upper()}"
    default = default_of(option)
    cells = [f"``{name}{takes}``", plain(option.help or ""), f"``{default}``" if default else ""]
    return [f"   {'* -' if not number else '  -'} {cell}" for number, cell in enumerate(cells)]


class Commands(SphinxDirective):
    """A section for each command."""

    def run(self) -> list[nodes.Node]:
        from typer.main import get_command

        from evaluation.cli.commands import app

        return [self.section(path, leaf) for path, leaf in leaves(get_command(app), ("welfare-env",))]

    def section(self, path: tuple[str, ...], command: Any) -> nodes.section:
        name = " ".join(path)
        section = nodes.section("", nodes.title("", name), ids=[nodes.make_id("command " + " ".join(path[1:]))])
        paragraphs = re.split(r"\n\s*\n", (command.help or "").replace("\b", "").replace("\f", ""))
        lines = [line for paragraph in paragraphs for line in (plain(paragraph), "")]
        options = [option for option in command.params if not getattr(option, "hidden", False)]
        if options:
            lines += [".. list-table::", "   :header-rows: 1", "   :widths: 32 54 14", ""]
            lines += ["   * - argument or option", "     - what it does", "     - default"]
        lines += [line for option in options for line in row(option)]
        section += parsed(self, lines)
        return section


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
