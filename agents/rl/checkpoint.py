"""Checkpoints of networks: a folder with ``weights.safetensors`` and ``checkpoint.json``.

The JSON describes the games that the weights fit: the map and the digest of its order vocabulary, the rules, the size
of the network, the version of the message vocabulary if it sends messages, whether it plays its most probable orders or
samples, and the origin of the checkpoint (command, seed, git revision).
Nothing in a checkpoint is executed when it is read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from agents.rl import ABOUT, WEIGHTS, folder_of, trained_names
from agents.rl.earlier_network import EarlierNetwork
from agents.rl.network import BoardNetwork, Size
from agents.rl.token_press import word_rounds
from agents.runtime.files import no_folder, parse_json, read_file, reason, shown
from welfare_env.board.board import Board
from welfare_env.board.loading import load_board
from welfare_env.errors import WelfareEnvError, did_you_mean
from welfare_env.game.press import VOCABULARY_VERSION
from welfare_env.rules import Rules

FORMAT = 2
NETWORKS: dict[int, type[BoardNetwork]] = {1: EarlierNetwork, FORMAT: BoardNetwork}  # by format
LARGEST_ABOUT = 1 << 20  # bytes
TALK = "talk."  # prefix of the weights for messages


class CheckpointError(WelfareEnvError, ValueError):
    """A checkpoint cannot be read or does not fit; the message says why."""


@dataclass(frozen=True)
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
        format: which network the weights belong to: see `NETWORKS`.
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
    format: int = FORMAT

    def network(self) -> BoardNetwork:
        """The network, for its own map."""
        return self.network_for(load_board(self.map_name), self.rules)

    def network_for(self, board: Board, rules: Rules) -> BoardNetwork:
        """The network, for games on `board` with `rules`.

        Raises:
            CheckpointError: the checkpoint was trained on another map, for another variant or other words, or the
                weights do not fit.
        """
        self.check(board, rules)
        network = NETWORKS[self.format](board, self.size, word_rounds(self.rules))
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
            CheckpointError: as `network_for`; or the network has another size, or the checkpoint an earlier format.
        """
        self.check(board, rules)
        if self.format != FORMAT:
            raise CheckpointError(
                f"its network has format {self.format}, which can still play but not be trained: "
                f"train one of format {FORMAT} from the beginning, or imitate this one (--imitate rl:PATH)"
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
        if self.rules.has_tokens and rules.has_tokens:
            self._check_words(rules)

    def _check_words(self, rules: Rules) -> None:
        """Checks that its message vocabulary and message rounds are those of a game with tokens."""
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


def save(folder: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint. Writes of each file are atomic; the JSON comes last.

    Raises:
        CheckpointError: the checkpoint cannot be written. Existing files are unchanged.
    """
    weights = {name: np.ascontiguousarray(value) for name, value in checkpoint.weights.items()}
    write(
        Path(folder),
        "checkpoint",
        lambda path: safetensors.save_file(weights, path),
        lambda digest: _about(checkpoint, digest),
    )


def write(
    path: Path, what: str, save_weights: Callable[[Path], None], about: Callable[[str], Mapping[str, Any]]
) -> None:
    """Write the two files of a network's folder, each atomically; the JSON comes last.

    Args:
        what: the folder's name in errors.
        save_weights: writes the weights to a path.
        about: what the JSON says, given the SHA-256 of the weights' file.

    Raises:
        CheckpointError: a file cannot be written. Existing files are unchanged.
    """
    drafts = {name: path / f"{name}.{os.getpid()}" for name in (WEIGHTS, ABOUT)}
    try:
        path.mkdir(parents=True, exist_ok=True)
        save_weights(drafts[WEIGHTS])
        said = about(hashlib.sha256(drafts[WEIGHTS].read_bytes()).hexdigest())
        drafts[ABOUT].write_text(json.dumps(said, indent=2) + "\n")
        for name, draft in drafts.items():
            os.replace(draft, path / name)
    except (OSError, ValueError, SafetensorError) as error:
        raise CheckpointError(f"{shown(path)}: the {what} cannot be written: {reason(error)}") from error
    finally:
        for draft in drafts.values():
            with contextlib.suppress(OSError, ValueError):
                draft.unlink()


def _about(checkpoint: Checkpoint, digest: str) -> dict[str, Any]:
    return {
        "format": checkpoint.format,
        "map": checkpoint.map_name,
        "vocabulary": checkpoint.vocabulary,
        "rules": checkpoint.rules.to_dict(),
        "size": checkpoint.size.to_dict(),
        "weights": digest,
        "greedy": checkpoint.greedy,
        "origin": dict(checkpoint.origin),
        **({"words": checkpoint.words} if checkpoint.rules.has_tokens else {}),
    }


def load(folder: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint, given its folder or the name of a checkpoint of the package.

    Raises:
        CheckpointError: the checkpoint is missing, damaged, far too large, or of a later format.
    """
    if not isinstance(folder, str | os.PathLike):
        raise CheckpointError(f"checkpoint {folder!r:.80}: give the path of its folder")
    name = os.fspath(folder)
    path = folder_of(name)
    if wrong := no_folder(path):
        raise CheckpointError(f"{shown(path)}: no checkpoint: it {wrong}")
    if missing := [file for file in (ABOUT, WEIGHTS) if not os.path.exists(path / file)]:
        raise CheckpointError(f"{shown(path)}: no checkpoint{_hint(path, name)}: {' and '.join(missing)} missing")
    try:
        about = parse_json(read_file(path / ABOUT, LARGEST_ABOUT))
        content = read_file(path / WEIGHTS)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{shown(path)}: not a checkpoint ({ABOUT} and {WEIGHTS}): {_cause(error)}") from error
    number = about.get("format") if isinstance(about, dict) else None
    if type(number) is not int or number not in NETWORKS:
        raise CheckpointError(f"{path / ABOUT}: format {number!r:.80}")
    if hashlib.sha256(content).hexdigest() != about.get("weights"):
        raise CheckpointError(f"{path / WEIGHTS}: not the file that {ABOUT} describes: it is damaged or was replaced")
    try:
        return _checkpoint(about, safetensors.load(content))
    except (KeyError, TypeError, ValueError, AttributeError, SafetensorError) as error:
        raise CheckpointError(f"{path}: damaged: {type(error).__name__}: {error!s:.200}") from error


def _hint(path: Path, name: str) -> str:
    """A suggestion for a path that is not a checkpoint."""
    if os.path.exists(path / "checkpoint" / ABOUT):
        return f", but the folder of a training; give {path / 'checkpoint'}"
    return did_you_mean(name, trained_names())


def _cause(error: Exception) -> str:
    named = getattr(error, "filename", None)
    return f"{reason(error)} ({Path(named).name:.80})" if named else str(error)


def _checkpoint(about: dict[str, Any], weights: dict[str, np.ndarray]) -> Checkpoint:
    """A checkpoint from its two files.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the files are not as `save` writes them.
    """
    rules, size = Rules.from_dict(about["rules"]), Size(**about["size"])
    words = about["words"] if rules.has_tokens else VOCABULARY_VERSION
    if not all(type(number) is int and number > 0 for number in (size.width, size.layers)) or type(words) is not int:
        raise ValueError(f"{size}, words={words!r:.80}: give whole numbers from 1")
    texts = about["map"], about["vocabulary"]
    if not all(isinstance(text, str) for text in texts) or not isinstance(about.get("origin", {}), dict):
        raise TypeError("map and vocabulary are texts, origin is an object")
    for name, values in weights.items():
        if values.dtype != np.float32 or not np.isfinite(values).all():
            raise ValueError(f"{name!r:.80} holds values that are not finite float32")
    if sum(values.size for values in weights.values()) < size.layers * size.width**2:  # before allocating as much
        raise ValueError(f"the weights do not fit a network of {size}")
    return Checkpoint(
        weights=weights,
        size=size,
        map_name=texts[0],
        rules=rules,
        vocabulary=texts[1],
        origin=about.get("origin", {}),
        digest=about["weights"],
        words=words,
        greedy=_is_greedy(about),
        format=int(about["format"]),
    )


def _is_greedy(about: Mapping[str, Any]) -> bool:
    """Checkpoints of earlier versions lack the field: they sample, as they did then."""
    greedy = about.get("greedy", False)
    if not isinstance(greedy, bool):
        raise TypeError(f"greedy={greedy!r:.80}: give true or false")
    return greedy


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
