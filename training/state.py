"""What a training keeps in its folder, so that it can be stopped at any time and go on.

``state.safetensors``: the network's weights, what Adam remembers, and as metadata the iteration, the options and the
git revision; one file, which appears whole or not at all. ``log.jsonl``: what was logged, a line an iteration.
``tensorboard/``: the log for TensorBoard. In modal_env ``policy.json``: the mix of programs that was learnt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from agents.rl.checkpoint import git_revision
from training.errors import TrainingError

STATE, LOG, POLICY, BOARD = "state.safetensors", "log.jsonl", "policy.json", "tensorboard"
NETWORK, ADAM, OTHERS = "network/", "adam/", "others/"
Logged = Mapping[str, Any]


def save(
    folder: Path,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    iteration: int,
    options: str,
    others: Mapping[str, Tensor] | None = None,
) -> None:
    """Write the state after an iteration; `others` are tensors to keep with it, by name."""
    tensors = {NETWORK + name: tensor for name, tensor in network.state_dict().items()}
    for number, memory in optimiser.state_dict()["state"].items():
        tensors |= {f"{ADAM}{number}/{name}": tensor for name, tensor in memory.items()}
    tensors |= {OTHERS + name: tensor for name, tensor in (others or {}).items()}
    about = {"iteration": str(iteration), "options": options, "git": git_revision()}
    draft = folder / f"{STATE}.{os.getpid()}"
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, draft, metadata=about)
    os.replace(draft, folder / STATE)


def load(
    folder: Path, network: nn.Module, optimiser: torch.optim.Optimizer, options: str, most: int
) -> tuple[int, dict[str, Tensor]]:
    """Read the state, if there is one: network and optimiser are as they were then. Makes the folder, if there is none.

    Returns:
        How many iterations it has seen, 0 where nothing is kept yet; and the other tensors that were saved.

    Raises:
        TrainingError: it was made with other options, has seen more than `most` iterations, or is damaged. Nothing has
            changed then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / STATE
    if not path.exists():
        return 0, {}
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
        done, there = int(about["iteration"]), about["options"]
    except (SafetensorError, KeyError, ValueError) as error:
        raise TrainingError(f"{path}: damaged, or no state of a training ({error}); take another folder") from error
    if there != options:
        raise TrainingError(f"{folder} holds another training, with {_other(there, options)}: give another folder")
    if done > most:
        raise TrainingError(f"{folder} holds a training of {done} iterations: give as many, or another folder")
    memories = {number: _part(tensors, f"{ADAM}{number}/") for number, _ in enumerate(network.parameters())}
    network.load_state_dict(_part(tensors, NETWORK))
    remembered = {number: memory for number, memory in memories.items() if memory}  # none before the first step
    optimiser.load_state_dict({**optimiser.state_dict(), "state": remembered})
    return done, _part(tensors, OTHERS)


def _other(there: str, given: str) -> str:
    """Which options differ."""
    old, new = json.loads(there), json.loads(given)
    names = sorted(name for name in old | new if old.get(name) != new.get(name))
    return ", ".join(f"{name}={old.get(name)!r} where {new.get(name)!r} is given" for name in names)


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def read_log(folder: Path, done: int) -> list[dict[str, Any]]:
    """What was logged up to an iteration; the file is cut back to it.

    Raises:
        TrainingError: lines are missing or damaged.
    """
    path = folder / LOG
    try:
        lines = path.read_text().splitlines(keepends=True)[:done] if done else []
        found = [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path}: cannot be read ({error}); take another folder") from error
    if [line.get("iteration") for line in found] != list(range(1, done + 1)):
        raise TrainingError(f"{path}: not the iterations 1 to {done}; take another folder")
    draft = folder / f"{LOG}.{os.getpid()}"
    draft.write_text("".join(lines))
    os.replace(draft, path)
    return found


@contextmanager
def logging_to(folder: Path, done: int) -> Iterator[Callable[[Logged], None]]:
    """What writes an iteration's line to the log, and its numbers to TensorBoard."""
    from tensorboardX import SummaryWriter

    with SummaryWriter(str(folder / BOARD), purge_step=done + 1) as board, (folder / LOG).open("a") as file:

        def log(line: Logged) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()
            for name, value in line.items():
                if isinstance(value, float):
                    board.add_scalar(name, value, line["iteration"])

        yield log


def write_policy(folder: Path, policy: Mapping[str, Any]) -> None:
    """Write down what was learnt, for people and for `agents.make`."""
    draft = folder / f"{POLICY}.{os.getpid()}"
    draft.write_text(json.dumps(policy, indent=2) + "\n")
    os.replace(draft, folder / POLICY)
