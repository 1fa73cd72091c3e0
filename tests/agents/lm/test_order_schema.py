"""Schemas that cannot be disobeyed, and grammars of the same language."""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agents.lm.player_settings import SCHEMAS
from agents.lm.reading.grammar import Grammar
from agents.lm.reading.order_schema import LONGEST_ENUM, MAX_ENUM_ORDERS, order_schema
from agents.lm.reading.parsing import parse, reply_schema
from agents.lm.stub.replies import SENTENCES, Instance
from welfare_env import Game, Rules, View

TEXT = {"type": "string"}
FRANCE = {"FRANCE": ["PAR", "BRE", "MAR", "SPA", "POR", "BEL"]}


def winter(units: list[str], centers: list[str], power: str = "FRANCE", welfare: int = 0, **rules: Any) -> View:
    game = Game.from_position(
        "W1905A", {power: units}, {power: centers}, welfare={power: welfare}, rules=Rules(press=None, **rules)
    )
    return game.view(power, "orders")


def sets(view: View) -> list[dict[str, list[str]]]:
    schema = order_schema(view)
    return [{key: each["enum"] for key, each in one["properties"].items()} for one in schema.get("anyOf", [schema])]


def all_orders(view: View) -> Iterator[list[str]]:
    """Random choices within the schema."""
    rng = np.random.default_rng(0)
    schema = order_schema(view)
    for _ in range(200):
        yield list(Instance(schema, rng).make(schema).values())


VIEWS = {
    "opening": Game(rules=Rules(message_rounds=1)).view("RUSSIA", "messages", 1),
    "words": Game(rules=Rules(press="tokens")).view("FRANCE", "messages", 1),
    "mediator": Game(rules=Rules(mediator=True)).view("MEDIATOR", "messages", 1),
    "retreat": Game.from_position(
        "F1905R", {"ENGLAND": ["A SER"]}, FRANCE, dislodged={"FRANCE": {"A GRE": ["ALB", "BUL"]}}
    ).view("FRANCE", "orders"),
    "builds": winter(["A SPA"], ["PAR", "BRE", "MAR", "SPA"]),
    "few builds": winter(["A SPA", "F POR", "A BEL", "A GAS"], ["PAR", "BRE", "MAR", "SPA", "POR"]),
    "must disband": winter(["A SPA", "F POR", "A BEL", "A GAS"], ["PAR", "BRE"], variant="standard"),
    "gifts": winter(["A SPA"], ["PAR", "BRE", "MAR", "SPA"], welfare=13, transfers=True),
    "both": winter(["A SPA"], ["PAR", "BRE", "MAR"], build_and_disband=True),
    "nothing": winter([], ["BEL"]),
}
each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


