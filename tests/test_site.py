"""The site: its navigation, its diagrams, and the check of what is built. Nothing here needs Sphinx."""

import gzip
import importlib.util
import inspect
import json
import re
import sys
from pathlib import Path

import pytest

from evaluation.report.replays import write_replay
from tools import site
from welfare_env import Board, Game, PhaseRecord, View
from welfare_env.game.position import Position

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
UNLISTED = {"pictures/README", "index"}


def extension(name):
    """A module of docs/_ext, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def listed(page):
    """The pages that the navigation lists below a page, in its sequence; all that match a pattern."""
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.DOTALL | re.MULTILINE):
        for line in filter(None, block.splitlines()):
            if not line.startswith(":"):
                folder = (DOCS / page).parent
                found = sorted(folder.glob(f"{line}.md")) if "*" in line else [folder / f"{line}.md"]
                yield from (path.resolve().relative_to(DOCS).with_suffix("").as_posix() for path in found)


def test_the_navigation_has_every_page_once():
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")} - UNLISTED
    pages = {page for page in pages if not page.startswith("_")}
    seen, todo = [], ["index"]
    while todo:
        below = list(listed(todo.pop()))
        seen += below
        todo += below
    assert sorted(seen) == sorted(pages)


@pytest.mark.parametrize("cls", [View, Game, PhaseRecord, Board, Position], ids=lambda cls: cls.__name__)
def test_all_that_a_player_may_read_has_a_text(cls):
    """The site shows members with a docstring, and those listed in a class's; others it would leave out."""
    texts = "\n".join(base.__doc__ or "" for base in cls.__mro__)
    for name in [*dir(cls), *getattr(cls, "__dataclass_fields__", ())]:
        if not name.startswith("_"):
            listed = re.search(rf"^ +(?:\w+, )*{name}(?:, \w+)*: ", texts, re.MULTILINE)
            assert listed or inspect.getdoc(getattr(cls, name, None)), f"{cls.__name__}.{name}"


def test_every_saved_game_of_the_gallery_is_linked_as_a_page_and_small():
    games = {path.name.replace(".json.gz", "") for path in (DOCS / "gallery").glob("*.json.gz")}
    linked = set(re.findall(r'<a href="([\w-]+)\.html">', (DOCS / "gallery" / "README.md").read_text()))
    assert games == linked != set()


@pytest.mark.slow
@pytest.mark.parametrize("game", sorted((DOCS / "gallery").glob("*.json.gz")), ids=lambda game: game.name)
def test_a_game_of_the_gallery_is_a_page_below_a_megabyte(game, tmp_path):
    record = json.loads(gzip.decompress(game.read_bytes()))
    write_replay(record, tmp_path / "page.html")
    assert site.faults(tmp_path) == []


def test_diagrams_of_the_architecture_are_drawn_with_all_boxes_side_by_side_and_all_arrows():
    chart = extension("flow_chart")
    blocks = re.findall(r"```mermaid\n(.*?)```", (ROOT / "ARCHITECTURE.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        lines = block.splitlines()[1:]
        graph = chart.read(lines)
        assert len(graph.arrows) == "\n".join(lines).count("-->")
        boxes, _ = chart.place(graph)
        for name, (x, y, w, h) in boxes.items():
            for other, (u, v, s, t) in boxes.items():
                assert name == other or x + w <= u or u + s <= x or y + h <= v or v + t <= y
        picture = chart.draw(graph)
        assert picture.count("<rect") == len(graph.labels)
        assert picture.count("marker-end") == len(graph.arrows)


def test_faults_of_a_built_site_are_found_and_nothing_else(tmp_path):
    fine = '<h1 id="here">x</h1><a href="#here">x</a><a href="b.html">x</a><a href="https://example.org">x</a>'
    faults = {
        '<a href="other.html">x</a>': "no file for other.html",
        '<a href="#there">x</a>': "no place for #there",
        '<a href="b.html#there">x</a>': "no place for b.html#there",
        '<img src="gone.png">': "no file for gone.png",
        '<script src="https://example.org/x.js"></script>': "loads https://example.org/x.js",
    }
    (tmp_path / "a.html").write_text(fine + "".join(faults))
    (tmp_path / "b.html").write_text("<p>b</p>")
    (tmp_path / "c.html").write_text("x" * 1_000_000)
    found = site.faults(tmp_path)
    assert sorted(found) == sorted([*(f"a.html: {fault}" for fault in faults.values()), "c.html: 1,000,000 bytes"])
