"""numba's cache on disk looks at the file of a kernel only, so that file has to change when what it imports does."""

import ast
import hashlib
from pathlib import Path
from types import ModuleType

import pytest

from agents.cliques import kernels as clique_kernels
from agents.cliques import punishing_kernels, shape, symmetry
from evaluation.exact import graph_kernels, value_kernels
from welfare_env.engine import bits, kernels, tables
from welfare_env.envs import observation

CLIQUES = [
    shape,
    clique_kernels,
    symmetry,
    punishing_kernels,
    graph_kernels,
    value_kernels,
]  # each imports earlier ones


@pytest.mark.parametrize(("module", "sources"), [(kernels, [kernels]), (observation, [tables, observation])])
def test_the_kernels_know_the_numbers_that_they_import(module: ModuleType, sources: list[ModuleType]) -> None:
    found = {
        name: value
        for source in sources
        for name, value in vars(source).items()
        if name.isupper() and isinstance(value, int)
    }
    found |= {"bits": code(bits)} if module is kernels else {}
    digest = hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()[:16]
    assert digest == module.IMPORTS_DIGEST, f"write the new digest into {module.__name__}"


@pytest.mark.parametrize("number", range(1, len(CLIQUES)))
def test_the_kernels_of_toy_boards_know_the_kernels_that_they_import(number: int) -> None:
    digest = hashlib.sha256("\n".join(map(code, CLIQUES[:number])).encode()).hexdigest()[:16]
    assert digest == CLIQUES[number].IMPORTS_DIGEST, f"write the new digest into {CLIQUES[number].__name__}"


def code(module: ModuleType) -> str:
    """The lines of a module but for comments, docstrings and its digest; the same text for every Python."""
    text = Path(module.__file__ or "").read_text(encoding="utf-8")
    left_out = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    kept = [line for number, line in lines if number not in left_out and line.partition("#")[0].strip()]
    return "\n".join(line for line in kept if not line.startswith("IMPORTS_DIGEST"))
