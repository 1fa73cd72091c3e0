"""What the documents show about language models runs as printed, against the stub server."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.lm.models.prices import Price, load_prices
from agents.lm.stub import StubServer
from agents.specs.options import LM_OPTIONS
from evaluation.cli.commands import app

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "language-models.md").read_text()
PAGES = [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if page.name != "commands.md")]


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A stub server in place of OpenAI's, and a folder of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-tests")
    with StubServer() as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{stub.url}/v1")
        yield stub


@pytest.mark.parametrize(
    "block", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), ids=["games", "a model of your own"]
)
def test_the_examples_in_python(block, server):
    exec(compile(block, "docs/language-models.md", "exec"), {})  # noqa: S102 (our own page)


def test_the_example_of_prices(tmp_path):
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "prices.json"
    path.write_text(block)
    assert load_prices(path) == {
        "my-model": Price(0.5, 2.0, cached=0.05, written=0.625),
        "my-small-model": Price(0.1, 0.4),
    }
    assert list(json.loads(block)) == ["my-model", "my-small-model"]


def test_every_option_is_explained():
    table = PAGE.partition("| option |")[2].partition("\n\n")[0]
    told = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert told == set(LM_OPTIONS)


def test_every_command_is_explained():
    help_text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    commands_there = re.findall(r"│ ([a-z-]+)  +[A-Z]", help_text)
    assert {"self-play", "exploitability", "games", "messages"} <= set(commands_there)
    shown = "\n".join(page.read_text() for page in PAGES if "_build" not in page.parts)
    assert [name for name in commands_there if f"welfare-env {name}" not in shown and name != "demo"] == []
