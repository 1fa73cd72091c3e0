"""The state from which a training resumes, ``state.safetensors``; writes are atomic.

It holds the networks' weights, Adam's moments, and as metadata the iteration, the identity (the settings that must be
unchanged for the training to resume) and the git revision.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from agents.rl.checkpoint import git_revision
from agents.runtime.files import irregular, parse_json, reason, shown
from training.errors import TrainingError
from training.run_folder import OTHERWISE, STATE, difference, replaced

NETWORK, ADAM, OTHERS, ALSO = "network/", "adam/", "others/", "also/"
Trained = tuple[nn.Module, torch.optim.Optimizer]


def save(
    folder: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    iteration: int,
    identity: str,
    others: Mapping[str, Tensor] | None = None,
    also: Mapping[str, Trained] | None = None,
) -> None:
    """Write the state after an iteration.

    Args:
        identity: the settings that must be unchanged for the training to resume, as JSON.
        others: other tensors to save, by name.
        also: additional networks with their optimizers, by name.

    Raises:
        TrainingError: the state cannot be written. The previous state is unchanged.
    """
    tensors = _tensors(network, optimizer)
    for whose, trained in (also or {}).items():
        tensors |= {f"{ALSO}{whose}/{name}": tensor for name, tensor in _tensors(*trained).items()}
    tensors |= {OTHERS + name: tensor for name, tensor in (others or {}).items()}
    about = {"iteration": str(iteration), "options": identity, "git": git_revision()}
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    about["digest"] = _digest(about, tensors)
    with replaced(folder / STATE) as draft:
        try:
            save_file(tensors, draft, metadata=about)
        except SafetensorError as error:
            raise OSError(str(error)) from error


def _tensors(network: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Weights and Adam's moments by name."""
    tensors = {NETWORK + name: tensor for name, tensor in network.state_dict().items()}
    for number, memory in optimizer.state_dict()["state"].items():
        tensors |= {f"{ADAM}{number}/{name}": tensor for name, tensor in memory.items()}
    return tensors


def _digest(about: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of the saved content."""
    digest = hashlib.sha256(json.dumps(sorted(about.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.detach().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def load(
    folder: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    identity: str,
    most: int,
    also: Mapping[str, Trained] | None = None,
) -> tuple[int, dict[str, Tensor]]:
    """Restore networks and optimizers from the state, if there is one. Makes the folder if necessary.

    Args:
        identity, also: as for `save`.
        most: the training's total number of iterations.

    Returns:
        The number of iterations so far, 0 without a state; and the other saved tensors.

    Raises:
        TrainingError: the state has another identity or more than `most` iterations, or is damaged. Networks and
            optimizers are then unchanged.
    """
    path = folder / STATE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists() and not path.is_symlink():
            return 0, {}
    except (OSError, ValueError) as error:
        raise TrainingError(f"{shown(folder)}: this folder cannot be made: {reason(error)}") from error
    about, tensors = _read(path)
    done = int(about["iteration"])
    if about["options"] != identity and (other := _difference(about["options"], identity)):
        raise TrainingError(f"{folder} holds another training: {other}. {OTHERWISE}")
    if done > most:
        raise TrainingError(
            f"{folder} holds a training of {done} iterations: give at least {done}, or another folder (--out)"
        )
    parts = [(network, optimizer, tensors)]
    parts += [(*trained, _part(tensors, f"{ALSO}{whose}/")) for whose, trained in (also or {}).items()]
    if not all(_fits(each, _part(mine, NETWORK), _memories(each, mine)) for each, _, mine in parts):
        raise TrainingError(f"{path} is damaged: it does not fit the network: give another folder (--out)")
    for each, its_optimizer, mine in parts:
        each.load_state_dict(_part(mine, NETWORK))
        its_optimizer.load_state_dict({**its_optimizer.state_dict(), "state": _memories(each, mine)})
    return done, _part(tensors, OTHERS)


def _memories(network: nn.Module, tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    """Adam's moments by parameter; empty before the first step."""
    memories = {number: _part(tensors, f"{ADAM}{number}/") for number, _ in enumerate(network.parameters())}
    return {number: memory for number, memory in memories.items() if memory}


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The metadata and the tensors saved by `save`.

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
            f"{path} is damaged, or not the state of a training ({reason(error)}): give another folder (--out)"
        ) from error
    return about, tensors


def _fits(network: nn.Module, weights: Mapping[str, Tensor], memories: Mapping[int, Mapping[str, Tensor]]) -> bool:
    """Whether weights and Adam's moments have the shapes of a network."""
    shapes = [parameter.shape for parameter in network.parameters()]
    remembers = all(
        set(memory) == {"step", "exp_avg", "exp_avg_sq"}
        and memory["exp_avg"].shape == memory["exp_avg_sq"].shape == shapes[number]
        for number, memory in memories.items()
    )
    mine = {name: tensor.shape for name, tensor in network.state_dict().items()}
    return remembers and mine == {name: tensor.shape for name, tensor in weights.items()}


def _difference(there: str, given: str) -> str:
    """The options that differ; "" if none differ."""
    new = json.loads(given)
    try:
        old = dict(parse_json(there))
    except (ValueError, TypeError):
        return "its options cannot be read"
    names = sorted(name for name in old | new if old.get(name) != new.get(name))
    return ", ".join(difference(name, old.get(name), new.get(name)) for name in names)


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
