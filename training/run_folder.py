"""What a training keeps in its folder, so that it can be stopped at any time and go on.

``state.safetensors``: the network's weights, what Adam remembers, and as metadata the iteration, the options and the
git revision; one file, which appears whole or not at all. ``log.jsonl``: what was logged, a line an iteration.
``tensorboard/``: the log for TensorBoard. In modal_env ``policy.json``: the mix of programs that was learnt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from agents.files import irregular, parse_json, read_file, reason, shown
from agents.rl.checkpoint import git_revision
from training.errors import TrainingError
from welfare_env.writing import replaced

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
    """Write the state after an iteration; `others` are tensors to keep with it, by name.

    Raises:
        TrainingError: it cannot be written. What was saved before is still there.
    """
    tensors = {NETWORK + name: tensor for name, tensor in network.state_dict().items()}
    for number, memory in optimiser.state_dict()["state"].items():
        tensors |= {f"{ADAM}{number}/{name}": tensor for name, tensor in memory.items()}
    tensors |= {OTHERS + name: tensor for name, tensor in (others or {}).items()}
    about = {"iteration": str(iteration), "options": options, "git": git_revision()}
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    about["digest"] = _digest(about, tensors)
    with _replaced(folder / STATE) as draft:
        save_file(tensors, draft, metadata=about)


def _digest(about: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of what `save` keeps."""
    digest = hashlib.sha256(json.dumps(sorted(about.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.detach().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """A draft, which takes the place of a file once it is written.

    Raises:
        TrainingError: it cannot be written.
    """
    try:
        with replaced(path) as draft:
            yield draft
    except (OSError, SafetensorError) as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: Exception) -> TrainingError:
    return TrainingError(
        f"{shown(path)} cannot be written ({reason(error)}): see to the disk, or give another folder; the training "
        "goes on from what is saved"
    )


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
    path = folder / STATE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists() and not path.is_symlink():
            return 0, {}
    except (OSError, ValueError) as error:
        raise TrainingError(f"{shown(folder)}: no folder can be made there: {reason(error)}") from error
    about, tensors = _read(path)
    done, there = int(about["iteration"]), about["options"]
    if there != options:
        raise TrainingError(f"{folder} holds another training, with {_other(there, options)}: give another folder")
    if done > most:
        raise TrainingError(f"{folder} holds a training of {done} iterations: give as many, or another folder")
    memories = {number: _part(tensors, f"{ADAM}{number}/") for number, _ in enumerate(network.parameters())}
    remembered = {number: memory for number, memory in memories.items() if memory}  # none before the first step
    if not _fits(network, _part(tensors, NETWORK), remembered):
        raise TrainingError(f"{path}: damaged: it does not fit the network; take another folder")
    network.load_state_dict(_part(tensors, NETWORK))
    optimiser.load_state_dict({**optimiser.state_dict(), "state": remembered})
    return done, _part(tensors, OTHERS)


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """What `save` has kept: about it, and the tensors.

    Raises:
        TrainingError: the file is damaged.
    """
    try:
        if wrong := irregular(path):
            raise OSError(f"it {wrong}")
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
        digest = about.pop("digest")
        if digest != _digest(about, tensors) or not (about["iteration"].isdecimal() and "options" in about):
            raise ValueError("it does not match its checksum")
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise TrainingError(
            f"{path}: damaged, or no state of a training ({reason(error)}); take another folder"
        ) from error
    return about, tensors


def _fits(network: nn.Module, weights: Mapping[str, Tensor], memories: Mapping[int, Mapping[str, Tensor]]) -> bool:
    """Whether weights are those of a network, and memories those of Adam for it."""
    shapes = [parameter.shape for parameter in network.parameters()]
    remembers = all(
        set(memory) == {"step", "exp_avg", "exp_avg_sq"}
        and memory["exp_avg"].shape == memory["exp_avg_sq"].shape == shapes[number]
        for number, memory in memories.items()
    )
    mine = {name: tensor.shape for name, tensor in network.state_dict().items()}
    return remembers and mine == {name: tensor.shape for name, tensor in weights.items()}


def _other(there: str, given: str) -> str:
    """Which options differ."""
    new = json.loads(given)
    try:
        old = dict(parse_json(there))
    except (ValueError, TypeError):
        return "options that cannot be read"
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
        lines = read_file(path).decode().splitlines(keepends=True)[:done] if done else []
        found = [parse_json(line) for line in lines]
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path}: cannot be read ({reason(error)}); take another folder") from error
    told = [line.get("iteration") if isinstance(line, dict) else None for line in found]
    if told != list(range(1, done + 1)):
        raise TrainingError(f"{path}: not the iterations 1 to {done}; take another folder")
    with _replaced(path) as draft:
        draft.write_text("".join(lines))
    return found


@contextmanager
def logging_to(folder: Path, done: int) -> Iterator[Callable[[Logged], None]]:
    """What writes an iteration's line to the log, and its numbers to TensorBoard.

    Raises:
        TrainingError: they cannot be written.
    """
    from tensorboardX import SummaryWriter

    path = folder / LOG
    try:
        board, file = SummaryWriter(str(folder / BOARD), purge_step=done + 1), path.open("a")
    except OSError as error:
        raise _unwritable(folder, error) from error
    with board, file:

        def log(line: Logged) -> None:
            try:
                file.write(json.dumps(line) + "\n")
                file.flush()
            except OSError as error:
                raise _unwritable(path, error) from error
            for name, value in line.items():
                if isinstance(value, float):
                    board.add_scalar(name, value, line["iteration"])

        yield log


def write_policy(folder: Path, policy: Mapping[str, Any]) -> None:
    """Write down what was learnt, for people and for `agents.make`.

    Raises:
        TrainingError: it cannot be written.
    """
    with _replaced(folder / POLICY) as draft:
        draft.write_text(json.dumps(policy, indent=2) + "\n")
