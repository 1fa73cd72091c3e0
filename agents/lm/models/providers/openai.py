"""Models accessed through the `openai` SDK: OpenAI's, and those of any compatible server.

Such servers are vLLM, Ollama, llama.cpp and OpenRouter, given by `base_url`. They get only parameters that all of them
know: no `prompt_cache_key`, and at first `max_tokens` instead of `max_completion_tokens`. A server that rejects one of
these two gets the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from types import ModuleType
from typing import Any, ClassVar

from agents.lm.errors import PASSING_KINDS, ConfigError, ModelError
from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Block, Finish, Reply, Request
from agents.lm.models.providers.answers import (
    Answer,
    called,
    count,
    field,
    finish_of,
    joined,
    refusals,
    texts,
    thoughts,
)
from agents.lm.models.providers.faults import LIMIT, SCHEMA, Fault, clean
from agents.lm.models.providers.grammars import AUTO, GRAMMARS, PROBE, grammar_fields, probed, probed_grammar, probes
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.models.settings import check_number
from agents.lm.reading.obeying import obeys

MOST_SEED = 2**31  # seeds are below this
APIS = ("chat", "responses")
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
"""Where chat servers put the model's thinking."""

_UNDECIDED = PASSING_KINDS - {"server"}
"""Faults that say nothing about what is enforced. "server" is not one: some servers reject a schema with a 500."""

_FINISHES: dict[Any, Finish] = {
    **{"stop": "stop", "length": "length", "content_filter": "refusal"},  # chat
    **{"tool_calls": "stop", "function_call": "stop"},
    **{"max_output_tokens": "length", None: "stop"},  # responses: the reason why an answer is incomplete
}


