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
    # os.path takes a name that no file can have for one that is not there; pathlib raises.
    ours = "/" not in name and not os.path.exists(name) and os.path.isdir(TRAINED / name)
    return TRAINED / name if ours else Path(name)
