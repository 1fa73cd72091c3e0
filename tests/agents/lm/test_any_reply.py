"""Whatever a language model writes can be read, and nothing of its thinking is sent or ordered."""

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.lm.reading.issues import FORM_ISSUES, MAX_ISSUES, MESSAGE_ISSUES, ORDER_ISSUES
from agents.lm.reading.objects import MAX_REPLY
from agents.lm.reading.parsing import parse
from agents.lm.reading.thinking import MAX_THOUGHT, without_thinking
from tests.agents.lm.test_parsing import OPENING, REPLY, WHOLE, position
from welfare_env import Game, Rules
from welfare_env.game.press import MAX_MESSAGE_LENGTH, check_message

GOOD = json.dumps(REPLY)
DRAFT = json.dumps({"orders": ["A MAR - SPA"], "messages": {"ENGLAND": "LEAKED", "GLOBAL": "LEAKED"}})

PAIRS = {
    "think": ("<think>", "</think>"),
    "thinking": ("<thinking>", "</thinking>"),
    "big": ("<THINK>", "</Think >"),
    "mixed": ("<think>", "</thinking>"),
    "attribute": ('<thinking budget="9">', "</thinking>"),
    "reasoning": ("<reasoning>", "</reasoning>"),
    "thought": ("<thought>", "</thought>"),
    "analysis": ("<analysis>", "</analysis>"),
    "scratchpad": ("<scratchpad>", "</scratchpad>"),
    "seed": ("<seed:think>", "</seed:think>"),
    "longcat": ("<longcat_think>", "</longcat_think>"),
    "magistral": ("[THINK]", "[/THINK]"),
    "cohere": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "open thoughts": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "kimi": ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    "gemma": ("<|channel>thought\n", "<channel|>"),
    "harmony": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    "short harmony": ("<|channel|>analysis", "<|channel|>final"),
    "json harmony": ("<|channel|>analysis<|message|>", "<|channel|>final <|constrain|>json<|message|>"),
    "commentary": ("<|channel|>commentary<|message|>", "<|end|>"),
    "bare harmony": ("analysisWe ", "assistantfinal"),
}  # fmt: skip
TAGS = [name for name in PAIRS if "harmony" not in name and name not in ("commentary", "gemma")]

# What a model may think: drafts, halves of drafts, signs of JSON and of code, but not the mark that ends its thought.
PIECES = (
    *(DRAFT, DRAFT[:-1], DRAFT[1:], DRAFT[:25], '{"orders": ["A MAR H"', '"messages": {"ENGLAND": "LEAKED"}'),
    *("{", "}", "{ it's ", "it's odd", '"', "'", "`", "[", "]", "\\", "\\u"),
    *("```json\n", "```", "\n", "\ud800", "//", "/*", "#"),
    *("<answer>", "</answer>", "<", "x"),
)  # fmt: skip
OTHERS = st.text(alphabet=st.characters(exclude_characters="<[\u25c1"), max_size=8)
THOUGHTS = st.lists(st.sampled_from(PIECES) | OTHERS, max_size=8).map("".join)

FORMS = ["{opening}{first}{closing}{good}", "\n{opening}{first}{closing}\n\n{good}\n"]
FORMS_OF_TAGS = [
    *FORMS,
    "{first}{closing}{good}",  # a server may have put its beginning into the prompt
    "{opening}{first}{closing}{opening}{second}{closing}{good}",
    "{opening}{first}x{opening}{second}{closing}{draft}{closing}{good}",
    "{opening}\n{opening}{first}{closing}{good}",
    "{opening}{first}{closing}{closing}{good}",
    "{opening}{closing}{good}",
    "{opening}{first}<plan>{second}{closing}{good}",
]
BEHIND = st.sampled_from([(name, form) for name in PAIRS for form in (FORMS_OF_TAGS if name in TAGS else FORMS)])


def said(text: str) -> list[Any]:
    parsed = parse(text, OPENING)
    return [*parsed.orders, *parsed.messages]


# What stands behind a thought.


@settings(max_examples=60)
@given(BEHIND, THOUGHTS, THOUGHTS)
def test_what_is_good_behind_thinking_is_read_as_if_it_were_not_there(behind, first, second):
    name, form = behind
    opening, closing = PAIRS[name]
    text = form.format(opening=opening, closing=closing, first=first, second=second, draft=DRAFT, good=GOOD)
    assert parse(text, OPENING) == WHOLE


@settings(max_examples=30)
@given(thought=THOUGHTS)
def test_thoughts_within_an_object_are_taken_out(thought: str) -> None:
    spoken = f"<think>{thought}</think>"
    reply = REPLY | {"messages": {"GERMANY": f"{spoken}Hello{spoken}", "GLOBAL": spoken}}
    reply["orders"] = [f"A PAR {spoken}- BUR", "A MAR S A PAR - BUR", spoken, f"{thought}</think>F BRE - MAO"]
    parsed = parse(json.dumps(reply), OPENING)
    assert (parsed.orders, parsed.messages) == (REPLY["orders"], [("GERMANY", "Hello")])
    between = GOOD.replace('"orders":', f'{spoken}"orders":').replace("A PAR ", f"A {spoken}PAR ")
    assert (parse(between, OPENING).orders, parse(between, OPENING).messages) == (WHOLE.orders, WHOLE.messages)


@settings(max_examples=30)
@given(thought=THOUGHTS)
def test_a_text_in_which_a_thought_has_no_end_is_lost_and_counted(thought: str) -> None:
    reply = {"orders": [f"A PAR H<think>{thought}", "A MAR H"], "messages": {"GERMANY": f"I will not<think>{thought}"}}
    parsed = parse(json.dumps(reply), OPENING)
    assert (parsed.orders, parsed.messages) == (["A MAR H"], [])
    assert [issue.kind for issue in parsed.issues] == ["order syntax", "message text"]


