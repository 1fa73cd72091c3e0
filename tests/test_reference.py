"""The reference: its pages list the public names, and their examples print what they say."""

import importlib
import re
from pathlib import Path

import pytest

from tests.test_pages import python

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
FACES = ("welfare_env", "modal_env", "agents", "training", "evaluation")
SUB_FACES = ("modal_env.best_replies", "agents.lm", "agents.rl", "evaluation.exact")
PAGES = sorted(path.stem for path in REFERENCE.glob("*.md") if ">>> " in path.read_text())


@pytest.mark.parametrize("face", FACES + SUB_FACES)
def test_a_page_lists_the_names_of_its_package(face):
    """Functions, classes and errors are listed by the site; constants have entries of their own."""
    page = (REFERENCE / f"{face.partition('.')[0]}.md").read_text()
    assert page.count(f".. names:: {face}\n") == 1
    constants = {name for name in importlib.import_module(face).__all__ if name.isupper()}
    assert set(re.findall(rf"^\.\. py:data:: {face}\.(\w+)$", page, re.MULTILINE)) == constants


def run(page, tmp_path, monkeypatch, text=None):
    """Runs the examples of a page, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", text or page.read_text(), re.DOTALL))
    assert ">>> " in code
    python(code, {})


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_says(page, tmp_path, monkeypatch):
    run(REFERENCE / f"{page}.md", tmp_path, monkeypatch)


@pytest.mark.slow
def test_trainings_of_the_page_run(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    page = REFERENCE / "training.md"
    text = re.sub(r"^(>>> \[row.*?) +# doctest: \+SKIP$", r"\1 != []\nTrue", page.read_text(), flags=re.MULTILINE)
    run(page, tmp_path, monkeypatch, re.sub(r" +# doctest: \+SKIP", "", text))
