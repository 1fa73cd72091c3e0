"""Reading and writing formulas: every notation, every fault with its place, and the limits."""

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.errors import FormulaError, ModalError
from modal_env.logic.library import LIBRARY, POST, CooperateBot, DefectBot, FairBot, PrudentBot, RandomBot
from modal_env.logic.notation import Agent, Formula, Op, parse
from modal_env.logic.provability import play
from modal_env.logic.syntax import MAX_NESTING

PRUDENT = "[](X(me) & (X(DefectBot) -> []false))"


NOTATIONS: list[tuple[str, Agent | str]] = [
    ("true", CooperateBot),
    ("T", CooperateBot),
    ("\u22a4", CooperateBot),
    ("false", DefectBot),
    ("⊥", DefectBot),
    ("coin", RandomBot),
    ("[]X(me)", FairBot),
    ("□X(Me)", FairBot),
    ("[] Them(Me)", FairBot),
    ("□⌜Them(Me)=C⌝", FairBot),
    ("[]X(me)=d", "[]~X(me)"),
    ("[0]b", FairBot),
    ("((([](((X(me)))))))", FairBot),
    ("~<>~X(me)", "~<>~X(me)"),
    ("\n\t[]\n X(me)  ", FairBot),
    (PRUDENT, PrudentBot),
    ("□(X(me) ∧ (X(DefectBot) → □⊥))", PrudentBot),
    ("□(Them(me) && (X(DB) -> [] F))", PrudentBot),
    ("[](X(me) /\\ (x(defectbot) => □false))", PrudentBot),
    ("[1]b", "[](~[]false -> X(me))"),
    ("<1>b", "~[](~[]false -> ~X(me))"),
    ("[1]⌜Them(DB)=D⌝ ∧ □⌜Them(Me)=C⌝", "[](~[]false -> ~X(DefectBot)) & []X(me)"),
    ("[]a", "[]me"),
    ("[](Me(Them)=D | Me(X))", "[](~me | me)"),
    ("◇a \u2228 ◇b", "<>me | <>X(me)"),
    ("[]a || !<>b", "[]me | ~<>X(me)"),
    ("[]a <-> []b ↔ [](a<=>b)", "[]me <-> ([]X(me) <-> [](me <-> X(me)))"),
    ("T -> F -> T", "true -> (false -> true)"),
    ("~T & F -> T | F <-> F", "(((~true) & false) -> (true | false)) <-> false"),
]


def test_every_notation_is_read() -> None:
    for text, agent in NOTATIONS:
        assert parse(text) == (parse(agent) if isinstance(agent, str) else agent), text


def test_what_an_agent_tells() -> None:
    agent = parse("[](X(me) & X(JustBot) | <>X(Foo))", name="Bar", helpers={"Foo": "[][]X(JustBot)"})
    assert (agent.name, agent.depth, agent.size) == ("Bar", 2, 7)
    assert list(agent.helpers) == ["JustBot", "Foo"]
    assert agent.calls_itself
    assert not parse("[]X(Foo)", helpers={"Foo": "[]X(me)"}).calls_itself
    assert [a.is_random for a in (agent, RandomBot)] == [False, True]
    assert parse("true").name == "true"
    assert repr(FairBot) == "Agent('FairBot', '[]X(me)')"
    assert parse("~[]X(me)").unicode == "¬□X(me)"


def test_names_do_not_count_for_equality() -> None:
    by_other_names = parse("[]X(Foo)", helpers={"Foo": FairBot})
    assert by_other_names == LIBRARY["JustBot"]
    assert hash(by_other_names) == hash(LIBRARY["JustBot"])
    assert by_other_names.text == "[]X(Foo)"
    assert by_other_names != parse("[]X(Foo)", helpers={"Foo": "[]~X(me)"})
    assert by_other_names != "[]X(Foo)"
    assert FairBot.formula != "[]X(me)"
    twice = parse("[](X(A) & X(B))", helpers={"A": FairBot, "B": FairBot})
    assert len(twice.called) == 1
    assert list(twice.helpers) == ["A", "B"]


