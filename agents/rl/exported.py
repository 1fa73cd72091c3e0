"""Players that `training.export` wrote, from any trainer's network: ``agents.make("rl:FOLDER")``.

A folder has ``weights.safetensors`` and ``checkpoint.json``: the network's architecture and size, and what it observes:
the environment, its form, the version of its encoding, and the map or the setting. Nothing in it is executed.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError

from agents.policy import Described, ScriptedPolicy, generator, is_modal
from agents.rl import ABOUT, WEIGHTS, checkpoint
from agents.rl.checkpoint import LARGEST_ABOUT, CheckpointError, vocabulary
from agents.rl.network import one_thread
from agents.rl.plain_networks import PlainNetwork, architecture, made
from agents.runtime.files import no_folder, parse_json, read_file, reason, shown
from modal_env.envs.rounds import Contest
from welfare_env.board.orders import WAIVE
from welfare_env.engine import ADJUSTMENTS
from welfare_env.envs.observation import ENCODING, observe
from welfare_env.envs.parallel import legal_arrays, legal_shape, slot_rows
from welfare_env.errors import ActionError
from welfare_env.game.position import WINTER_TURN
from welfare_env.game.press import MEDIATOR

if TYPE_CHECKING:
    import modal_env
    from welfare_env.board.board import Board
    from welfare_env.game.view import View
    from welfare_env.rules import Rules

PLAYER = 1  # version of the folder's format
GAMES = ("welfare_env", "modal_env")


@dataclass(frozen=True)
class Exported:
    """A network, and what it observes.

    Attributes:
        game: "welfare_env" or "modal_env". form: "aec" or "parallel".
        setting: of the games that it fits: map, vocabulary and variant, or what programs there are.
        origin: how it was made; for people.
        digest: of the weights' file; "" before it is saved.
    """

    network: PlainNetwork
    game: str
    form: str
    setting: Mapping[str, Any]
    origin: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def check(self, setting: Mapping[str, Any]) -> None:
        """Check that the network fits a game.

        Raises:
            CheckpointError: another map, variant or setting.
        """
        odd = [name for name, value in setting.items() if name != "map" and self.setting.get(name) != value]
        if odd:
            known, given = ({name: each.get(name) for name in odd} for each in (self.setting, setting))
            raise CheckpointError(f"trained with {known!r:.200}: it cannot play with {given!r:.200}")

    def choose(self, seen: Mapping[str, np.ndarray], rng: np.random.Generator | None) -> np.ndarray:
        """The choices int64 [slots] for an observation; sampled by `rng`, or the most probable ones without."""
        with one_thread(), torch.no_grad():
            given = {name: torch.from_numpy(np.ascontiguousarray(array))[None] for name, array in seen.items()}
            scores = self.network(given)[0].double().numpy()
        rows = scores.reshape(-1, seen["action_mask"].shape[-1])
        return (rows if rng is None else rows + rng.gumbel(size=rows.shape)).argmax(axis=1)


def board_setting(board: Board, rules: Rules) -> dict[str, Any]:
    """What a network of the board game has to fit."""
    return {"map": board.name, "vocabulary": vocabulary(board), "variant": rules.variant}


def modal_setting(setting: modal_env.Setting) -> dict[str, Any]:
    """What a network of modal combat has to fit."""
    programs = {name: [[each.name, each.text] for each in getattr(setting, name)] for name in ("agents", "calls")}
    numbers = {name: getattr(setting, name) for name in ("actions", "me", "rounds", "players", "budget")}
    return {**numbers, **programs}


def check_game(folder: str, board: Board, rules: Rules) -> None:
    """Check that the network in a folder, exported or a checkpoint of ours, can play on `board` with `rules`.

    Raises:
        CheckpointError: it cannot be read, or cannot play there.
    """
    if about_of(folder) is None:
        checkpoint.load(folder).rules_of_play(board, rules)
    else:
        load(folder).check(board_setting(board, rules))


class ExportedPolicy(ScriptedPolicy):
    """Plays an exported network in the board game, in every environment of its map; it sends no messages.

    Args:
        path: the folder.
        greedy: whether it takes its most probable orders; otherwise it samples them, as in training.
    """

    def __init__(self, path: str, greedy: bool | None = None) -> None:
        self.path, self.greedy = path, bool(greedy)
        self._exported = load(path)

    def orders(self, view: View) -> list[str]:
        """All orders of the power for this phase."""
        if view.power == MEDIATOR:
            return []
        self._exported.check(board_setting(view.board, view.rules))
        numbers = self._one_by_one(view) if self._exported.form == "aec" else self._at_once(view)
        return [view.board.orders.texts[number] for number in numbers]

    def _choose(self, view: View, seen: dict[str, np.ndarray]) -> np.ndarray:
        seen["observations"] = seen["observation"].ravel()
        return self._exported.choose(seen, None if self.greedy else self.rng)

    def _one_by_one(self, view: View) -> list[int]:
        """As in `welfare_env.make`: a decision per unit, which sees the earlier ones."""
        board, position, power = view.board, view.position, view.board.power_index[view.power]
        given: list[int] = []
        turns = deque(position.turns(power))
        while turns:
            slot = turns.popleft()
            is_winter = slot == WINTER_TURN
            mask = np.zeros(len(board.orders), np.int8)
            mask[position.turn_orders(power, slot, given if is_winter else ())] = 1
            asked = -1 if is_winter else position.slot_province(slot)
            seen = observe(board, view.state, view.rules.years, power, asked, False, given)
            (number,) = self._choose(view, {"observation": seen, "action_mask": mask}).tolist()
            if number == WAIVE:
                continue
            given.append(number)
            if is_winter and len(position.winter_orders(power, given)):
                turns.append(WINTER_TURN)
        return given

    def _at_once(self, view: View) -> list[int]:
        """As in `welfare_env.parallel_env`: a choice per slot; of Winter's those that are legal together."""
        board, position, power = view.board, view.position, view.board.power_index[view.power]
        rows = slot_rows(position, power)
        legal, mask = legal_arrays(rows, legal_shape(board, view.rules))
        seen = {"observation": observe(board, view.state, view.rules.years, power), "legal": legal, "action_mask": mask}
        choices = self._choose(view, seen).tolist()
        chosen = [row[choice] for row, choice in zip(rows, choices, strict=False) if row[choice] != WAIVE]
        if view.phase_type != ADJUSTMENTS:
            return chosen
        kept: list[int] = []
        for number in chosen:
            if int(board.orders.kind[number]) in position.open_kinds(power, kept):
                kept.append(number)
        return kept


