"""Models without a network, and the gate that all models share."""

from collections.abc import Callable

import pytest

from agents.lm.errors import LMError, ModelError
from agents.lm.models import Block, Model, Reply, Request, ScriptedModel, make_model

Ask = Callable[[Model, Request], Reply]

REQUEST = Request((), (Block("Well?"),))


class TestScript:
    def test_one_by_one(self, ask: Ask) -> None:
        model = ScriptedModel(["one", Reply("two", finish="length"), ModelError("timeout", "late"), LMError("stop")])
        assert isinstance(model, Model)
        assert ask(model, REQUEST) == Reply("one", model="scripted/script")
        assert ask(model, REQUEST).finish == "length"
        with pytest.raises(ModelError, match="late"):
            ask(model, REQUEST)
        with pytest.raises(LMError, match="stop"):
            ask(model, REQUEST)
        with pytest.raises(LMError, match="the script is at its end after 4 replies"):
            ask(model, REQUEST)
        assert model.requests == [REQUEST] * 5
        assert model.faults == {"timeout": 1}

    def test_a_function(self, ask: Ask) -> None:
        model = ScriptedModel(lambda request: request.prompt.upper(), name="echo")
        assert (ask(model, REQUEST).text, model.name) == ("WELL?", "scripted/echo")

    def test_the_stub_without_a_server(self, ask: Ask, question: Request) -> None:
        model = make_model("scripted/stub")
        assert model.name == "scripted/stub"
        assert ask(model, question) == ask(make_model("scripted/stub", latency=0.001), question)
