"""The state from which a training resumes, ``state.safetensors``: networks, Adam's moments, and other tensors.

Its metadata are the iteration, the identity (the settings that must be unchanged for the training to resume) and a
digest of it all. Nothing in it is executed, unlike RLlib's checkpoints, which are pickles. Writes are atomic.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from agents.runtime.files import irregular, parse_json, reason, shown
from training.errors import TrainingError
from training.run_folder import STATE, replaced

Trained = Mapping[str, tuple[nn.Module, torch.optim.Optimizer]]  # networks with their optimizers, by name
Tensors = dict[str, Tensor]


def save(
    folder: Path, trained: Trained, iteration: int, identity: Mapping[str, Any], others: Mapping[str, Tensor] = {}
) -> None:
    """Write the state after an iteration.

    Args:
        others: other tensors to save, by name.

    Raises:
        TrainingError: the state cannot be written. The previous state is unchanged.
    """
    tensors = {f"others/{name}": tensor for name, tensor in others.items()}
    for whose, (network, optimizer) in trained.items():
        tensors |= {f"network/{whose}/{name}": tensor for name, tensor in network.state_dict().items()}
        for number, memory in optimizer.state_dict()["state"].items():
            tensors |= {f"adam/{whose}/{number}/{name}": tensor for name, tensor in memory.items()}
    tensors = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }
    about = {"iteration": str(iteration), "identity": json.dumps(identity, sort_keys=True)}
    about["digest"] = _digest(about, tensors)
    with replaced(folder / STATE) as draft:
        try:
            save_file(tensors, draft, metadata=about)
        except SafetensorError as error:
            raise OSError(str(error)) from error


def _digest(about: Mapping[str, str], tensors: Tensors) -> str:
    digest = hashlib.sha256(json.dumps(sorted(about.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def load(folder: Path, trained: Trained, identity: Mapping[str, Any], most: int) -> tuple[int, Tensors] | None:
    """Restore networks and optimizers from the state; None without one. Makes the folder if necessary.

    Args:
        most: the training's total number of iterations.

    Returns:
        The number of iterations so far, and the other saved tensors.

    Raises:
        TrainingError: the state has another identity or more than `most` iterations, or is damaged. Networks and
            optimizers are then unchanged.
    """
    path = folder / STATE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists() and not path.is_symlink():
            return None
    except (OSError, ValueError) as error:
        raise TrainingError(f"{shown(folder)}: this folder cannot be made: {reason(error)}") from error
    try:
        done, there, tensors = _read(path)
    except (OSError, SafetensorError, LookupError, ValueError, TypeError) as error:
        raise TrainingError(
            f"{path} is damaged, or not the state of a training ({reason(error)}): give another folder (--out)"
        ) from error
    check_same(folder, there, json.loads(json.dumps(identity)))
    if done > most:
        raise TrainingError(
            f"{folder} holds a training of {done} iterations: give at least {done}, or another folder (--out)"
        )
    for whose, (network, optimizer) in trained.items():
        memories: dict[int, Tensors] = {}
        for name, tensor in part(tensors, f"adam/{whose}/").items():
            number, _, moment = name.partition("/")
            memories.setdefault(int(number), {})[moment] = tensor
        network.load_state_dict(part(tensors, f"network/{whose}/"))
        optimizer.load_state_dict({**optimizer.state_dict(), "state": memories})
    return done, part(tensors, "others/")


def check_same(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Check that the training of a folder is this one.

    Raises:
        TrainingError: it is another one; the message names the differences.
    """
    names = sorted(name for name in {**there, **here} if there.get(name) != here.get(name))
    if names:
        other = ", ".join(f"it has {name}={there.get(name)!r:.80}, this one {here.get(name)!r:.80}" for name in names)
        raise TrainingError(
            f"{folder} holds another training: {other}. Give the same options (those left out have their defaults), "
            "or another folder (--out)"
        )


def _read(path: Path) -> tuple[int, dict[str, Any], Tensors]:
    """Iteration, identity and tensors; raises many errors for a damaged file."""
    if wrong := irregular(path):
        raise OSError(f"it {wrong}")
    with safe_open(path, framework="pt") as file:
        about = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
    if about.pop("digest") != _digest(about, tensors):
        raise ValueError("it does not match its checksum")
    return int(about["iteration"]), dict(parse_json(about["identity"])), tensors


def part(tensors: Mapping[str, Tensor], prefix: str) -> Tensors:
    """The tensors whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
