"""What the documentation shows runs as printed."""

import ast
import doctest
import importlib
import json
import re
from pathlib import Path

import pytest

import training
from tests.processes import python

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
RUN = ("README.md", "docs/players.md", "docs/results.md")
DOCTESTED = ("agents", "agents.seat_game", "evaluation", "modal_env", "modal_env.envs.aec", "welfare_env.game.game")


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_python_blocks_of_a_page_run_one_after_the_other(page, tmp_path):
    """Each with its own imports, in one process: most of the time would go into importing torch and Ray again."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    run = "import sys\nfor block in sys.argv[1:]:\n    exec(block, {'__name__': 'page'})\n    print('end of a block')"
    *printed, rest = python(run, *blocks, cwd=tmp_path).split("end of a block\n")
    assert (len(printed), rest) == (len(blocks), "")
    assert all(said.strip() or "export" in block for said, block in zip(printed, blocks, strict=True))


@pytest.mark.parametrize("name", DOCTESTED)
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_links_of_the_pages_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        # A link has a text: [](X(me)) is a formula.
        for target in re.findall(r"\[[^\]]+\]\(([\w./-]+)(?:#[\w-]+)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md", "tools/README.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
PACKAGES = ("welfare_env", "modal_env", "agents", "evaluation", "training")


def names_in(page):
    """What stands in backticks on a page, without what a call is given: `agents.make("dove")` is agents.make."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return sorted({name.partition("(")[0] for name in re.findall(r"`([^`\n]+)`", text)})


def defined_in(module):
    """The top-level names of a source file, imported ones among them. Read, not run: not every extra is installed."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
            if node.id == "_HOMES":  # names that a face imports on first use
                names |= set(re.findall(r"\w+", module.read_text().partition("_HOMES = {")[2].partition("\n}")[0]))
    return names


def resolves(dotted):
    """Whether package.module.name is a folder, a module, or something that a module defines."""
    place, *rest = ROOT, *dotted.split(".")
    while rest and (place / rest[0]).is_dir():
        place /= rest.pop(0)
    module = place / f"{rest[0]}.py" if rest else place
    if rest and module.exists():
        rest.pop(0)
    else:
        module = place / "__init__.py"
    names = defined_in(module)
    if place == ROOT / "evaluation":  # its public names are imported on first use
        names |= defined_in(place / "public.py")
    if place == ROOT / "training":
        names |= set(training.__all__)
    return all(name in names for name in rest)


def test_names_on_the_pages_exist():
    files = {
        path.name
        for folder in (*PACKAGES, "benchmarks", "tools", "examples", "tests")
        for path in (ROOT / folder).rglob("*.py")
    }
    for page, name in [(each, name) for each in PAGES for name in names_in(each)]:
        if re.fullmatch(r"[\w./]+\.py", name):
            is_saved_there = f"Save this as `{name}`:" in page.read_text()
            assert (ROOT / name).exists() or name in files or is_saved_there, f"{page.name}: no file {name}"
        elif re.fullmatch(rf"({'|'.join(PACKAGES)})(\.\w+)+", name):
            assert resolves(name), f"{page.name}: nothing is called {name}"


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(notebook, tmp_path):
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    code = "\n".join("".join(cell["source"]) for cell in cells)
    python(code, cwd=tmp_path)
    assert all(cell["outputs"] for cell in cells)
