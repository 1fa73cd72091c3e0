"""Games against a server that thinks in every way, and answers badly: is anything lost, spoken, or paid for wrongly?

The server speaks all three interfaces. Its good answers come with thinking of every kind (fields, parts, items, tags,
channels), as texts or parts, at once or in drops, and with odd usage. Every third try fails: no answer, half of one, a
broken stream, headers without end, pages and errors of many kinds. It keeps its own account, with which the players' is
compared. What it thinks contains a word that must never be spoken.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
import pytest

import evaluation
from agents.lm.models import AnthropicModel, OpenAIModel
from agents.lm.models.budget import Budget
from agents.lm.models.prices import Counts, Price
from agents.lm.models.providers.retries import BESIDES
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub.replies import stub_reply
from agents.lm.stub.wire import Answered, ParsedRequest, read, write
from tests.agents.lm.faulty import Connection, FaultyServer
from welfare_env import Rules

PRICE = Price(input=3.0, output=15.0, cached=0.3)
SECRET = "XYZZY"  # what the server thinks, and nobody may say
DRAFT = f'{{"orders": ["A PAR - BUR"], "messages": {{"GLOBAL": "{SECRET}"}}}}'
THOUGHT = f"Hm: {SECRET}. Maybe {DRAFT}. No."
TIMEOUT = 8.0  # seconds
SHARE_OF_FAULTS = 1 / 3
GAMES = int(os.environ.get("FAULTY_GAMES", "5"))
POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")
APIS = ("chat", "responses", "messages")


def most_of(asked: ParsedRequest) -> int:
    """Tokens of the prompt, if nobody tells how many there are."""
    return len(asked.prompt.encode()) + (0 if asked.schema is None else len(json.dumps(asked.schema))) + BESIDES


def usage_of(api: str, kind: str, unknown: Counts) -> tuple[Any, Counts]:
    """What the server says that an answer has used, and what that comes to; `unknown` if it says nothing usable."""
    prompt, reply, thought = 1000, 50, 400
    first, second = ("prompt", "completion") if api == "chat" else ("input", "output")
    usual: dict[str, Any] = {f"{first}_tokens": prompt, f"{second}_tokens": reply + thought}
    whole = Counts(prompt, 0, 0, reply + thought)
    thinking = {f"{second}_tokens_details": {"reasoning_tokens": thought}}
    if api == "messages":
        details = {"cache_read_input_tokens": 600, "output_tokens_details": {"thinking_tokens": thought}}
        cases = {"details": (usual | details, Counts(prompt, 600, 0, reply + thought))}
    else:
        details = {f"{first}_tokens_details": {"cached_tokens": 600}} | thinking
        cases = {
            "details": (usual | details, Counts(prompt - 600, 600, 0, reply + thought)),
            # only the total has the thinking, or it is beside the reply's tokens
            "hidden": (usual | {f"{second}_tokens": reply, "total_tokens": prompt + reply + thought}, whole),
            "apart": (usual | {f"{second}_tokens": reply} | thinking, whole),
        }
    cases |= {
        "none": (None, unknown),
        "negative": (usual | {f"{second}_tokens": -1}, unknown),
    }
    return cases.get(kind, (usual | {"total_tokens": "many"}, whole))


USAGES = ("plain", "plain", "details", "hidden", "apart", "none", "negative")
IN_TEXT = (
    "<think>{}</think>",
    "[THINK]{}[/THINK]",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>",
)


def good(path: str, asked: ParsedRequest, rng: np.random.Generator) -> tuple[dict[str, Any], Counts]:
    """A good answer with thinking of some kind, and its cost."""
    api = path.rpartition("/")[2].replace("completions", "chat")
    text = stub_reply(asked.prompt, asked.schema)
    if rng.random() < 0.4:
        text = IN_TEXT[int(rng.integers(len(IN_TEXT)))].format(THOUGHT) + text
    unknown = Counts(most_of(asked), 0, 0, len(text.encode()))
    usage, counts = usage_of(api, USAGES[int(rng.integers(len(USAGES)))], unknown)
    half = len(text) // 2
    parts: list[Any] = [{"type": "text", "text": text[:half]}, {"type": "text", "text": text[half:]}]
    thinking: list[Any] = [
        {"type": "thinking", "thinking": THOUGHT, "signature": "x"},
        {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
        {"type": "redacted_thinking", "data": SECRET},
        {"text": THOUGHT, "thought": True},
    ]
    content: Any = [thinking[int(rng.integers(len(thinking)))], *parts]
    if api != "messages" and rng.random() < 0.5:
        content = parts if rng.random() < 0.5 or api == "responses" else text
    body = write(path, asked, Answered(text)) | {"usage": usage}
    if api == "messages":
        body["content"] = content
    elif api == "responses":
        summary = [{"type": "summary_text", "text": THOUGHT}]
        items = [{"type": "reasoning", "summary": summary, "encrypted_content": SECRET}]
        body["output"] = [*items, {"type": "message", "content": content}]
    else:
        field = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "other")[int(rng.integers(5))]
        thought = [{"text": THOUGHT}] if "details" in field else THOUGHT
        body["choices"][0]["message"] |= {"content": content, field: thought}
    return body, counts


class Server:
    """What the server does; `account` has what it has answered, and `dollars` what that cost."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.account: Counter[str] = Counter()
        self.dollars = 0.0

    async def talk(self, connection: Connection) -> None:
        """One request, and a good or a bad answer."""
        body = await connection.read()
        is_faulty = self.rng.random() < SHARE_OF_FAULTS and self.account["good"] > 2 * len(APIS)
        await (self._fail if is_faulty else self._answer)(connection, read(connection.path, body))

    def _pay(self, kind: str, counts: Counts | None) -> None:
        self.account[kind] += 1
        self.dollars += 0.0 if counts is None else counts.usage(PRICE).dollars or 0.0

    async def _answer(self, connection: Connection, asked: ParsedRequest) -> None:
        answer, counts = good(connection.path, asked, self.rng)
        content = json.dumps(answer, ensure_ascii=bool(self.rng.integers(2))).encode()
        self._pay("good", counts)
        match int(self.rng.integers(3)):
            case 0:
                content = gzip.compress(content)
                await connection.send(_head(200, f"content-encoding: gzip\r\ncontent-length: {len(content)}") + content)
            case 1:
                await connection.send(_head(200, "transfer-encoding: chunked"))
                for start in range(0, len(content), 1000):
                    piece = content[start : start + 1000]
                    await connection.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                await connection.send(b"0\r\n\r\n")
            case _:
                await connection.send(_head(200, "content-type: text/html") + content)  # until the connection ends

    async def _fail(self, connection: Connection, asked: ParsedRequest) -> None:
        lost = Counts(most_of(asked), 0, 0, asked.max_tokens)  # what a try may have cost whose answer was not seen
        kinds = list(FAULTS)
        kind = kinds[int(self.rng.integers(len(kinds)))] if self.rng.random() > 0.01 else "endless headers"
        if kind == "endless headers":
            self._pay(kind, lost)
            await connection.send(b"HTTP/1.1 200 OK\r\n")
            await connection.drip(b"x-slow: yes\r\n")
        answer, _ = good(connection.path, asked, self.rng)
        content, outcome = FAULTS[kind](json.dumps(answer).encode())
        self._pay(kind, lost if outcome is Outcome.LOST else None)
        await connection.send(content)


