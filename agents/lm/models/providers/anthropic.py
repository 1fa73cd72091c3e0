"""Models accessed through the `anthropic` SDK."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import ModuleType
from typing import Any, ClassVar

from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Block, Finish, Request
from agents.lm.models.providers.answers import Answer, called, count, field, finish_of, joined, texts, thoughts
from agents.lm.models.providers.faults import clean
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.models.settings import check_number

MAX_CACHE_MARKS = 4
"""Largest number of cache marks that the server accepts."""

LEAST_THINKING = 1024  # tokens; the server accepts no fewer

_FINISHES: dict[Any, Finish] = {
    **{"end_turn": "stop", "stop_sequence": "stop", "tool_use": "stop", "refusal": "refusal"},
    **{"max_tokens": "length", "model_context_window_exceeded": "length"},
}


class AnthropicModel(RemoteModel):
    """A model asked through the `anthropic` SDK.

    Args:
        model: the model's name on the server.
        thinking: limit of its thinking in tokens, from 1,024; they count in a reply's `max_tokens`, which must be
            larger. None leaves thinking to `effort` and the model.
        **options: as for `RemoteModel`; `base_url` is without "/v1" here.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.
    """

    PROVIDER: ClassVar[str] = "anthropic"
    URL: ClassVar[str] = "https://api.anthropic.com"
    PATH: ClassVar[str] = ""  # the SDK adds /v1 itself
    URL_VARIABLE: ClassVar[str] = "ANTHROPIC_BASE_URL"
    KEY_VARIABLE: ClassVar[str] = "ANTHROPIC_API_KEY"

    def __init__(self, model: str, *, thinking: int | None = None, **options: Any) -> None:
        if thinking is not None:
            check_number("thinking", thinking, above=LEAST_THINKING - 1, whole=True)
        super().__init__(model, **options)
        self.thinking = thinking

    @property
    def settings(self) -> dict[str, Any]:
        """What the replies depend on besides the request, as plain JSON values."""
        return super().settings | ({} if self.thinking is None else {"thinking": self.thinking})

    def body(self, request: Request, without: Collection[str]) -> dict[str, Any]:
        """The JSON of a question."""
        system, user = _marked(list(_pieces(request.system)), list(_pieces(request.user)))
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens,
            "messages": [{"role": "user", "content": user}],
        }
        if system:
            body["system"] = system
        output: dict[str, Any] = {} if self.effort is None else {"effort": self.effort}
        schema, sampling = self.schema(request, without), self.sampling(request, without)
        if self.thinking is not None and request.max_tokens > LEAST_THINKING:
            sampling = {}  # the server rejects it together with thinking
            body["thinking"] = {"type": "enabled", "budget_tokens": min(self.thinking, request.max_tokens - 1)}
        if schema is not None:
            output["format"] = {"type": "json_schema", "schema": schema}
        return body | ({"output_config": output} if output else {}) | sampling | self.extra

    def read(self, payload: Any) -> Answer:
        """Reads the JSON of an answer.

        Raises:
            KeyError, IndexError, TypeError, ValueError, AttributeError: it violates the interface.
        """
        tools = [part for part in payload["content"] if field(part, "type") == "tool_use"]
        text, finish = (
            joined((*texts(payload["content"]), *called(tools))),
            finish_of(payload.get("stop_reason"), _FINISHES),
        )
        reasoning = joined(thoughts(payload["content"]))
        return Answer(text, finish, clean(payload.get("model")), _counts(payload.get("usage")), reasoning)

    @property
    def endpoint(self) -> str:
        """The path of questions, after the server's address."""
        return "/v1/messages"

    def new_client(self, sdk: ModuleType, **options: Any) -> Any:
        """The SDK's async client."""
        return sdk.AsyncAnthropic(**options)


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


def _counts(usage: Any) -> Counts | None:
    """The counts of an answer; the server reports the three kinds of prompt tokens separately."""
    plain, output = count(field(usage, "input_tokens")), count(field(usage, "output_tokens"))
    cached = count(field(usage, "cache_read_input_tokens")) or 0
    written = count(field(usage, "cache_creation_input_tokens")) or 0
    if plain is None or output is None or not plain + cached + written:
        return None
    reasoning = count(field(field(usage, "output_tokens_details"), "thinking_tokens")) or 0
    return Counts(plain, cached, written, output, min(reasoning, output))