class ExportedModalPolicy(Described):
    """Plays an exported network in modal combat. Arguments as of `ExportedPolicy`."""

    rng: np.random.Generator | None = None

    def __init__(self, path: str, greedy: bool | None = None) -> None:
        self.path, self.greedy = path, bool(greedy)
        self._exported = load(path)

    def reset(self, agent: str, seed: int = 0) -> None:
        """Prepares for a new game."""
        self.rng = generator(agent, seed)

    def act(self, observation: Mapping[str, np.ndarray], info: Mapping[str, Any]) -> int:
        """The next choice.

        Raises:
            ActionError: before `reset`, or not in modal_env.
            CheckpointError: another setting than in training.
        """
        if not is_modal(info) or not isinstance(observation, Mapping):
            raise ActionError(f"{type(self).__name__}.act(observation, info): it plays modal combat")
        if self.rng is None:
            raise ActionError(f"{type(self).__name__}.act before reset: call reset(agent, seed) before each game")
        setting = info["setting"]
        self._exported.check(modal_setting(setting))
        seen = dict(observation)
        if "observations" not in seen:
            seen["observations"] = Contest(setting).flattened(seen["observation"])
        elif "observation" in getattr(self._exported.network.shape, "seen", ()):
            raise CheckpointError("trained without flat=True: it cannot play with flat=True")
        return int(self._exported.choose(seen, None if self.greedy else self.rng)[0])


# The folder.


def save(folder: str | os.PathLike[str], exported: Exported) -> None:
    """Write a player. Writes of each file are atomic; the JSON comes last.

    Raises:
        CheckpointError: it cannot be written. Existing files are unchanged.
    """
    about = {
        "player": PLAYER,
        "game": exported.game,
        "form": exported.form,
        "encoding": ENCODING,
        "setting": dict(exported.setting),
        "architecture": architecture(exported.network),
        "size": exported.network.shape.to_dict(),
    }
    weights = {name: value.detach().cpu().contiguous() for name, value in exported.network.state_dict().items()}
    checkpoint.write(
        Path(folder),
        "player",
        lambda path: safetensors.torch.save_file(weights, path),
        lambda digest: {**about, "weights": digest, "origin": dict(exported.origin)},
    )


def about_of(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What the JSON of a folder says if `save` wrote it; None for anything else, such as our own checkpoints."""
    path = Path(folder)
    try:
        if no_folder(path):
            return None
        about = parse_json(read_file(path / ABOUT, LARGEST_ABOUT))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and "player" in about else None


def load(folder: str | os.PathLike[str]) -> Exported:
    """Read a player.

    Raises:
        CheckpointError: missing, damaged, of a later format, or of another version of the encoding.
    """
    path, about = Path(folder), about_of(folder)
    if about is None:
        raise CheckpointError(f"{shown(path)}: no exported player")
    for name, known in (("player", PLAYER), ("encoding", ENCODING)):
        if about.get(name) != known:
            raise CheckpointError(f"{path / ABOUT}: {name} {about.get(name)!r:.40}; this version reads {name} {known}")
    try:
        content = read_file(path / WEIGHTS)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path / WEIGHTS}: {reason(error)}") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != about.get("weights"):
        raise CheckpointError(f"{path / WEIGHTS}: not the file that {ABOUT} describes: it is damaged or was replaced")
    return _read(str(path), digest, json.dumps(about))


@functools.lru_cache(maxsize=8)
def _read(path: str, digest: str, text: str) -> Exported:
    """A player from its files; shared by all seats that it plays."""
    about = parse_json(text)
    try:
        weights = safetensors.torch.load(read_file(Path(path) / WEIGHTS))
        if not all(weight.dtype == torch.float32 and weight.isfinite().all() for weight in weights.values()):
            raise ValueError("weights that are not finite float32")
        network = made(about["architecture"], about["size"], weights)
        setting, game, form = about["setting"], about["game"], about["form"]
        if game not in GAMES or form not in ("aec", "parallel") or not isinstance(setting, dict):
            raise ValueError(f"game {game!r:.40}, form {form!r:.40}")
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: damaged: {type(error).__name__}: {error!s:.200}") from error
    return Exported(network, game, form, setting, about.get("origin", {}), digest)
