"""The replay page without a browser: its data, its events, and that nothing of a game can be more than text."""

import base64
import hashlib
import json
import re

import pytest

from tests.playing import ordered
from tests.welfare_env.positions import full_press
from welfare_env import Game, RecordError, Rules
from welfare_env.render.replay.annotations import Annotations, Event, MarkedPromise, Reasoning
from welfare_env.render.replay.events import events
from welfare_env.render.replay.page import as_json, replay_page

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "<svg onload=window.hacked=1><a href='javascript:window.hacked=1'>click</a></svg>",
    "data:text/html,<script>window.hacked=1</script>",
    "<!-- <script> ]]> &lt;b&gt; {title} {data} \u2028\u2029 \\u003c",
    "\u202eright to left\u202c \u0000 \u0001 \ufeff",
    "half a pair: \ud800",
    "x" * 100_000,
)


def page_of(game, **annotations):
    return replay_page(game.record(), game.board, Annotations(**annotations))


def embedded(page):
    """The data that a page holds."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture(scope="module")
def game():
    return full_press(years=2)


@pytest.fixture
def war():
    """France takes Munich from Germany in Fall 1901, and Germany disbands."""
    units = {"FRANCE": ["A BUR", "A RUH"], "GERMANY": ["A BER", "A SIL"], "ENGLAND": ["F LON"]}
    centers = {"FRANCE": ["PAR"], "GERMANY": ["MUN", "BER", "KIE"], "ENGLAND": ["LON", "LVP"]}
    game = Game.from_position("F1901M", units, centers, rules=Rules(years=2))
    ordered(game, {"FRANCE": ["A RUH - MUN", "A BUR S A RUH - MUN"], "GERMANY": ["A BER - MUN"]})
    return ordered(game, {"GERMANY": ["A SIL D"]})


def test_without_scripts_the_map_shows_the_last_position(war):
    page = page_of(war)
    drawn = page[page.index("<svg xmlns") : page.index("</svg>")]
    last = embedded(page)["phases"][-1]["units"]
    assert set(re.findall(r'id="u-([A-Z]{3})"', drawn)) == {unit[2:5] for units in last.values() for unit in units}
    assert 'id="u-MUN"' in drawn


def test_the_page_shows_every_phase(game):
    phases = embedded(page_of(game))["phases"]
    assert [phase["name"] for phase in phases] == [*(record.phase for record in game.history), "COMPLETED"]
    for phase, record in zip(phases, game.history, strict=False):
        assert {power: tuple(centers) for power, centers in phase["centers"].items()} == record.centers
        assert phase["welfare"] == list(record.welfare.values())
        assert [message[3] for message in phase["messages"]] == [message.text for message in record.messages]
        told = {power: tuple(text for text, _ in orders) for power, orders in phase["orders"].items()}
        assert told == {power: orders for power, orders in record.orders.items() if orders}
    assert phases[0]["title"] == "Spring 1901, movement"


def test_results_and_events_tell_what_stands_out(war):
    found = [(each.phase, each.kind) for each in events(war.record()["phases"])]
    assert found == [("F1901M", "first attack"), ("F1901M", "stolen"), ("W1901A", "disarmament")]
    assert "FRANCE takes MUN from GERMANY" in [each.text for each in events(war.record()["phases"])]
    first = embedded(page_of(war))["phases"][0]
    assert first["orders"]["GERMANY"] == [["A BER - MUN", ["bounce"]]]
    assert first["orders"]["FRANCE"][0] == ["A RUH - MUN", []]


def test_root_nash_welfare_so_far_is_the_geometric_mean_a_year(game):
    values = embedded(page_of(game))["rootNash"]
    for record, value in zip(game.history, values, strict=False):
        years = record.position.year - 1901
        product = 1.0
        for points in record.welfare.values():
            product *= points / years if years else 0
        assert value == (pytest.approx(product ** (1 / 7), abs=1e-3) if years else None)


@pytest.mark.parametrize("map_name", ["ancmed", "shared-clique:3"])
def test_any_map_has_a_page_and_a_game_that_has_not_begun(map_name):
    assert len(embedded(page_of(Game(map_name)))["phases"]) == 1
    game = full_press(map_name, years=1, message_rounds=1)
    assert len(embedded(page_of(game))["phases"]) == len(game.history) + 1
    assert page_of(game) == page_of(Game.from_record(game.record()))


def test_annotations_stand_where_they_belong(game):
    first = next(message for message in game.history[0].messages if message.text == "I will hold.")
    promise = MarkedPromise(first.phase, first.round, first.sender, first.recipient, first.text, False)
    page = page_of(
        game,
        title="A title",
        players={"FRANCE": "dove"},
        deviators=["FRANCE"],
        promises=[promise, MarkedPromise("S1950M", 1, "FRANCE", "ITALY", "?", None)],
        reasoning=[Reasoning("S1901M", 1, "FRANCE", "Hm."), Reasoning("S1950M", 1, "FRANCE", "?")],
        events=[Event("F1901M", "stab", "Et tu"), Event("S1950M", "stab", "?")],
        measures={"Welfare": "1.0"},
        explanations={"Welfare": "How well."},
    )
    data = embedded(page)
    marked = [message for message in data["phases"][0]["messages"] if len(message) == 5]
    assert [[1, first.sender, first.recipient, first.text, [[first.text, False]]]] == marked
    assert data["phases"][0]["reasoning"] == [[1, "FRANCE", "Hm."]]
    assert ["F1901M", "stab", "Et tu"] in data["events"]
    assert "S1950M" not in json.dumps(data)
    assert (data["title"], data["measures"]) == ("A title", [["Welfare", "1.0", "How well."]])
    assert [(one["player"], one["deviates"]) for one in data["powers"] if one["name"] == "FRANCE"] == [("dove", True)]


def test_texts_stay_data(game):
    text = " ".join(HOSTILE)
    page = page_of(
        game,
        title=text,
        players=dict.fromkeys(game.powers, text),
        reasoning=[Reasoning("S1901M", 1, "FRANCE", text)],
        events=[Event("S1901M", text, text)],
        measures={text: text},
        explanations={text: text},
    )
    page.encode()
    assert page.count("<script") == page.count("</script>") == 2
    data = embedded(page)
    assert (data["title"], data["measures"], data["powers"][0]["player"]) == (text, [[text, text, text]], text)
    assert not re.search(r"<(img|a|iframe|object|embed|form|meta http-equiv=.refresh)\b", page)


def test_json_has_no_sign_that_means_something_in_a_page():
    text = as_json({"<&>": "".join(HOSTILE)})
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", text)
    assert json.loads(text) == {"<&>": "".join(HOSTILE)}


def test_the_policy_names_the_script_and_the_style_and_no_address(game):
    page = page_of(game)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert set(re.findall(r"https?://[^\s\"'`)]+", page)) == {"http://www.w3.org/2000/svg"}
    assert " style=" not in page  # which the policy would refuse


def test_replay_writes_the_page(game, tmp_path):
    game.replay(tmp_path / "game.html", Annotations(title="Mine"))
    assert "<title>Mine</title>" in (tmp_path / "game.html").read_text("utf-8")
    (tmp_path / "folder.html").mkdir()
    game.save(tmp_path / "game.json")
    for wrong in ("folder.html", "game.json", "nowhere/game.html"):
        with pytest.raises(RecordError, match=wrong):
            game.replay(tmp_path / wrong)
    assert Game.load(tmp_path / "game.json").phase == game.phase


def test_notebooks_show_the_page_and_the_board(game):
    html = game._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert html.count('"') == 10  # of five attributes: none of the page's own
    assert game._repr_svg_().startswith("<svg ")
