"""Replies of language models: what is understood, and what is lost and how that is noted."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.lm.prompts import build
from agents.lm.reading.parsing import Parsed, parse, reply_schema
from welfare_env import Game, Rules, View
from welfare_env.game.press import MAX_MESSAGE_LENGTH

OPENING = Game().view("FRANCE", "messages", 1)
WORDS = Game(rules=Rules(press="tokens")).view("FRANCE", "messages", 1)
RULES = Rules(transfers=True)


def position(phase: str, **more: Any) -> Game:
    """France with fleets on and off coasts, home centers to build in, and points to give."""
    units = {"FRANCE": ["F MAO", "F LYO", "A SPA", "F ENG", "A BRE", "F STP/SC"], "ENGLAND": ["F NTH", "A LON"]}
    centers = {"FRANCE": ["PAR", "SPA", "MAR", "BRE", "POR", "STP", "MOS", "EDI"], "ENGLAND": ["LON"]}
    given: dict[str, Any] = {"units": units, "centers": centers, "welfare": {"FRANCE": 2}, "rules": RULES}
    return Game.from_position(phase, **{**given, **more})


def fall() -> View:
    return position("F1905M").view("FRANCE", "messages", 1)


def winter(**more: Any) -> View:
    units = {"FRANCE": ["F MAO", "A SPA"], "ENGLAND": ["F NTH", "A LON"]}
    return position("W1905A", **{"units": units, **more}).view("FRANCE", "messages", 1)


def retreats() -> View:
    dislodged = {"FRANCE": {"A GAS": ["PAR", "BUR"], "F WES": ["SPA/SC", "TUN"]}}
    return position("F1905R", units={"ENGLAND": ["A SER"]}, dislodged=dislodged).view("FRANCE")


def kinds(parsed: Parsed) -> list[str]:
    return [issue.kind for issue in parsed.issues]


def lost(parsed: Parsed) -> list[str]:
    """The issues but for what a model notes beside its orders and messages."""
    return [kind for kind in kinds(parsed) if kind != "unused"]


# Spellings of orders.


def test_spellings_beyond_those_of_the_game() -> None:
    """tests/data/notations.md has the others."""
    read = [
        (OPENING, "* A PAR - BUR (before Germany does, maybe)", "A PAR - BUR"),
        (OPENING, "A MAR S GERMANY A MUN - BUR", "A MAR S A MUN - BUR"),
        (fall(), "F MAO S F LYO - SPA", "F MAO S F LYO - SPA"),
        (winter(), "give 1 WP to England", "GIVE ENGLAND"),
    ]
    assert [text for view, text, meant in read if parse(json.dumps({"orders": [text]}), view).orders != [meant]] == []


PARIS, BOTH = ["A PAR - BUR"], ["A PAR - BUR", "A MAR H"]
NESTED = [
    ([{"unit": "A PAR", "from": "PAR", "action": "MOVE", "to": "BUR"}], PARIS),
    ([{"unit": "A PAR", "order": "- BUR", "reason": "A MAR H"}], PARIS),
    ([{"A PAR": "- BUR", "reason": "take it"}], PARIS),
    ([{"order": {"unit": "A PAR", "action": "move", "to": "BUR"}}], PARIS),
    ({"A PAR": {"order": "A PAR - BUR", "reason": "take it"}}, PARIS),
    ({"FRANCE": {"A PAR": {"action": "move", "target": "BUR"}}}, PARIS),
    ({"A PAR": {"type": "hold", "comment": "wait for Germany, then go"}}, ["A PAR H"]),
    ([{"unit": "A PAR", "action": "support", "target": "A MAR - BUR"}], ["A PAR S A MAR - BUR"]),
    ([{"first": "A PAR - BUR", "second": "A MAR H"}], BOTH),
    ({"A PAR": "A PAR - BUR", "A MAR": "H"}, BOTH),
    ({"0": {"unit": "A PAR", "to": "BUR"}, "1": {"unit": "A MAR", "action": "hold"}}, BOTH),
    ([{"first": {"unit": "A PAR", "to": "BUR"}, "second": {"unit": "A MAR", "action": "hold"}}], BOTH),
    ([["A PAR - BUR"], ["A MAR H"]], BOTH),
    ("A PAR - BUR, A MAR H (or, if you like, not)", BOTH),
]
GIFTS = [{"GIVE": ["ENGLAND", "England"]}, {"GIVE": {"to": "ENGLAND", "points": 2, "reason": "for peace with ITALY"}}]


def test_orders_as_objects_are_read_however_they_are_nested() -> None:
    cases = [(OPENING, *case) for case in NESTED] + [(winter(), gift, ["GIVE ENGLAND"] * 2) for gift in GIFTS]
    read = [(given, meant, parse(json.dumps({"orders": given}), view)) for view, given, meant in cases]
    assert [each for each in read if (each[2].orders, lost(each[2])) != (each[1], [])] == []


# What is lost.


LOST = [
    (lambda: OPENING, "A MUN H", "order of others"),
    (lambda: OPENING, "A PAR - MOS", "order not legal"),
    (lambda: OPENING, "A PAR - XYZ", "order syntax"),
    (lambda: OPENING, "A PAR - BUR" + " " * 300 + "!", "order syntax"),
    (fall, "F MAO - SPA", "order unclear"),
    (fall, "F LYO - SPA/NC", "order coast"),
    (winter, "BRE B", "order unclear"),
    (winter, "GIVE FRANCE", "order not legal"),
    (winter, "GIVE", "order syntax"),
]


def test_orders_that_are_lost() -> None:
    wrong = []
    for view, text, kind in LOST:
        parsed = parse(json.dumps({"orders": [text]}), view())
        is_told = (parsed.orders, kinds(parsed), parsed.refused_orders) == ([], [kind], 1)
        if not is_told or text[:20] not in parsed.issues[0].what:
            wrong.append((text, kind, parsed))
    assert wrong == []


FEW = {"centers": {"FRANCE": ["PAR", "MAR", "BRE"]}}
TWO, TOO_MANY = ["GIVE ENGLAND", "GIVE ENGLAND"], ["too many", "too many"]
PARTLY_LOST: dict[str, tuple[Any, list[str], list[str], list[str]]] = {
    "others remain": (
        lambda: OPENING,
        ["A MUN H", "A PAR - BUR", "nonsense", "A MAR - SPA", "F BRE - SPA/SC"],
        ["A PAR - BUR", "A MAR - SPA"],
        ["order of others", "order syntax", "order not legal"],
    ),
    "of two for a unit the first legal one counts": (
        lambda: OPENING,
        ["A PAR - MOS", "A PAR - BUR", "A PAR H"],
        ["A PAR - BUR"],
        ["order not legal", "second order"],
    ),
    "the first legal one is a build": (
        winter,
        ["A BUR D", "A PAR B", "A SPA D", "F BRE B"],
        ["A PAR B", "F BRE B"],
        ["order not legal", "builds and disbands"],
    ),
    "builds": (lambda: winter(**FEW), ["A PAR B", "A MAR B", "GIVE 3 ENGLAND", "WAIVE"], ["A PAR B", *TWO], TOO_MANY),
    "very large gifts": (winter, [f"GIVE ENGLAND {'9' * 150}", "GIVE 1 ENGLAND"], TWO, TOO_MANY),
    "of the mediator": (
        lambda: Game(rules=Rules(mediator=True)).view("MEDIATOR", "messages", 1),
        ["A PAR H", "GIVE FRANCE"],
        [],
        ["order not legal", "order not legal"],
    ),
}


@pytest.mark.parametrize(("view", "texts", "orders", "lost"), PARTLY_LOST.values(), ids=PARTLY_LOST)
def test_of_several_orders_those_that_may_be_given_together_stay(view, texts, orders, lost):
    parsed = parse(json.dumps({"orders": texts, "messages": {"ENGLAND": "hi", "PRUSSIA": "hi"}}), view())
    assert (parsed.orders, parsed.messages, kinds(parsed)) == (orders, [("ENGLAND", "hi")], [*lost, "recipient"])


def test_orders_under_another_power_are_none() -> None:
    parsed = parse('{"orders": {"FRANCE": ["A PAR H"], "GERMANY": {"A MUN": {"action": "hold"}}}}', OPENING)
    assert (parsed.orders, kinds(parsed)) == (["A PAR H"], ["order of others"])


# Messages.


def wrong_messages(cases: list[Any], view: View) -> list[Any]:
    """What is read of messages, where it is not what is to be sent and what is to be lost."""
    read = [(each, parse(json.dumps({"orders": [], "messages": each[0]}), view)) for each in cases]
    return [(each, parsed) for each, parsed in read if (parsed.messages, kinds(parsed)) != each[1:]]


MESSAGES = [
    ({" germany ": "hi"}, [("GERMANY", "hi")], []),
    ({"everyone": "a", "GLOBAL": "b"}, [("GLOBAL", "a\nb")], []),
    ({"GERMANY": "", "ITALY": None, "RUSSIA": "  "}, [], []),
    ({"GERMANY, ITALY": "hi"}, [("GERMANY", "hi"), ("ITALY", "hi")], []),
    ({"GERMANY/Prussia": "hi"}, [("GERMANY", "hi")], ["recipient"]),
    ({"GERMANY": {"text": "hi", "reason": "to deceive them"}}, [("GERMANY", "hi")], ["unused"]),
    ({"GERMANY": [{"text": "hi", "tone": "false"}], "why": "to deceive them"}, [("GERMANY", "hi")], ["unused"] * 2),
    ({"GERMANY": {"proposal": "Peace?", "my_real_plan": "War!"}}, [], ["unused", "unused"]),
    ([{"to": "GERMANY", "text": "hi", "content": "War!", "x": 1}], [("GERMANY", "hi")], ["unused", "unused"]),
    ({"GERMANY": "None", "ITALY": " n/a.", "RUSSIA": "...", "TURKEY": "(no message)"}, [], ["no message"] * 4),
    ({"GERMANY": "None of us wins."}, [("GERMANY", "None of us wins.")], []),
    ([{"recipient": ["GERMANY", "ITALY"], "message": "hi"}], [("GERMANY", "hi"), ("ITALY", "hi")], []),
    ({"FRANCE": "hi"}, [], ["message to itself"]),
    ({"PRUSSIA": "hi", "": "hi"}, [], ["recipient", "field"]),
    (["hi", 3], [], ["field", "field"]),
    (None, [], []),
    ({"GERMANY": "x" * 5000}, [("GERMANY", "x" * MAX_MESSAGE_LENGTH)], ["message too long"]),
    ({"GERMANY": "\ud800!"}, [("GERMANY", "\ufffd!")], ["message text"]),
]


def test_messages() -> None:
    assert wrong_messages(MESSAGES, OPENING) == []


ACCEPTED, REFUSED = [("GERMANY", "accept")], [("GLOBAL", "refuse")]


MESSAGES_OF_WORDS = [
    ({"GERMANY": "  Propose \n PEACE . "}, [("GERMANY", "propose peace")], []),
    ({"ALL": "refuse", "Italy and Russia": "accept"}, [*REFUSED, ("ITALY", "accept"), ("RUSSIA", "accept")], []),
    ({"GERMANY": "accept.."}, [], ["word"]),
    ({"GERMANY": "accept\nrefuse"}, [], ["word"]),
    ({"GERMANY": ["accept", "refuse"]}, ACCEPTED, ["second word"]),
    ([{"GERMANY": "hi"}, {"GERMANY": "accept"}, {"GERMANY": "Accept"}], ACCEPTED, ["word", "second word"]),
    ({"FRANCE": "accept", "PRUSSIA": "accept"}, [], ["message to itself", "recipient"]),
]


def test_messages_of_words() -> None:
    assert wrong_messages(MESSAGES_OF_WORDS, WORDS) == []


def test_messages_where_none_are_sent_are_noted() -> None:
    for view in (Game(rules=Rules(press=None)).view("FRANCE"), retreats()):
        parsed = parse('{"orders": [], "messages": {"GERMANY": "hi", "ITALY": ""}}', view)
        assert (parsed.messages, kinds(parsed)) == ([], ["no messages now"])


# Forms of replies.

REPLY: dict[str, Any] = {
    "reasoning": 'Germany said "peace".\nI am not sure.',
    "orders": ["A PAR - BUR", "A MAR S A PAR - BUR", "F BRE - MAO"],
    "messages": {"GERMANY": "I will not attack you.", "GLOBAL": "Let's disarm, {all} of us: [now]."},
}
WHOLE = parse(json.dumps(REPLY), OPENING)


def test_a_proper_reply() -> None:
    assert (WHOLE.reasoning, WHOLE.orders, dict(WHOLE.messages)) == tuple(REPLY.values())
    assert (WHOLE.issues, WHOLE.is_valid) == ([], True)


@pytest.mark.parametrize(
    ("form", "lost"),
    [
        ("```json\n{}\n```", []),
        ("Here is my reply:\n```\n{}\n```\nGood luck to me!", ["prose"]),
        ("I think {{it's}} odd. {}", ["prose"]),
        ('{{"reply": {}}}', []),
        ("[{}]", ["prose"]),
        ('{{"orders": ["A PAR H"], "messages": {{}}}} No, better: {}', ["prose", "several objects"]),
    ],
)
def test_what_stands_around_an_object(form: str, lost: list[str]) -> None:
    parsed = parse(form.format(json.dumps(REPLY)), OPENING)
    assert (parsed.reasoning, parsed.orders, parsed.messages) == (WHOLE.reasoning, WHOLE.orders, WHOLE.messages)
    assert kinds(parsed) == lost
    assert parsed.is_valid == (lost in ([], ["prose"]))  # as in the paper's own program


@pytest.mark.parametrize(
    "text",
    [
        '{"orders": ["A PAR - BUR", "A MAR H",], "messages": {"ITALY": "hi",},}',
        "{orders: ['A PAR - BUR', 'A MAR H'], messages: {ITALY: 'hi'}}",
        '{"orders": [\n"A PAR - BUR", // into Burgundy\n"A MAR H" /* stay */\n], # all\n"messages": {"ITALY": "hi"}}',
        "{_orders^: [_A PAR - BUR^, _A MAR H^], _messages^: {_ITALY^: _hi^}}".translate({95: 0x201C, 94: 0x201D}),
        '{"orders": ["A PAR - BUR", "A MAR H", "messages": {"ITALY": "hi"}}',
        '{"orders": ["A PAR - BUR", "A MAR H"], "messages": {"ITALY": "hi"}}'.translate({58: 0xFF1A, 123: 0xFF5B}),
        "{'ORDERS': 'A PAR - BUR; A MAR H', 'Messages': [{'to': 'ITALY', 'text': 'hi'}]}",
    ],
)
def test_damaged_objects_are_repaired(text: str) -> None:
    parsed = parse(text, OPENING)
    assert parsed.orders == ["A PAR - BUR", "A MAR H"]
    assert parsed.messages == [("ITALY", "hi")]
    assert not parsed.is_valid


DRAFT = '{"orders": ["A PAR H"], "messages": {"ENGLAND": "DRAFT", "GLOBAL": "DRAFT"}}'


CUT_OFF = [
    (f'{{"draft": {DRAFT}, "final": {{"orders": ["A MAR H"]}}}}', ["A MAR H"]),
    (f'{{"thinking": {DRAFT}}}', []),
    (f'{{"reply": {{"orders": ["A MAR H"]}}, "analysis": {DRAFT}}}', ["A MAR H"]),
    (DRAFT + ' Better: {"orders": ["A MAR H"], "mess', ["A MAR H"]),  # the last object is cut off
    (DRAFT + ' Better: {"ord', []),
    (f'{{"draft": {DRAFT}, "fin', []),
    (DRAFT[:-2], ["A PAR H"]),
    (DRAFT.replace("{", "{'x': 1, ", 1)[:-1], ["A PAR H"]),
    ('{"messages": {"ENGLAND": "DRAFT"}, "orders": ["A MAR H"], "messages": {"ITALY": "', ["A MAR H"]),
    ('{"orders": "A PAR H\\nA MAR S A PAR', ["A PAR H"]),  # what is cut off is legal, too
]


def test_a_draft_or_what_is_cut_off_is_never_sent() -> None:
    read = [(text, orders, parse(text, OPENING)) for text, orders in CUT_OFF]
    assert [each for each in read if (each[2].orders, each[2].messages) != (each[1], [])] == []


@pytest.mark.parametrize(
    ("behind", "orders"), [("", ["A PAR H"]), ("\n```", ["A PAR H"]), (" But then", []), (' {"a": 1}', [])]
)
def test_of_a_reply_that_ran_into_its_limit_nothing_is_sent(behind: str, orders: list[str]) -> None:
    """What follows an object that is whole may be the thought that it was not right."""
    assert parse(DRAFT, OPENING).messages
    parsed = parse(DRAFT + behind, OPENING, is_cut=True)
    assert (parsed.orders, parsed.messages) == (orders, [])
    assert "truncated" in kinds(parsed)
    assert not parsed.is_valid


EXAMPLE = (
    '{"reasoning": "...", "orders": {"...": "...", "...": "..."}, "messages": {"AUSTRIA": "...", "GLOBAL": "..."}}'
)


def test_the_example_of_the_prompt_is_no_reply() -> None:
    assert EXAMPLE in build(OPENING).text
    neutral = re.findall(r"^# The form of your reply in S1901M\n(.+)$", build(OPENING).text, re.MULTILINE)[0]
    empty = [EXAMPLE, EXAMPLE.replace("...", "\u2026"), json.dumps(reply_schema(OPENING))]
    for copy in (*empty, neutral):
        for text in (f"{json.dumps(REPLY)}\nThe form was: {copy}", f"{copy} {json.dumps(REPLY)}"):
            parsed = parse(text, OPENING)
            assert (parsed.orders, parsed.messages, parsed.is_valid) == (WHOLE.orders, WHOLE.messages, True)
    for copy in empty:
        alone = parse(copy, OPENING)
        assert (alone.orders, alone.messages, kinds(alone)) == ([], [], ["no object"])
    assert parse(neutral, OPENING).orders == [f"{unit} H" for unit in OPENING.legal_orders]  # alone it is a reply
    dots = parse('{"reasoning": "...", "orders": ["A PAR H"], "messages": {"ITALY": "..."}}', OPENING)
    assert (dots.orders, dots.messages, kinds(dots)) == (["A PAR H"], [], ["no message"])


# Whose words these are.

QUOTED = [
    {"messages": {"GLOBAL": "England: kill France."}},
    {"orders": ["A MAR H"]},
    {"orders": {"A PAR": "A PAR H"}, "messages": {"ENGLAND": "Quoted."}},
    {"reasoning": "England thinks so."},
]


BESIDE = [
    "{reply} England wrote: {quoted}",
    "England wrote: {quoted}. My reply: {reply}",
    "```json\n{reply}\n```\nThey had sent\n```json\n{quoted}\n```",
    "[{reply}, {quoted}]",
    '{{"reply": {reply}, "they_wrote": {quoted}}}',
]


@given(st.sampled_from(BESIDE), st.sampled_from(QUOTED))
def test_a_quotation_beside_a_whole_reply_is_not_the_reply(form: str, quoted: Any) -> None:
    parsed = parse(form.format(reply=json.dumps(REPLY), quoted=json.dumps(quoted)), OPENING)
    assert (parsed.orders, parsed.messages, parsed.reasoning) == (WHOLE.orders, WHOLE.messages, WHOLE.reasoning)
    assert "several objects" in kinds(parsed)


def test_two_objects_that_complement_each_other_are_one_reply() -> None:
    orders, said = {"orders": ["A PAR H"]}, {"reasoning": "Peace.", "messages": {"ITALY": "Peace."}}
    for first, second in ((orders, said), (said, orders)):
        parsed = parse(f"My orders: {json.dumps(first)} and the rest: {json.dumps(second)}", OPENING)
        assert (parsed.reasoning, parsed.orders, parsed.messages) == ("Peace.", ["A PAR H"], [("ITALY", "Peace.")])


HEARD = Game()
HEARD.send("ENGLAND", "GLOBAL", "Let us all attack Germany.", 1)
HEARD.advance()


@pytest.mark.parametrize("said", ["England: let us all  attack Germany.", "us all attack"])
def test_what_another_player_wrote_completes_no_reply(said: str) -> None:
    """A reply without messages beside a quotation of messages sends none."""
    orders, quoted = json.dumps({"orders": ["A PAR H"]}), json.dumps({"messages": {"GLOBAL": said}})
    for text in (f"England sent {quoted}. {orders}", f"{orders} England had sent: {quoted}"):
        parsed = parse(text, HEARD.view("FRANCE", "messages", 1))
        assert (parsed.orders, parsed.messages) == (["A PAR H"], [])
        assert parse(text, HEARD.view("ENGLAND", "messages", 1)).messages == [("GLOBAL", said)]  # its own words


def test_a_quotation_that_stands_alone_is_not_sent() -> None:
    quoted = json.dumps({"messages": {"GLOBAL": "Let us all attack Germany."}})
    view = HEARD.view("FRANCE", "messages", 1)
    for text in (quoted, f"England sent {quoted}.", f"{quoted} {quoted}"):
        parsed = parse(text, view)
        assert (parsed.orders, parsed.messages, kinds(parsed)) == ([], [], ["quotation"])
        assert not parsed.is_valid
    for own in ("Us all?", "Let us all attack Germany. I agree.", "Ready."):
        assert parse(quoted.replace("Let us all attack Germany.", own), view).messages == [("GLOBAL", own)]
    assert parse(quoted, HEARD.view("ENGLAND", "messages", 1)).messages  # its own words


def test_of_several_whole_replies_the_last_counts() -> None:
    parsed = parse(f"{DRAFT} No, better: {DRAFT.replace('DRAFT', 'Peace.').replace('PAR', 'MAR')}", OPENING)
    assert (parsed.orders, parsed.messages) == (["A MAR H"], [("ENGLAND", "Peace."), ("GLOBAL", "Peace.")])


def test_what_is_not_used_is_recorded() -> None:
    reply = {"orders": {"A PAR": {"order": "A PAR H", "reason": "wait"}}, "plan": {"next": "A PAR - BUR"}, "mood": None}
    parsed = parse(json.dumps(reply), OPENING)
    assert (parsed.orders, parsed.is_valid) == (["A PAR H"], True)
    assert kinds(parsed) == ["unused", "unused"]
    assert "plan: " in parsed.issues[0].what
    assert "reason: wait" in parsed.issues[1].what


def test_characters_in_damaged_texts_are_whole() -> None:
    parsed = parse(r"""{"orders": [], "messages": {"ITALY": 'I won't \u00e9 \ud83d\ude42', "GERMANY": "x"}}""", OPENING)
    assert parsed.messages == [("ITALY", "I won't é 🙂"), ("GERMANY", "x")]


@pytest.mark.parametrize("text", ["", "I hold.", '["A PAR H"]', "{}", '{"a": 1}', "\ud800", "}{"])
def test_no_object(text: str) -> None:
    parsed = parse(text, OPENING)
    assert (parsed.orders, parsed.messages, parsed.reasoning) == ([], [], "")
    assert kinds(parsed) == ["no object"]


def test_a_reply_that_is_cut_off_anywhere_keeps_what_was_whole() -> None:
    text = json.dumps(REPLY, indent=2)
    for end in range(len(text)):
        parsed = parse(text[:end], OPENING)
        assert WHOLE.orders[: len(parsed.orders)] == parsed.orders
        assert parsed.messages == []
        assert WHOLE.reasoning.startswith(parsed.reasoning.rstrip("\\"))
        assert "truncated" in kinds(parsed) or kinds(parsed) == ["no object"]
        for number, order in enumerate(WHOLE.orders):
            assert (number < len(parsed.orders)) == (f'"{order}"' in text[:end])


SHORT = {"reasoning": "x", "orders": {"A PAR": "A PAR - BUR"}, "messages": {"ITALY": "Hi"}}
CODED = json.dumps(SHORT)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CODED),
        json.dumps({"name": "reply", "arguments": SHORT}),
        json.dumps([{"type": "function", "function": {"name": "reply", "arguments": CODED}}]),
        json.dumps({key: part if isinstance(part, str) else json.dumps(part) for key, part in SHORT.items()}),
        f"<tool_call>\n{json.dumps({'name': 'reply', 'arguments': CODED})}\n</tool_call>",
        f"[TOOL_CALLS]reply{CODED}",
        f"<|python_tag|>{json.dumps({'name': 'reply', 'parameters': SHORT})}",
    ],
)
def test_replies_that_are_coded_twice_or_called_as_a_tool(text: str) -> None:
    parsed = parse(text, OPENING)
    assert (parsed.orders, parsed.messages) == (["A PAR - BUR"], [("ITALY", "Hi")])
    assert parsed.is_valid


def test_what_is_coded_in_a_message_is_a_message() -> None:
    """Others can bring a model to repeat such texts."""
    for words in (CODED, f"<parameter=orders>{json.dumps(['A MAR H'])}</parameter>", json.dumps(CODED)):
        reply = {"reasoning": words, "orders": {"A PAR": "A PAR H"}, "messages": {"ITALY": words}}
        parsed = parse(json.dumps(reply), OPENING)
        assert (parsed.orders, parsed.messages) == (["A PAR H"], [("ITALY", words)])
        thought = parse(json.dumps({"thought": words, "reply": {"orders": {"A PAR": "A PAR H"}}}), OPENING)
        assert thought.orders == ["A PAR H"]
