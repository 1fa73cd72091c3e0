"""One seat of Welfare Diplomacy for GRPO, with TRL: the model's reward is the welfare that its orders bring.

    python -m venv trl && . trl/bin/activate
    pip install torch==2.13.0                      # first, so that nothing else chooses a version
    pip install -c constraints.txt -e . && pip install "trl==1.16.0" "transformers>=5.13"
    python examples/trl_grpo.py --tiny             # a tiny random model; half a minute
    python examples/trl_grpo.py --model Qwen/Qwen3-0.6B --years 3 --steps 200

A game is one conversation. The model's only tool is ``reply``: it takes the reply to the last prompt and returns what
has happened since. Rewards are the welfare points of the seat (``--reward welfare``), or its gain over a baseline
policy in the same seat (``--reward gain``). If the model stops early, the game is played to its end without orders.
"""

from __future__ import annotations

import functools
import json
from typing import Annotated, Any

import torch
import typer
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

from agents import SeatGame

TOOL = "The turn is played, and the next one told, when you call the tool `reply`.\n\n"


class WelfareSeat:
    """An environment for `GRPOTrainer`: `reset` begins a game, `get_reward` ends it, other public methods are tools.

    Args:
        options: of `agents.SeatGame`.
    """

    def __init__(self, **options: Any) -> None:
        self._game = SeatGame(**options)
        self._points = 0.0
        self._is_done = True

    def reset(self, seed: int = 0, **row: Any) -> str:
        """The first text of a game, which TRL appends to the user's message."""
        turn = self._game.reset(seed)
        self._points, self._is_done = turn.reward, turn.is_done
        return TOOL + turn.text

    def reply(self, reply: str) -> str:
        """Gives your reply to this turn of the game.

        Args:
            reply: the JSON object of your reply, as text.

        Returns:
            What has happened since, and what is asked now.
        """
        if self._is_done:
            return "The game is over.\n"
        turn = self._game.step(reply)
        self._points, self._is_done = self._points + turn.reward, turn.is_done
        return turn.text

    def get_reward(self) -> float:
        """The points of the whole game."""
        while not self._is_done:
            self.reply("")
        return self._points


def main(
    model: Annotated[str, typer.Option(help="A model with a chat template for tools, such as Qwen/Qwen3-0.6B.")] = "",
    tiny: Annotated[bool, typer.Option("--tiny", help="Use a tiny random model, to test the setup.")] = False,
    seat: Annotated[str, typer.Option(help="The power that learns.")] = "FRANCE",
    others: Annotated[str, typer.Option(help="Who plays the other seats.")] = "dove",
    reward: Annotated[str, typer.Option(help="welfare or gain.")] = "welfare",
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or a toy board.")] = "standard",
    years: Annotated[int, typer.Option(help="Length of a game.")] = 1,
    message_rounds: Annotated[int, typer.Option(help="Message rounds per phase; 0: no press.")] = 0,
    steps: Annotated[int, typer.Option(help="Steps of training.")] = 1,
    generations: Annotated[int, typer.Option(help="Games per seed that are compared.")] = 8,
    seed: Annotated[int, typer.Option(help="Seed of the network and of the games.")] = 0,
) -> None:
    """Train, and print the rewards."""
    if bool(model) == tiny:
        raise typer.BadParameter("give either --model or --tiny")
    options = {"seat": seat, "others": others, "reward": reward, "map_name": map_name}
    options |= {"years": years, "message_rounds": message_rounds}
    trainer = trainer_of(model, options, steps, generations, seed)
    trainer.train()
    for log in trainer.state.log_history:
        if "reward" in log:
            print(f"step {log['step']}: reward {log['reward']:.2f}, standard deviation {log['reward_std']:.2f}")


def trainer_of(model: str, options: dict[str, Any], steps: int, generations: int, seed: int = 0) -> GRPOTrainer:
    """A trainer whose rollouts are games; without a model's name it trains the tiny random one."""
    if model:
        network, tokenizer, sampling = (
            AutoModelForCausalLM.from_pretrained(model),
            AutoTokenizer.from_pretrained(model),
            {},
        )
    else:
        network, tokenizer, sampling = tiny_model(SeatGame(**options), seed)
    rows = [{"prompt": [{"role": "user", "content": ""}], "seed": seed + number} for number in range(steps)]
    config = GRPOConfig(
        output_dir="runs/trl",
        max_steps=steps,
        per_device_train_batch_size=generations,
        num_generations=generations,
        max_completion_length=20_000,  # of the whole conversation
        max_tool_calling_iterations=100,
        temperature=1.0,
        generation_kwargs=sampling,
        learning_rate=1e-3 if not model else 1e-6,
        use_cpu=not torch.cuda.is_available(),
        bf16=torch.cuda.is_available(),
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        seed=seed,
    )  # fmt: skip
    factory = functools.partial(WelfareSeat, **options)
    return GRPOTrainer(
        network, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer,
        environment_factory=factory,
    )  # fmt: skip


# The tiny model: a network with random weights, whose vocabulary contains whole replies as single tokens.


def tiny_model(game: SeatGame, seed: int) -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast, dict[str, Any]]:
    """A network, its tokenizer, and sampling options that allow two replies: disarm in Winter, or hold."""
    calls = [_call({"orders": orders}) for orders in (_disbands(game), [])]
    tokenizer = _tokenizer([game.reset().text], calls)
    said = tokenizer.convert_tokens_to_ids([*calls, "<|im_end|>"])
    sampling = {"suppress_tokens": sorted(set(range(len(tokenizer))) - set(said))}
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=32_768, eos_token_id=said[-1],
        pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    return Qwen3ForCausalLM(config), tokenizer, sampling


def _disbands(game: SeatGame) -> list[str]:
    """The orders that disband all of the seat's units in the first Winter."""
    turn = game.reset()
    while not turn.is_done and game.view.phase_type != "A":
        turn = game.step("")
    return [order for of_unit in game.view.legal_orders.values() for order in of_unit if order.endswith(" D")]


def _call(reply: dict[str, Any]) -> str:
    call = {"name": "reply", "arguments": {"reply": json.dumps(reply)}}
    return f"<tool_call>\n{json.dumps(call)}\n</tool_call>"


def _tokenizer(texts: list[str], words: list[str]) -> PreTrainedTokenizerFast:
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer, learned.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learned.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=1000, initial_alphabet=alphabet))
    learned.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    learned.add_tokens(words)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=learned, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.chat_template = qwen3_chat_template
    return tokenizer


if __name__ == "__main__":
    typer.run(main)
