"""Learned players: what they read, the network, checkpoints, and the policy that plays one.

- `inputs`: states as the arrays a network reads (numba; no torch).
- `network`: the network itself, plain torch; works on every map.
- `checkpoint`: weights as safetensors and a JSON that says what they fit.
- `player`: `agents.make("rl:PATH")`.

Training (`training`) wraps the same network for RLlib; playing needs torch and safetensors, but not Ray.
"""
