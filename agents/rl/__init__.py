"""Learned players: their inputs, the network, checkpoints, and the policy that plays a checkpoint.

- `inputs`: states as input arrays (numba; no torch). `token_press`: messages in games with tokens.
- `network`: the network itself, plain torch; works on every map.
- `checkpoint`: a network's folder: weights as safetensors, and a JSON file that describes the games they fit.
- `player`: `agents.make("rl:PATH")`. `exported`: the same for networks of other trainers (`training.export`);
  `legal_orders`, `plain_networks`: those networks.
- `trained/`: the checkpoints that come with the package, by name.

Training (`training`) wraps the same network for RLlib; playing needs torch and safetensors, but not Ray.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

TRAINED = Path(__file__).parent / "trained"
WEIGHTS, ABOUT = "weights.safetensors", "checkpoint.json"  # the files of a checkpoint


_HOMES = {
    **dict.fromkeys(("InputEncoder", "Inputs", "as_choices"), "inputs"),
    **dict.fromkeys(("BoardNetwork", "Size"), "network"),
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Imports the module of a public name on first use: the network needs torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def folder_of(name: str) -> Path:
    """The folder of a checkpoint: the path `name`, or else a checkpoint of the package ("attacker")."""
    # os.path treats impossible file names as missing; pathlib raises.
    ours = name in trained_names() and not os.path.exists(name)
    return TRAINED / name if ours else Path(name)


def files_of(name: str) -> list[Path]:
    """The files of a checkpoint that exist."""
    return [path for path in (folder_of(name) / ABOUT, folder_of(name) / WEIGHTS) if os.path.isfile(path)]


def trained_names() -> list[str]:
    """The names of the checkpoints that come with the package."""
    return sorted(path.name for path in TRAINED.iterdir() if path.is_dir())