class OpenAIModel(RemoteModel):
    """A model asked through the `openai` SDK.

    Args:
        model: the model's name on the server.
        api: "chat" for Chat Completions, which every compatible server has, or "responses".
        grammar: the server's kind, of `GRAMMARS` (`agents.lm.models.providers.grammars`), to send the schema of a reply
            as a grammar; None sends the schema; "auto" finds out with short questions what the server enforces, before
            the first question that has a schema.
        seed: sampling seed, for servers that accept one; the game's own seed is added to it. None sends none.
        **options: as for `RemoteModel`.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.

    Attributes:
        kind: the kind of grammar as which schemas are sent, of `GRAMMARS`; None if they are sent as schemas, and before
            "auto" has found a kind.
    """

    PROVIDER: ClassVar[str] = "openai"
    URL: ClassVar[str] = "https://api.openai.com/v1"
    PATH: ClassVar[str] = "/v1"
    URL_VARIABLE: ClassVar[str] = "OPENAI_BASE_URL"
    KEY_VARIABLE: ClassVar[str] = "OPENAI_API_KEY"

    def __init__(
        self, model: str, *, api: str = "chat", grammar: str | None = None, seed: int | None = None, **options: Any
    ) -> None:
        if api not in APIS:
            raise ConfigError(f"api {api!r}: give one of {', '.join(APIS)}")
        if grammar is not None and grammar not in (AUTO, *GRAMMARS):
            raise ConfigError(f"grammar {grammar!r:.80}: give one of {AUTO}, {', '.join(GRAMMARS)}")
        check_number("seed", 0 if seed is None else seed, whole=True)
        super().__init__(model, **options)
        if grammar not in (None, AUTO) and (api != "chat" or self.is_official):
            raise ConfigError(
                f"grammar {grammar!r}: OpenAI accepts no grammar: give the base_url of a server that does, and api=chat"
            )
        self.api, self.grammar, self.seed = api, grammar, seed
        self.kind = None if grammar == AUTO else grammar
        self._is_decided = grammar != AUTO or api != "chat" or self.is_official
        self._asking: Future[None] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What the replies depend on besides the request, as plain JSON values."""
        own = {"grammar": self.grammar, "seed": self.seed}
        return super().settings | {"api": self.api} | {name: value for name, value in own.items() if value is not None}

    async def acomplete(self, request: Request) -> Reply:
        """As `RemoteModel.acomplete`; with grammar "auto" the first question with a schema waits for the decision."""
        if not self._is_decided and request.schema is not None and not probed(request):
            await self._decide()
        return await super().acomplete(request)

    async def _decide(self) -> None:
        """Finds out, once for all questions, what the server enforces; others wait meanwhile."""
        while not self._is_decided:
            own: Future[None] = Future()
            own.set_running_or_notify_cancel()  # so that no waiter can cancel it for the others
            with self._lock:
                asking = self._asking = self._asking or own
            if asking is not own:
                await asyncio.wrap_future(asking)
                continue
            try:
                await self._probe()
                self._is_decided = True
            finally:  # after an error another question tries again
                with self._lock:
                    self._asking = None
                own.set_result(None)

    async def _probe(self) -> None:
        """Sets `kind` to the first way in which the server enforces the schema of a short question.

        Raises:
            ModelError: a fault that says nothing about the schema; the next question asks again.
        """
        for kind, request in probes().items():
            try:
                reply = await super().acomplete(request)
            except ModelError as error:
                if error.kind in _UNDECIDED:
                    raise
                continue
            if obeys(reply.text, PROBE):
                if kind is not None:
                    with self._lock:
                        self.kind, self.without = kind, self.without - {SCHEMA}
                self.warn_once(f"grammar=auto: the server enforces {'schemas' if kind is None else f'grammar={kind}'}")
                return
        self.warn_once("grammar=auto: the server enforces nothing: set schema=none,add=legal_orders")

    def body(self, request: Request, without: Collection[str]) -> dict[str, Any]:
        """The JSON of a question.

        Raises:
            ConfigError: no grammar can be made of the schema.
        """
        body = self._chat_body(request, without) if self.api == "chat" else self._responses_body(request)
        if request.cache_key and self.is_official:
            body["prompt_cache_key"] = request.cache_key
        kind = probed_grammar(request) if probed(request) else self.kind
        schema = self.schema(request, without) if kind == self.kind else request.schema
        if schema is not None:
            body |= self._form(request.schema_name, schema) if kind is None else grammar_fields(kind, schema)
        if self.seed is not None:
            body["seed"] = (self.seed + request.sample) % MOST_SEED
        return {"model": self.model} | self.sampling(request, without) | body | self.extra

    def read(self, payload: Any) -> Answer:
        """Reads the JSON of an answer.

        Raises:
            KeyError, IndexError, TypeError, ValueError, AttributeError: it violates the interface.
        """
        return _read_chat(payload) if self.api == "chat" else _read_responses(payload)

    @property
    def endpoint(self) -> str:
        """The path of questions, after the server's address."""
        return "/chat/completions" if self.api == "chat" else "/responses"

    def new_client(self, sdk: ModuleType, **options: Any) -> Any:
        """The SDK's async client."""
        return sdk.AsyncOpenAI(**options)

    def _warn_about(self, request: Request, reply: Reply) -> None:
        if not probed(request):
            super()._warn_about(request, reply)

    def optional(self, request: Request) -> dict[str, str]:
        """As in `RemoteModel`; here the limit of a reply has two names."""
        known = super().optional(request) | ({LIMIT: self._limits[0]} if self.api == "chat" else {})
        if probed_grammar(request) is not None:
            known.pop(SCHEMA, None)  # a rejected grammar says nothing about schemas
        return known

    def dropped_text(self, name: str, fault: Fault) -> str:
        """The log message when a parameter is dropped."""
        if name == LIMIT:
            return f"the server does not take {self._limits[0]}; {self._limits[1]} is sent in its place from now on"
        return super().dropped_text(name, fault)

    @property
    def _limits(self) -> tuple[str, str]:
        """The names of the reply's limit: the first one to try, and the alternative."""
        old, new = "max_tokens", "max_completion_tokens"
        return (new, old) if self.is_official else (old, new)

    def _chat_body(self, request: Request, without: Collection[str]) -> dict[str, Any]:
        messages = [("system", request.system), ("user", request.user)]
        body: dict[str, Any] = {
            "messages": [{"role": role, "content": _text(blocks)} for role, blocks in messages if _text(blocks)],
            self._limits[LIMIT in without]: request.max_tokens,
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
        form = {"name": name, "schema": schema, "strict": True}
        if self.api == "chat":
            return {"response_format": {"type": "json_schema", "json_schema": form}}
        return {"text": {"format": {"type": "json_schema", **form}}}


def _text(blocks: tuple[Block, ...]) -> str:
    return "".join(block.text for block in blocks)


def _read_chat(payload: Any) -> Answer:
    choice = _choice(payload["choices"])
    # some servers send the delta of a stream, or the text of the older completions interface
    message = _said(choice) or {"content": choice["text"]}
    content = message.get("content")
    refusal = joined(texts(message.get("refusal"))) or joined(refusals(content))
    finish = "refusal" if refusal else finish_of(choice.get("finish_reason"), _FINISHES)
    counts = _counts(payload.get("usage"), "prompt", "completion")
    thought = next((thought for name in _REASONING if (thought := message.get(name))), None)
    reasoning = joined((*thoughts(thought, is_own=True), *thoughts(content)))
    calls = called(message.get("tool_calls") or [message.get("function_call")])
    text = joined((*texts(content), *calls))
    return Answer(refusal or text, finish, clean(payload.get("model")), counts, reasoning)


def _choice(choices: Any) -> Any:
    """The first choice with a text, or else the first; some servers send a choice without a list."""
    if isinstance(choices, dict):
        choices = [choices] if _said(choices) else list(choices.values())
    return next((each for each in choices if field(_said(each), "content")), choices[0])


def _said(choice: Any) -> Any:
    return field(choice, "message") or field(choice, "delta")


def _read_responses(payload: Any) -> Answer:
    contents = [item.get("content") for item in payload["output"] if item["type"] == "message"]
    reasoning = joined(text for content in (payload["output"], *contents) for text in thoughts(content))
    refusal = joined(text for content in contents for text in refusals(content))
    calls = called([item for item in payload["output"] if item["type"] == "function_call"])
    text = joined((*(text for content in contents for text in texts(content)), *calls))
    text = text or joined(texts(payload.get("output_text")))
    why_incomplete = field(payload.get("incomplete_details"), "reason")
    finish = "refusal" if refusal else finish_of(why_incomplete, _FINISHES)
    counts = _counts(payload.get("usage"), "input", "output")
    return Answer(refusal or text, finish, clean(payload.get("model")), counts, reasoning)


def _counts(usage: Any, prompt: str, reply: str) -> Counts | None:
    """The counts of an answer; both APIs report all prompt tokens, and how many of them were cached.

    Some servers leave thinking out of the reply's tokens, but not out of the total, nor of the bill.
    """
    total, output = count(field(usage, f"{prompt}_tokens")), count(field(usage, f"{reply}_tokens"))
    if not total or output is None:
        return None
    details = field(usage, f"{prompt}_tokens_details")
    cached = min(total, count(field(details, "cached_tokens")) or 0)
    written = min(total - cached, count(field(details, "cache_write_tokens")) or 0)
    reasoning = count(field(field(usage, f"{reply}_tokens_details"), "reasoning_tokens")) or 0
    hidden = (count(field(usage, "total_tokens")) or 0) - total - output
    if hidden > 0:
        output, reasoning = output + hidden, max(reasoning, hidden)
    elif reasoning > output:
        output += reasoning
    return Counts(total - cached - written, cached, written, output, min(reasoning, output))
