"""Scripts of other libraries from nothing to a table: train in self-play, export the network, measure what it loses."""

import pytest

from tests.examples import example

pytestmark = pytest.mark.tools


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
    example(name).main(years=1, **options)
    assert "exploitability, points a year" in capsys.readouterr().out
