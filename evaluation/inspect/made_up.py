"""``--model scripted/stub``: a model that needs no key and no network, and makes up replies that look legal."""

from __future__ import annotations

from typing import Any

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from agents.lm.errors import ConfigError
from agents.lm.stub.replies import stub_reply


class MadeUpReplies(ModelAPI):
    """The replies of our own ``lm:scripted/stub``; a token is four characters."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (as inspect's own)
        **arguments: Any,
    ) -> None:
        if model_name != "stub":
            raise ConfigError(f"model 'scripted/{model_name}': there is only scripted/stub")
        super().__init__(model_name, base_url, api_key, [], config)

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
    """The provider, as inspect finds it."""
    return MadeUpReplies
