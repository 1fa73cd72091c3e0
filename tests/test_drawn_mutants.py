"""The script that draws mutants."""

import ast
from pathlib import Path

import pytest
from coverage import CoverageData

from tools import draw_mutants

ROOT = Path(__file__).resolve().parents[1]


def test_drawn_mutants_are_programs_and_repeat_by_their_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw_mutants, "ROOMS", ("modal_env",))  # the others take most of a minute
    nothing = CoverageData(no_disk=True)
    drawn = draw_mutants.draw(30, 1, nothing)
    assert drawn == draw_mutants.draw(30, 1, nothing)
    for each in drawn:
        text = (ROOT / each["file"]).read_text()
        assert text.count(each["old"]) == 1
        assert ast.dump(ast.parse(text.replace(each["old"], each["new"]))) != ast.dump(ast.parse(text))
