"""Models asked through the `anthropic` SDK: Anthropic's, on Amazon Bedrock and Google's Vertex AI, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Block, Finish, Reply, Request
from agents.lm.models.remote import STREAMED, Answer, RemoteModel, count, given

MAX_CACHE_MARKS = 4
"""Largest number of cache marks that the server accepts."""

_FINISHES: dict[str, Finish] = {
    **{"end_turn": "stop", "stop_sequence": "stop", "tool_use": "stop", "refusal": "refusal"},
    **{"max_tokens": "length", "model_context_window_exceeded": "length"},
}


class AnthropicModel(RemoteModel):
    """A model asked through the `anthropic` SDK.

    Args:
        model: the model's name on the server.
        provider: "anthropic", "bedrock" or "vertex".
        **options: as for `RemoteModel`; `base_url` is without "/v1" here.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.
    """

    def __init__(self, model: str, *, provider: str = "anthropic", **options: Any) -> None:
        super().__init__(provider, model, **options)

    async def ask(self, request: Request) -> Answer:
        """Asks the SDK's client once; see `RemoteModel.ask`."""
        fields = self.fields(request)
        if request.max_tokens <= STREAMED:
            return _read(await self.client.messages.create(**fields))
        async with self.client.messages.stream(**fields) as stream:
            return _read(await stream.get_final_message())

    def fields(self, request: Request) -> dict[str, Any]:
        """The arguments of the SDK's call. Sampling parameters are none of the newer SDK's."""
        system, user = list(_pieces(request.system)), list(_pieces(request.user))
        for piece in [piece for piece in (*system, *user) if "cache_control" in piece][:-MAX_CACHE_MARKS]:
            del piece["cache_control"]
        schema = request.schema and {"type": "json_schema", "schema": request.schema}
        return given(
            model=self.model,
            max_tokens=request.max_tokens,
            system=system or None,
            messages=[{"role": "user", "content": user}],
            output_config=given(effort=self.effort, format=schema) or None,
            extra_body=given(temperature=request.temperature, top_p=request.top_p) | self.extra,
        )


def _pieces(blocks: tuple[Block, ...]) -> Iterator[dict[str, Any]]:
    """The blocks in the server's format, joined up to each mark, since the server rejects blank ones.

    Every mark ends a piece, even if the mark is not sent, since the server looks up cached prefixes at the ends of
    pieces.
    """
    text = ""
    for block in blocks:
        text += block.text
        if block.cache and text.strip():
            yield {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
            text = ""
    if text.strip():
        yield {"type": "text", "text": text}


def _read(message: Any) -> Answer:
    text = "".join(part.text for part in message.content if part.type == "text")
    thoughts = "".join(part.thinking for part in message.content if part.type == "thinking")
    finish = _FINISHES.get(message.stop_reason, "other")
    return Reply(text, finish=finish, model=message.model, reasoning=thoughts), _counts(message.usage)


def _counts(usage: Any) -> Counts | None:
    """The counts of an answer; the server reports the three kinds of prompt tokens separately."""
    plain, output = count(usage, "input_tokens"), count(usage, "output_tokens")
    cached = count(usage, "cache_read_input_tokens") or 0
    written = count(usage, "cache_creation_input_tokens") or 0
    if plain is None or output is None or not plain + cached + written:
        return None
    thought = count(getattr(usage, "output_tokens_details", None), "thinking_tokens") or 0
    return Counts(plain, cached, written, output, min(thought, output))
