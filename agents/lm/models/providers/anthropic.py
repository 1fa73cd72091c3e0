"""Models asked through the `anthropic` SDK: Anthropic's, on Amazon Bedrock and Google's Vertex AI, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from agents.lm.errors import ConfigError
from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Block, Finish, Request
from agents.lm.models.providers.faults import clean, whole
from agents.lm.models.providers.remote_model import STREAMED, Answer, RemoteModel, count, readable
from agents.lm.models.settings import check_number

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
        thinking: limit of its thinking in tokens, from 1,024; they count in a reply's `max_tokens`, which must be
            larger. For models up to Claude 4.6; later ones take `effort`. None leaves thinking to the model.
        **options: as for `RemoteModel`; `base_url` is without "/v1" here.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.
    """

    PROVIDER: ClassVar[str] = "anthropic"
    SDK: ClassVar[str] = "anthropic"
    CLIENT: ClassVar[str] = "AsyncAnthropic"
    URL: ClassVar[str] = "https://api.anthropic.com"
    URL_VARIABLE: ClassVar[str] = "ANTHROPIC_BASE_URL"
    KEY_VARIABLE: ClassVar[str | None] = "ANTHROPIC_API_KEY"

    def __init__(self, model: str, *, thinking: int | None = None, **options: Any) -> None:
        if thinking is not None:
            check_number("thinking", thinking, above=MIN_THINKING - 1, whole=True)
            if _ADAPTIVE.search(model):
                raise ConfigError(
                    f"thinking={thinking}: {model} decides itself how much it thinks: give effort=low, medium, high, "
                    "xhigh or max"
                )
        super().__init__(model, **options)
        self.thinking = thinking

    @property
    def settings(self) -> dict[str, Any]:
        """What the replies depend on besides the request, as plain JSON values."""
        return super().settings | ({} if self.thinking is None else {"thinking": self.thinking})

    async def ask(self, request: Request, left_out: frozenset[str]) -> Answer:
        """Asks the SDK's client once; see `RemoteModel.ask`."""
        fields = self.fields(request, left_out)
        if request.max_tokens <= STREAMED:
            return _read(whole(await self.client.messages.create(**fields)))
        async with self.client.messages.stream(**fields) as stream:
            return _read(await stream.get_final_message())

    def fields(self, request: Request, left_out: frozenset[str]) -> dict[str, Any]:
        """The arguments of the SDK's call. Sampling parameters are none of the newer SDK's."""
        system, user = _marked(list(_pieces(request.system)), list(_pieces(request.user)))
        fields: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens,
            "messages": [{"role": "user", "content": user}],
            "extra_body": self.sampling(request, left_out) | self.extra,
        }
        if system:
            fields["system"] = system
        if self._thinks(request):
            fields["thinking"] = {"type": "enabled", "budget_tokens": min(self.thinking or 0, request.max_tokens - 1)}
        output: dict[str, Any] = {} if self.effort is None else {"effort": self.effort}
        schema = self.schema(request, left_out)
        if schema is not None:
            output["format"] = {"type": "json_schema", "schema": schema}
        return fields | ({"output_config": output} if output else {})

    def sampling(self, request: Request, left_out: frozenset[str]) -> dict[str, float]:
        """The sampling parameters to send; the server refuses them together with thinking."""
        return {} if self._thinks(request) else super().sampling(request, left_out)

    def _thinks(self, request: Request) -> bool:
        return self.thinking is not None and request.max_tokens > MIN_THINKING


class BedrockModel(AnthropicModel):
    """A Claude model on Amazon Bedrock, with the SDK's client for it, which finds AWS's region and credentials."""

    PROVIDER: ClassVar[str] = "bedrock"
    CLIENT: ClassVar[str] = "AsyncAnthropicBedrock"
    URL: ClassVar[str] = "https://bedrock-runtime.amazonaws.com"
    URL_VARIABLE: ClassVar[str] = "ANTHROPIC_BEDROCK_BASE_URL"
    KEY_VARIABLE: ClassVar[str | None] = "AWS_BEARER_TOKEN_BEDROCK"
    IS_CLOUD: ClassVar[bool] = True

    def client_options(self, key: str) -> dict[str, Any]:
        """Options of the SDK's client: address and credentials."""
        return {} if self.is_official else {"base_url": self.base_url}  # the SDK reads the variables itself


class VertexModel(AnthropicModel):
    """A Claude model on Google's Vertex AI, with the SDK's client for it, which finds Google's credentials.

    `CLOUD_ML_REGION` and `ANTHROPIC_VERTEX_PROJECT_ID` say where.
    """

    PROVIDER: ClassVar[str] = "vertex"
    CLIENT: ClassVar[str] = "AsyncAnthropicVertex"
    URL: ClassVar[str] = "https://aiplatform.googleapis.com"
    URL_VARIABLE: ClassVar[str] = "ANTHROPIC_VERTEX_BASE_URL"
    KEY_VARIABLE: ClassVar[str | None] = None
    IS_CLOUD: ClassVar[bool] = True

    def client_options(self, key: str) -> dict[str, Any]:
        """Options of the SDK's client: address and credentials."""
        address = {} if self.is_official else {"base_url": self.base_url}
        return address | ({"access_token": key} if key else {})


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
    return Answer(readable(text), finish, clean(message.model), _counts(message.usage), readable(thoughts))


def _counts(usage: Any) -> Counts | None:
    """The counts of an answer; the server reports the three kinds of prompt tokens separately."""
    plain, output = count(getattr(usage, "input_tokens", None)), count(getattr(usage, "output_tokens", None))
    cached = count(getattr(usage, "cache_read_input_tokens", None)) or 0
    written = count(getattr(usage, "cache_creation_input_tokens", None)) or 0
    if plain is None or output is None or not plain + cached + written:
        return None
    details = getattr(usage, "output_tokens_details", None)
    return Counts(plain, cached, written, output, min(count(getattr(details, "thinking_tokens", None)) or 0, output))
