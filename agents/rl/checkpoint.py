"""Networks in folders: ``weights.safetensors`` and ``checkpoint.json``.

The JSON says the network's architecture and size, the games that it fits, whether it plays its most probable orders or
samples, and the origin (command, seed, git revision). `Checkpoint` is a network of `training`; `agents.rl.exported` has
those of other trainers. Nothing in a folder is executed when it is read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from agents.rl import ABOUT, WEIGHTS, folder_of, trained_names
from agents.rl.network import BoardNetwork, ByPowerNetwork, Size
from agents.rl.token_press import word_rounds
from agents.runtime.files import no_folder, parse_json, read_file, reason, shown
from welfare_env.board.board import Board
from welfare_env.errors import WelfareEnvError, did_you_mean
from welfare_env.game.press import VOCABULARY_VERSION
from welfare_env.rules import Rules
from welfare_env.writing import replaced

FORMAT = 3
NETWORKS: dict[str, type[BoardNetwork]] = {"board": BoardNetwork, "board-by-power": ByPowerNetwork}  # by architecture
LARGEST_ABOUT = 1 << 20  # bytes
TALK = "talk."  # prefix of the weights for messages
Weights = Mapping[str, np.ndarray]


class CheckpointError(WelfareEnvError, ValueError):
    """A checkpoint cannot be read or does not fit; the message says why."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A network's weights, and the games that they fit.

    Attributes:
        weights: name -> float32 array.
        map_name, rules: the games it was trained on.
        vocabulary: digest of the map's order vocabulary and provinces.
        origin: how it was made; for people.
        digest: SHA-256 of the weights' file; "" if there is none yet.
        words: version of the message vocabulary; irrelevant if the rules have no tokens.
        greedy: default way to play: the most probable orders and words if true, else sampled ones.
        architecture: see `NETWORKS`.
    """

    weights: Weights
    size: Size
    map_name: str
    rules: Rules
    vocabulary: str
    origin: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    words: int = VOCABULARY_VERSION
    greedy: bool = False
    architecture: str = "board"

    def network_for(self, board: Board, rules: Rules) -> BoardNetwork:
        """The network, for games on `board` with `rules`.

        Raises:
            CheckpointError: the checkpoint was trained on another map, for another variant or other words, or the
                weights do not fit.
        """
        self.check(board, rules)
        network = NETWORKS[self.architecture](board, self.size, word_rounds(self.rules))
        self._load(network, "")
        return network.eval()

    def rules_of_play(self, board: Board, rules: Rules) -> Rules:
        """The rules as which it plays games on `board` with `rules`: the same, if it was trained on their variant.

        A network trained on standard games plays welfare games as if they were standard, as the paper's attackers do:
        it sees no welfare points, builds as many units as it may, and disbands only if the standard rules require it.

        Raises:
            CheckpointError: as `check`.
        """
        if rules.is_welfare and not self.rules.is_welfare:
            rules = Rules("standard", rules.years, rules.press, rules.message_rounds, mediator=rules.mediator)
        self.check(board, rules)
        return rules

    def warm_start(self, network: BoardNetwork, board: Board, rules: Rules) -> None:
        """Loads these weights into a network for games on `board` with `rules`, to continue training.

        If only one of the two is for games with tokens, the network's weights for messages are unchanged.

        Raises:
            CheckpointError: as `network_for`; or the network has another architecture or size.
        """
        self.check(board, rules)
        if self.architecture != "board":
            raise CheckpointError(
                f"its network, {self.architecture}, can play but not be trained: train one from the beginning, or "
                "imitate this one (--imitate rl:PATH)"
            )
        self._load(network, TALK if (network.talk is None) != (word_rounds(self.rules) == 0) else "")

    def _load(self, network: BoardNetwork, without: str) -> None:
        """Load the weights, except those whose names begin with `without`."""
        now, given = network.state_dict(), dict(self.weights)
        if without:
            given = {name: value for name, value in given.items() if not name.startswith(without)}
            given |= {name: value.numpy() for name, value in now.items() if name.startswith(without)}
        shapes = {name: tuple(value.shape) for name, value in given.items()}
        wanted = {name: tuple(value.shape) for name, value in now.items()}
        if wanted != shapes:
            odd = sorted(name for name in wanted | shapes if wanted.get(name) != shapes.get(name))
            raise CheckpointError(f"weights do not fit a network of {network.size}: {', '.join(odd[:4])}")
        network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in given.items()})

    def check(self, board: Board, rules: Rules) -> None:
        """Checks that the network can play on `board` with `rules`.

        Raises:
            CheckpointError: it cannot play there; the message says why.
        """
        if vocabulary(board) != self.vocabulary:
            raise CheckpointError(f"trained on the map {self.map_name!r}: it cannot play on {board.name!r}")
        if rules.variant != self.rules.variant:
            raise CheckpointError(
                f"trained in the {self.rules.variant} variant: it cannot play the {rules.variant} one"
            )
        if not (self.rules.has_tokens and rules.has_tokens):
            return
        if self.words != VOCABULARY_VERSION:
            raise CheckpointError(
                f"speaks version {self.words} of the message vocabulary, this is version {VOCABULARY_VERSION}: "
                "it can play without press"
            )
        if rules.message_rounds != self.rules.message_rounds:
            raise CheckpointError(
                f"trained with message_rounds={self.rules.message_rounds}: it cannot play games with tokens and "
                f"message_rounds={rules.message_rounds}"
            )


@functools.lru_cache(maxsize=32)
def vocabulary(board: Board) -> str:
    """Digest of the meaning of a network's inputs on a board: provinces, powers and orders. 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for name in (*board.provinces, *board.powers, *board.orders.texts):
        digest.update(name.encode() + b"\n")
    return digest.hexdigest()[:16]


