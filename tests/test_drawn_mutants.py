"""The script that draws mutants."""

import ast
from pathlib import Path

from coverage import CoverageData

from tools.draw_mutants import draw

ROOT = Path(__file__).resolve().parents[1]


def test_drawn_mutants_are_programs_and_repeat_by_their_seed() -> None:
    nothing = CoverageData(no_disk=True)
    drawn = draw(30, 1, nothing)
    assert drawn == draw(30, 1, nothing)
    for each in drawn:
        text = (ROOT / each["file"]).read_text()
        assert text.count(each["old"]) == 1
        assert ast.dump(ast.parse(text.replace(each["old"], each["new"]))) != ast.dump(ast.parse(text))
