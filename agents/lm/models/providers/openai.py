"""Models asked through the `openai` SDK: OpenAI's, on Azure, too, and those of any compatible server.

Such servers are vLLM, Ollama, llama.cpp, OpenRouter and Gemini's compatible endpoint, given by `base_url`. They get
only parameters that all of them know: no `prompt_cache_key`, and at first `max_tokens` instead of
`max_completion_tokens`. A server that refuses one of these two gets the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from agents.lm.errors import ConfigError
from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Block, Finish, Request
from agents.lm.models.providers.faults import body_fault, clean, whole
from agents.lm.models.providers.grammars import GRAMMARS, grammar_fields
from agents.lm.models.providers.refusals import LIMIT, Refusals
from agents.lm.models.providers.remote_model import STREAMED, Answer, RemoteModel, count, readable
from agents.lm.models.settings import check_number

MAX_SEED = 2**31  # seeds are below this
APIS = ("chat", "responses")

_FINISHES: dict[Any, Finish] = {
    **{"stop": "stop", "tool_calls": "stop", "length": "length", "content_filter": "refusal"},  # chat
    **{"max_output_tokens": "length", None: "stop"},  # responses: the reason why an answer is incomplete
}


class OpenAIModel(RemoteModel):
    """A model asked through the `openai` SDK.

    Args:
        model: the model's name on the server.
        api: "chat" for Chat Completions, which every compatible server has, or "responses".
        grammar: the server's kind, of `agents.lm.models.providers.grammars.GRAMMARS`, to send the schema of a reply as
            a grammar; None sends the schema.
        seed: sampling seed, for servers that accept one; the game's own seed is added to it. None sends none.
        **options: as for `RemoteModel`.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.
    """

    PROVIDER: ClassVar[str] = "openai"
    SDK: ClassVar[str] = "openai"
    CLIENT: ClassVar[str] = "AsyncOpenAI"
    URL: ClassVar[str] = "https://api.openai.com/v1"
    PATH: ClassVar[str] = "/v1"
    URL_VARIABLE: ClassVar[str] = "OPENAI_BASE_URL"
    KEY_VARIABLE: ClassVar[str | None] = "OPENAI_API_KEY"

    def __init__(
        self, model: str, *, api: str = "chat", grammar: str | None = None, seed: int | None = None, **options: Any
    ) -> None:
        if api not in APIS:
            raise ConfigError(f"api {api!r}: give one of {', '.join(APIS)}")
        if grammar is not None and grammar not in GRAMMARS:
            raise ConfigError(f"grammar {grammar!r:.80}: give one of {', '.join(GRAMMARS)}")
        check_number("seed", 0 if seed is None else seed, whole=True)
        super().__init__(model, **options)
        if grammar is not None and (api != "chat" or self.is_official):
            raise ConfigError(
                f"grammar {grammar!r}: OpenAI accepts no grammar: give the base_url of a server that does, and api=chat"
            )
        self.api, self.grammar, self.seed = api, grammar, seed

    @property
    def settings(self) -> dict[str, Any]:
        """What the replies depend on besides the request, as plain JSON values."""
        own = {"grammar": self.grammar, "seed": self.seed}
        return super().settings | {"api": self.api} | {name: value for name, value in own.items() if value is not None}

    def with_grammar(self, kind: str) -> Self:
        """The same model, sending schemas as grammars of this kind."""
        model = object.__new__(type(self))
        model.__dict__.update(self.__dict__, grammar=kind, _refusals=Refusals())
        return model

    async def ask(self, request: Request, left_out: frozenset[str]) -> Answer:
        """Asks the SDK's client once; see `RemoteModel.ask`."""
        fields = self.fields(request, left_out)
        if self.api == "responses":
            return _read_response(whole(await self._response(fields, request.max_tokens > STREAMED)))
        completion = whole(await self._completion(fields, request.max_tokens > STREAMED))
        if error := getattr(completion, "error", None):
            raise body_fault(error, self._redacted)
        return _read_chat(completion)

    async def _completion(self, fields: dict[str, Any], is_streamed: bool) -> Any:
        create = self.client.chat.completions.create
        if not is_streamed:
            return await create(**fields)
        from openai.lib.streaming.chat import ChatCompletionStreamState

        state: Any = ChatCompletionStreamState()
        async for chunk in await create(**fields, stream=True, stream_options={"include_usage": True}):
            state.handle_chunk(chunk)
        return state.current_completion_snapshot

    async def _response(self, fields: dict[str, Any], is_streamed: bool) -> Any:
        if not is_streamed:
            return await self.client.responses.create(**fields)
        response = None
        async for event in await self.client.responses.create(**fields, stream=True):
            response = getattr(event, "response", response)  # the last one is whole
        return response

    def fields(self, request: Request, left_out: frozenset[str]) -> dict[str, Any]:
        """The arguments of the SDK's call.

        Raises:
            ConfigError: no grammar can be made of the schema.
        """
        fields = self._chat_fields(request, left_out) if self.api == "chat" else self._response_fields(request)
        extra = dict(self.extra)
        if request.cache_key and self.is_official:
            fields["prompt_cache_key"] = request.cache_key
        schema = self.schema(request, left_out)
        if schema is not None and self.grammar is not None:
            extra |= grammar_fields(self.grammar, schema)
        elif schema is not None:
            fields |= self._form(request.schema_name, schema)
        if self.seed is not None:
            fields["seed"] = (self.seed + request.sample) % MAX_SEED
        return {"model": self.model} | self.sampling(request, left_out) | fields | {"extra_body": extra}

    def _optional(self, request: Request, left_out: frozenset[str]) -> dict[str, str]:
        """As in `RemoteModel`; here the limit of a reply has two names."""
        known = super()._optional(request, left_out)
        return known | ({LIMIT: self._limit_names[0]} if self.api == "chat" and LIMIT not in left_out else {})

    @property
    def _limit_names(self) -> tuple[str, str]:
        """The names of the reply's limit: the first one to try, and the alternative."""
        old, new = "max_tokens", "max_completion_tokens"
        return (new, old) if self.is_official else (old, new)

    def _chat_fields(self, request: Request, left_out: frozenset[str]) -> dict[str, Any]:
        messages = [("system", request.system), ("user", request.user)]
        fields: dict[str, Any] = {
            "messages": [{"role": role, "content": _text(blocks)} for role, blocks in messages if _text(blocks)],
            self._limit_names[LIMIT in left_out]: request.max_tokens,
        }
        return fields | ({} if self.effort is None else {"reasoning_effort": self.effort})

    def _response_fields(self, request: Request) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "input": [{"role": "user", "content": _text(request.user)}],
            "max_output_tokens": request.max_tokens,
            "store": False,
        }
        if _text(request.system):
            fields["instructions"] = _text(request.system)
        return fields | ({} if self.effort is None else {"reasoning": {"effort": self.effort}})

    def _form(self, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        form = {"name": name, "schema": schema, "strict": True}
        if self.api == "chat":
            return {"response_format": {"type": "json_schema", "json_schema": form}}
        return {"text": {"format": {"type": "json_schema", **form}}}


class AzureModel(OpenAIModel):
    """A deployment on Azure, with the SDK's client for it: `AZURE_OPENAI_ENDPOINT` and `OPENAI_API_VERSION` say where.

    The credentials are `AZURE_OPENAI_API_KEY`, or `AZURE_OPENAI_AD_TOKEN`.
    """

    PROVIDER: ClassVar[str] = "azure"
    CLIENT: ClassVar[str] = "AsyncAzureOpenAI"
    URL: ClassVar[str] = ""
    URL_VARIABLE: ClassVar[str] = "AZURE_OPENAI_ENDPOINT"
    KEY_VARIABLE: ClassVar[str | None] = "AZURE_OPENAI_API_KEY"
    IS_CLOUD: ClassVar[bool] = True

    def client_options(self, key: str) -> dict[str, Any]:
        """Options of the SDK's client: address and credentials."""
        return {"azure_endpoint": self.base_url} | ({"api_key": key} if key else {})


def _text(blocks: tuple[Block, ...]) -> str:
    return "".join(block.text for block in blocks)


def _read_chat(completion: Any) -> Answer:
    choice = completion.choices[0]
    content = choice.message.content
    if isinstance(content, list):  # Mistral's, with thinking in parts of its own
        content = "".join(part["text"] for part in content if part["type"] == "text")
    refusal = choice.message.refusal
    finish = "refusal" if refusal else _FINISHES.get(choice.finish_reason, "other")
    extra = choice.message.model_extra or {}
    thought = extra.get("reasoning_content") or extra.get("reasoning")
    counts = _counts(completion.usage, "prompt", "completion")
    reasoning = readable(thought) if isinstance(thought, str) else ""
    return Answer(readable(refusal or content or ""), finish, clean(completion.model), counts, reasoning)


def _read_response(response: Any) -> Answer:
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    refusal = "".join(part.refusal for part in parts if part.type == "refusal")
    thoughts = [part.text for item in response.output if item.type == "reasoning" for part in item.summary or ()]
    reason = getattr(response.incomplete_details, "reason", None)
    finish = "refusal" if refusal else _FINISHES.get(reason, "other")
    counts = _counts(response.usage, "input", "output")
    text = refusal or "".join(part.text for part in parts if part.type == "output_text")
    return Answer(readable(text), finish, clean(response.model), counts, readable("".join(thoughts)))


def _counts(usage: Any, prompt: str, reply: str) -> Counts | None:
    """The counts of an answer; both APIs report all prompt tokens, and how many of them were cached.

    Some servers leave thinking out of the reply's tokens, but not out of the total, nor of the bill.
    """
    total, output = count(getattr(usage, f"{prompt}_tokens", None)), count(getattr(usage, f"{reply}_tokens", None))
    if not total or output is None:
        return None
    details = getattr(usage, f"{prompt}_tokens_details", None)
    cached = min(total, count(getattr(details, "cached_tokens", None)) or 0)
    written = min(total - cached, count(getattr(details, "cache_write_tokens", None)) or 0)
    thought = getattr(getattr(usage, f"{reply}_tokens_details", None), "reasoning_tokens", None)
    hidden = max(0, (count(getattr(usage, "total_tokens", None)) or 0) - total - output)
    output += hidden
    return Counts(total - cached - written, cached, written, output, min(max(count(thought) or 0, hidden), output))
