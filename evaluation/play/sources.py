"""A digest of the code that affects a game: part of the game's key.

The code is found by following imports, also within functions, but not under `if TYPE_CHECKING`. Digests are of the
syntax tree without docstrings, comments and layout, so editing these does not invalidate stored games.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from threading import Lock

import agents
import modal_env
import welfare_env
from evaluation.play import turns

APART = (
    "welfare_env.render",  # only draws games
    "welfare_env.extras",  # only names the extras to install
    "modal_env",  # the other game
    "agents.modal",
    "agents.lm.programs",
    "agents.lm.models.prices",
)
"""Modules that do not affect games of Welfare Diplomacy, although relevant code imports them."""
GAME = "welfare_env"  # imports everything that games and environments need
PACKAGES = ("welfare_env", "modal_env", "agents", "evaluation", "training")
"""The packages of this project. Of the last two, only `evaluation.play.turns` affects games."""

_PARSING = Lock()  # Python 3.11 has one recursion counter for all threads, and fails if two parse at the same time
Import = tuple[str, str]  # a module and the imported name; "" for the module itself


@dataclass(frozen=True)
class Code:
    """The digest and imports of a source file.

    Attributes:
        digest: SHA-256 of its syntax tree.
        imports: everything it imports.
        faces: re-exported name -> the module and name it comes from.
        is_lazy: whether it has a module-level `__getattr__`, which may import any submodule.
    """

    digest: str
    imports: tuple[Import, ...]
    faces: Mapping[str, Import]
    is_lazy: bool


@functools.lru_cache(maxsize=1024)
def read_code(source: bytes, package: str) -> Code:
    """Parse a source file of a package.

    Raises:
        SyntaxError, ValueError: the file is not valid Python.
    """
    with _PARSING:
        tree = ast.parse(source)
    written: list[str] = []
    _write(tree, written, b"__doc__" in source)
    imports = tuple(_imports(tree, package))
    faces = {
        alias.asname or alias.name: (_absolute(node, package), alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    is_lazy = any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)
    return Code(
        hashlib.sha256("".join(written).encode("utf-8", "backslashreplace")).hexdigest(), imports, faces, is_lazy
    )


def _write(node: object, written: list[str], with_texts: bool) -> None:
    """A syntax tree as text, identical in all Python versions; `with_texts` includes docstrings and bare strings."""
    if isinstance(node, ast.JoinedStr):  # Python 3.12 ends the {width} of f"{x:{width}}" with an empty text
        written.append("JoinedStr")
        _write([part for part in node.values if getattr(part, "value", None) != ""], written, with_texts)
    elif isinstance(node, ast.AST):
        written.append(f"{type(node).__name__}(")
        for name, value in ast.iter_fields(node):
            if value is not None and value != []:
                written.append(f"{name}=")
                _write(value, written, with_texts)
        written.append(")")
    elif isinstance(node, list):
        written.append("[")
        for each in node:
            if with_texts or not (isinstance(each, ast.Expr) and isinstance(getattr(each.value, "value", None), str)):
                _write(each, written, with_texts)
        written.append("]")
    else:
        written.append(f"{node!r},")


def _imports(node: ast.AST, package: str) -> Iterator[Import]:
    """All imports below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and getattr(child.test, "id", getattr(child.test, "attr", "")) == "TYPE_CHECKING":
            yield from (found for other in child.orelse for found in _imports(other, package))
        elif isinstance(child, ast.Import):
            names = (alias.name.split(".") for alias in child.names)  # `import a.b.c` binds a, and imports all three
            yield from ((".".join(parts[:count]), "") for parts in names for count in range(1, len(parts) + 1))
        elif isinstance(child, ast.ImportFrom):
            yield from ((_absolute(child, package), alias.name) for alias in child.names)
        else:
            if isinstance(child, ast.Call) and (name := _named_import(child)):
                yield name, ""
            yield from _imports(child, package)


