"""Which file of modal_env imports which: one way between rooms, and no circle of files."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted((ROOT / "modal_env").rglob("*.py"))
}
# logic <- games <- dynamics, search, envs <- cli; files beside the rooms are for all of them.
BELOW = {
    "logic": set(),
    "games": {"logic"},
    "dynamics": {"logic", "games"},
    "search": {"logic", "games"},
    "envs": {"logic", "games"},
    "cli": {"logic", "games", "dynamics", "search", "envs"},
}
FACE = {"modal_env", "modal_env.cli.commands"}


def imports(tree: ast.AST) -> Iterator[str]:
    """The files of modal_env that are imported anywhere in a file, in functions and under TYPE_CHECKING too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            files = {f"{node.module}.{alias.name}" for alias in node.names} & FILES.keys()
            names = [*files] if len(files) == len(node.names) else [*files, node.module or ""]
        else:
            continue
        yield from (name for name in names if name in FILES)


@cache
def imported(name: str) -> frozenset[str]:
    return frozenset(imports(ast.parse(FILES[name].read_text(encoding="utf-8"))))


def room(name: str) -> str:
    return name.split(".")[1] if name.count(".") > 1 else ""


def test_no_circle_of_files() -> None:
    TopologicalSorter({name: imported(name) for name in FILES}).prepare()  # which raises CycleError


@pytest.mark.parametrize("name", sorted(FILES.keys() - FACE))
def test_rooms_import_one_way(name: str) -> None:
    allowed = BELOW[room(name)] | {room(name), ""} if room(name) in BELOW else {""}
    assert [other for other in imported(name) if room(other) not in allowed or other in FACE] == []


def test_imports_in_functions_and_for_types_are_seen() -> None:
    source = (
        "if TYPE_CHECKING:\n    from modal_env.cli import plots, tables\n"
        "def run():\n    from modal_env.logic.library import POST\n    import modal_env.checks\n"
    )
    expected = {"modal_env.cli.plots", "modal_env.cli.tables", "modal_env.logic.library", "modal_env.checks"}
    assert set(imports(ast.parse(source))) == expected
