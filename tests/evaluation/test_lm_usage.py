"""What language models have used, and what went wrong with them: counts, the table, and what to do about it."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

import evaluation
import welfare_env
from agents.lm import Reply, Request
from agents.lm.stub.replies import stub_reply
from evaluation.measures.lm_usage import usage_of, usage_table
from tests.evaluation.conftest import Models

RULES = welfare_env.Rules(years=1, message_rounds=1)


def ending(finish: str, notes: str = "stop") -> Callable[[Request], Reply]:
    """Replies to turns end in one way, notes in another."""

    def answer(request: Request) -> Reply:
        text = stub_reply(request.prompt, request.schema)
        return Reply(text, finish=notes if request.schema is None else finish)  # type: ignore[arg-type]

    return answer


def played(answer: Callable[[Request], Reply]) -> evaluation.measures.lm_usage.LMUsage:
    result = evaluation.self_play("lm:scripted/stub", 1, rules=RULES, map_name="clique:3", models=Models(answer))
    usage = usage_of(result.records)
    assert usage is not None
    assert result.to_dict()["language_models"]["endings"] == usage.endings
    return usage


def table(usage: evaluation.measures.lm_usage.LMUsage) -> str:
    file = io.StringIO()
    Console(file=file, width=300).print(usage_table([("lm:a/b", usage)]))
    return " ".join(file.getvalue().split())


@pytest.mark.parametrize(
    ("finish", "name", "told"),
    [
        ("length", "cut off", "were cut off at max_tokens (which includes hidden thinking): raise max_tokens"),
        ("refusal", "refused", "were refusals by the model or its provider"),
        ("other", "odd endings", "ended in an unknown way"),
    ],
)  # fmt: skip
def test_others_are_counted_with_what_to_do(finish: str, name: str, told: str) -> None:
    usage = played(ending(finish))
    count = usage.endings.pop(name)
    assert usage.endings == {}
    assert count == 3 * 3  # a round of messages and two movement phases
    usage.endings[name] = count
    shown = table(usage)
    assert f"{name} {count}" in shown
    assert f"lm:a/b: {count} of {usage.calls} replies {told}" in shown


def test_notes_that_are_cut_off_are_told_apart() -> None:
    """A longer max_tokens would not help them; replies that end by themselves need no advice."""
    assert "lm:a/b:" not in table(played(ending("stop")))
    usage = played(ending("stop", notes="length"))
    assert list(usage.endings) == ["notes cut off"]
    assert "choose another model as summariser, or none" in table(usage)


@pytest.mark.parametrize(("each", "total"), [((0.5, 0.25), 0.75), ((0.5, None), None), ((None, None), None)])
def test_dollars_are_unknown_where_one_call_has_no_price(each: tuple[float | None, ...], total: float | None) -> None:
    counts = dict.fromkeys(("calls", "failed", "input_tokens", "cached_tokens", "output_tokens"), 1)
    empty = {"faults": {}, "endings": {}, "losses": {}, "turns": []}
    players = {str(number): [{**counts, **empty, "dollars": dollars}] for number, dollars in enumerate(each)}
    usage = usage_of([{"welfare_env": {"language_models": players}}])
    assert usage is not None
    assert (usage.calls, usage.dollars) == (2, total)
