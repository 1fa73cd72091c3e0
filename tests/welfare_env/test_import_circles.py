"""No file of welfare_env imports itself, over whatever others, wherever the import stands."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAME = "welfare_env"


def _imported(source: str, modules: set[str]) -> Iterator[str]:
    """The modules that a source imports: in functions and under TYPE_CHECKING, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules else node.module


def _check(sources: dict[str, str]) -> None:
    """Raises:
    CycleError: there is a circle.
    """
    graph = {name: set(_imported(source, set(sources))) for name, source in sources.items()}
    TopologicalSorter(graph).prepare()


def test_there_is_no_circle() -> None:
    files = {file: file.relative_to(ROOT).with_suffix("").parts for file in sorted((ROOT / NAME).rglob("*.py"))}
    _check(
        {".".join(parts).removesuffix(".__init__"): file.read_text(encoding="utf-8") for file, parts in files.items()}
    )


def test_a_circle_would_be_seen() -> None:
    lazy = "def f():\n    from a.c import x\n"
    with pytest.raises(CycleError):
        _check({"a": "", "a.b": lazy, "a.c": "from a import b\n"})
