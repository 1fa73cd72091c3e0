"""Players that `training.export` wrote, from another trainer's network: ``agents.make("rl:FOLDER")``.

Their folders (`agents.rl.checkpoint`) also say what the network observes: the environment, its form, the version of its
encoding, and the map or the setting.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from agents.policy import Described, ScriptedPolicy, generator, is_modal
from agents.rl import checkpoint
from agents.rl.checkpoint import CheckpointError, vocabulary
from agents.rl.network import one_thread
from agents.rl.plain_networks import PlainNetwork, architecture, made
from agents.rl.player import LearnedPolicy
from modal_env.envs.rounds import Contest
from welfare_env.board.orders import WAIVE
from welfare_env.checks import quoted
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

GAMES = ("welfare_env", "modal_env")


@dataclass(frozen=True)
class Exported:
    """A network, and what it observes.

    Attributes:
        game: "welfare_env" or "modal_env". form: "aec" or "parallel".
        setting: of the games that it fits: map, vocabulary and variant, or what programs there are.
        origin: how it was made; for people.
    """

    network: PlainNetwork
    game: str
    form: str
    setting: Mapping[str, Any]
    origin: Mapping[str, Any] = field(default_factory=dict)

    def check(self, setting: Mapping[str, Any]) -> None:
        """Check that the network fits a game.

        Raises:
            CheckpointError: another map, variant or setting.
        """
        odd = [name for name, value in setting.items() if name != "map" and self.setting.get(name) != value]
        if odd:
            told = ["map" if name == "vocabulary" else name for name in odd]
            known, given = (
                ", ".join(f"{name} {quoted(each[name])}" for name in told if name in each)
                for each in (self.setting, setting)
            )
            known = known or f"a game of {self.game}"
            raise CheckpointError(f"trained with {known:.200}: it cannot play with {given:.200}")

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
    if checkpoint.read_about(folder).get("architecture") in checkpoint.NETWORKS:
        checkpoint.load(folder).rules_of_play(board, rules)
    else:
        load(folder).check(board_setting(board, rules))


def player_of(path: str, greedy: bool | None) -> Any:
    """The policy that plays the network in a folder.

    Raises:
        CheckpointError: it cannot be read.
    """
    about = checkpoint.read_about(path)
    if about.get("architecture") in checkpoint.NETWORKS:
        return LearnedPolicy(path, greedy)
    return (ExportedModalPolicy if about.get("game") == "modal_env" else ExportedPolicy)(path, greedy)


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
            seen = observe(board, view.state, view.rules.years, power, asked, 0.0, given)
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
    """Write a player, as `agents.rl.checkpoint.write`."""
    about = {
        "architecture": architecture(exported.network),
        "size": exported.network.shape.to_dict(),
        "game": exported.game,
        "form": exported.form,
        "encoding": ENCODING,
        "setting": dict(exported.setting),
        "origin": dict(exported.origin),
    }
    weights = {name: value.detach().cpu().numpy() for name, value in exported.network.state_dict().items()}
    checkpoint.write(Path(folder), about, weights)


def load(folder: str | os.PathLike[str]) -> Exported:
    """Read a player.

    Raises:
        CheckpointError: missing, damaged, of another format, or of another version of the encoding.
    """
    about, weights = checkpoint.read(folder)
    with checkpoint.damaged_in(folder):
        if about["encoding"] != ENCODING:
            raise CheckpointError(f"{folder}: encoding {about['encoding']!r:.40}; this version reads {ENCODING}")
        setting, game, form = about["setting"], about["game"], about["form"]
        if game not in GAMES or form not in ("aec", "parallel") or not isinstance(setting, dict):
            raise ValueError(f"game {game!r:.40}, form {form!r:.40}")
        tensors = {name: torch.from_numpy(value) for name, value in weights.items()}
        network = made(about["architecture"], about["size"], tensors)
        return Exported(network, game, form, setting, about.get("origin", {}))
