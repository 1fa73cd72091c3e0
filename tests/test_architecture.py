"""Who may import whom. What no library file may hold (`assert`, handlers that swallow everything) ruff says."""

import ast
import functools
import importlib
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.processes import python
from tools.rooms import PAGE, circles, file_graph, folder_sizes, imported, modules, room_graph, written

ROOT = Path(__file__).resolve().parents[1]

# Data flows one way: rules, then players, then measuring, then learning. Also within functions.
MAY_IMPORT: dict[str, set[str]] = {
    "welfare_env": set(),
    "modal_env": set(),
    "agents": {"welfare_env", "modal_env"},
    "evaluation": {"welfare_env", "modal_env", "agents"},
    "training": {"welfare_env", "modal_env", "agents", "evaluation"},
}

OUTSIDE = {"research", "benchmarks", "tools", "examples", "tests"}  # not in the wheel

# What an import never loads.
HEAVY = {
    "welfare_env": {"agents", "torch", "ray", "tornado", "matplotlib", "diplomacy"},
    "modal_env": {"numba", "scipy", "matplotlib", "pygambit", "typer", "torch", "ray", "welfare_env"},
    "training.modal": {"torch", "ray", "tensorboardX", "matplotlib"},
}


@functools.cache
def imports() -> list[tuple[str, str]]:
    """(module, top-level name) of every absolute import; a relative one cannot leave its package."""
    sources = {name: file.read_text(encoding="utf-8") for name, file in modules().items()}
    return [(name, found.partition(".")[0]) for name, source in sources.items() for found in imported(source)]


