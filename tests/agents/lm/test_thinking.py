"""Thinking in replies: nothing of it is sent or ordered, and what stands behind it is read as if it were not there."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import modal_env
from agents.lm.player.programs import read_program
from agents.lm.reading.objects import MAX_REPLY
from agents.lm.reading.parsing import Parsed, parse
from agents.lm.reading.thinking import MAX_THOUGHT, without_thinking
from welfare_env import Game, Rules
from welfare_env.game.view import View

OPENING = Game().view("FRANCE", "messages", 1)
WORDS = Game(rules=Rules(press="tokens")).view("FRANCE", "messages", 1)
MEDIATOR = Game(rules=Rules(mediator=True)).view("MEDIATOR", "messages", 1)
REPLY: dict[str, Any] = {
    "reasoning": 'Germany said "peace".\nI am not sure.',
    "orders": ["A PAR - BUR", "F BRE - MAO"],
    "messages": {"GERMANY": "Let's {disarm}: [now].", "GLOBAL": "accept"},
}
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


def said(parsed: Parsed) -> str:
    return json.dumps([parsed.orders, parsed.messages])


def whole(view: View = OPENING) -> Parsed:
    return parse(GOOD, view)


# What stands behind a thought.


@given(name=st.sampled_from(list(PAIRS)), thought=THOUGHTS)
def test_what_is_good_behind_thinking_is_read_as_if_it_were_not_there(name: str, thought: str) -> None:
    opening, closing = PAIRS[name]
    for text in (opening + thought + closing + GOOD, f"\n{opening}{thought}{closing}\n\n{GOOD}\n"):
        assert parse(text, OPENING) == whole()


@given(name=st.sampled_from(TAGS), thought=THOUGHTS)
def test_a_thought_may_lack_its_beginning(name: str, thought: str) -> None:
    assert parse(thought + PAIRS[name][1] + GOOD, OPENING) == whole()


@pytest.mark.slow
@given(name=st.sampled_from(TAGS), first=THOUGHTS, second=THOUGHTS)
def test_thoughts_may_be_doubled_nested_and_empty(name: str, first: str, second: str) -> None:
    opening, closing = PAIRS[name]
    for text in (
        f"{opening}{first}{closing}{opening}{second}{closing}{GOOD}",
        f"{opening}{first}x{opening}{second}{closing}{DRAFT}{closing}{GOOD}",
        f"{opening}\n{opening}{first}{closing}{GOOD}",
        f"{opening}{first}{closing}{closing}{GOOD}",
        f"{opening}{closing}{GOOD}",
        f"{opening}{first}<plan>{second}{closing}{GOOD}",
    ):
        assert parse(text, OPENING) == whole()


@given(thought=THOUGHTS)
def test_thoughts_within_an_object_are_taken_out(thought: str) -> None:
    spoken = f"<think>{thought}</think>"
    reply = REPLY | {"messages": {"GERMANY": f"{spoken}Hello{spoken}", "GLOBAL": spoken}}
    reply["orders"] = [f"A PAR {spoken}- BUR", spoken, f"{thought}</think>F BRE - MAO"]
    parsed = parse(json.dumps(reply), OPENING)
    assert (parsed.orders, parsed.messages) == (REPLY["orders"], [("GERMANY", "Hello")])
    between = GOOD.replace('"orders":', f'{spoken}"orders":').replace("A PAR ", f"A {spoken}PAR ")
    assert (parse(between, OPENING).orders, parse(between, OPENING).messages) == (whole().orders, whole().messages)


@given(thought=THOUGHTS)
def test_a_text_in_which_a_thought_has_no_end_is_lost_and_counted(thought: str) -> None:
    reply = {"orders": [f"A PAR H<think>{thought}", "A MAR H"], "messages": {"GERMANY": f"I will not<think>{thought}"}}
    parsed = parse(json.dumps(reply), OPENING)
    assert (parsed.orders, parsed.messages) == (["A MAR H"], [])
    assert [issue.kind for issue in parsed.issues] == ["order syntax", "message text"]


@pytest.mark.parametrize("view", [OPENING, WORDS, MEDIATOR], ids=["texts", "words", "mediator"])
def test_all_kinds_of_players_think(view: View) -> None:
    replies = {name: parse(f"{opening}{DRAFT}{closing}{GOOD}", view) for name, (opening, closing) in PAIRS.items()}
    assert replies == dict.fromkeys(PAIRS, whole(view))


@given(name=st.sampled_from(list(PAIRS)))
def test_programs_are_thought_about_too(name: str) -> None:
    opening, closing = PAIRS[name]
    env = modal_env.make(actions="formula")
    env.reset(seed=0)
    setting = env.infos["player_0"]["setting"]
    draft, good = '{"program": "CooperateBot"}', '{"reasoning": "r", "program": "FairBot"}'
    assert read_program(f"{opening}{draft}{closing}{good}", setting) == read_program(good, setting)
    for cut in (f"{opening}{draft}", f"{opening}{draft} or {good}"):
        assert read_program(cut, setting).program is None
    assert read_program(f"{draft} or rather", setting, is_cut=True).program is None


# What stands in a thought.


def cuts(text: str) -> Iterator[str]:
    yield from (text[:end] for end in range(len(text)))


def test_nothing_is_sent_of_a_thought_that_is_cut_off() -> None:
    sent = {
        text: reply
        for opening, closing in PAIRS.values()
        for text in cuts(f"{opening}Let me see. {DRAFT}\nNo. {DRAFT} {closing}")
        if len(text) >= len(opening) and (reply := said(parse(text, OPENING))) != "[[], []]"
    }
    assert sent == {}


@given(name=st.sampled_from(list(PAIRS)), thought=THOUGHTS)
def test_whatever_stands_inside_thinking_reaches_neither_messages_nor_orders(name: str, thought: str) -> None:
    opening, closing = PAIRS[name]
    for text in (opening + thought, f"{opening}{thought}{closing}", f"{opening}{thought}{closing}No JSON."):
        assert said(parse(text, OPENING)) == "[[], []]"


@given(name=st.sampled_from(TAGS), thought=THOUGHTS)
def test_a_reply_before_a_thought_without_an_end_is_a_draft(name: str, thought: str) -> None:
    assert parse(f"{GOOD}\n{PAIRS[name][0]}{thought}", OPENING).messages == []


def test_a_reply_before_a_whole_thought_counts() -> None:
    assert parse(f"{GOOD}<think>{DRAFT}</think>", OPENING) == whole()


@given(thought=THOUGHTS)
def test_a_thought_without_marks_that_ran_into_the_limit_is_not_sent(thought: str) -> None:
    for text in (thought, f"{thought}{DRAFT}", f"{DRAFT}{thought}"):
        assert parse(text, OPENING, is_cut=True).messages == []


@pytest.mark.parametrize("end", ["[/THI", "[unused1", "</"])
def test_a_mark_that_ends_a_thought_may_be_cut_off(end: str) -> None:
    assert parse(GOOD + end, OPENING).messages == []


# What is no thought.


@pytest.mark.parametrize("end", ["[/INST", "[unused2"])
def test_the_beginning_of_another_mark_cuts_nothing_off(end: str) -> None:
    assert said(parse(GOOD + end, OPENING)) == said(whole())


def test_marks_in_the_texts_of_a_proper_reply_are_quotations() -> None:
    reply = REPLY | {"reasoning": 'England wrote "</think>" and "<think>": a trick.'}
    for text in (json.dumps(reply), f"Here:\n{json.dumps(reply)}\nDone.", f"<think>{DRAFT}</think>{json.dumps(reply)}"):
        parsed = parse(text, OPENING)
        assert (parsed.reasoning, parsed.orders, parsed.messages) == (
            reply["reasoning"],
            whole().orders,
            whole().messages,
        )


@pytest.mark.parametrize("text", ["I think <b>so</b>.", "<thinker>", "[reasoning]", "x<y think>"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without_thinking(text) == (text, False)


def test_a_long_thought_takes_no_room_of_the_reply() -> None:
    thought = "Let me see. " * (2 * MAX_REPLY // 12)
    assert parse(f"<think>{thought}</think>{GOOD}", OPENING) == whole()


@pytest.mark.slow
def test_any_number_of_marks_is_read_in_bounded_time() -> None:
    """Anything quadratic in what is read would take minutes here."""
    units = ("<think>", "</think>", "<think></think>{", '{"a":', '<think></think>{"a":[', "<|channel|>", "[", "<")
    read = {unit: said(parse(unit * (2 * MAX_THOUGHT // len(unit)), OPENING)) for unit in units}
    read["nested"] = said(parse('{"a":' * 15_000 + "<think></think>", OPENING))
    assert read == dict.fromkeys(read, "[[], []]")
    assert not parse(f"<think>{' ' * MAX_THOUGHT}</think>{GOOD}", OPENING).messages  # behind what is read
