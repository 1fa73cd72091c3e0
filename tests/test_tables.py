"""Tables of results: every page shows what the files of docs/tables have, and every file stands on one page."""

import re

from research.__main__ import commands
from research.tables import DOCS, PLACE, ROOT, markdown, pages, read, save, written

PAGES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in pages()}
FILES = sorted((DOCS / "tables").glob("*.csv"))
NUMBER = r"([-+]?\d+\.?\d*)"
RECOMPUTED = {"modal-primer", "modal-equilibria", "modal-evolution"}  # by tests/modal_env/test_pages.py
GENERATED = re.compile(r"^<!-- [\w:-]+ -->\n.*?^<!-- [\w-]+:end -->|^```.*?^```", re.MULTILINE | re.DOTALL)
INTERVAL = re.compile(rf"{NUMBER} [\[(]{NUMBER}(?:, | to ){NUMBER}[\])]")


def test_the_pages_have_the_tables_of_today():
    changed = [name for name, page in PAGES.items() if page != written(page)]
    assert changed == [], "write them anew: python -m research.tables"


def test_no_number_of_a_study_is_typed_in_a_table():
    """Whole numbers and settings may stand in tables of words."""
    studies = re.findall(r"^\.\./([\w-]+)$", (DOCS / "studies" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(studies) > 10
    for name in set(studies) - RECOMPUTED:
        rows = re.findall(r"^\|.*", GENERATED.sub("", PAGES[f"docs/{name}.md"]), re.MULTILINE)
        assert [row for row in rows if re.search(r"\| *[-+]?\d+\.\d", row)] == [], name


def test_every_file_stands_on_one_page():
    shown = [name for page in PAGES.values() for _, name, _ in PLACE.findall(page)]
    assert sorted(shown) == sorted(path.stem for path in FILES)
    assert sum(page.count("<!-- results:") for page in PAGES.values()) == 2 * len(shown)


def test_files_have_their_commands_and_whole_rows():
    for path in FILES:
        command, (head, *rows) = read(path)
        assert re.match(r"(python|welfare-env) ", command), path.stem
        assert {len(row) for row in rows} == {len(head)}, path.stem


def test_means_are_within_their_intervals():
    cells = [(path.stem, cell) for path in FILES for row in read(path)[1] for cell in row]
    found = [(*each.groups(), name) for name, cell in cells for each in INTERVAL.finditer(cell)]
    assert [each for each in found if not float(each[1]) <= float(each[0]) <= float(each[2])] == []


def test_every_folder_of_research_has_a_row_with_a_small_run():
    rows = re.findall(
        r"^\| \[(\w+)\]\(.*`python -m research\.(\w+)", (ROOT / "research/README.md").read_text(), re.MULTILINE
    )
    folders = sorted(path.parent.name for path in ROOT.glob("research/*/__init__.py"))
    assert sorted(rows) == [(folder, folder) for folder in folders]
    assert len(commands()) == len(folders)


def test_what_a_study_saves_is_what_the_page_shows(tmp_path):
    save(None, "gains", ["rule"], [])
    save(
        tmp_path,
        "gains",
        ["rule", "gain"],
        [["dove", "1.00 [0.50, 1.50]"], ["marshal", "0.00 [identical]"], ['hold, "quoted"', ""]],
    )
    command, (head, *rows) = read(tmp_path / "gains.csv")
    assert command.startswith("python ")
    assert (head, len(rows)) == (["rule", "gain"], 3)
    page = written("a\n<!-- results:gains -->\nold\n<!-- results:end -->\nb\n", tmp_path)
    assert page == f"a\n<!-- results:gains -->\n{markdown(head, rows)}\n<!-- results:end -->\nb\n"
    assert markdown(head, rows).splitlines()[1:] == [
        "| --- | --: |", "| dove | 1.00 [0.50, 1.50] |", "| marshal | 0.00 [identical] |", "| hold, \"quoted\" | |"
    ]  # fmt: skip
    assert written(page, tmp_path) == page
