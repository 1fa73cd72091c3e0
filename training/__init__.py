"""Learning of policies for welfare_env and modal_env with RLlib and torch (the extra `rl`). Not written yet.

This package will hold the networks, the batched runner, self-play, best responses, and checkpoints that `agents` can
play. It is empty so far: nothing can be imported from it.
"""
