"""Grammars of replies, as xgrammar reads them."""

import json

import numpy as np
import pytest
import xgrammar
from xgrammar.testing import _is_grammar_accept_string as xgrammar_accepts

from agents.lm.reading.parsing import reply_schema
from agents.lm.reading.schemas import gbnf
from agents.lm.stub.replies import instance
from welfare_env import Game, Rules, View

pytestmark = pytest.mark.tools

PARIS = {"FRANCE": ["PAR", "BRE", "MAR", "SPA"]}


def winter(units: list[str], welfare: int = 0, **rules: bool) -> View:
    game = Game.from_position(
        "W1905A", {"FRANCE": units}, PARIS, welfare={"FRANCE": welfare}, rules=Rules(press=None, **rules)
    )
    return game.view("FRANCE", "orders")


VIEWS = {
    "opening": Game(rules=Rules(message_rounds=1)).view("RUSSIA", "messages", 1),
    "words": Game(rules=Rules(press="tokens")).view("FRANCE", "messages", 1),
    "retreat": Game.from_position(
        "F1905R", {"ENGLAND": ["A SER"]}, PARIS, dislodged={"FRANCE": {"A GRE": ["ALB", "BUL"]}}
    ).view("FRANCE", "orders"),
    "gifts": winter(["A SPA"], welfare=13, transfers=True),
    "both": winter(["A SPA"], build_and_disband=True),
}


def texts(view: View) -> list[tuple[str, str]]:
    """Five drawn replies, each with one that has an order too many; the same twice where no orders are asked for."""
    schema, rng = reply_schema(view), np.random.default_rng(3)
    drawn = [json.dumps(instance(schema, rng)) for _ in range(5)]
    return [(text, text.replace('"orders": {', '"orders": {"A XXX": "A XXX H", ')) for text in drawn]


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_xgrammar(view: View) -> None:
    compiled = xgrammar.Grammar.from_ebnf(gbnf(reply_schema(view)))
    for text, wrong in texts(view):
        assert xgrammar_accepts(compiled, text)
        assert wrong == text or not xgrammar_accepts(compiled, wrong)