def test_every_library_that_is_imported_is_declared() -> None:
    """And does not come by chance, as another's dependency."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {
        re.split(r"[^\w-]", requirement)[0].lower()
        for group in (project["dependencies"], *project["optional-dependencies"].values())
        for requirement in group
    }
    distributions = packages_distributions()
    undeclared = {
        found
        for _, found in imports()
        if found not in {*sys.stdlib_module_names, *MAY_IMPORT}
        and declared.isdisjoint(re.sub("[_.]", "-", name).lower() for name in distributions.get(found, ()))
    }
    assert undeclared == set()


def test_imports_go_one_way() -> None:
    forbidden = {package: (MAY_IMPORT.keys() | OUTSIDE) - may - {package} for package, may in MAY_IMPORT.items()}
    assert [(name, found) for name, found in imports() if found in forbidden[name.partition(".")[0]]] == []


@pytest.mark.parametrize("name", sorted(folder.name for folder in (ROOT / "environments").iterdir()))
def test_other_distributions_import_what_is_there(name: str) -> None:
    """Their own tests need libraries that are not here."""
    for file in (ROOT / "environments" / name).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MAY_IMPORT:
                there = importlib.import_module(str(node.module))
                assert [each.name for each in node.names if not hasattr(there, each.name)] == [], (
                    f"{file}: {node.module}"
                )


# Room -> the rooms of its package that it may import; errors, checks, progress and the rules are open to all.
MAY_IMPORT_ROOMS: dict[str, set[str]] = {
    "welfare_env/board": set(),
    "welfare_env/engine": {"welfare_env/board"},
    "welfare_env/render": {"welfare_env/board"},
    "welfare_env/game": {"welfare_env/board", "welfare_env/engine", "welfare_env/render"},
    "welfare_env/imports": {"welfare_env/board", "welfare_env/game", "welfare_env/render"},
    "welfare_env/envs": {"welfare_env/board", "welfare_env/engine", "welfare_env/game", "welfare_env/render"},
    "modal_env/logic": set(),
    "modal_env/games": {"modal_env/logic"},
    "modal_env/dynamics": {"modal_env/logic", "modal_env/games"},
    "modal_env/best_replies": {"modal_env/logic", "modal_env/games"},
    "modal_env/envs": {"modal_env/logic", "modal_env/games"},
    "modal_env/pictures": {"modal_env/dynamics"},
    "modal_env/cli": {
        f"modal_env/{room}" for room in ("logic", "games", "dynamics", "best_replies", "envs", "pictures")
    },
}
MOST_FILES, MOST_LINES = 15, 600


def test_no_circle_of_files() -> None:
    """Wherever the import stands: within a function and under TYPE_CHECKING, too."""
    assert circles(file_graph()) == []


def test_no_circle_of_rooms() -> None:
    assert [circles(room_graph(package)) for package in MAY_IMPORT] == [[]] * len(MAY_IMPORT)


def test_a_circle_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    statements = ["from agents.b import x", "import agents.c", "def f():\n    import agents.a", "import agents.a"]
    for name, statement in zip("abcd", statements, strict=True):
        (tmp_path / "agents" / f"{name}.py").write_text(statement)
    assert circles(file_graph(tmp_path)) == [["agents.a", "agents.b", "agents.c"]]


def test_imports_by_name_and_for_types_are_seen() -> None:
    source = "if TYPE_CHECKING:\n    from a import b\nfrom . import here\n"
    source += "import_module('c.d')\nimportlib.import_module('e')\nf('g')"
    assert sorted(imported(source)) == ["a.b|a", "c.d", "e"]


def test_rooms_import_one_way() -> None:
    graph = room_graph("welfare_env") | room_graph("modal_env")
    assert {room for room in graph if (ROOT / room).is_dir()} <= MAY_IMPORT_ROOMS.keys()
    wrong = {
        (room, other)
        for room, others in graph.items()
        for other in others & MAY_IMPORT_ROOMS.keys()
        if other not in MAY_IMPORT_ROOMS.get(room, set())
    }
    assert wrong == set()


def test_rooms_and_files_are_small() -> None:
    crowded = {folder: count for folder, count in folder_sizes().items() if count > MOST_FILES}
    lines = {name: len(file.read_text(encoding="utf-8").splitlines()) for name, file in modules().items()}
    long = {name: count for name, count in lines.items() if count > MOST_LINES}
    assert (crowded, long) == ({}, {})


def test_the_page_on_architecture_shows_the_imports_of_today() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "write it anew: python -m tools.rooms"


def test_the_page_on_architecture_names_every_room() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rooms = {folder for folder in folder_sizes() if folder.count("/") == 1}
    assert [room for room in sorted(rooms) if f"| `{room}` |" not in page] == []
    named = re.findall(r"^\| `([\w/]+)` \|", page, re.MULTILINE)
    assert [name for name in named if not (ROOT / name).is_dir() and not (ROOT / f"{name}.py").exists()] == []


@pytest.mark.parametrize("module", HEAVY)
def test_an_import_stays_light(module: str) -> None:
    assert python(f"import sys, {module}; print(*sorted({HEAVY[module]!r} & sys.modules.keys()))", cwd=ROOT) == "\n"


def test_no_file_names_a_place_outside_the_repository() -> None:
    outside = [b"../" + b"shared", b"/work/" + b"shared"]  # in two parts, or this file would be found
    wrong = [
        str(file.relative_to(ROOT))
        for file in _project_files()
        if file != ROOT / ".ci" / "run" and any(place in file.read_bytes() for place in outside)
    ]
    assert wrong == []


def _project_files() -> Iterator[Path]:
    """Every file of the tree but what tools and runs leave behind."""
    left_behind = {"runs", "build", "dist", "htmlcov", "__pycache__"}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in left_behind and (name[0] != "." or name == ".ci")]
        yield from (Path(folder, name) for name in files if Path(folder, name).is_file())


FACES = ("welfare_env", "modal_env", "agents", "agents.lm", "agents.specs", "evaluation", "training")


@pytest.mark.parametrize("face", FACES)
def test_every_name_of_a_face_can_be_imported_and_is_listed(face):
    module = importlib.import_module(face)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        getattr(module, name)
    if "." not in face:
        assert set(module.__all__) <= set(dir(module))
        assert not {"Any", "sys", "Path"} & set(dir(module))
