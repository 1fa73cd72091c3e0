"""Checkpoints of networks: a folder with ``weights.safetensors`` and ``checkpoint.json``.

The JSON says what the weights fit: the map and the digest of its order vocabulary, the rules, the size of the network,
the version of the message vocabulary where they speak it, whether they play their most probable orders or draw, and how
they came about (command, seed, git revision).
Nothing in a checkpoint is executed when it is read.
"""

from __future__ import annotations

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
from safetensors.numpy import load_file, save_file

from agents.rl import ABOUT, WEIGHTS, folder_of, trained_names
from agents.rl.network import BoardNetwork, Size
from agents.rl.words import word_rounds
from welfare_env.board import Board
from welfare_env.errors import WelfareEnvError, did_you_mean
from welfare_env.mapfile import load_board
from welfare_env.press import VOCABULARY_VERSION
from welfare_env.rules import Rules

FORMAT = 1
LARGEST = {WEIGHTS: 1 << 30, ABOUT: 1 << 20}  # bytes
TALK = "talk."  # what hears and speaks, by name


class CheckpointError(WelfareEnvError, ValueError):
    """A checkpoint that cannot be read, or does not fit; the message says why."""


@dataclass(frozen=True)
class Checkpoint:
    """A network's weights and what they fit.

    Attributes:
        weights: name -> float32 array.
        map_name, rules: the games it was trained on.
        vocabulary: digest of the map's order vocabulary and provinces.
        origin: how it came about; for people.
        digest: SHA-256 of the weights' file; "" before there is one.
        words: version of the message vocabulary; of no account where the rules have no tokens.
        greedy: whether it plays its most probable orders and words where nobody says how; else it draws them.
    """

    weights: Mapping[str, np.ndarray]
    size: Size
    map_name: str
    rules: Rules
    vocabulary: str
    origin: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    words: int = VOCABULARY_VERSION
    greedy: bool = False

    def network(self) -> BoardNetwork:
        """The network, for its own map."""
        return self.network_for(load_board(self.map_name), self.rules)

    def network_for(self, board: Board, rules: Rules) -> BoardNetwork:
        """The network, for games on `board` with `rules`.

        Raises:
            CheckpointError: it was trained on another map, for another variant or other words, or the weights do not
                fit.
        """
        self.check(board, rules)
        network = BoardNetwork(board, self.size, word_rounds(self.rules))
        self._load(network, "")
        return network.eval()

    def warm_start(self, network: BoardNetwork, board: Board, rules: Rules) -> None:
        """Give a network for games on `board` with `rules` these weights, to learn on.

        Only one of the two may be for games with tokens: what hears and speaks is then left as it is.

        Raises:
            CheckpointError: as `network_for`; or another size of network.
        """
        self.check(board, rules)
        self._load(network, TALK if (network.talk is None) != (word_rounds(self.rules) == 0) else "")

    def _load(self, network: BoardNetwork, without: str) -> None:
        """Load the weights but those whose names begin with `without`."""
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
        """Whether it can play on `board` with `rules`.

        Raises:
            CheckpointError: it cannot.
        """
        if vocabulary(board) != self.vocabulary:
            raise CheckpointError(f"trained on the map {self.map_name!r}: it cannot play on {board.name!r}")
        if rules.variant != self.rules.variant:
            raise CheckpointError(
                f"trained in the {self.rules.variant} variant: it cannot play the {rules.variant} one"
            )
        if self.rules.has_tokens and rules.has_tokens:
            self._check_words(rules)

    def _check_words(self, rules: Rules) -> None:
        """Whether it speaks as a game with tokens does. Where there are no tokens, or it has none, it is silent."""
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


def vocabulary(board: Board) -> str:
    """Digest of what a network's inputs mean on a board: provinces, powers and orders. Hexadecimal, 16 digits."""
    digest = hashlib.sha256()
    for name in (*board.provinces, *board.powers, *board.orders.texts):
        digest.update(name.encode() + b"\n")
    return digest.hexdigest()[:16]


def save(folder: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint; each file appears whole or not at all, the JSON last."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    draft = path / f"{WEIGHTS}.{os.getpid()}"
    save_file({name: np.ascontiguousarray(value) for name, value in checkpoint.weights.items()}, draft)
    about = {
        "format": FORMAT,
        "map": checkpoint.map_name,
        "vocabulary": checkpoint.vocabulary,
        "rules": checkpoint.rules.to_dict(),
        "size": checkpoint.size.to_dict(),
        "weights": hashlib.sha256(draft.read_bytes()).hexdigest(),
        "greedy": checkpoint.greedy,
        "origin": dict(checkpoint.origin),
        **({"words": checkpoint.words} if checkpoint.rules.has_tokens else {}),
    }
    os.replace(draft, path / WEIGHTS)
    text = path / f"{ABOUT}.{os.getpid()}"
    text.write_text(json.dumps(about, indent=2) + "\n")
    os.replace(text, path / ABOUT)


def load(folder: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint: a folder, or the name of one that comes with the package.

    Raises:
        CheckpointError: there is none, it is damaged, far too large, or of a later format.
    """
    name = os.fspath(folder)
    path = folder_of(name)
    if missing := [file for file in LARGEST if not os.path.isfile(path / file)]:
        hint = did_you_mean(name, trained_names())
        raise CheckpointError(f"{name:.200}: no checkpoint{hint}: {' and '.join(missing)} missing in this folder")
    try:
        about = json.loads(_content(path / ABOUT))
        content = _content(path / WEIGHTS)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: no checkpoint ({ABOUT} and {WEIGHTS}): {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise CheckpointError(f"{path / ABOUT}: format {about.get('format') if isinstance(about, dict) else None!r}")
    if hashlib.sha256(content).hexdigest() != about.get("weights"):
        raise CheckpointError(f"{path / WEIGHTS}: not the file that {ABOUT} speaks of: it is damaged or was exchanged")
    try:
        rules = Rules.from_dict(about["rules"])
        weights = load_file(path / WEIGHTS)
        if odd := sorted(key for key, value in weights.items() if value.dtype != np.float32):
            raise TypeError(f"{odd[0]} is no float32")
        return Checkpoint(
            weights=weights,
            size=Size(**about["size"]),
            map_name=about["map"],
            rules=rules,
            vocabulary=about["vocabulary"],
            origin=about.get("origin", {}),
            digest=about["weights"],
            words=about["words"] if rules.has_tokens else VOCABULARY_VERSION,
            greedy=_is_greedy(about),
        )
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise CheckpointError(f"{path}: damaged: {type(error).__name__}: {error}") from error


def _is_greedy(about: Mapping[str, Any]) -> bool:
    """Checkpoints of earlier versions do not say it: they draw, as they did then."""
    greedy = about.get("greedy", False)
    if not isinstance(greedy, bool):
        raise TypeError(f"greedy={greedy!r:.80}: give true or false")
    return greedy


def _content(path: Path) -> bytes:
    """All of a file.

    Raises:
        OSError: it cannot be read. ValueError: it is larger than any checkpoint.
    """
    if path.stat().st_size > LARGEST[path.name]:
        raise ValueError(f"{path.name} has more than {LARGEST[path.name]} bytes")
    return path.read_bytes()


def git_revision() -> str:
    """The revision of this code, or "unknown" (an installed package)."""
    try:
        told = subprocess.run(  # noqa: S603  a fixed command
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"],  # noqa: S607  git as the user has it
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return told.stdout.strip() or "unknown"
