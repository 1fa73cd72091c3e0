"""Models asked through the `anthropic` SDK: Anthropic's, on Amazon Bedrock and Google's Vertex AI, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agents.lm.errors import ConfigError
from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Block, Finish, Request
from agents.lm.models.remote import STREAMED, Answer, RemoteModel, check_number, count, given

MAX_CACHE_MARKS = 4
"""Largest number of cache marks that the server accepts."""

MIN_THINKING = 1024  # tokens; the server accepts no fewer

_ADAPTIVE = re.compile(r"claude-(?:[a-z]+-)?(?:4-[7-9]|[5-9])(?!\d)|mythos")
"""Models that decide themselves how much they think, and refuse a number of tokens (since Claude 4.7)."""

_FINISHES: dict[Any, Finish] = {
    **{"end_turn": "stop", "stop_sequence": "stop", "tool_use": "stop", "refusal": "refusal"},
    **{"max_tokens": "length", "model_context_window_exceeded": "length"},
}


class AnthropicModel(RemoteModel):
    """A model asked through the `anthropic` SDK.

    Args:
        model: the model's name on the server.
        provider: "anthropic", "bedrock" or "vertex".
        thinking: limit of its thinking in tokens, from 1,024; they count in a reply's `max_tokens`, which must be
            larger. For models up to Claude 4.6; later ones take `effort`. None leaves thinking to the model.
        **options: as for `RemoteModel`; `base_url` is without "/v1" here.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.
    """

    def __init__(self, model: str, *, provider: str = "anthropic", thinking: int | None = None, **options: Any) -> None:
        if thinking is not None:
            check_number("thinking", thinking, above=MIN_THINKING - 1, whole=True)
            if _ADAPTIVE.search(model):
                raise ConfigError(
                    f"thinking={thinking}: {model} decides itself how much it thinks: give effort=low, medium, high, "
                    "xhigh or max"
                )
        super().__init__(provider, model, **options)
        self.thinking = thinking
        self.settings = {**self.settings, **given(thinking=thinking)}

    def sendable(self, request: Request) -> Request:
        """The request without what the server refuses: together with thinking, the sampling parameters."""
        found = super().sendable(request)
        return replace(found, temperature=None, top_p=None) if self._thinks(request) else found

    async def ask(self, request: Request) -> Answer:
        """Asks the SDK's client once; see `RemoteModel.ask`."""
        fields = self.fields(request)
        if request.max_tokens <= STREAMED:
            return _read(await self.client.messages.create(**fields))
        async with self.client.messages.stream(**fields) as stream:
            return _read(await stream.get_final_message())

    def fields(self, request: Request) -> dict[str, Any]:
        """The arguments of the SDK's call. Sampling parameters are none of the newer SDK's."""
        system, user = _marked(list(_pieces(request.system)), list(_pieces(request.user)))
        schema = request.schema and {"type": "json_schema", "schema": request.schema}
        budget = {"type": "enabled", "budget_tokens": min(self.thinking or 0, request.max_tokens - 1)}
        return given(
            model=self.model,
            max_tokens=request.max_tokens,
            system=system or None,
            messages=[{"role": "user", "content": user}],
            thinking=budget if self._thinks(request) else None,
            output_config=given(effort=self.effort, format=schema) or None,
            extra_body=given(temperature=request.temperature, top_p=request.top_p) | self.extra,
        )

    def _thinks(self, request: Request) -> bool:
        return self.thinking is not None and request.max_tokens > MIN_THINKING


def _pieces(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """The blocks, joined up to each mark, since the server rejects blank ones.

    Every mark ends a piece, even if the mark is not sent, since the server looks up cached prefixes at the ends of
    pieces.
    """
    text = ""
    for block in blocks:
        text += block.text
        if block.cache and text.strip():
            yield Block(text, cache=True)
            text = ""
    if text.strip():
        yield Block(text)


def _marked(system: list[Block], user: list[Block]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Both prompts in the server's format, with as many of the last marks as it accepts."""
    blocks = [*system, *user]
    kept = [number for number, block in enumerate(blocks) if block.cache][-MAX_CACHE_MARKS:]
    wire: list[dict[str, Any]] = [{"type": "text", "text": block.text} for block in blocks]
    for number in kept:
        wire[number]["cache_control"] = {"type": "ephemeral"}
    return wire[: len(system)], wire[len(system) :]


def _read(message: Any) -> Answer:
    text = "".join(part.text for part in message.content if part.type == "text")
    thoughts = "".join(part.thinking for part in message.content if part.type == "thinking")
    finish = _FINISHES.get(message.stop_reason, "other")
    return Answer(text, finish, message.model, _counts(message.usage), thoughts)


def _counts(usage: Any) -> Counts | None:
    """The counts of an answer; the server reports the three kinds of prompt tokens separately."""
    plain, output = count(usage, "input_tokens"), count(usage, "output_tokens")
    cached = count(usage, "cache_read_input_tokens") or 0
    written = count(usage, "cache_creation_input_tokens") or 0
    if plain is None or output is None or not plain + cached + written:
        return None
    thought = count(getattr(usage, "output_tokens_details", None), "thinking_tokens") or 0
    return Counts(plain, cached, written, output, min(thought, output))
