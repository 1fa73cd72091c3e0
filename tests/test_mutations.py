"""The script that tries mutants, on a tree of two files; and the one that draws them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from coverage import CoverageData

from tools import draw_mutants
from tools.mutations import DATA, load

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = "def double(x):\n    return x + x\n\n\ndef unused():\n    return 1\n"
TESTS = "import lib\n\n\ndef test_double():\n    assert lib.double(3) == 6\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow', 'tools']\n")
    (tmp_path / "lib.py").write_text(LIBRARY)
    (tmp_path / "tests" / "test_lib.py").write_text(TESTS)
    return tmp_path


RUN = """
import sys
from pathlib import Path
from tools import mutations
mutations.PRELOADED = ()
sys.exit(mutations.main(sys.argv[2:], Path(sys.argv[1]), Path(sys.argv[1], "mutations.toml")))
"""


def run(tree: Path, *mutants: tuple[str, str, str, str], only: tuple[str, ...] = ()) -> tuple[int, str]:
    """Its exit status and what it prints."""
    fields = ("name", "old", "new", "survives")
    (tree / "mutations.toml").write_text(
        "\n".join(
            '[[mutant]]\nroom = "r"\nfile = "lib.py"\ntests = ["tests/test_lib.py"]\n'
            + "".join(f"{field} = '{text}'\n" for field, text in zip(fields, mutant, strict=True))
            for mutant in mutants
        )
    )
    done = subprocess.run([sys.executable, "-c", RUN, str(tree), *only], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout if done.returncode < 2 else done.stderr


WRONG = ("twice is once", "return x + x", "return x", "")
UNSEEN = ("another one", "return 1", "return 2", "")


def test_every_mutant_fits_the_tree() -> None:
    mutants = load(DATA, ROOT)
    named = {test.partition("::")[0] for mutant in mutants for test in mutant.tests if test.startswith("tests/")}
    assert [test for test in sorted(named) if not (ROOT / test).exists()] == []


@pytest.mark.slow
def test_killed_and_survivors_are_told_and_verdicts_kept(tree: Path) -> None:
    status, told = run(tree, WRONG, (*UNSEEN[:3], "nobody calls it"))
    assert status == 0, told
    assert told.splitlines()[1].split() == ["r", "2", "1", "0", "1"]
    assert told.splitlines()[-1] == "survived: another one (lib.py): nobody calls it"
    assert (tree / "lib.py").read_text() == LIBRARY
    verdicts = tree / "runs" / "mutations" / "verdicts.json"
    kept = verdicts.stat().st_mtime_ns
    status, told = run(tree, WRONG, UNSEEN)
    assert status == 1
    assert "no reason is given" in told
    assert run(tree, WRONG, UNSEEN, only=("--only", "twice"))[0] == 0
    assert verdicts.stat().st_mtime_ns == kept  # nothing was tried again


@pytest.mark.slow
def test_slow_tests_and_unnamed_ones_of_the_folder_count_apart(tree: Path) -> None:
    (tree / "tests" / "test_lib.py").write_text(
        "import pytest\n" + TESTS.replace("def test", "@pytest.mark.slow\ndef test")
    )
    status, told = run(tree, WRONG)
    assert status == 0, told
    assert told.splitlines()[1].split() == ["r", "1", "0", "1", "0"]
    assert told.splitlines()[-1].endswith("tests/test_lib.py::test_double")
    (tree / "tests" / "test_others.py").write_text("import lib\n\n\ndef test_other():\n    assert lib.unused() == 1\n")
    status, told = run(tree, UNSEEN)
    assert status == 0, told
    assert told.splitlines()[1].split() == ["r", "1", "1", "0", "0"]


@pytest.mark.slow
def test_what_cannot_be_tried_is_named(tree: Path) -> None:
    status, told = run(tree, ("no such text", "return 7", "return 8", ""), ("twice there", "return", "yield", ""))
    assert status == 2
    assert "no such text: lib.py contains its text 0 times, not once" in told
    assert "twice there: lib.py contains its text 2 times, not once" in told
    (tree / "tests" / "test_lib.py").write_text(TESTS.replace("6", "7"))
    status, told = run(tree, WRONG)
    assert status == 2
    assert "fail without a mutant, too: tests/test_lib.py::test_double" in told


def test_drawn_mutants_are_programs_and_repeat_by_their_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw_mutants, "ROOMS", ("modal_env",))  # the others take most of a minute
    nothing = CoverageData(no_disk=True)
    drawn = draw_mutants.draw(30, 1, nothing)
    assert drawn == draw_mutants.draw(30, 1, nothing)
    for each in drawn:
        text = (ROOT / each["file"]).read_text()
        assert text.count(each["old"]) == 1
        assert ast.dump(ast.parse(text.replace(each["old"], each["new"]))) != ast.dump(ast.parse(text))
