"""The state from which a training resumes, ``state.safetensors``: networks, Adam's moments, and other tensors.

Its metadata are the iteration, the identity (the settings that must be unchanged for the training to resume) and a
digest of it all. Nothing in it is executed, unlike RLlib's checkpoints, which are pickles. Writes are atomic.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from agents.runtime.files import irregular, parse_json, reason, shown
from training.errors import TrainingError
from training.run_folder import STATE, replaced, without_left

Trained = Mapping[str, tuple[nn.Module, torch.optim.Optimizer]]  # networks with their optimizers, by name
Tensors = dict[str, Tensor]
Tree = Mapping[str, Any]  # of names and tensors or arrays; in the file "league/0/weight" names a path


def save(
    folder: Path, trained: Trained, iteration: int, identity: Mapping[str, Any], others: Mapping[str, Any] = {}
) -> None:
    """Write the state after an iteration.

    Args:
        others: other tensors to save, as a tree.

    Raises:
        TrainingError: the state cannot be written. The previous state is unchanged.
    """
    networks = {whose: network.state_dict() for whose, (network, _) in trained.items()}
    moments = {whose: optimizer.state_dict()["state"] for whose, (_, optimizer) in trained.items()}
    tensors = {
        name: torch.as_tensor(value).detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, value in _flat({"others": others, "network": networks, "adam": moments})
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


def load(folder: Path, trained: Trained, identity: Mapping[str, Any], most: int) -> tuple[int, Tree] | None:
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
    tree = _nested(tensors)
    for whose, (network, optimizer) in trained.items():
        network.load_state_dict(tree["network"][whose])
        moments = tree.get("adam", {}).get(whose, {})
        given = {int(number): memory for number, memory in moments.items()}
        optimizer.load_state_dict({**optimizer.state_dict(), "state": given})
    return done, tree.get("others", {})


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
    return int(about["iteration"]), without_left(dict(parse_json(about["identity"]))), tensors


def _flat(tree: Mapping[Any, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a tree, with their paths."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{name}/")
        else:
            yield f"{path}{name}", value


def _nested(tensors: Tensors) -> Tree:
    """The inverse of `_flat`."""
    tree: dict[str, Any] = {}
    for path, tensor in tensors.items():
        *names, last = path.split("/")
        within = tree
        for name in names:
            within = within.setdefault(name, {})
        within[last] = tensor
    return tree


def check_finite(networks: Iterable[nn.Module], iteration: int, rate: float) -> None:
    """Check weights after an iteration with a step size.

    Raises:
        TrainingError: they are no longer finite.
    """
    if not all(bool(weights.isfinite().all()) for network in networks for weights in network.parameters()):
        raise TrainingError(
            f"iteration {iteration}: the weights are no longer finite numbers: give a smaller lr than {rate:g}"
        )
