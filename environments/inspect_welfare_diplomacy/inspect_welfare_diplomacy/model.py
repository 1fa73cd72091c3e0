"""Models of inspect-ai for our players, with inspect's retries, limits, log and prices, and our cache; and a stub."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentReasoning,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    ResponseSchema,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from inspect_ai.util import JSONSchema

from agents.lm.errors import AccessError, ConfigError, LMError, ModelError
from agents.lm.models.limits import Halt
from agents.lm.models.protocol import NO_USAGE, Finish, Reply, Request, Usage, text_of
from agents.lm.models.protocol import Model as LanguageModel
from agents.lm.models.remote import FIRST_QUESTIONS
from agents.lm.stub.replies import stub_reply
from inspect_welfare_diplomacy.limits import Room, stoppable

FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
}
"""inspect's stop reason -> our finish; all others are "other"."""

NOT_SAMPLING = {
    *("max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections", "adaptive_connections"),
    *("cache", "cache_prompt", "batch", "extra_headers"),
}
"""Options of inspect that do not affect replies, and headers, which may contain keys."""

SECRETS = ("key", "token", "secret", "password", "authorization")
"""Endings of names of secret arguments."""


class InspectModel(LanguageModel):
    """A model of inspect, called in inspect's event loop.

    Options set by the user (``--temperature``, ``--max-tokens``) take precedence over the player's own values.
    inspect's cache is not used, since it would give games with different seeds the same replies.

    Args:
        model: inspect's model.
        halt: stopped when another seat of the game fails permanently, or the game ends for another reason.
        room: remaining room within the limits of the sample; shared by all seats of the game.
    """

    def __init__(self, model: Model, halt: Halt, room: Room) -> None:
        self.model, self._halt, self._room = model, halt, room
        self.name = f"inspect/{model}"
        self.settings = {  # sampling options, server, and a digest of the provider's arguments
            "config": model.config.model_dump(mode="json", exclude_none=True, exclude=NOT_SAMPLING),
            "arguments": arguments_digest(model.model_args),
            "base_url": model.api.base_url,
        }

    def complete(self, request: Request) -> Reply:
        """Always raises LMError: waiting here would block inspect's event loop, which has to deliver the reply."""
        raise LMError(f"{self.name}: this model can only be called in an event loop: await the player's aact")

    async def acomplete(self, request: Request) -> Reply:
        """Call inspect's model. Exceeded limits and provider errors end the sample.

        Raises:
            ModelError: the model gave no usable reply.
            AccessError: none of the model's first requests got a usable reply.
            LimitExceededError: a limit of the sample leaves no room for the request.
            StoppedError: the game was stopped.
        """
        messages: list[ChatMessage] = [ChatMessageUser(content=text_of(request.user))]
        if system := text_of(request.system):
            messages.insert(0, ChatMessageSystem(content=system))
        most = self.model.config.max_tokens or request.max_tokens
        async with self._room.question(request.max_prompt_tokens, most, self._halt) as asked:
            with stoppable(self._halt):
                output = await self.model.generate(messages, config=self._config(request), cache=False)
            asked.used = NO_USAGE if output.usage is None else _usage(output.usage)
        if not output.error and output.choices:
            self._room.speaking.add(self.name)
            return reply_of(output, asked.used)
        kind = "bad request" if output.error else "empty"  # inspect has retried all that may pass
        error = ModelError(kind, output.error or "no choice in the answer", usage=asked.used)
        if self.name not in self._room.speaking:
            self._room.silent[self.name] += 1
            if self._room.silent[self.name] >= FIRST_QUESTIONS:
                text = f"{self.name}: no usable reply to the first {FIRST_QUESTIONS} requests; the last error: {error}"
                raise AccessError(error.kind, text) from error
        raise error

    def _config(self, request: Request) -> GenerateConfig:
        """The player's options that the user has not set."""
        config = self.model.config
        own = {"max_tokens": request.max_tokens, "temperature": request.temperature, "top_p": request.top_p}
        if config.reasoning_effort or config.reasoning_tokens:
            del own["max_tokens"]  # a limit meant for replies would cut off the thinking
        given: dict[str, Any] = {name: value for name, value in own.items() if getattr(config, name) is None}
        if request.schema is not None:
            schema = JSONSchema.model_validate(request.schema)
            given["response_schema"] = ResponseSchema(name="reply", json_schema=schema, strict=True)
        return GenerateConfig(**given)


def arguments_digest(arguments: Mapping[str, Any]) -> str:
    """A digest of a provider's arguments, without objects and without secrets, which no file may hold."""

    def public(value: Any) -> Any:
        if isinstance(value, Mapping):
            told = {name: each for name, each in value.items() if not str(name).lower().endswith(SECRETS)}
            return {name: public(each) for name, each in told.items()}
        return [public(each) for each in value] if isinstance(value, list | tuple) else value

    text = json.dumps(public(arguments), sort_keys=True, default=lambda _: "an object")
    return hashlib.sha256(text.encode()).hexdigest()


def reply_of(output: ModelOutput, usage: Usage) -> Reply:
    """inspect's output as our reply; the model's thinking is apart from the reply."""
    content: str | list[Content] = output.message.content
    parts = () if isinstance(content, str) else [part for part in content if isinstance(part, ContentReasoning)]
    thoughts = "\n".join((part.summary or "") if part.redacted else part.reasoning for part in parts)
    finish = FINISHES.get(output.stop_reason, "other")
    return Reply(output.completion, usage, finish, output.model, reasoning=thoughts)


def _usage(used: ModelUsage) -> Usage:
    cached, written = used.input_tokens_cache_read or 0, used.input_tokens_cache_write or 0
    asked = used.input_tokens + cached + written
    return Usage(asked, cached, used.output_tokens, used.total_cost, used.reasoning_tokens or 0)


class MadeUpReplies(ModelAPI):
    """The same invented replies as ``lm:scripted/stub``; a token is four characters."""

    def __init__(self, model_name: str, *arguments: Any, **options: Any) -> None:
        if model_name != "stub":
            raise ConfigError(f"model 'scripted/{model_name}': the only model is scripted/stub")
        super().__init__(model_name, *arguments, **options)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """A reply that follows the schema of the request."""
        prompt, wanted = "".join(message.text for message in input), config.response_schema
        schema = wanted.json_schema.model_dump(exclude_none=True) if wanted else None
        output = ModelOutput.from_content("scripted/stub", stub_reply(prompt, schema))
        asked, said = len(prompt) // 4, len(output.completion) // 4
        output.usage = ModelUsage(input_tokens=asked, output_tokens=said, total_tokens=asked + said)
        return output


@modelapi("scripted")
def scripted() -> type[ModelAPI]:
    """The model provider "scripted", registered with inspect."""
    return MadeUpReplies