def _head(status: int, headers: str) -> bytes:
    return f"HTTP/1.1 {status} Said\r\n{headers}\r\nconnection: close\r\n\r\n".encode()


def _whole(status: int, body: bytes) -> bytes:
    return _head(status, f"content-length: {len(body)}") + body


class Outcome(Enum):
    """What the players make of a faulty answer."""

    LOST = "asked again, and counted as dear as it may have been"
    FREE = "asked again; an error costs nothing"


_LATER = json.dumps({"error": {"message": "overloaded", "code": 503}}).encode()
FAULTS: dict[str, Callable[[bytes], tuple[bytes, Outcome]]] = {
    "no answer": lambda body: (b"", Outcome.LOST),
    "half a body": lambda body: (_head(200, f"content-length: {len(body)}") + body[: len(body) // 2], Outcome.LOST),
    "half a JSON": lambda body: (_whole(200, body[:-2]), Outcome.LOST),
    "two answers": lambda body: (_whole(200, body + body), Outcome.LOST),
    "a page": lambda body: (_whole(200, b"<html>Please wait</html>"), Outcome.LOST),
    "no gzip": lambda body: (_head(200, f"content-encoding: gzip\r\ncontent-length: {len(body)}") + body, Outcome.LOST),
    "an odd answer": lambda body: (_whole(200, b'{"choices": [], "output": 5, "content": {}}'), Outcome.LOST),
    "an error as an answer": lambda body: (_whole(200, _LATER), Outcome.FREE),
    "too many": lambda body: (_whole(429, b"slow down"), Outcome.FREE),
}


def said(records: list[dict[str, Any]]) -> list[str]:
    """Everything that was spoken, ordered or noted in games, and their models' accounts of it."""
    found = []
    for record in records:
        for phase in record["phases"]:
            found += [message["message"] for message in phase.get("messages", ())]
            found += [order for orders in phase.get("orders", {}).values() for order in orders or ()]
        for models in record["welfare_env"]["language_models"].values():
            found += [text for model in models for text in model["summaries"].values()]
    return found


def played(server: FaultyServer, budget: Budget) -> list[dict[str, Any]]:
    """The records of games against the server, with a model for each interface."""
    common: dict[str, Any] = {"prices": {"x": PRICE}, "timeout": TIMEOUT, "retries": 30, "backoff": 0.01}
    common |= {"max_concurrent": 32, "budget": budget}
    own = {
        "chat": OpenAIModel("x", base_url=server.address("chat"), **common),
        "responses": OpenAIModel("x", base_url=server.address("responses"), api="responses", **common),
        "messages": AnthropicModel("x", base_url=server.address("messages"), **common),
    }
    seats = {power: f"lm:{APIS[number % len(APIS)]}" for number, power in enumerate(POWERS)}
    models = SharedModels(budget=budget, own=own)
    rules = Rules(years=1, message_rounds=1)
    result = evaluation.self_play(seats, games=GAMES, rules=rules, simultaneous=True, workers=16, models=models)
    return list(result.records)


@pytest.mark.slow
def test_nothing_is_lost_spoken_or_paid_for_wrongly() -> None:
    budget, server = Budget(), Server(seed=0)
    with FaultyServer(server.talk) as running:
        records = played(running, budget)
    found = [models for record in records for models in record["welfare_env"]["language_models"].values()]
    ledgers = [ledger for models in found for ledger in models]
    answered = sum(ledger["calls"] - ledger["failed"] for ledger in ledgers)
    losses = [loss for ledger in ledgers for turn in ledger["turns"] for loss in turn["losses"] if loss[0] != "prose"]
    assert len(server.account) > len(FAULTS) // 2, "too few kinds of faults occurred to say anything"
    assert not any(SECRET in text for text in said(records))
    assert server.account["good"] == answered
    assert losses == []
    assert budget.spent.dollars == pytest.approx(server.dollars, abs=1e-6)
