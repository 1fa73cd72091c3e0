"""Learned players: what they read, the network, checkpoints, and the policy that plays one.

- `inputs`: states as the arrays a network reads (numba; no torch). `words`: what was said, in games with tokens.
- `network`: the network itself, plain torch; works on every map.
- `checkpoint`: weights as safetensors and a JSON that says what they fit.
- `player`: `agents.make("rl:PATH")`.
- `trained/`: the checkpoints that come with the package, by name.

Training (`training`) wraps the same network for RLlib; playing needs torch and safetensors, but not Ray.
"""

from __future__ import annotations

import os
from pathlib import Path

TRAINED = Path(__file__).parent / "trained"


def folder_of(name: str) -> Path:
    """The folder of a checkpoint: the path `name`, or else one that comes with the package ("attacker")."""
    return TRAINED / name if name in trained_names() and not os.path.exists(name) else Path(name)


def trained_names() -> list[str]:
    """The checkpoints that come with the package."""
    return sorted(path.name for path in TRAINED.iterdir() if path.is_dir())
