"""Learning of policies for welfare_env and modal_env with RLlib and torch (the extra `rl`).

``python -m training welfare | standard | best-response | modal | curves``. For the board game:

- `ppo`: the training from beginning to end, and its options. Start reading here.
- `runner`: plays many games at once and records what learners decide; `opponents` and `lineup`: who else plays;
  `rewards`: what learners are paid.
- `modules`, `learner`: the network and PPO's loss for RLlib. The network itself is `agents.rl.network`, so that trained
  players need no Ray.
- `imitation`: a warm start from a scripted policy. `gain`: what a best response gains.
- `state`, `console`, `curves`: what a training keeps on disk, what its commands show, and pictures of it.
- `modal`: programs for modal_env.
"""

import runpy
from pathlib import Path

# By file, not by name: when a foreign `agents` is found first, ours never runs.
runpy.run_path(str(Path(__file__).parents[1] / "agents" / "_shadow.py"))["check"]("training")
