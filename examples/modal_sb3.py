"""sb3-contrib's MaskablePPO writes programs, token by token, against a fixed program of modal combat.

    pip install -c constraints.txt -e '.[sb3]'
    python examples/modal_sb3.py                      # against FairBot; a minute or two
    python examples/modal_sb3.py --against PrudentBot --steps 40000

Prints the mean payoff during training, the programs that it writes most often, and the best reply to the opponent
among all agents of depth up to 2 that call the post's four.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium
import numpy as np
import torch
import typer
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor

import modal_env
from modal_env import POST, replies


class Writer(gymnasium.Env):
    """One seat of modal combat: every step writes a token, and the other seat writes the same program in every game."""

    def __init__(self, against: str, epsilon: str) -> None:
        self.env = modal_env.parallel_env(epsilon, actions="tokens", flat=True)
        self.tokens = self.env.contest.mode.actions(modal_env.LIBRARY[against])
        self.observation_space = self.env.observation_space("player_0")["observations"]
        self.action_space = gymnasium.spaces.Discrete(int(self.env.action_space("player_0").n))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.seen, self.turn = self.env.reset(seed=seed)[0], 0
        return self.seen["player_0"]["observations"], {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        paid, over, infos = 0.0, False, {}
        while not over:  # the opponent may have more tokens: token 0 waits for it
            other = self.tokens[self.turn] if self.turn < len(self.tokens) else 0
            self.turn += 1
            self.seen, rewards, ended, _, infos = self.env.step({"player_0": int(action), "player_1": other})
            paid, over = rewards["player_0"], ended["player_0"]
            action = 0
            if not self.action_masks()[0]:
                break
        program = infos["player_0"]["history"][0].programs[0].text if over else ""
        return self.seen["player_0"]["observations"], paid, over, False, {"program": program}

    def action_masks(self) -> np.ndarray:
        """Which tokens are allowed next."""
        return self.seen["player_0"]["action_mask"].astype(bool)


class Curve(BaseCallback):
    """Prints the mean payoff of the last 100 games after each rollout."""

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        print(f"{self.num_timesteps:6,d} tokens  paid {np.mean([game['r'] for game in self.model.ep_info_buffer]):.3f}")


def main(against: str = "FairBot", epsilon: str = "1/10", steps: int = 20_000, seed: int = 0) -> None:
    """Train, and print what is written."""
    torch.set_num_threads(1)
    env = Writer(against, epsilon)
    model = MaskablePPO(
        "MlpPolicy", Monitor(env), n_steps=1024, batch_size=128, n_epochs=6, gamma=1.0, ent_coef=0.02,
        learning_rate=lambda left: 1e-3 * left, seed=seed, device="cpu",
    )  # fmt: skip
    model.learn(steps, callback=Curve())
    found: Counter[str] = Counter()
    for _ in range(200):
        seen, over = env.reset()[0], False
        while not over:
            action, _ = model.predict(seen, action_masks=env.action_masks())
            seen, _, over, _, info = env.step(int(action))
        found[info["program"]] += 1
    for text, count in found.most_common(5):
        print(f"{count / 200:6.1%}  {text}")
    game = modal_env.ProgramGame(POST, epsilon)
    paid = {
        reply.agent: game.payoffs["".join(reply.moves[0])] - game.epsilon * reply.agent.depth
        for reply in replies([against], POST)
    }
    print(f"best reply: {max(paid, key=lambda agent: paid[agent]).text}, paid {float(max(paid.values())):.3f}")


if __name__ == "__main__":
    typer.run(main)
