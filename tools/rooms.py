"""The import graph, read from the source: between files, and between rooms (the folders of the five packages).

``python -m tools.rooms`` prints the table of rooms and rewrites the diagrams of ARCHITECTURE.md;
tests/test_architecture.py compares the page with the code, and checks for import cycles with `circles`.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
PACKAGES = ("welfare_env", "modal_env", "agents", "training", "evaluation")
BEGIN, END = "<!-- rooms:begin -->", "<!-- rooms:end -->"

Graph = Mapping[str, set[str]]


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Name of each module of the five packages -> its file."""
    found = {}
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@functools.cache
def imported(source: str) -> tuple[str, ...]:
    """The names that a source may import, also within functions, under TYPE_CHECKING, or by `import_module`.

    ``from a import b`` gives "a.b" and then "a", since b may be a module or an attribute of a.
    """
    return tuple(_imported(source))


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from (f"{node.module}.{alias.name}|{node.module}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called == "import_module" and isinstance(node.args[0].value, str):
                yield node.args[0].value


def file_graph(root: Path = ROOT) -> Graph:
    """Module -> our other modules that it imports."""
    files = modules(root)
    graph = {}
    for name, file in files.items():
        choices = (one.split("|") for one in imported(file.read_text(encoding="utf-8")))
        found = (next((choice for choice in several if choice in files), None) for several in choices)
        graph[name] = {other for other in found if other is not None} - {name}
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """The strongly connected components with at least two nodes."""
    reached = {name: _reached(graph, name) for name in graph}
    groups = {frozenset(b for b in reached[a] if a in reached[b]) for a in graph if a in reached[a]}
    return sorted(sorted(group) for group in groups)


def _reached(graph: Graph, start: str) -> set[str]:
    """All nodes reachable in at least one step."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def room_of(file: Path, root: Path = ROOT) -> str:
    """The room of a file: "agents/lm"; a file outside the folders is its own room, "agents/policy"; a package's
    `__init__` is "agents"."""
    package, *rest = file.relative_to(root).with_suffix("").parts
    return package if rest == ["__init__"] else f"{package}/{rest[0]}"


def room_graph(package: str, root: Path = ROOT) -> Graph:
    """Room -> the rooms of its package that it imports, without `__init__` and `__main__`, which may import all."""
    files = modules(root)
    rooms = {name: room_of(file, root) for name, file in files.items() if name.partition(".")[0] == package}
    rooms = {name: room for name, room in rooms.items() if room != package and not room.endswith("__main__")}
    graph: dict[str, set[str]] = {room: set() for room in rooms.values()}
    for name, others in file_graph(root).items():
        if name in rooms:
            graph[rooms[name]] |= {rooms[other] for other in others if other in rooms} - {rooms[name]}
    return graph


def diagram(package: str, root: Path = ROOT) -> str:
    """The rooms of a package as a mermaid diagram; an arrow leads from the importing to the imported room.

    Transitive imports (a imports c, where a imports b and b imports c) are not drawn, nor are rooms that all others
    import (errors, checks, progress).
    """
    graph = room_graph(package, root)
    graph = {room: others for room, others in graph.items() if others or (root / room).is_dir()}
    lines = [f"    {_short(a)} --> {_short(b)}" for a in sorted(graph) for b in sorted(_drawn(graph, a))]
    return "\n".join(["```mermaid", "graph TD", *lines, "```"])


def _drawn(graph: Graph, room: str) -> set[str]:
    others = {other for other in graph[room] if other in graph}
    implied = {far for near in others for far in _reached_in(graph, near) if room not in _reached_in(graph, near)}
    return others - implied


def _reached_in(graph: Graph, start: str) -> set[str]:
    return _reached({room: others & graph.keys() for room, others in graph.items()}, start)


def _short(room: str) -> str:
    return room.partition("/")[2]


def diagrams(root: Path = ROOT) -> str:
    """The text between the markers in ARCHITECTURE.md."""
    return "\n\n".join(f"`{package}`\n\n{diagram(package, root)}" for package in PACKAGES)


def written(page: str) -> str:
    """The page with the current diagrams."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{diagrams()}\n{END}{after}"


def folder_sizes(root: Path = ROOT) -> dict[str, int]:
    """Folder -> number of its Python files, without `__init__`."""
    files = [file for file in modules(root).values() if file.name != "__init__.py"]
    folders = [file.parent.relative_to(root).as_posix() for file in files]
    return {folder: folders.count(folder) for folder in sorted(set(folders))}


def main() -> None:
    lines = {name: len(file.read_text(encoding="utf-8").splitlines()) for name, file in modules().items()}
    for folder, count in folder_sizes().items():
        total = sum(lines[name] for name, file in modules().items() if file.parent == ROOT / folder)
        print(f"{folder:24} {count:3} files {total:6,} lines")
    for circle in circles(file_graph()):
        print("circle:", ", ".join(circle))
    for package in PACKAGES:
        for circle in circles(room_graph(package)):
            print("circle of rooms:", ", ".join(circle))
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print("longest:", *(f"{name} ({lines[name]})" for name in sorted(lines, key=lambda one: -lines[one])[:5]))


if __name__ == "__main__":
    main()
