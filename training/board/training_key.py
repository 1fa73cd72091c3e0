"""The settings that must be unchanged for a training to resume."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from agents.rl import checkpoint
from agents.rl.checkpoint import CheckpointError
from agents.specs import read_profile
from training.board.config import TrainConfig
from training.board.runner import Play
from training.board.seats import LEAGUE, LEARNER
from training.errors import TrainingError
from training.run_folder import read_config, saved_start
from welfare_env.errors import UnknownAgentError

LEARNING = ("horizon", "lr", "entropy", "clip", "gamma", "lambda_", "epochs", "minibatch", "league_every",
            "league_size", "sees", "workers", "held_out_every", "held_out_games")  # fmt: skip


def identity(play: Play, config: TrainConfig) -> str:
    """Everything that an iteration depends on, as JSON. Checkpoints are identified by content, not path.

    The `start` checkpoint is not needed to resume: if it cannot be read, but its path is that of the training in the
    folder, the content recorded there is used.

    Raises:
        CheckpointError: a checkpoint cannot be read.
    """
    lineup = play.lineup
    values = {
        "map": play.map_name,
        "rules": play.rules.to_dict(),
        "size": play.size.to_dict(),
        "network": checkpoint.FORMAT,
        "coalitions": lineup.coalitions,
        "opponents": {
            by_content(text, lineup.also): share for text, share in zip(lineup.opponents, lineup.shares, strict=True)
        },
        "order": [by_content(text, lineup.also) for text in lineup.opponents],  # games draw opponents by number
        "reward": str(play.reward),
        "also": [[name, str(reward)] for name, reward in lineup.also.items()],
        "games": play.num_games,
        "seed": play.seed,
        "start": _start(config),
        "imitate": [by_content(config.imitate), config.imitate_games] if config.imitate else None,
        "curriculum": config.stages[:-1],
        **{name: getattr(config, name) for name in LEARNING},
    }
    return json.dumps(_without_idle(values), sort_keys=True)


def _without_idle(values: dict[str, Any]) -> dict[str, Any]:
    """Remove options that have no effect."""
    idle = set() if LEAGUE in values["opponents"] else {"league_every", "league_size"}
    idle |= set() if values.get("held_out_every") else {"held_out_games"}
    idle |= {"sees"} if values.get("sees") == "all" else set()
    idle |= set() if values["also"] else {"also"}
    idle |= set() if len(values["order"]) > 1 else {"order"}
    return {name: value for name, value in values.items() if name not in idle}


def _start(config: TrainConfig) -> str | None:
    if config.start is None:
        return None
    try:
        return content(config.start)
    except CheckpointError:
        start = saved_start(config.folder)
        if start is None or str(config.start) != _remembered(config.folder):
            raise
        return start


def _remembered(folder: Path) -> str | None:
    """The `start` path in the config of the training in a folder; None if there is none."""
    try:
        start = read_config(folder)[1].get("start")
    except TrainingError:
        return None
    return None if start is None else str(start)


def by_content(text: str, also: Collection[str] = ()) -> str:
    """A policy or a profile with each checkpoint's path replaced by `content`.

    Args:
        also: names of additional networks that learn.

    Raises:
        CheckpointError: a checkpoint cannot be read.
    """
    if text == LEAGUE:
        return text
    try:
        policies = read_profile(text, (LEARNER, *also)).policies
    except UnknownAgentError:  # reported by the runner
        return text
    for folder in {folder for policy in policies for folder in policy.checkpoints}:
        text = text.replace(folder, content(folder))
    return text


def content(folder: str | Path) -> str:
    """A short id of a checkpoint's content: the digest of its weights, and whether it is greedy or samples.

    Raises:
        CheckpointError: it cannot be read.
    """
    given = checkpoint.load(folder)
    return f"weights-{given.digest[:16]}-{'greedy' if given.greedy else 'sampled'}"
