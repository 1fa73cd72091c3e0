"""The reference: every public name once, with an example that runs; every page's examples print what it says."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
FACES = ("welfare_env", "modal_env", "agents", "training", "evaluation")
SUB_FACES = {
    "modal_env": ("modal_env.best_replies",),
    "agents": ("agents.lm", "agents.rl"),
    "evaluation": ("evaluation.exact",),
}
PAGES = sorted(path.stem for path in REFERENCE.glob("*.md") if ">>> " in path.read_text())
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def entries(page):
    """The public names that have an entry on the page of their face, once for each."""
    found = re.findall(rf"^\.\. (?:auto(?!module)\w+|py:data):: {page.stem}\.(\w+)$", page.read_text(), re.MULTILINE)
    if ".. library::" in page.read_text():
        modal_env = importlib.import_module("modal_env")
        found += [name for name in modal_env.__all__ if isinstance(getattr(modal_env, name), modal_env.Agent)]
    return found


def examples(page):
    """All that the page's examples say, comments among it."""
    return "\n".join(re.findall(r"^(?:>>>|\.\.\.) .*$", page.read_text(), re.MULTILINE))


@pytest.mark.parametrize("face", FACES)
def test_every_public_name_has_one_entry_and_is_in_an_example(face):
    page = REFERENCE / f"{face}.md"
    names = importlib.import_module(face).__all__
    assert sorted(entries(page)) == sorted(names)
    shown = set(re.findall(r"\w+", examples(page)))
    assert set(names) <= shown


@pytest.mark.parametrize("sub_face", [name for names in SUB_FACES.values() for name in names])
def test_every_name_of_a_sub_face_has_one_entry(sub_face):
    page = (REFERENCE / f"{sub_face.partition('.')[0]}.md").read_text()
    found = re.findall(rf"^\.\. (?:auto\w+|py:data):: {sub_face}\.(\w+)(?:\(.*\))?$", page, re.MULTILINE)
    assert sorted(found) == sorted(importlib.import_module(sub_face).__all__)


def run(page, tmp_path, monkeypatch, text=None):
    """Runs the examples of a page, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", text or page.read_text(), re.DOTALL))
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0))
    result = runner.summarize(verbose=False)
    assert result.attempted > 0
    assert result.failed == 0


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