class TestSchema:
    @each_view
    def test_what_it_allows_is_legal_and_whole(self, view: View) -> None:
        rng, schema = np.random.default_rng(1), reply_schema(view)
        for _ in range(100):
            reply = Instance(schema, rng).make(schema)
            parsed = parse(json.dumps(reply), view)
            assert parsed.issues == []
            asked = [each for each in reply.get("orders", {}).values() if each != "WAIVE"]
            assert len([each for each in asked if not each.startswith("GIVE")]) == len(
                [each for each in parsed.orders if not each.startswith("GIVE")]
            )

    def test_one_order_for_each_unit(self) -> None:
        (only,) = sets(VIEWS["opening"])
        assert list(only) == list(VIEWS["opening"].legal_orders)
        assert list(only.values()) == [list(orders) for orders in VIEWS["opening"].legal_orders.values()]

    def test_builds_and_disbands_exclude_each_other(self) -> None:
        view = VIEWS["builds"]
        for orders in all_orders(view):
            assert not ({each[-1] for each in orders if each != "WAIVE"} >= {"B", "D"})
        both = sets(VIEWS["both"])
        assert len(both) == 3
        assert all({"A SPA"} < set(each) and len(each) == 3 for each in both)

    def test_no_more_builds_than_are_allowed(self) -> None:
        view = VIEWS["few builds"]
        assert view.max_builds == 1
        most = max(sum(each.endswith(" B") for each in orders) for orders in all_orders(view))
        assert most == 1

    def test_every_set_of_disbands_that_may_be(self) -> None:
        view = VIEWS["must disband"]
        assert view.must_disband == 2
        assert len(sets(view)) == 6
        assert all(len(each) == 2 for each in sets(view))

    def test_gifts_never_exceed_the_points_and_reach_them(self) -> None:
        for points in (*range(40), 1022, 1023):
            view = winter(["A SPA"], ["PAR", "BRE"], welfare=points, transfers=True)
            gifts = [choices[0].split() for choices in sets(view)[0].values() if choices[0].startswith("GIVE")]
            reached = {0}
            for _, size, *_ in gifts:
                reached |= {int(size) + other for other in reached}
            assert reached == set(range(points + 1)), points

    def test_no_messages_where_none_are_sent(self) -> None:
        said = reply_schema(VIEWS["retreat"])["properties"]["messages"]["properties"]
        assert all(each["enum"] == [""] for each in said.values())

    def test_limits_of_providers(self) -> None:
        class Large:
            """A view with many orders."""

            phase_type = "M"
            rules = Rules()

            @property
            def legal_orders(self) -> dict[str, tuple[str, ...]]:
                return {"A PAR": tuple(f"A PAR S {number}" for number in range(600)), "A BRE": ("A BRE H",)}

        schema = order_schema(Large())  # type: ignore[arg-type]
        parts = schema["properties"]["A PAR"]["anyOf"]
        assert [len(part["enum"]) for part in parts] == [LONGEST_ENUM, LONGEST_ENUM, 100]
        assert order_schema(Large(), 600)["properties"]["A PAR"] == TEXT  # type: ignore[arg-type]
        assert MAX_ENUM_ORDERS + 42 < 1000

    def test_more_sets_than_can_be_told(self) -> None:
        places = ["PAR", "BUR", "MAR", "GAS", "SPA", "BEL", "HOL", "RUH", "MUN", "PIC", "BRE", "KIE"]
        units = [*(f"A {place}" for place in places), "F POR", "F MAO"]
        view = winter(units, ["PAR", "BRE", "MAR", "SPA", "POR"], variant="standard")
        assert order_schema(view)["properties"] == dict.fromkeys(view.legal_orders, TEXT)

    def test_all_of_them_for_servers_without_a_limit(self) -> None:
        units = [
            f"A {place}" for place in ("BUR", "GAS", "HOL", "RUH", "MUN", "PIC", "KIE", "BER", "SIL", "BOH", "TYR")
        ]
        view = winter(units, ["PAR", "BRE", "MAR", "SPA", "POR", "BEL", "HOL", "KIE"], variant="standard")
        assert order_schema(view)["properties"] == dict.fromkeys(view.legal_orders, TEXT)
        schema = reply_schema(view, most=SCHEMAS["all"])
        assert len(schema["properties"]["orders"]["anyOf"]) == 165  # three of eleven
        drawn = Grammar(schema).draw(np.random.default_rng(0), SENTENCES)
        assert parse(drawn, view).issues == []


class TestGrammar:
    @each_view
    def test_it_is_the_language_of_the_schema(self, view: View) -> None:
        rng, schema = np.random.default_rng(2), reply_schema(view)
        grammar = Grammar(schema)
        regex = re.compile(grammar.regex())
        for _ in range(50):
            assert regex.fullmatch(json.dumps(Instance(schema, rng).make(schema)))
            drawn = grammar.draw(rng, SENTENCES)
            assert regex.fullmatch(drawn)
            assert parse(drawn, view).issues == []

    @pytest.mark.parametrize("wrong", ["A PAR - MOS", "A MOS - UKR", "", 'A MOS - UKR", "A MOS": "A MOS H', "a mos h"])
    def test_what_is_illegal_is_outside(self, wrong: str) -> None:
        schema = reply_schema(VIEWS["opening"])
        reply = Instance(schema, np.random.default_rng(0)).make(schema)
        first = next(iter(reply["orders"]))
        reply["orders"][first] = "?"
        text = json.dumps(reply).replace("?", wrong)
        is_legal = wrong in VIEWS["opening"].legal_orders[first]
        assert bool(re.fullmatch(Grammar(schema).regex(), text)) == is_legal

    @pytest.mark.parametrize("text", ['"a\\u00e9 \\n"', '"é\U0001f600"', '""', '"\\ud7ff\\ue000"'])
    def test_texts(self, text: str) -> None:
        assert re.fullmatch(Grammar({"type": "string"}).regex(), text)

    @pytest.mark.parametrize("text", ['"\\ud800"', '"\\uDFFF"', '"a"b"', '"\n"', '"\\x"', "a"])
    def test_no_texts(self, text: str) -> None:
        assert not re.fullmatch(Grammar({"type": "string"}).regex(), text)

    @pytest.mark.parametrize(
        "schema", [{}, {"type": "integer"}, {"type": "object", "properties": {"a": {}}, "required": []}]
    )
    def test_other_schemas_are_refused(self, schema: Any) -> None:
        with pytest.raises(ValueError, match="give objects with all properties"):
            Grammar(schema)
