"""Models asked through the `openai` SDK: OpenAI's, on Azure, too, and those of any compatible server.

Such servers are vLLM, Ollama, llama.cpp, OpenRouter and Gemini's compatible endpoint, given by `base_url`. They get
only parameters that all of them know: no `prompt_cache_key`, and at first `max_tokens` instead of
`max_completion_tokens`. A server that refuses one of these two gets the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.lm.errors import ConfigError
from agents.lm.models.faults import LIMIT, said_fault
from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Finish, Reply, Request, text_of
from agents.lm.models.remote import STREAMED, Answer, RemoteModel, count, given
from agents.lm.reading.schemas import gbnf

GRAMMARS: dict[str, Callable[[str], dict[str, Any]]] = {
    "vllm": lambda text: {"structured_outputs": {"grammar": text}},
    "llama.cpp": lambda text: {"grammar": text},
    "sglang": lambda text: {"ebnf": text},
}
"""Kind of server -> from a grammar (GBNF) in place of a schema to further fields of the body."""

_FINISHES: dict[str, Finish] = {
    **{"stop": "stop", "tool_calls": "stop", "length": "length", "content_filter": "refusal"},
}


class OpenAIModel(RemoteModel):
    """A model asked through the `openai` SDK.

    Args:
        model: the model's name on the server; on Azure, the deployment's.
        provider: "openai" or "azure".
        grammar: the server's kind, of `GRAMMARS`, to send the schema of a reply as a grammar; None sends the schema.
        **options: as for `RemoteModel`.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.
    """

    def __init__(self, model: str, *, provider: str = "openai", grammar: str | None = None, **options: Any) -> None:
        super().__init__(provider, model, **options)
        if grammar is not None and (grammar not in GRAMMARS or self.is_official):
            kinds = ", ".join(GRAMMARS)
            raise ConfigError(f"grammar {grammar!r:.80}: give one of {kinds}, for a server at base_url")
        self.grammar = grammar
        self.settings = {**self.settings, **given(grammar=grammar)}

    async def ask(self, request: Request) -> Answer:
        """Asks the SDK's client once; see `RemoteModel.ask`."""
        create, fields = self.client.chat.completions.create, self.fields(request)
        if request.max_tokens <= STREAMED:
            completion = await create(**fields)
        else:
            from openai.lib.streaming.chat import ChatCompletionStreamState

            state: Any = ChatCompletionStreamState()
            async for chunk in await create(**fields, stream=True, stream_options={"include_usage": True}):
                state.handle_chunk(chunk)
            completion = state.current_completion_snapshot
        if error := getattr(completion, "error", None):
            raise said_fault(200, {}, error, self._redacted)
        return _read(completion), _counts(completion.usage)

    @property
    def limit_name(self) -> str:
        """The name of the reply's limit: OpenAI's or that of other servers; the other one if the first is refused."""
        return "max_completion_tokens" if self.is_official != (LIMIT in self._refused) else "max_tokens"

    def fields(self, request: Request) -> dict[str, Any]:
        """The arguments of the SDK's call.

        Raises:
            ConfigError: no grammar can be made of the schema.
        """
        messages = [("system", text_of(request.system)), ("user", text_of(request.user))]
        form, grammar = None, {}
        if request.schema is not None and self.grammar is None:
            form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": request.schema, "strict": True}}
        elif request.schema is not None and self.grammar is not None:
            try:
                grammar = GRAMMARS[self.grammar](gbnf(request.schema))
            except ValueError as error:
                raise ConfigError(f"grammar: {error}") from error
        return given(
            model=self.model,
            messages=[{"role": role, "content": text} for role, text in messages if text],
            temperature=request.temperature,
            top_p=request.top_p,
            reasoning_effort=self.effort,
            response_format=form,
            prompt_cache_key=(request.cache_key or None) if self.is_official else None,
            extra_body=self.extra | grammar,
            **{self.limit_name: request.max_tokens},
        )


def _read(completion: Any) -> Reply:
    choice = completion.choices[0]
    content, refusal = choice.message.content, choice.message.refusal
    if isinstance(content, list):  # Mistral's, with thinking in parts of its own
        content = "".join(part["text"] for part in content if part["type"] == "text")
    extra = choice.message.model_extra or {}
    thought = extra.get("reasoning_content") or extra.get("reasoning")
    return Reply(
        refusal or content or "",
        finish="refusal" if refusal else _FINISHES.get(choice.finish_reason, "other"),
        model=completion.model,
        reasoning=thought if isinstance(thought, str) else "",
    )


def _counts(usage: Any) -> Counts | None:
    """The counts of an answer; the server reports all prompt tokens, and how many of them were cached.

    Some servers leave thinking out of the reply's tokens, but not out of the total, nor of the bill.
    """
    prompt, output = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    if not prompt or output is None:
        return None
    details = getattr(usage, "prompt_tokens_details", None)
    cached = min(prompt, count(details, "cached_tokens") or 0)
    written = min(prompt - cached, count(details, "cache_write_tokens") or 0)
    thought = count(getattr(usage, "completion_tokens_details", None), "reasoning_tokens") or 0
    hidden = max(0, (count(usage, "total_tokens") or 0) - prompt - output)
    output += hidden
    return Counts(prompt - cached - written, cached, written, output, min(max(thought, hidden), output))
