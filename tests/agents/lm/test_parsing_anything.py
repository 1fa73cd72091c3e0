"""Whatever a language model writes: nothing breaks the reading of it, all that comes out is usable, and the schema."""

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.lm.prompts import Contents
from agents.lm.prompts.parts import ALL, NOTHING, Ablation
from agents.lm.reading.issues import FORM_ISSUES, MAX_ISSUES, MESSAGE_ISSUES, ORDER_ISSUES
from agents.lm.reading.objects import MAX_REPLY, find_objects
from agents.lm.reading.parsing import Parsed, parse, reply_schema
from welfare_env import Game, Rules, View
from welfare_env.game.press import MAX_MESSAGE_LENGTH, check_message

REPLY: dict[str, Any] = {
    "reasoning": "Germany wants peace.",
    "orders": ["A PAR - BUR", "A MAR S A PAR - BUR", "F BRE - MAO"],
    "messages": {"GERMANY": "I will not attack you.", "GLOBAL": "Let's disarm."},
}


def moments() -> Iterator[tuple[Game, View]]:
    """Games with what France is asked in them: in Spring, in Winter with points to give, in retreats, and in words."""
    centers = {"FRANCE": ["PAR", "SPA", "MAR", "BRE", "POR"]}
    given_points: dict[str, Any] = {"welfare": {"FRANCE": 2}, "rules": Rules(transfers=True)}
    dislodged = {"FRANCE": {"A GAS": ["PAR", "BUR"], "F WES": ["SPA/SC", "TUN"]}}
    winter = Game.from_position("W1905A", {"FRANCE": ["F MAO", "A SPA"]}, centers, **given_points)
    retreats = Game.from_position("F1905R", {"ENGLAND": ["A SER"]}, centers, dislodged=dislodged)
    words = Game(rules=Rules(press="tokens"))
    for game, asked in ((Game(), "messages"), (winter, "messages"), (retreats, "orders"), (words, "messages")):
        yield game, game.view("FRANCE", asked, int(asked == "messages"))


MOMENTS = list(moments())
VIEWS = [view for _, view in MOMENTS]
OPENING, WINTER, _, WORDS = VIEWS


def kinds(parsed: Parsed) -> list[str]:
    return [issue.kind for issue in parsed.issues]


# Whatever comes.

PIECES = st.sampled_from(
    (
        *('{"', '"}', '": "', '", "', "{", "}", "[", "]", ":", ",", '"', "'", "\\", "\\u"),
        *("//", "/*", "*/", "#", "```", "\n", "null", "1e999", "\ud800", "\x00", "é", "“", "”"),
        *("orders", "messages", "reasoning", "A PAR", "A MAR", "F BRE", "BUR", "- ", "S", "H", "GIVE"),
        *("WAIVE", "A PAR - BUR", "A SPA D", "A PAR B", "GIVE 9 ENGLAND", "Propose peace", "accept"),
        *("GERMANY", "FRANCE"),
    )
)  # fmt: skip
ANY_TEXT = st.text(st.characters()) | st.lists(PIECES, max_size=40).map("".join)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | PIECES | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(PIECES | st.sampled_from(["to", "text"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def check_usable(view: View, game: Game, parsed: Parsed) -> None:
    """All orders can be submitted, all messages sent, and every loss is of a known kind."""
    if view.legal_orders or parsed.orders:
        game.check_orders(view.power, parsed.orders)
    for recipient, text in parsed.messages:
        check_message(view.board, view.rules, view.power, recipient, text, 1)
    assert len({recipient for recipient, _ in parsed.messages}) == len(parsed.messages)
    assert {issue.kind for issue in parsed.issues} <= {*FORM_ISSUES, *ORDER_ISSUES, *MESSAGE_ISSUES}
    json.dumps([parsed.reasoning, [issue.what for issue in parsed.issues]], ensure_ascii=False).encode()


@given(ANY_TEXT, st.integers(0, 3))
def test_any_text_is_parsed(text: str, number: int) -> None:
    game, view = MOMENTS[number]
    check_usable(view, game, parse(text, view))


@pytest.mark.slow
@given(ANY_JSON, ANY_JSON, st.integers(0, 3))
def test_any_fields_are_parsed(orders: Any, messages: Any, number: int) -> None:
    game, view = MOMENTS[number]
    check_usable(view, game, parse(json.dumps({"orders": orders, "messages": messages}), view))


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 6), PIECES | st.just("")), max_size=4))
def test_damaged_replies_are_parsed(damages: list[tuple[int, int, str]]) -> None:
    text = json.dumps(REPLY)
    for start, length, put in damages:
        text = text[:start] + put + text[start + length :]
    check_usable(OPENING, MOMENTS[0][0], parse(text, OPENING))


@given(ANY_TEXT)
def test_the_reader_reads_what_json_reads(text: str) -> None:
    """A proper object is found as it is, inside any text without braces."""
    around = re.sub(r"[{}]", "", text)
    found = find_objects(f"{around} {json.dumps(REPLY)}")
    last = dict(found[0][-1].value)
    assert [last["orders"], dict(last["messages"])] == [REPLY["orders"], REPLY["messages"]]


HUGE = 10 * MAX_REPLY
OPENINGS = ("", '{"orders":["', '{"orders":[', '{"messages":{"')
UNITS = (
    *("x", " ", "\n", "{", "[", "(", '"', '{"', "{/*,", "{'a' ", '", ', "\\", "a:", "{},", "[],"),
    *("/*", "//\n", "-", "\\ud800", "\u201c", '{"orders":', '{"orders":[', '["a":', '"a":"', "A PAR H,"),
    *('"A PAR H",', '{"A PAR":"H"},', '"GERMANY":"x",', "ITALY and ", "GIVE 9 ", "A PAR - "),
)


@pytest.mark.slow
def test_a_reply_of_a_megabyte_is_read_in_bounded_time() -> None:
    """Anything quadratic in what is read would take minutes here."""
    wrong = []
    for unit, opening in product(UNITS, OPENINGS):
        parsed = parse(opening + unit * (HUGE // len(unit)), OPENING)
        sent = sum(len(text) for _, text in parsed.messages)
        if parsed.issues[0].kind != "too long" or len(parsed.issues) > MAX_ISSUES or sent > 8 * MAX_MESSAGE_LENGTH:
            wrong.append((opening, unit, kinds(parsed)[:3], sent))
    assert wrong == []


def test_deep_nesting_is_no_danger() -> None:
    for text in ("[" * 100_000, '{"orders":' * 900 + "1" + "}" * 900, '{"orders":' + "[" * 900 + "]" * 900 + "}"):
        assert parse(text, OPENING).orders == []


# The schema.


@pytest.mark.parametrize("ablation", [NOTHING, Ablation.NO_REASONING, Ablation.ORDERS_LAST, ALL])
def test_a_schema_has_the_keys_of_the_prompt_in_their_sequence(ablation: Ablation) -> None:
    expected = ["messages", "orders"] if ablation & Ablation.ORDERS_LAST else ["orders", "messages"]
    reasoning = [] if ablation & Ablation.NO_REASONING else ["reasoning"]
    assert list(reply_schema(WINTER, Contents(ablation=ablation))["properties"]) == reasoning + expected
