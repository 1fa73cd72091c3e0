"""Scripts of other libraries from nothing to a table: train in self-play, export the network, measure what it loses."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cleanrl_selfplay", {"iterations": 1, "steps": 60}),
        ("sb3_selfplay", {"steps": 512}),
        ("torchrl_selfplay", {"iterations": 1, "steps": 60}),
    ],
)
def test_from_nothing_to_a_table(name, options, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(years=1, **options)
    assert "exploitability, points a year" in capsys.readouterr().out
