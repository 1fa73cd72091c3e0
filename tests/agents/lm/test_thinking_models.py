"""Models that think before they answer: the room for their replies, and the options for it in specs."""

import pytest

import agents
from agents.lm.models.prices import PRICES
from agents.lm.models.settings import THINKING_TOKENS, USUAL_TOKENS, usual_tokens
from welfare_env import UnknownAgentError


class TestLimits:
    @pytest.mark.parametrize(
        ("spec", "reply", "note"),
        [
            ("lm:openai/gpt-4.1", USUAL_TOKENS, None),
            ("lm:openai/gpt-6-luna", THINKING_TOKENS, None),
            ("lm:openai/Qwen/Qwen3-8B,base_url=http://x/v1", THINKING_TOKENS, None),
            ("lm:anthropic/claude,thinking=4000", 4000 + USUAL_TOKENS, None),
            ("lm:anthropic/claude,thinking=4000,max_tokens=9000,note_tokens=5000", 9000, 5000),
            ("lm:anthropic/claude,thinking=5000,summariser=openai/gpt-4o-mini", 5000 + USUAL_TOKENS, USUAL_TOKENS),
            ("lm:openai/gpt-6-luna,summariser=openai/gpt-4.1", THINKING_TOKENS, USUAL_TOKENS),
            ("lm:scripted/stub", USUAL_TOKENS, None),
        ],
    )
    def test_by_the_kind_of_model(self, spec: str, reply: int, note: int | None) -> None:
        style = agents.make(spec).style
        assert (style.max_tokens, style.note_tokens) == (reply, note)

    @pytest.mark.parametrize(
        ("name", "thinks"),
        [("o3-mini", True), ("gpt-oss-120b", True), ("deepseek-r1", True), ("gpt-4o-mini", False), ("llama-3", False)],
    )
    def test_names(self, name: str, thinks: bool) -> None:
        assert usual_tokens(f"openai/{name}") == (THINKING_TOKENS if thinks else USUAL_TOKENS)

    @pytest.mark.parametrize("options", ["max_tokens=2000", "max_tokens=9000,note_tokens=2000"])
    def test_there_is_room_for_a_reply(self, options: str) -> None:
        with pytest.raises(UnknownAgentError, match="thinking counts in it"):
            agents.make(f"lm:anthropic/x,thinking=2000,{options}")

    def test_models_of_the_table_of_prices(self) -> None:
        """Those that think if they are not told otherwise have room for it."""
        at_once = {name for name in PRICES if usual_tokens(name) == USUAL_TOKENS}
        assert at_once == {"gpt-4.1", "gpt-4.1-mini", "gpt-4o-mini", "claude-haiku-4-5"}


def test_further_fields_in_a_spec() -> None:
    spec = 'exploiter:nice=(lm:openai/x,extra=({"a": {"b": [1, 2]}, "c": null}),seed=4),attack=dumbbot'
    assert agents.canonical(agents.canonical(spec)) == agents.canonical(spec)
    model = agents.make(spec).nice.model
    assert (model.extra, model.seed) == ({"a": {"b": [1, 2]}, "c": None}, 4)