def test_hashes_are_the_same_in_every_run() -> None:
    assert hash(PrudentBot) == 0x5F0A7CB36A5F62FD


def test_helpers_may_be_texts_that_call_each_other() -> None:
    texts = {"A": "[]X(B)", "B": "[](X(C) & X(me))", "C": "[]X(FB)", "FairBot": "[]X(me)"}
    agent = parse("[]X(A)", helpers=texts)
    assert agent.helpers["A"].helpers["B"].helpers["C"] == LIBRARY["JustBot"]
    assert agent == parse("[]X(a)", helpers=dict(reversed(texts.items())))


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("X(me)", 0, "is not under a [] or <>"),
        ("[]X(FareBot)", 4, "did you mean FairBot"),
        ("[]X(Quux)", 4, "known are CooperateBot, DefectBot, FairBot"),
        ("[]DefectBot", 2, "write X(DefectBot)"),
        ("[]X(me", 6, "close X( with )"),
        ("(true", 5, "'(' from character 1 is not closed"),
        ("[]⌜X(me))", 8, "')' cannot close '⌜' from character 3; write '⌝'"),
        ("true &", 6, "a formula is missing before the end"),
        ("[](X(me) @ X(DB))", 9, "'@' is not a sign of formulas"),
        ("[]X(me)=E", 8, "a move is C or D"),
        ("~coin", 1, "'coin' alone is RandomBot"),
        ("[99999999999999999999]true", 0, "at most 500 levels"),
    ],
)
def test_faults_are_told_with_their_place(text: str, position: int, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    error = caught.value
    assert (error.text, error.position) == (text, position)
    first, _, caret = str(error).split("\n")
    assert message in first
    assert f"at character {position + 1}:" in first
    assert caret.index("^") == 2 + position
    assert isinstance(error, ModalError)
    assert isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (str(again), again.text, again.position) == (str(error), text, position)


@pytest.mark.parametrize(
    ("helpers", "message"),
    [
        (
            {"A": "[](X(C) & X(B))", "B": "[]X(A)", "C": "true"},
            "helper 'A', at character 13: agents call each other in a circle",
        ),
        ({f"A{k}": f"[]X(A{k + 1})" for k in range(50)} | {"A50": "[]X(A0)", "A": "true"}, "-> ... ->"),
        ({"A": "[]X(A)"}, "circle: A -> A;"),
        ({"A": "[]X(Bee)", "Beef": "true"}, "helper 'A', at character 5: no agent is called 'Bee'; did you mean Beef"),
        ({"A": 5}, "neither an agent nor a text"),
        ({"A": "true", "a b": "true"}, "give a name of letters"),
    ],
)
def test_faults_of_helpers(helpers: dict[str, str], message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse("[]X(A)", helpers=helpers)
    assert message in str(caught.value)


def test_names_that_differ_in_case_alone() -> None:
    helpers = {"Foo": "true", "foo": "false"}
    agent = parse("[](X(foo) & X(Foo))", helpers=helpers)
    assert [str(helper) for helper in agent.called] == ["false", "true"]
    with pytest.raises(FormulaError, match="no agent is called 'FOO'"):
        parse("[]X(FOO)", helpers=helpers)


# Printing


def formulas() -> st.SearchStrategy[Formula]:
    """Any formula whose X(.) and `me` stand under a box, with helpers."""
    inner = st.sampled_from(
        [
            *(Formula(op) for op in (Op.TRUE, Op.FALSE, Op.ME, Op.CALL)),
            *(Formula(Op.CALL, agent=agent) for agent in (FairBot, PrudentBot, parse("[]X(JustBot)", name="J"))),
        ]
    )

    def grow(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        unary = st.builds(lambda op, p: Formula(op, (p,)), st.sampled_from([Op.NOT, Op.BOX, Op.DIAMOND]), parts)
        ops = st.sampled_from([Op.AND, Op.OR, Op.IMPLIES, Op.IFF])
        return unary | st.builds(lambda op, p, q: Formula(op, (p, q)), ops, parts, parts)

    anything = st.recursive(inner, grow, max_leaves=12)
    boxed = st.builds(lambda op, p: Formula(op, (p,)), st.sampled_from([Op.BOX, Op.DIAMOND]), anything)
    return st.recursive(boxed | st.sampled_from([Formula(Op.TRUE), Formula(Op.FALSE)]), grow, max_leaves=6)


@settings(max_examples=60)
@given(formulas())
def test_printed_formulas_are_read_back_with_the_depth_and_size_of_their_definitions(formula: Formula) -> None:
    def boxes(node: Formula) -> int:
        return max(map(boxes, node.parts), default=0) + (node.op in (Op.BOX, Op.DIAMOND))

    def size(node: Formula) -> int:
        return 1 + sum(map(size, node.parts))

    agent = Agent("A", formula)
    assert agent.depth == max([boxes(formula), *(helper.depth for helper in agent.helpers.values())])
    assert agent.size == size(formula) == len(agent.program)
    for text in (agent.text, agent.unicode):
        again = parse(text, helpers=agent.helpers)
        assert again == agent
        assert (again.text, again.unicode) == (agent.text, agent.unicode)
        assert (again.depth, again.size, again.program) == (agent.depth, agent.size, agent.program)


@settings(max_examples=40)
@given(
    st.text("[]<>~&|-XTFme()ab \u25a1\u2227=1", max_size=40)
    | st.text("[]X(me) \x00\t\n\x85\xa0_é߃\u202e\u2603\ud800😀")
)
def test_any_text_is_a_formula_or_a_formula_error(text: str) -> None:
    fault = None
    try:
        agent = parse(text)
    except FormulaError as error:
        fault = error
    if fault is None:
        assert parse(agent.text) == agent
    else:
        assert fault.text == text
        assert 0 <= fault.position <= len(text)


# Limits


def towers(nesting: int) -> dict[str, str]:
    """Formulas as high as this."""
    half = nesting // 2
    return {
        "not": "~" * nesting + "true",
        "box": "[]" * nesting + "X(me)",
        "and": "[]X(me)" + " & []X(me)" * (nesting - 2),
        "right": "true -> " * nesting + "true",
        "left": "(" * (nesting - 1) + "true" + " -> true)" * (nesting - 1) + " -> true",
        "mixed": "[](X(me) & " * half + "true" + ")" * half,
    }


@pytest.mark.parametrize("kind", towers(0))
def test_the_highest_formulas_work(kind: str) -> None:
    text = towers(MAX_NESTING)[kind]
    agent = parse(text)
    assert parse(agent.text) == agent
    assert hash(parse(text)) == hash(agent)
    assert agent.formula.nesting in (MAX_NESTING, MAX_NESTING - 1)
    assert pickle.loads(pickle.dumps(agent)) == agent  # noqa: S301 - our own
    assert copy.deepcopy(agent.formula) == agent.formula
    assert repr(agent)
    assert play(agent, agent).settles <= MAX_NESTING


@pytest.mark.parametrize("nesting", [MAX_NESTING + 3, 10_000])
def test_higher_ones_are_refused(nesting: int) -> None:
    for text in towers(nesting).values():
        with pytest.raises(FormulaError, match=r"too long|too deep|too large"):
            parse(text)


@pytest.mark.parametrize(
    ("text", "size", "depth"),
    [
        ("[]X([]X(me))", 4, 1),
        ("[](X(me) & (X(false) -> []false))", 8, 2),
        ("[]X([]X([](X(me) & ~X(FairBot)))) | []~X(true)", 14, 1),
        ("[]X(~[]~X(me))=D", 7, 1),
    ],
)
def test_agents_written_in_their_place(text: str, size: int, depth: int) -> None:
    agent = parse(text)
    assert (agent.size, agent.depth) == (size, depth)
    assert parse(agent.text) == parse(agent.unicode) == pickle.loads(pickle.dumps(agent)) == agent  # noqa: S301 (our own)
    named = parse("[]X(Inner)", helpers={"Inner": "[]X(me)"})
    assert [play(parse("[]X([]X(me))"), other).moves for other in POST] == [play(named, other).moves for other in POST]
    assert named != parse("[]X([]X(me))")  # it is longer, and may cost more
