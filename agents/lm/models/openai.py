"""Models behind the `openai` SDK: OpenAI's own, and those of any server that speaks its language.

Such servers are vLLM, Ollama, llama.cpp and OpenRouter, by their `base_url`. To them goes only what all of them know:
`max_tokens` in place of `max_completion_tokens`, and no `prompt_cache_key`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, ClassVar

from agents.lm.errors import ConfigError
from agents.lm.models.answers import Answer, Counts, count, joined
from agents.lm.models.protocol import Block, Finish, Request
from agents.lm.models.remote import RemoteModel

APIS = ("chat", "responses")
_FINISHES: dict[Any, Finish] = {
    **{"stop": "stop", "length": "length", "content_filter": "refusal"},  # chat
    **{"max_output_tokens": "length", None: "stop"},  # responses: why an answer is incomplete
}


class OpenAIModel(RemoteModel):
    """A model asked through the `openai` SDK.

    Args:
        model: as the server calls it.
        api: "chat" for Chat Completions, which every such server has, or "responses".
        **options: as for `RemoteModel`.

    Raises:
        ConfigError: an option that makes no sense, or a budget in dollars without a price.
    """

    PROVIDER: ClassVar[str] = "openai"
    URL: ClassVar[str] = "https://api.openai.com/v1"
    PATH: ClassVar[str] = "/v1"
    URL_VARIABLE: ClassVar[str] = "OPENAI_BASE_URL"
    KEY_VARIABLE: ClassVar[str] = "OPENAI_API_KEY"

    def __init__(self, model: str, *, api: str = "chat", **options: Any) -> None:
        if api not in APIS:
            raise ConfigError(f"api {api!r}: give one of {', '.join(APIS)}")
        super().__init__(model, **options)
        self.api = api

    @property
    def settings(self) -> dict[str, Any]:
        """What its replies depend on besides the request, as plain JSON values."""
        return super().settings | {"api": self.api}

    def body(self, request: Request, sampling: Mapping[str, float]) -> dict[str, Any]:
        """The arguments for the SDK."""
        body = self._chat_body(request) if self.api == "chat" else self._responses_body(request)
        if request.cache_key and self.is_own_server:
            body["prompt_cache_key"] = request.cache_key
        if request.schema is not None and self.structured:
            body |= self._form(request.schema_name, request.schema)
        # The SDK walks through every value of its own arguments, which takes long in a long prompt and a schema of 500
        # orders; what goes through `extra_body` takes the place of arguments of the same names, as it is.
        said = "messages" if self.api == "chat" else "input"
        return {said: [], "extra_body": body, "model": self.model, **sampling}

    def read(self, payload: Any) -> Answer:
        """What the JSON of an answer says.

        Raises:
            KeyError, IndexError, TypeError, ValueError, AttributeError: it is not what the interface promises.
        """
        return _read_chat(payload) if self.api == "chat" else _read_responses(payload)

    def endpoint(self, client: Any) -> Any:
        """The function of a client, sync or async, that sends `body` and returns the raw answer."""
        resource = client.chat.completions if self.api == "chat" else client.responses
        return resource.with_streaming_response.create

    def new_client(self, sdk: ModuleType, is_async: bool, **options: Any) -> Any:
        """The SDK's client."""
        return (sdk.AsyncOpenAI if is_async else sdk.OpenAI)(**options)

    def _chat_body(self, request: Request) -> dict[str, Any]:
        messages = [("system", request.system), ("user", request.user)]
        body: dict[str, Any] = {
            "messages": [{"role": role, "content": _text(blocks)} for role, blocks in messages if _text(blocks)],
            "max_completion_tokens" if self.is_own_server else "max_tokens": request.max_tokens,
        }
        if self.effort is not None:
            body["reasoning_effort"] = self.effort
        return body

    def _responses_body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "input": [{"role": "user", "content": _text(request.user)}],
            "max_output_tokens": request.max_tokens,
            "store": False,
        }
        if _text(request.system):
            body["instructions"] = _text(request.system)
        if self.effort is not None:
            body["reasoning"] = {"effort": self.effort}
        return body

    def _form(self, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        told = {"name": name, "schema": schema, "strict": True}
        if self.api == "chat":
            return {"response_format": {"type": "json_schema", "json_schema": told}}
        return {"text": {"format": {"type": "json_schema", **told}}}


def _text(blocks: tuple[Block, ...]) -> str:
    return "".join(block.text for block in blocks)


def _read_chat(payload: Any) -> Answer:
    choice = payload["choices"][0]
    message = choice["message"]
    refusal = message.get("refusal")
    text = joined([refusal or message.get("content") or ""])
    finish = "refusal" if refusal else _FINISHES.get(choice.get("finish_reason"), "other")
    counts = _counts(payload.get("usage"), "prompt", "completion")
    return Answer(text, finish, str(payload.get("model", "")), counts)


def _read_responses(payload: Any) -> Answer:
    parts = [part for item in payload["output"] if item["type"] == "message" for part in item["content"]]
    refusal = joined(part["refusal"] for part in parts if part["type"] == "refusal")
    text = joined(part["text"] for part in parts if part["type"] == "output_text")
    why_incomplete = (payload.get("incomplete_details") or {}).get("reason")
    finish = "refusal" if refusal else _FINISHES.get(why_incomplete, "other")
    counts = _counts(payload.get("usage"), "input", "output")
    return Answer(refusal or text, finish, str(payload.get("model", "")), counts)


def _counts(usage: Any, prompt: str, reply: str) -> Counts | None:
    """Both APIs count all tokens of the prompt, and say how many of them the cache had to do with."""
    if usage is None:
        return None
    details = usage.get(f"{prompt}_tokens_details") or {}
    cached, written = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
    plain = max(0, count(usage[f"{prompt}_tokens"]) - cached - written)
    return Counts(plain, cached, written, count(usage[f"{reply}_tokens"]))
