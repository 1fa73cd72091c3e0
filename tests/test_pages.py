"""The tutorial and the how-to pages run as written: a page from top to bottom, in a folder of its own.

Blocks of ``bash`` and ``python`` are run; a block of ``text`` is what the one before it prints (``...`` stands for
anything). Where the text before a block ends with "`NAME`:" the block is a file. Blocks of ``console`` are not run
here: they need a server, a key or another environment; but their commands and options exist, like those of all pages.
"""

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agents.lm.stub import StubServer

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RUN = sorted(path for folder in ("tutorial", "howto") for path in (DOCS / folder).glob("*.md"))
RUN = [path for path in RUN if re.search(r"^```(bash|python)$", path.read_text(), re.MULTILINE)]
NEEDS = {"training": "torch", "openai": "openai", "ray": "ray", "plot": "matplotlib", "to_frame": "pandas"}
BLOCK = re.compile(r"(?:`([\w.-]+\.\w+)`[^\n`]*:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def is_of_the_setup(line):
    """Of the environment, which is there already."""
    return re.match(r"(pip|python3? -m venv|source|export|\.|python -m agents\.lm\.stub) ", line) is not None


def shell(text, environment):
    """What the commands of a block print; each must succeed."""
    lines = [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line and not is_of_the_setup(line)]
    done = subprocess.run(
        ["/bin/bash", "-ec", "\n".join(lines)], capture_output=True, text=True, env=environment, preexec_fn=on_one_core
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def on_one_core():
    """Commands then start no workers, which take longer than the games. Tests beside this one have other cores."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % len(cores)]})


def python(text, names):
    """What the code of a block prints; examples with >>> say so themselves."""
    printed = io.StringIO()
    if ">>> " in text:
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        examples = doctest.DocTestParser().get_doctest(text, names, "page", None, 0)
        runner.run(examples, clear_globs=False)
        names.update(examples.globs)
        assert runner.summarize(verbose=False).failed == 0
        return ""
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "page", "exec"), names)  # noqa: S102 (our own page)
    return printed.getvalue()


def run(text, environment):
    """Runs a page in the current folder."""
    names, printed = {"__name__": "page"}, ""
    for name, language, block in BLOCK.findall(text):
        if name:
            Path(name).write_text(block)
        elif language == "bash":
            printed = shell(block, environment)
        elif language == "python":
            printed = python(block, names)
        elif language == "text":
            assert doctest.OutputChecker().check_output(block, printed, FLAGS), f"said:\n{block}\nprinted:\n{printed}"


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_runs_as_written(page, tmp_path, monkeypatch):
    text = page.read_text()
    for word, module in NEEDS.items():
        if re.search(rf"\b{word}\b", "".join(block for _, language, block in BLOCK.findall(text))):
            pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with StubServer() as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{stub.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-tests")
        place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": place, "PYTHONPATH": str(ROOT), "COLUMNS": "110"}
        run(text.replace("http://127.0.0.1:8123", stub.url), environment)
    for name in [name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "text", ["```bash\nfalse\n```", "```python\n>>> 1\n2\n\n```", "```python\nprint(1)\n```\n\n```text\n2\n```"]
)
def test_what_a_page_says_wrongly_is_seen(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        run(text, dict(os.environ))


def commands(page):
    """Every line of a page that calls our command, and the first line of a table: the words behind it."""
    if page.suffix == ".csv":
        if found := re.match(r"# welfare-env ([^;(]+)", page.read_text()):
            yield shlex.split(found[1])
        return
    for block in re.findall(r"```(?:bash|console|)\n(.*?)```", page.read_text(), re.DOTALL):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            found = re.match(r"\$? ?(?:welfare-env|python -m evaluation)(?: (.*))?$", line)
            if found:
                yield shlex.split(found[1] or "", comments=True)


ALL = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts)]
PAGES = [*ALL, *sorted((DOCS / "tables").glob("*.csv"))]


def test_the_commands_of_the_pages_and_their_options_exist():
    from typer.main import get_command

    from evaluation.cli.commands import app

    for page, words in [(each.relative_to(ROOT), words) for each in PAGES for words in commands(each)]:
        here, name = get_command(app), "welfare-env"
        while hasattr(here, "commands") and words and not words[0].startswith("-"):
            assert words[0] in here.list_commands(None), f"{page}: {name} has no command {words[0]}"
            here, name, words = here.get_command(None, words[0]), f"{name} {words[0]}", words[1:]
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        known = {name for option in here.params for name in (*option.opts, *option.secondary_opts)}
        assert options <= known | {"--help", "--version"}, f"{page}: {name} has no {options - known}"


FACES = {"welfare_env", "modal_env", "agents", "evaluation", "training"}
SUB_FACES = {"welfare_env.errors", "modal_env.errors", "modal_env.best_replies", "agents.lm", "agents.rl"}
SUB_FACES |= {"evaluation.exact"}
IMPORT = re.compile(rf"\b(?:from|import) +((?:{'|'.join(sorted(FACES))})\b[\w.]*)")


def below_faces(path):
    """The modules below the faces that the code of a page or an example imports."""
    text = path.read_text()
    code = text if path.suffix == ".py" else "\n".join(re.findall(r"```(?!text)\w*\n(.*?)```", text, re.DOTALL))
    return {module for module in IMPORT.findall(code) if module not in FACES | SUB_FACES}


SHOWN = [*ALL, *sorted((ROOT / "examples").glob("*.py"))]


def test_pages_and_examples_import_from_faces_alone():
    assert {path.name: below_faces(path) for path in SHOWN if below_faces(path)} == {}


def test_an_import_from_below_is_seen(tmp_path):
    block = 'import agents.specs, agents"\n```\n```text\nfrom agents.lm.models.prices\n```\n'
    (tmp_path / "page.md").write_text(f'```\npython -c "from modal_env.best_replies.search import *; {block}')
    assert below_faces(tmp_path / "page.md") == {"modal_env.best_replies.search", "agents.specs"}


# The reference: its pages list the public names, and their examples print what they say.

REFERENCE = DOCS / "reference"
WITH_NAMES = ("modal_env.best_replies", "agents.lm", "agents.rl", "evaluation.exact")
EXAMPLES = sorted(path.stem for path in REFERENCE.glob("*.md") if ">>> " in path.read_text())


@pytest.mark.parametrize("face", [*sorted(FACES), *WITH_NAMES])
def test_a_page_lists_the_names_of_its_package(face):
    """Functions, classes and errors are listed by the site; constants have entries of their own."""
    page = (REFERENCE / f"{face.partition('.')[0]}.md").read_text()
    assert page.count(f".. names:: {face}\n") == 1
    constants = {name for name in importlib.import_module(face).__all__ if name.isupper()}
    assert set(re.findall(rf"^\.\. py:data:: {face}\.(\w+)$", page, re.MULTILINE)) == constants


@pytest.mark.slow
@pytest.mark.parametrize(("page", "skipped_too"), [*((page, False) for page in EXAMPLES), ("training", True)])
def test_examples_print_what_the_page_says(page, skipped_too, tmp_path, monkeypatch):
    """Those of training once more, with the trainings that are skipped elsewhere."""
    monkeypatch.chdir(tmp_path)
    text = (REFERENCE / f"{page}.md").read_text()
    if skipped_too:
        pytest.importorskip("torch")
        text = re.sub(r"^(>>> \[row.*?) +# doctest: \+SKIP$", r"\1 != []\nTrue", text, flags=re.MULTILINE)
        text = re.sub(r" +# doctest: \+SKIP", "", text)
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    assert ">>> " in code
    python(code, {})