def _named_import(call: ast.Call) -> str:
    """The module of `import_module("a.b")`."""
    called = getattr(call.func, "id", getattr(call.func, "attr", ""))
    first = call.args[0] if call.args else None
    is_named = called == "import_module" and isinstance(first, ast.Constant) and isinstance(first.value, str)
    return str(first.value) if is_named and isinstance(first, ast.Constant) else ""


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The absolute module of ``from MODULE import ...``, which may be relative."""
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


class Sources:
    """The source files of packages, as they are when this object is created.

    Args:
        folders: the folders of the packages.
        playing: the file of `evaluation.play.turns`. Its imports are covered by the players' modules.
    """

    def __init__(self, folders: Iterable[Path], playing: Path) -> None:
        self._files = {
            ".".join(parts[:-1] if parts[-1] == "__init__" else parts): (path.read_bytes(), parts[-1] == "__init__")
            for folder in folders
            for path in sorted(folder.rglob("*.py"))
            if (parts := path.relative_to(folder.parent).with_suffix("").parts)
        }
        self._playing = playing.read_bytes()
        self._digests: dict[frozenset[str], str] = {}
        self._reached: dict[str, frozenset[str]] = {}

    @property
    def digest_of_all(self) -> str:
        """SHA-256 of the bytes of all files that may affect a game; detects any change."""
        digest = hashlib.sha256(self._playing)
        for name, (source, _) in self._files.items():
            if not _is_apart(name):
                digest.update(f"\0{name}\0".encode() + source)
        return digest.hexdigest()

    def digest(self, modules: Iterable[str]) -> str:
        """SHA-256 of the code that affects a game with players from these modules, including all imports."""
        starts = frozenset(modules)
        if starts not in self._digests:
            reached = sorted(self.reached(GAME).union(*map(self.reached, starts)))
            parts = [f"{name} {self._code(name).digest}" for name in reached]
            parts.append(read_code(self._playing, "evaluation.play").digest)
            self._digests[starts] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self._digests[starts]

    def reached(self, start: str) -> frozenset[str]:
        """A module and its direct and indirect imports within these packages."""
        if start not in self._reached:
            found: set[str] = set()
            waiting = {start} & self._files.keys()
            while waiting:
                name = waiting.pop()
                found.add(name)
                waiting |= self._imported(name) - found
            self._reached[start] = frozenset(found)
        return self._reached[start]

    def home(self, module: str, name: str) -> str:
        """The module of these packages that defines an imported name; "" if it is not in these packages."""
        if f"{module}.{name}" in self._files:
            return f"{module}.{name}"
        if module not in self._files:
            return ""
        is_face = self._files[module][1] and name in self._code(module).faces
        return self.home(*self._code(module).faces[name]) or module if is_face else module

    def _imported(self, name: str) -> set[str]:
        code = self._code(name)
        found = {self.home(*each) for each in code.imports} - {""}
        if code.is_lazy:
            found |= {other for other in self._files if other.startswith(f"{name}.")}
        return {other for other in found if _is_apart(name) or not _is_apart(other)}

    def _code(self, name: str) -> Code:
        source, is_package = self._files[name]
        return read_code(source, name if is_package else name.rpartition(".")[0])


def _is_apart(name: str) -> bool:
    return any(f"{name}.".startswith(f"{apart}.") for apart in APART)


SOURCES = Sources((Path(str(each.__file__)).parent for each in (welfare_env, modal_env, agents)), Path(turns.__file__))
"""The code as imported by this process, without later changes."""


def own_code(files: Collection[Path]) -> tuple[str, frozenset[str]]:
    """SHA-256 of the user's files (checkpoints, modules of policies), and the modules of this project they import.

    Includes modules that a policy imports if they are in its folder or not installed.
    """
    digests: dict[Path, str] = {}
    ours: set[str] = set()
    waiting = sorted(set(files))
    folders = [path.parent for path in waiting]
    while waiting:
        path = waiting.pop()
        source = path.read_bytes()
        digests[path] = hashlib.sha256(source).hexdigest()
        if path.suffix != ".py":
            continue
        with suppress(SyntaxError, ValueError):
            code = read_code(source, _package(path))
            digests[path] = code.digest
            ours |= {home for each in code.imports if (home := SOURCES.home(*each))}
            found = {other for each in code.imports for other in _own_file(*each, folders)}
            waiting += sorted(found - digests.keys() - set(waiting))
    combined = "\n".join(digests[path] for path in sorted(digests))
    return hashlib.sha256(combined.encode()).hexdigest() if digests else "", frozenset(ours)


def _package(path: Path) -> str:
    """The package of a file; "" if it is in none."""
    parts: list[str] = []
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)


def _own_file(module: str, name: str, folders: Iterable[Path]) -> list[Path]:
    """The user's file behind an import; [] for this project, the standard library and installed packages."""
    if module.partition(".")[0] in PACKAGES:
        return []
    path = (name and _file(f"{module}.{name}", tuple(sys.path))) or _file(module, tuple(sys.path))
    if path is None or path.suffix != ".py":
        return []
    is_installed = any(path.is_relative_to(library) for library in _libraries())
    return [path] if not is_installed or any(path.is_relative_to(folder) for folder in folders) else []


@functools.cache
def _libraries() -> tuple[Path, ...]:
    return tuple({Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


@functools.lru_cache(maxsize=4096)
def _file(module: str, path: tuple[str, ...]) -> Path | None:
    """The file of a module, found without importing it or its packages; `path` is `sys.path`, for the cache."""
    with suppress(ImportError, ValueError):
        first, *rest = module.split(".")
        spec = importlib.util.find_spec(first)
        for part in rest:
            places = spec.submodule_search_locations if spec is not None else None
            spec = PathFinder.find_spec(f"{spec.name}.{part}", places) if spec is not None and places else None
        if spec is not None and spec.origin and spec.has_location:
            return Path(spec.origin)
    return None