def of_network(network: BoardNetwork, board: Board, rules: Rules, greedy: bool, **origin: Any) -> Checkpoint:
    """The checkpoint of a network; `origin` also gets this code's git revision."""
    weights = {name: value.detach().cpu().numpy().copy() for name, value in network.state_dict().items()}
    origin = {**origin, "git": git_revision()}
    return Checkpoint(weights, network.size, board.name, rules, vocabulary(board), origin, greedy=greedy)


def save(folder: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint, as `write`."""
    about = {
        "architecture": checkpoint.architecture,
        "size": checkpoint.size.to_dict(),
        "map": checkpoint.map_name,
        "vocabulary": checkpoint.vocabulary,
        "rules": checkpoint.rules.to_dict(),
        "greedy": checkpoint.greedy,
        "origin": dict(checkpoint.origin),
        **({"words": checkpoint.words} if checkpoint.rules.has_tokens else {}),
    }
    write(Path(folder), about, checkpoint.weights)


def write(folder: Path, about: Mapping[str, Any], weights: Weights) -> None:
    """Write a network's folder. Writes of each file are atomic; the JSON comes last.

    Raises:
        CheckpointError: a file cannot be written. Existing files are unchanged.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        content = safetensors.save({name: np.ascontiguousarray(value) for name, value in weights.items()})
        said = {"format": FORMAT, **about, "weights": hashlib.sha256(content).hexdigest()}
        with replaced(folder / ABOUT) as text, replaced(folder / WEIGHTS) as binary:
            binary.write_bytes(content)
            text.write_text(json.dumps(said, indent=2) + "\n")
    except (OSError, ValueError, SafetensorError) as error:
        raise CheckpointError(f"{shown(folder)}: the network cannot be written: {reason(error)}") from error


def load(folder: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint, given its folder or the name of a checkpoint of the package.

    Raises:
        CheckpointError: as `read`, or the folder of another trainer's network.
    """
    about, weights = read(folder)
    with damaged_in(folder):
        if (kind := about["architecture"]) not in NETWORKS:
            raise CheckpointError(f"{folder}: a network of another trainer ({kind!r:.40}): it can play, no more")
        rules, size = Rules.from_dict(about["rules"]), Size(**about["size"])
        words = about["words"] if rules.has_tokens else VOCABULARY_VERSION
        texts, origin = (about["map"], about["vocabulary"]), about.get("origin", {})
        if type(words) is not int or not isinstance(greedy := about["greedy"], bool):
            raise TypeError(f"words={words!r:.40}, greedy={about['greedy']!r:.40}: give a whole number, true or false")
        if not all(isinstance(text, str) for text in texts) or not isinstance(origin, dict):
            raise TypeError("map and vocabulary are texts, origin is an object")
        if sum(values.size for values in weights.values()) < size.layers * size.width**2:  # before allocating as much
            raise ValueError(f"the weights do not fit a network of {size}")
        return Checkpoint(weights, size, texts[0], rules, texts[1], origin, about["weights"], words, greedy, kind)


def read_about(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a network's folder says, given the folder or the name of a checkpoint of the package.

    Raises:
        CheckpointError: the folder is missing or incomplete, its JSON damaged or far too large, or of another format.
    """
    if not isinstance(folder, str | os.PathLike):
        raise CheckpointError(f"checkpoint {folder!r:.80}: give the path of its folder")
    path = folder_of(os.fspath(folder))
    if wrong := no_folder(path):
        raise CheckpointError(f"{shown(path)}: no checkpoint: it {wrong}")
    if missing := [file for file in (ABOUT, WEIGHTS) if not os.path.exists(path / file)]:
        raise CheckpointError(
            f"{shown(path)}: no checkpoint{_hint(path, os.fspath(folder))}: {' and '.join(missing)} missing"
        )
    try:
        about = parse_json(read_file(path / ABOUT, LARGEST_ABOUT))
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    number = about.get("format") if isinstance(about, dict) else None
    if type(number) is not int or number != FORMAT:
        raise CheckpointError(f"{path / ABOUT}: format {number!r:.80}; this version reads format {FORMAT}")
    return about


def read(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], Weights]:
    """What a network's folder says, and its weights.

    Raises:
        CheckpointError: as `read_about`; or the weights are damaged or far too large.
    """
    about = read_about(folder)
    path = folder_of(os.fspath(folder))
    try:
        content = read_file(path / WEIGHTS)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if hashlib.sha256(content).hexdigest() != about.get("weights"):
        raise CheckpointError(f"{path / WEIGHTS}: not the file that {ABOUT} describes: it is damaged or was replaced")
    with damaged_in(path):
        weights = safetensors.load(content)
        for name, values in weights.items():
            if values.dtype != np.float32 or not np.isfinite(values).all():
                raise ValueError(f"{name!r:.80} holds values that are not finite float32")
    return about, weights


@contextlib.contextmanager
def damaged_in(folder: str | os.PathLike[str]) -> Any:
    """Turns the errors of an unexpected content into CheckpointError."""
    try:
        yield
    except CheckpointError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, SafetensorError) as error:
        raise CheckpointError(f"{folder}: damaged: {type(error).__name__}: {error!s:.200}") from error


def _hint(path: Path, name: str) -> str:
    """A suggestion for a path that is not a checkpoint."""
    if os.path.exists(path / "checkpoint" / ABOUT):
        return f", but the folder of a training; give {path / 'checkpoint'}"
    return did_you_mean(name, trained_names())


def _unreadable(path: Path, error: Exception) -> CheckpointError:
    named = getattr(error, "filename", None)
    cause = f"{reason(error)} ({Path(named).name:.80})" if named else str(error)
    return CheckpointError(f"{shown(path)}: not a checkpoint ({ABOUT} and {WEIGHTS}): {cause}")


def git_revision() -> str:
    """The revision of this code, or "unknown" (an installed package)."""
    try:
        result = subprocess.run(  # noqa: S603  a fixed command
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"],  # noqa: S607  the user's git
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return result.stdout.strip() or "unknown"
