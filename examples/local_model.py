"""A local language model plays one seat with full press; by default a small model with random weights.

    python -m venv local && . local/bin/activate
    pip install -c constraints.txt -e '.[lm]' 'llama-cpp-python[server]==0.3.36' gguf tokenizers  # compiles llama.cpp
    python examples/local_model.py                            # a random model, one year
    python examples/local_model.py --model some-model.gguf    # a real one

llama-cpp-python's server enforces the grammar of a reply, so even random weights play legal orders.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Annotated, Any

import numpy as np
import typer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import evaluation
from agents import SeatGame
from agents.lm import ConfigError
from welfare_env import Rules

CONTEXT = 32_768  # tokens of a prompt and its reply
WIDTH, HEADS, HIDDEN, LAYERS = 64, 2, 128, 2
VOCABULARY = 1_000
BEGIN, END = "<|begin|>", "<|end|>"
TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)
OTHERS = ("marshal", "dove", "marshal", "dove", "marshal", "dove")
LONGEST_START = 120.0  # seconds


def tokenizer(seed_text: str) -> Tokenizer:
    """A byte-level BPE tokenizer learned from a text; it encodes any text."""
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer, learned.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    marks = [BEGIN, END]
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=alphabet, special_tokens=marks)
    learned.train_from_iterator([seed_text], trainer)
    return learned


def weights(words: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random weights of a small Llama, float32, by their names in transformers."""

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(0.0, 0.02, shape).astype(np.float32)

    ones = np.ones(WIDTH, np.float32)
    made = {"model.embed_tokens.weight": drawn(words, WIDTH), "lm_head.weight": drawn(words, WIDTH)}
    made["model.norm.weight"] = ones
    for number in range(LAYERS):
        layer = f"model.layers.{number}"
        made |= {f"{layer}.self_attn.{name}_proj.weight": drawn(WIDTH, WIDTH) for name in "qkvo"}
        made |= {f"{layer}.mlp.{name}_proj.weight": drawn(HIDDEN, WIDTH) for name in ("gate", "up")}
        made[f"{layer}.mlp.down_proj.weight"] = drawn(WIDTH, HIDDEN)
        made |= {f"{layer}.{name}_layernorm.weight": ones for name in ("input", "post_attention")}
    return made


def random_model(seed: int) -> tuple[Tokenizer, dict[str, np.ndarray]]:
    """A tokenizer learned from the first prompt of a game, and weights for its vocabulary."""
    learned = tokenizer(SeatGame(years=1).reset().text)
    return learned, weights(learned.get_vocab_size(), np.random.default_rng(seed))


def write_gguf(path: Path, seed: int) -> None:
    """Write a random model as GGUF, llama.cpp's format."""
    import gguf  # only here: a model of one's own does not need it

    learned, tensors = random_model(seed)
    serialized = json.loads(learned.to_str())
    words = [word for word, _ in sorted(learned.get_vocab().items(), key=lambda each: each[1])]
    kinds = [gguf.TokenType.CONTROL if word in (BEGIN, END) else gguf.TokenType.NORMAL for word in words]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(words)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in serialized["model"]["merges"]])
    writer.add_bos_token_id(words.index(BEGIN))
    writer.add_eos_token_id(words.index(END))
    writer.add_chat_template(TEMPLATE)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    for name, values in tensors.items():
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextmanager
def served(model: Path, port: int = 0) -> Iterator[str]:
    """Run a server of the model; yields its URL, ending in "/v1".

    Raises:
        ConfigError: the server does not start; the error has the end of its output.
    """
    port = port or free_port()
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model), "--port", str(port)]
    command += ["--n_ctx", str(CONTEXT), "--verbose", "false", "--model_alias", "local"]
    with tempfile.TemporaryFile() as output, subprocess.Popen(command, stdout=output, stderr=output) as server:  # noqa: S603 (our own command)
        try:
            url = f"http://127.0.0.1:{port}/v1"
            if not _answers(url, server):
                output.seek(0)
                raise ConfigError(f"the server does not start: {output.read().decode(errors='replace')[-800:]}")
            yield url
        finally:
            server.terminate()


def free_port() -> int:
    """An unused local port."""
    with socket.socket() as connection:
        connection.bind(("127.0.0.1", 0))
        return int(connection.getsockname()[1])


def _answers(url: str, server: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + LONGEST_START
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5):  # noqa: S310 (http)
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    return False


def profile(url: str, others: tuple[str, ...] = OTHERS) -> str:
    """The model in one seat, scripted players in the six others."""
    options = f"base_url={url},grammar=llama.cpp,schema=all,max_tokens=4000,seed=0,retries=1,timeout=600"
    return " + ".join([f"1*(lm:openai/local,{options})", *(f"1*{other}" for other in others)])


def play(url: str, years: int, rounds: int, seed: int) -> evaluation.SelfPlayResult:
    """A full-press game; the model plays the first power."""
    rules = Rules(years=years, message_rounds=rounds)
    return evaluation.self_play(profile(url), games=1, seed=seed, rules=rules, seats="fixed", simultaneous=True)


def main(
    model: Annotated[Path | None, typer.Option(help="GGUF file with a chat template; default: a random model.")] = None,
    years: Annotated[int, typer.Option(min=1, help="Length of the game.")] = 1,
    message_rounds: Annotated[int, typer.Option(min=1, help="Message rounds per phase.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the weights and of the game.")] = 0,
    serve: Annotated[int, typer.Option(help="Only serve the model, on this port.")] = 0,
) -> None:
    """Make a model, serve it, play, and print a summary."""
    with tempfile.TemporaryDirectory() as folder:
        path = model or Path(folder) / "random.gguf"
        if model is None:
            write_gguf(path, seed)
        with served(path, serve) as url:
            if serve:
                print(f"serving at {url}; Ctrl-C ends it")
                Event().wait()
            print(json.dumps(summary(play(url, years, message_rounds, seed)), indent=2))


def summary(result: evaluation.SelfPlayResult) -> dict[str, Any]:
    """What the model did in the game."""
    (record,) = result.records
    ((power, (ledger,)),) = record["welfare_env"]["language_models"].items()
    names = ("calls", "failed", "with_schema", "obeyed", "input_tokens", "output_tokens", "answered_by", "losses")
    orders = {phase["name"]: phase["orders"].get(power) for phase in record["phases"]}
    sent = [message for phase in record["phases"] for message in phase["messages"] if message["sender"] == power]
    spoken = {"orders": orders, "messages": len(sent)}
    return {"power": power} | {name: ledger[name] for name in names} | record["welfare_env"]["replies"][power] | spoken


if __name__ == "__main__":
    typer.run(main)