# What stands in a thought.


def test_nothing_is_sent_of_a_thought_wherever_it_is_cut_off() -> None:
    sent = {
        text: reply
        for opening, closing in PAIRS.values()
        for whole in [f"{opening}Let me see. {DRAFT} {closing}No JSON."]
        for text in (whole[:end] for end in range(len(opening), len(whole) + 1))
        if (reply := said(text))
    }
    assert sent == {}


@settings(max_examples=30)
@given(st.sampled_from(TAGS), THOUGHTS)
def test_a_reply_before_a_thought_is_a_draft_if_the_thought_has_no_end(name: str, thought: str) -> None:
    opening, closing = PAIRS[name]
    assert parse(f"{GOOD}\n{opening}{thought}", OPENING).messages == []
    assert parse(f"{GOOD}{opening}{DRAFT}{closing}", OPENING) == WHOLE


@pytest.mark.parametrize("end", ["[/THI", "[unused1", "</"])
def test_a_mark_that_ends_a_thought_may_be_cut_off(end: str) -> None:
    assert parse(GOOD + end, OPENING).messages == []
    for other in ("[/INST", "[unused2"):
        assert said(GOOD + other) == said(GOOD)


# What is no thought.


def test_marks_in_the_texts_of_a_proper_reply_are_quotations() -> None:
    reply = REPLY | {"reasoning": 'England wrote "</think>" and "<think>": a trick.'}
    for text in (json.dumps(reply), f"Here:\n{json.dumps(reply)}\nDone.", f"<think>{DRAFT}</think>{json.dumps(reply)}"):
        parsed = parse(text, OPENING)
        assert (parsed.reasoning, parsed.orders, parsed.messages) == (reply["reasoning"], WHOLE.orders, WHOLE.messages)


@pytest.mark.parametrize("text", ["I think <b>so</b>.", "<thinker>", "[reasoning]", "x<y think>"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without_thinking(text) == (text, False)


def test_a_long_thought_takes_no_room_of_the_reply() -> None:
    thought = "Let me see. " * (2 * MAX_REPLY // 12)
    assert parse(f"<think>{thought}</think>{GOOD}", OPENING) == WHOLE


@pytest.mark.slow
def test_any_number_of_marks_is_read_in_bounded_time() -> None:
    """Anything quadratic in what is read would take minutes here."""
    units = ("<think>", "</think>", "<think></think>{", '{"a":', '<think></think>{"a":[', "<|channel|>", "[", "<")
    read = {unit: said(unit * (2 * MAX_THOUGHT // len(unit))) for unit in units}
    read["nested"] = said('{"a":' * 15_000 + "<think></think>")
    assert not any(read.values())
    assert not parse(f"<think>{' ' * MAX_THOUGHT}</think>{GOOD}", OPENING).messages  # behind what is read


# Whatever comes.

GAMES = (
    Game(),
    position("W1905A", units={"FRANCE": ["F MAO", "A SPA"]}),
    position("F1905R", units={"ENGLAND": ["A SER"]}, dislodged={"FRANCE": {"F WES": ["SPA/SC", "TUN"]}}),
    Game(rules=Rules(press="tokens")),
)

SIGNS = st.sampled_from(
    (
        *('{"', '"}', '": "', '", "', "{", "}", "[", "]", ":", ",", '"', "'", "\\", "\\u"),
        *("//", "/*", "*/", "#", "```", "\n", "null", "1e999", "\ud800", "\x00", "é", "“", "”"),
        *("orders", "messages", "reasoning", "A PAR", "A MAR", "F BRE", "BUR", "- ", "S", "H", "GIVE"),
        *("WAIVE", "A PAR - BUR", "A SPA D", "A PAR B", "GIVE 9 ENGLAND", "Propose peace", "accept"),
        *("GERMANY", "FRANCE"),
    )
)  # fmt: skip
ANY_TEXT = st.text(st.characters()) | st.lists(SIGNS, max_size=40).map("".join)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | SIGNS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(SIGNS | st.sampled_from(["to", "text"]), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = st.builds(lambda orders, messages: json.dumps({"orders": orders, "messages": messages}), ANY_JSON, ANY_JSON)


@st.composite
def damaged(draw: Any) -> str:
    """A reply in which some pieces are replaced."""
    text = GOOD
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        text = text[:start] + draw(SIGNS | st.just("")) + text[start + draw(st.integers(0, 6)) :]
    return text


@settings(max_examples=200)
@given(ANY_TEXT | FIELDS | damaged(), st.sampled_from(GAMES))
def test_whatever_comes_is_parsed(text: str, game: Game) -> None:
    """All orders can be submitted, all messages sent, and every loss is of a known kind."""
    view = game.view("FRANCE") if game.phase[-1] == "R" else game.view("FRANCE", "messages", 1)
    parsed = parse(text, view)
    game.check_orders(view.power, parsed.orders)
    for recipient, text in parsed.messages:
        check_message(view.board, view.rules, view.power, recipient, text, 1)
    assert len({recipient for recipient, _ in parsed.messages}) == len(parsed.messages)
    assert {issue.kind for issue in parsed.issues} <= {*FORM_ISSUES, *ORDER_ISSUES, *MESSAGE_ISSUES}
    json.dumps([parsed.reasoning, [issue.what for issue in parsed.issues]], ensure_ascii=False).encode()


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
            wrong.append((opening, unit, sent))
    assert wrong == []


def test_deep_nesting_is_no_danger() -> None:
    for text in ("[" * 100_000, '{"orders":' * 900 + "1" + "}" * 900, '{"orders":' + "[" * 900 + "]" * 900 + "}"):
        assert parse(text, OPENING).orders == []
